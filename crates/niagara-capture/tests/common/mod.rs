//! What the tests share: the logs, and a capture as lines of text.

#![allow(dead_code, reason = "each test file uses its part of this")]

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use jiff::tz::TimeZone;
use niagara_capture::file::{CaptureReader, Dictionary, Event, Summary};
use niagara_capture::log::ReadOptions;
use niagara_capture::sql::restore;
use niagara_capture::{CaptureError, Import, import};

/// A log of the tests.
pub fn log(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/logs")
        .join(name)
}

/// All logs of the tests whose name ends so.
pub fn logs(ending: &str) -> Vec<PathBuf> {
    let mut logs: Vec<PathBuf> = std::fs::read_dir(log(""))
        .expect("the logs")
        .map(|entry| entry.expect("a log").path())
        .filter(|path| path.to_string_lossy().ends_with(ending))
        .collect();
    logs.sort();
    logs
}

/// How the logs of the tests are read: their servers were in UTC.
pub fn options() -> ReadOptions {
    ReadOptions {
        zone: TimeZone::UTC,
        ..ReadOptions::default()
    }
}

/// Imports these files; the summary.
pub fn import_all(files: &[PathBuf], output: &Path) -> Result<Summary, CaptureError> {
    let job = Import {
        files: files.to_vec(),
        read: options(),
        output: output.to_owned(),
        replace: true,
        counted: None,
        stored: None,
        clients: Vec::new(),
    };
    import(&job, &AtomicBool::new(false), |_| {})
}

/// The text of an event's statement.
pub fn text(event: &Event<'_>, dictionary: &Dictionary) -> Vec<u8> {
    let mut text = Vec::new();
    if let Some(id) = event.template {
        restore(&dictionary.template(id).skeleton, event.parts(), &mut text).expect("all parts");
    }
    text
}

/// Every event as a line.
pub fn lines(path: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    CaptureReader::open(path)
        .expect("a capture")
        .for_each(|event, dictionary| {
            let transaction = event.transaction;
            let marks: String = [
                (transaction.inside, 'T'),
                (transaction.first, '<'),
                (transaction.last, '>'),
            ]
            .into_iter()
            .filter_map(|(set, mark)| set.then_some(mark))
            .collect();
            lines.push(format!(
                "{} {:?} {:?} s={} d={} {marks} {}",
                event.place.session,
                event.kind,
                event.class,
                event.place.start_us,
                String::from_utf8_lossy(dictionary.name(event.database)),
                text(event, dictionary).escape_ascii(),
            ));
            Ok::<(), CaptureError>(())
        })
        .expect("a whole capture");
    lines
}

/// The texts of the digests of all statements.
pub fn digests(path: &Path) -> Vec<String> {
    let mut digests = Vec::new();
    CaptureReader::open(path)
        .expect("a capture")
        .for_each(|event, dictionary| {
            if let Some(id) = event.template {
                let digest = dictionary.digest(dictionary.template(id).digest);
                digests.push(String::from_utf8_lossy(&digest.text).into_owned());
            }
            Ok::<(), CaptureError>(())
        })
        .expect("a whole capture");
    digests
}
