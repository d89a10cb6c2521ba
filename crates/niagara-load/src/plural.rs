//! How many of a thing there are, in words.

/// `1 table`, `2 tables`, `1 query`, `3 queries`.
pub fn counted(count: u64, one: &str) -> String {
    match (count, one.strip_suffix('y')) {
        (1, _) => format!("1 {one}"),
        (_, Some(stem)) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{count} {stem}ies"),
        _ => format!("{count} {one}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_many() {
        let words = |count| ["engine", "query", "key"].map(|one| counted(count, one));
        assert_eq!(words(1), ["1 engine", "1 query", "1 key"]);
        assert_eq!(words(0), ["0 engines", "0 queries", "0 keys"]);
        assert_eq!(words(2), ["2 engines", "2 queries", "2 keys"]);
    }
}
