//! What becomes of a candidate.

use niagara_stats::Estimate;
use schemars::JsonSchema;
use serde::Serialize;

/// Whether a candidate is in the set.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "code")]
pub enum Fate {
    /// It is.
    Chosen,
    /// Nothing reads less with it.
    SavesNothing,
    /// Only statements read less with it that find what they need, and that cost little.
    NotNeeded,
    /// It saves less than it costs to write.
    CostsMore,
    /// It saves less than a hundredth of the work.
    SavesLittle,
    /// The others save what it saves.
    Superfluous,
    /// The set has as many as it may have.
    TooMany,
    /// It does not fit into the space.
    TooLarge,
    /// The server refuses it.
    Refused {
        /// What it says.
        message: String,
    },
    /// There was no time left.
    NoTime,
    /// Counting has chosen it, and duels did not show that it pays.
    NotShown {
        /// Throughput with it over that without it.
        ratio: Estimate,
    },
    /// Statements are answered otherwise with the set.
    OtherAnswers,
}
