//! A statement taken apart: its skeleton, which many statements share, and what was cut out of it.
//!
//! What is cut out is what a person may not want to show: strings, numbers, comments. Both together are the statement,
//! byte for byte.

use std::ops::Range;

use super::byte::{is_dash_comment, is_executable, is_space, is_word};
use super::mode::SqlMode;
use super::scan::find_close;

/// Stands in a skeleton for a literal, or for a list of literals in the parentheses of `IN` and `VALUES`.
pub(crate) const LITERAL: u8 = 0;
/// Stands in a skeleton for a comment.
pub(crate) const COMMENT: u8 = 1;

/// Longest skeleton; a statement with a longer one is kept as a single literal.
const MAX_SKELETON: usize = 64 << 10;

/// A statement taken apart. Reused from statement to statement, so that nothing is allocated.
#[derive(Debug, Default)]
pub struct Cut {
    /// The statement with a byte in the place of each part that was cut out.
    pub skeleton: Vec<u8>,
    /// Where the parts are in the statement, in their order.
    pub parts: Vec<Range<usize>>,
    /// The skeleton without what makes it useless for putting the statement together: for the digest of a statement
    /// that could not be cut, whose skeleton is one [`LITERAL`].
    pub uncut: Option<Vec<u8>>,
}

impl Cut {
    /// Takes `text` apart.
    pub fn read(&mut self, text: &[u8], mode: SqlMode) {
        self.skeleton.clear();
        self.parts.clear();
        self.uncut = None;
        let mut cutter = Cutter {
            text,
            mode,
            at: 0,
            out: self,
            list: false,
            joins: false,
            signed: true,
            ambiguous: false,
        };
        cutter.run();
        let ambiguous = cutter.ambiguous;
        if ambiguous || self.skeleton.len() > MAX_SKELETON {
            let mut skeleton = std::mem::take(&mut self.skeleton);
            skeleton.truncate(MAX_SKELETON);
            self.uncut = Some(skeleton);
            self.skeleton.push(LITERAL);
            self.parts.clear();
            self.parts.push(0..text.len());
        }
    }

    /// What the digest is made of.
    pub fn for_digest(&self) -> &[u8] {
        self.uncut.as_deref().unwrap_or(&self.skeleton)
    }
}

/// Puts a statement together again.
///
/// # Errors
/// `None` when there are more places than parts.
pub fn restore<'a>(
    skeleton: &[u8],
    mut parts: impl Iterator<Item = &'a [u8]>,
    out: &mut Vec<u8>,
) -> Option<()> {
    let mut rest = skeleton;
    while let Some(found) = memchr::memchr2(LITERAL, COMMENT, rest) {
        out.extend_from_slice(&rest[..found]);
        out.extend_from_slice(parts.next()?);
        rest = &rest[found + 1..];
    }
    out.extend_from_slice(rest);
    Some(())
}

struct Cutter<'a> {
    text: &'a [u8],
    mode: SqlMode,
    at: usize,
    out: &'a mut Cut,
    /// Inside of what follows `IN` or `VALUES`.
    list: bool,
    /// In such a list nothing but commas, parentheses and white space came since the last literal.
    joins: bool,
    /// A sign here belongs to the number that follows.
    signed: bool,
    /// The text has a byte that stands for a part.
    ambiguous: bool,
}

