//! Statements with named values: `:name` becomes a question mark.

/// What a statement's text came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Named {
    /// With question marks.
    pub sql: String,
    /// The names, in order, and where each stood in the text.
    pub names: Vec<(String, usize)>,
}

/// Finds the names of a statement. A colon within quotes, or not followed by a letter, is left alone.
///
/// # Errors
/// Where a question mark stands: the statement would have a parameter without a name.
pub(super) fn named(text: &str) -> Result<Named, usize> {
    let mut sql = String::with_capacity(text.len());
    let mut names = Vec::new();
    let mut quote = None;
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        match (letter, quote) {
            ('?', _) => return Err(at),
            ('\\', Some('\'' | '"')) => {
                sql.push(letter);
                sql.extend(letters.next().map(|(_, escaped)| escaped));
                continue;
            }
            ('\'' | '"' | '`', None) => quote = Some(letter),
            (_, Some(open)) if letter == open => quote = None,
            (':', None) if letters.peek().is_some_and(|(_, next)| is_start(*next)) => {
                let mut name = String::new();
                while let Some((_, next)) = letters.next_if(|(_, next)| is_part(*next)) {
                    name.push(next);
                }
                names.push((name, at));
                sql.push('?');
                continue;
            }
            _ => {}
        }
        sql.push(letter);
    }
    // A statement may stand on several lines of the file.
    Ok(Named {
        sql: sql.trim().trim_end_matches(';').to_owned(),
        names,
    })
}

/// Words that begin a statement which may leave data as it is.
const READS: [&str; 9] = [
    "SELECT", "WITH", "BEGIN", "START", "COMMIT", "ROLLBACK", "SET", "SHOW", "DO",
];

/// Whether a statement surely leaves data as it is and locks no rows.
pub(crate) fn only_reads(sql: &str) -> bool {
    let words = words(sql);
    let mut words = words.as_slice();
    // A statement with settings of its own: SET STATEMENT … FOR ….
    while let [first, second, rest @ ..] = words
        && (first.as_str(), second.as_str()) == ("SET", "STATEMENT")
    {
        let place = rest.iter().position(|word| word == "FOR");
        let Some(place) = place else {
            return false;
        };
        words = &rest[place + 1..];
    }
    if let [first, second, ..] = words
        && (first.as_str(), second.as_str()) == ("BEGIN", "NOT")
    {
        return false;
    }
    let follow = |one: &str, other: &str| {
        let mut pairs = words.windows(2);
        pairs.any(|pair| pair[0] == one && pair[1] == other)
    };
    let locks = follow("FOR", "UPDATE") || follow("FOR", "SHARE") || follow("LOCK", "IN");
    let first = words.first().map_or("", String::as_str);
    // What WITH prepares may be changed by.
    let changes = first == "WITH"
        && words
            .iter()
            .any(|word| ["INSERT", "REPLACE", "UPDATE", "DELETE"].contains(&word.as_str()));
    READS.contains(&first) && !locks && !changes
}

/// The words of a statement in capitals, except what is quoted.
fn words(sql: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    let mut letters = sql.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\\', Some('\'' | '"')) => {
                letters.next();
            }
            (_, Some(open)) if letter == open => quote = None,
            (_, Some(_)) => {}
            ('\'' | '"' | '`', None) => {
                quote = Some(letter);
                // A name in quotes stands between the words beside it.
                words.push("?".into());
                words.push(String::new());
            }
            _ if is_part(letter) => {
                if let Some(word) = words.last_mut() {
                    word.push(letter.to_ascii_uppercase());
                }
            }
            _ if letter.is_whitespace() => words.push(String::new()),
            _ => {
                words.push(letter.into());
                words.push(String::new());
            }
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn is_start(letter: char) -> bool {
    letter.is_ascii_alphabetic() || letter == '_'
}

fn is_part(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// Whether it can be the name of a table, column or value without quotes.
pub(super) fn is_name(name: &str) -> bool {
    name.chars().next().is_some_and(is_start) && name.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_question_marks() {
        let found = named("UPDATE t SET a=:a, b = ':no \\' :no', c=`:no` WHERE d=:d_1; ").unwrap();
        assert_eq!(
            found.sql,
            "UPDATE t SET a=?, b = ':no \\' :no', c=`:no` WHERE d=?"
        );
        assert_eq!(found.names, [("a".into(), 15), ("d_1".into(), 53)]);
        assert_eq!(named("SELECT a := 1").unwrap().names, []);
        assert_eq!(named("SELECT ?"), Err(7));
    }

    #[test]
    fn statements_that_only_read() {
        for sql in [
            "SELECT a FROM t WHERE b = 'FOR UPDATE'",
            "select a from t use index for join (i)",
            "SELECT `for` update_at FROM `lock` IN_",
            "WITH x AS (SELECT 1) SELECT * FROM x WHERE note = 'it\\'s DELETE'",
            "BEGIN",
            "START TRANSACTION",
            "COMMIT",
            "SET STATEMENT max_statement_time = 1 FOR SELECT 1",
        ] {
            assert!(only_reads(sql), "{sql}");
        }
        for sql in [
            "SELECT a FROM t WHERE b = ? FOR UPDATE",
            "SELECT a FROM t\nfor  update SKIP LOCKED",
            "SELECT a FROM t FOR SHARE",
            "SELECT a FROM t LOCK IN SHARE MODE",
            "WITH x AS (SELECT 1) UPDATE t, x SET a = 1",
            "WITH x AS (SELECT 1) DELETE FROM t",
            "UPDATE t SET a = 1",
            "(SELECT 1)",
            "SET STATEMENT max_statement_time = 1 FOR UPDATE t SET a = 1",
            "BEGIN NOT ATOMIC DELETE FROM t",
            "",
        ] {
            assert!(!only_reads(sql), "{sql}");
        }
    }
}
