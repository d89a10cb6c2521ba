//! What a study decides on its way and keeps, so that a sitting that continues it takes the same way: each decision by a
//! key that knows what it holds. What a part of a study decided holds for that part alone.

use std::marker::PhantomData;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, Result};
use niagara_model::{
    ChangedPlan, Event, EventRecord, FinalCheck, NotTried, Phase, Reason, SameAnswers, Warning,
};
use niagara_server::TlsSession;
use niagara_stats::LookPlan;
use niagara_store::Store;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::duels::arena::unix_ms;
use crate::lever::Searching;
use crate::plans::announced::TunePlan;
use crate::studies::host_identity::HostIdentity;

/// The name of the decision that begins a part of the study.
pub(crate) const PART_BEGUN: &str = "part begun";

/// The key of a decision that is a `T`.
pub(crate) struct Checkpoint<T> {
    /// As it stands in the results.
    name: String,
    holds: PhantomData<fn() -> T>,
}

impl<T> Checkpoint<T> {
    /// The key of this name.
    pub(crate) fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            holds: PhantomData,
        }
    }

    /// As it stands in the results.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The event that keeps `decided`.
    pub(crate) fn event(&self, decided: Value) -> Event {
        Event::Decision {
            key: self.name.clone(),
            value: decided,
        }
    }

    /// What `record` keeps under this key.
    pub(crate) fn of<'e>(&self, record: &'e EventRecord) -> Option<&'e Value> {
        match &record.event {
            Event::Decision { key, value } if *key == self.name => Some(value),
            _ => None,
        }
    }

    /// What was kept last under this key since the last part was begun.
    pub(crate) fn last<'e>(&self, events: &'e [EventRecord]) -> Option<&'e Value> {
        let begun = Checkpoint::<()>::named(PART_BEGUN);
        let parts = events
            .iter()
            .rposition(|event| begun.of(event).is_some())
            .map_or(events, |place| &events[place..]);
        parts.iter().rev().find_map(|event| self.of(event))
    }

    /// All that was kept under this key, in all parts, in order.
    pub(crate) fn all<'e>(
        &self,
        events: &'e [EventRecord],
    ) -> impl DoubleEndedIterator<Item = &'e Value> {
        events.iter().filter_map(|event| self.of(event))
    }
}

/// What a reader must know of the cells of a matrix so far.
pub(crate) fn told() -> Checkpoint<Vec<Warning>> {
    Checkpoint::named("told")
}

/// The error probability that a confirmation of a matrix is given.
pub(crate) fn confirmation() -> Checkpoint<f64> {
    Checkpoint::named("confirmation")
}

/// Why a rung of a ladder or a cell of a matrix was not to be had; nothing where it was.
pub(crate) fn unavailable(subject: &str) -> Checkpoint<Option<Reason>> {
    Checkpoint::named(format!("not to be had {subject}"))
}

impl<T: Serialize> Checkpoint<T> {
    /// Keeps `decided` in the results.
    ///
    /// # Errors
    /// The results cannot be written.
    pub(crate) fn keep_in(&self, store: &Store, decided: &T) -> Result<()> {
        let event = self.event(serde_json::to_value(decided)?);
        Ok(store.add_event(unix_ms(SystemTime::now()), &event)?)
    }
}

impl<T: DeserializeOwned> Checkpoint<T> {
    /// What was decided last, by the results in `store`; `file` is how errors call them.
    ///
    /// # Errors
    /// The results cannot be read.
    pub(crate) fn kept_in(&self, store: &Store, file: &Path) -> Result<Option<T>> {
        let events = store.events()?;
        let last = self.last(&events);
        last.map(|value| self.read(value, file)).transpose()
    }

    /// What `value` says, which `file` keeps under this key.
    ///
    /// # Errors
    /// It is something else.
    pub(crate) fn read(&self, value: &Value, file: &Path) -> Result<T> {
        T::deserialize(value).with_context(|| {
            format!(
                "{}: the decision {} cannot be read; begin again with another --out",
                file.display(),
                self.name()
            )
        })
    }
}

/// Where the duels are run.
pub(crate) fn host_identity() -> Checkpoint<HostIdentity> {
    Checkpoint::named("measured on")
}

/// The SHA-256 of the binary of a server and its build.
pub(crate) fn binary(server_and_build: &str) -> Checkpoint<String> {
    Checkpoint::named(format!("binary {server_and_build}"))
}

