//! What happened besides the duels, what a study decided on its way, and the time that it has used. The English of events is in
//! `words/event.rs`.

use niagara_error::Explanation;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{FoughtOn, NodeAccount, NotTried, OriginNote};

/// An event of a study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventRecord {
    /// When, milliseconds since the Unix epoch.
    pub unix_ms: i64,
    /// What it was.
    pub event: Event,
}

/// Something that happened while a study ran, or that it keeps for those who continue or read it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Event {
    /// The study was continued.
    Resumed {
        /// The command that did it.
        command: String,
    },
    /// Another part of the study began.
    NextPart {
        /// The command that began it.
        command: String,
    },
    /// A side failed in a screening duel, and the lever to blame was looked for.
    SideFailed {
        /// Why it failed.
        error: Explanation,
    },
    /// A lever is screened no longer: it surely costs much of the throughput.
    SetAside(NotTried),
    /// The main settings of a tuning's start.
    StartSettings {
        /// Names and values, in the order in which they are shown.
        settings: Vec<(String, String)>,
    },
    /// What of the user's own server the start is, or what it goes without.
    Origin {
        /// One thing of it.
        note: OriginNote,
    },
    /// A node ran a duel.
    FoughtOn(FoughtOn),
    /// What nodes were held for; the last one is of all sittings.
    NodesHeld(NodeAccount),
    /// What the steps of a duel's jobs took, kept a moment before the duel itself: one that is lost with its process and fought again
    /// has two, and the last one holds.
    Steps {
        /// The duel.
        duel: u32,
        /// Names and seconds, of A and of B.
        seconds: [Vec<(String, f64)>; 2],
    },
    /// Something that later steps of the study depend on.
    Decision {
        /// Its name.
        key: String,
        /// What was decided. Only `niagara-lab` knows the type that a key has.
        value: Value,
    },
}

/// Time used by a study over all its sittings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RunTime {
    /// Seconds of wall clock.
    pub elapsed_seconds: f64,
    /// Seconds of those in which a server was under load.
    pub load_seconds: f64,
}
