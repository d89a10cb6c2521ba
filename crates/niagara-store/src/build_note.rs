//! What a reader should know of a built server that a result rests on.

use serde::{Deserialize, Serialize};

use crate::Releases;

/// A server that was built from source and measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildNote {
    /// The variant that has it: `A`, `B`, `final variant`.
    pub of: String,
    /// The recipe, one line: `gcc, LTO thin, PGO on oltp_read_only`.
    pub recipe: String,
    /// The workloads that it was trained on; empty of a build without a profile.
    pub trained_on: Vec<String>,
    /// Whether what was measured is one of those, so that the gain says little of other workloads.
    pub measured_on_training: bool,
    /// Its release, and that of the server beside it; `None` of results that did not keep them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub releases: Option<Releases>,
    /// What is known of its correctness.
    pub check: BuildCheck,
}

impl BuildNote {
    /// What the last variant of a ladder or a tuning is called.
    pub const FINAL: &str = "final variant";
    /// What the confirmed combination of a matrix is called.
    pub const BEST: &str = "best combination";

    /// The note of what a study hands over, where that has a built server.
    pub fn of_what_is_handed_over(notes: &[BuildNote]) -> Option<&BuildNote> {
        notes
            .iter()
            .find(|note| [Self::FINAL, Self::BEST].contains(&note.of.as_str()))
    }
}

/// What `niagara server check` says of a built server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", content = "says", rename_all = "kebab-case")]
pub enum BuildCheck {
    /// Every part of the check was passed; what was counted, one line.
    Passed(String),
    /// Something is wrong with it; the first finding.
    Failed(String),
    /// Not every part was checked; the command that does.
    Unknown(String),
}

/// A check of a final variant before it is handed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinalCheck {
    /// `same answers`, `crash recovery`.
    pub part: String,
    /// Whether it passed; `None` where it could not be done.
    pub passed: Option<bool>,
    /// What it counted, what it found, or why it could not be done.
    pub words: String,
    /// It could not be done for an error, which may pass: nothing is handed over by it, and it is tried again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub broken: bool,
}

impl FinalCheck {
    /// Whether none of them was broken by an error: a study is not over while one was, and the same command tries it again.
    pub fn none_broken(checks: &[FinalCheck]) -> bool {
        !checks.iter().any(|check| check.broken)
    }

    /// Whether what these checks are of may be handed over, as far as they could be done.
    pub fn may_be_handed_over(checks: &[FinalCheck]) -> bool {
        !checks.is_empty() && FinalCheck::none_broken(checks)
    }
}
