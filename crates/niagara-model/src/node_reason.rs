//! Why a node, a worker or an attempt at a duel was given up: codes and fields. Their English is in `words/node.rs`.

use niagara_error::Explanation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why something was given up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum NodeReason {
    /// The study does not want it any more.
    NotWanted,
    /// An error.
    Error {
        /// The error.
        error: Explanation,
    },
    /// A worker was silent.
    Silent {
        /// For so many seconds.
        seconds: f64,
    },
    /// Its node was set aside.
    NodeSetAside,
    /// The worker was started again elsewhere.
    StartedElsewhere,
    /// The worker's program is of another version than the study's.
    OtherVersion,
    /// A result is not whole.
    BrokenResult {
        /// The file.
        file: String,
    },
    /// The node failed too often.
    FailedOften {
        /// How often.
        times: usize,
        /// The last failure.
        last: Box<NodeReason>,
    },
    /// The worker's process was stopped for a while.
    Stopped {
        /// Seconds.
        seconds: u64,
    },
    /// A signal ended the worker.
    Signal,
    /// The job's time limit is near.
    TimeLimitNear,
    /// The job has less time left than a duel may take.
    LittleTime {
        /// Seconds that are left.
        left: f64,
        /// Seconds with which a duel is begun.
        needed: f64,
    },
    /// The head gives the worker nothing more.
    Fenced {
        /// Why.
        because: Box<NodeReason>,
    },
    /// The study has ended.
    StudyEnded,
    /// Nothing was heard of a head.
    NoHead,
    /// The worker's job ended.
    JobEnded {
        /// How.
        end: JobEnd,
    },
    /// A job failed before its worker said anything.
    JobFailed {
        /// The job.
        job: String,
    },
    /// Others took CPU time from the node.
    TakenTime {
        /// The node's share, 0 to 1.
        share: f64,
        /// That of the other nodes.
        others: f64,
    },
    /// The slices of the node's duels differ more than those of other nodes.
    WideSpread {
        /// How many times as much.
        times: f64,
    },
    /// Two equal servers differed more on the node than on other nodes.
    FailedTrial {
        /// How many times as much.
        times: f64,
    },
}

impl NodeReason {
    /// An error with its causes.
    pub fn of(error: impl Into<Explanation>) -> Self {
        Self::Error {
            error: error.into(),
        }
    }
}

/// How a job ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum JobEnd {
    /// A job with more priority got its node.
    Preempted,
    /// Its time limit was reached.
    TimeLimit,
    /// Its node failed.
    NodeFailed,
    /// Its node's memory ran out.
    OutOfMemory,
    /// Somebody cancelled it.
    Cancelled,
    /// What ran in it failed.
    Failed {
        /// Slurm's word for it.
        reason: String,
    },
    /// It came to its end.
    Ended,
}

/// A node, and why it or what ran on it was given up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeTrouble {
    /// The node.
    pub node: String,
    /// Why.
    pub reason: NodeReason,
}

/// A worker on a machine on which another one works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SharedMachine {
    /// The worker.
    pub worker: String,
    /// Its node.
    pub node: String,
    /// The worker whose machine it is.
    pub with: String,
    /// That worker's node.
    pub with_node: String,
    /// Whether they take turns; else the other one goes first.
    pub turns: bool,
}
