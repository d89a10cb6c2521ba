//! What a study tells whoever watches it; the terminal is one such watcher.

use std::path::Path;
use std::time::Duration;

use niagara_model::{DuelRecord, Goal, Screened, SliceRecord};
use niagara_stats::Judgement;

use crate::plans::announced::Announced;
use crate::plans::spec::Protocol;
use crate::variants::build_time::BuildAhead;

/// Something happened.
#[derive(Debug)]
pub enum Event<'a> {
    /// Set-up in progress: fetching, loading, cloning.
    SettingUp(&'a str),
    /// A line worth keeping on the screen.
    Note(&'a str),
    /// Servers that are built before anything is measured: the levers that want them, and how long each will take.
    ToBuild {
        /// In the order in which they are built.
        builds: &'a [BuildAhead],
        /// Seconds that building may take in all; `None` where a tuning is continued that has them among its levers.
        seconds: Option<f64>,
    },
    /// The study was begun in an earlier sitting and is continued.
    Resumed {
        /// Where its results are.
        folder: &'a Path,
        /// Seconds of its budget that are used.
        used_seconds: f64,
    },
    /// All is set up: what is about to happen.
    Announced(Announced<'a>),
    /// A part of the study begins: its name and the seconds it may take.
    Stage {
        /// `screening`, `total`, `claim: jemalloc`.
        name: &'a str,
        /// Seconds that are planned for it.
        seconds: f64,
    },
    /// A slice was counted.
    Slice(&'a SliceRecord),
    /// A duel ended.
    Duel {
        /// What came of it.
        record: &'a DuelRecord,
        /// How the variants met in it.
        protocol: Protocol,
    },
    /// What the screening knows of the levers by now, in passing: nothing is decided by it.
    Screened {
        /// Their effects so far, roughly while there are fewer duels than levers; empty at first.
        levers: &'a [Screened],
        /// Duels from which on there are some.
        from: usize,
    },
    /// Time has passed that is not the budget's: the check of a build.
    LeftOut(Duration),
    /// The comparison under way was judged again, by this goal.
    Judged(&'a Judgement, Goal),
}

/// Watches a study.
pub trait Observer {
    /// Called for each event, in order, from the thread that runs the study.
    fn see(&mut self, event: Event<'_>);
}

/// Watches nothing.
#[cfg(test)]
pub(crate) struct Silent;

#[cfg(test)]
impl Observer for Silent {
    fn see(&mut self, _event: Event<'_>) {}
}
