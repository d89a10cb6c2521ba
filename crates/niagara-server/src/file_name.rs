//! Names that are fit for files.

/// Letters, digits, dots, dashes and underscores stay, all else becomes a dash.
pub fn file_name(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "._-".contains(c) {
                c
            } else {
                '-'
            }
        })
        .collect()
}