impl Cutter<'_> {
    fn run(&mut self) {
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b'\'' => self.quoted_literal(byte),
                b'"' if !self.mode.ansi_quotes => self.quoted_literal(byte),
                b'"' | b'`' => {
                    let end = self.end_of_quotes(byte);
                    self.code(end);
                }
                b'0'..=b'9' => self.number_or_name(),
                b'.' if self.begins_fraction() => self.number_or_name(),
                b'@' => self.variable(),
                b'#' => self.comment(self.end_of_line()),
                b'-' if is_dash_comment(self.text, self.at) => self.comment(self.end_of_line()),
                b'/' if self.text.get(self.at + 1) == Some(&b'*') => self.block(),
                b'-' | b'+' if self.list && self.signed && self.digit_follows() => {
                    let end = self.end_of_number(self.at + 1);
                    self.literal(end);
                }
                byte if is_word(byte) => self.word(),
                byte if is_space(byte) => self.keep(self.at + 1),
                b',' | b'(' | b')' => {
                    self.keep(self.at + 1);
                    self.signed = true;
                }
                LITERAL | COMMENT => {
                    self.ambiguous = true;
                    self.code_as(b" ", self.at + 1);
                }
                _ => {
                    self.code(self.at + 1);
                    self.signed = false;
                }
            }
        }
    }

    /// Copies what belongs to a list as well as to code.
    fn keep(&mut self, end: usize) {
        self.out
            .skeleton
            .extend_from_slice(&self.text[self.at..end]);
        self.at = end;
    }

    /// Copies what ends a list of literals.
    fn code(&mut self, end: usize) {
        self.joins = false;
        self.signed = false;
        // Quoted names may hold the bytes that stand for parts.
        if self.text[self.at..end]
            .iter()
            .any(|&b| b == LITERAL || b == COMMENT)
        {
            self.ambiguous = true;
        }
        self.keep(end);
    }

    fn code_as(&mut self, bytes: &[u8], end: usize) {
        self.joins = false;
        self.out.skeleton.extend_from_slice(bytes);
        self.at = end;
    }

    fn literal(&mut self, end: usize) {
        if self.joins
            && let Some(last) = self.out.parts.last_mut()
            && let Some(place) = memchr::memrchr(LITERAL, &self.out.skeleton)
        {
            last.end = end;
            self.out.skeleton.truncate(place + 1);
        } else {
            self.out.skeleton.push(LITERAL);
            self.out.parts.push(self.at..end);
        }
        self.joins = self.list;
        self.signed = false;
        self.at = end;
    }

    fn comment(&mut self, end: usize) {
        self.out.skeleton.push(COMMENT);
        self.out.parts.push(self.at..end);
        self.joins = false;
        self.at = end;
    }

    fn end_of_quotes(&self, quote: u8) -> usize {
        let end = self.text.len();
        let mut at = self.at + 1;
        loop {
            match find_close(self.text, at, end, quote, self.mode) {
                Ok(close) if self.text.get(close + 1) == Some(&quote) => at = close + 2,
                Ok(close) => return close + 1,
                Err(_) => return end,
            }
        }
    }

    fn quoted_literal(&mut self, quote: u8) {
        let end = self.end_of_quotes(quote);
        self.literal(end);
    }

    fn end_of_line(&self) -> usize {
        memchr::memchr(b'\n', &self.text[self.at..]).map_or(self.text.len(), |i| self.at + i)
    }

    fn block(&mut self) {
        if is_executable(self.text, self.at) {
            let digits = self.text[self.at + 2..]
                .iter()
                .take_while(|b| matches!(b, b'!' | b'M' | b'0'..=b'9'))
                .count();
            self.code(self.at + 2 + digits);
            return;
        }
        let inside = &self.text[(self.at + 2).min(self.text.len())..];
        let end = memchr::memmem::find(inside, b"*/").map_or(self.text.len(), |i| self.at + i + 4);
        // A hint for the optimizer is part of what is executed.
        if inside.first() == Some(&b'+') {
            self.code(end);
        } else {
            self.comment(end);
        }
    }

    fn digit_follows(&self) -> bool {
        self.text.get(self.at + 1).is_some_and(u8::is_ascii_digit)
    }

    fn begins_fraction(&self) -> bool {
        let before = self.at.checked_sub(1).map(|i| self.text[i]);
        self.digit_follows()
            && before.is_none_or(|b| !is_word(b) && !matches!(b, b'`' | b'"' | b')'))
    }

    /// Where the digits, the fraction and the exponent that begin at `at` end.
    fn end_of_number(&self, mut at: usize) -> usize {
        let text = self.text;
        let digits = |mut at: usize| {
            while text.get(at).is_some_and(u8::is_ascii_digit) {
                at += 1;
            }
            at
        };
        at = digits(at);
        if text.get(at) == Some(&b'.') {
            at = digits(at + 1);
        }
        if matches!(text.get(at), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
            if text.get(at + 1 + sign).is_some_and(u8::is_ascii_digit) {
                at = digits(at + 1 + sign);
            }
        }
        at
    }

    fn number_or_name(&mut self) {
        let text = self.text;
        let after_dot = self.at > 0 && text[self.at - 1] == b'.' && text[self.at] != b'.';
        let mut end = self.at;
        while text.get(end).is_some_and(|&b| is_word(b)) {
            end += 1;
        }
        let word = &text[self.at..end];
        let hexadecimal = |kind: [u8; 2], digit: fn(&u8) -> bool| {
            word.len() > 2
                && word[0] == b'0'
                && kind.contains(&word[1])
                && word[2..].iter().all(digit)
        };
        if hexadecimal(*b"xX", u8::is_ascii_hexdigit)
            || hexadecimal(*b"bB", |b| matches!(b, b'0' | b'1'))
        {
            self.literal(end);
            return;
        }
        let number = self.end_of_number(self.at);
        // A name may begin with a digit: `2024_orders`, `db.1`.
        if after_dot || text.get(number).is_some_and(|&b| is_word(b)) {
            self.code(end.max(self.at + 1));
        } else {
            self.literal(number);
        }
    }

    fn variable(&mut self) {
        let mut end = self.at + 1;
        while self.text.get(end) == Some(&b'@') {
            end += 1;
        }
        self.code(end);
        match self.text.get(self.at) {
            Some(&quote @ (b'\'' | b'"' | b'`')) => {
                let end = self.end_of_quotes(quote);
                self.code(end);
            }
            Some(&byte) if is_word(byte) => {
                let end = self.end_of_word();
                self.code(end);
            }
            _ => {}
        }
    }

    fn end_of_word(&self) -> usize {
        let rest = &self.text[self.at..];
        rest.iter()
            .position(|&b| !is_word(b))
            .map_or(self.text.len(), |i| self.at + i)
    }

    fn word(&mut self) {
        let end = self.end_of_word();
        let word = &self.text[self.at..end];
        let is = |name: &[u8]| word.eq_ignore_ascii_case(name);
        match word.len() {
            2 if is(b"in") => self.list = true,
            5 if is(b"value") => self.list = true,
            6 if is(b"values") => self.list = true,
            // Introducers of a literal: X'ff', N'text', _utf8mb4'text'.
            1 | 5.. if self.text.get(end) == Some(&b'\'') => {
                let introduces =
                    word[0] == b'_' || matches!(word, b"x" | b"X" | b"n" | b"N" | b"b" | b"B");
                if introduces {
                    let start = self.at;
                    self.at = end;
                    let end = self.end_of_quotes(b'\'');
                    self.at = start;
                    self.literal(end);
                    return;
                }
                self.list = false;
            }
            4 | 5 | 7
                if self.list && (is(b"null") || is(b"true") || is(b"false") || is(b"default")) =>
            {
                self.literal(end);
                return;
            }
            _ => self.list = false,
        }
        self.code(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skeleton(text: &str) -> String {
        skeleton_in(text.as_bytes(), SqlMode::default())
    }

    fn skeleton_in(text: &[u8], mode: SqlMode) -> String {
        let mut cut = Cut::default();
        cut.read(text, mode);
        let mut back = Vec::new();
        restore(
            &cut.skeleton,
            cut.parts.iter().map(|range| &text[range.clone()]),
            &mut back,
        )
        .expect("as many parts as places");
        assert_eq!(back, text, "put together again");
        String::from_utf8_lossy(&cut.skeleton)
            .replace('\0', "?")
            .replace('\u{1}', "~")
    }

    #[test]
    fn literals_and_comments_are_cut_out() {
        for (text, expected) in [
            (
                "select 'a', \"b\", 3, -4.5e-3, 0xFF, .5",
                "select ?, ?, ?, -?, ?, ?",
            ),
            (
                "select x'ff', N'n', _utf8mb4'é', b'01'",
                "select ?, ?, ?, ?",
            ),
            (
                "select t1.c1, 2024_orders.x, `a'b` from t1",
                "select t1.c1, 2024_orders.x, `a'b` from t1",
            ),
            ("select /* trace=1 */ 1 -- end", "select ~ ? ~"),
            (
                "select /*+ MAX_EXECUTION_TIME(9) */ 1",
                "select /*+ MAX_EXECUTION_TIME(9) */ ?",
            ),
            (
                "select /*!40001 SQL_NO_CACHE */ 1",
                "select /*!40001 SQL_NO_CACHE */ ?",
            ),
            ("set @'a b' = 'x', @@x=1", "set @'a b' = ?, @@x=?"),
            ("select 'it''s'", "select ?"),
            ("select a-1, a - -1", "select a-?, a - -?"),
        ] {
            assert_eq!(skeleton(text), expected);
        }
    }

    #[test]
    fn lists_of_literals_are_one_part() {
        for (text, expected) in [
            (
                "select 1 where a in (1, -2,'3' , NULL)",
                "select ? where a in (?)",
            ),
            (
                "insert into t values (1,'a'),( 2 ,'b') on duplicate key update a=1",
                "insert into t values (?) on duplicate key update a=?",
            ),
            (
                "insert into t values (1,now()),(2,now())",
                "insert into t values (?,now()),(?,now())",
            ),
            ("select a in (1,2) and f(1,2)", "select a in (?) and f(?,?)"),
            ("select a in (1 /* one */, 2)", "select a in (? ~, ?)"),
            (
                "insert into t values (default, true, 1)",
                "insert into t values (?)",
            ),
        ] {
            assert_eq!(skeleton(text), expected);
        }
    }

    #[test]
    fn bytes_that_cannot_be_cut_are_kept_whole() {
        assert_eq!(skeleton_in(b"select \0 1", SqlMode::default()), "?");
        assert_eq!(skeleton_in(b"select '\0'", SqlMode::default()), "select ?");
        let long = format!("select {} 1", "a,".repeat(40_000));
        assert_eq!(skeleton(&long), "?");
    }
}
