//! Values of variables: as SQL, and compared as the server would.

/// The statement that sets a global variable. Numbers and switches stand as they are, all else is a string.
pub(super) fn assignment(name: &str, value: &str) -> String {
    let bare = value.parse::<f64>().is_ok() || matches!(value, "ON" | "OFF");
    if bare {
        format!("SET GLOBAL {name} = {value}")
    } else {
        // The connection's sql_mode is empty: a backslash escapes.
        let quoted = value.replace('\\', "\\\\").replace('\'', "''");
        format!("SET GLOBAL {name} = '{quoted}'")
    }
}

/// Whether two values mean the same: `0` and `0.000000`, `ON` and `1`, sets in another order.
pub(super) fn same(one: &str, other: &str) -> bool {
    if let (Ok(one), Ok(other)) = (switch(one).parse::<f64>(), switch(other).parse::<f64>()) {
        return one == other;
    }
    let set = |text: &str| {
        let mut words: Vec<String> = text
            .split(',')
            .map(|word| word.trim().to_ascii_lowercase())
            .collect();
        words.sort();
        words
    };
    one == other || set(one) == set(other)
}

fn switch(value: &str) -> &str {
    match value {
        "ON" | "on" => "1",
        "OFF" | "off" => "0",
        value => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_and_compared() {
        assert_eq!(assignment("a", "0.5"), "SET GLOBAL a = 0.5");
        assert_eq!(assignment("a", "ON"), "SET GLOBAL a = ON");
        assert_eq!(assignment("a", "it's\\"), "SET GLOBAL a = 'it''s\\\\'");
        assert_eq!(assignment("a", ""), "SET GLOBAL a = ''");
        assert!(same("0", "0.000000"));
        assert!(same("ON", "1"));
        assert!(same("admin,filesort", "filesort,admin"));
        assert!(!same("ON", "OFF"));
        assert!(!same("/a", "/b"));
    }
}
