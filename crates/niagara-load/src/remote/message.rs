//! What the two ends say to each other.

use crate::engine::options::{DriverOptions, RunOptions};
use crate::engine::stats::SliceStats;
use crate::error::LoadError;
use crate::job::JobTimes;
use crate::net::endpoint::Endpoint;
use crate::workload::WorkloadSpec;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// The agent's first words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    /// Niagara's version.
    pub version: String,
    /// SHA-256 of its binary: both ends must be the same.
    pub binary: String,
    /// The agent's host in one line, for people.
    pub machine: String,
    /// `SSH_CONNECTION` there: the addresses and ports of both ends of the connection that started it.
    pub ssh_connection: Option<String>,
}

/// What is asked of the agent. All but [`Cancel`](Request::Cancel) are answered.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Request {
    /// Connect to `address` and say `token`: can it be reached, and from where?
    Knock { address: SocketAddr, token: String },
    /// Make the connections, in place of those that there are.
    Connect {
        endpoints: Vec<Endpoint>,
        spec: Box<WorkloadSpec>,
        options: DriverOptions,
    },
    /// Load a side; intervals are answered as they pass.
    Run { side: usize, options: RunOptions },
    /// Do a workload's job on a connection of its own; steps are answered as they begin.
    Job {
        endpoint: Endpoint,
        spec: Box<WorkloadSpec>,
    },
    /// End the connections.
    Disconnect,
    /// End whatever runs.
    Cancel,
}

/// What the agent answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    /// Before anything was asked.
    Hello(Greeting),
    /// It is done.
    Done,
    /// A full interval of a run; more follows.
    Interval(Box<SliceStats>),
    /// A step of a job begins; more follows.
    Step {
        name: String,
        number: usize,
        of: usize,
    },
    /// The whole of a run.
    Ran(Box<SliceStats>),
    /// What became of a job.
    Worked(JobTimes),
    /// It could not be done.
    Failed(LoadError),
}
