//! What a study came to: written by the lab beside the slices, read by the reports.

use niagara_stats::{AllTime, Estimate, Heterogeneity, Judgement, Stability};
use serde::{Deserialize, Deserializer, Serialize};

use crate::{
    Alternative, Conclusion, DroppedLever, DuelsOf, Failure, Finding, Goal, LadderSummary,
    MatrixSummary, NextStep, Reason, Recommendation, ReplaySummary, StudyHeader, SweepSummary,
    TailGuard, Upgrade,
};

/// One comparison judged from its own fresh duels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// Median throughput of A and of B over its duels, transactions per second: for orientation only.
    #[serde(deserialize_with = "numbers_or_null")]
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
}

/// A side that could not be measured to the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedSide {
    /// 0 is A.
    pub side: usize,
    /// Which variant, and why.
    pub failure: Failure,
}

/// The machines of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OnNodes {
    /// Their names, of nodes that share a machine together; a machine's number is its place here.
    pub names: Vec<String>,
    /// Whether the effect differs between them; `None` of one machine, or of duels that do not vary.
    pub heterogeneity: Option<Heterogeneity>,
}

impl Comparison {
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

/// One lever's effect as screened by the fold-over duels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Screened {
    /// Lever identifier, as in `levers/`.
    pub lever: String,
    /// Title for people.
    pub title: String,
    /// What it changes, one line: `innodb_flush_neighbors = 0`.
    pub change: String,
    /// Throughput with the lever over throughput without it; 95 % interval of the least-squares fit.
    pub effect: Estimate,
    /// Standard error of the log effect.
    #[serde(deserialize_with = "number_or_null")]
    pub std_err: f64,
    /// Duels that speak of this lever.
    pub duels: u32,
    /// What the same duels say of the tail of latency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<TailEffect>,
}

/// A lever's effect on the tail of latency, with the lever over without it; 95 % intervals of the least-squares fit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TailEffect {
    /// 95th percentile.
    pub p95: Estimate,
    /// 99th percentile.
    pub p99: Estimate,
}

/// Two levers that do something together which the product of their effects does not explain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Together {
    /// Lever identifiers. Figures of each alone hold on the other's base.
    pub levers: [String; 2],
    /// Titles for people.
    pub titles: [String; 2],
    /// Throughput with both over what the product of their effects would give; 95 % interval of the least-squares fit.
    pub effect: Estimate,
    /// Standard error of the log effect.
    #[serde(deserialize_with = "number_or_null")]
    pub std_err: f64,
}

/// A search over the ranges of numeric levers: candidates raced in duels against the best so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Searched {
    /// What was searched.
    pub ranges: Vec<SearchedRange>,
    /// Duels of the search.
    pub duels: u32,
    /// The values that it ended with over those that it began with, by the duels that chose them: winner's luck included,
    /// and so no claim. `None` where it found nothing better.
    pub effect: Option<Estimate>,
}

/// One range of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchedRange {
    /// Lever identifier.
    pub lever: String,
    /// The variable.
    pub variable: String,
    /// Smallest value, in the variable's unit.
    pub from: u64,
    /// Largest value.
    pub to: u64,
    /// The value that it began with.
    pub start: u64,
    /// The value that it ended with.
    pub chosen: u64,
    /// Whether the search alone brought the lever into the final variant: the screening did not promote it, and measured
    /// it with a number of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub added: bool,
}

/// A lever in the final variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rung {
    /// Its screening result, which chose it unless a search did.
    pub screened: Screened,
    /// What it changes in the final variant, where a search chose another number than was screened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
    /// Its claim from fresh duels against the best so far; `None`: "screened" only.
    pub claim: Option<Comparison>,
    /// Why a person may want it or not: the lever's own words.
    pub why: String,
    /// `none`, `memory`, `durability`, `security`, `system`.
    pub risk: String,
}

/// A lever that was not measured to the end, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NotTried {
    /// Lever identifier.
    pub lever: String,
    /// Title for people.
    pub title: String,
    /// Not installed, not permitted (risk), refused by the server, wrecked its side, …
    pub reason: Reason,
}

