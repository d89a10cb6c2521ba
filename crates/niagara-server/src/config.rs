//! A server's variables.

use std::collections::BTreeMap;

/// Server variables: name with underscores → value; an empty value is a flag (`--skip_name_resolve`).
pub type Config = BTreeMap<String, String>;

/// A variable's name as [`Config`] keeps it: lower case, dashes turned to underscores, no leading `--`.
pub fn normalise_variable(name: &str) -> String {
    name.trim()
        .trim_start_matches("--")
        .to_lowercase()
        .replace('-', "_")
}

/// The names that a variable may be spoken of by: its own, and the one that switches it off (`log_bin`, `skip_log_bin`).
pub fn both_names(name: &str) -> [String; 2] {
    let bare = name.strip_prefix("skip_").unwrap_or(name);
    [bare.to_owned(), format!("skip_{bare}")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variable_names_are_kept_in_one_form() {
        assert_eq!(
            normalise_variable("--Innodb-Buffer-Pool-Size "),
            "innodb_buffer_pool_size"
        );
        assert_eq!(normalise_variable("skip_name_resolve"), "skip_name_resolve");
    }
}
