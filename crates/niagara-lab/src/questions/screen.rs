//! Screening: every fold-over duel sets every lever at once, least squares tells them apart.

use std::collections::BTreeSet;

use anyhow::Result;
use niagara_stats::{
    Estimate, Expected, Factor, Fit, Observation, Row, SURE, design_among, effects, interactions,
    is_promising, strongest_beside, student,
};
use niagara_store::{Ending, Goal, NotTried, Phase, Screened, Together};

use crate::duels::workbench::Workbench;
use crate::lever::Role;
use crate::questions::probe::failing_levers;
use crate::studies::checkpoint;
use crate::studies::observer::{Event, Observer};
use crate::studies::study::Study;
use crate::variants::candidate::{Candidate, LeverFactor, factors, with_levels};
use crate::variants::variant::Variant;
use niagara_server::Cancelled;
use niagara_stats::derive_seed;

/// A duel this lopsided has a lever on one side that halves throughput, or worse.
const HALVED: f64 = std::f64::consts::LN_2;
/// Residual degrees of freedom below which a fit is not shown: its standard errors would be luck.
const MIN_DF: f64 = 4.0;
/// Duels that must agree before a lever is set aside for it.
const MIN_LOPSIDED_DUELS: usize = 4;

/// How the screening goes about it.
#[derive(Debug, Clone)]
pub(crate) struct ScreenOptions {
    /// Duels in the design.
    pub duels: usize,
    /// Couples in a duel.
    pub couples: u32,
    /// What levers are screened for.
    pub goal: Goal,
    /// What is left to it of the budget.
    pub time: ScreenTime,
    /// Log gain from which a lever is worth promoting.
    pub worthwhile: f64,
    /// Standard error (log) at which further replicates of the design are not worth their time.
    pub enough: f64,
    pub seed: u64,
}

/// The time of a screening, told again before every duel: what the total needs behind it depends on what duels take here.
#[derive(Debug, Clone)]
pub(crate) struct ScreenTime {
    /// Seconds of the whole study.
    pub budget_seconds: f64,
    /// Share of the budget that it takes at most once something is worth promoting.
    pub share: f64,
    /// Couples of a duel that judges the total.
    pub judging_couples: u32,
    /// Duels of the total that have to fit behind it: once something is worth promoting, and in any case.
    pub total_duels: [usize; 2],
    /// Room for duels that take longer than planned.
    pub spare: f64,
}

impl ScreenTime {
    /// Seconds of the budget at which the screening ends when something is worth promoting, and whatever was found.
    pub fn ends(&self, study: &Study) -> [f64; 2] {
        let duel = study.duel_seconds(self.judging_couples) * self.spare;
        let [promising, latest] = self
            .total_duels
            .map(|duels| self.budget_seconds - duels as f64 * duel);
        [promising.min(self.share * self.budget_seconds), latest]
    }
}

/// What the screening found, by index of the candidate.
pub(crate) struct Screening {
    pub effects: Vec<Option<Screened>>,
    /// Levers that do something together beyond their sum, by index of the candidates.
    pub together: Vec<([usize; 2], Together)>,
    pub set_aside: Vec<(usize, NotTried)>,
    pub residual_sd: Option<f64>,
    /// There were too few duels to tell all levers apart: only the strongest effects are known, roughly.
    pub strongest_only: bool,
    /// Duels of which one side failed.
    pub failed: u32,
    /// Whether the study was stopped in the middle of it.
    pub stopped: bool,
}

/// What is screened, where and how.
struct Field<'a> {
    bench: &'a Workbench,
    base: &'a Variant,
    candidates: &'a [Candidate],
    options: &'a ScreenOptions,
}

/// The screening so far.
struct ScreeningState {
    factors: Vec<LeverFactor>,
    shapes: Vec<Factor>,
    observations: Vec<Observation>,
    /// The same duels by throughput, whatever the goal: a server whose throughput collapses shows there.
    throughput: Vec<Observation>,
    /// Duels of which one side failed.
    failed: u32,
    set_aside: Vec<(usize, NotTried)>,
    /// By candidate: neither the negative nor the positive control.
    is_lever: Vec<bool>,
    /// What is expected of levers that were measured elsewhere.
    expected: Vec<Expected>,
}

/// The seed of a duel of the screening, by its number.
fn seed_of(options: &ScreenOptions, duel: u64) -> u64 {
    derive_seed(options.seed, "screen", duel)
}

