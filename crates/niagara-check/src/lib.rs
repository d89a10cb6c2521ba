//! Is a server still a correct one? Asked of servers that somebody built or patched, before any of them is recommended.
//!
//! Three parts: [`Part::Crash`] (killed under write load, what it acknowledged is there), [`Part::Answers`] (the same
//! answers and tables as another server on the same data), [`Part::Suite`] (its own regression tests). What came of
//! them is kept for exactly the binary that was checked; [`standing`] and [`passed`] ask for it with one call:
//!
//! ```no_run
//! # fn recommend(cache: &niagara_server::Cache, install: &niagara_server::Install) -> anyhow::Result<bool> {
//! Ok(niagara_check::passed(cache, &install.server)?)
//! # }
//! ```

mod answers;
mod crash;
mod cut_short;
mod outcome;
mod progress;
mod record;
mod room;
mod run;
mod server;
mod suite;
mod trust;

pub use answers::{ANSWERED_ENGINES, AnswersOptions, Planted, compare_answers, exercise};
pub use crash::{CRASH_SIZES, CrashOptions, crash_recovery};
pub use outcome::{
    CheckCount, CheckFigure, CheckFinding, CheckNote, Outcome, Part, PartReport, SkipReason,
};
pub use progress::Progress;
pub use record::{CheckRecord, Standing, fault_of, passed, standing};
pub use run::{CheckOptions, Subject, check};
pub use server::Setting;
pub use suite::{SuiteOptions, TestList, regression_suite};
