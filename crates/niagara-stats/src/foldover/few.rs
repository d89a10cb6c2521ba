//! The strongest effects when there are too few duels to fit all of them: better than none, where time ended early.

use super::fit::{Column, Effect, Fit, effects, levels};
use super::{Factor, Observation, Row};
use crate::sample::median;
use statrs::distribution::{ContinuousCDF, FisherSnedecor};

/// Duels for each effect that is fitted.
const DUELS_FOR_ONE: usize = 4;
/// An effect is fitted when chance alone would explain as much with at most this probability.
const FALSE_ALARM: f64 = 0.1;
/// Standard deviations beyond which a score counts as if it lay at them (Huber's function). By simulation of screenings of 26 and
/// 40 duels in which 4 to 15 % of the scores are far off: the final variants are faster with 2 than with 2.5, 3 or none at all
/// (`tests/simulations/short_screening.rs`), and as fast where no score is.
const REACH: f64 = 2.0;
/// Median absolute deviation of a normal distribution with standard deviation 1.
const NORMAL_MAD: f64 = 0.6745;
/// Rounds in which the scores that are held settle.
const ROUNDS: usize = 6;
/// Change of a held score (log) that is none.
const SETTLED: f64 = 1e-6;

/// Forward selection over factors, then every other level by itself from what is left, so that each has an estimate; standard
/// errors count as noise what the others do. For choosing what fresh duels then judge, not for claims.
///
/// A server that stands still for a second loses its duel by a multiple, and one such duel in 26 would decide about every lever:
/// a score that is far from what the selected levels explain is held at twice the spread of the others (at least
/// `own_sd`, what its couples tell of a score's error), and the selection is made again.
pub(crate) fn strongest_effects(
    factors: &[Factor],
    observations: &[Observation],
    own_sd: f64,
) -> Fit {
    let mut held = observations.to_vec();
    let mut best = selected(factors, &held);
    for _ in 0..ROUNDS {
        let next = hold(observations, &best, own_sd);
        let moved = next.iter().zip(&held).any(|(one, other)| {
            let is_told = one.score.is_finite();
            is_told && (one.score - other.score).abs() > SETTLED
        });
        if !moved {
            break;
        }
        held = next;
        best = selected(factors, &held);
    }
    let alone = alone(factors, &held, &best);
    best.effects.extend(alone);
    // What was cut off is noise all the same. That the spread is Huber's, σ·√E[ψ²] / E[ψ′], makes up for it.
    let cut = held.iter().zip(observations);
    let cut = cut.filter(|(one, other)| (one.score - other.score).abs() > SETTLED);
    let kept = 1.0 - cut.count() as f64 / observations.len().max(1) as f64;
    let spread = best.residual_sd / kept;
    best.with_noise_at_least(spread)
}

/// The observations, those further from what `fit` explains than [`REACH`] held there.
fn hold(observations: &[Observation], fit: &Fit, own_sd: f64) -> Vec<Observation> {
    let explained: Vec<f64> = observations
        .iter()
        .map(|observation| fitted(fit, &observation.row))
        .collect();
    let left: Vec<f64> = observations
        .iter()
        .zip(&explained)
        .map(|(observation, fitted)| observation.weighted((observation.score - fitted).abs()))
        .filter(|left| left.is_finite())
        .collect();
    let fitted_away = left.len() as f64 / fit.residual_df.max(1.0);
    let spread = median(&left).unwrap_or(0.0) / NORMAL_MAD * fitted_away.sqrt();
    let reach = REACH * spread.max(own_sd);
    observations
        .iter()
        .zip(&explained)
        .map(|(observation, fitted)| {
            // One of little weight lies further off by its own noise, which it counts less for already.
            let reach = reach / observation.weight.sqrt();
            Observation {
                score: fitted + (observation.score - fitted).clamp(-reach, reach),
                ..observation.clone()
            }
        })
        .collect()
}