/// Screens `candidates` on `base`. Ends by itself when exact enough, or at its share of the budget.
pub(crate) fn screen(
    bench: &Workbench,
    study: &mut Study,
    base: &Variant,
    candidates: &[Candidate],
    options: &ScreenOptions,
    observer: &mut dyn Observer,
) -> Result<Screening> {
    let field = Field {
        bench,
        base,
        candidates,
        options,
    };
    let mut state = ScreeningState::of(candidates, options.goal);
    let ended = study.recall(&checkpoint::screening_ended())?;
    let mut begun = 0;
    let mut generation = 0;
    observer.see(Event::Stage {
        name: "screening",
        seconds: options.time.ends(study)[0] - study.used_seconds(),
    });
    'designs: loop {
        let rows = state.rows(
            options.duels,
            derive_seed(options.seed, "design", generation),
        );
        generation += 1;
        for (place, row) in rows.iter().enumerate() {
            let over = match ended {
                Some(duels) => begun >= duels,
                None => !study.has_recalled() && state.is_late(study, options),
            };
            if over {
                if ended.is_none() {
                    study.keep(&checkpoint::screening_ended(), &begun)?;
                }
                break 'designs;
            }
            let aside_before = state.set_aside.len();
            state.expect(
                &field,
                study,
                rows[place..].iter().take(study.ahead()),
                begun,
            );
            match state.duel(&field, study, row.clone(), begun, observer) {
                Err(error) if error.is::<Cancelled>() => {
                    return Ok(state.screening(candidates, true));
                }
                other => other?,
            }
            begun += 1;
            let newly_aside = &state.set_aside[aside_before..];
            for (_, NotTried { lever, reason, .. }) in newly_aside {
                observer.see(Event::Note(&format!("set aside: {lever} ({reason})")));
            }
            if !newly_aside.is_empty() {
                continue 'designs;
            }
        }
        if state
            .worst_std_err()
            .is_some_and(|worst| worst <= options.enough)
        {
            break;
        }
    }
    Ok(state.screening(candidates, false))
}

/// What is expected of the levels of the design that were measured elsewhere.
fn expected(candidates: &[Candidate], factors: &[LeverFactor]) -> Vec<Expected> {
    let levels = factors.iter().enumerate().flat_map(|(factor, of)| {
        let levels = of.levels.iter().enumerate();
        levels.map(move |(place, &index)| (factor, place + 1, index))
    });
    levels
        .filter_map(|(factor, level, index)| {
            Some(Expected {
                factor,
                level,
                log_effect: candidates[index].prior?.log_effect,
            })
        })
        .collect()
}

impl ScreeningState {
    /// Nothing seen yet.
    fn of(candidates: &[Candidate], goal: Goal) -> Self {
        let factors = factors(candidates);
        Self {
            expected: match goal {
                Goal::Throughput => expected(candidates, &factors),
                Goal::Cpu | Goal::P95 | Goal::P99 => Vec::new(),
            },
            shapes: factors.iter().map(LeverFactor::shape).collect(),
            factors,
            observations: Vec::new(),
            throughput: Vec::new(),
            failed: 0,
            set_aside: Vec::new(),
            is_lever: candidates
                .iter()
                .map(|candidate| candidate.lever.role() == Role::Lever)
                .collect(),
        }
    }

    fn is_aside(&self, candidate: usize) -> bool {
        self.set_aside.iter().any(|(index, _)| *index == candidate)
    }

    /// Rows over the levers still in the field; those set aside stay at base on both sides.
    fn rows(&self, duels: usize, seed: u64) -> Vec<Row> {
        // For each factor the original levels that are left, base first.
        let left: Vec<Vec<usize>> = self
            .factors
            .iter()
            .map(|factor| {
                std::iter::once(0)
                    .chain(
                        (1..=factor.levels.len())
                            .filter(|level| !self.is_aside(factor.levels[level - 1])),
                    )
                    .collect()
            })
            .collect();
        design_among(&left, duels, seed)
    }

    /// The fit, and whether it is of the strongest effects only, there being too few duels for all.
    fn fit_or_strongest(&self) -> (Fit, bool) {
        let fit = self.fit();
        if fit.residual_df >= MIN_DF {
            return (fit, false);
        }
        let fit = strongest_beside(&self.shapes, &self.observations, &self.expected);
        (fit, true)
    }

    fn fit(&self) -> Fit {
        // Only what the fit leaves over tells its noise: that of the couples within the duels knows nothing of
        // levers that act on each other. Of those, the strongest are fitted themselves.
        let pairs = interactions(&self.shapes, &self.observations);
        effects(&self.shapes, &self.observations, &pairs, None)
    }

