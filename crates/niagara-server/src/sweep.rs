//! What an owner that died left behind: servers that still run, folders that are half-done.

use std::fs;

use anyhow::Result;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::cache::{Cache, owner_in_name, sweep_unfinished};
use crate::launch::registry::Record;

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
    swept.folders += sweep_unfinished(&cache.servers()) + sweep_unfinished(&cache.images());
    Ok(swept)
}
