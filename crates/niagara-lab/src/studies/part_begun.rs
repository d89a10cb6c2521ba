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

    /// The time that it used so far. A sitting that was killed kept no time of its own; its duels did.
    ///
    /// # Errors
    /// The results cannot be read.
    pub(crate) fn used_since(&self, store: &Store, duels: &[DuelRecord]) -> Result<RunTime> {
        let total = store.total_run_time()?;
        let own = || self.own(duels).iter();
        let wall: f64 = own().map(|duel| duel.wall_seconds).sum();
        let load: f64 = own().map(|duel| duel.load_seconds).sum();
        Ok(RunTime {
            elapsed_seconds: (total.elapsed_seconds - self.used.elapsed_seconds).max(wall),
            load_seconds: (total.load_seconds - self.used.load_seconds).max(load),
        })
    }
}
