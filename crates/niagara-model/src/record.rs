//! What is kept of every study, variant, duel and slice: plain records, in the order they happen.

use std::collections::BTreeMap;

use niagara_error::Explanation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One invocation of `tune`, `compare`, `doctor --noise`: what was asked, where, with what seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StudyRecord {
    /// `tune`, `compare`, `ladder`, `matrix`, `sweep`, `noise` or `profile`.
    pub kind: String,
    /// The command line as typed.
    pub command: String,
    /// Hash of everything that decides what is measured; a command resumes the study with its own key.
    pub key: String,
    /// Seed of every random choice of the study.
    pub seed: u64,
    /// Start, milliseconds since the Unix epoch.
    pub started_unix_ms: i64,
    /// The plan (levers, budget, workload, looks), JSON.
    pub plan: serde_json::Value,
    /// The machine's fingerprint, JSON.
    pub machine: serde_json::Value,
    /// Version of Niagara.
    pub niagara_version: String,
}

/// A variant as it was launched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VariantRecord {
    /// Short stable identifier (hash of the content).
    pub id: String,
    /// How a person would call it: `base`, `base + jemalloc + unix`.
    pub label: String,
    /// Server, runtime, config: JSON.
    pub content: serde_json::Value,
    /// The server's command line and environment, one line.
    pub command: String,
    /// The server's own version string.
    pub server_version: String,
}

/// Where a variant's time went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfileRecord {
    /// What was profiled, in words: one profile of each is kept.
    pub subject: String,
    /// The profile with its stacks: JSON.
    pub content: serde_json::Value,
}

/// What a duel was run for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Identical variants, to learn the machine's noise.
    Noise,
    /// A row of the fold-over design.
    Screen,
    /// Fresh duels for one promoted lever.
    Claim,
    /// Fresh duels of the starting point against the final variant.
    Total,
    /// `niagara compare`.
    Compare,
    /// A cell of a matrix.
    Cell,
    /// A thread count of a sweep: a variant alone, or two interleaved.
    Sweep,
    /// A candidate of a search over ranges against the best so far.
    Search,
    /// Fresh duels of the starting point against all promoted levers, some of which may be dropped afterwards.
    Whole,
}

impl Phase {
    /// In a word, as results and tables have it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Noise => "noise",
            Self::Screen => "screen",
            Self::Claim => "claim",
            Self::Total => "total",
            Self::Compare => "compare",
            Self::Cell => "cell",
            Self::Sweep => "sweep",
            Self::Search => "search",
            Self::Whole => "whole",
        }
    }
}

/// How a duel ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "kebab-case")]
pub enum Ending {
    /// Scored: counts.
    Scored,
    /// More than half of its couples had to be dropped: repeated, does not count.
    Disturbed,
    /// A side could not be measured.
    Failed {
        /// 0 = A, 1 = B.
        side: u8,
        /// Cause, with the command and the end of the server's log where there is one.
        reason: Explanation,
    },
}

/// One duel (or pair of runs) as executed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DuelRecord {
    /// Position in the study, from 0; the key by which a resumed study recognises it.
    pub seq: u32,
    /// What it was for.
    pub phase: Phase,
    /// The lever or rung of a `Claim`, the cell, the thread count of a sweep; empty otherwise.
    pub subject: String,
    /// Variant identifiers of A and B.
    pub variants: [String; 2],
    /// Seed of the order of the couples and of the load.
    pub seed: u64,
    /// Start, milliseconds since the Unix epoch.
    pub started_unix_ms: i64,
    /// Wall-clock seconds from the first clone to the last process ended.
    pub wall_seconds: f64,
    /// Seconds of those in which a server was under load (warm-up included).
    pub load_seconds: f64,
    /// ln(throughput of B / throughput of A), couples weighted by and adjusted for the CPU time that others took; `None`
    /// unless scored.
    pub score: Option<f64>,
    /// The same of the couples as they were measured.
    pub raw_score: Option<f64>,
    /// The same for server CPU time per transaction.
    pub cpu_score: Option<f64>,
    /// The same for the median and the 95th percentile of transaction latency.
    pub latency_scores: Option<[f64; 2]>,
    /// The same for the 99th percentile.
    pub p99_score: Option<f64>,
    /// Couples run, and couples dropped as disturbed because of A's slice and of B's slice.
    pub couples: u32,
    /// Couples dropped because the machine was disturbed during A's slice, during B's slice.
    pub dropped: [u32; 2],
    /// How it ended.
    #[serde(flatten)]
    pub ending: Ending,
}

/// One slice of load on one side of a duel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SliceRecord {
    /// Duel it belongs to (`DuelRecord::seq`).
    pub duel: u32,
    /// Couple within the duel, from 0.
    pub couple: u32,
    /// 0 = A, 1 = B.
    pub side: u8,
    /// Whether this side went first within its couple.
    pub first: bool,
    /// Start of the counted time, milliseconds since the Unix epoch.
    pub started_unix_ms: i64,
    /// Counted seconds.
    pub seconds: f64,
    /// Transactions completed in the counted time.
    pub transactions: u64,
    /// Queries completed in the counted time.
    pub queries: u64,
    /// Errors by server error code.
    pub errors: BTreeMap<u16, u64>,
    /// Transaction latency in microseconds: p50, p95, p99, p99.9, max.
    pub latency_us: [u64; 5],
    /// CPU seconds of the server process over the whole slice (ramp and drain included).
    pub server_cpu_seconds: f64,
    /// CPU seconds of the load generator over the whole slice.
    pub client_cpu_seconds: f64,
    /// Transactions completed over the whole slice, for the two figures above.
    pub transactions_whole: u64,
    /// Context switches of the load generator's threads over the whole slice.
    pub client_context_switches: u64,
    /// Context switches of the server's threads over the whole slice.
    pub server_context_switches: u64,
    /// Share of the machine's CPU time stolen by the hypervisor during the slice, 0 to 1.
    pub steal: f64,
    /// Share of the machine's CPU time, 0 to 1, that the hypervisor and other processes took during the slice.
    pub taken: f64,
    /// CPU time of the load generator's busiest loop as a share of the time under load: at 1 it is a whole CPU, and what
    /// was measured is the generator's.
    pub generator_busy: f64,
    /// Whether the slice is of no use, so that its couple is dropped.
    pub disturbed: bool,
    /// Compressed HDR histogram of transaction latencies (V2 deflate, base64), microseconds.
    pub histogram: String,
}