/// How the load of a variant (by its id) is encrypted.
pub(crate) fn encryption(variant: &str) -> Checkpoint<TlsSession> {
    Checkpoint::named(format!("encryption {variant}"))
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

/// Whether the test of a phase and a subject asks, over all of its duels, if others took more CPU time from one side.
pub(crate) fn asks_for_side(phase: Phase, subject: &str) -> Checkpoint<bool> {
    Checkpoint::named(format!("asks for side {phase:?} {subject}"))
}

/// Duels after which the time of a question ended.
pub(crate) fn ended(phase: Phase, subject: &str) -> Checkpoint<u64> {
    Checkpoint::named(format!("ended {phase:?} {subject}"))
}

/// That this attempt of the test of a phase and a subject was begun beyond the budget.
pub(crate) fn beyond_budget(phase: Phase, subject: &str, attempt: u64) -> Checkpoint<bool> {
    Checkpoint::named(format!("beyond budget {phase:?} {subject} {attempt}"))
}

/// That what had failed before is tried again from this duel of the study on.
pub(crate) fn tried_again(duel: usize) -> Checkpoint<bool> {
    Checkpoint::named(format!("tried again {duel}"))
}

/// Duels of the whole study, all parts, when the time of a sitting was kept: those behind them are of one that was killed.
pub(crate) fn time_kept() -> Checkpoint<usize> {
    Checkpoint::named("time kept")
}

/// Duels after which the time of a screening ended.
pub(crate) fn screening_ended() -> Checkpoint<u64> {
    Checkpoint::named("screening ended")
}

/// The levers to blame for a side that failed in a screening duel.
pub(crate) fn blame(duel: u64) -> Checkpoint<Vec<NotTried>> {
    Checkpoint::named(format!("blame {duel}"))
}

/// Whether the lever that was set aside after so many screening duels was noted.
pub(crate) fn set_aside(duels: u64) -> Checkpoint<bool> {
    Checkpoint::named(format!("set aside {duels}"))
}

/// Levers that were not applicable when a tuning began, with the reasons.
pub(crate) fn not_applicable() -> Checkpoint<Vec<NotTried>> {
    Checkpoint::named("not applicable")
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

/// Seconds of the budget at which the search ends at the latest.
pub(crate) fn search_until() -> Checkpoint<f64> {
    Checkpoint::named("search until")
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

/// The statements that two servers plan otherwise.
pub(crate) fn changed_plans() -> Checkpoint<Vec<ChangedPlan>> {
    Checkpoint::named("changed plans")
}

/// Whether this variant answers a capture as the start does.
pub(crate) fn same_answers(variant: &str) -> Checkpoint<SameAnswers> {
    Checkpoint::named(format!("same answers {variant}"))
}

/// Levers that were promoted and left out, for with them the server does not start with all the others.
pub(crate) fn not_together() -> Checkpoint<Vec<NotTried>> {
    Checkpoint::named("not together")
}

/// What is left of the levers that were promoted once their build was looked at, before this part of the tuning.
pub(crate) fn settled(before: &str) -> Checkpoint<SettledLevers> {
    Checkpoint::named(format!("settled {before}"))
}

/// Levers of a final variant whose build was looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SettledLevers {
    /// Identifiers of those that stay, best first.
    pub promoted: Vec<String>,
    /// Those that do not, each with the reason.
    pub left_out: Vec<NotTried>,
}

/// Whether there was time for a question about what was promoted.
pub(crate) fn is_asked(subject: &str) -> Checkpoint<bool> {
    Checkpoint::named(format!("is asked {subject}"))
}

/// Identifiers of the levers that go into the final variant, best first.
pub(crate) fn promoted() -> Checkpoint<Vec<String>> {
    Checkpoint::named("promoted")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_part_decided_holds_for_that_part() {
        let event = |key: &str, decided: Value| EventRecord {
            unix_ms: 0,
            event: Checkpoint::<()>::named(key).event(decided),
        };
        let first = vec![event("rate", json!(1.0)), event("rate limit", json!(9))];
        assert_eq!(rate().last(&first), Some(&json!(1.0)));
        let mut second = first;
        second.extend([event("part begun", json!({})), event("couples", json!(8))]);
        assert_eq!(rate().last(&second), None);
        assert_eq!(couples().last(&second), Some(&json!(8)));
        let begun = Checkpoint::<()>::named(PART_BEGUN);
        assert_eq!(begun.last(&second), Some(&json!({})));
        second.push(event("rate", json!(2.0)));
        assert_eq!(rate().last(&second), Some(&json!(2.0)));
        let rate = rate();
        let all: Vec<&Value> = rate.all(&second).collect();
        assert_eq!(all, [&json!(1.0), &json!(2.0)]);
    }
}
