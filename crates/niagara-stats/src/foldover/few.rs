//! The strongest effects when there are too few duels to fit all of them: better than none, where time ended early.

use super::fit::{Column, Effect, Fit, effects, levels};
use super::{Factor, Observation, Row};
use statrs::distribution::{ContinuousCDF, FisherSnedecor};

/// Duels for each effect that is fitted.
const DUELS_FOR_ONE: usize = 4;
/// An effect is fitted when chance alone would explain as much with at most this probability.
const FALSE_ALARM: f64 = 0.1;

/// Forward selection over factors: one after the other, the factor that is least likely to explain by chance what it does of
/// what is left (F test), as long as there are four duels for each effect. Every other level is then told by itself from what is
/// left, so that each has an estimate; standard errors count as noise what the others do. For choosing what fresh duels
/// then judge, not for claims.
pub(crate) fn strongest_effects(factors: &[Factor], observations: &[Observation]) -> Fit {
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
            _ => break,
        }
    }
    let alone = alone(factors, observations, &best);
    best.effects.extend(alone);
    best
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
/// comes back is the effects themselves.
pub fn strongest_beside(
    factors: &[Factor],
    observations: &[Observation],
    expected: &[Expected],
) -> Fit {
    let known = |row: &Row| -> f64 {
        let of = |e: &Expected| e.log_effect * Column::One((e.factor, e.level)).contrast(row);
        expected.iter().map(of).sum()
    };
    let beyond: Vec<Observation> = observations
        .iter()
        .map(|observation| Observation {
            row: observation.row.clone(),
            score: observation.score - known(&observation.row),
        })
        .collect();
    let mut fit = strongest_effects(factors, &beyond);
    for effect in &mut fit.effects {
        let of = |e: &&Expected| (e.factor, e.level) == (effect.factor, effect.level);
        effect.log_effect += expected.iter().find(of).map_or(0.0, |e| e.log_effect);
    }
    fit
}

/// Every level that is not in the fit, told by itself from the scores less what the fit explains.
fn alone(factors: &[Factor], observations: &[Observation], fit: &Fit) -> Vec<Effect> {
    let contrast = |row: &Row, level| Column::One(level).contrast(row);
    let fitted = |row: &Row| -> f64 {
        let effects = fit.effects.iter();
        effects
            .map(|effect| effect.log_effect * contrast(row, (effect.factor, effect.level)))
            .sum()
    };
    levels(factors)
        .into_iter()
        .filter(|&(factor, level)| fit.effect(factor, level).is_none())
        .filter_map(|(factor, level)| {
            let (mut xx, mut xy, mut duels) = (0.0, 0.0, 0);
            for observation in observations.iter().filter(|o| o.score.is_finite()) {
                let x = contrast(&observation.row, (factor, level));
                xx += x * x;
                xy += x * (observation.score - fitted(&observation.row));
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
            score: observation.score,
        })
        .collect();
    effects(factors, &masked, &[])
}

/// Sum of the squares that a fit does not explain; all of them, where it has no degrees of freedom.
fn left_over(fit: &Fit, observations: &[Observation]) -> f64 {
    if fit.residual_df > 0.0 {
        fit.residual_sd.powi(2) * fit.residual_df
    } else {
        observations.iter().map(|o| o.score.powi(2)).sum()
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
                    Observation { row, score }
                })
                .collect();
            let fit = strongest_effects(&factors, &observations);
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
            })
            .collect();
        let fit = strongest_effects(&[Factor::Switch; 2], &observations);
        assert_eq!(fit.effects.len(), 2);
        assert!(fit.effects.iter().any(|effect| effect.log_effect > 0.1));
    }

    #[test]
    fn a_fit_without_observations_has_no_effects() {
        assert!(strongest_effects(&[Factor::Switch], &[]).effects.is_empty());
        assert!(strongest_effects(&[], &[]).effects.is_empty());
    }
}
