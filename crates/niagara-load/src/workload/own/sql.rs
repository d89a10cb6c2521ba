//! Statements with named values: `:name` becomes a question mark.

/// What a statement's text came to.
#[derive(Debug, PartialEq, Eq)]
pub struct Named {
    /// With question marks.
    pub sql: String,
    /// The names, in order, and where each stood in the text.
    pub names: Vec<(String, usize)>,
}

/// Finds the names of a statement. A colon within quotes, or not followed by a letter, is left alone.
///
/// # Errors
/// Where a question mark stands: the statement would have a parameter without a name.
pub fn named(text: &str) -> Result<Named, usize> {
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

fn is_start(letter: char) -> bool {
    letter.is_ascii_alphabetic() || letter == '_'
}

fn is_part(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// Whether it can be the name of a table, column or value without quotes.
pub fn is_name(name: &str) -> bool {
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
}
