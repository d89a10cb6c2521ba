//! A statement read word by word and name by name: what stands in comments is passed over, but for what servers execute.

/// What is left of a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Code<'a>(&'a [u8]);

impl<'a> Code<'a> {
    /// The whole of it.
    pub(crate) fn of(statement: &'a [u8]) -> Self {
        Self(statement)
    }

    /// Takes the next word, where it is this one in any case.
    pub(crate) fn takes(&mut self, word: &str) -> bool {
        let rest = behind_spaces(self.0);
        let length = rest.iter().take_while(|byte| is_word(**byte)).count();
        let found = rest[..length].eq_ignore_ascii_case(word.as_bytes());
        if found {
            self.0 = &rest[length..];
        }
        found
    }

    /// Takes the next word, where it is one of these.
    pub(crate) fn takes_any(&mut self, words: &[&str]) -> bool {
        words.iter().any(|word| self.takes(word))
    }

    /// Takes a name: in backticks, in double quotes, or a bare word.
    pub(crate) fn name(&mut self) -> Option<String> {
        let rest = behind_spaces(self.0);
        let &first = rest.first()?;
        if first == b'`' || first == b'"' {
            let (mut name, mut at) = (Vec::new(), 1);
            loop {
                let &byte = rest.get(at)?;
                if byte != first {
                    name.push(byte);
                    at += 1;
                } else if rest.get(at + 1) == Some(&first) {
                    name.push(byte);
                    at += 2;
                } else {
                    self.0 = &rest[at + 1..];
                    return Some(String::from_utf8_lossy(&name).into_owned());
                }
            }
        }
        let length = rest.iter().take_while(|byte| is_word(**byte)).count();
        self.0 = &rest[length..];
        (length > 0).then(|| String::from_utf8_lossy(&rest[..length]).into_owned())
    }

    /// Takes a name and what it is qualified by: the last of `database.table`.
    pub(crate) fn last_name(&mut self) -> Option<String> {
        let mut name = self.name()?;
        while let Some(rest) = self.0.strip_prefix(b".") {
            self.0 = rest;
            name = self.name()?;
        }
        Some(name)
    }

    /// What has not been taken.
    pub(crate) fn rest(self) -> &'a [u8] {
        self.0
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte == b'@' || byte >= 0x80
}

/// Behind white space, comments, and the marks around code that some servers alone execute.
fn behind_spaces(mut text: &[u8]) -> &[u8] {
    loop {
        text = text.trim_ascii_start();
        let is_line = text.starts_with(b"#")
            || (text.starts_with(b"--") && text.get(2).is_none_or(u8::is_ascii_whitespace));
        text = if is_line {
            memchr::memchr(b'\n', text).map_or(&[], |end| &text[end + 1..])
        } else if let Some(rest) = text.strip_prefix(b"/*!").or(text.strip_prefix(b"/*M!")) {
            behind_digits(rest)
        } else if let Some(rest) = text.strip_prefix(b"/*") {
            memchr::memmem::find(rest, b"*/").map_or(&[], |end| &rest[end + 2..])
        } else if let Some(rest) = text.strip_prefix(b"*/") {
            rest
        } else {
            return text;
        };
    }
}

fn behind_digits(text: &[u8]) -> &[u8] {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    &text[digits..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_behind_comments() {
        let text =
            b"-- x\nCREATE DATABASE /*!32312 IF NOT EXISTS*/ `sh``op` /* COMMENT 'mysql' */ x";
        let mut code = Code::of(text);
        assert!(code.takes("create") && code.takes_any(&["SCHEMA", "DATABASE"]));
        assert!(code.takes("IF") && code.takes("NOT") && code.takes("EXISTS"));
        assert_eq!(code.name().as_deref(), Some("sh`op"));
        assert_eq!(code.name().as_deref(), Some("x"));
        assert_eq!(code.name(), None);
    }

    #[test]
    fn qualified_names_end_with_the_last() {
        let last = |text: &str| Code::of(text.as_bytes()).last_name();
        assert_eq!(last("`a.b`.\"c\" (x)").as_deref(), Some("c"));
        assert_eq!(last("orders(id)").as_deref(), Some("orders"));
        assert_eq!(last("`open"), None);
    }
}
