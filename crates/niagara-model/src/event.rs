//! What happened besides the duels, and the time a study has used.

use serde::{Deserialize, Serialize};

/// Kind of the event that holds the main settings of a tuning's start, in one line.
pub const START_SETTINGS: &str = "start settings";
/// Kind of the events that say, a line each, what of the user's own server the start is, and what it goes without.
pub const ORIGIN: &str = "origin";

/// Something that happened while a study ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventRecord {
    /// When, milliseconds since the Unix epoch.
    pub unix_ms: i64,
    /// One word or two: `set aside`, `disturbed`, `crash`, `interrupted`, `resumed`.
    pub kind: String,
    /// One sentence.
    pub text: String,
}

/// Time used by a study over all its sittings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RunTime {
    /// Seconds of wall clock.
    pub elapsed_seconds: f64,
    /// Seconds of those in which a server was under load.
    pub load_seconds: f64,
}