    /// Whether the time is too short for another duel.
    fn is_late(&self, study: &Study, options: &ScreenOptions) -> bool {
        let then = study.used_seconds() + study.duel_seconds(options.couples);
        let [until, latest] = options.time.ends(study);
        then > latest || (then > until && self.is_anything_promising(options.worthwhile))
    }

    /// Whether a lever would be promoted by what is known so far; without one, the time kept for judging is better
    /// spent on further screening.
    fn is_anything_promising(&self, worthwhile: f64) -> bool {
        let (fit, _) = self.fit_or_strongest();
        fit.effects.iter().any(|effect| {
            let index = self.factors[effect.factor].levels[effect.level - 1];
            self.is_lever[index]
                && !self.is_aside(index)
                && is_promising(effect.log_effect, effect.std_err, worthwhile, SURE)
        })
    }

    /// Largest standard error among the levers in the field; `None` while one is not estimable.
    fn worst_std_err(&self) -> Option<f64> {
        let fit = self.fit();
        if fit.residual_df < MIN_DF {
            return None;
        }
        let mut worst: f64 = 0.0;
        for (f, factor) in self.factors.iter().enumerate() {
            for level in 1..=factor.levels.len() {
                if self.is_aside(factor.levels[level - 1]) {
                    continue;
                }
                let effect = fit.effect(f, level)?;
                worst = worst.max(effect.std_err);
            }
        }
        worst.is_finite().then_some(worst)
    }

    /// Fights the duel of `row`, number `place` of the screening, and takes its result; sets a lever aside where it shows that one keeps
    /// the server from working.
    fn duel(
        &mut self,
        field: &Field<'_>,
        study: &mut Study,
        row: Row,
        place: u64,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let Field {
            bench,
            candidates,
            options,
            ..
        } = *field;
        let (sides, seed) = (self.sides_of(field, &row), seed_of(options, place));
        let record = study.duel(
            bench,
            Phase::Screen,
            "",
            sides,
            options.couples,
            seed,
            observer,
        )?;
        match &record.ending {
            Ending::Failed { side, reason } => {
                let levels = if *side == 0 { &row.a } else { &row.b };
                self.failed += 1;
                self.set_aside_failing(field, study, levels, place + 1, reason)
            }
            Ending::Scored => {
                let Some(score) = options.goal.gain(&record) else {
                    return Ok(());
                };
                if let Some(throughput) = record.score {
                    self.throughput.push(Observation {
                        row: row.clone(),
                        score: throughput,
                    });
                }
                self.observations.push(Observation { row, score });
                self.set_aside_lever_that_halves(study, candidates)?;
                self.show(candidates, observer);
                Ok(())
            }
            Ending::Disturbed => Ok(()),
        }
    }

