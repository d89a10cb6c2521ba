//! Makes a capture from logs.

mod clients;
mod routines;
mod statements;
mod track;
mod traffic;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::client::ClientsOfUser;
use crate::dropped::Dropped;
use crate::error::CaptureError;
use crate::file::{CaptureWriter, Order, ServerCounts, Source, Summary};
use crate::log::{Input, Item, LogKind, LogReader, Probe, ReadOptions};
use crate::stored::StoredCode;
use track::Tracker;

/// How often progress is told, in entries.
const STEP: u64 = 4096;

/// What is imported, and how.
#[derive(Debug, Clone)]
pub struct Import {
    /// The logs; rotated ones in any order.
    pub files: Vec<PathBuf>,
    /// How they are read.
    pub read: ReadOptions,
    /// Where the capture goes.
    pub output: PathBuf,
    /// A file of that name is replaced.
    pub replace: bool,
    /// What is known of the clients beside their logins.
    pub clients: Vec<ClientsOfUser>,
    /// What the server counted meanwhile, where somebody asked it.
    pub counted: Option<ServerCounts>,
    /// Functions, triggers and views of the server's databases, where they are known: general logs have their statements.
    pub stored: Option<StoredCode>,
}

/// How far an import is.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// The file that is being read.
    pub file: &'a Path,
    /// Bytes of all files that were read, as they lie on disk.
    pub read: u64,
    /// Bytes of all files.
    pub total: u64,
    /// Entries so far.
    pub entries: u64,
}

struct Log {
    path: PathBuf,
    probe: Probe,
    length: u64,
}

/// Imports logs into a capture; what is in it.
///
/// # Errors
/// A file cannot be read or is no log, kinds of logs are mixed, the capture cannot be written; `stop` was set. No capture is
/// left then.
pub fn import(
    import: &Import,
    stop: &AtomicBool,
    mut progress: impl FnMut(Progress<'_>),
) -> Result<Summary, CaptureError> {
    let writer = CaptureWriter::create(&import.output, import.replace)?;
    if traffic::is_traffic(import)? {
        return traffic::import(import, writer, stop, progress);
    }
    let logs = probe(import)?;
    let with_entries = logs.iter().find(|log| !log.probe.is_empty);
    let kind = with_entries.map_or(LogKind::Slow, |log| log.probe.kind);
    let total = logs.iter().map(|log| log.length).sum();
    let mut tracker = Tracker::new(writer, kind, import.stored.as_ref());
    let mut dropped = Dropped::default();
    let mut sources = Vec::new();
    let mut before = 0;
    let mut entries = 0_u64;
    for log in &logs {
        let input = Input::open_log(&log.path)?;
        let mut reader = LogReader::new(input, log.path.clone(), &log.probe, &import.read);
        let mut source = Source {
            file: log.path.display().to_string(),
            kind: log.probe.kind,
            dialect: log.probe.dialect,
            version: log.probe.version.clone(),
            seconds_mean: log.probe.meaning,
            has_times: log.probe.is_empty || log.probe.first_second.is_some(),
            entries: 0,
            bytes: 0,
        };
        while let Some(item) = reader.next(&mut dropped)? {
            match item {
                Item::Opened => tracker.log_opened(&mut dropped)?,
                Item::Database(name) => tracker.database_said(name),
                Item::Entry(entry, mode) => {
                    source.entries += 1;
                    source.bytes += entry.length as u64;
                    let changes = tracker.entry(&entry, mode, &source.file, &mut dropped)?;
                    changes.apply(&mut reader);
                }
            }
            entries += 1;
            if entries.is_multiple_of(STEP) {
                if stop.load(Ordering::Relaxed) {
                    return Err(CaptureError::Stopped);
                }
                progress(Progress {
                    file: &log.path,
                    read: before + reader.source().bytes_read(),
                    total,
                    entries,
                });
            }
        }
        source.version = reader.version().map(str::to_owned).or(source.version);
        before += log.length;
        sources.push(source);
    }
    if stop.load(Ordering::Relaxed) {
        return Err(CaptureError::Stopped);
    }
    tracker.end_routines(&mut dropped)?;
    tracker.finish(Summary {
        sources,
        dropped,
        counted: import.counted,
        clients: import.clients.clone(),
        order: match kind {
            LogKind::Slow | LogKind::Traffic => Order::Completion,
            LogKind::General => Order::Arrival,
        },
        ..Summary::default()
    })
}

/// Looks into every log; in the order of their times.
fn probe(import: &Import) -> Result<Vec<Log>, CaptureError> {
    let mut logs = Vec::new();
    for path in &import.files {
        let input = Input::open_log(path)?;
        let length = input.length;
        let probe = Probe::read(input, &import.read.zone)?;
        logs.push(Log {
            path: path.clone(),
            probe,
            length,
        });
    }
    let of_kind = |kind| {
        logs.iter()
            .find(|log| !log.probe.is_empty && log.probe.kind == kind)
    };
    if let (Some(slow), Some(general)) = (of_kind(LogKind::Slow), of_kind(LogKind::General)) {
        return Err(CaptureError::MixedKinds {
            slow: slow.path.clone(),
            general: general.path.clone(),
        });
    }
    logs.sort_by_key(|log| log.probe.first_second.unwrap_or(i64::MIN));
    Ok(logs)
}
