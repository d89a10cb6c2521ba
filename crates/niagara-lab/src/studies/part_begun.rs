//! Parts of a study, in the results: where each of them begins, so that nothing of it is taken for what another one measured,
//! decided or used of its time.

use std::time::SystemTime;

use anyhow::Result;
use niagara_store::{DuelRecord, RunTime, Store};
use serde::{Deserialize, Serialize};

use crate::duels::arena::unix_ms;
use crate::studies::checkpoint;

/// Where a part begins, and what the parts before it used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct PartBegun {
    /// Duels before it.
    pub duels: usize,
    /// Time before it.
    pub used: RunTime,
}

impl PartBegun {
    /// The last part that was begun; all of a study that is not measured in parts.
    ///
    /// # Errors
    /// The results cannot be read.
    pub(crate) fn last(store: &Store) -> Result<Self> {
        let events = store.events()?;
        let begun = checkpoint::part_begun();
        let last = begun.last(&events).map(serde_json::from_str).transpose()?;
        Ok(last.unwrap_or_default())
    }

    /// Begins another part behind `duels`, which are all that there are.
    ///
    /// # Errors
    /// The results cannot be written.
    pub(crate) fn next(store: &Store, duels: &[DuelRecord]) -> Result<Self> {
        let before = Self::last(store)?;
        let since = before.used_since(store, duels)?;
        let used = RunTime {
            elapsed_seconds: before.used.elapsed_seconds + since.elapsed_seconds,
            load_seconds: before.used.load_seconds + since.load_seconds,
        };
        let total = store.total_run_time()?;
        if used.elapsed_seconds > total.elapsed_seconds {
            // Of a sitting that was killed: from here on its time is among the kept.
            store.add_run_time(
                used.elapsed_seconds - total.elapsed_seconds,
                (used.load_seconds - total.load_seconds).max(0.0),
            )?;
        }
        let begun = Self {
            duels: duels.len(),
            used,
        };
        let (kind, text) = checkpoint::part_begun().event(&serde_json::to_string(&begun)?);
        store.add_event(unix_ms(SystemTime::now()), kind, &text)?;
        Ok(begun)
    }

    /// Its own among `duels`, which are all that there are.
    pub(crate) fn own<'d>(&self, duels: &'d [DuelRecord]) -> &'d [DuelRecord] {
        duels.get(self.duels..).unwrap_or_default()
    }

    /// The time that it used so far. A sitting that was killed kept no time of its own; its duels did: several at once where they
    /// were run on several nodes.
    ///
    /// # Errors
    /// The results cannot be read.
    pub(crate) fn used_since(&self, store: &Store, duels: &[DuelRecord]) -> Result<RunTime> {
        let total = store.total_run_time()?;
        let own = || self.own(duels).iter();
        let load: f64 = own().map(|duel| duel.load_seconds).sum();
        let dueling = seconds_of_duels(self.own(duels));
        Ok(RunTime {
            elapsed_seconds: (total.elapsed_seconds - self.used.elapsed_seconds).max(dueling),
            load_seconds: (total.load_seconds - self.used.load_seconds).max(load),
        })
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
    use niagara_store::{Ending, Phase};

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