/// One after the other, the factor that is least likely to explain by chance what it does of what is left (F test), as long as
/// there are four duels for each effect.
fn selected(factors: &[Factor], observations: &[Observation]) -> Fit {
    let most = observations.len() / DUELS_FOR_ONE;
    let mut selected = vec![false; factors.len()];
    let mut best = fit(factors, observations, &selected);
    loop {
        let next = (0..factors.len())
            .filter(|factor| !selected[*factor])
            .filter_map(|factor| {
                let mut with = selected.clone();
                with[factor] = true;
                let wider = fit(factors, observations, &with);
                let by_chance = by_chance(&best, &wider, observations)?;
                (wider.effects.len() <= most).then_some((by_chance, factor, wider))
            })
            .min_by(|x, y| x.0.total_cmp(&y.0));
        match next {
            Some((p, factor, wider)) if p <= FALSE_ALARM => {
                selected[factor] = true;
                best = wider;
            }
            _ => return best,
        }
    }
}

/// What the effects of a fit say of a duel.
fn fitted(fit: &Fit, row: &Row) -> f64 {
    let effects = fit.effects.iter();
    effects
        .map(|effect| effect.log_effect * Column::One((effect.factor, effect.level)).contrast(row))
        .sum()
}

/// What is expected of a level before anything was measured here.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    /// Index of the factor.
    pub factor: usize,
    /// Its level, 1 or more.
    pub level: usize,
    /// ln(rate with it / rate with the base).
    pub log_effect: f64,
}

/// [`strongest_effects`] of what the duels show beyond what was `expected`: large effects that are known roughly beforehand
/// are then no noise to the others, and what a duel shows otherwise is found as a difference from what was expected. What
/// comes back is the effects themselves. `own_sd` is a score's standard deviation by its couples; 0 where nothing tells it.
pub fn strongest_beside(
    factors: &[Factor],
    observations: &[Observation],
    expected: &[Expected],
    own_sd: f64,
) -> Fit {
    let known = |row: &Row| -> f64 {
        let of = |e: &Expected| e.log_effect * Column::One((e.factor, e.level)).contrast(row);
        expected.iter().map(of).sum()
    };
    let beyond: Vec<Observation> = observations
        .iter()
        .map(|observation| Observation {
            score: observation.score - known(&observation.row),
            ..observation.clone()
        })
        .collect();
    let mut fit = strongest_effects(factors, &beyond, own_sd);
    for effect in &mut fit.effects {
        let of = |e: &&Expected| (e.factor, e.level) == (effect.factor, effect.level);
        effect.log_effect += expected.iter().find(of).map_or(0.0, |e| e.log_effect);
    }
    fit
}

/// Every level that is not in the fit, told by itself from the scores less what the fit explains.
fn alone(factors: &[Factor], observations: &[Observation], fit: &Fit) -> Vec<Effect> {
    levels(factors)
        .into_iter()
        .filter(|&(factor, level)| fit.effect(factor, level).is_none())
        .filter_map(|(factor, level)| {
            let (mut xx, mut xy, mut duels) = (0.0, 0.0, 0);
            for observation in observations.iter().filter(|o| o.score.is_finite()) {
                let x = Column::One((factor, level)).contrast(&observation.row);
                let weight = observation.weight;
                xx += weight * x * x;
                xy += weight * x * (observation.score - fitted(fit, &observation.row));
                duels += usize::from(x != 0.0);
            }
            (xx > 0.0).then(|| Effect {
                factor,
                level,
                log_effect: xy / xx,
                std_err: fit.residual_sd / xx.sqrt(),
                duels,
            })
        })
        .collect()
}

