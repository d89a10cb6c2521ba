//! Whether a place in a statement is code, a comment, or inside of quotes.

use super::byte::{is_dash_comment, is_executable};
use super::mode::{Charset, SqlMode};

/// What surrounds a place in a statement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Inside {
    /// Nothing: the statement may end here.
    #[default]
    Code,
    /// A comment that the end of the line ends.
    LineComment,
    /// A comment that `*/` ends.
    BlockComment,
    /// Quotes of this kind.
    Quotes(u8),
}

impl Inside {
    /// Whether a statement may end here.
    pub(crate) fn may_end(self) -> bool {
        matches!(self, Inside::Code | Inside::LineComment)
    }
}

/// Reads a statement from its beginning, as far as it is asked to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scanner {
    mode: SqlMode,
    inside: Inside,
    at: usize,
}

/// Bytes of code at which something may begin.
const OPENS: [bool; 256] = {
    let mut table = [false; 256];
    table[b'\'' as usize] = true;
    table[b'"' as usize] = true;
    table[b'`' as usize] = true;
    table[b'#' as usize] = true;
    table[b'-' as usize] = true;
    table[b'/' as usize] = true;
    table
};

impl Scanner {
    /// At the beginning of a statement.
    pub fn new(mode: SqlMode) -> Scanner {
        Scanner {
            mode,
            inside: Inside::Code,
            at: 0,
        }
    }

    /// What surrounds `text[end]`. `text` is the same statement in every call, and `end` never goes back.
    pub fn run(&mut self, text: &[u8], end: usize) -> Inside {
        let end = end.min(text.len());
        while self.at < end {
            match self.inside {
                Inside::Code => self.code(text, end),
                Inside::LineComment => self.until(text, end, b'\n', Inside::Code),
                Inside::BlockComment => self.block_comment(text, end),
                Inside::Quotes(quote) => self.quotes(text, end, quote),
            }
        }
        self.inside
    }

    fn code(&mut self, text: &[u8], end: usize) {
        while self.at < end {
            let byte = text[self.at];
            if !OPENS[usize::from(byte)] {
                self.at += 1;
                continue;
            }
            self.inside = match byte {
                b'\'' | b'"' | b'`' => Inside::Quotes(byte),
                b'#' => Inside::LineComment,
                b'-' if is_dash_comment(text, self.at) => Inside::LineComment,
                b'/' if text.get(self.at + 1) == Some(&b'*') && !is_executable(text, self.at) => {
                    // Past the star, which does not end what it begins.
                    self.at += 1;
                    Inside::BlockComment
                }
                _ => Inside::Code,
            };
            self.at += 1;
            if self.inside != Inside::Code {
                return;
            }
        }
    }

    fn until(&mut self, text: &[u8], end: usize, byte: u8, then: Inside) {
        match memchr::memchr(byte, &text[self.at..end]) {
            Some(found) => {
                self.at += found + 1;
                self.inside = then;
            }
            None => self.at = end,
        }
    }

    fn block_comment(&mut self, text: &[u8], end: usize) {
        match memchr::memchr(b'*', &text[self.at..end]) {
            Some(found) => {
                self.at += found + 1;
                if text.get(self.at) == Some(&b'/') {
                    self.at += 1;
                    self.inside = Inside::Code;
                }
            }
            None => self.at = end,
        }
    }

    fn quotes(&mut self, text: &[u8], end: usize, quote: u8) {
        match find_close(text, self.at, end, quote, self.mode) {
            // A doubled quote ends here and begins again with the next byte, which comes to the same.
            Ok(close) => {
                self.at = close + 1;
                self.inside = Inside::Code;
            }
            Err(stopped) => self.at = stopped,
        }
    }
}

/// Where the quotes that open at `start` end; a quote that is doubled does not end them. The end of the text where nothing does.
pub(super) fn end_of_quotes(text: &[u8], start: usize, mode: SqlMode) -> usize {
    let (quote, end) = (text[start], text.len());
    let mut at = start + 1;
    loop {
        match find_close(text, at, end, quote, mode) {
            Ok(close) if text.get(close + 1) == Some(&quote) => at = close + 2,
            Ok(close) => return close + 1,
            Err(_) => return end,
        }
    }
}

