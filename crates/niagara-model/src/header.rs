//! What every study's summary begins with.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{BuildNote, Deployment, FinalCheck, Goal, Warning};

/// Words that open a study: what was asked then, what has changed since, what is measured now.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct About {
    /// For people.
    pub title: String,
    /// What was asked then, and what came out.
    pub asked: String,
    /// What has changed since.
    pub changed: String,
    /// What is measured now.
    pub measured: String,
    /// Where the published figures come from.
    pub source: Option<String>,
    /// The published table, as text.
    pub published: Option<String>,
    /// `small` or `original`.
    pub size: String,
    /// How this size differs from the other.
    pub note: Option<String>,
}

/// What was asked, how far it came and what a reader must know: the same of every kind of study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudyHeader {
    /// The study file's words; `None` of a study that was asked for on the command line.
    pub about: Option<About>,
    /// Server of the baseline: `mariadb-10.11`.
    pub server: String,
    /// The version string that this server gave.
    pub server_version: String,
    /// One line: workload, tables, rows, and threads where there is one count. A matrix has several, joined by semicolons.
    pub workload: String,
    /// What is judged.
    pub goal: Goal,
    /// Transactions per second that arrived on either side, where latency at equal load is the goal.
    pub rate: Option<f64>,
    /// `duel`, `pair`, `trimmed`, or `solo` of a sweep.
    pub protocol: String,
    /// Seed.
    pub seed: u64,
    /// Error probability of the study's main claim; of a sweep, that of each interval.
    pub alpha: f64,
    /// Seconds asked for; `None` of a comparison, which ends with its verdict.
    pub budget_seconds: Option<f64>,
    /// Seconds used, excluding setup.
    pub elapsed_seconds: f64,
    /// Seconds of those in which a server was under load.
    pub load_seconds: f64,
    /// False when it was interrupted: the same command continues it.
    pub complete: bool,
    /// Standard deviation of one duel's log score.
    pub sd_duel: Option<f64>,
    /// The built servers among what was measured.
    pub builds: Vec<BuildNote>,
    /// Checks of the final variant before it is handed over.
    pub checks: Vec<FinalCheck>,
    /// What an installation of the final variant takes; `None` unless fresh duels proved it better.
    pub deployment: Option<Deployment>,
    /// What a reader must know before believing the rest. Reports print them with those that follow from the rest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub warnings: Vec<Warning>,
}
