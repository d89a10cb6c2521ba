//! Parts of a study, in the results: where each of them begins, so that nothing of it is taken for what another one measured,
//! decided or used of its time.

use anyhow::Result;
use niagara_model::{DuelRecord, Event, EventRecord, RunTime};
use niagara_store::Store;
use serde::{Deserialize, Serialize};

use crate::studies::checkpoint::{self, Checkpoint, PART_BEGUN};

/// Where a part begins, and what the parts before it used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct PartBegun {
    /// Duels before it.
    pub duels: usize,
    /// Time before it.
    pub used: RunTime,
}

/// Where a part of the study begins.
pub(crate) fn part_begun() -> Checkpoint<PartBegun> {
    Checkpoint::named(PART_BEGUN)
}

impl PartBegun {
    /// The last part that was begun; all of a study that is not measured in parts.
    ///
    /// # Errors
    /// The results cannot be read.
    pub(crate) fn last(store: &Store) -> Result<Self> {
        let events = store.events()?;
        let begun = part_begun();
        let last = begun.last(&events).map(Self::deserialize).transpose()?;
        Ok(last.unwrap_or_default())
    }

    /// Begins another part behind `duels`, which are all that there are.
    ///
    /// # Errors
    /// The results cannot be written.
    pub(crate) fn next(store: &Store, duels: &[DuelRecord]) -> Result<Self> {
        let begun = Self {
            duels: duels.len(),
            used: store.total_run_time()?,
        };
        part_begun().keep_in(store, &begun)?;
        Ok(begun)
    }

    /// The time of a sitting that was killed is among the kept from here on: it kept none of its own, but its duels have theirs.
    /// `duels` are all that there are.
    ///
    /// # Errors
    /// The results cannot be read or written.
    pub(crate) fn settle(&self, store: &Store, duels: &[DuelRecord]) -> Result<()> {
        let events = store.events()?;
        let key = checkpoint::time_kept();
        let kept = key.all(&events).next_back();
        let is_by_node = |record: &EventRecord| matches!(record.event, Event::FoughtOn(_));
        let on_nodes = events.iter().any(is_by_node);
        let lost = match kept.map(usize::deserialize).transpose()? {
            Some(kept) => time_of_duels(duels.get(kept..).unwrap_or_default(), on_nodes),
            None => {
                // Results from before it was kept which duels are behind it, or no sitting has ended yet.
                let total = store.total_run_time()?;
                let own = time_of_duels(self.own(duels), on_nodes);
                RunTime {
                    elapsed_seconds: own.elapsed_seconds
                        - (total.elapsed_seconds - self.used.elapsed_seconds),
                    load_seconds: own.load_seconds - (total.load_seconds - self.used.load_seconds),
                }
            }
        };
        if lost.elapsed_seconds > 0.0 {
            store.add_run_time(lost.elapsed_seconds, lost.load_seconds.max(0.0))?;
            key.keep_in(store, &duels.len())?;
        }
        Ok(())
    }

    /// Its own among `duels`, which are all that there are.
    pub(crate) fn own<'d>(&self, duels: &'d [DuelRecord]) -> &'d [DuelRecord] {
        duels.get(self.duels..).unwrap_or_default()
    }

    /// The time that it used so far, that of a sitting that was killed among it once it was [settled](Self::settle).
    ///
    /// # Errors
    /// The results cannot be read.
    pub(crate) fn used_since(&self, store: &Store) -> Result<RunTime> {
        let total = store.total_run_time()?;
        Ok(RunTime {
            elapsed_seconds: (total.elapsed_seconds - self.used.elapsed_seconds).max(0.0),
            load_seconds: (total.load_seconds - self.used.load_seconds).max(0.0),
        })
    }
}

/// What duels took: several at once where they were run on nodes. On one machine they follow each other, whatever the clock on the wall
/// said: it may have been set back between two of them.
fn time_of_duels(duels: &[DuelRecord], on_nodes: bool) -> RunTime {
    RunTime {
        elapsed_seconds: match on_nodes {
            true => seconds_of_duels(duels),
            false => duels.iter().map(|duel| duel.wall_seconds).sum(),
        },
        load_seconds: duels.iter().map(|duel| duel.load_seconds).sum(),
    }
}

/// Seconds in which at least one of the duels was run.
fn seconds_of_duels(duels: &[DuelRecord]) -> f64 {
    let mut spans: Vec<(f64, f64)> = duels
        .iter()
        .map(|duel| {
            let began = duel.started_unix_ms as f64 / 1e3;
            (began, began + duel.wall_seconds)
        })
        .collect();
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut until = f64::NEG_INFINITY;
    spans
        .into_iter()
        .map(|(began, ended)| {
            let new = (ended - began.max(until)).max(0.0);
            until = until.max(ended);
            new
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use niagara_model::{Ending, Phase};

    use super::*;

    fn duel(seq: u32, began: f64, seconds: f64) -> DuelRecord {
        DuelRecord {
            seq,
            phase: Phase::Compare,
            subject: String::new(),
            variants: ["a".into(), "b".into()],
            seed: 0,
            started_unix_ms: (1e3 * began) as i64,
            wall_seconds: seconds,
            load_seconds: 1.0,
            score: None,
            cpu_score: None,
            raw_score: None,
            latency_scores: None,
            p99_score: None,
            couples: 1,
            dropped: [0, 0],
            ending: Ending::Disturbed,
        }
    }

    #[test]
    fn a_clock_that_was_set_back_takes_no_time_from_the_duels_of_one_machine() {
        // Set back by ten seconds, or by a day, behind the first one.
        for back in [10.0, 86_400.0] {
            let duels = [
                duel(0, 100_000.0, 5.0),
                duel(1, 100_005.0 - back, 5.0),
                duel(2, 100_010.0 - back, 5.0),
            ];
            assert_eq!(time_of_duels(&duels, false).elapsed_seconds, 15.0);
            assert_eq!(time_of_duels(&duels, false).load_seconds, 3.0);
        }
    }

    #[test]
    fn duels_that_nodes_ran_at_the_same_time_took_that_time_once() {
        assert_eq!(seconds_of_duels(&[]), 0.0);
        let one_after_the_other = [duel(0, 10.0, 5.0), duel(1, 20.0, 5.0)];
        assert_eq!(seconds_of_duels(&one_after_the_other), 10.0);
        // Two nodes, the later duel is told first; a third is within the others.
        let at_once = [
            duel(0, 12.0, 5.0),
            duel(1, 10.0, 5.0),
            duel(2, 13.0, 1.0),
            duel(3, 30.0, 2.0),
        ];
        assert_eq!(seconds_of_duels(&at_once), 9.0);
    }
}
