//! Which two levels do something together that the sum of their effects does not explain.

use super::fit::{Column, levels};
use super::projection::{beside, dot, extend, squares};
use super::{Factor, Observation, Pair};
use crate::student;

/// Probability of finding a first pair where there is none.
const FALSE_ALARM: f64 = 0.05;
/// A pair is judged from at least this many duels that had both its levels on one side only.
const MIN_DUELS: usize = 4;
/// Variation of its own that a pair must have beside everything else that is fitted, in duels (a sum of squares of contrasts of
/// 1), or it cannot be told apart. Pairs of mirrored switches have none. A pair with one duel's worth is that duel by another
/// name: it explains whatever went wrong in it.
const MIN_OWN: f64 = 2.0;
/// Residual degrees of freedom that must be left to judge by.
const MIN_DF: usize = 8;
/// More than these are no exceptions but another model.
const MOST: usize = 4;

/// The pairs of levels whose interaction stands out, strongest first: forward selection by the F test, each step at 5 %
/// over all pairs that can be told apart (Bonferroni), held against a noise of at least `least_sd`, what the couples within
/// the duels tell of a score's own error (0: not known). A pair that is fitted takes out of the noise what would otherwise
/// widen the interval of every lever.
pub fn interactions(factors: &[Factor], observations: &[Observation], least_sd: f64) -> Vec<Pair> {
    let told: Vec<&Observation> = observations
        .iter()
        .filter(|observation| observation.score.is_finite())
        .collect();
    let column = |column: &Column| -> Vec<f64> {
        told.iter()
            .map(|observation| observation.weighted(column.contrast(&observation.row)))
            .collect()
    };
    let levels = levels(factors);
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for &level in &levels {
        extend(&mut basis, column(&Column::One(level)));
    }
    let scores: Vec<f64> = told
        .iter()
        .map(|observation| observation.weighted(observation.score))
        .collect();
    let mut residual = beside(&basis, scores);
    // Pairs with what of their column nothing fitted so far explains; shrinks as pairs are taken.
    let mut candidates: Vec<(Pair, Vec<f64>)> = Vec::new();
    for (place, &one) in levels.iter().enumerate() {
        for &other in levels[place + 1..].iter().filter(|other| other.0 != one.0) {
            let pair = Pair { one, other };
            let own = column(&Column::Both(pair));
            if own.iter().filter(|x| **x != 0.0).count() < MIN_DUELS {
                continue;
            }
            let left = beside(&basis, own);
            if squares(&left) >= MIN_OWN {
                candidates.push((pair, left));
            }
        }
    }

    let mut found = Vec::new();
    while found.len() < MOST && told.len() > basis.len() + MIN_DF {
        let total = squares(&residual);
        let strongest = candidates
            .iter()
            .enumerate()
            .map(|(place, (_, left))| (place, dot(left, &residual).powi(2) / squares(left)))
            .max_by(|x, y| x.1.total_cmp(&y.1));
        let Some((place, explained)) = strongest else {
            break;
        };
        let df = (told.len() - basis.len() - 1) as f64;
        let noise = ((total - explained) / df).max(least_sd * least_sd);
        let t = (explained / noise.max(f64::MIN_POSITIVE)).sqrt();
        let p = 2.0 * (1.0 - student::cdf(t, df));
        // Without any noise (exact data) everything that is left is rounding.
        if p > FALSE_ALARM / candidates.len() as f64 || total < 1e-18 {
            break;
        }
        let (pair, left) = candidates.swap_remove(place);
        found.push(pair);
        extend(&mut basis, left);
        residual = beside(&basis, residual);
        candidates.retain_mut(|(_, left)| {
            *left = beside(&basis, std::mem::take(left));
            squares(left) >= MIN_OWN
        });
    }
    found
}
