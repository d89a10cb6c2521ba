//! Processes: started so that they end with this one, found by what they listen on or work in, and what they use.

pub(crate) mod by_folder;
pub(crate) mod confinement;
pub(crate) mod disk_wait;
pub(crate) mod helper;
pub(crate) mod id;
pub(crate) mod listener;
pub(crate) mod live;
pub(crate) mod run_delay;
pub(crate) mod spawn;
pub(crate) mod usage;
#[cfg(test)]
pub(crate) mod waiting_shell;
pub(crate) mod watcher;
