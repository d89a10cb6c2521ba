//! What identical servers show of a machine's noise, and what that lets one see.

use niagara_stats::{Components, DuelScore, ErrorBudget, detectable_in, optimal_couples};

use crate::asking::question::MAX_DUELS;
use crate::plans::duel_plan::couples_for;
use crate::plans::spec::DuelSettings;

/// Error probability at which what can be seen is told.
pub(crate) const ALPHA: f64 = 0.05;

/// What identical servers showed.
#[derive(Debug, Clone)]
pub struct Noise {
    /// Duels that were run, scored or not.
    pub run: usize,
    /// Scores of the duels.
    pub duels: Vec<DuelScore>,
    /// Where the noise comes from; `None` when no duel could be scored.
    pub components: Option<Components>,
    /// Wall-clock seconds of a duel besides its couples.
    pub start_seconds: f64,
    /// Wall-clock seconds of a couple.
    pub couple_seconds: f64,
    /// Of its slices.
    pub duel_settings: DuelSettings,
}

impl Noise {
    /// Standard deviation of a duel of `couples` couples.
    pub fn sd(&self, couples: u32) -> Option<f64> {
        Some(self.components?.duel_sd(couples))
    }

    /// The effect that a comparison of `seconds` shows 4 times in 5, as a fraction, with the couples that pay best here.
    pub fn detectable(&self, seconds: f64) -> Option<f64> {
        let best = optimal_couples(&self.components?, self.start_seconds, self.couple_seconds);
        let couples = couples_for(&self.duel_settings, best, seconds, MAX_DUELS);
        let duel_seconds = self.start_seconds + f64::from(couples) * self.couple_seconds;
        let errors = ErrorBudget::two_sided(ALPHA, MAX_DUELS);
        let plan = errors.plan((seconds / duel_seconds) as usize);
        detectable_in(seconds, duel_seconds, self.sd(couples)?, &plan)
    }
}
