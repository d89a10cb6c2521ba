//! What replays of a capture did: kept with every duel, and put together in a comparison.

use niagara_stats::Estimate;
use serde::{Deserialize, Serialize};

/// What a replay did on one side of a duel.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ReplayRecord {
    /// One line: whether it is good enough to decide by, and why not.
    pub verdict: String,
    /// Whether it is.
    pub is_good: bool,
    /// What was replayed beside what was captured, a line each.
    pub facts: Vec<String>,
    /// The trace only reads, so that every answer is the same each time.
    pub only_reads: bool,
    /// By digest, those first that took most of the captured time.
    pub digests: Vec<DigestRecord>,
}

/// Statements of one digest on one side of a duel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DigestRecord {
    /// Its number: 16 hexadecimal digits.
    pub digest: String,
    /// The statement without literals, cut where it is long.
    pub text: String,
    /// Its answer varies from run to run: NOW, UUID, RAND.
    #[serde(default)]
    pub volatile: bool,
    /// Executions.
    pub count: u64,
    /// Of these, those that failed.
    pub errors: u64,
    /// Rows that came or were changed.
    pub rows: u64,
    /// Their time, in seconds.
    pub seconds: f64,
    /// 95th percentile of the latency, in microseconds; none without an execution.
    pub p95_us: Option<f64>,
}

/// What the duels of a comparison say of its replay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplaySummary {
    /// One line: whether it is good enough to decide by, and why not.
    pub verdict: String,
    /// Whether it is.
    pub is_good: bool,
    /// What was replayed beside what was captured, a line each: of A in the last duel.
    pub facts: Vec<String>,
    /// Digests whose answers differ between A and B, in words.
    pub answers: Vec<String>,
    /// The error probability that all digests share.
    pub alpha: f64,
    /// Duels that speak of them.
    pub duels: usize,
    /// Slower ones first, then the faster, then those that are neither.
    pub digests: Vec<DigestComparison>,
}

/// One digest, B beside A.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DigestComparison {
    /// Its number: 16 hexadecimal digits.
    pub digest: String,
    /// The statement without literals, cut where it is long.
    pub text: String,
    /// Its share of all time on A, 0 to 1.
    pub share: f64,
    /// Time per execution, B over A, with its own 95 % interval.
    pub latency: Estimate,
    /// p value of there being no difference, adjusted for the number of digests (Holm); none of fewer than three duels.
    pub p: Option<f64>,
    /// Whether it is called slower or faster.
    pub finding: DigestFinding,
    /// Mean time per execution of A and of B, in microseconds.
    pub mean_us: [f64; 2],
    /// 95th percentile of A and of B in the last duel, in microseconds.
    pub p95_us: [Option<f64>; 2],
    /// Executions.
    pub count: [u64; 2],
    /// Executions that failed.
    pub errors: [u64; 2],
    /// Rows.
    pub rows: [u64; 2],
}

/// What was found for a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DigestFinding {
    /// B takes longer.
    Slower,
    /// B takes less.
    Faster,
    /// Neither was seen.
    Undetected,
}
