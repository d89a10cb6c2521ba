//! What can go wrong.

use std::io;
use std::path::{Path, PathBuf};

use niagara_error::Explanation;

/// What a file resembles that is no log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Likeness {
    /// A slow log whose entries have no `SET timestamp=`: of MySQL before 5.1, of TiDB, of a tool.
    SlowWithoutTimes,
    /// A general log whose tabs are blanks now: a copy from a terminal.
    GeneralWithoutTabs,
}

/// A failure of reading a log, or of reading or writing a capture.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// A file cannot be opened, read or written.
    #[error("cannot {action} {}: {cause}", path.display())]
    File {
        /// `read`, `write`, `open`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's words.
        cause: io::Error,
    },
    /// A file is no log that can be read.
    #[error(
        "{}: this is neither a slow log nor a general log, nor recorded traffic (pcap): none of its first {bytes} bytes is an entry's header{}{}",
        path.display(), prefix_found(stands_before.as_deref()), likeness_found(*likeness)
    )]
    NoLog {
        /// The file.
        path: PathBuf,
        /// How much of it was read, in bytes.
        bytes: usize,
        /// What stands before the first header, where one does not begin its line.
        stands_before: Option<String>,
        /// What it resembles.
        likeness: Option<Likeness>,
    },
    /// A file of the wrong encoding.
    #[error(
        "{}: the file is UTF-16, which no server writes",
        .0.display()
    )]
    Utf16(PathBuf),
    /// Logs of different kinds.
    #[error(
        "{} is a slow log, {} a general log: a statement would be in the capture twice",
        slow.display(), general.display()
    )]
    MixedKinds {
        /// A slow log.
        slow: PathBuf,
        /// A general log.
        general: PathBuf,
    },
    /// Recorded traffic beside logs.
    #[error(
        "{} is recorded traffic, {} a log: a statement would be in the capture twice",
        traffic.display(), log.display()
    )]
    MixedTraffic {
        /// Recorded traffic.
        traffic: PathBuf,
        /// Something else.
        log: PathBuf,
    },
    /// A file is no capture.
    #[error("{}: this is not a capture file of Niagara", .0.display())]
    NoCapture(PathBuf),
    /// A capture of another version of the format.
    #[error(
        "{}: the capture has format {found}, this program reads format {known}",
        path.display()
    )]
    Version {
        /// The capture.
        path: PathBuf,
        /// Its format's number.
        found: u32,
        /// The number that can be read.
        known: u32,
    },
    /// A capture that is damaged.
    #[error("{}: the capture is damaged at byte {at}: {what}", path.display())]
    Damaged {
        /// The capture.
        path: PathBuf,
        /// Where in the file.
        at: u64,
        /// What is wrong there.
        what: String,
    },
    /// The file to write is there.
    #[error("{} is there already", .0.display())]
    Exists(PathBuf),
    /// A capture that cannot be replayed.
    #[error(
        "{}: there is no statement in it that can be replayed",
        .0.display()
    )]
    NothingToReplay(PathBuf),
    /// A capture that is too large to be replayed as a whole.
    #[error(
        "{}: too many statements to be held in memory (100 million, or 16 GiB of text)",
        .0.display()
    )]
    TooLarge(PathBuf),
    /// A part of a capture that has no statement.
    #[error("{}: no statement in it is one of those asked for", .0.display())]
    NothingKept(PathBuf),
    /// Somebody asked to stop.
    #[error("stopped: no capture was written")]
    Stopped,
}

niagara_error::remedied!(CaptureError, CaptureError::explanation);

impl CaptureError {
    /// It with what to do about it.
    pub fn explanation(&self) -> Explanation {
        let told = Explanation::new(self.to_string());
        match self.remedy() {
            Some(remedy) => told.remedy(remedy),
            None => told,
        }
    }

    fn remedy(&self) -> Option<&'static str> {
        Some(match self {
            CaptureError::File {
                action,
                path,
                cause,
            } => return remedy_of_file(action, path, cause),
            CaptureError::NoLog { .. } => {
                "give the file that slow_query_log_file or general_log_file names (compressed by gzip, zstd or xz it may be)"
            }
            CaptureError::Utf16(_) => {
                "iconv -f UTF-16 -t UTF-8 FILE > FILE.utf8, or give the file as the server wrote it"
            }
            CaptureError::MixedKinds { .. } => {
                "import one kind; the slow log has durations and rows, the general log has connects and prepares"
            }
            CaptureError::MixedTraffic { .. } => "import one kind",
            CaptureError::NoCapture(_) => {
                "`niagara capture import` makes one from logs; a pack (`niagara pack --show`) goes whole to advise, tune and compare"
            }
            CaptureError::Version { .. } => {
                "import the logs again with this program, or take the program that wrote it"
            }
            CaptureError::Damaged { .. } => "copy it again, or import the logs again",
            CaptureError::Exists(_) => "name another file, or --force to replace it",
            CaptureError::NothingToReplay(_) => {
                "`niagara capture info` shows what is in it; statements that act on the server and LOAD DATA are left out"
            }
            CaptureError::TooLarge(_) => {
                "take a part of it with `niagara capture filter`, by time or by database"
            }
            CaptureError::NothingKept(_) => {
                "`niagara capture info` lists its databases, users, times and digests"
            }
            CaptureError::Stopped => return None,
        })
    }

    /// For `map_err`: an error of the system's with what was tried on which file.
    pub(crate) fn file(
        action: &'static str,
        path: &Path,
    ) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |cause| CaptureError::File {
            action,
            path,
            cause,
        }
    }
}

/// What stands before the headers of a file, in words; nothing where nothing does.
fn likeness_found(likeness: Option<Likeness>) -> &'static str {
    match likeness {
        None => "",
        Some(Likeness::SlowWithoutTimes) => {
            "\nIt has lines of a slow log, but no line SET timestamp=…: MySQL before 5.1, TiDB and some tools write none"
        }
        Some(Likeness::GeneralWithoutTabs) => {
            "\nIt has lines of a general log, with blanks for tabs: a copy from a terminal"
        }
    }
}

fn prefix_found(text: Option<&str>) -> String {
    match text {
        Some(text) => format!(
            "; {:?} stands before the first one: a log collector has added it",
            text
        ),
        None => String::new(),
    }
}

/// What helps where a file cannot be used; nothing where the system's words say it all.
fn remedy_of_file(action: &str, path: &Path, cause: &io::Error) -> Option<&'static str> {
    Some(match (action, cause.kind()) {
        ("write", io::ErrorKind::NotFound) => "make the folder first, or name another file",
        ("write", io::ErrorKind::PermissionDenied) => {
            "name a file in a folder that you may write to"
        }
        ("write", io::ErrorKind::StorageFull) => "make room, or name a file on another disk",
        (_, io::ErrorKind::NotFound)
            if path
                .extension()
                .is_some_and(|extension| extension == "capture") =>
        {
            "name a capture that is there; `niagara capture import` makes one of logs or recorded traffic"
        }
        (_, io::ErrorKind::NotFound) => {
            "name a file that is there; a server says where it writes its logs: SHOW VARIABLES LIKE '%log_file'"
        }
        (_, io::ErrorKind::PermissionDenied) => {
            "read it as a user who may (logs belong to the server's user, mysql), or copy it first"
        }
        (_, io::ErrorKind::IsADirectory) => "name the files in it, as in FOLDER/slow.log*",
        _ => return None,
    })
}
