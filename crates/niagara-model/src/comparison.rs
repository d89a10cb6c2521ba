//! A comparison of two variants, as it was judged.

use niagara_settings::TlsSession;
use niagara_stats::{AllTime, Estimate, Heterogeneity, Judgement, Stability};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::{Failure, Finding, Goal, ReplaySummary};

/// One comparison judged from its own fresh duels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Label of A.
    pub a: String,
    /// Label of B.
    pub b: String,
    /// What was judged.
    pub goal: Goal,
    /// Transactions per second that arrived on either side; `None` under closed load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Verdict and interval on the goal where that is not throughput: as gains, above 1 where B is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_goal: Option<Judgement>,
    /// Throughput: verdict and interval where it is the goal, else its interval beside the goal's.
    pub throughput: Judgement,
    /// Throughput of the couples as they were measured, neither weighted by nor adjusted for the CPU time that others
    /// took.
    pub unadjusted: Option<Estimate>,
    /// Throughput of all transactions over all time under load, standstills included, beside the median over slices that is judged;
    /// `None` where transactions arrive at a fixed rate, of single jobs, or of too few duels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_time: Option<AllTime>,
    /// Server CPU time per transaction, B over A (below 1 is better). A claim of its own.
    pub cpu_per_transaction: Option<Estimate>,
    /// Median latency, B over A. Under closed load only the mean of throughput times latency is fixed.
    pub latency_p50: Option<Estimate>,
    /// 95th percentile of latency, B over A, under closed load.
    pub latency_p95: Option<Estimate>,
    /// 99th percentile of latency, B over A, under closed load.
    pub latency_p99: Option<Estimate>,
    /// What duels in slices of a second showed, where those had to tell the tail of steady load: the 95th and the 99th percentile are theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_longer_slices: Option<LongerSlices>,
    /// Mean share of the machine's CPU time, 0 to 1, that the hypervisor and other processes took during A's and
    /// during B's slices.
    pub taken: Option<[f64; 2]>,
    /// The machines that its duels were run on, where nodes of a cluster ran them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<OnNodes>,
    /// The side that failed again and again, where that ended it: its duels are then those that both sides survived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<FailedSide>,
    /// The side (0 is A) from which others took more CPU time than chance explains: its own doing, so that nothing is allowed for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_measured: Option<usize>,
    /// What keeps the figures from being the servers' own, where something does: the load generator was the bottleneck.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caution: Option<Finding>,
    /// Transactions per second of A and of B in the median slice of a duel, geometric means over the duels: for orientation only.
    #[serde(deserialize_with = "numbers_or_null")]
    #[schemars(with = "[Option<f64>; 2]")]
    pub tps: [f64; 2],
    /// How far fresh starts of A and of B lie apart, in duels; `None` of few of them, or of other protocols.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stability: Option<Stability>,
    /// Couples dropped, by side: a slice of theirs was of no use.
    pub dropped: [u32; 2],
    /// Couples run.
    pub couples: u32,
    /// Of a capture: whether its replay is good enough to decide by, whose answers differ, and every digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplaySummary>,
    /// How the load of A and of B was encrypted; `null` in clear.
    #[serde(default, skip_serializing_if = "is_in_clear")]
    pub encryption: [Option<TlsSession>; 2],
}

/// The same question in duels with slices of a second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LongerSlices {
    /// How many.
    pub duels: usize,
    /// What was judged, B over A.
    pub effect: Estimate,
}

/// A side that could not be measured to the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailedSide {
    /// 0 is A.
    pub side: usize,
    /// Which variant, and why.
    pub failure: Failure,
}

/// The machines of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OnNodes {
    /// Their names, of nodes that share a machine together; a machine's number is its place here.
    pub names: Vec<String>,
    /// Whether the effect differs between them; `None` of one machine, or of duels that do not vary.
    pub heterogeneity: Option<Heterogeneity>,
}

impl Comparison {
    /// Whether the uncorrected throughput is shown with the judged one. It is for every caution but drift, which it does not explain.
    pub fn tells_uncorrected(&self) -> bool {
        let caution = self.caution.as_ref();
        caution.is_some_and(|caution| !matches!(caution, Finding::ScoresDrift { .. }))
    }

    /// Whether B may be recommended if it is better: not where it gives other answers than A, nor where what was replayed is
    /// not what was captured.
    pub fn may_be_recommended(&self) -> bool {
        let replay = self.replay.as_ref();
        replay.is_none_or(|replay| replay.verdict.is_good() && replay.answers.is_empty())
    }

    /// The judgement that decides: on the goal.
    pub fn judged(&self) -> &Judgement {
        self.on_goal.as_ref().unwrap_or(&self.throughput)
    }
}

fn is_in_clear(encryption: &[Option<TlsSession>; 2]) -> bool {
    encryption.iter().all(Option::is_none)
}

/// JSON has no word for a number that is none: it is written as `null`, and must be read again.
fn numbers_or_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[f64; 2], D::Error> {
    let [a, b] = <[Option<f64>; 2]>::deserialize(deserializer)?;
    Ok([a.unwrap_or(f64::NAN), b.unwrap_or(f64::NAN)])
}
