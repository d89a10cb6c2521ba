//! A server that runs already and was observed where it is. Its load is its own, nothing was started or set for it, and so some of
//! what a private server shows is not known of it.

use std::path::PathBuf;

use niagara_error::Explanation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The server, and what is not known of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LiveServer {
    /// Its process.
    pub pid: i32,
    /// Its program.
    pub program: PathBuf,
    /// What is not known, and why.
    pub gaps: Vec<LiveGap>,
}

/// What a profile of a live server lacks, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum LiveGap {
    /// A load that can be repeated: it was that of the server's own clients.
    Repetition,
    /// What observing costs: that takes slices of equal load with a view and without it.
    ObservationCost,
    /// The view of allocations: a library counts them that is loaded at the start.
    Allocations,
    /// The server's release.
    Release {
        /// What stands in the way.
        error: Explanation,
    },
    /// Figures per query: nobody counted the server's statements.
    Queries {
        /// What stands in the way of a connection; none where nobody asked for one.
        error: Option<Explanation>,
    },
    /// The server's own account of its locks.
    Locks {
        /// Why it is not there.
        cause: LockGap,
    },
    /// Names of functions that the server does not export.
    FunctionNames,
    /// Which levers are in use already.
    LeversInUse,
}

/// Why a live server does not tell about its locks: nothing is switched on in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LockGap {
    /// There is no connection to ask it.
    NoConnection,
    /// It runs without `performance_schema`.
    SchemaOff,
    /// Its instruments of locks do not count, or do not time.
    InstrumentsOff,
}
