//! A unit in the making, step by step.

use super::types::{NONE, Step};

/// A unit in the making.
#[derive(Debug, Clone, Default)]
pub(super) struct Draft {
    pub session: u32,
    pub steps: Vec<Step>,
    /// Begins and ends, in microseconds since the trace's beginning.
    pub start_us: u64,
    pub end_us: u64,
    pub writes: bool,
}

impl Draft {
    pub(super) fn push(&mut self, step: Step) {
        let took = match step.duration_us {
            NONE => 0,
            duration => u64::from(duration),
        };
        if self.steps.is_empty() {
            self.start_us = step.start_us;
        }
        self.end_us = self.end_us.max(step.start_us.saturating_add(took));
        self.steps.push(step);
    }
}
