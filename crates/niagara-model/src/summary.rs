//! What a study came to: written by the lab beside the slices, read by the reports.

use niagara_stats::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Alternative, Comparison, Conclusion, DroppedLever, DuelsOf, Failure, Finding, LadderSummary,
    MatrixSummary, NextStep, QueriesFirst, Reason, Recommendation, Screened, StudyHeader,
    SweepSummary, TailGuard, Together, Upgrade, Warning,
};

/// The risk of levers that change tables or indexes.
const SCHEMA_RISK: &str = "schema";

/// A search over the ranges of numeric levers: candidates raced in duels against the best so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// `none`, `memory`, `durability`, `security`, `system`, `schema`.
    pub risk: String,
}

/// A lever that was not measured to the end, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NotTried {
    /// Lever identifier.
    pub lever: String,
    /// Title for people.
    pub title: String,
    /// Not installed, not permitted (risk), refused by the server, wrecked its side, …
    pub reason: Reason,
}

/// `niagara tune`, whole or as far as it came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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

impl TuneSummary {
    /// Whether the search alone brought the lever of a rung into the final variant.
    pub fn is_added(&self, rung: &Rung) -> bool {
        let mut ranges = self.searched.iter().flat_map(|searched| &searched.ranges);
        ranges.any(|range| range.added && range.lever == rung.screened.lever)
    }

    /// The statements that come before the server.
    pub fn queries_first(&self) -> Option<&QueriesFirst> {
        queries_first(&self.header.warnings, &self.rungs)
    }

    /// Whether the load was a benchmark that is built in, as far as a recommendation says it.
    pub fn is_on_test_tables(&self) -> bool {
        let recommendation = self.recommendation.as_ref();
        recommendation.is_some_and(|found| found.setting().benchmark)
    }
}

/// The statements that come before the server, by what a tuning was told; `None` where its final variant has their indexes.
pub fn queries_first<'a>(warnings: &'a [Warning], rungs: &[Rung]) -> Option<&'a QueriesFirst> {
    if rungs.iter().any(|rung| rung.risk == SCHEMA_RISK) {
        return None;
    }
    warnings.iter().find_map(|warning| match &warning.finding {
        Finding::QueriesFirst(found) => Some(found),
        _ => None,
    })
}

/// `niagara compare`, whole or as far as it came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
