//! The digest of a statement: what it is when its literals, comments, letter case and white space are left out.

use std::fmt;
use std::ops::Range;

use super::byte::{is_executable, is_space, is_word};
use super::cut::{COMMENT, LITERAL};

/// Longest text of a digest, in bytes.
const MAX_TEXT: usize = 16 << 10;

/// A digest's number: 64 bits of xxh3 of its text, shown as 16 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub u64);

impl Digest {
    /// Of a digest's text.
    pub fn of(text: &[u8]) -> Digest {
        Digest(xxhash_rust::xxh3::xxh3_64(text))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The text of the digest of a skeleton: words in lower case, one space where one is needed, `?` for a literal, `(...)`
/// for a list of them, lists of rows as one.
pub fn digest_text(skeleton: &[u8]) -> Vec<u8> {
    let mut writer = Writer::default();
    let mut at = 0;
    while at < skeleton.len() && writer.out.len() < MAX_TEXT {
        at = writer.token(skeleton, at);
    }
    writer.finish()
}

#[derive(Default)]
struct Writer {
    out: Vec<u8>,
    last: Last,
    /// Executable comments that are open: their end is no operator.
    open: u32,
    /// `IN` or `VALUES` was the last word.
    list: bool,
    /// Since `VALUES`: its rows.
    rows: Option<Rows>,
    depth: u32,
}

/// The rows of `VALUES`, by their places in what is written.
#[derive(Default)]
struct Rows {
    start: usize,
    before: Option<Range<usize>>,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Last {
    #[default]
    Nothing,
    Word,
    Literal,
    Operator,
    Open,
    Close,
    Tight,
}

impl Writer {
    /// Writes the token at `at`; where the next one is.
    fn token(&mut self, text: &[u8], at: usize) -> usize {
        match text[at] {
            byte if is_space(byte) || byte == COMMENT => at + 1,
            LITERAL => {
                self.literal();
                at + 1
            }
            b'/' if text.get(at + 1) == Some(&b'*') => self.comment(text, at),
            b'*' if self.open > 0 && text.get(at + 1) == Some(&b'/') => {
                self.open -= 1;
                at + 2
            }
            quote @ (b'`' | b'"' | b'\'') => self.name(text, at, quote),
            b'@' => {
                let end = at + text[at..].iter().take_while(|&&b| b == b'@').count();
                self.space_before(Last::Word);
                self.out.extend_from_slice(&text[at..end]);
                self.last = Last::Tight;
                end
            }
            byte if is_word(byte) => {
                let end = text[at..]
                    .iter()
                    .position(|&b| !is_word(b))
                    .map_or(text.len(), |i| at + i);
                self.word(&text[at..end]);
                end
            }
            byte => {
                self.operator(byte);
                at + 1
            }
        }
    }

    fn space_before(&mut self, next: Last) {
        let needed = match (self.last, next) {
            (Last::Nothing | Last::Open | Last::Tight, _) => false,
            (_, Last::Tight | Last::Close) => false,
            (Last::Word, Last::Open) => false,
            // `<=`, `:=`, `&&` stay together.
            (Last::Operator, Last::Operator) => false,
            _ => true,
        };
        if needed {
            self.out.push(b' ');
        }
    }

    fn word(&mut self, word: &[u8]) {
        self.space_before(Last::Word);
        let start = self.out.len();
        self.out.extend(word.iter().map(u8::to_ascii_lowercase));
        self.last = Last::Word;
        let word = &self.out[start..];
        self.list = matches!(word, b"in" | b"values" | b"value");
        if matches!(word, b"values" | b"value") {
            self.rows = Some(Rows::default());
            self.depth = 0;
        } else if self.depth == 0 {
            self.rows = None;
        }
    }

    /// A name in quotes: without them where it needs none.
    fn name(&mut self, text: &[u8], at: usize, quote: u8) -> usize {
        let inside = &text[at + 1..];
        let length = memchr::memchr(quote, inside).unwrap_or(inside.len());
        let name = &inside[..length];
        if !name.is_empty() && name.iter().all(|&b| is_word(b)) {
            self.word(name);
        } else {
            self.space_before(Last::Word);
            self.out.push(b'`');
            self.out.extend_from_slice(name);
            self.out.push(b'`');
            self.last = Last::Word;
            self.list = false;
        }
        (at + 1 + length + 1).min(text.len())
    }

    fn literal(&mut self) {
        self.drop_sign();
        self.space_before(Last::Literal);
        self.out.push(b'?');
        self.last = Last::Literal;
    }

    /// `= -?` is `= ?`: a sign after what no operand ends belongs to the literal.
    fn drop_sign(&mut self) {
        let Some(before) = self
            .out
            .strip_suffix(b"-")
            .or_else(|| self.out.strip_suffix(b"+"))
        else {
            return;
        };
        let before = before.trim_ascii_end();
        if !takes_sign(before) {
            return;
        }
        let length = before.len();
        self.last = match before.last() {
            None => Last::Nothing,
            Some(b'(') => Last::Open,
            Some(b',') => Last::Close,
            Some(&byte) if is_word(byte) => Last::Word,
            Some(_) => Last::Operator,
        };
        self.out.truncate(length);
    }

    fn comment(&mut self, text: &[u8], at: usize) -> usize {
        if is_executable(text, at) {
            self.open += 1;
            let marks = text[at + 2..]
                .iter()
                .take_while(|b| matches!(b, b'!' | b'M' | b'0'..=b'9'))
                .count();
            return at + 2 + marks;
        }
        // A hint; all other comments were cut out.
        let end = memchr::memmem::find(&text[at..], b"*/").map_or(text.len(), |i| at + i + 2);
        self.space_before(Last::Word);
        self.out.extend_from_slice(&text[at..end]);
        self.last = Last::Word;
        end
    }

    fn operator(&mut self, byte: u8) {
        match byte {
            b'(' => {
                self.space_before(Last::Open);
                if self.depth == 0
                    && let Some(rows) = &mut self.rows
                {
                    rows.start = self.out.len();
                }
                self.depth += 1;
                self.out.push(b'(');
                self.last = Last::Open;
            }
            b')' => self.close(),
            b',' => {
                self.space_before(Last::Close);
                self.out.push(b',');
                self.last = Last::Close;
            }
            b'.' => {
                self.out.push(b'.');
                self.last = Last::Tight;
            }
            b';' => {
                self.space_before(Last::Close);
                self.out.push(b';');
                self.last = Last::Operator;
                self.rows = None;
            }
            byte => {
                self.space_before(Last::Operator);
                self.out.push(byte);
                self.last = Last::Operator;
            }
        }
    }

    fn close(&mut self) {
        // What is around the list of rows ends: no row follows.
        if self.depth == 0 {
            self.rows = None;
        }
        self.depth = self.depth.saturating_sub(1);
        // The parts of a list were joined when the statement was cut, as far as they were literals.
        if self.list && self.out.ends_with(b"(?") {
            self.out.truncate(self.out.len() - 1);
            self.out.extend_from_slice(b"...");
        }
        self.out.push(b')');
        self.last = Last::Close;
        if self.depth == 0 {
            self.list = false;
            self.join_rows();
        }
    }

    /// Drops a row that reads as the one before it.
    fn join_rows(&mut self) {
        let Some(rows) = &mut self.rows else {
            return;
        };
        // A sign that was dropped may have been the row's first byte.
        let Some(row) = self.out.get(rows.start..) else {
            return;
        };
        match rows.before.clone() {
            Some(before) if self.out.get(before.clone()) == Some(row) => {
                self.out.truncate(before.end);
            }
            _ => rows.before = Some(rows.start..self.out.len()),
        }
    }

    fn finish(mut self) -> Vec<u8> {
        while let Some(b' ' | b';') = self.out.last() {
            self.out.pop();
        }
        self.out.truncate(MAX_TEXT);
        self.out
    }
}

/// Whether a sign behind this text belongs to the literal that follows: no operand ends here.
pub(crate) fn takes_sign(before: &[u8]) -> bool {
    if let None | Some(b'(' | b',' | b'=' | b'<' | b'>' | b'*' | b'/' | b'%' | b'-' | b'+') =
        before.last()
    {
        return true;
    }
    let start = before
        .iter()
        .rposition(|&byte| !is_word(byte))
        .map_or(0, |place| place + 1);
    let word = &before[start..];
    SIGNED.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// Words behind which a sign belongs to a literal.
const SIGNED: [&[u8]; 14] = [
    b"select",
    b"where",
    b"and",
    b"or",
    b"not",
    b"between",
    b"then",
    b"else",
    b"when",
    b"return",
    b"on",
    b"having",
    b"interval",
    b"limit",
];

#[cfg(test)]
mod tests {
    use super::super::{Cut, SqlMode};
    use super::*;

    fn digest(text: &str) -> String {
        let mut cut = Cut::default();
        cut.read(text.as_bytes(), SqlMode::default());
        String::from_utf8(digest_text(cut.for_digest())).expect("text")
    }

    #[test]
    fn what_differs_in_form_only_has_one_digest() {
        for (expected, texts) in [
            (
                "select * from t where id = ? and v <> ?",
                &[
                    "SELECT * FROM `t` WHERE id=1 AND v<>'x'",
                    "select  *\nfrom t where id = -7 and v <> \"y\" ; ",
                    "/* trace */ select * from T where id=0x1F and v<>_utf8'z' # end",
                ][..],
            ),
            (
                "select count(*) from db.t where a in(...) limit ?, ?",
                &[
                    "select count(*) from db.t where a in (1) limit 0,10",
                    "SELECT COUNT( * ) FROM db . t WHERE a IN (1, 2 ,3) LIMIT 5 , 10",
                ],
            ),
            (
                "insert into t(a, b) values(...)",
                &[
                    "insert into t(a,b) values (1,'x')",
                    "insert into t (a, b) values (1,'x'),(2,NULL), (-3,'z')",
                ],
            ),
            (
                "select * from(values(now())) t where a in(...)",
                &[
                    "select * from (values (now())) t where a in (1)",
                    "SELECT * FROM (VALUES (NOW()),(NOW()), (NOW())) t WHERE a IN (1,2)",
                ],
            ),
            ("values(now())))", &["values (now()),(now())))"]),
            (
                "insert into t values(?, now())",
                &[
                    "insert into t values (1,now())",
                    "insert into t values (1,now()),(2,now()) , (3, NOW())",
                ],
            ),
            ("set @x := ?", &["set @x:=1", "SET @x := 'a'"]),
            ("select a - ?, ?", &["select a-1, -1", "select a - 2, 3"]),
            (
                "select sql_no_cache ?",
                &["select /*!40001 SQL_NO_CACHE */ 1"],
            ),
            ("begin", &["BEGIN", "begin;"]),
        ] {
            for text in texts {
                assert_eq!(digest(text), expected, "{text}");
            }
        }
    }

    #[test]
    fn what_differs_in_meaning_has_two() {
        for (one, other) in [
            ("select a from t", "select b from t"),
            ("select 1 from t for update", "select 1 from t"),
            ("select a=1", "select a>=1"),
            ("select /*+ BKA(t) */ 1 from t", "select 1 from t"),
        ] {
            assert_ne!(digest(one), digest(other));
        }
    }

    #[test]
    fn any_bytes_have_a_digest() {
        for text in [
            &b""[..],
            b"\0\x01",
            b"'",
            b"`",
            b"((((",
            b")",
            b"/*!",
            b"/*+",
            b"-",
            b"values()",
            b"@",
            b"@'",
        ] {
            let mut cut = Cut::default();
            cut.read(text, SqlMode::default());
            digest_text(cut.for_digest());
            digest_text(text);
        }
        assert_eq!(Digest::of(b"begin").to_string().len(), 16);
    }
}
