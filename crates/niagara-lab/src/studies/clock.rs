//! The time of a study: what its budget is, what earlier sittings and this one have used of it.

use std::time::{Duration, Instant};

use niagara_store::RunTime;

/// The time of a study, set-up excluded.
#[derive(Debug)]
pub(crate) struct Clock {
    budget_seconds: f64,
    /// Of earlier sittings.
    used_before: RunTime,
    /// When this sitting began to count.
    began: Option<Instant>,
    /// Of this sitting, under load.
    load_seconds: f64,
}

impl Clock {
    pub(crate) fn new(budget_seconds: f64, used_before: RunTime) -> Self {
        Self {
            budget_seconds,
            used_before,
            began: None,
            load_seconds: 0.0,
        }
    }

    /// Set-up is done: from here on time counts against the budget.
    pub(crate) fn start(&mut self) {
        self.began = Some(Instant::now());
    }

    /// So much of the time since the start does not count.
    pub(crate) fn leave_out(&mut self, time: Duration) {
        if let Some(began) = &mut self.began {
            *began += time;
        }
    }

    /// Counts seconds under load.
    pub(crate) fn add_load(&mut self, seconds: f64) {
        self.load_seconds += seconds;
    }

    /// Seconds that were asked for.
    pub(crate) fn budget_seconds(&self) -> f64 {
        self.budget_seconds
    }

    /// Seconds used, earlier sittings included.
    pub(crate) fn used_seconds(&self) -> f64 {
        let now = self
            .began
            .map_or(0.0, |began| began.elapsed().as_secs_f64());
        self.used_before.elapsed_seconds + now
    }

    /// Seconds of those under load.
    pub(crate) fn load_seconds(&self) -> f64 {
        self.used_before.load_seconds + self.load_seconds
    }

    /// Seconds left of the budget; never negative.
    pub(crate) fn left_seconds(&self) -> f64 {
        (self.budget_seconds - self.used_seconds()).max(0.0)
    }

    /// Ends the sitting; what it took, if it had begun.
    pub(crate) fn end(&mut self) -> Option<RunTime> {
        let sitting = RunTime {
            elapsed_seconds: self.began.take()?.elapsed().as_secs_f64(),
            load_seconds: std::mem::take(&mut self.load_seconds),
        };
        self.used_before.elapsed_seconds += sitting.elapsed_seconds;
        self.used_before.load_seconds += sitting.load_seconds;
        Some(sitting)
    }
}
