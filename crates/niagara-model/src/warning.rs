//! Facts that a reader must know before believing the figures: codes and fields. Their English is in `words.rs`.

use niagara_capture::fidelity::Shortcoming;
use niagara_error::Explanation;
use niagara_stats::{AllTime, Estimate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    AnswerDifference, BuildCheck, DifferingDigest, DigestComparison, Failure, FinalCheck, Goal,
    Reason, Releases, SlowHere,
};

/// Statements that a server works on at a time, on average, below which it does nothing for most of the time: the share of the time in
/// which there is one at least is no more than that mean.
pub const BUSY_FROM: f64 = 0.5;

/// A control of the method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Control {
    /// Changes nothing.
    Negative,
    /// Is known to slow the server.
    Positive,
}

/// A warning, with the question that it is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// `total`, the title of a rung or a cell; `None` where it is about the whole study.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// What it is.
    #[serde(flatten)]
    pub finding: Finding,
}

impl From<Finding> for Warning {
    fn from(finding: Finding) -> Self {
        Self {
            about: None,
            finding,
        }
    }
}

impl Warning {
    /// A warning about one question of the study.
    pub fn about(question: &str, finding: Finding) -> Self {
        Self {
            about: Some(question.to_owned()),
            finding,
        }
    }
}

/// A side of a comparison that the load generator limited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BusySide {
    /// 0 is A.
    pub side: usize,
    /// The variant's label.
    pub variant: String,
    /// Share of one CPU that the busiest loop of the generator used.
    pub busy: f64,
}

/// A side of a comparison that served less than arrived.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlowSide {
    /// 0 is A.
    pub side: usize,
    /// The variant's label.
    pub variant: String,
    /// Transactions per second that it served.
    pub served: f64,
}

/// How the CPU time that others took from one side is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TakenEvidence {
    /// In duel after duel, and the figures are not corrected for it.
    DuelAfterDuel,
    /// Over all slices together, and the figures are not corrected for it.
    AllSlices,
}

/// Points of a sweep whose starts failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum PointFailure {
    /// Given up before any start counted.
    NotMeasured {
        /// The last error.
        error: String,
        /// Whether the other side of its duels failed.
        by_other: bool,
    },
    /// Given up after some starts counted.
    GivenUp {
        /// Starts that count.
        starts: usize,
        /// The last error.
        error: String,
        /// Whether the other side of its duels failed.
        by_other: bool,
    },
    /// Some starts failed; the figures are of the others.
    Sometimes {
        /// Starts that failed.
        failed: usize,
        /// All starts.
        starts: usize,
        /// The last error.
        error: String,
    },
    /// The time ended after a start that failed.
    EndedAfter {
        /// The error.
        error: String,
    },
    /// No start counted: each was too disturbed, or nothing was answered.
    NoneCounted {
        /// Starts; 0 where the time ended before the first.
        starts: usize,
    },
}

