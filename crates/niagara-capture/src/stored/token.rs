//! Words, quotes and signs of a statement, without comments and white space.

use std::borrow::Cow;

use crate::sql::{SqlMode, find_close, is_word};

/// A word, what is in quotes, or a sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'t> {
    /// As it was written.
    pub text: &'t [u8],
    /// Where it begins.
    pub start: usize,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Word,
    Name,
    Literal,
    Sign,
}

impl<'t> Token<'t> {
    /// Where it ends.
    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// Whether it is this word of the grammar.
    pub fn is(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text.eq_ignore_ascii_case(word.as_bytes())
    }

    /// Whether it is one of these words of the grammar.
    pub fn is_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }

    /// Whether it is this sign.
    pub fn is_sign(&self, sign: u8) -> bool {
        self.kind == Kind::Sign && self.text == [sign]
    }

    /// The name that it may be, in lower case.
    pub fn name(&self) -> Option<Vec<u8>> {
        match self.kind {
            Kind::Word if !self.text[0].is_ascii_digit() => Some(self.text.to_ascii_lowercase()),
            Kind::Name if self.text.len() > 2 => {
                Some(self.text[1..self.text.len() - 1].to_ascii_lowercase())
            }
            _ => None,
        }
    }

    /// As it was written, but for the case of words.
    fn plain(&self) -> Cow<'t, [u8]> {
        match self.kind == Kind::Word && self.text.iter().any(u8::is_ascii_uppercase) {
            true => Cow::Owned(self.text.to_ascii_lowercase()),
            false => Cow::Borrowed(self.text),
        }
    }

    /// Whether it is a number or a string.
    pub fn is_literal(&self) -> bool {
        match self.kind {
            Kind::Literal => true,
            Kind::Word => self.text[0].is_ascii_digit(),
            _ => false,
        }
    }
}

/// The tokens of a text. What only servers of some versions execute is read as code.
pub(super) fn tokens(text: &[u8], mode: SqlMode) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let (kind, length) = match text[at] {
            b'#' => (None, line(rest)),
            b'-' if rest.starts_with(b"--") && rest.get(2).is_none_or(|&b| b <= b' ') => {
                (None, line(rest))
            }
            b'/' if rest.starts_with(b"/*") => (None, comment(rest)),
            b'*' if rest.starts_with(b"*/") => (None, 2),
            quote @ (b'\'' | b'"' | b'`') => {
                let end = find_close(text, at + 1, text.len(), quote, mode);
                let length = end.map_or(rest.len(), |end| end + 1 - at);
                let is_name = quote == b'`' || quote == b'"' && mode.ansi_quotes;
                (
                    Some(if is_name { Kind::Name } else { Kind::Literal }),
                    length,
                )
            }
            byte if is_word(byte) => {
                let length = rest.iter().take_while(|&&b| is_word(b)).count();
                (Some(Kind::Word), length)
            }
            byte if byte.is_ascii_whitespace() || byte < b' ' => (None, 1),
            _ => (Some(Kind::Sign), 1),
        };
        if let Some(kind) = kind {
            let text = &rest[..length];
            tokens.push(Token {
                text,
                start: at,
                kind,
            });
        }
        at += length;
    }
    tokens
}

/// The length of a comment that its line ends.
fn line(text: &[u8]) -> usize {
    memchr::memchr(b'\n', text).map_or(text.len(), |end| end + 1)
}

/// The length of a comment, or of the mark that makes code of one.
fn comment(text: &[u8]) -> usize {
    let mark = match text {
        [_, _, b'!', ..] => 3,
        [_, _, b'M', b'!', ..] => 4,
        _ => {
            let end = memchr::memmem::find(&text[2..], b"*/");
            return end.map_or(text.len(), |end| end + 4);
        }
    };
    let digits = text[mark..].iter().take_while(|b| b.is_ascii_digit());
    mark + digits.count().min(6)
}

/// A number of statements that say the same. Servers write some of their words again.
pub(super) fn plain(tokens: &[Token<'_>]) -> u64 {
    hash(tokens.iter().map(Token::plain))
}

/// The same, of statements that differ in literals and in `variables` at most. The server writes values in the place of variables.
pub(super) fn masked(tokens: &[Token<'_>], variables: &[Vec<u8>]) -> u64 {
    let mut parts: Vec<Cow<'_, [u8]>> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let token = tokens[at];
        let is_variable = || token.name().is_some_and(|name| variables.contains(&name));
        let after_dot = at > 0 && tokens[at - 1].is_sign(b'.');
        if token.is("name_const") {
            parts.push(Cow::Borrowed(b"?"));
            at = closed(tokens, at + 1);
            continue;
        }
        let is_value = token.is_literal() || !after_dot && is_variable();
        parts.push(match is_value {
            true => Cow::Borrowed(b"?"),
            false => token.plain(),
        });
        at += 1;
    }
    hash(parts.into_iter())
}

/// The place behind the parentheses that open at `at`, if they do.
pub(super) fn closed(tokens: &[Token<'_>], mut at: usize) -> usize {
    let mut depth = 0_u32;
    while let Some(token) = tokens.get(at) {
        if token.is_sign(b'(') {
            depth += 1;
        } else if token.is_sign(b')') {
            depth = depth.saturating_sub(1);
        }
        if depth == 0 {
            return match token.is_sign(b')') {
                true => at + 1,
                false => at,
            };
        }
        at += 1;
    }
    at
}

fn hash<'t>(parts: impl Iterator<Item = Cow<'t, [u8]>>) -> u64 {
    let mut hash = xxhash_rust::xxh3::Xxh3::new();
    for part in parts {
        hash.update(&part);
        hash.update(b"\0");
    }
    hash.digest()
}
