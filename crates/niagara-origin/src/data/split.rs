//! A stream of SQL cut into statements as the command-line client cuts it: by the delimiter, which `DELIMITER` changes,
//! outside of quotes and comments. Holds one statement in memory.

use std::io::{self, Read};

use niagara_error::Explanation;

/// Bytes read at a time.
const PART: usize = 1 << 20;
/// The longest statement: no server takes more at once (`max_allowed_packet`).
const LONGEST: usize = 1 << 30;
/// The longest line that sets the delimiter, which is a few characters.
const DELIMITER_LINE: usize = 4096;

/// Text that is no statement of any length that a server takes.
#[derive(Debug, thiserror::Error)]
enum TooLong {
    #[error(
        "a statement of more than {LONGEST} bytes, which no server takes: a quote or a comment may have no end"
    )]
    Statement,
    #[error("a line that begins with DELIMITER has more than {DELIMITER_LINE} bytes")]
    Delimiter,
}

niagara_error::remedied!(TooLong, |error| {
    Explanation::new(error.to_string()).remedy(
    match error {
        TooLong::Statement =>
            "dump again; with a tool that ends statements earlier (--skip-extended-insert) where rows are that long",
        TooLong::Delimiter => "correct the line, or dump again",
    }
)
});

impl From<TooLong> for io::Error {
    fn from(error: TooLong) -> Self {
        io::Error::new(io::ErrorKind::InvalidData, error)
    }
}

/// Statements of a stream.
pub(crate) struct Statements<R> {
    input: R,
    buffer: Vec<u8>,
    /// Where the statement begins, and how far it has been scanned.
    start: usize,
    at: usize,
    ended: bool,
    state: State,
    /// There was something else than comments since the last delimiter.
    has_code: bool,
    delimiter: Vec<u8>,
    /// The longest statement that is taken.
    longest: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing but white space and comments since the last delimiter.
    Before,
    Code,
    Quoted(u8),
    Line,
    Block,
}