/// What a reader must know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Finding {
    /// Statements of the capture read far more rows than they return: they come before settings.
    QueriesFirst(QueriesFirst),
    /// The study was stopped on request.
    Stopped,
    /// The study is under way, or was killed.
    Unfinished,
    /// A question was stopped, or is under way.
    QuestionUnfinished {
        /// Whether it was stopped on request.
        stopped: bool,
        /// Duels after which its difference was called; `None` before a verdict.
        called_after: Option<usize>,
        /// Whether the call was withdrawn by the total over all time.
        withdrawn: bool,
    },
    /// The time was too short to tell all levers apart.
    StrongestOnly,
    /// Duels of the screening had a side that failed.
    ScreeningFailures {
        /// Duels.
        duels: u32,
    },
    /// The screening was stopped.
    ScreeningStopped,
    /// A control is missing.
    NoControl {
        /// Which.
        control: Control,
        /// The part of a matrix.
        part: Option<usize>,
        /// Why it was not measured.
        reason: Option<Reason>,
    },
    /// A control failed.
    ControlFailed {
        /// Which.
        control: Control,
        /// The part of a matrix.
        part: Option<usize>,
        /// What failed.
        failure: Failure,
    },
    /// A control had too few duels to call a difference.
    ControlTooShort {
        /// Which.
        control: Control,
        /// The part of a matrix.
        part: Option<usize>,
        /// Its duels.
        duels: usize,
    },
    /// The negative control shows a difference.
    NegativeControlMoved {
        /// The part of a matrix.
        part: Option<usize>,
        /// Its figure.
        effect: Estimate,
        /// One control in so many shows that by chance.
        one_in: f64,
    },
    /// The positive control does not show its loss.
    PositiveControlUnseen {
        /// The part of a matrix.
        part: Option<usize>,
        /// Its figure.
        effect: Estimate,
        /// Its duels, where its known cost is still within the interval.
        too_few: Option<usize>,
        /// The least that it is known to cost, as a ratio; `None` in a screening.
        least_cost: Option<f64>,
    },
    /// A lever was left out before anything was proven.
    LeftOut {
        /// Its title.
        title: String,
        /// Why.
        reason: Reason,
    },
    /// A lever gains in the median slice and stands still more.
    StandsStill {
        /// Its title.
        title: String,
        /// Duels in which the server stood still more with it.
        with: u32,
        /// Duels in which it stood still more without it.
        without: u32,
        /// Share of the throughput that costs over all time.
        cost: f64,
    },
    /// A lever changes what the server answers.
    ChangesAnswers {
        /// Its title.
        title: String,
        /// Whether only together with the other levers.
        together: bool,
        /// The digests that differ.
        differences: Vec<DifferingDigest>,
    },
    /// A rung's own duels left it out of what follows.
    RungLeftOut {
        /// Its title.
        title: String,
        /// Whether its duels failed; else its replay gave other answers.
        failed: bool,
    },
    /// A rung made it worse in its own duels.
    RungWorse {
        /// Its title.
        title: String,
        /// The lever.
        lever: String,
    },
    /// A variant failed in some duels.
    FailedDuels {
        /// Duels.
        count: usize,
        /// Which, and the last error.
        failure: Failure,
    },
    /// A variant could not be measured.
    CouldNotMeasure(Failure),
    /// Duels ran beyond the budget, for a result with an interval.
    BeyondBudget {
        /// Duels.
        duels: usize,
    },
    /// One variant was faster where both survived, and nothing is claimed.
    FasterWhereBothSurvived {
        /// Its label.
        variant: String,
    },
    /// The time ended after too few duels to call a difference.
    TooFewDuels {
        /// Duels.
        duels: usize,
        /// The error probability asked for.
        alpha: f64,
        /// Confidence of the interval; `None` where there is no interval.
        confidence: Option<f64>,
    },
    /// The duels allowed cannot call any difference.
    DuelLimitTooLow {
        /// Duels allowed.
        duels: usize,
        /// The error probability.
        alpha: f64,
        /// Rungs that share it; `None` of a comparison.
        rungs: Option<usize>,
    },
    /// The protocol of the published studies.
    TrimmedProtocol,
    /// Slices have so few transactions that a percentile is their slowest one.
    FewInSlice {
        /// Transactions in a slice.
        transactions: f64,
        /// The percentile.
        goal: Goal,
        /// The slice, in seconds, that has enough.
        slice_seconds: f64,
    },
    /// The load comes from another host.
    RemoteLoad {
        /// Its name.
        host: String,
    },
    /// The study shared its host with a live server.
    SharedHost {
        /// CPUs that it kept to.
        cpus: usize,
        /// CPUs of the host.
        of: usize,
        /// Bytes of memory that it kept to.
        memory: u64,
    },
    /// The load generator limited a side.
    GeneratorLimits {
        /// The sides.
        sides: Vec<BusySide>,
    },
    /// A side did not serve all that arrived.
    BehindTheRate {
        /// Transactions per second that arrived.
        rate: f64,
        /// The sides.
        sides: Vec<SlowSide>,
    },
    /// The scores of duels rise or fall with time, more clearly than chance orders them.
    ScoresDrift {
        /// Later duels scored higher.
        rises: bool,
        /// How often chance orders them so: once in this many runs.
        one_in: f64,
    },
    /// Couples were dropped for one side's slices more than chance explains.
    DroppedOneSide {
        /// 0 is A.
        side: usize,
        /// For that side.
        dropped: u32,
        /// In all.
        all: u32,
    },
    /// Other processes took more CPU time from one side.
    TakenFromOneSide {
        /// 0 is A.
        side: usize,
        /// How that is known.
        evidence: TakenEvidence,
    },
    /// A built server is incorrect or unchecked, and is not recommended.
    BuildNotRecommended {
        /// Whose build: `final variant`, `B`.
        of: String,
        /// What is known.
        check: BuildCheck,
    },
    /// The final variant's build could not be checked.
    BuildNotChecked {
        /// The error.
        error: Explanation,
    },
    /// The final variant failed a check.
    CheckFailed(FinalCheck),
    /// A check of the final variant was not done.
    CheckNotDone(FinalCheck),
    /// The final variant answers the capture otherwise than the start.
    OtherAnswers {
        /// The digests that differ.
        differences: Vec<DifferingDigest>,
    },
    /// Whether the final variant answers the capture as the start does is unknown.
    AnswersUnknown {
        /// The error.
        error: Explanation,
    },
    /// What limits a variant could not be observed.
    NoProfile {
        /// Which; `None` where there was no time for any.
        subject: Option<String>,
        /// The error.
        error: Option<Explanation>,
    },
    /// The best combination of a matrix has no error probability left to be confirmed by.
    NothingLeftToConfirm {
        /// Its title.
        title: String,
    },
    /// The best combination of a matrix could not be confirmed.
    CouldNotConfirm {
        /// Its title.
        title: String,
        /// Why.
        reason: Reason,
    },
    /// What was proven could not be checked here.
    ProvenNotChecked {
        /// Its title.
        title: String,
        /// Why.
        reason: Reason,
    },
    /// A sweep ended before all rounds.
    FewRounds {
        /// Fresh starts of the point that has fewest.
        fewest: u32,
        /// Rounds wanted.
        wanted: u32,
    },
    /// Points of one start have no interval.
    SingleStarts,
    /// A point of a sweep failed.
    PointFailed {
        /// The curve's title.
        curve: String,
        /// Connections.
        threads: u32,
        /// How.
        failure: PointFailure,
    },
    /// The scalability law misses the points of these curves.
    LawMisses {
        /// Their titles.
        curves: Vec<String>,
    },
    /// A built server is of an older release than the server it is compared with.
    OlderBuild {
        /// Whose build: `final variant`, `B`.
        of: String,
        /// Both releases.
        releases: Releases,
    },
    /// The total and the product of what its levers were shown to bring have no value in common.
    TotalApartFromParts {
        /// The total.
        total: Estimate,
        /// The product of the parts.
        parts: Estimate,
        /// How many parts.
        levers: usize,
    },
    /// The time ended while the total lay below its best part.
    TotalBelowPart {
        /// What that lever is called.
        title: String,
        /// The total.
        total: Estimate,
        /// The part.
        part: Estimate,
    },
    /// Throughput over all time and the median slice disagree.
    AllTimeDisagrees {
        /// What A and B are called: `the start`, `the final variant`.
        sides: [String; 2],
        /// Over all time.
        all_time: AllTime,
        /// By the median slice.
        median: Estimate,
        /// What that means for the verdict.
        meaning: AllTimeMeaning,
    },
    /// Variants were measured in pairs of runs, one after the other.
    PairProtocol,
    /// What was proven is not checked yet.
    ProvenUnchecked,
    /// The replay is not good enough to decide by.
    ReplayUnfit {
        /// What speaks against a verdict by it.
        shortcomings: Vec<Shortcoming>,
    },
    /// B answers the replayed capture otherwise than A.
    ReplayAnswers {
        /// The differences.
        answers: Vec<AnswerDifference>,
    },
    /// Digests take far longer on the copy than they did on the captured server.
    SlowHere {
        /// Those that took most time first.
        digests: Vec<SlowHere>,
    },
    /// The captured server was idle for most of the time.
    MostlyIdle {
        /// Statements that it worked on at a time, on average.
        in_flight: f64,
        /// The limit.
        limit: f64,
    },
    /// Digests that became slower on B.
    SlowerDigests {
        /// Slowest first.
        digests: Vec<DigestComparison>,
    },
}

