//! Figures and texts of digests, for a terminal.

use niagara_capture::info::DigestInfo;

/// A count that the source may not say.
pub fn known(count: Option<u64>) -> String {
    count.map_or("-".to_owned(), |count| count.to_string())
}

/// Rows read for each row sent or changed.
pub fn per_row(digest: &DigestInfo) -> String {
    match digest.examined_per_row {
        None => "-".to_owned(),
        Some(ratio) if ratio < 10.0 => format!("{ratio:.1}"),
        Some(ratio) => format!("{ratio:.0}"),
    }
}

/// A digest's text in one line, for a terminal.
pub fn one_line(text: &str, longest: usize) -> String {
    let mut line: String = text.chars().take(longest).collect();
    if text.chars().count() > longest {
        line.push('…');
    }
    // What a name holds is not the terminal's business.
    line.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}
