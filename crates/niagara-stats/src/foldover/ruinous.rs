//! Levers that cost so much that further duels with them would be wasted.

use super::fit::{Column, Effect, levels, normal_equations};
use super::{Expected, Factor, Observation};

/// ln(2/3): what a lever must surely take of the throughput before it is called ruinous.
const SURE_LOSS: f64 = -0.405;
/// Standard errors that make it sure. It is asked of every lever after every duel.
const STD_ERRS: f64 = 3.0;
/// Duels one after the other after each of which that has to be so: of the many levers and duels that are looked at, one is far off
/// by chance now and then, and the next duel says so.
const IN_A_ROW: usize = 4;
/// Duels that a lever must have been in.
const MIN_DUELS: usize = 4;
/// Log effect that a lever may have of which nothing is known.
const ORDINARY: f64 = 0.05;
/// How far an expected log effect may be off, as a share of it.
const OFF_BY: f64 = 0.5;
/// Noise of a duel (log) that is reckoned with where its couples tell of less: they know nothing of restarts.
const LEAST_NOISE: f64 = 0.05;
/// Mean loss (log) of its side in the duels so far, whatever else was there, from which a lever is looked at.
const SUSPECT: f64 = SURE_LOSS / 2.0;
/// Rounds in which the widths settle.
const ROUNDS: usize = 10;

/// The levels that surely cost more than a third of the throughput, the surest first, by duels whose `observations` are of
/// throughput and whose scores have a noise of `sd` by their own couples (0: not known).
///
/// That one side of a duel was far slower says nothing of a lever: a build of × 1.6, a socket of × 1.2 and a pool of × 1.1
/// on the other side are × 2.1 together, and as every lever is on either side of every duel, one of forty stood against
/// them each time. What counts is a lever's own effect with those of all others taken out. It is wanted while there are
/// fewer duels than levers, for a lever that halves throughput makes every duel less exact; least squares has no answer
/// then, and forward selection has one whose standard error forgets what was not selected. So this is a ridge: each of the
/// others may do something, ± 5 % or what was `expected` of it, and more where the duels say so, its width growing to
/// what is found of it (as in sparse Bayesian learning, Tipping, JMLR 1, 2001). The lever in question is free. Its
/// standard error then contains what the others might explain instead: of two that always stood together neither is
/// sure, and with every duel more is.
///
/// A lever that halves throughput (−0.69) is not held against −ln 2, which it would pass every other time, but
/// against a loss of a third, of which it is three standard errors away after about as many duels as a third of the levers.
pub fn ruinous(
    factors: &[Factor],
    observations: &[Observation],
    expected: &[Expected],
    sd: f64,
) -> Vec<Effect> {
    let mut found = by_all(factors, observations, expected, sd);
    for fewer in 1..IN_A_ROW {
        if found.is_empty() {
            break;
        }
        let earlier = observations.len().saturating_sub(fewer);
        let before = by_all(factors, &observations[..earlier], expected, sd);
        let level = |effect: &Effect| (effect.factor, effect.level);
        found.retain(|effect| before.iter().any(|other| level(other) == level(effect)));
    }
    found
}