    /// Tells who runs the duels which come next, the first of them as the duel `from`.
    fn expect<'r>(
        &self,
        field: &Field<'_>,
        study: &mut Study,
        rows: impl Iterator<Item = &'r Row>,
        from: u64,
    ) {
        let next = rows
            .zip(from..)
            .map(|(row, duel)| (self.sides_of(field, row), seed_of(field.options, duel)));
        study.expect(field.bench, Phase::Screen, "", field.options.couples, next);
    }

    fn sides_of(&self, field: &Field<'_>, row: &Row) -> [Variant; 2] {
        [&row.a, &row.b]
            .map(|levels| with_levels(field.base, field.candidates, &self.factors, levels))
    }

    /// A side failed: finds the lever that keeps it from starting, where there is one.
    fn set_aside_failing(
        &mut self,
        field: &Field<'_>,
        study: &Study,
        levels: &[usize],
        duel: u64,
        reason: &str,
    ) -> Result<()> {
        let found = study.recall_or(&checkpoint::blame(duel), || {
            let levers: Vec<usize> = self
                .factors
                .iter()
                .zip(levels)
                .filter(|&(_, &level)| level > 0)
                .map(|(factor, &level)| factor.levels[level - 1])
                .collect();
            let found = failing_levers(field.bench, field.base, field.candidates, &levers)?;
            study.note("side failed", reason)?;
            Ok(found)
        })?;
        self.set_aside.extend(found.into_iter().filter_map(|lever| {
            let index = field
                .candidates
                .iter()
                .position(|candidate| candidate.lever.id() == lever.lever)?;
            Some((index, lever))
        }));
        Ok(())
    }

    /// Sets aside a lever that was on the slower side of every lopsided duel.
    fn set_aside_lever_that_halves(
        &mut self,
        study: &Study,
        candidates: &[Candidate],
    ) -> Result<()> {
        let lopsided: Vec<&Observation> = self
            .throughput
            .iter()
            .filter(|observation| observation.score.abs() > HALVED)
            .collect();
        let Some(suspect) = self.suspect(&lopsided) else {
            return Ok(());
        };
        let (factor, level) = suspect;
        let index = self.factors[factor].levels[level - 1];
        let count = lopsided.len();
        let mut sizes: Vec<f64> = lopsided.iter().map(|o| o.score.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        let typical = (-sizes[sizes.len() / 2]).exp();
        let reason = format!(
            "throughput halved or worse: × {typical:.2} on its side in {count} duels, then set aside"
        );
        study.note(
            "set aside",
            &format!("{}: {reason}", candidates[index].lever.id()),
        )?;
        let lever = &candidates[index].lever;
        self.set_aside.push((
            index,
            NotTried {
                lever: lever.id().to_owned(),
                title: lever.title().to_owned(),
                reason,
            },
        ));
        // Its duels stay in the fit, all of them: keeping only those that look normal would select by outcome.
        Ok(())
    }

    /// The one (factor, level) that was on the slower side of all lopsided duels and not on the faster; `None` while
    /// several were.
    fn suspect(&self, lopsided: &[&Observation]) -> Option<(usize, usize)> {
        if lopsided.len() < MIN_LOPSIDED_DUELS {
            return None;
        }
        let slower: Vec<(&Vec<usize>, &Vec<usize>)> = lopsided
            .iter()
            .map(|o| {
                if o.score > 0.0 {
                    (&o.row.a, &o.row.b)
                } else {
                    (&o.row.b, &o.row.a)
                }
            })
            .collect();
        let mut suspects = BTreeSet::new();
        for (f, factor) in self.factors.iter().enumerate() {
            for level in 1..=factor.levels.len() {
                let always_slower = slower
                    .iter()
                    .all(|(slow, fast)| slow[f] == level && fast[f] != level);
                if always_slower && !self.is_aside(factor.levels[level - 1]) {
                    suspects.insert((f, level));
                }
            }
        }
        match suspects.len() {
            1 => suspects.pop_first(),
            _ => None,
        }
    }

    /// The effects of a fit, by index of the candidate.
    fn screened(&self, fit: &Fit, candidates: &[Candidate]) -> Vec<Option<Screened>> {
        let mut found = vec![None; candidates.len()];
        for effect in &fit.effects {
            let index = self.factors[effect.factor].levels[effect.level - 1];
            if self.is_aside(index) || !effect.std_err.is_finite() {
                continue;
            }
            let candidate = &candidates[index];
            found[index] = Some(Screened {
                lever: candidate.lever.id().to_owned(),
                title: candidate.lever.title().to_owned(),
                change: candidate.change.one_line(),
                effect: fit.interval(effect, 0.95),
                std_err: effect.std_err,
                duels: effect.duels as u32,
            });
        }
        found
    }

    /// Tells whoever watches what is known by now. Interactions are left out: they cost a search after every duel, and nothing
    /// is decided by what is shown here.
    fn show(&self, candidates: &[Candidate], observer: &mut dyn Observer) {
        let fit = effects(&self.shapes, &self.observations, &[], None);
        let levers: Vec<Screened> = match fit.residual_df >= MIN_DF {
            true => self
                .screened(&fit, candidates)
                .into_iter()
                .flatten()
                .collect(),
            false => Vec::new(),
        };
        let levels: usize = self.factors.iter().map(|factor| factor.levels.len()).sum();
        let from = levels - self.set_aside.len().min(levels) + MIN_DF as usize;
        observer.see(Event::Screened {
            levers: &levers,
            from,
        });
    }

    fn screening(self, candidates: &[Candidate], stopped: bool) -> Screening {
        let (fit, strongest_only) = self.fit_or_strongest();
        let found = self.screened(&fit, candidates);
        let together = fit
            .interactions
            .iter()
            .map(|interaction| {
                let pair = interaction.pair;
                let levers = [pair.one, pair.other]
                    .map(|(factor, level)| self.factors[factor].levels[level - 1]);
                let t = student::quantile(0.975, fit.residual_df);
                let together = Together {
                    levers: levers.map(|index| candidates[index].lever.id().to_owned()),
                    titles: levers.map(|index| candidates[index].lever.title().to_owned()),
                    effect: Estimate::from_log_std_err(
                        interaction.log_effect,
                        interaction.std_err,
                        t,
                    ),
                    std_err: interaction.std_err,
                };
                (levers, together)
            })
            .collect();
        Screening {
            effects: found,
            together,
            strongest_only,
            residual_sd: fit.residual_sd.is_finite().then_some(fit.residual_sd),
            failed: self.failed,
            stopped,
            set_aside: self.set_aside,
        }
    }
}
