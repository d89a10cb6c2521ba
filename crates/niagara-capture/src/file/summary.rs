//! What a capture says about itself: the last block, as JSON.

use serde::{Deserialize, Serialize};

use super::counts::ServerCounts;
use crate::dropped::Dropped;
use crate::log::{Dialect, LogKind, Meaning};

/// The order of the events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// By their ends, as in a slow log.
    #[default]
    Completion,
    /// By their starts, as in a general log.
    Arrival,
}

/// A file that the capture was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Its path as it was given.
    pub file: String,
    /// What kind of log it is.
    pub kind: LogKind,
    /// Who wrote it.
    pub dialect: Dialect,
    /// The server's version, where the log says it.
    pub version: Option<String>,
    /// What its seconds mean.
    pub seconds_mean: Meaning,
    /// Entries that were read.
    pub entries: u64,
    /// Their length, decompressed, in bytes.
    pub bytes: u64,
}

/// A block of events: where a reader may begin once it has the dictionary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockEntry {
    /// Where it is in the file, in bytes.
    pub at: u64,
    /// How many events it has.
    pub events: u32,
    /// The earliest start in it, in microseconds since 1970.
    pub first_us: i64,
    /// The latest end in it, in microseconds since 1970.
    pub last_us: i64,
}

/// What a capture says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Summary {
    /// The program that wrote it.
    pub made_by: String,
    /// What it was made from.
    pub sources: Vec<Source>,
    /// The order of the events.
    pub order: Order,
    /// How many events.
    pub events: u64,
    /// How many of them are executions of statements.
    pub statements: u64,
    /// How many sessions.
    pub sessions: u64,
    /// The earliest start, in microseconds since 1970; none without an event.
    pub first_us: Option<i64>,
    /// The latest end.
    pub last_us: Option<i64>,
    /// Durations are known.
    pub has_durations: bool,
    /// Connects are known, so that a session's length is.
    pub has_connects: bool,
    /// The source says who executed prepared statements.
    pub has_prepared: bool,
    /// All starts are known to the microsecond.
    pub exact_times: bool,
    /// Entries without a session's number, taken for one session.
    pub without_session: u64,
    /// The source has one in this many statements; 1 for all.
    pub sampled: u64,
    /// What of the sources is not in it.
    pub dropped: Dropped,
    /// What the server counted meanwhile; none where nobody asked it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<ServerCounts>,
    /// Where the events are.
    pub blocks: Vec<BlockEntry>,
}
