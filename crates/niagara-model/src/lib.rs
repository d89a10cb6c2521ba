//! What a study finds, as data: types with codes and fields, and their English in `words.rs` and its folder.
//!
//! Pure: no process, no socket, no file, no clock, no database. `niagara-store` keeps these types on disk.

mod all_time;
mod best_combination;
mod build_note;
mod check;
mod check_report;
mod comparison;
mod deployment;
mod event;
mod goal;
mod header;
mod load_name;
mod lost_setting;
mod median_slices;
mod node_account;
mod node_reason;
pub mod number;
mod origin_note;
mod reason;
mod recommendation;
mod record;
mod release;
mod replay;
mod same_answers;
mod screened;
mod study_summary;
mod summary;
mod upgrade;
mod warning;
mod words;

pub use all_time::duel_totals;
pub use best_combination::{best_combination, mean_gains};
pub use build_note::BuildNote;
pub use check::{
    BuildCheck, CheckCount, CheckFigure, CheckLimit, CheckOutcome, CheckedSize, FinalCheck,
    PartFault, PartFigures, UndoneCheck,
};
pub use check_report::{
    AnswerMismatch, CheckFinding, CheckItem, CheckNote, CheckPart, ClientFault, CommitOutcome,
    LeftOut, Objection, RecoveryFault, RowMismatch, SkipReason, TransactionFault,
};
pub use comparison::{Comparison, FailedSide, LongerSlices, OnNodes};
pub use deployment::{
    CpuPlacement, DeployBuild, DeployMalloc, DeployRewrite, DeployStart, Deployment, Follows,
    HeldBack, LeftOutPlacements, Overridden, StrongerSetting, TargetMachine, TargetSize,
    TargetValue,
};
pub use event::{Event, EventRecord, RunTime};
pub use goal::Goal;
pub use header::{About, StudyHeader};
pub use load_name::load_name;
pub use lost_setting::{LostSetting, SettingReason, Successor};
pub use median_slices::of_median_slices;
pub use node_account::{FoughtOn, NodeAccount, NodeSeconds};
pub use node_reason::{JobEnd, NodeReason, NodeTrouble, SharedMachine};
pub use origin_note::OriginNote;
pub use reason::{Failure, Machine, Reason, Setting};
pub use recommendation::{
    Alternative, AlternativeReason, Benefit, Conclusion, DropReason, DroppedLever, DuelsOf,
    NextStep, OVER_SOCKET, Obstacle, Others, OverSocket, Recommendation, STEADY_SLICE_SECONDS,
    Setup, TailGuard,
};
pub use record::{
    DuelRecord, Ending, Phase, ProfileRecord, SliceRecord, StudyRecord, VariantRecord,
};
pub use release::Releases;
pub use replay::{
    AnswerCount, AnswerDifference, DigestComparison, DigestFinding, DigestRecord, IdenticalDuels,
    ReplayRecord, ReplaySummary, SlowHere,
};
pub use same_answers::{Difference, DifferingDigest, SameAnswers, StatementError};
pub use screened::{Screened, TailEffect, Together};
pub use study_summary::{
    Axis, Bound, Breakdown, Cell, CellOutcome, Confirmed, Knee, LadderRung, LadderSummary, Law,
    MatrixSummary, MatrixWorkload, MeasuredPart, MethodControl, NextPart, RatioAt,
    ResourceCounters, RoundRatio, RungOutcome, SweepCurve, SweepPoint, SweepSummary, Unevenness,
};
pub use summary::{
    CompareSummary, NotTried, Rung, Searched, SearchedRange, SeriesOfRuns, Summary, TuneSummary,
    queries_first,
};
pub use upgrade::{ChangedDefault, ChangedPlan, PlanOutline, TableRead, Upgrade, UpgradeObstacle};
pub use warning::{
    AllTimeMeaning, BUSY_FROM, BusySide, ChosenIndex, Control, Finding, PointFailure, QueriesFirst,
    SlowSide, TakenEvidence, Warning, Weight,
};
pub use words::{UNPROVEN_OVER_TCP, remains_over_socket, unit, units};
