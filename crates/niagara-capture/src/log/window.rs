//! A window on a log: as much of it in memory as one entry needs.

use std::io::{self, ErrorKind, Read};

/// How much is read at a time, and how much the window holds at least.
const STEP: usize = 1 << 20;
/// The same for the first time: many logs are short.
const FIRST: usize = 1 << 16;

pub(super) struct Window<R> {
    reader: R,
    data: Vec<u8>,
    start: usize,
    end: usize,
    eof: bool,
    /// The line at the beginning of the window, from 1.
    line: u64,
    most: usize,
    /// Why a compressed file ended early, which is the same as a cut.
    pub broken: Option<io::Error>,
}

impl<R: Read> Window<R> {
    /// At the beginning of `reader`; the window holds at most `most` bytes.
    pub fn new(reader: R, most: usize) -> Window<R> {
        Window {
            reader,
            data: Vec::new(),
            start: 0,
            end: 0,
            eof: false,
            line: 1,
            most: most.max(STEP),
            broken: None,
        }
    }

    /// What is in the window.
    pub fn bytes(&self) -> &[u8] {
        &self.data[self.start..self.end]
    }

    /// Where in the buffer the window begins: only [`fill`](Window::fill) moves what is in it.
    pub fn start(&self) -> usize {
        self.start
    }

    /// The buffer, by the places of before a [`consume`](Window::consume).
    pub fn buffer(&self) -> &[u8] {
        &self.data
    }

    pub fn line(&self) -> u64 {
        self.line
    }

    pub fn is_last(&self) -> bool {
        self.eof
    }

    pub fn reader(&self) -> &R {
        &self.reader
    }

    /// Advances by `count` bytes.
    pub fn consume(&mut self, count: usize) {
        let count = count.min(self.end - self.start);
        self.line +=
            memchr::memchr_iter(b'\n', &self.data[self.start..self.start + count]).count() as u64;
        self.start += count;
    }

    /// Reads more; false when the window is full.
    ///
    /// # Errors
    /// The file cannot be read. A compressed file that ends early is no error but the end.
    pub fn fill(&mut self) -> io::Result<bool> {
        if self.start > 0 {
            self.data.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end >= self.most {
            return Ok(false);
        }
        // Doubled, so that a long statement is read again a few times only.
        let step = if self.data.is_empty() { FIRST } else { STEP };
        let wanted = (self.end * 2).clamp(step, self.most.max(self.end + 1));
        if self.data.len() < wanted {
            // As zeroes of the allocator's: written one by one they take longer than to read a short log.
            let mut larger = vec![0; wanted];
            larger[..self.end].copy_from_slice(&self.data[..self.end]);
            self.data = larger;
        }
        let mut got = 0;
        let least = (wanted - self.end).min(self.end.max(step / 2));
        while got < least {
            match self.reader.read(&mut self.data[self.end..wanted]) {
                Ok(0) => {
                    self.eof = true;
                    break;
                }
                Ok(count) => {
                    self.end += count;
                    got += count;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::UnexpectedEof | ErrorKind::InvalidData | ErrorKind::InvalidInput
                    ) || (error.kind() == ErrorKind::Other
                        && error.raw_os_error().is_none()) =>
                {
                    self.broken = Some(error);
                    self.eof = true;
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}
