//! Makes a capture from recorded traffic.

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};

use super::track::Tracker;
use super::{Import, Progress, STEP};
use crate::dropped::Dropped;
use crate::error::CaptureError;
use crate::file::{CaptureWriter, Order, Source, Summary};
use crate::log::{Dialect, Input, LogKind, Meaning};
use crate::pcap::{PcapReader, is_pcap};

/// Whether the files are recorded traffic.
///
/// # Errors
/// A file cannot be read; some are, and some are not.
pub(super) fn is_traffic(import: &Import) -> Result<bool, CaptureError> {
    let mut of_kind = [None, None];
    for path in &import.files {
        let mut first = Vec::new();
        Input::open(path)?
            .take(4)
            .read_to_end(&mut first)
            .map_err(CaptureError::file("read", path))?;
        of_kind[usize::from(is_pcap(&first))].get_or_insert(path);
    }
    match of_kind {
        [Some(log), Some(traffic)] => Err(CaptureError::MixedTraffic {
            traffic: traffic.clone(),
            log: log.clone(),
        }),
        [_, traffic] => Ok(traffic.is_some()),
    }
}

/// Imports files of recorded traffic, in the order in which they were given: a connection ends with its file.
pub(super) fn import(
    import: &Import,
    writer: CaptureWriter,
    stop: &AtomicBool,
    mut progress: impl FnMut(Progress<'_>),
) -> Result<Summary, CaptureError> {
    let mut tracker = Tracker::new(writer, LogKind::Traffic);
    let mut dropped = Dropped::default();
    let mut sources = Vec::new();
    let mut entries = 0_u64;
    let (mut before, mut threads) = (0, 0);
    let inputs: Result<Vec<Input>, CaptureError> =
        import.files.iter().map(|path| Input::open(path)).collect();
    let inputs = inputs?;
    let total = inputs.iter().map(|input| input.length).sum();
    for input in inputs {
        let (path, length) = (input.path.clone(), input.length);
        let read = input.counter();
        let file = path.display().to_string();
        let mut reader = PcapReader::new(input, file.clone(), import.read.mode, threads)
            .map_err(CaptureError::file("read", &path))?;
        let mut source = Source {
            file: file.clone(),
            kind: LogKind::Traffic,
            dialect: Dialect::Mysql,
            version: None,
            seconds_mean: Meaning::Start,
            entries: 0,
            bytes: 0,
        };
        while let Some(told) = reader
            .next(&mut dropped)
            .map_err(CaptureError::file("read", &path))?
        {
            let entry = told.entry();
            let mode = told.mode();
            source.entries += 1;
            source.bytes += entry.length as u64;
            let change = tracker.entry(&entry, mode, &file, &mut dropped)?;
            change.apply_to_traffic(&mut reader);
            entries += 1;
            if entries.is_multiple_of(STEP) {
                if stop.load(Ordering::Relaxed) {
                    return Err(CaptureError::Stopped);
                }
                progress(Progress {
                    file: &path,
                    read: before + read.load(Ordering::Relaxed),
                    total,
                    entries,
                });
            }
        }
        source.version = reader.version().map(str::to_owned);
        if source
            .version
            .as_ref()
            .is_some_and(|version| version.contains("MariaDB"))
        {
            source.dialect = Dialect::Mariadb;
        }
        threads = reader.connections();
        before += length;
        sources.push(source);
    }
    if stop.load(Ordering::Relaxed) {
        return Err(CaptureError::Stopped);
    }
    tracker.finish(Summary {
        sources,
        dropped,
        counted: import.counted,
        order: Order::Completion,
        ..Summary::default()
    })
}
