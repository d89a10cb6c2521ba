//! What an owner that died left behind: servers that still run, folders that are half-done.

use std::fs;

use anyhow::Result;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::cache::{Cache, sweep_left, sweep_left_in_tmp};
use crate::launch::registry::Record;
use crate::owner_lock::OwnerLock;

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
        // Whoever runs the server holds its run folder.
        let left = OwnerLock::of_left(&record.run_folder);
        // A folder that is not there may be in a mount of that process's own (a job's private /tmp).
        let is_owned = record.owner.is_some_and(|owner| owner.is_alive());
        if left.is_none() && (record.run_folder.exists() || is_owned) {
            continue;
        }
        if record.server.is_alive() {
            // The group's number is the server's: it was started in a group of its own.
            let _ = killpg(Pid::from_raw(record.server.pid), Signal::SIGKILL);
            swept.servers += 1;
        }
        if let Some(left) = left {
            left.remove(&record.run_folder);
        }
        let _ = fs::remove_dir_all(&record.socket_folder);
        let _ = fs::remove_file(entry.path());
    }
    swept.folders += sweep_left(&cache.work()?);
    swept.folders += sweep_left(&cache.servers()) + sweep_left(&cache.images());
    swept.folders += sweep_left_in_tmp();
    Ok(swept)
}
