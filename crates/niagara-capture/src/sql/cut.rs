//! A statement taken apart: its skeleton, which many statements share, and what was cut out of it.
//!
//! What is cut out is what a person may not want to show: strings, numbers, comments. Both together are the statement,
//! byte for byte.

use std::ops::Range;

use super::byte::{is_dash_comment, is_executable, is_space, is_word};
use super::lists::Lists;
use super::mode::SqlMode;
use super::scan::end_of_quotes;
use super::sign::takes_value;

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
            lists: Lists::default(),
            joins: None,
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
    lists: Lists,
    /// In a list nothing but commas, parentheses of rows and white space came since the last literal, within as many parentheses.
    joins: Option<u32>,
    /// The text has a byte that stands for a part.
    ambiguous: bool,
}

impl Cutter<'_> {
    fn run(&mut self) {
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b'\'' => self.literal(self.end_of_quotes(self.at)),
                b'"' if !self.mode.ansi_quotes => self.literal(self.end_of_quotes(self.at)),
                b'"' | b'`' => self.code(self.end_of_quotes(self.at)),
                // The mark of a parameter.
                b'?' => self.literal(self.at + 1),
                b'0'..=b'9' => self.number_or_name(),
                b'.' if self.begins_fraction() => self.number_or_name(),
                b'@' => self.variable(),
                b'#' => self.comment(self.end_of_line()),
                b'-' if is_dash_comment(self.text, self.at) => self.comment(self.end_of_line()),
                b'/' if self.text.get(self.at + 1) == Some(&b'*') => self.block(),
                b'-' | b'+' if self.lists.begins_operand() => {
                    let sign = self.at;
                    match self.end_of_number(sign + 1) {
                        Some(end) => self.literal(end),
                        None => self.code(sign + 1),
                    }
                }
                byte if is_word(byte) => self.word(),
                byte if is_space(byte) => self.keep(self.at + 1),
                b',' => {
                    self.lists.comma();
                    self.keep(self.at + 1);
                }
                b'(' => {
                    if !self.lists.open() {
                        self.joins = None;
                    }
                    self.keep(self.at + 1);
                }
                b')' => {
                    if !self.lists.close() {
                        self.joins = None;
                    }
                    self.keep(self.at + 1);
                }
                LITERAL | COMMENT => {
                    self.ambiguous = true;
                    self.code_as(b" ", self.at + 1);
                }
                _ => self.code(self.at + 1),
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

    /// Copies what is no part of a list of literals.
    fn code(&mut self, end: usize) {
        self.lists.other();
        self.copy(end);
    }

    fn copy(&mut self, end: usize) {
        self.joins = None;
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
        self.lists.other();
        self.joins = None;
        self.out.skeleton.extend_from_slice(bytes);
        self.at = end;
    }

    fn literal(&mut self, end: usize) {
        let depth = self.lists.depth();
        if self.joins == Some(depth)
            && let Some(last) = self.out.parts.last_mut()
            && let Some(place) = memchr::memrchr(LITERAL, &self.out.skeleton)
        {
            last.end = end;
            self.out.skeleton.truncate(place + 1);
        } else {
            self.out.skeleton.push(LITERAL);
            self.out.parts.push(self.at..end);
        }
        self.joins = self.lists.is_list().then_some(depth);
        self.lists.literal();
        self.at = end;
    }

    fn comment(&mut self, end: usize) {
        self.out.skeleton.push(COMMENT);
        self.out.parts.push(self.at..end);
        self.joins = None;
        self.at = end;
    }

    /// Where the quotes that open at `start` end.
    fn end_of_quotes(&self, start: usize) -> usize {
        end_of_quotes(self.text, start, self.mode)
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

    fn begins_fraction(&self) -> bool {
        let before = self.at.checked_sub(1).map(|i| self.text[i]);
        let digit_follows = self.text.get(self.at + 1).is_some_and(u8::is_ascii_digit);
        digit_follows && before.is_none_or(|b| !is_word(b) && !matches!(b, b'`' | b'"' | b')'))
    }

    /// Where the hexadecimal or binary number that begins at `start` ends.
    fn end_of_hexadecimal(&self, start: usize) -> Option<usize> {
        let is_digit: fn(&u8) -> bool = match self.text.get(start..)? {
            [b'0', b'x' | b'X', ..] => u8::is_ascii_hexdigit,
            [b'0', b'b' | b'B', ..] => |digit| matches!(digit, b'0' | b'1'),
            _ => return None,
        };
        let end = self.end_of_word(start);
        let digits = &self.text[start + 2..end];
        (!digits.is_empty() && digits.iter().all(is_digit)).then_some(end)
    }

    /// Where the number that begins at `start` ends; none where none does, or a name: `2024_orders`.
    fn end_of_number(&self, start: usize) -> Option<usize> {
        let text = self.text;
        let is_digit = |at: usize| text.get(at).is_some_and(u8::is_ascii_digit);
        let digits = |mut at: usize| {
            while is_digit(at) {
                at += 1;
            }
            at
        };
        let is_fraction = text.get(start) == Some(&b'.') && is_digit(start + 1);
        if !is_fraction && !is_digit(start) {
            return None;
        }
        if let Some(end) = self.end_of_hexadecimal(start) {
            return Some(end);
        }
        let whole = digits(start);
        let mut at = whole;
        if text.get(at) == Some(&b'.') {
            at = digits(at + 1);
        }
        if matches!(text.get(at), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
            if is_digit(at + 1 + sign) {
                at = digits(at + 1 + sign);
            }
        }
        // Behind a fraction or an exponent another word begins: `1.5and`.
        let is_name = at == whole && text.get(at).is_some_and(|&b| is_word(b));
        (!is_name).then_some(at)
    }

    fn number_or_name(&mut self) {
        // `db.1`.
        let is_behind_dot = self.is_behind_dot() && self.text[self.at] != b'.';
        match self.end_of_number(self.at).filter(|_| !is_behind_dot) {
            Some(end) => self.literal(end),
            None => self.code(self.end_of_word(self.at).max(self.at + 1)),
        }
    }

    fn is_behind_dot(&self) -> bool {
        self.at > 0 && self.text[self.at - 1] == b'.'
    }

    fn variable(&mut self) {
        let mut end = self.at + 1;
        while self.text.get(end) == Some(&b'@') {
            end += 1;
        }
        self.code(end);
        match self.text.get(self.at) {
            Some(b'\'' | b'"' | b'`') => self.code(self.end_of_quotes(self.at)),
            Some(&byte) if is_word(byte) => self.code(self.end_of_word(self.at)),
            _ => {}
        }
    }

    fn end_of_word(&self, start: usize) -> usize {
        let rest = &self.text[start..];
        rest.iter()
            .position(|&b| !is_word(b))
            .map_or(self.text.len(), |i| start + i)
    }

    /// Where the string ends that is behind white space at `at`.
    fn end_of_string(&self, at: usize) -> Option<usize> {
        let start = self.behind_space(at);
        let begins = match self.text.get(start)? {
            b'\'' => true,
            b'"' => !self.mode.ansi_quotes,
            _ => false,
        };
        begins.then(|| self.end_of_quotes(start))
    }

    /// Where the literal ends that is behind white space at `at`, and may have an introducer before it.
    fn end_of_introduced(&self, at: usize) -> Option<usize> {
        let start = self.behind_space(at);
        match self.text.get(start..)? {
            [b'x' | b'X' | b'b' | b'B', b'\'', ..] => Some(self.end_of_quotes(start + 1)),
            [b'0', ..] => self.end_of_hexadecimal(start),
            _ => self.end_of_string(start),
        }
    }

    fn behind_space(&self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        at + rest.iter().take_while(|&&b| is_space(b)).count()
    }

    fn word(&mut self) {
        let end = self.end_of_word(self.at);
        match self.end_of_worded(end) {
            Some(end) => self.literal(end),
            None => {
                self.lists.word(&self.text[self.at..end]);
                self.copy(end);
            }
        }
    }

    /// Where the literal ends that begins with a word, which ends at `end`: X'ff', N'text', _utf8mb4 'text', DATE '2024-01-01', NULL.
    fn end_of_worded(&self, end: usize) -> Option<usize> {
        let word = &self.text[self.at..end];
        let is = |name: &[u8]| word.eq_ignore_ascii_case(name);
        match word.len() {
            1 if self.text.get(end) == Some(&b'\'') => {
                matches!(word, b"x" | b"X" | b"n" | b"N" | b"b" | b"B")
                    .then(|| self.end_of_quotes(end))
            }
            4.. if word[0] == b'_' && is_charset(&word[1..]) => self.end_of_introduced(end),
            4 | 9 if (is(b"date") || is(b"time") || is(b"timestamp")) && !self.is_behind_dot() => {
                self.end_of_string(end)
            }
            4 | 5 if is(b"null") || is(b"true") || is(b"false") => {
                takes_value(self.before()).then_some(end)
            }
            7 if is(b"default") => {
                let is_function = self.text.get(self.behind_space(end)) == Some(&b'(');
                let is_value = self.lists.begins_operand() || self.before().ends_with(b"=");
                (is_value && !is_function).then_some(end)
            }
            _ => None,
        }
    }

    /// What is before this place, without white space and comments.
    fn before(&self) -> &[u8] {
        let skeleton = &self.out.skeleton;
        let last = skeleton
            .iter()
            .rposition(|&byte| !is_space(byte) && byte != COMMENT);
        &skeleton[..last.map_or(0, |last| last + 1)]
    }
}

fn is_charset(word: &[u8]) -> bool {
    CHARSETS
        .split(|&byte| byte == b' ')
        .any(|charset| charset.eq_ignore_ascii_case(word))
}

/// Character sets that a literal may name, the usual ones first.
const CHARSETS: &[u8] = b"utf8mb4 binary utf8 utf8mb3 latin1 ascii armscii8 big5 cp1250 cp1251 cp1256 cp1257 cp850 cp852 cp866 \
    cp932 dec8 eucjpms euckr filename gb18030 gb2312 gbk geostd8 greek hebrew hp8 keybcs2 koi8r koi8u latin2 latin5 latin7 macce \
    macroman sjis swe7 tis620 ucs2 ujis utf16 utf16le utf32";

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
                "select _gbk'a', _utf8 'a', _utf8\"a\", _binary 0xff, _latin1 x'ff', _id'a'",
                "select ?, ?, ?, ?, ?, _id?",
            ),
            (
                "select date'2024-01-01', TIME '10:00:00', timestamp \"x\", a.date 'x'",
                "select ?, ?, ?, a.date ?",
            ),
            (
                "select null, a = TRUE, a is null, a is not true, f(false), t.null",
                "select ?, a = ?, a is null, a is not true, f(?), t.null",
            ),
            (
                "update t set a=null, b=default, c=default(c) order by null",
                "update t set a=?, b=?, c=default(c) order by null",
            ),
            (
                "create table t (a int not null default null)",
                "create table t (a int not null default ?)",
            ),
            (
                "select * from t where a=? and b in (?,?)",
                "select * from t where a=? and b in (?)",
            ),
            (
                "where a>98765.5and b=1e5or c=1.e2 and d=5e",
                "where a>?and b=?or c=? and d=5e",
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
            ("sum(if(a in (1,2),1,0))", "sum(if(a in (?),?,?))"),
            ("select a in (1), 5, 6", "select a in (?), ?, ?"),
            ("select value, 1, 2", "select value, ?, ?"),
            ("f(value, 1, 10)", "f(value, ?, ?)"),
            ("a in ((1,2),(3,4)) and b", "a in ((?)) and b"),
            ("a in ((1),2, (3),(4))", "a in ((?),?, (?))"),
            ("a in (select 1, 2)", "a in (select ?, ?)"),
            ("a in (f(1, 2), 3, 4)", "a in (f(?, ?), ?)"),
            (
                "values (1,null, now(), null,true , -0xff),(now(),1),(2,3)",
                "values (?, now(), ?),(now(),?),(?)",
            ),
            ("values (1+1,2),(2+5,3)", "values (?+?),(?+?)"),
            ("values (f(1)-2), -2", "values (f(?)-?), -?"),
            ("values row(1,2), row(3,4)", "values row(?), row(?)"),
            ("in (-2024_a, -e5, -.5)", "in (-2024_a, -e5, ?)"),
            ("values (default(a), default , 1)", "values (default(a), ?)"),
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
