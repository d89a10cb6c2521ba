//! Reads a capture, block by block.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::block::{self, BlockKind};
use super::columns::ColumnReader;
use super::dictionary::Dictionary;
use super::event::Event;
use super::summary::Summary;
use super::{END, FORMAT, MAGIC};
use crate::error::CaptureError;

/// Bytes before the first block, and after the last one.
const HEAD: u64 = 12;
const TAIL: u64 = 16;

/// Reads a capture from its beginning, with one block and the dictionary in memory.
#[derive(Debug)]
pub struct CaptureReader {
    input: BufReader<File>,
    path: PathBuf,
    summary: Summary,
    dictionary: Dictionary,
    at: u64,
    stored: Vec<u8>,
    raw: Vec<u8>,
}

impl CaptureReader {
    /// Opens a capture and reads what it says about itself.
    ///
    /// # Errors
    /// The file cannot be read, is no capture, has another format, or is damaged.
    pub fn open(path: &Path) -> Result<CaptureReader, CaptureError> {
        let failed = || CaptureError::file("read", path);
        let file = File::open(path).map_err(CaptureError::file("open", path))?;
        if file.metadata().map_err(failed())?.is_dir() {
            return Err(CaptureError::NoCapture(path.to_owned()));
        }
        let length = file.metadata().map_err(failed())?.len();
        let mut input = BufReader::with_capacity(1 << 18, file);
        let mut head = [0; HEAD as usize];
        let no_capture = |_| CaptureError::NoCapture(path.to_owned());
        input.read_exact(&mut head).map_err(no_capture)?;
        if head[..8] != MAGIC {
            return Err(CaptureError::NoCapture(path.to_owned()));
        }
        let found = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
        if found != FORMAT {
            return Err(CaptureError::Version {
                path: path.to_owned(),
                found,
                known: FORMAT,
            });
        }
        let mut reader = CaptureReader {
            input,
            path: path.to_owned(),
            summary: Summary::default(),
            dictionary: Dictionary::new(),
            at: HEAD,
            stored: Vec::new(),
            raw: Vec::new(),
        };
        reader.read_summary(length)?;
        Ok(reader)
    }

    fn read_summary(&mut self, length: u64) -> Result<(), CaptureError> {
        let cut = "its end is missing: the file is cut";
        if length < HEAD + TAIL {
            return Err(self.damaged(length, cut));
        }
        let mut tail = [0; TAIL as usize];
        self.seek(length - TAIL)?;
        self.input
            .read_exact(&mut tail)
            .map_err(CaptureError::file("read", &self.path))?;
        if tail[8..] != END {
            return Err(self.damaged(length, cut));
        }
        let mut at = [0; 8];
        at.copy_from_slice(&tail[..8]);
        let at = u64::from_le_bytes(at);
        if at > length - TAIL {
            return Err(self.damaged(at, "the summary is not where the file says"));
        }
        self.seek(at)?;
        let kind = self.block()?;
        if kind != BlockKind::Summary {
            return Err(self.damaged(at, "the summary is not where the file says"));
        }
        self.summary = serde_json::from_slice(&self.raw)
            .map_err(|error| self.damaged(at, &format!("the summary cannot be read: {error}")))?;
        self.seek(HEAD)
    }

    fn seek(&mut self, at: u64) -> Result<(), CaptureError> {
        self.at = at;
        self.input
            .seek(SeekFrom::Start(at))
            .map(|_| ())
            .map_err(CaptureError::file("read", &self.path))
    }

    fn damaged(&self, at: u64, what: &str) -> CaptureError {
        CaptureError::Damaged {
            path: self.path.clone(),
            at,
            what: what.to_owned(),
        }
    }

    fn block(&mut self) -> Result<BlockKind, CaptureError> {
        match block::read(&mut self.input, &mut self.stored, &mut self.raw) {
            Ok((kind, length)) => {
                self.at += length;
                Ok(kind)
            }
            Err(what) => Err(self.damaged(self.at, &what)),
        }
    }

    /// What the capture says about itself.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// What the events read so far share.
    pub(crate) fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    /// Reads all events that are left, in their order.
    ///
    /// # Errors
    /// The file is damaged, or `see` fails.
    pub fn for_each<E: From<CaptureError>>(
        &mut self,
        mut see: impl FnMut(&Event<'_>, &Dictionary) -> Result<(), E>,
    ) -> Result<(), E> {
        loop {
            let at = self.at;
            match self.block()? {
                BlockKind::Summary => return Ok(()),
                BlockKind::Dictionary => {
                    if self.dictionary.read(&self.raw).is_none() {
                        return Err(self.damaged(at, "the dictionary cannot be read").into());
                    }
                }
                BlockKind::Events => {
                    let Some(mut events) = ColumnReader::new(&self.raw) else {
                        return Err(self.damaged(at, "a block of events cannot be read").into());
                    };
                    loop {
                        match events.next(&self.dictionary) {
                            Ok(Some(event)) => see(&event, &self.dictionary)?,
                            Ok(None) => break,
                            Err(()) => {
                                return Err(self.damaged(at, "an event cannot be read").into());
                            }
                        }
                    }
                }
            }
        }
    }
}