/// The levels that cost more than a third by these duels, all of them, the surest first.
fn by_all(
    factors: &[Factor],
    observations: &[Observation],
    expected: &[Expected],
    sd: f64,
) -> Vec<Effect> {
    let levels = levels(factors);
    let known: Vec<f64> = levels
        .iter()
        .map(|level| {
            let of = |e: &&Expected| (e.factor, e.level) == *level;
            expected.iter().find(of).map_or(0.0, |e| e.log_effect)
        })
        .collect();
    let (rows, beyond): (Vec<Vec<f64>>, Vec<f64>) = observations
        .iter()
        .filter(|observation| observation.score.is_finite())
        .map(|observation| {
            let contrasts = levels.iter().map(|&level| Column::One(level));
            let contrasts: Vec<f64> = contrasts.map(|c| c.contrast(&observation.row)).collect();
            let known: f64 = contrasts.iter().zip(&known).map(|(x, e)| x * e).sum();
            (contrasts, observation.score - known)
        })
        .unzip();
    let suspects: Vec<(usize, usize)> = (0..levels.len())
        .filter_map(|place| {
            let of = rows.iter().map(|row| row[place]).zip(&beyond);
            let duels = of.clone().filter(|(x, _)| *x != 0.0).count();
            let lost: f64 = of.map(|(x, score)| x * score).sum::<f64>() / duels.max(1) as f64;
            (duels >= MIN_DUELS && lost + known[place] < SUSPECT).then_some((place, duels))
        })
        .collect();
    if suspects.is_empty() {
        return Vec::new();
    }
    let ridge = Ridge::of(&rows, &beyond, sd.max(LEAST_NOISE), &known);
    let mut found: Vec<Effect> = suspects
        .into_iter()
        .filter_map(|(place, duels)| {
            let (log_effect, std_err) = ridge.freely(place)?;
            let (factor, level) = levels[place];
            Some(Effect {
                factor,
                level,
                log_effect: log_effect + known[place],
                std_err,
                duels,
            })
        })
        .filter(|effect| at_best(effect) < SURE_LOSS)
        .collect();
    found.sort_by(|one, other| at_best(one).total_cmp(&at_best(other)));
    found
}

/// The most favourable log effect that a level may still have.
fn at_best(effect: &Effect) -> f64 {
    effect.log_effect + STD_ERRS * effect.std_err
}

/// Effects that are each held near 0 by a width of their own.
struct Ridge {
    widths: Vec<f64>,
    /// What is found of each.
    means: Vec<f64>,
    variances: Vec<f64>,
    /// How much larger the squares are that the model is to explain than it allows for; at least 1.
    misfit: f64,
}

impl Ridge {
    /// With widths that fit the scores; of those of which something was `known`, a share of that is the least.
    fn of(rows: &[Vec<f64>], scores: &[f64], noise: f64, known: &[f64]) -> Self {
        let least: Vec<f64> = known
            .iter()
            .map(|known| ORDINARY.max(OFF_BY * known.abs()))
            .collect();
        let equations = normal_equations(rows, scores, least.len());
        let mut ridge = Self::with(&equations, noise, least.clone());
        for _ in 0..ROUNDS {
            let means = ridge.means.iter().zip(&ridge.variances).zip(&least);
            let widths =
                means.map(|((mean, variance), least)| (mean * mean + variance).sqrt().max(*least));
            ridge = Self::with(&equations, noise, widths.collect());
        }
        ridge.misfit = ridge.squares(rows, scores, noise) / scores.len().max(1) as f64;
        ridge.misfit = ridge.misfit.max(1.0);
        ridge
    }

    fn with((normal, right): &(Vec<Vec<f64>>, Vec<f64>), noise: f64, widths: Vec<f64>) -> Self {
        let mut precision = normal.clone();
        for (place, row) in precision.iter_mut().enumerate() {
            row.iter_mut().for_each(|x| *x /= noise * noise);
            row[place] += widths[place].powi(-2);
        }
        let covariance = inverse(precision);
        let means = covariance.iter().map(|row| {
            let along = row.iter().zip(right).map(|(x, y)| x * y);
            along.sum::<f64>() / (noise * noise)
        });
        Self {
            means: means.collect(),
            variances: (0..widths.len())
                .map(|place| covariance[place][place])
                .collect(),
            widths,
            misfit: 1.0,
        }
    }

    /// Squares of what is left over and of the effects, each in the units that are allowed for it: about one for every score.
    fn squares(&self, rows: &[Vec<f64>], scores: &[f64], noise: f64) -> f64 {
        let left: f64 = rows
            .iter()
            .zip(scores)
            .map(|(row, score)| {
                let fitted: f64 = row.iter().zip(&self.means).map(|(x, e)| x * e).sum();
                ((score - fitted) / noise).powi(2)
            })
            .sum();
        let effects = self.means.iter().zip(&self.widths);
        left + effects
            .map(|(mean, width)| (mean / width).powi(2))
            .sum::<f64>()
    }

