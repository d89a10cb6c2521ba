//! Results on disk: every slice of every duel, in SQLite.

mod all_time;
mod best_combination;
mod build_note;
mod check;
mod comparison;
mod deployment;
mod error;
mod event;
mod goal;
mod header;
mod load_name;
mod lock;
mod node_account;
pub mod number;
mod reason;
mod recommendation;
mod record;
mod release;
mod replay;
mod same_answers;
mod screened;
mod store;
mod study_summary;
mod summary;
mod upgrade;
mod warning;
mod words;

pub use all_time::duel_totals;
pub use best_combination::{best_combination, mean_gains};
pub use build_note::BuildNote;
pub use check::{
    BuildCheck, CheckCount, CheckFigure, CheckLimit, CheckOutcome, CheckPart, CheckedSize,
    FinalCheck, PartFault, PartFigures, UndoneCheck,
};
pub use comparison::{Comparison, FailedSide, OnNodes};
pub use deployment::{
    DeployBuild, DeployMalloc, DeployRewrite, DeployStart, Deployment, Follows, HeldBack,
    Overridden, StrongerSetting, TargetMachine, TargetSize, TargetValue,
};
pub use error::{Result, StoreError};
pub use event::{EventRecord, ORIGIN, RunTime, START_SETTINGS};
pub use goal::Goal;
pub use header::{About, StudyHeader};
pub use load_name::load_name;
pub use lock::StudyLock;
pub use node_account::{FOUGHT_ON, NODES_HELD, NodeAccount, NodeSeconds};
pub use reason::{Failure, Machine, Reason, Setting};
pub use recommendation::{
    Alternative, AlternativeReason, Benefit, Conclusion, DropReason, DroppedLever, DuelsOf,
    NextStep, Obstacle, Others, Recommendation, Setup, TailGuard,
};
pub use record::{
    DuelRecord, Ending, Phase, ProfileRecord, SliceRecord, StudyRecord, VariantRecord,
};
pub use release::Releases;
pub use replay::{
    AnswerCount, AnswerDifference, DigestComparison, DigestFinding, DigestRecord, IdenticalDuels,
    ReplayRecord, ReplaySummary,
};
pub use same_answers::{Difference, DifferingDigest, SameAnswers, StatementError};
pub use screened::{Screened, TailEffect, Together};
pub use store::{SCHEMA, Store};
pub use study_summary::{
    Axis, Bound, Breakdown, Cell, CellOutcome, Confirmed, Knee, LadderRung, LadderSummary, Law,
    MatrixSummary, MatrixWorkload, MeasuredPart, MethodControl, NextPart, RatioAt,
    ResourceCounters, RoundRatio, RungOutcome, SweepCurve, SweepPoint, SweepSummary, Unevenness,
};
pub use summary::{
    CompareSummary, NotTried, Rung, Searched, SearchedRange, SeriesOfRuns, Summary, TuneSummary,
    queries_first,
};
pub use upgrade::{
    ChangedDefault, ChangedPlan, LostSetting, PlanOutline, TableRead, Upgrade, UpgradeObstacle,
};
pub use warning::{
    AllTimeMeaning, BusySide, ChosenIndex, Control, Finding, PointFailure, QueriesFirst, SlowSide,
    TakenEvidence, Warning, Weight,
};
