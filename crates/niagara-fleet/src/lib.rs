//! Duels on many machines. A **head** grants duels to **workers**, one on each node, and takes their results; they meet in a
//! folder that all of them see (docs/fleet.md). What a duel is, this crate does not know: orders and results are documents.
//!
//! `message` and `line` are the protocol, `desk` decides who gets what (a pure function of the head's log), `head` and
//! `worker` are the two ends, `machine` tells who shares one, `slurm` asks for nodes, `content` copies servers and data, `room` waits
//! where the folder is full, `cost` counts node-seconds.
//!
//! # The shared folder
//!
//! Head and workers never list a folder, lock a file, or write to the same file: network file systems fail at these. Logs are only
//! appended to. Each line is `1 LENGTH XXH3 JSON`; a torn line fits neither length nor checksum, is skipped and counted. The head takes
//! results in the order of their index and writes the results database on its own disk; workers copy what they need to theirs.
//!
//! # Exactly once
//!
//! - A duel's name is a hash of study, phase, subject, variants, load, couples and seed. Every machine derives the same random choices
//!   from it.
//! - An attempt is a duel with an epoch. Only the attempt that was granted last counts; older results are stale.
//! - A worker claims its name by making a folder. A second start becomes the next incarnation, and the earlier one is fenced off.
//! - The head writes its decisions before it acts. A new head reads all logs and adopts workers and results.
//!
//! # Who gets which duel
//!
//! Each worker holds up to three duels, so that it never waits for the folder. The next index goes to the worker that holds fewest; a
//! seeded permutation decides ties.

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
mod submissions;
mod tending;
mod watch;
mod worker;

/// What the kernel calls this host; empty where it does not say.
fn host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map(|name| name.trim().to_owned())
        .unwrap_or_default()
}

pub use forecast::Plan;
pub use head::Head;
pub use machine::{Machine, Sharing};
pub use message::Attempt;
pub use options::{Cluster, DuelResult, HeadOptions, Order};
pub use room::{NoRoom, Waiting, explained};
pub use slurm::{Program, SlurmOptions};
pub use worker::{Done, Signals, Work, WorkerOptions, run as run_worker};
