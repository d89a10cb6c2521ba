//! What a reader should know of a built server that a result rests on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{BuildCheck, Releases};

/// A server that was built from source and measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
