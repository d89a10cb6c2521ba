//! What a capture has changed, on disk: whoever finds it can undo it.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::apply::Outcome;
use super::end::End;
use super::outlast::Outlasting;
use super::wanted::Change;
use crate::client::ClientsOfUser;
use crate::file::ServerCounts;

/// How far a capture on a server is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Its settings are made, or being made.
    Running,
    /// Its settings are undone.
    Ended {
        /// Why it ended.
        end: End,
        /// What became of every variable.
        outcomes: Vec<(String, Outcome)>,
    },
}

/// A process, so that another one of its number is not taken for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// Its start, in ticks since the machine's.
    pub started: u64,
}

impl Process {
    /// The process that asks.
    pub(crate) fn this() -> Process {
        let pid = std::process::id() as i32;
        Process {
            pid,
            started: started(pid).unwrap_or(0),
        }
    }

    /// Whether it is there still.
    pub fn is_alive(self) -> bool {
        started(self.pid) == Some(self.started)
    }
}

/// When a process began: the 22nd field of its `stat` (proc_pid_stat(5)); none where it has ended.
fn started(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may hold anything.
    let mut fields = stat.get(stat.rfind(')')? + 2..)?.split(' ');
    let state = fields.next()?;
    let started = fields.nth(18)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(started)
}

/// A capture on a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The way to the server, for people and to find it again: `socket /run/mysqld/mysqld.sock`.
    pub server: String,
    /// The account.
    pub user: String,
    /// The log of the capture.
    pub log: PathBuf,
    /// What was changed.
    pub changes: Vec<Change>,
    /// Who undoes it.
    pub guardian: Option<Process>,
    /// When it began, in seconds since 1970.
    pub began: i64,
    /// What the server had counted when it began.
    #[serde(default)]
    pub counted_before: Option<ServerCounts>,
    /// What it counted meanwhile.
    #[serde(default)]
    pub counted: Option<ServerCounts>,
    /// What connections keep that are opened meanwhile.
    #[serde(default)]
    pub outlasting: Option<Outlasting>,
    /// The number of the connection that made the changes: later ones are opened under them.
    #[serde(default)]
    pub first_connection: Option<u64>,
    /// The number of a connection that was opened once they were undone.
    #[serde(default)]
    pub last_connection: Option<u64>,
    /// The file that the general log goes to alone meanwhile, where it goes elsewhere otherwise.
    #[serde(default)]
    pub general_log: Option<PathBuf>,
    /// The server's `sql_mode` of new sessions.
    #[serde(default)]
    pub sql_mode: String,
    /// What its sessions showed of their clients when it began.
    #[serde(default)]
    pub clients: Vec<ClientsOfUser>,
    /// How far it is.
    pub status: Status,
}

impl State {
    /// The file of the capture on the server of this [identity](super::identity) in `folder`.
    pub fn path(folder: &Path, identity: &str) -> PathBuf {
        let number = xxhash_rust::xxh3::xxh3_64(identity.as_bytes());
        folder.join(format!("{number:016x}.json"))
    }

    /// Writes it, readable by its owner only; a reader sees the one before or this one.
    ///
    /// # Errors
    /// The folder or the file cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        fs::rename(self.write_beside(path)?, path)
    }

    /// Writes it where no other is.
    ///
    /// # Errors
    /// As [`write`](State::write); `AlreadyExists`: another one is there.
    pub(super) fn begin(&self, path: &Path) -> io::Result<()> {
        let written = self.write_beside(path)?;
        // Whole or not at all, and never over another one.
        let begun = fs::hard_link(&written, path);
        fs::remove_file(&written)?;
        begun
    }

    fn write_beside(&self, path: &Path) -> io::Result<PathBuf> {
        if let Some(folder) = path.parent() {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)?;
        }
        let temporary = path.with_extension(format!("{}.part", std::process::id()));
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&temporary)?;
        file.write_all(&serde_json::to_vec_pretty(self)?)?;
        file.sync_all()?;
        Ok(temporary)
    }

    /// Reads it; none when there is none.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(path: &Path) -> io::Result<Option<State>> {
        match fs::read(path) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}
