//! Duels on many machines. A **head** grants duels to **workers**, one on each node, and takes their results; they meet in a
//! folder that all of them see (docs/fleet.md). What a duel is, this crate does not know: orders and results are documents.
//!
//! `message` and `line` are the protocol, `desk` decides who gets what (a pure function of the head's log), `head` and
//! `worker` are the two ends, `machine` tells who shares one, `slurm` asks for nodes, `content` copies servers and data, `room` waits
//! where the folder is full, `cost` counts node-seconds.

pub mod content;
mod cost;
mod desk;
mod folder;
mod forecast;
mod head;
mod hearing;
mod line;
mod machine;
mod message;
mod office;
mod options;
mod queue;
mod room;
mod slurm;
mod tending;
mod watch;
mod worker;

/// What the kernel calls this host; empty where it does not say.
fn host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map(|name| name.trim().to_owned())
        .unwrap_or_default()
}

pub use cost::Cost;
pub use forecast::Plan;
pub use head::Head;
pub use machine::{Machine, Sharing};
pub use message::Attempt;
pub use options::{Cluster, DuelResult, HeadOptions, Order};
pub use room::{NoRoom, Waiting, explained};
pub use slurm::{Program, SlurmOptions};
pub use worker::{Done, Signals, Work, WorkerOptions, run as run_worker};
