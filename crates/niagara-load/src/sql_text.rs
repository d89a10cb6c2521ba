//! Values within statements.

/// A text as SQL takes it where a backslash escapes, in its quotes.
pub fn sql_text(value: &str) -> String {
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::sql_text;

    #[test]
    fn quotes_and_backslashes_stay_what_they_are() {
        assert_eq!(sql_text(r"it's a \"), r"'it''s a \\'");
    }
}
