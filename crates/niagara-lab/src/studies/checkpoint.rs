//! What a study decides on its way and keeps, so that a sitting that continues it takes the same way: each decision by a
//! key that knows what it holds. In the results they are lines of name, tab and JSON.

use std::marker::PhantomData;
use std::path::Path;

use anyhow::{Context, Result};
use niagara_stats::LookPlan;
use niagara_store::{FinalCheck, NotTried, Phase, SameAnswers, Store};
use serde::de::DeserializeOwned;

use crate::lever::Searching;
use crate::studies::announced::TunePlan;

/// Event kind under which a study keeps a decision that later steps depend on.
pub(crate) const DECISION: &str = "decision";

/// The key of a decision that is a `T`.
pub(crate) struct Checkpoint<T> {
    /// As it stands in the results.
    name: String,
    holds: PhantomData<fn() -> T>,
}

impl<T> Checkpoint<T> {
    fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            holds: PhantomData,
        }
    }

    /// As it stands in the results.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl<T: DeserializeOwned> Checkpoint<T> {
    /// What was decided last, by the results in `store`; `file` is how errors call them.
    ///
    /// # Errors
    /// The results cannot be read.
    pub(crate) fn kept_in(&self, store: &Store, file: &Path) -> Result<Option<T>> {
        let events = store.events()?;
        let text = events.iter().rev().find_map(|event| {
            let kept = (event.kind == DECISION).then_some(event.text.as_str())?;
            kept.strip_prefix(self.name())?.strip_prefix('\t')
        });
        text.map(serde_json::from_str).transpose().with_context(|| {
            format!(
                "{}: the decision {} cannot be read; begin again with another --out",
                file.display(),
                self.name()
            )
        })
    }
}

/// Seconds that every later side is warmed up for.
pub(crate) fn warm_up() -> Checkpoint<f64> {
    Checkpoint::named("warm-up")
}

/// The warm-up curves of both sides of a duel (transactions per second), while they are wanted for [`warm_up`].
pub(crate) fn warm_up_curves(duel: u32) -> Checkpoint<[Vec<f64>; 2]> {
    Checkpoint::named(format!("warm-up curves {duel}"))
}

/// Couples in a duel of a comparison.
pub(crate) fn couples() -> Checkpoint<u32> {
    Checkpoint::named("couples")
}

/// The looks of the test of a phase and a subject.
pub(crate) fn looks(phase: Phase, subject: &str) -> Checkpoint<LookPlan> {
    Checkpoint::named(format!("looks {phase:?} {subject}"))
}

/// Duels after which the time of a question ended.
pub(crate) fn ended(phase: Phase, subject: &str) -> Checkpoint<u64> {
    Checkpoint::named(format!("ended {phase:?} {subject}"))
}

/// Duels after which the time of a screening ended.
pub(crate) fn screening_ended() -> Checkpoint<u64> {
    Checkpoint::named("screening ended")
}

/// The levers to blame for a side that failed in a screening duel.
pub(crate) fn blame(duel: u64) -> Checkpoint<Vec<NotTried>> {
    Checkpoint::named(format!("blame {duel}"))
}

/// Levers that the server refuses or that change nothing here.
pub(crate) fn misfits() -> Checkpoint<Vec<NotTried>> {
    Checkpoint::named("misfits")
}

/// The rate at which latencies are compared, transactions per second.
pub(crate) fn rate() -> Checkpoint<f64> {
    Checkpoint::named("rate")
}

/// What a tuning does with its time.
pub(crate) fn tune_plan() -> Checkpoint<TunePlan> {
    Checkpoint::named("plan")
}

/// The ranges that are searched, with the values to begin with; empty where there is no time for it.
pub(crate) fn searching() -> Checkpoint<Vec<Searching>> {
    Checkpoint::named("searching")
}

/// Duels after which the time of the search ended.
pub(crate) fn search_ended() -> Checkpoint<u64> {
    Checkpoint::named("search ended")
}

/// Whether the controls of a ladder or a matrix are measured.
pub(crate) fn controls() -> Checkpoint<bool> {
    Checkpoint::named("controls")
}

/// What came of the checks of this final variant.
pub(crate) fn final_checks(variant: &str) -> Checkpoint<Vec<FinalCheck>> {
    Checkpoint::named(format!("final checks {variant}"))
}

/// Duels of A against itself before a comparison by a capture.
pub(crate) fn identical_duels() -> Checkpoint<u32> {
    Checkpoint::named("identical duels")
}

/// Whether this variant answers a capture as the start does.
pub(crate) fn same_answers(variant: &str) -> Checkpoint<SameAnswers> {
    Checkpoint::named(format!("same answers {variant}"))
}

/// Identifiers of the levers that go into the final variant, best first.
pub(crate) fn promoted() -> Checkpoint<Vec<String>> {
    Checkpoint::named("promoted")
}
