//! The servers that run now, on disk, so that a later start can end those whose owner died.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::cache::{Cache, create_private, write_private};
use crate::process::id::ProcessId;

/// A running server, as recorded.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    pub server: ProcessId,
    /// The process that started it.
    #[serde(default)]
    pub owner: Option<ProcessId>,
    pub run_folder: PathBuf,
    pub socket_folder: PathBuf,
}

/// A server's entry in the registry; removed when dropped.
#[derive(Debug)]
pub(crate) struct Registration {
    path: PathBuf,
}

impl Registration {
    /// Enters a server that was just started.
    pub fn enter(
        cache: &Cache,
        pid: i32,
        run_folder: &Path,
        socket_folder: &Path,
    ) -> Result<Registration> {
        let folder = cache.running();
        create_private(&folder)?;
        // Containers that share the cache may have the same numbers.
        let run = run_folder.file_name().unwrap_or_default();
        let path = folder.join(format!("{}-{pid}.json", run.to_string_lossy()));
        // A server that is dead already leaves nothing to end.
        let server = ProcessId::of(pid).unwrap_or(ProcessId { pid, start: 0 });
        let record = Record {
            server,
            owner: ProcessId::of(std::process::id() as i32),
            run_folder: run_folder.to_path_buf(),
            socket_folder: socket_folder.to_path_buf(),
        };
        write_private(&path, &serde_json::to_vec(&record)?)?;
        Ok(Registration { path })
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
