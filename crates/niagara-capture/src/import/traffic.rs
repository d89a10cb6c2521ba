//! Makes a capture from recorded traffic.

use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::track::Tracker;
use super::{Import, Progress, STEP};
use crate::dropped::Dropped;
use crate::error::CaptureError;
use crate::file::{CaptureWriter, Order, Source, Summary};
use crate::log::{Dialect, Input, LogKind, Meaning};
use crate::pcap::{PcapReader, first_us, is_pcap};

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

/// Imports files of recorded traffic, in the order of their times: a connection goes on in the next one.
pub(super) fn import(
    import: &Import,
    writer: CaptureWriter,
    stop: &AtomicBool,
    progress: impl FnMut(Progress<'_>),
) -> Result<Summary, CaptureError> {
    let inputs = inputs(import)?;
    let total = inputs.iter().map(|input| input.length).sum();
    let mut importing = Importing {
        tracker: Tracker::new(writer, LogKind::Traffic, None),
        dropped: Dropped::default(),
        sources: Vec::new(),
        stop,
        progress,
        entries: 0,
        before: 0,
        total,
    };
    let mut reader: Option<PcapReader> = None;
    for input in inputs {
        let (path, length, read) = (input.path.clone(), input.length, input.counter());
        let file = path.display().to_string();
        let failed = || CaptureError::file("read", &path);
        match &mut reader {
            Some(reader) => reader.go_on_with(input, file.clone()).map_err(failed())?,
            None => {
                let mode = import.read.mode;
                reader = Some(PcapReader::new(input, file.clone(), mode).map_err(failed())?);
            }
        }
        importing.sources.push(source(file));
        if let Some(reader) = &mut reader {
            importing.read(reader, &path, &read)?;
        }
        importing.before += length;
    }
    if let (Some(reader), Some(last)) = (&mut reader, import.files.last()) {
        reader.finish(&mut importing.dropped);
        importing.read(reader, last, &AtomicU64::new(0))?;
    }
    if stop.load(Ordering::Relaxed) {
        return Err(CaptureError::Stopped);
    }
    importing.tracker.finish(Summary {
        sources: importing.sources,
        dropped: importing.dropped,
        counted: import.counted,
        clients: import.clients.clone(),
        order: Order::Completion,
        ..Summary::default()
    })
}

/// The files, in the order of their times: rotated ones have names that sort otherwise.
fn inputs(import: &Import) -> Result<Vec<Input>, CaptureError> {
    let mut inputs = Vec::new();
    for path in &import.files {
        let first_us = first_us(Input::open(path)?);
        inputs.push((first_us, Input::open(path)?));
    }
    inputs.sort_by_key(|(first_us, _)| *first_us);
    Ok(inputs.into_iter().map(|(_, input)| input).collect())
}

fn source(file: String) -> Source {
    Source {
        file,
        kind: LogKind::Traffic,
        dialect: Dialect::Mysql,
        version: None,
        seconds_mean: Meaning::Start,
        has_times: true,
        entries: 0,
        bytes: 0,
    }
}

/// An import under way.
struct Importing<'a, P> {
    tracker: Tracker,
    dropped: Dropped,
    sources: Vec<Source>,
    stop: &'a AtomicBool,
    progress: P,
    entries: u64,
    /// Bytes of the files before this one, and of all.
    before: u64,
    total: u64,
}

impl<P: FnMut(Progress<'_>)> Importing<'_, P> {
    /// Takes what the reader tells, up to the end of this file, of which so much was `read`.
    fn read(
        &mut self,
        reader: &mut PcapReader,
        path: &Path,
        read: &AtomicU64,
    ) -> Result<(), CaptureError> {
        while let Some(told) = reader
            .next(&mut self.dropped)
            .map_err(CaptureError::file("read", path))?
        {
            let entry = told.entry();
            let Some(source) = self.sources.last_mut() else {
                continue;
            };
            source.entries += 1;
            source.bytes += entry.length as u64;
            let change =
                (self.tracker).entry(&entry, told.mode(), &source.file, &mut self.dropped)?;
            change.apply_to_traffic(reader);
            self.entries += 1;
            if self.entries.is_multiple_of(STEP) {
                if self.stop.load(Ordering::Relaxed) {
                    return Err(CaptureError::Stopped);
                }
                (self.progress)(Progress {
                    file: path,
                    read: self.before + read.load(Ordering::Relaxed),
                    total: self.total,
                    entries: self.entries,
                });
            }
        }
        if let (Some(source), Some(version)) = (self.sources.last_mut(), reader.version()) {
            source.version = Some(version.to_owned());
            if version.contains("MariaDB") {
                source.dialect = Dialect::Mariadb;
            }
        }
        Ok(())
    }
}
