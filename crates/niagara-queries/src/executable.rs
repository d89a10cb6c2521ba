//! A statement of a capture as the copy executes it.

use crate::canonical::end_of_quotes;

/// A statement that can be executed on the copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Executable {
    /// MariaDB's `SET STATEMENT … FOR ` before it, as it was sent: its settings decide the plan, too. Empty where there is none.
    pub settings: String,
    /// The part that reads: what changes rows is a SELECT of them.
    pub sql: String,
    /// The database in use.
    pub database: String,
}

impl Executable {
    /// The statement with its settings.
    pub fn text(&self) -> String {
        format!("{}{}", self.settings, self.sql)
    }

    /// The statement that explains it: MariaDB takes EXPLAIN behind the settings alone.
    pub fn explain(&self, format: &str) -> String {
        format!("{}EXPLAIN {format} {}", self.settings, self.sql)
    }
}

/// Cuts `SET STATEMENT … FOR ` off a statement: the settings, which may be empty, and the rest.
pub fn split_settings(text: &str) -> (&str, &str) {
    let mut words = Words { text, at: 0 };
    let begins = ["set", "statement"].iter().all(|known| {
        let word = words.next();
        word.is_some_and(|(_, word)| word.eq_ignore_ascii_case(known))
    });
    if !begins {
        return ("", text);
    }
    match words.find(|(_, word)| word.eq_ignore_ascii_case("for")) {
        Some((at, word)) => {
            let rest = &text[at + word.len()..];
            text.split_at(text.len() - rest.trim_ascii_start().len())
        }
        None => ("", text),
    }
}

/// The bare words of a statement outside of quotes and comments, with their places.
struct Words<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Iterator for Words<'t> {
    type Item = (usize, &'t str);

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.text.as_bytes();
        // Letters beyond ASCII belong to words, so that no word begins or ends within one.
        let is_word =
            |byte: &u8| byte.is_ascii_alphanumeric() || b"_$@".contains(byte) || *byte >= 0x80;
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                quote @ (b'\'' | b'"' | b'`') => self.at = end_of_quotes(bytes, self.at, *quote),
                b'/' if bytes.get(self.at + 1) == Some(&b'*') => {
                    let end = self.text[self.at..].find("*/");
                    self.at = end.map_or(bytes.len(), |end| self.at + end + 2);
                }
                byte if is_word(byte) => {
                    let start = self.at;
                    let length = bytes[start..]
                        .iter()
                        .take_while(|byte| is_word(byte))
                        .count();
                    self.at += length;
                    return Some((start, &self.text[start..self.at]));
                }
                _ => self.at += 1,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_one_statement_are_cut_off() {
        for (text, settings) in [
            ("SELECT 1", ""),
            ("SET @a = 1", ""),
            ("SET STATEMENT max_statement_time = 30", ""),
            (
                "SET STATEMENT max_statement_time=30 FOR SELECT 1 FOR UPDATE",
                "SET STATEMENT max_statement_time=30 FOR ",
            ),
            (
                "/* page for staff */ set statement sort_buffer_size=1, optimizer_switch='for=off' for\n select 'for'",
                "/* page for staff */ set statement sort_buffer_size=1, optimizer_switch='for=off' for\n ",
            ),
            (
                "SET STATEMENT `for`=1, öffor=2 FOR(SELECT 1)",
                "SET STATEMENT `for`=1, öffor=2 FOR",
            ),
            ("/* open", ""),
            ("", ""),
        ] {
            assert_eq!(split_settings(text), (settings, &text[settings.len()..]));
        }
    }
}