impl<R: Read> Statements<R> {
    /// Those of `input`.
    pub(crate) fn of(input: R) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            start: 0,
            at: 0,
            ended: false,
            state: State::Before,
            has_code: false,
            delimiter: b";".to_vec(),
            longest: LONGEST,
        }
    }

    /// The same with another delimiter from the beginning.
    pub(crate) fn ended_by(mut self, delimiter: &[u8]) -> Self {
        self.delimiter = delimiter.to_vec();
        self
    }

    /// What is read.
    pub(crate) fn input(&self) -> &R {
        &self.input
    }

    /// The next statement without its delimiter; none at the end.
    ///
    /// # Errors
    /// The stream cannot be read.
    pub(crate) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        loop {
            // What a decision may need to look ahead: the longest delimiter or word.
            while !self.ended && self.buffer.len() - self.at < self.delimiter.len().max(16) {
                self.fill()?;
            }
            let Some(&byte) = self.buffer.get(self.at) else {
                let rest = self.start..self.buffer.len();
                self.start = self.buffer.len();
                self.at = self.start;
                let found = self.buffer[rest.clone()].trim_ascii();
                return Ok((!found.is_empty())
                    .then_some(())
                    .map(|()| self.buffer[rest].trim_ascii()));
            };
            match self.state {
                State::Before if byte.is_ascii_whitespace() => {
                    // A comment belongs to the statement that follows it.
                    if self.start == self.at {
                        self.start += 1;
                    }
                    self.at += 1;
                }
                State::Before if self.says_delimiter() => self.change_delimiter()?,
                State::Before => match self.comment(byte) {
                    Some(State::Block) => {
                        self.state = State::Block;
                        self.at += 2;
                    }
                    Some(comment) => {
                        self.state = comment;
                        self.at += 1;
                    }
                    None => {
                        self.has_code = true;
                        self.state = State::Code;
                    }
                },
                State::Code => {
                    if self.buffer[self.at..].starts_with(&self.delimiter) {
                        let found = self.start..self.at;
                        self.at += self.delimiter.len();
                        self.start = self.at;
                        self.state = State::Before;
                        self.has_code = false;
                        if !self.buffer[found.clone()].trim_ascii().is_empty() {
                            return Ok(Some(self.buffer[found].trim_ascii()));
                        }
                        continue;
                    }
                    self.code(byte);
                }
                State::Quoted(quote) => self.quoted(quote),
                State::Line => {
                    self.skip_to(memchr::memchr(b'\n', &self.buffer[self.at..]), 1);
                }
                State::Block => {
                    let end = memchr::memmem::find(&self.buffer[self.at..], b"*/");
                    match end {
                        Some(end) => self.skip_to(Some(end), 2),
                        // The star may be the last byte that is here.
                        None => self.at = (self.buffer.len() - 1).max(self.at + 1),
                    }
                }
            }
        }
    }

    fn code(&mut self, byte: u8) {
        self.state = match byte {
            b'\'' | b'"' | b'`' => State::Quoted(byte),
            _ => match self.comment(byte) {
                Some(State::Block) => {
                    self.at += 1;
                    State::Block
                }
                Some(comment) => comment,
                None => State::Code,
            },
        };
        self.at += 1;
    }

    /// The comment that begins with `byte`, if one does. What servers execute is code: quotes within count.
    fn comment(&self, byte: u8) -> Option<State> {
        let next = |offset: usize| self.buffer.get(self.at + offset).copied();
        match byte {
            b'#' => Some(State::Line),
            b'-' if next(1) == Some(b'-') && next(2).is_none_or(|c| c <= b' ') => Some(State::Line),
            b'/' if next(1) == Some(b'*') => match (next(2), next(3)) {
                (Some(b'!'), _) | (Some(b'M'), Some(b'!')) => None,
                _ => Some(State::Block),
            },
            _ => None,
        }
    }

    fn quoted(&mut self, quote: u8) {
        let rest = &self.buffer[self.at..];
        // A backslash means nothing within backticks.
        let found = match quote {
            b'`' => memchr::memchr(quote, rest),
            _ => memchr::memchr2(quote, b'\\', rest),
        };
        match found {
            None => self.at = self.buffer.len(),
            Some(found) if rest[found] == quote => self.skip_to(Some(found), 1),
            Some(found) if found + 1 < rest.len() || self.ended => {
                self.at = (self.at + found + 2).min(self.buffer.len());
            }
            // What is escaped is not here yet.
            Some(found) => self.at += found,
        }
    }

    /// Behind what was found, where it was before; to the end of what is here where nothing was.
    fn skip_to(&mut self, found: Option<usize>, length: usize) {
        match found {
            Some(found) => {
                self.at += found + length;
                self.state = match self.has_code {
                    true => State::Code,
                    false => State::Before,
                };
            }
            None => self.at = self.buffer.len(),
        }
    }

    fn says_delimiter(&self) -> bool {
        let word = self.buffer.get(self.at..self.at + 10).unwrap_or_default();
        word.len() == 10
            && word[..9].eq_ignore_ascii_case(b"delimiter")
            && word[9].is_ascii_whitespace()
    }

    fn change_delimiter(&mut self) -> io::Result<()> {
        while !self.ended && !self.buffer[self.at..].contains(&b'\n') {
            if self.buffer.len() - self.at > DELIMITER_LINE {
                return Err(TooLong::Delimiter.into());
            }
            self.fill()?;
        }
        let rest = &self.buffer[self.at + 9..];
        let end = rest
            .iter()
            .position(|byte| *byte == b'\n')
            .unwrap_or(rest.len());
        let delimiter = rest[..end].trim_ascii();
        if !delimiter.is_empty() {
            self.delimiter = delimiter.to_vec();
        }
        self.at = (self.at + 9 + end + 1).min(self.buffer.len());
        self.start = self.at;
        Ok(())
    }

    /// Reads on; what lies before the statement makes room.
    fn fill(&mut self) -> io::Result<()> {
        self.buffer.drain(..self.start);
        self.at -= self.start;
        self.start = 0;
        let length = self.buffer.len();
        if length > self.longest {
            return Err(TooLong::Statement.into());
        }
        self.buffer.resize(length + PART, 0);
        let count = loop {
            match self.input.read(&mut self.buffer[length..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.buffer.truncate(length + count);
        self.ended = count == 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out a few bytes at a time, so that every decision falls on a border once.
    struct Drops<'a>(&'a [u8], usize);

    impl Read for Drops<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(self.0.len()).min(buffer.len());
            let (part, rest) = self.0.split_at(count);
            buffer[..count].copy_from_slice(part);
            self.0 = rest;
            Ok(count)
        }
    }

    fn cut(text: &str) -> Vec<String> {
        let all = |drop: usize| {
            let mut statements = Statements::of(Drops(text.as_bytes(), drop));
            let mut found = Vec::new();
            while let Some(statement) = statements.next().unwrap() {
                found.push(String::from_utf8(statement.to_vec()).unwrap());
            }
            found
        };
        let whole = all(1 << 20);
        for drop in 1..20 {
            assert_eq!(all(drop), whole, "{drop} bytes at a time");
        }
        whole
    }

    #[test]
    fn statements_end_at_delimiters_outside_of_quotes_and_comments() {
        assert_eq!(
            cut(
                "-- a; b\nINSERT INTO t VALUES ('a;\\'b', \"c;\"\"d\", `e;`);\n/* x; */ SELECT 1 # y;\n;;\nSELECT 2"
            ),
            [
                "-- a; b\nINSERT INTO t VALUES ('a;\\'b', \"c;\"\"d\", `e;`)",
                "/* x; */ SELECT 1 # y;",
                "SELECT 2"
            ]
        );
        assert_eq!(
            cut("SELECT 5--1; SELECT '\\\\'; SELECT `\\`;"),
            ["SELECT 5--1", "SELECT '\\\\'", "SELECT `\\`"]
        );
        assert_eq!(cut(" \n ;; "), [] as [&str; 0]);
    }

    #[test]
    fn the_delimiter_changes_for_routines() {
        let text = "DELIMITER ;;\n/*!50003 CREATE*/ /*!50003 TRIGGER a BEFORE INSERT ON t FOR EACH ROW BEGIN\nSET @a = 'x*/;;'; SET @b = 2; END */;;\n\
            delimiter ;\nSELECT 1;\n";
        assert_eq!(
            cut(text),
            [
                "/*!50003 CREATE*/ /*!50003 TRIGGER a BEFORE INSERT ON t FOR EACH ROW BEGIN\nSET @a = 'x*/;;'; SET @b = 2; END */",
                "SELECT 1"
            ]
        );
    }

    #[test]
    fn a_comment_may_stand_before_the_word_delimiter() {
        // As phpMyAdmin writes it.
        let text = "COMMIT;\n\n--\n-- Procedures; of `shop`\n--\nDELIMITER $$\nCREATE PROCEDURE a() BEGIN SELECT 1; SELECT 2; END$$\n\n\
            /* next; */\nDELIMITER ;\n\n-- a table\nSELECT 3;\n# the end";
        assert_eq!(
            cut(text),
            [
                "COMMIT",
                "CREATE PROCEDURE a() BEGIN SELECT 1; SELECT 2; END",
                "-- a table\nSELECT 3",
                "# the end"
            ]
        );
    }

    #[test]
    fn text_without_an_end_is_refused() {
        let told = |text: &[u8]| {
            let mut statements = Statements::of(text.chain(io::repeat(b'x')));
            statements.longest = 4 * PART;
            statements.next().unwrap_err().to_string()
        };
        for begin in ["INSERT INTO t VALUES ('", "SELECT `", "/* ", "x", "-- "] {
            let told = told(begin.as_bytes());
            assert!(told.contains("which no server takes"), "{begin}: {told}");
        }
        let told = told(b"DELIMITER ");
        assert!(told.contains("begins with DELIMITER"), "{told}");
    }

    #[test]
    fn memory_is_one_statement_not_the_dump() {
        let statement = format!("INSERT INTO t VALUES ('{}');\n", "x".repeat(100_000));
        let text = statement.repeat(100);
        let mut statements = Statements::of(text.as_bytes());
        let mut count = 0;
        while statements.next().unwrap().is_some() {
            count += 1;
            assert!(statements.buffer.capacity() < 4 * PART);
        }
        assert_eq!(count, 100);
    }
}
