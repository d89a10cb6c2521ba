//! Lines of a log that one process appends to and others read while it is written: `1 LENGTH XXH3 JSON`. What was torn, by a
//! process that was killed while it wrote or by a full disk, fits neither length nor checksum and is left out.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use xxhash_rust::xxh3::xxh3_64;

/// Version of the lines' format.
pub const FORMAT: u32 = 1;

/// A line as it stands in a log, its end included.
///
/// # Errors
/// Something that is no JSON.
pub fn encode(content: &impl Serialize) -> Result<String> {
    let json = serde_json::to_string(content)?;
    let sum = xxh3_64(json.as_bytes());
    Ok(format!("{FORMAT} {} {sum:016x} {json}\n", json.len()))
}

/// What a line says; `None` of a torn one and of one in another format.
pub fn decode<T: DeserializeOwned>(line: &str) -> Option<T> {
    let mut parts = line.splitn(4, ' ');
    let (format, length, sum) = (parts.next()?, parts.next()?, parts.next()?);
    let json = parts.next()?;
    let whole = format.parse() == Ok(FORMAT)
        && length.parse() == Ok(json.len())
        && u64::from_str_radix(sum, 16) == Ok(xxh3_64(json.as_bytes()));
    if whole {
        serde_json::from_str(json).ok()
    } else {
        None
    }
}

/// A log that this process alone appends to.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    file: File,
    /// The last write did not come to its end: whatever is there has to be ended by a line of its own.
    torn: bool,
}

impl Log {
    /// Begins a log that must not be there yet.
    ///
    /// # Errors
    /// It is there, or cannot be written.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        Self::open(path, options.create_new(true).append(true).read(true))
    }

    /// Goes on with a log, begun if it is not there.
    ///
    /// # Errors
    /// It cannot be read or written.
    pub fn go_on(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let mut log = Self::open(path, options.create(true).append(true).read(true))?;
        let length = log.file.seek(SeekFrom::End(0))?;
        if length > 0 {
            let mut last = [0];
            log.file.seek(SeekFrom::Start(length - 1))?;
            log.file.read_exact(&mut last)?;
            log.torn = last != *b"\n";
        }
        Ok(log)
    }

    fn open(path: &Path, options: &mut OpenOptions) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            file: options.open(path)?,
            torn: false,
        })
    }

    /// Appends one line and has the file system keep it: a network file system shows it to others from then on.
    ///
    /// # Errors
    /// The line cannot be kept (full, gone): it may be tried again.
    pub fn append(&mut self, content: &impl Serialize) -> Result<()> {
        let mut line = encode(content)?;
        if self.torn {
            line.insert(0, '\n');
        }
        self.torn = true;
        self.file
            .write_all(line.as_bytes())
            .and_then(|()| self.file.sync_data())
            .with_context(|| format!("cannot write {}", self.path.display()))?;
        self.torn = false;
        Ok(())
    }
}

/// A log that somebody else appends to, read as it grows.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    offset: u64,
    /// Lines that were torn so far.
    pub torn: usize,
}

impl Tail {
    /// Reads from the beginning; the file need not be there yet.
    pub fn of(path: PathBuf) -> Self {
        Self {
            path,
            offset: 0,
            torn: 0,
        }
    }

    /// The lines that were added. The file is opened again: that is when a network file system asks for news.
    ///
    /// # Errors
    /// The file cannot be read; that it is not there yet is no error.
    pub fn lines<T: DeserializeOwned>(&mut self) -> io::Result<Vec<T>> {
        let mut file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        file.seek(SeekFrom::Start(self.offset))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n');
        let Some(end) = whole else {
            return Ok(Vec::new());
        };
        self.offset += end as u64 + 1;
        let mut found = Vec::new();
        for line in bytes[..end].split(|byte| *byte == b'\n') {
            let text = String::from_utf8_lossy(line);
            match decode(&text) {
                Some(content) => found.push(content),
                None if text.is_empty() => {}
                None => self.torn += 1,
            }
        }
        Ok(found)
    }
}

/// Writes a file of its own name, whole or not at all, and has the file system keep it.
///
/// # Errors
/// It cannot be written.
pub(crate) fn publish(path: &Path, content: &[u8]) -> Result<()> {
    let part = path.with_extension(format!("part-{}", std::process::id()));
    let write = || -> io::Result<()> {
        let mut file = File::create(&part)?;
        file.write_all(content)?;
        file.sync_all()?;
        drop(file);
        std::fs::rename(&part, path)
    };
    write().with_context(|| {
        let _ = std::fs::remove_file(&part);
        format!("cannot write {}", path.display())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_line_is_left_out_wherever_it_was_cut() {
        let line = encode(&("duel", 7)).expect("JSON");
        assert_eq!(decode(line.trim_end()), Some(("duel".to_owned(), 7)));
        for cut in 0..line.len() - 1 {
            assert_eq!(decode::<(String, u32)>(&line[..cut]), None, "{cut}");
        }
        assert_eq!(decode::<(String, u32)>(&line.replace("duel", "dual")), None);
        assert_eq!(decode::<(String, u32)>(&line.replacen('1', "2", 1)), None);
    }

    #[test]
    fn a_log_continues_behind_a_torn_line_and_is_read_as_it_grows() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("log.jsonl");
        let mut tail = Tail::of(path.clone());
        assert_eq!(tail.lines::<u32>().expect("not there"), Vec::<u32>::new());
        let mut log = Log::create(&path).expect("new");
        assert!(Log::create(&path).is_err(), "one writer");
        log.append(&1).expect("room");
        assert_eq!(tail.lines::<u32>().expect("there"), [1]);
        // Killed in the middle of a line.
        drop(log);
        let mut file = OpenOptions::new().append(true).open(&path).expect("there");
        file.write_all(b"1 1 00").expect("room");
        assert_eq!(tail.lines::<u32>().expect("there"), Vec::<u32>::new());
        let mut log = Log::go_on(&path).expect("there");
        log.append(&2).expect("room");
        log.append(&3).expect("room");
        assert_eq!(tail.lines::<u32>().expect("there"), [2, 3]);
        assert_eq!(tail.torn, 1);
    }
}
