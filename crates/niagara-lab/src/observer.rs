//! What a study tells whoever watches it; the terminal is one such watcher.

use niagara_stats::Judgement;
use niagara_store::{DuelRecord, SliceRecord};

/// Something happened.
#[derive(Debug)]
pub enum Event<'a> {
    /// Set-up in progress: fetching, loading, cloning.
    SettingUp(&'a str),
    /// A line worth keeping on the screen.
    Note(&'a str),
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
    Duel(&'a DuelRecord),
    /// The comparison under way was judged anew.
    Judged(&'a Judgement),
}

/// Watches a study.
pub trait Observer {
    /// Called for each event, in order, from the thread that runs the study.
    fn see(&mut self, event: Event<'_>);
}
