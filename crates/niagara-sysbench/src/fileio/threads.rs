//! The threads of the test: each does one request after the other.

use super::block;
use super::options::{Access, FileOptions, Mode};
use super::requests::{Operation, Request, Requests};
use super::ring::Ring;
use super::storage::{Buffer, Files, cause};
use crate::without_server::{Thread, Threads};
use niagara_load::{LoadError, Reply, Want};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What was done.
#[derive(Debug, Default)]
pub struct Done {
    pub reads: AtomicU64,
    pub writes: AtomicU64,
    pub syncs: AtomicU64,
    pub bytes_read: AtomicU64,
    pub bytes_written: AtomicU64,
}

impl Done {
    /// Begins from zero.
    pub fn forget(&self) {
        for count in [
            &self.reads,
            &self.writes,
            &self.syncs,
            &self.bytes_read,
            &self.bytes_written,
        ] {
            count.store(0, Ordering::Relaxed);
        }
    }

    fn count(&self, operation: Operation, bytes: u64) {
        let (count, sum) = match operation {
            Operation::Read => (&self.reads, Some(&self.bytes_read)),
            Operation::Write => (&self.writes, Some(&self.bytes_written)),
            Operation::Sync => (&self.syncs, None),
        };
        count.fetch_add(1, Ordering::Relaxed);
        if let Some(sum) = sum {
            sum.fetch_add(bytes, Ordering::Relaxed);
        }
    }
}

/// What all threads share.
pub struct Shared {
    pub options: FileOptions,
    pub mode: Mode,
    pub files: Files,
    pub requests: Mutex<Requests>,
    /// Requests that a thread has under way at once, at most; of [`Access::Ring`].
    pub backlog: u32,
    pub done: Arc<Done>,
    /// Contents are checked.
    pub checks: bool,
    pub seed: u64,
}

impl Shared {
    /// A read or write is done: while contents are checked, its block may be had again.
    fn finished(&self, request: Request) {
        if self.checks {
            self.requests
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .finished(request);
        }
    }
}

/// The threads.
pub struct FileThreads(pub Arc<Shared>);

impl Threads for FileThreads {
    type Thread = FileThread;

    fn thread(&self, number: u32) -> Result<FileThread, LoadError> {
        let shared = Arc::clone(&self.0);
        let bytes = shared.options.request_size.max(shared.options.block_size) as usize;
        let failed = |what: &str, error: io::Error| {
            LoadError::Script(format!("{what} failed! {}", cause(&error)))
        };
        let ring = match shared.options.access {
            Access::Ring => Some(
                Ring::new(shared.backlog, bytes)
                    .map_err(|error| failed("io_uring_setup()", error))?,
            ),
            _ => None,
        };
        Ok(FileThread {
            buffer: Buffer::new(bytes).map_err(|error| failed("mmap()", error))?,
            ring,
            rng: SmallRng::seed_from_u64(shared.seed.wrapping_add(number.into())),
            shared,
        })
    }
}

pub struct FileThread {
    shared: Arc<Shared>,
    buffer: Buffer,
    ring: Option<Ring>,
    rng: SmallRng,
}

impl FileThread {
    /// The next request is done, or is under way.
    fn event(&mut self) -> Result<(), String> {
        let shared = Arc::clone(&self.shared);
        let done = &shared.done;
        let so_far = (
            done.reads.load(Ordering::Relaxed),
            done.writes.load(Ordering::Relaxed),
        );
        let request = shared
            .requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .next(so_far, &mut || self.rng.random());
        match request.operation {
            Operation::Sync => self.sync(request.file),
            _ if self.ring.is_some() => self.submit(&shared, request),
            Operation::Read => self.read(&shared, request),
            Operation::Write => self.write(&shared, request),
        }
    }

    fn read(&mut self, shared: &Shared, request: Request) -> Result<(), String> {
        let buffer = self.buffer.first(request.size);
        shared
            .files
            .read(request.file, buffer, request.offset)
            .map_err(|error| failed("read", request, &error))?;
        if shared.checks {
            check(buffer, request)?;
        }
        shared.finished(request);
        shared.done.count(Operation::Read, request.size);
        Ok(())
    }

    fn write(&mut self, shared: &Shared, request: Request) -> Result<(), String> {
        let buffer = self.buffer.first(request.size);
        if shared.checks {
            block::fill(buffer, request.offset, &mut self.rng);
        }
        shared
            .files
            .write(request.file, buffer, request.offset)
            .map_err(|error| failed("write", request, &error))?;
        shared.finished(request);
        shared.done.count(Operation::Write, request.size);
        match shared.options.sync_all {
            true => self.sync(request.file),
            false => Ok(()),
        }
    }

    /// Counts when it has completed.
    fn submit(&mut self, shared: &Shared, request: Request) -> Result<(), String> {
        let Some(ring) = &mut self.ring else {
            return Ok(());
        };
        let fills = shared.checks && request.operation == Operation::Write;
        let rng = &mut self.rng;
        ring.submit(shared.files.file(request.file), request, |buffer| {
            if fills {
                block::fill(buffer, request.offset, rng);
            }
        })
        .map_err(|error| format!("io_uring_enter() failed! {}", cause(&error)))?;
        if ring.is_full() {
            ring.complete(|request, bytes| completed(shared, request, bytes))?;
        }
        match shared.options.sync_all && request.operation == Operation::Write {
            // What is to be synced has to be written before.
            true => self.settle().and_then(|()| self.sync(request.file)),
            false => Ok(()),
        }
    }

    fn sync(&mut self, file: usize) -> Result<(), String> {
        let result = self.shared.files.sync(file);
        result.map_err(|error| format!("Failed to fsync file! file: {file} {}", cause(&error)))?;
        self.shared.done.count(Operation::Sync, 0);
        Ok(())
    }

    /// Waits for all that is under way.
    fn settle(&mut self) -> Result<(), String> {
        let shared = Arc::clone(&self.shared);
        if let Some(ring) = &mut self.ring {
            while !ring.is_idle() {
                ring.complete(|request, bytes| completed(&shared, request, bytes))?;
            }
        }
        Ok(())
    }

    /// What is left at the end.
    fn finish(&mut self) -> Result<(), String> {
        self.settle()?;
        if self.shared.options.sync_at_end && !self.shared.mode.only_reads() {
            for file in 0..self.shared.files.len() {
                self.sync(file)?;
            }
        }
        Ok(())
    }
}

fn completed(shared: &Shared, request: Request, bytes: &[u8]) -> Result<(), String> {
    shared.finished(request);
    if shared.checks && request.operation == Operation::Read {
        check(bytes, request)?;
    }
    shared.done.count(request.operation, request.size);
    Ok(())
}

fn check(bytes: &[u8], request: Request) -> Result<(), String> {
    block::check(bytes, request.offset).map_err(|problem| {
        format!(
            "{problem}\nValidation failed on file {}, block offset {}, exiting...",
            request.file, request.offset
        )
    })
}

fn failed(what: &str, request: Request, error: &io::Error) -> String {
    format!(
        "Failed to {what} file! file: {} pos: {} {}",
        request.file,
        request.offset,
        cause(error)
    )
}

impl Thread for FileThread {
    fn resume(&mut self, reply: Reply) -> Result<Want, String> {
        match reply {
            Reply::Event(true) => {
                self.event()?;
                Ok(Want::Event { completed: true })
            }
            Reply::Goodbye => {
                self.finish()?;
                Ok(Want::End)
            }
            _ => Ok(Want::Event { completed: false }),
        }
    }
}
