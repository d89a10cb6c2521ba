//! What a sequence of duel scores says: the verdict, with its estimate.

use serde::{Deserialize, Serialize};

use crate::Estimate;

/// The verdicts of a comparison of B with A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The interval lies above 1.
    Faster,
    /// The interval lies below 1.
    Slower,
    /// The upper end lies below the smallest worthwhile gain.
    NotWorthwhile,
    /// Stopped, by futility or by the budget, without a difference shown: never "no effect".
    Undetected,
}

/// The state of a comparison after some duels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Duels that count.
    pub duels: usize,
    /// `None` while more duels are wanted.
    pub verdict: Option<Verdict>,
    /// Throughput of B over A with the sequential interval at `alpha`.
    pub estimate: Estimate,
    /// Signed-rank statistic W of the duels' scores.
    pub w: f64,
    /// The critical value |W| was held against at the last look; `None` where no rejection was possible.
    pub critical: Option<u32>,
    /// Probability of ever reaching a verdict if the present trend holds (the futility bound compares it with 0.05).
    pub conditional_power: f64,
    /// Number of duels at the next look, if there is one.
    pub next_look: Option<usize>,
    /// Two-sided error probability of the whole sequence of looks.
    pub alpha: f64,
}
