//! What a head is opened with, what it is asked for, and what it gives back.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::message::Attempt;
use crate::slurm::SlurmOptions;

/// Where workers come from.
#[derive(Debug, Clone)]
pub enum Cluster {
    /// Slurm starts them.
    Slurm(SlurmOptions),
    /// Somebody else does: they are called w1 to this.
    Others(u32),
}

/// What a head is opened with.
#[derive(Debug, Clone)]
pub struct HeadOptions {
    /// The shared folder.
    pub folder: PathBuf,
    /// The study's key.
    pub key: String,
    /// The study's seed.
    pub seed: u64,
    /// Where workers come from.
    pub cluster: Cluster,
    /// How long a worker may be silent before what it holds is granted to others.
    pub silence: Duration,
    /// Items that a worker holds at most, the one that it runs among them: more than one where they take seconds, so that
    /// looking into the folder costs no time between them.
    pub held: usize,
    /// How long a folder is waited for that is full, or cannot be written for another reason that may pass.
    pub patience: Duration,
    /// What tells this program from other versions of it, which drive load and time it otherwise: workers of another one get
    /// nothing. Empty: any will do.
    pub program: String,
}

/// A duel that is wanted.
#[derive(Debug, Clone)]
pub struct Order {
    /// Its name: everything that decides it, in a hash.
    pub duel: String,
    /// Its index within its comparison, for people.
    pub index: u64,
    /// About how long it takes, seconds.
    pub seconds: f64,
    /// What a worker needs to run it.
    pub document: Value,
}

/// The result of a duel.
#[derive(Debug, Clone)]
pub struct DuelResult {
    /// The document that the worker wrote.
    pub document: Vec<u8>,
    /// The attempt that counts.
    pub attempt: Attempt,
    /// Whose it was.
    pub worker: String,
    /// Where.
    pub node: String,
    /// What tells the machine from others, whatever its node is called; empty where nothing does.
    pub machine: String,
}
