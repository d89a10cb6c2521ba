//! How the parameters of a statement reach a command: as COM_STMT_EXECUTE's values, or within the text.

use crate::protocol::command::{self, Execute};

/// A command that takes parameters, in order.
pub(crate) trait Parameters: Sized {
    fn int(self, value: i32) -> Self;
    /// A string of `length` bytes, filled in place with what needs no escape in a literal.
    fn string(self, length: u8, fill: impl FnOnce(&mut [u8])) -> Self;
    /// Any text of up to 250 bytes.
    fn bytes(self, text: &[u8]) -> Self;
    fn finish(self);
}

impl Parameters for Execute<'_> {
    fn int(self, value: i32) -> Self {
        Execute::int(self, value)
    }

    fn string(self, length: u8, fill: impl FnOnce(&mut [u8])) -> Self {
        Execute::string(self, length, fill)
    }

    fn bytes(self, text: &[u8]) -> Self {
        Execute::string(self, text.len().min(250) as u8, |out| {
            out.copy_from_slice(&text[..out.len()]);
        })
    }

    fn finish(self) {
        Execute::finish(self);
    }
}

/// COM_QUERY under construction: a statement whose question marks become values.
#[derive(Debug)]
pub(crate) struct Text<'a> {
    out: &'a mut Vec<u8>,
    /// What comes after the parameter that is due, its question mark included.
    rest: &'a [u8],
}

impl<'a> Text<'a> {
    /// Starts the command in `out`, which is emptied. Every question mark of `sql` is a parameter.
    pub(crate) fn new(out: &'a mut Vec<u8>, sql: &'a [u8]) -> Self {
        command::query(out, b"");
        let mut text = Text { out, rest: sql };
        text.copy();
        text
    }

    /// Copies up to the next question mark.
    fn copy(&mut self) {
        let end = self.rest.iter().position(|&byte| byte == b'?');
        let (now, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.out.extend_from_slice(now);
        self.rest = rest;
    }

    /// Goes over the question mark of a parameter that was written.
    fn next(mut self) -> Self {
        debug_assert!(!self.rest.is_empty(), "more values than question marks");
        self.rest = self.rest.get(1..).unwrap_or_default();
        self.copy();
        self
    }
}

impl Parameters for Text<'_> {
    fn int(self, value: i32) -> Self {
        self.out
            .extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
        self.next()
    }

    fn string(self, length: u8, fill: impl FnOnce(&mut [u8])) -> Self {
        self.out.push(b'\'');
        let start = self.out.len();
        self.out.resize(start + usize::from(length), 0);
        fill(&mut self.out[start..]);
        self.out.push(b'\'');
        self.next()
    }

    fn bytes(self, text: &[u8]) -> Self {
        quote(self.out, &text[..text.len().min(250)]);
        self.next()
    }

    fn finish(self) {
        debug_assert!(self.rest.is_empty(), "fewer values than question marks");
        close_packet(self.out);
    }
}

/// Appends a text as a literal, with escapes where it needs them.
pub(crate) fn quote(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'\'');
    for &byte in text {
        if matches!(byte, b'\'' | b'\\' | 0) {
            out.push(b'\\');
        }
        out.push(if byte == 0 { b'0' } else { byte });
    }
    out.push(b'\'');
}

/// Writes the length of a command that was extended into its header. It must fit one packet.
pub(crate) fn close_packet(out: &mut [u8]) {
    let length = (out.len() - 4) as u32;
    out[..3].copy_from_slice(&length.to_le_bytes()[..3]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_take_the_place_of_question_marks() {
        let mut out = vec![7; 9];
        Text::new(&mut out, b"UPDATE t SET c=?, k=? WHERE id=? LIMIT 1")
            .string(3, |text| text.copy_from_slice(b"1-2"))
            .int(i32::MIN)
            .int(0)
            .finish();
        let sql = b"UPDATE t SET c='1-2', k=-2147483648 WHERE id=0 LIMIT 1";
        assert_eq!(out[..5], [sql.len() as u8 + 1, 0, 0, 0, 3]);
        assert_eq!(&out[5..], sql);

        Text::new(&mut out, b"BEGIN").finish();
        assert_eq!(&out[..], b"\x06\0\0\0\x03BEGIN");
        Text::new(&mut out, b"VALUES (?)").int(5).finish();
        assert_eq!(&out[5..], b"VALUES (5)");
    }

    #[test]
    fn texts_are_escaped() {
        let mut out = Vec::new();
        quote(&mut out, b"it's \\ \0");
        assert_eq!(out, b"'it\\'s \\\\ \\0'");
    }
}