    /// The effect at this place, and its standard error, where nothing holds it near 0; `None` where no score tells of it.
    fn freely(&self, place: usize) -> Option<(f64, f64)> {
        let held = self.variances[place].recip();
        let free = held - self.widths[place].powi(-2);
        // Less than rounding: it was in no duel.
        (free > 1e-9 * held).then(|| {
            let mean = self.means[place] * held / free;
            (mean, (self.misfit / free).sqrt())
        })
    }
}

/// The inverse of a symmetric matrix whose eigenvalues are positive, by Gauss and Jordan; such a one needs no pivoting.
fn inverse(mut a: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    for k in 0..a.len() {
        let mut pivot_row = std::mem::take(&mut a[k]);
        let pivot = std::mem::replace(&mut pivot_row[k], 1.0);
        pivot_row.iter_mut().for_each(|x| *x /= pivot);
        for row in a.iter_mut().filter(|row| !row.is_empty()) {
            let factor = std::mem::take(&mut row[k]);
            for (x, y) in row.iter_mut().zip(&pivot_row) {
                *x -= factor * y;
            }
        }
        a[k] = pivot_row;
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foldover::{Row, design};

    /// Duels without noise.
    fn exact(rows: Vec<Row>, log_effects: &[f64]) -> Vec<Observation> {
        let of = |side: &[usize]| -> f64 {
            let levels = side.iter().zip(log_effects);
            levels.map(|(level, effect)| *level as f64 * effect).sum()
        };
        rows.into_iter()
            .map(|row| Observation {
                score: of(&row.b) - of(&row.a),
                row,
                weight: 1.0,
            })
            .collect()
    }

    #[test]
    fn an_inverse_times_its_matrix_is_one() {
        let n = 9;
        let a: Vec<Vec<f64>> = (0..n)
            .map(|i| {
                let of =
                    |j: usize| ((i * j + i + j) % 7) as f64 + f64::from(u8::from(i == j)) * 40.0;
                (0..n).map(of).collect()
            })
            .collect();
        let inverse = inverse(a.clone());
        for (i, row) in a.iter().enumerate() {
            for j in 0..n {
                let product: f64 = row.iter().zip(&inverse).map(|(x, of)| x * of[j]).sum();
                assert!((product - f64::from(u8::from(i == j))).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn what_halves_is_found_with_its_effect_and_what_costs_a_fifth_is_not() {
        let factors = [Factor::Switch; 6];
        let truth = [0.0, -0.7, 0.2, -0.22, 0.0, 0.4];
        let found = ruinous(&factors, &exact(design(&factors, 12, 1), &truth), &[], 0.0);
        let levels: Vec<(usize, usize)> = found.iter().map(|e| (e.factor, e.level)).collect();
        assert_eq!(levels, [(1, 1)]);
        assert!((found[0].log_effect + 0.7).abs() < 0.01, "{found:?}");
        assert_eq!(found[0].duels, 12);
    }

    /// Whichever it is: nothing is said of either until a duel has them apart.
    #[test]
    fn of_two_that_always_stood_together_neither_is_sure() {
        let factors = [Factor::Switch; 2];
        let together: Vec<Row> = design(&factors[..1], 20, 1)
            .into_iter()
            .map(|row| Row {
                a: vec![row.a[0]; 2],
                b: vec![row.b[0]; 2],
            })
            .collect();
        let mut observations = exact(together, &[-0.9, 0.0]);
        assert_eq!(ruinous(&factors, &observations, &[], 0.02), []);
        observations.extend(exact(design(&factors, 4, 2), &[-0.9, 0.0]));
        let found = ruinous(&factors, &observations, &[], 0.02);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].factor, 0);
    }

    #[test]
    fn without_duels_nothing_is_said() {
        assert_eq!(ruinous(&[Factor::Switch; 3], &[], &[], 0.0), []);
        assert_eq!(ruinous(&[], &[], &[], 0.0), []);
        let factors = [Factor::Switch];
        let mut observations = exact(design(&factors, 3, 1), &[-1.0]);
        assert_eq!(
            ruinous(&factors, &observations, &[], 0.0),
            [],
            "three duels"
        );
        observations.extend(exact(design(&factors, 3, 2), &[f64::NAN]));
        assert_eq!(ruinous(&factors, &observations, &[], 0.0), [], "no scores");
    }
}
