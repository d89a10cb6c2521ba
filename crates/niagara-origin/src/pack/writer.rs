//! Writes a pack, member after member, each of a length that is known at its end only.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use niagara_error::Remedy as _;
use sha2::{Digest, Sha256};
use tar::{EntryType, Header};

use super::MANIFEST;
use super::manifest::{Manifest, Member};

/// Members are padded to a multiple of this.
const BLOCK: u64 = 512;

/// A pack that is being written; the file goes unless it is finished.
#[derive(Debug)]
pub struct PackWriter {
    path: PathBuf,
    file: File,
    members: Vec<Member>,
    is_finished: bool,
}

impl PackWriter {
    /// A new file that only its owner may read.
    ///
    /// # Errors
    /// It is there already, or cannot be made.
    pub fn create(path: &Path) -> Result<Self> {
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .with_context(|| format!("cannot make {}", path.display()))
            .remedy("name a new file by --output in a folder that you may write")?;
        Ok(Self {
            path: path.to_owned(),
            file,
            members: Vec::new(),
            is_finished: false,
        })
    }

    /// Writes a member: `fill` gets where its content goes.
    ///
    /// # Errors
    /// It cannot be written; those of `fill`.
    pub fn member<T>(
        &mut self,
        name: &str,
        fill: impl FnOnce(&mut dyn Write) -> Result<T>,
    ) -> Result<T> {
        let cannot = |path: &Path| format!("cannot write {}", path.display());
        let begins = self.file.stream_position()?;
        // Its length is written in the end.
        self.file
            .write_all(header(name, 0)?.as_bytes())
            .with_context(|| cannot(&self.path))?;
        let mut content = HashingWriter {
            file: &mut self.file,
            hash: Sha256::new(),
            bytes: 0,
        };
        let filled = fill(&mut content)?;
        let (bytes, hash) = (content.bytes, content.hash.finalize());
        let mut end = || -> io::Result<()> {
            let padding = bytes.next_multiple_of(BLOCK) - bytes;
            self.file.write_all(&vec![0; padding as usize])?;
            self.file.seek(SeekFrom::Start(begins))?;
            self.file.write_all(header(name, bytes)?.as_bytes())?;
            self.file.seek(SeekFrom::End(0))?;
            Ok(())
        };
        end().with_context(|| cannot(&self.path))?;
        self.members.push(Member {
            name: name.to_owned(),
            bytes,
            sha256: hex::encode(hash),
        });
        Ok(filled)
    }

    /// Writes the file at `path` as a member.
    ///
    /// # Errors
    /// It cannot be read or written.
    pub fn file(&mut self, name: &str, path: &Path) -> Result<()> {
        self.member(name, |out| {
            let mut file =
                File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
            io::copy(&mut file, out).with_context(|| format!("cannot pack {}", path.display()))?;
            Ok(())
        })
    }

    /// Writes the folder at `path` as a member: a compressed archive of its own.
    ///
    /// # Errors
    /// It cannot be read or written.
    pub fn folder(&mut self, name: &str, path: &Path) -> Result<()> {
        self.member(name, |out| {
            let packed = zstd::Encoder::new(out, 0).map_err(anyhow::Error::from);
            packed
                .and_then(|packed| {
                    let mut archive = tar::Builder::new(packed);
                    archive.follow_symlinks(false);
                    archive.append_dir_all("data", path)?;
                    archive.into_inner()?.finish()?;
                    Ok(())
                })
                .with_context(|| format!("cannot pack {}", path.display()))
        })
    }

    /// Ends the pack with its manifest, on the disk. Its length.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(mut self, mut manifest: Manifest) -> Result<u64> {
        manifest.members = std::mem::take(&mut self.members);
        let text = serde_json::to_string_pretty(&manifest)?;
        self.member(MANIFEST, |out| Ok(out.write_all(text.as_bytes())?))?;
        let mut end = || -> io::Result<u64> {
            self.file.write_all(&[0; 2 * BLOCK as usize])?;
            self.file.sync_all()?;
            self.file.stream_position()
        };
        let bytes = end().with_context(|| format!("cannot write {}", self.path.display()))?;
        self.is_finished = true;
        Ok(bytes)
    }
}

impl Drop for PackWriter {
    fn drop(&mut self) {
        if !self.is_finished {
            // What is there of it is of no use.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn header(name: &str, bytes: u64) -> io::Result<Header> {
    let mut header = Header::new_gnu();
    header.set_path(name)?;
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o600);
    header.set_size(bytes);
    header.set_cksum();
    Ok(header)
}

/// The content of a member on its way into the file.
struct HashingWriter<'a> {
    file: &'a mut File,
    hash: Sha256,
    bytes: u64,
}

impl Write for HashingWriter<'_> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let written = self.file.write(piece)?;
        self.hash.update(&piece[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