/// The probability that what `wider` explains beyond `narrow` is chance: the F test, with as many degrees of freedom as
/// `wider` has effects more. `None` where nothing is left to judge by.
fn by_chance(narrow: &Fit, wider: &Fit, observations: &[Observation]) -> Option<f64> {
    let told = observations.iter().filter(|o| o.score.is_finite()).count();
    // A factor that the duels cannot tell from those already fitted takes their estimates away: it adds nothing.
    let more = wider.effects.len().saturating_sub(narrow.effects.len()) as f64;
    let df = told as f64 - narrow.effects.len() as f64 - more;
    if more < 1.0 || df < 1.0 {
        return None;
    }
    let explained = left_over(narrow, observations) - left_over(wider, observations);
    let variance = (left_over(wider, observations) / df).max(f64::MIN_POSITIVE);
    let f = explained.max(0.0) / more / variance;
    Some(1.0 - FisherSnedecor::new(more, df).ok()?.cdf(f))
}

/// The least squares fit of the selected factors alone: the others are at their base on both sides.
fn fit(factors: &[Factor], observations: &[Observation], selected: &[bool]) -> Fit {
    let only = |levels: &[usize]| -> Vec<usize> {
        let masked = levels.iter().zip(selected);
        masked
            .map(|(level, kept)| level * usize::from(*kept))
            .collect()
    };
    let masked: Vec<Observation> = observations
        .iter()
        .map(|observation| Observation {
            row: Row {
                a: only(&observation.row.a),
                b: only(&observation.row.b),
            },
            ..observation.clone()
        })
        .collect();
    effects(factors, &masked, &[])
}

/// Sum of the squares that a fit does not explain; all of them, where it has no degrees of freedom.
fn left_over(fit: &Fit, observations: &[Observation]) -> f64 {
    if fit.residual_df > 0.0 {
        fit.residual_sd.powi(2) * fit.residual_df
    } else {
        observations
            .iter()
            .map(|o| o.weight * o.score.powi(2))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foldover::design;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;
    use rand_distr::{Distribution, Normal};

    /// Twelve duels of a design for thirty levers: least squares alone can tell none of them.
    #[test]
    fn a_large_effect_is_found_with_fewer_duels_than_levers() {
        let factors = [Factor::Switch; 30];
        let noise = Normal::<f64>::new(0.0, 0.02).expect("a positive width");
        let mut found = 0;
        for seed in 0..100 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let observations: Vec<Observation> = design(&factors, 40, seed)
                .into_iter()
                .take(12)
                .map(|row| {
                    let score = 0.16 * (row.b[4] as f64 - row.a[4] as f64) + noise.sample(&mut rng);
                    Observation::new(row, score)
                })
                .collect();
            let fit = strongest_effects(&factors, &observations, 0.0);
            assert_eq!(fit.effects.len(), 30, "each has an estimate");
            let first = fit
                .effects
                .iter()
                .max_by(|x, y| x.log_effect.total_cmp(&y.log_effect));
            found += usize::from(first.is_some_and(|effect| effect.factor == 4));
        }
        assert!(found >= 95, "{found} of 100");
    }

    /// Two levers that are always set together cannot be told apart: one or none is fitted, and nothing fails.
    #[test]
    fn levers_that_go_together_are_no_failure() {
        let observations: Vec<Observation> = design(&[Factor::Switch], 12, 1)
            .into_iter()
            .map(|row| Observation {
                score: 0.2 * (row.b[0] as f64 - row.a[0] as f64),
                row: Row {
                    a: vec![row.a[0]; 2],
                    b: vec![row.b[0]; 2],
                },
                weight: 1.0,
            })
            .collect();
        let fit = strongest_effects(&[Factor::Switch; 2], &observations, 0.0);
        assert_eq!(fit.effects.len(), 2);
        assert!(fit.effects.iter().any(|effect| effect.log_effect > 0.1));
    }

    #[test]
    fn a_fit_without_observations_has_no_effects() {
        assert!(
            strongest_effects(&[Factor::Switch], &[], 0.0)
                .effects
                .is_empty()
        );
        assert!(strongest_effects(&[], &[], 0.0).effects.is_empty());
    }
}
