//! Tables and databases of a dump that are encrypted in the original: their rows are in clear in the dump, and the keys are not here.

use std::ops::Range;

use super::statement::{first_word, quoted_length};

/// What options of tables and databases that encrypt are set to in place of what stands there: `ENCRYPTION` of MySQL, the others of
/// MariaDB, which refuses another key than the first where nothing is encrypted.
const OPTIONS: [(&str, &[u8]); 3] = [
    ("ENCRYPTION", b"'N'"),
    ("ENCRYPTED", b"NO"),
    ("ENCRYPTION_KEY_ID", b"1"),
];
/// Values by which nothing is encrypted.
const OFF: [&str; 4] = ["N", "NO", "DEFAULT", "1"];
/// What can be encrypted.
const THINGS: [&str; 4] = ["TABLE", "DATABASE", "SCHEMA", "TABLESPACE"];
/// Words in which a statement says what it is about.
const HEAD: usize = 6;

/// The statement without encryption, where it makes or changes something that is encrypted; none where it is in clear already.
pub(crate) fn in_clear(statement: &[u8]) -> Option<Vec<u8>> {
    if !matches!(first_word(statement).as_str(), "CREATE" | "ALTER") {
        return None;
    }
    let tokens = tokens(statement);
    let mut head = tokens.iter().take(HEAD);
    if !head.any(|token| THINGS.iter().any(|thing| token.is(thing))) {
        return None;
    }
    let mut changed = statement.to_vec();
    let mut found = false;
    // From the end: what is before keeps its place.
    for at in (0..tokens.len()).rev() {
        // What stands in parentheses are columns, keys, conditions.
        let option = OPTIONS
            .iter()
            .find(|(name, _)| tokens[at].depth == 0 && tokens[at].is(name));
        let Some((_, off)) = option else { continue };
        let value = match tokens.get(at + 1) {
            Some(sign) if sign.text == "=" => tokens.get(at + 2),
            value => value,
        };
        if let Some(value) = value.filter(|value| !OFF.contains(&value.text.as_str())) {
            changed.splice(value.range.clone(), off.iter().copied());
            found = true;
        }
    }
    found.then_some(changed)
}

/// A word, a quoted text, or an equals sign.
struct Token {
    /// In upper case, without quotes.
    text: String,
    /// Where it is, with its quotes.
    range: Range<usize>,
    /// Parentheses around it.
    depth: usize,
    /// A text in single or double quotes.
    is_text: bool,
}

impl Token {
    /// Whether it is this word, or this name in backticks.
    fn is(&self, word: &str) -> bool {
        !self.is_text && self.text == word
    }
}

fn tokens(statement: &[u8]) -> Vec<Token> {
    let (mut tokens, mut depth, mut at) = (Vec::new(), 0_usize, 0);
    while let Some(&byte) = statement.get(at) {
        let rest = &statement[at..];
        let is_quoted = matches!(byte, b'\'' | b'"' | b'`');
        let length = match byte {
            _ if is_quoted => quoted_length(rest),
            b'#' => line(rest),
            b'-' if rest.starts_with(b"--") && rest.get(2).is_none_or(u8::is_ascii_whitespace) => {
                line(rest)
            }
            // What servers execute is code, behind its version.
            b'/' if rest.starts_with(b"/*!") => 3 + digits(&rest[3..]),
            b'/' if rest.starts_with(b"/*M!") => 4 + digits(&rest[4..]),
            b'/' if rest.starts_with(b"/*") => {
                memchr::memmem::find(rest, b"*/").map_or(rest.len(), |end| end + 2)
            }
            byte if is_word(byte) => rest.iter().take_while(|byte| is_word(**byte)).count(),
            _ => 1,
        };
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if is_quoted || is_word(byte) || byte == b'=' {
            let text = &rest[..length];
            let inside = match is_quoted {
                true => text.get(1..length.saturating_sub(1)).unwrap_or_default(),
                false => text,
            };
            tokens.push(Token {
                text: String::from_utf8_lossy(inside).to_uppercase(),
                range: at..at + length,
                depth,
                is_text: is_quoted && byte != b'`',
            });
        }
        at += length;
    }
    tokens
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

fn line(text: &[u8]) -> usize {
    memchr::memchr(b'\n', text).map_or(text.len(), |end| end + 1)
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_encrypts_is_taken_out_of_tables_and_databases() {
        let of = |text: &str| in_clear(text.as_bytes()).map(|new| String::from_utf8(new).unwrap());
        for (text, expected) in [
            (
                "CREATE TABLE `t` (`a` int) ENGINE=InnoDB ENCRYPTION='Y'",
                "CREATE TABLE `t` (`a` int) ENGINE=InnoDB ENCRYPTION='N'",
            ),
            (
                "CREATE DATABASE /*!32312 IF NOT EXISTS*/ `shop` /*!80016 DEFAULT ENCRYPTION='Y' */",
                "CREATE DATABASE /*!32312 IF NOT EXISTS*/ `shop` /*!80016 DEFAULT ENCRYPTION='N' */",
            ),
            (
                "-- t\nCREATE TABLE `t` (`a` int) ENGINE=InnoDB `ENCRYPTED`=YES `ENCRYPTION_KEY_ID`=17 COMMENT='x'",
                "-- t\nCREATE TABLE `t` (`a` int) ENGINE=InnoDB `ENCRYPTED`=NO `ENCRYPTION_KEY_ID`=1 COMMENT='x'",
            ),
            (
                "CREATE TABLE t (a INT) encrypted = 'yes'",
                "CREATE TABLE t (a INT) encrypted = NO",
            ),
        ] {
            assert_eq!(of(text).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "CREATE TABLE t (a INT) ENCRYPTION='N'",
            "CREATE TABLE t (a INT) `ENCRYPTION_KEY_ID`=1",
            "CREATE TABLE t (encryption CHAR(1), CHECK (`encryption` = 'Y')) COMMENT='ENCRYPTION=\\'Y\\''",
            "CREATE VIEW v AS SELECT 1 AS encryption",
            "INSERT INTO t VALUES ('CREATE TABLE t ENCRYPTION=Y')",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
