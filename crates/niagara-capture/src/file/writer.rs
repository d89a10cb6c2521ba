//! Writes a capture, block by block.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::block::{self, BlockKind};
use super::columns::Columns;
use super::dictionary::{Dictionary, DigestEntry, DigestId, NameId, TemplateId};
use super::event::Event;
use super::summary::{BlockEntry, Summary};
use super::{END, FORMAT, MAGIC};
use crate::error::CaptureError;

/// A block is written when it has this many bytes, or events.
const BLOCK_BYTES: usize = 1 << 20;
const BLOCK_EVENTS: u32 = 1 << 16;

/// Writes a capture into a file beside the wanted one, which it becomes when all is written.
pub(crate) struct CaptureWriter {
    out: BufWriter<File>,
    path: PathBuf,
    temporary: Temporary,
    replace: bool,
    compressor: zstd::bulk::Compressor<'static>,
    dictionary: Dictionary,
    names: HashMap<Vec<u8>, NameId>,
    digests: HashMap<u64, DigestId>,
    columns: Columns,
    scratch: Vec<u8>,
    at: u64,
    blocks: Vec<BlockEntry>,
    events: u64,
    statements: u64,
}

/// A file that goes when it has not become the wanted one.
struct Temporary(Option<PathBuf>);

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = self.0.take() {
            // Nobody to tell when it cannot be removed.
            let _ = fs::remove_file(path);
        }
    }
}

impl CaptureWriter {
    /// Begins a capture, readable by its owner only. `replace`: a file of this name may be there.
    ///
    /// # Errors
    /// The file is there, or cannot be made.
    pub fn create(path: &Path, replace: bool) -> Result<CaptureWriter, CaptureError> {
        if !replace && path.symlink_metadata().is_ok() {
            return Err(CaptureError::Exists(path.to_owned()));
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = path.with_file_name(format!(".{name}.{}.part", std::process::id()));
        let failed = || CaptureError::file("write", &temporary);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&temporary)
            .map_err(failed())?;
        let compressor = block::compressor().map_err(failed())?;
        let mut writer = CaptureWriter {
            out: BufWriter::with_capacity(1 << 18, file),
            path: path.to_owned(),
            temporary: Temporary(Some(temporary)),
            replace,
            compressor,
            dictionary: Dictionary::new(),
            names: HashMap::from([(Vec::new(), NameId(0))]),
            digests: HashMap::new(),
            columns: Columns::default(),
            scratch: Vec::new(),
            at: 0,
            blocks: Vec::new(),
            events: 0,
            statements: 0,
        };
        writer.raw(&MAGIC)?;
        writer.raw(&FORMAT.to_le_bytes())?;
        Ok(writer)
    }

    /// The number of a name.
    pub fn name(&mut self, name: &[u8]) -> NameId {
        if let Some(&id) = self.names.get(name) {
            return id;
        }
        match self.dictionary.add_name(name) {
            Some(id) => {
                self.names.insert(name.to_vec(), id);
                id
            }
            None => NameId(0),
        }
    }

    /// Statements so far.
    pub fn statements(&self) -> u64 {
        self.statements
    }

    /// A template of this digest: the one of statements that find the dictionary full, if it is.
    pub fn template(&mut self, digest: DigestEntry, skeleton: &[u8]) -> TemplateId {
        let number = digest.digest.0;
        let digest = match self.digests.get(&number) {
            Some(&id) => Some(id),
            None => self.dictionary.add_digest(digest),
        };
        let Some(digest) = digest else {
            return TemplateId(0);
        };
        self.digests.insert(number, digest);
        self.dictionary
            .add_template(digest, skeleton)
            .unwrap_or(TemplateId(0))
    }

    /// What the events share so far.
    pub fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    /// Writes an event whose literals are `parts`, as many as its template has places for.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn event<'p>(
        &mut self,
        event: &Event<'_>,
        parts: impl Iterator<Item = &'p [u8]>,
    ) -> Result<(), CaptureError> {
        self.columns.push(event, parts);
        self.events += 1;
        self.statements += u64::from(event.kind.is_statement());
        if self.columns.length() >= BLOCK_BYTES || self.columns.events() >= BLOCK_EVENTS {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes the summary and gives the file its name. `summary` has what only the caller knows.
    ///
    /// # Errors
    /// The file cannot be written, or one of its name has come into being.
    pub fn finish(mut self, mut summary: Summary) -> Result<Summary, CaptureError> {
        self.flush()?;
        summary.made_by = concat!("niagara ", env!("CARGO_PKG_VERSION")).to_owned();
        summary.events = self.events;
        summary.statements = self.statements;
        summary.first_us = self.blocks.iter().map(|block| block.first_us).min();
        summary.last_us = self.blocks.iter().map(|block| block.last_us).max();
        summary.blocks = std::mem::take(&mut self.blocks);
        let at = self.at;
        let json = serde_json::to_vec(&summary)
            .map_err(|error| self.failed()(std::io::Error::other(error)))?;
        self.block(BlockKind::Summary, &json)?;
        self.raw(&at.to_le_bytes())?;
        self.raw(&END)?;
        let failed = self.failed();
        let file = match self.out.into_inner() {
            Ok(file) => file,
            Err(error) => return Err(failed(error.into_error())),
        };
        let action = CaptureError::file("write", &self.path);
        file.sync_all().map_err(action)?;
        let Some(temporary) = self.temporary.0.take() else {
            return Ok(summary);
        };
        let named = if self.replace {
            fs::rename(&temporary, &self.path)
        } else {
            // A link does not replace a file that came into being meanwhile; not every file system has links.
            match fs::hard_link(&temporary, &self.path) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                    self.temporary = Temporary(Some(temporary));
                    return Err(CaptureError::Exists(self.path));
                }
                Err(_) => fs::rename(&temporary, &self.path),
                Ok(()) => fs::remove_file(&temporary),
            }
        };
        if let Err(cause) = named {
            self.temporary = Temporary(Some(temporary));
            return Err(CaptureError::file("write", &self.path)(cause));
        }
        Ok(summary)
    }

    fn failed(&self) -> impl FnOnce(std::io::Error) -> CaptureError + use<> {
        CaptureError::file("write", &self.path)
    }

    fn raw(&mut self, bytes: &[u8]) -> Result<(), CaptureError> {
        let failed = self.failed();
        self.out.write_all(bytes).map_err(failed)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    fn block(&mut self, kind: BlockKind, raw: &[u8]) -> Result<(), CaptureError> {
        let failed = self.failed();
        self.at += block::write(&mut self.out, &mut self.compressor, kind, raw).map_err(failed)?;
        Ok(())
    }

    /// What the events of a block need stands before it.
    fn flush(&mut self) -> Result<(), CaptureError> {
        let additions = self.dictionary.take_pending();
        if !additions.is_empty() {
            self.block(BlockKind::Dictionary, &additions)?;
        }
        let Some((first_us, last_us)) = self.columns.span else {
            return Ok(());
        };
        self.blocks.push(BlockEntry {
            at: self.at,
            events: self.columns.events(),
            first_us,
            last_us,
        });
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        self.columns.take(&mut scratch);
        let written = self.block(BlockKind::Events, &scratch);
        self.scratch = scratch;
        written
    }
}
