//! The servers that run now, on disk, so that a later start can end those whose owner died.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use crate::cache::{Cache, owner_in_name, write_private};
use crate::owner::ProcessId;
use crate::{image, install};

/// A running server, as recorded.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    server: ProcessId,
    owner: ProcessId,
    run_folder: PathBuf,
    socket_folder: PathBuf,
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
        crate::cache::create_private(&folder)?;
        let path = folder.join(format!("{pid}.json"));
        // A server that is dead already leaves nothing to end.
        let server = ProcessId::of(pid).unwrap_or(ProcessId { pid, start: 0 });
        let record = Record {
            server,
            owner: ProcessId::current(),
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

/// What a sweep found and removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Servers that had outlived their owner.
    pub servers: usize,
    /// Run folders, clones, half-fetched servers, half-made images.
    pub folders: usize,
}

/// Ends servers whose owner is dead and removes what was left half-done. Called at the start of every command.
pub fn sweep_stale(cache: &Cache) -> Result<Swept> {
    let mut swept = Swept::default();
    for entry in fs::read_dir(cache.running())
        .into_iter()
        .flatten()
        .flatten()
    {
        let read = fs::read(entry.path())
            .ok()
            .and_then(|bytes| serde_json::from_slice::<Record>(&bytes).ok());
        let Some(record) = read else { continue };
        if record.owner.is_alive() {
            continue;
        }
        if record.server.is_alive() {
            // The group's number is the server's: it was started in a group of its own.
            let _ = killpg(Pid::from_raw(record.server.pid), Signal::SIGKILL);
            swept.servers += 1;
        }
        for folder in [&record.run_folder, &record.socket_folder] {
            let _ = fs::remove_dir_all(folder);
        }
        let _ = fs::remove_file(entry.path());
    }
    for entry in fs::read_dir(cache.work()?).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if owner_in_name(&name).is_some_and(|owner| !owner.is_alive()) {
            swept.folders += usize::from(fs::remove_dir_all(entry.path()).is_ok());
        }
    }
    swept.folders += install::sweep(cache) + image::sweep(cache);
    Ok(swept)
}
