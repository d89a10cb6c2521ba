//! Identical servers against each other: what this machine's noise lets one see.

use anyhow::{Result, bail};
use niagara_stats::{
    Components, DuelScore, ErrorBudget, Rule, components, detectable_in, optimal_couples,
};
use niagara_store::{Goal, Phase};

use crate::duel_plan::{couple_seconds, couples_for};
use crate::history::{History, score_again};
use crate::judged::{Question, ask};
use crate::observer::{Event, Observer};
use crate::spec::Lengths;
use crate::study::Study;
use crate::variant::Variant;
use crate::workbench::Workbench;

/// Error probability at which what can be seen is told.
const ALPHA: f64 = 0.05;
/// Duels of the longest comparison.
const MOST_DUELS: usize = 44;

/// What identical servers showed.
#[derive(Debug, Clone)]
pub struct Noise {
    /// Scores of the duels.
    pub duels: Vec<DuelScore>,
    /// Where the noise comes from; `None` when no duel could be scored.
    pub components: Option<Components>,
    /// Wall-clock seconds of a duel besides its couples.
    pub start_seconds: f64,
    /// Wall-clock seconds of a couple.
    pub couple_seconds: f64,
    /// Of its slices.
    pub lengths: Lengths,
}

/// Sets `variant` against itself until the budget ends.
///
/// # Errors
/// The variant cannot be measured, or results cannot be written.
pub fn noise(
    bench: &Workbench,
    study: &mut Study,
    history: &History,
    variant: &Variant,
    couples: u32,
    seed: u64,
    observer: &mut dyn Observer,
) -> Result<Noise> {
    observer.see(Event::Stage {
        name: "identical servers",
        seconds: study.left_seconds(),
    });
    let question = Question {
        phase: Phase::Noise,
        subject: "",
        goal: Goal::Throughput,
        a: variant,
        b: variant,
        errors: ErrorBudget::two_sided(ALPHA, MOST_DUELS),
        rule: Rule {
            to_the_end: true,
            ..Rule::default()
        },
        couples,
        seed,
        reserve_seconds: 0.0,
        must_answer: false,
    };
    let answer = ask(bench, study, &question, observer);
    study.end_sitting()?;
    let answer = answer?;
    if let (Some(failure), true) = (&answer.failure, answer.duels.is_empty()) {
        bail!("{failure}");
    }
    let slices = study.store().slices(None)?;
    let lengths = study.lengths();
    history.add(bench.load(), &lengths, &answer.duels, &slices)?;
    let duels: Vec<DuelScore> = answer
        .duels
        .iter()
        .filter_map(|duel| score_again(duel.seq, &slices, &lengths))
        .collect();
    let couple_seconds = couple_seconds(&lengths);
    let start_seconds = niagara_stats::median(
        &answer
            .duels
            .iter()
            .map(|duel| duel.wall_seconds - f64::from(duel.couples) * couple_seconds)
            .collect::<Vec<_>>(),
    )
    .unwrap_or(0.0);
    Ok(Noise {
        components: components(std::slice::from_ref(&duels)),
        duels,
        start_seconds,
        couple_seconds,
        lengths,
    })
}

impl Noise {
    /// Standard deviation of a duel of `couples` couples.
    pub fn sd(&self, couples: u32) -> Option<f64> {
        Some(self.components?.duel_sd(couples))
    }

    /// The effect that a comparison of `seconds` shows 4 times in 5, as a fraction, with the couples that pay best here.
    pub fn detectable(&self, seconds: f64) -> Option<f64> {
        let best = optimal_couples(&self.components?, self.start_seconds, self.couple_seconds);
        let couples = couples_for(&self.lengths, best, seconds, MOST_DUELS);
        let duel_seconds = self.start_seconds + f64::from(couples) * self.couple_seconds;
        let errors = ErrorBudget::two_sided(ALPHA, MOST_DUELS);
        let plan = errors.plan((seconds / duel_seconds) as usize);
        detectable_in(seconds, duel_seconds, self.sd(couples)?, &plan)
    }
}
