//! Which two levels do something together that the sum of their effects does not explain.

use super::fit::{Column, levels};
use super::projection::{beside, dot, extend, squares};
use super::{Factor, Observation, Pair};
use crate::student;

/// Probability of finding a first pair where there is none.
const FALSE_ALARM: f64 = 0.05;
/// A pair is judged from at least this many duels that had both its levels on one side only.
const MIN_DUELS: usize = 4;
/// Part of a pair's own variation that must be left beside everything else fitted, or it cannot be told apart: pairs of
/// mirrored switches have none.
const MIN_OWN: f64 = 0.1;
/// Residual degrees of freedom that must be left to judge by.
const MIN_DF: usize = 8;
/// More than these are no exceptions but another model.
const MOST: usize = 4;

/// The pairs of levels whose interaction stands out, strongest first: forward selection by the F test, each step at 5 %
/// over all pairs that can be told apart (Bonferroni). A pair that is fitted takes out of the noise what would otherwise
/// widen the interval of every lever.
pub fn interactions(factors: &[Factor], observations: &[Observation]) -> Vec<Pair> {
    let told: Vec<&Observation> = observations
        .iter()
        .filter(|observation| observation.score.is_finite())
        .collect();
    let column = |column: &Column| -> Vec<f64> {
        told.iter()
            .map(|observation| column.contrast(&observation.row))
            .collect()
    };
    let levels = levels(factors);
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for &level in &levels {
        extend(&mut basis, column(&Column::One(level)));
    }
    let scores: Vec<f64> = told.iter().map(|observation| observation.score).collect();
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
            let whole = squares(&own);
            let left = beside(&basis, own);
            if squares(&left) >= MIN_OWN * whole {
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
        let t = (explained * df / (total - explained).max(f64::MIN_POSITIVE)).sqrt();
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
            let before = squares(left);
            *left = beside(&basis, std::mem::take(left));
            squares(left) >= MIN_OWN * before
        });
    }
    found
}
