//! What a running study has told so far.

use std::time::Duration;

use niagara_model::{Goal, Screened};
use niagara_stats::{Estimate, Judgement};

/// Slices over which the share that others take, and each side's throughput, are averaged.
const LAST_SLICES: f64 = 20.0;

/// An estimate after some duels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Duels that it is from.
    pub duels: usize,
    /// B over A, as a gain, with its interval.
    pub estimate: Estimate,
}

/// What is known of the study under way.
#[derive(Debug, Clone, Default)]
pub struct State {
    /// Time for all measurements.
    pub budget: Duration,
    /// The part that is measured: `screening`, `total`.
    pub stage: String,
    /// Duels of it that ended.
    pub duels: u32,
    /// What is counted: `duel`, or another protocol's `pair` or `series`.
    pub unit: &'static str,
    /// Transactions per second of A and B, averaged over the last slices; 0 before the first.
    pub tps: [f64; 2],
    /// Share of the CPUs, 0 to 1, that the hypervisor and other processes took from the last slices.
    pub taken: f64,
    /// What the estimates are gains in.
    pub goal: Goal,
    /// The estimate of this part after each number of duels, oldest first; only what has an interval.
    pub steps: Vec<Step>,
    /// The newest estimate, with an interval or without.
    pub newest: Option<Step>,
    /// Duels after which it is judged next.
    pub next_look: Option<usize>,
    /// The levers as the screening sees them so far, in its own order.
    pub levers: Vec<Screened>,
    /// Duels from which on the screening tells what the levers do.
    pub levers_from: Option<usize>,
}

impl State {
    /// Nothing yet.
    pub fn new(budget: Duration) -> Self {
        Self {
            budget,
            unit: "duel",
            ..Self::default()
        }
    }

    /// Another part begins.
    pub fn stage(&mut self, name: &str) {
        *self = Self {
            budget: self.budget,
            unit: self.unit,
            taken: self.taken,
            stage: match name.strip_prefix("claim: ") {
                Some(lever) => format!("confirming: {lever}"),
                None => name.to_owned(),
            },
            ..Self::default()
        };
    }

    /// A slice was measured: its side (0 is A), its transactions per second, the share of the CPUs that others took.
    pub fn slice(&mut self, side: usize, tps: f64, taken: f64) {
        let mean = &mut self.tps[side.min(1)];
        if tps > 0.0 {
            *mean += match *mean > 0.0 {
                true => (tps - *mean) / LAST_SLICES,
                false => tps,
            };
        }
        self.taken += (taken - self.taken) / LAST_SLICES;
    }

    /// A duel ended. In the screening each duel has other levers on its sides: the averages begin again.
    pub fn duel(&mut self) {
        self.duels += 1;
        if self.is_screening() {
            self.tps = [0.0; 2];
        }
    }

    /// What is measured was judged.
    pub fn judged(&mut self, judgement: &Judgement) {
        let step = Step {
            duels: judgement.duels,
            estimate: judgement.estimate,
        };
        self.next_look = judgement.next_look;
        self.newest = Some(step);
        let bounded = step.estimate.low > 0.0 && step.estimate.high.is_finite();
        if bounded && self.steps.last().is_none_or(|last| last.duels < step.duels) {
            self.steps.push(step);
        }
    }

    /// The levers as the screening sees them now; `from` is the duel from which on it tells what they do.
    pub fn screened(&mut self, levers: Vec<Screened>, from: usize) {
        self.levers = levers;
        self.levers_from = Some(from);
    }

    /// Whether levers are screened, all at once.
    pub fn is_screening(&self) -> bool {
        self.stage == "screening"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throughput_is_averaged_and_begins_again_with_every_screening_duel() {
        let mut state = State::default();
        state.stage("screening");
        state.slice(0, 1000.0, 0.0);
        state.slice(0, 2000.0, 0.0);
        assert!((state.tps[0] - 1050.0).abs() < 1e-9);
        state.duel();
        assert_eq!(state.tps, [0.0; 2]);
        state.stage("total");
        state.slice(1, 500.0, 0.0);
        state.duel();
        assert!((state.tps[1] - 500.0).abs() < 1e-9);
    }
}