/// Statements of a capture that read far more rows than they return.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueriesFirst {
    /// Their share, 0 to 1.
    pub share: f64,
    /// The share is of the time; else of the number of executions.
    pub of_time: bool,
    /// How many digests they are.
    pub digests: usize,
    /// The one that takes most.
    pub digest: String,
    /// Rows that it reads in the mean.
    pub rows_examined: f64,
    /// Rows that it returns or changes in the mean.
    pub rows_returned: f64,
    /// Indexes that counting has chosen, the one that saves most first.
    pub indexes: Vec<ChosenIndex>,
    /// The share of the counted rows and pages that they save, 0 to 1.
    pub saved: f64,
}

/// An index that counting has chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChosenIndex {
    /// Its table, without the database.
    pub table: String,
    /// Its columns in their order, with the length of a prefix: `title(8)`.
    pub columns: Vec<String>,
}

/// How much a finding changes what a reader does with a result, most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// The result must not be used, or is of no use.
    Void,
    /// Figures may be wrong.
    Doubt,
    /// There is less of the result than was asked for.
    Part,
    /// It is good to know.
    Remark,
}

impl Finding {
    /// How much it changes what a reader does.
    pub fn weight(&self) -> Weight {
        match self {
            Self::BuildNotRecommended { .. }
            | Self::CheckFailed { .. }
            | Self::OtherAnswers { .. }
            | Self::ReplayUnfit { .. }
            | Self::ReplayAnswers { .. }
            | Self::CouldNotMeasure(_)
            | Self::AllTimeDisagrees {
                meaning: AllTimeMeaning::Withdrawn | AllTimeMeaning::ContradictsFaster,
                ..
            } => Weight::Void,
            Self::NegativeControlMoved { .. }
            | Self::PositiveControlUnseen { .. }
            | Self::SharedHost { .. }
            | Self::GeneratorLimits { .. }
            | Self::BehindTheRate { .. }
            | Self::ScoresDrift { .. }
            | Self::DroppedOneSide { .. }
            | Self::TakenFromOneSide { .. }
            | Self::FasterWhereBothSurvived { .. }
            | Self::FailedDuels { .. }
            | Self::StandsStill { .. }
            | Self::TotalApartFromParts { .. }
            | Self::TrimmedProtocol
            | Self::FewInSlice { .. }
            | Self::SlowHere { .. }
            | Self::AllTimeDisagrees {
                meaning: AllTimeMeaning::Open,
                ..
            } => Weight::Doubt,
            Self::Stopped
            | Self::Unfinished
            | Self::QuestionUnfinished { .. }
            | Self::StrongestOnly
            | Self::ScreeningFailures { .. }
            | Self::ScreeningStopped
            | Self::NoControl { .. }
            | Self::ControlFailed { .. }
            | Self::ControlTooShort { .. }
            | Self::LeftOut { .. }
            | Self::ChangesAnswers { .. }
            | Self::RungLeftOut { .. }
            | Self::RungWorse { .. }
            | Self::TooFewDuels { .. }
            | Self::DuelLimitTooLow { .. }
            | Self::BuildNotChecked { .. }
            | Self::CheckNotDone { .. }
            | Self::AnswersUnknown { .. }
            | Self::NothingLeftToConfirm { .. }
            | Self::CouldNotConfirm { .. }
            | Self::ProvenNotChecked { .. }
            | Self::ProvenUnchecked
            | Self::PointFailed { .. }
            | Self::LawMisses { .. }
            | Self::FewRounds { .. }
            | Self::SingleStarts
            | Self::TotalBelowPart { .. }
            | Self::MostlyIdle { .. }
            | Self::SlowerDigests { .. } => Weight::Part,
            Self::QueriesFirst { .. }
            | Self::BeyondBudget { .. }
            | Self::RemoteLoad { .. }
            | Self::NoProfile { .. }
            | Self::OlderBuild { .. }
            | Self::PairProtocol
            | Self::AllTimeDisagrees {
                meaning: AllTimeMeaning::FasterToo | AllTimeMeaning::Nothing,
                ..
            } => Weight::Remark,
        }
    }

    /// Whether a list of warnings is better without it: the headline has it, or two figures for one gain differ by less than people
    /// act on.
    pub fn is_idle(&self) -> bool {
        match self {
            Self::QueriesFirst { .. } => true,
            Self::AllTimeDisagrees {
                all_time,
                median,
                meaning: AllTimeMeaning::FasterToo,
                ..
            } => (all_time.estimate.ratio / median.ratio).ln().abs() < IDLE,
            _ => false,
        }
    }
}

/// Difference of logarithms between two figures for one gain that nobody acts on.
const IDLE: f64 = 0.02;

/// What a disagreement between throughput over all time and the median slice means for the verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AllTimeMeaning {
    /// "Faster" was withdrawn.
    Withdrawn,
    /// It was called faster, and would not be by all duels.
    ContradictsFaster,
    /// It is faster over all time as well.
    FasterToo,
    /// Whether it is faster over all time is open.
    Open,
    /// Nothing was called that it bears on.
    Nothing,
}
