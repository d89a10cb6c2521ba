//! The digest of a statement: what it is when its literals, comments, letter case and white space are left out.

use std::fmt;
use std::ops::Range;

use super::byte::{is_executable, is_space, is_word};
use super::cut::{COMMENT, LITERAL};
use super::lists::Lists;
use super::sign::takes_sign;

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
    lists: Lists,
    rows: Option<Rows>,
}

/// The rows of a list, by their places in what is written.
struct Rows {
    /// Parentheses that are open around them.
    depth: u32,
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
        self.write_word(word);
        if !self.lists.word(word) {
            self.end_rows();
        }
    }

    fn write_word(&mut self, word: &[u8]) {
        self.space_before(Last::Word);
        self.out.extend(word.iter().map(u8::to_ascii_lowercase));
        self.last = Last::Word;
    }

    /// Something else than a row follows here.
    fn end_rows(&mut self) {
        let depth = self.lists.depth();
        self.rows.take_if(|rows| depth <= rows.depth);
    }

    /// A name in quotes: without them where it needs none, else in backticks.
    fn name(&mut self, text: &[u8], at: usize, quote: u8) -> usize {
        let start = at + 1;
        let mut from = start;
        let end = loop {
            match memchr::memchr(quote, &text[from..]).map(|found| from + found) {
                Some(found) if text.get(found + 1) == Some(&quote) => from = found + 2,
                found => break found.unwrap_or(text.len()),
            }
        };
        let name = &text[start..end];
        if !name.is_empty() && name.iter().all(|&b| is_word(b)) {
            self.write_word(name);
        } else {
            self.space_before(Last::Word);
            self.out.push(b'`');
            let mut rest = name;
            while let [byte, behind @ ..] = rest {
                self.out.push(*byte);
                if *byte == b'`' {
                    self.out.push(b'`');
                }
                // A quote in it is doubled.
                rest = match *byte == quote {
                    true => behind.get(1..).unwrap_or_default(),
                    false => behind,
                };
            }
            self.out.push(b'`');
            self.last = Last::Word;
        }
        self.lists.other();
        self.end_rows();
        (end + 1).min(text.len())
    }

    fn literal(&mut self) {
        self.drop_sign();
        // Literals of a list that stood together when the statement was cut are one already; a comment or a sign was between these.
        if self.lists.is_list() && self.out.ends_with(b"?,") {
            self.out.pop();
        } else {
            self.space_before(Last::Literal);
            self.out.push(b'?');
        }
        self.last = Last::Literal;
        self.lists.literal();
        self.end_rows();
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
                let (depth, start) = (self.lists.depth(), self.out.len());
                let is_row = self.lists.open();
                match &mut self.rows {
                    Some(rows) if rows.depth == depth => rows.start = start,
                    None if is_row => {
                        self.rows = Some(Rows {
                            depth,
                            start,
                            before: None,
                        });
                    }
                    _ => {}
                }
                self.out.push(b'(');
                self.last = Last::Open;
            }
            b')' => self.close(),
            b',' => {
                self.lists.comma();
                self.space_before(Last::Close);
                self.out.push(b',');
                self.last = Last::Close;
            }
            b'.' => {
                self.lists.other();
                self.out.push(b'.');
                self.last = Last::Tight;
            }
            b';' => {
                self.lists.other();
                self.space_before(Last::Close);
                self.out.push(b';');
                self.last = Last::Operator;
                self.rows = None;
            }
            byte => {
                self.lists.other();
                self.end_rows();
                self.space_before(Last::Operator);
                self.out.push(byte);
                self.last = Last::Operator;
            }
        }
    }

    fn close(&mut self) {
        // What is around the rows ends: no row follows.
        self.end_rows();
        // The parts of a list were joined, as far as they were literals.
        if self.lists.is_list() && self.out.ends_with(b"(?") {
            self.out.truncate(self.out.len() - 1);
            self.out.extend_from_slice(b"...");
        }
        self.out.push(b')');
        self.last = Last::Close;
        self.lists.close();
        self.join_rows();
    }

    /// Drops a row that reads as the one before it.
    fn join_rows(&mut self) {
        let depth = self.lists.depth();
        let Some(rows) = self.rows.as_mut().filter(|rows| rows.depth == depth) else {
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
            (
                "select sum(if(status in(...), ?, ?)) from o",
                &[
                    "select sum(if(status in (1,2),1,0)) from o",
                    "select sum(if(status in (3),-1,?)) from o",
                ],
            ),
            (
                "select * from t order by field(id in(...), ?, ?), ?",
                &["select * from t order by field(id in (1,2), 0, 1), 3"],
            ),
            (
                "select * from t where a in(...)",
                &[
                    "select * from t where a in (1 /* x */, 2)",
                    "select * from t where a in (3, - 4,- 5)",
                    "select * from t where a in (?, ?,-?)",
                    "select * from t where a in (_utf8 'x', null, date '2024-01-01', -0x1f)",
                ],
            ),
            (
                "select * from t where(a, b) in((...))",
                &[
                    "select * from t where (a,b) in ((1,2),(3,4))",
                    "select * from t where (a,b) in ((1,2) /* x */, (3,4))",
                ],
            ),
            (
                "select * from t where(a, b) in((f(?), ?))",
                &["select * from t where (a,b) in ((f(1),2),(f(3),4))"],
            ),
            (
                "insert into t values(?, now(), ?)",
                &[
                    "insert into t values (1, now(), null)",
                    "insert into t values (null, now(), 5, true)",
                    "insert into t values (1,now(),1),(null,now(),default)",
                ],
            ),
            (
                "insert into t values(? + ?)",
                &[
                    "insert into t values (1+1,2)",
                    "insert into t values (1+1,2),(2+5,3)",
                    "insert into t values (1+1,2),(2+5,3) , (3+1,1)",
                ],
            ),
            (
                "insert into t values row(...)",
                &[
                    "insert into t values row(1,2)",
                    "insert into t values row(1,2), row(3,4)",
                ],
            ),
            (
                "select concat(values(a), values(a))",
                &["select concat(values(a), values(a))"],
            ),
            (
                "update t set a = ?, b = ? where id = ?",
                &[
                    "update t set a=null, b=default where id=?",
                    "update t set a=5,b=- 6 where id =7",
                ],
            ),
            (
                "select a & ?, a ^ ?, a | ?, a div ? from t where a like ? order by ?",
                &[
                    "select a & -1, a ^ -1, a|-1, a div -1 from t where a like -1 order by -1",
                    "select a & 1, a ^ 1, a|1, a div 1 from t where a like 'x' order by 1",
                ],
            ),
            (
                "select ?, ?",
                &["select _gbk'a', _utf8 'b'", "select 'a',_utf8\"b\""],
            ),
            (
                "select * from t where a > ? and b = ?",
                &[
                    "select * from t where a>98765.5and b=1",
                    "select * from t where a>1e5and b=1",
                ],
            ),
            ("select `a``b`, `a\"b`", &["select `a``b`, `a\"b`"]),
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
            ("select if(a in (1,2),1)", "select if(a in (1,2),1,0)"),
            ("select a in (1), 5", "select a in (1), 5, 6"),
            ("select f(a in (1), 2)", "select f(a in (1, 2))"),
            ("select value, 1", "select value, 1, 2, 3"),
            (
                "select substring(value, 5)",
                "select substring(value, 1, 10)",
            ),
            ("select `a``b`", "select a b"),
            (
                "select a from t where b is null",
                "select a from t where b is true",
            ),
            (
                "select a from t order by null",
                "select a from t order by 1",
            ),
            ("select a in (select 1)", "select a in (select 1, 2)"),
            ("select a - -1", "select a"),
            ("select /*+ BKA(t) */ 1 from t", "select 1 from t"),
        ] {
            assert_ne!(digest(one), digest(other));
        }
    }

    #[test]
    fn one_name_in_two_kinds_of_quotes_is_one() {
        let ansi = SqlMode {
            ansi_quotes: true,
            ..SqlMode::default()
        };
        let mut cut = Cut::default();
        cut.read(br#"select "a b", "a""b", "a`b", "c""#, ansi);
        assert_eq!(
            digest_text(cut.for_digest()),
            br#"select `a b`, `a"b`, `a``b`, c"#
        );
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
            b"values(1),values",
            b"values (1))),((2),(",
            b"in ((((1)),2)",
            b"```",
            b"`a``",
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
