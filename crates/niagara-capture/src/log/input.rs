//! Files of a log, compressed or not.

use std::fs::{File, Metadata};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::UNIX_EPOCH;

use super::clean::{Utf16, clean};
use crate::error::CaptureError;

/// How a file is compressed, told from its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// It is not.
    None,
    /// gzip, also several members in a row.
    Gzip,
    /// Zstandard.
    Zstd,
    /// xz.
    Xz,
}

impl Compression {
    fn of(first: &[u8]) -> Compression {
        match first {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Compression::Xz,
            _ => Compression::None,
        }
    }
}

/// A file of a log.
pub struct Input {
    reader: Box<dyn Read + Send>,
    read: Arc<AtomicU64>,
    /// Its path.
    pub path: PathBuf,
    /// Its length on disk, in bytes.
    pub length: u64,
    /// How it is compressed.
    pub compression: Compression,
    /// When it was changed last, in seconds since 1970, where the file system says it.
    pub changed: Option<i64>,
}

struct Counting<R> {
    inner: R,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl Input {
    /// Opens a file.
    ///
    /// # Errors
    /// It cannot be opened or read.
    pub fn open(path: &Path) -> Result<Input, CaptureError> {
        let file = File::open(path).map_err(CaptureError::file("open", path))?;
        let metadata = file.metadata().map_err(CaptureError::file("read", path))?;
        if !metadata.is_file() {
            let cause = io::Error::other(
                "it is not a regular file (a log is read twice: what comes through a pipe has to be in a file)",
            );
            return Err(CaptureError::file("read", path)(cause));
        }
        let mut file = file;
        let mut first = Vec::with_capacity(6);
        let wanted = first.capacity() as u64;
        (&mut file)
            .take(wanted)
            .read_to_end(&mut first)
            .map_err(CaptureError::file("read", path))?;
        let compression = Compression::of(&first);
        let read = Arc::new(AtomicU64::new(0));
        // What was read to tell the compression comes first: pipes cannot go back.
        let counting = Counting {
            inner: io::Cursor::new(first).chain(file),
            read: Arc::clone(&read),
        };
        let reader: Box<dyn Read + Send> = match compression {
            Compression::None => Box::new(counting),
            Compression::Gzip => Box::new(flate2::read::MultiGzDecoder::new(
                BufReader::with_capacity(1 << 17, counting),
            )),
            Compression::Zstd => Box::new(
                zstd::stream::read::Decoder::new(counting)
                    .map_err(CaptureError::file("read", path))?,
            ),
            Compression::Xz => Box::new(liblzma::read::XzDecoder::new_multi_decoder(counting)),
        };
        Ok(Input {
            reader,
            read,
            path: path.to_owned(),
            length: metadata.len(),
            compression,
            changed: changed(&metadata),
        })
    }

    /// Opens a log, without what others have put around what the server wrote.
    ///
    /// # Errors
    /// As [`open`](Input::open); the file is UTF-16.
    pub fn open_log(path: &Path) -> Result<Input, CaptureError> {
        let input = Input::open(path)?;
        let reader = clean(input.reader).map_err(|error| {
            match error.get_ref().is_some_and(|inner| inner.is::<Utf16>()) {
                true => CaptureError::Utf16(path.to_owned()),
                false => CaptureError::file("read", path)(error),
            }
        })?;
        Ok(Input { reader, ..input })
    }

    /// What [`bytes_read`](Input::bytes_read) counts in, for when somebody else reads.
    pub(crate) fn counter(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.read)
    }

    /// How much of the file was read, in bytes on disk.
    pub fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }
}

fn changed(metadata: &Metadata) -> Option<i64> {
    let changed = metadata.modified().ok()?;
    let since = changed.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_secs()).ok()
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reader.read(buffer)
    }
}