/// Where the quotes that are open at `at` close; else where reading stopped, which is past `end` by one byte when an
/// escape straddles it.
pub(crate) fn find_close(
    text: &[u8],
    mut at: usize,
    end: usize,
    quote: u8,
    mode: SqlMode,
) -> Result<usize, usize> {
    let identifier = quote == b'`' || (quote == b'"' && mode.ansi_quotes);
    let escapes = !mode.no_backslash_escapes && !identifier;
    while at < end {
        if mode.charset != Charset::Plain {
            match text[at] {
                byte if byte == quote => return Ok(at),
                b'\\' if escapes => at += 2,
                _ => at += mode.charset.length(&text[at..]),
            }
            continue;
        }
        let rest = &text[at..end];
        let found = if escapes {
            memchr::memchr2(quote, b'\\', rest)
        } else {
            memchr::memchr(quote, rest)
        };
        let Some(found) = found else {
            return Err(end);
        };
        at += found;
        if text[at] == quote {
            return Ok(at);
        }
        at += 2;
    }
    Err(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_end(text: &[u8], mode: SqlMode) -> Inside {
        let whole = Scanner::new(mode).run(text, text.len());
        let mut steps = Scanner::new(mode);
        let mut stepped = Inside::Code;
        for end in 0..=text.len() {
            stepped = steps.run(text, end);
        }
        assert_eq!(stepped, whole, "byte by byte: {}", text.escape_ascii());
        whole
    }

    #[test]
    fn quotes_and_comments_hide_each_other() {
        let mode = SqlMode::default();
        for (text, inside) in [
            (&b"select 1"[..], Inside::Code),
            (b"select 'x", Inside::Quotes(b'\'')),
            (b"select 'it''s", Inside::Quotes(b'\'')),
            (b"select 'it\\'s", Inside::Quotes(b'\'')),
            (b"select 'it\\\\'", Inside::Code),
            (b"select \"'\" /* ' */", Inside::Code),
            (b"select `a\\`", Inside::Code),
            (b"select 1 -- it's", Inside::LineComment),
            (b"select 1 -- it's\n", Inside::Code),
            (b"select 1 --'", Inside::Quotes(b'\'')),
            (b"select 1 # '", Inside::LineComment),
            (b"select 1 /* '", Inside::BlockComment),
            (b"select 1 /*/ '", Inside::BlockComment),
            (b"select /*!50000 '", Inside::Quotes(b'\'')),
            (b"select /*M! '' */ 1", Inside::Code),
            (b"select 2 / 1 * '", Inside::Quotes(b'\'')),
        ] {
            assert_eq!(at_end(text, mode), inside, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn the_mode_moves_the_end_of_a_string() {
        let text = br"select 'a\' , 'b";
        let plain = SqlMode::default();
        assert_eq!(at_end(text, plain), Inside::Code);
        let literal = plain.with_list(b"STRICT_ALL_TABLES,no_backslash_escapes");
        assert_eq!(at_end(text, literal), Inside::Quotes(b'\''));
        let ansi = plain.with_list(b"ANSI_QUOTES");
        assert_eq!(at_end(br#"select "a\""#, ansi), Inside::Code);
        // The second byte of a character of GBK is a backslash.
        let gbk = plain.with_character_set(b"GBK");
        assert_eq!(at_end(b"select '\xbf\\'", gbk), Inside::Code);
        assert_eq!(at_end(b"select '\xbf\\'", plain), Inside::Quotes(b'\''));
        // What is no character of two bytes hides nothing: half a one, a letter of one byte.
        assert_eq!(at_end(b"select '\xbf'", gbk), Inside::Code);
        let sjis = plain.with_character_set(b"sjis");
        assert_eq!(at_end(b"select '\xb1'", sjis), Inside::Code);
        assert_eq!(at_end(b"select '\x95\\'", sjis), Inside::Code);
        let big5 = plain.with_character_set(b"big5");
        assert_eq!(at_end(b"select '\xa5\\'", big5), Inside::Code);
        assert_eq!(at_end(b"select '\x85\\'", big5), Inside::Quotes(b'\''));
    }
}
