//! The text of log events that are kept as JSON: CloudWatch's, Docker's, journald's.

use std::io::{self, Read};

/// Names under which events have their text.
const KEYS: [&str; 5] = ["message", "@message", "log", "MESSAGE", "msg"];
/// The name under which parts of a line are kept, their line ends among them.
const WITH_LINE_ENDS: &str = "log";
/// The longest string that is held, in bytes: a longer one is no event of a log.
const MAX_STRING: usize = 64 << 20;
/// How much is read at a time, in bytes.
const STEP: usize = 1 << 16;

/// Where the reading of a text of JSON is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    Between,
    String { escaped: bool },
}

/// Reads the texts of events out of JSON.
pub(super) struct JsonText<R> {
    inner: R,
    block: Vec<u8>,
    within: Within,
    /// The string at hand, with its quotes.
    string: Vec<u8>,
    /// The last string, and whether it was a name.
    key: Option<String>,
    /// The value of the last `field`.
    field: Option<String>,
    last: Option<String>,
    /// For each bracket that is open: whether it is that of an object.
    open: Vec<bool>,
    out: Vec<u8>,
    given: usize,
    eof: bool,
}

impl<R: Read> JsonText<R> {
    pub fn new(inner: R) -> JsonText<R> {
        JsonText {
            inner,
            block: Vec::new(),
            within: Within::Between,
            string: Vec::new(),
            key: None,
            field: None,
            last: None,
            open: Vec::new(),
            out: Vec::new(),
            given: 0,
            eof: false,
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        let mut block = std::mem::take(&mut self.block);
        block.resize(STEP, 0);
        let count = self.inner.read(&mut block)?;
        self.eof = count == 0;
        self.out.clear();
        self.given = 0;
        for &byte in &block[..count] {
            self.byte(byte);
        }
        if self.eof {
            self.end_string();
        }
        self.block = block;
        Ok(())
    }

    fn byte(&mut self, byte: u8) {
        match (self.within, byte) {
            (Within::String { escaped: false }, b'"') => {
                self.string.push(byte);
                self.within = Within::Between;
                let string = std::mem::take(&mut self.string);
                self.end_string();
                self.last = Some(decoded(&string));
            }
            (Within::String { escaped }, _) => {
                if self.string.len() < MAX_STRING {
                    self.string.push(byte);
                }
                let escaped = !escaped && byte == b'\\';
                self.within = Within::String { escaped };
            }
            (Within::Between, b'"') => {
                self.end_string();
                self.string.clear();
                self.string.push(byte);
                self.within = Within::String { escaped: false };
            }
            (Within::Between, b':') => self.key = self.last.take(),
            (Within::Between, b'{' | b'[') => {
                self.end_string();
                self.open.push(byte == b'{');
                self.key = None;
            }
            (Within::Between, b'}' | b']') => {
                self.end_string();
                self.open.pop();
                self.key = None;
            }
            (Within::Between, b',' | b'\n') => {
                self.end_string();
            }
            (Within::Between, _) => {}
        }
    }

    /// The last string was a value: it is handed out where it is the text of an event.
    fn end_string(&mut self) {
        let Some(value) = self.last.take() else {
            return;
        };
        let is_object = self.open.last().copied().unwrap_or(false);
        let key = self.key.take();
        let is_text = match key.as_deref() {
            Some("field") => {
                self.field = Some(value);
                return;
            }
            Some("value") => self.field.as_deref() == Some("@message"),
            Some(key) => KEYS.contains(&key),
            // A list of texts, or one behind the other.
            None => !is_object,
        };
        if !is_text {
            return;
        }
        self.out.extend_from_slice(value.as_bytes());
        if key.as_deref() != Some(WITH_LINE_ENDS) && !value.ends_with('\n') {
            self.out.push(b'\n');
        }
    }
}

impl JsonText<&[u8]> {
    /// Whether a text is JSON that has texts of events, as far as its beginning tells.
    pub fn is_json(sample: &[u8]) -> bool {
        let text = sample.trim_ascii_start();
        match text.first() {
            Some(b'"') => true,
            Some(b'[') => matches!(
                text[1..].trim_ascii_start().first(),
                Some(b'{' | b'"' | b'[')
            ),
            Some(b'{') => KEYS
                .iter()
                .any(|key| memchr::memmem::find(text, format!("\"{key}\"").as_bytes()).is_some()),
            _ => false,
        }
    }
}

/// The text of a string of JSON; what is no JSON stays as it is.
fn decoded(string: &[u8]) -> String {
    serde_json::from_slice(string).unwrap_or_else(|_| String::from_utf8_lossy(string).into_owned())
}

/// Copies what was not `given` yet of `out`, as far as it fits; how many bytes that were.
pub(super) fn give(out: &[u8], given: &mut usize, buffer: &mut [u8]) -> usize {
    let rest = &out[*given..];
    let count = rest.len().min(buffer.len());
    buffer[..count].copy_from_slice(&rest[..count]);
    *given += count;
    count
}

impl<R: Read> Read for JsonText<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.out.len() && !self.eof {
            self.fill()?;
        }
        Ok(give(&self.out, &mut self.given, buffer))
    }
}