/// `niagara tune`, whole or as far as it came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TuneSummary {
    /// What all studies have.
    #[serde(flatten)]
    pub header: StudyHeader,
    /// Connections.
    pub threads: u32,
    /// Starting point against final variant from fresh duels; `None` when nothing was promoted or time ended.
    pub total: Option<Comparison>,
    /// Why the final variant could not be measured, where that left it without a total.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_failure: Option<Failure>,
    /// The duels of the total, where they are not those of the total's own phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_of: Option<DuelsOf>,
    /// What to do: the first sentence of the report. `None` before there is an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recommendation: Option<Recommendation>,
    /// What to try next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<NextStep>,
    /// How it came to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conclusion: Option<Conclusion>,
    /// How much worse a tail of latency may become.
    pub guard: TailGuard,
    /// Promising levers that did not earn their place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<DroppedLever>,
    /// Variants that were measured against the start and are not recommended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<Alternative>,
    /// Levers of the final variant, best first.
    pub rungs: Vec<Rung>,
    /// Levers measured and not kept.
    pub not_helped: Vec<Screened>,
    /// Pairs of levers that act on each other, as far as that stands out of the screening's noise.
    pub together: Vec<Together>,
    /// What came of the search over the ranges of numeric levers, where there was time for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub searched: Option<Searched>,
    /// Levers that were not measured, each with the reason.
    pub not_tried: Vec<NotTried>,
    /// The lever that changes nothing.
    pub negative_control: Option<Screened>,
    /// The lever known to slow the server.
    pub positive_control: Option<Screened>,
}

/// `niagara compare`, whole or as far as it came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompareSummary {
    /// What all studies have.
    #[serde(flatten)]
    pub header: StudyHeader,
    /// Connections.
    pub threads: u32,
    /// The result.
    pub comparison: Comparison,
    /// Of captured traffic on servers of different releases: what moving to B's would break.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upgrade: Option<Upgrade>,
    /// By the protocol of 2008: its runs, which are all that it has. Nothing of the comparison is judged then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<SeriesOfRuns>,
}

/// The runs of the protocol of 2008: five of A, then five of B, each after a fresh start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesOfRuns {
    /// Transactions per second of A's runs and of B's, in their order.
    pub tps: [Vec<f64>; 2],
}

impl SeriesOfRuns {
    /// The mean of A's runs and of B's without the best and the worst of each.
    pub fn means(&self) -> [f64; 2] {
        self.tps.each_ref().map(|runs| niagara_stats::trimmed(runs))
    }
}

/// The last word of a study: the newest one stored counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Summary {
    /// Of `niagara tune`.
    Tune(Box<TuneSummary>),
    /// Of `niagara compare`.
    Compare(Box<CompareSummary>),
    /// A ladder of a study file.
    Ladder(Box<LadderSummary>),
    /// A matrix of a study file.
    Matrix(Box<MatrixSummary>),
    /// Of `niagara sweep`, or of a study file.
    Sweep(Box<SweepSummary>),
}

impl Summary {
    /// Its kind in one word, as the results file keeps it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Tune(_) => "tune",
            Self::Compare(_) => "compare",
            Self::Ladder(_) => "ladder",
            Self::Matrix(_) => "matrix",
            Self::Sweep(_) => "sweep",
        }
    }

    /// What all kinds have.
    pub fn header(&self) -> &StudyHeader {
        match self {
            Self::Tune(tune) => &tune.header,
            Self::Compare(compare) => &compare.header,
            Self::Ladder(ladder) => &ladder.header,
            Self::Matrix(matrix) => &matrix.header,
            Self::Sweep(sweep) => &sweep.header,
        }
    }

    /// The same, to be added to.
    pub fn header_mut(&mut self) -> &mut StudyHeader {
        match self {
            Self::Tune(tune) => &mut tune.header,
            Self::Compare(compare) => &mut compare.header,
            Self::Ladder(ladder) => &mut ladder.header,
            Self::Matrix(matrix) => &mut matrix.header,
            Self::Sweep(sweep) => &mut sweep.header,
        }
    }

    /// Whether the study came to its end.
    pub fn is_complete(&self) -> bool {
        self.header().complete
    }

    /// The runs of the protocol of 2008; `None` by every other one.
    pub fn runs(&self) -> Option<&SeriesOfRuns> {
        match self {
            Self::Compare(compare) => compare.runs.as_ref(),
            Self::Tune(_) | Self::Ladder(_) | Self::Matrix(_) | Self::Sweep(_) => None,
        }
    }

    /// The comparison that carries the headline; `None` of a sweep, and before there is one.
    pub fn comparison(&self) -> Option<&Comparison> {
        match self {
            Self::Tune(tune) => tune.total.as_ref(),
            Self::Compare(compare) => Some(&compare.comparison),
            Self::Ladder(ladder) => ladder.total.as_ref(),
            Self::Matrix(matrix) => matrix.confirmed.as_ref().map(|best| &best.comparison),
            Self::Sweep(_) => None,
        }
    }
}

/// JSON has no word for a number that is none: it is written as `null`, and must be read again.
fn number_or_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

fn numbers_or_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[f64; 2], D::Error> {
    let [a, b] = <[Option<f64>; 2]>::deserialize(deserializer)?;
    Ok([a.unwrap_or(f64::NAN), b.unwrap_or(f64::NAN)])
}
