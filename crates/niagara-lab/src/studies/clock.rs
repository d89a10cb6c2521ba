//! The time of a study: what its budget is, what earlier sittings and this one have used of it.

use std::time::{Duration, Instant};

use niagara_model::RunTime;

/// The time of a study, set-up excluded. What is measured in parts has a budget for each of them.
#[derive(Debug)]
pub(crate) struct Clock {
    budget_seconds: f64,
    /// Of the parts before this one: nothing of this one's budget.
    earlier_parts: RunTime,
    /// Of earlier sittings of this part.
    used_before: RunTime,
    /// When this sitting began to count.
    began: Option<Instant>,
    /// Of this sitting, under load.
    load_seconds: f64,
}

impl Clock {
    pub(crate) fn new(budget_seconds: f64, earlier_parts: RunTime, used_before: RunTime) -> Self {
        Self {
            budget_seconds,
            earlier_parts,
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

    /// Seconds used of the budget, earlier sittings included.
    pub(crate) fn used_seconds(&self) -> f64 {
        let now = self
            .began
            .map_or(0.0, |began| began.elapsed().as_secs_f64());
        self.used_before.elapsed_seconds + now
    }

    /// Seconds used by all parts.
    pub(crate) fn total_seconds(&self) -> f64 {
        self.earlier_parts.elapsed_seconds + self.used_seconds()
    }

    /// Seconds of those under load.
    pub(crate) fn load_seconds(&self) -> f64 {
        self.earlier_parts.load_seconds + self.used_before.load_seconds + self.load_seconds
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_parts_take_nothing_of_the_budget() {
        let used = |elapsed_seconds: f64| RunTime {
            elapsed_seconds,
            load_seconds: elapsed_seconds / 2.0,
        };
        let clock = Clock::new(600.0, used(900.0), used(100.0));
        assert_eq!((clock.used_seconds(), clock.left_seconds()), (100.0, 500.0));
        assert_eq!(
            (clock.total_seconds(), clock.load_seconds()),
            (1000.0, 500.0)
        );
    }
}
