//! What can go wrong with results on disk, said so that a person can act on it.

use std::path::{Path, PathBuf};

use niagara_error::Explanation;
use rusqlite::ffi;
use thiserror::Error;

/// The result of every operation on a [`crate::Store`].
pub type Result<T> = std::result::Result<T, StoreError>;

/// Why results could not be read or written.
#[derive(Debug, Error)]
pub enum StoreError {
    /// `create` found something at the path.
    #[error(
        "{path} exists already: results are never overwritten. \
         Choose another folder, or resume the study that made it"
    )]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// There is nothing at the path.
    #[error("{path}: no results there. Give the folder that a study was run into")]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A file, but not one of ours.
    #[error("{path} was not written by Niagara: {found}")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is instead, as far as can be said.
        found: String,
    },
    /// The file was begun and never held a study.
    #[error("{path} holds no study: the command that made it ended too early")]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// Written by another version of Niagara.
    #[error("{path} has results format {found}, this Niagara reads format {known}")]
    Version {
        /// The file.
        path: PathBuf,
        /// The file's format.
        found: i64,
        /// The format of this program.
        known: i64,
    },
    /// The file is damaged.
    #[error("{path} is damaged ({detail})")]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// SQLite's words.
        detail: String,
    },
    /// No space left for the results.
    #[error(
        "{path}: the disk is full ({}). Everything stored before is intact; only what was being \
         added is lost",
        free_words(*free_bytes)
    )]
    DiskFull {
        /// The file.
        path: PathBuf,
        /// Space left for this user on its file system, where it can be asked.
        free_bytes: Option<u64>,
    },
    /// Another process has held the file for longer than is worth waiting.
    #[error("{path} is in use by another process")]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// Another Niagara runs this study now.
    #[error(
        "{folder} belongs to {} now, which runs this study",
        process_words(*pid)
    )]
    InUse {
        /// The study's folder.
        folder: PathBuf,
        /// Whose it is, as far as it said.
        pid: Option<u32>,
    },
    /// The study's folder could not be taken.
    #[error("{path}: {doing} the study's lock: {source}")]
    Lock {
        /// The file.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// The system's words.
        source: std::io::Error,
    },
    /// The last writer was killed, and setting that right needs permission to write.
    #[error(
        "{path}: the study was killed while writing, and undoing the half-written part needs \
         permission to write there"
    )]
    NeedsRollback {
        /// The file.
        path: PathBuf,
    },
    /// A duel of this number is stored already.
    #[error("{path}: duel {seq} is stored already; a duel is never overwritten")]
    DuelExists {
        /// The file.
        path: PathBuf,
        /// Its position in the study.
        seq: u32,
    },
    /// A row holds something that no version of this format writes.
    #[error("{path}: cannot understand {what}: {detail}. The file was edited, or is damaged")]
    Nonsense {
        /// The file.
        path: PathBuf,
        /// Table and column.
        what: &'static str,
        /// The parser's words.
        detail: String,
    },
    /// Anything else SQLite says.
    #[error("{path}: {doing}: {source}")]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// SQLite's words.
        source: rusqlite::Error,
    },
}

niagara_error::remedied!(StoreError, StoreError::explanation);

impl StoreError {
    /// It with what to do about it.
    pub fn explanation(&self) -> Explanation {
        let told = Explanation::new(self.to_string());
        match self.remedy() {
            Some(remedy) => told.remedy(remedy),
            None => told,
        }
    }

    fn remedy(&self) -> Option<String> {
        let remedy = match self {
            StoreError::Foreign { .. } => "give the results.db of a study",
            StoreError::Empty { .. } => "delete the file and start again",
            StoreError::Version { path, .. } => {
                return Some(format!(
                    "use the Niagara that made it (`sqlite3 {} 'SELECT niagara_version FROM study'`)",
                    path.display()
                ));
            }
            StoreError::Corrupt { path, .. } => {
                return Some(format!(
                    "save what can be saved (`sqlite3 {} .recover | sqlite3 recovered.db`) and report on the recovered file; \
                     or name another folder with --out",
                    path.display()
                ));
            }
            StoreError::DiskFull { .. } => {
                "free some space on that file system, then the same command continues"
            }
            StoreError::Busy { .. } => "wait for it or end it, then repeat the command",
            StoreError::InUse { .. } => {
                "wait for its end or end it (Ctrl-C there; the same command then continues), or name another folder with --out"
            }
            StoreError::Lock { .. } => "name a folder on another disk with --out",
            StoreError::NeedsRollback { .. } => {
                "copy the whole folder to where you may write and use the copy"
            }
            StoreError::Exists { .. }
            | StoreError::Missing { .. }
            | StoreError::DuelExists { .. }
            | StoreError::Nonsense { .. }
            | StoreError::Sqlite { .. } => return None,
        };
        Some(remedy.to_owned())
    }

    /// From SQLite's error to the one that says what to do.
    pub(crate) fn from_sqlite(path: &Path, doing: &'static str, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        let Some(code) = source.sqlite_error().map(|e| e.extended_code) else {
            return StoreError::Sqlite {
                path,
                doing,
                source,
            };
        };
        let free_bytes = free_bytes(&path);
        match code & 0xff {
            ffi::SQLITE_FULL => StoreError::DiskFull { path, free_bytes },
            // Some file systems say "no space" only when asked to sync.
            ffi::SQLITE_IOERR if free_bytes.is_some_and(|free| free < 64 * 1024) => {
                StoreError::DiskFull { path, free_bytes }
            }
            ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => StoreError::Busy { path },
            ffi::SQLITE_NOTADB => StoreError::Foreign {
                path,
                found: "not an SQLite database".into(),
            },
            ffi::SQLITE_CORRUPT => StoreError::Corrupt {
                path,
                detail: source.to_string(),
            },
            _ if code == ffi::SQLITE_READONLY_ROLLBACK => StoreError::NeedsRollback { path },
            _ => StoreError::Sqlite {
                path,
                doing,
                source,
            },
        }
    }
}

fn process_words(pid: Option<u32>) -> String {
    match pid {
        Some(pid) => format!("process {pid}"),
        None => "another process".into(),
    }
}

fn free_words(free: Option<u64>) -> String {
    match free {
        Some(bytes) => format!("{} KiB free", bytes / 1024),
        None => "free space unknown".into(),
    }
}

/// Space that this user may still fill on the file system of `path`.
fn free_bytes(path: &Path) -> Option<u64> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
    let stat = nix::sys::statvfs::statvfs(folder.unwrap_or(Path::new("."))).ok()?;
    #[allow(clippy::unnecessary_cast)] // the widths differ between platforms
    Some(stat.blocks_available() as u64 * stat.fragment_size() as u64)
}
