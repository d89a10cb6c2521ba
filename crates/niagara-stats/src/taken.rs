//! CPU time that the hypervisor or other processes took while two slices ran: what a couple weighs for it, and how much
//! of the difference between its slices it explains.
//!
//! What is taken does not depend on which variant is called A: the order within a couple is a fair coin. So it costs
//! power, not validity, and nothing is discarded for it. Everything here is symmetric in the labels: swapping A and B of a
//! duel leaves the weights and the slope as they are and turns the sign of the score, which is all that the
//! signed-rank test asks for.

use serde::{Deserialize, Serialize};

use crate::couple::Couple;
use crate::interval_once::interval_once;
use crate::sample::median;

/// Share of the machine that others take from both slices together at which a couple weighs half.
pub const HALF_WEIGHT: f64 = 0.05;

/// Σx² below which the slope is held back: what noise of 10 % a couple and slopes of up to 2 make of Bayes' rule.
const RIDGE: f64 = 0.0025;
/// A machine of which all was taken has no logarithm; beyond this a slice says nothing more about the slope.
const MAX_TAKEN: f64 = 0.9;
/// A half-weight of 0 would leave nothing of any couple from which something was taken.
const MIN_HALF: f64 = 0.001;
/// Differences between the sides beyond this many standard errors are no chance (0.1 % two-sided).
const NOT_CHANCE: f64 = 3.29;
/// Error probability of saying that more is taken from one side in duel after duel.
const SAID_ALPHA: f64 = 0.01;
/// What must be taken more from one side before it is said (log of what is left): below it throughput moves by less than
/// any interval of a few dozen duels is wide.
const SAID_FROM: f64 = 0.01;
/// Sides whose own use of the CPUs differs by more than this (log ratio) are given different things by the machine.
const SAME_USE: f64 = 0.1;

/// The slope of ln(throughput) against ln(share of the CPUs that was left), pooled over the couples of a study's duels,
/// each around its duel's own mean.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct InterferenceSlope {
    sum_xx: f64,
    sum_xy: f64,
}

impl InterferenceSlope {
    /// Learns from one duel, unless what was taken there depends on the side.
    pub fn learn(&mut self, couples: &[Couple]) {
        if depends_on_side(couples) {
            return;
        }
        let points: Vec<(f64, f64)> = couples
            .iter()
            .filter(|couple| couple.counts())
            .filter_map(|couple| Some((taken_difference(couple), couple.log_ratio()?)))
            .collect();
        let (Some(x_mean), Some(y_middle)) = (
            mean(points.iter().map(|point| point.0)),
            median(&points.iter().map(|point| point.1).collect::<Vec<_>>()),
        ) else {
            return;
        };
        // A slice that stalled for another reason is no evidence about what was taken: its ratio is held to four
        // typical deviations.
        let deviations: Vec<f64> = points.iter().map(|p| (p.1 - y_middle).abs()).collect();
        let reach = 4.0 * 1.4826 * median(&deviations).unwrap_or(0.0);
        for (x, y) in points {
            let x = x - x_mean;
            self.sum_xx += x * x;
            self.sum_xy += x * (y - y_middle).clamp(-reach, reach);
        }
    }

    /// The slope, between 0 and 4; 0 while too little was taken to tell.
    pub fn slope(&self) -> f64 {
        (self.sum_xy / (self.sum_xx + RIDGE)).clamp(0.0, 4.0)
    }
}

/// What a couple counts for: 1 where nothing was taken, half where `half` of the machine was, by both slices together.
pub(crate) fn weight(couple: &Couple, half: f64) -> f64 {
    let taken = couple.taken[0] + couple.taken[1];
    // Nothing taken is a whole weight, whatever the half is.
    if taken > 0.0 {
        1.0 / (1.0 + taken / half.max(MIN_HALF))
    } else {
        1.0
    }
}

/// How much more of the machine was left to B's slice than to A's, as a difference of logarithms.
pub fn taken_difference(couple: &Couple) -> f64 {
    let left = |taken: f64| (1.0 - taken.clamp(0.0, MAX_TAKEN)).ln();
    left(couple.taken[1]) - left(couple.taken[0])
}

/// Whether adjusting for what was taken would take away a part of the variants' own difference: one side uses the CPUs
/// more than the other, or more is taken from one side than chance explains.
pub(crate) fn depends_on_side(couples: &[Couple]) -> bool {
    use_depends_on_side(couples) || is_more_from_one_side(couples)
}

/// Whether one side uses the CPUs more than the other.
fn use_depends_on_side(couples: &[Couple]) -> bool {
    let use_ratios: Vec<f64> = couples
        .iter()
        .filter(|couple| couple.counts() && couple.own.iter().all(|own| *own > 0.0))
        .map(|couple| (couple.own[1] / couple.own[0]).ln())
        .collect();
    median(&use_ratios).is_some_and(|middle| middle.abs() > SAME_USE)
}

/// Whether more is taken from one side of a duel than chance explains. Then couples are not weighted by it either: those of
/// which most was taken are those that show what the side brings about.
pub(crate) fn is_more_from_one_side(couples: &[Couple]) -> bool {
    let counted = couples.iter().filter(|couple| couple.counts());
    let differences: Vec<f64> = counted.map(taken_difference).collect();
    let sd = crate::standard_deviation(&differences).unwrap_or(0.0);
    let centre = mean(differences.iter().copied()).unwrap_or(0.0);
    centre != 0.0
        && differences.len() > 1
        && centre.abs() > NOT_CHANCE * sd / (differences.len() as f64).sqrt()
}

/// The side (0 is A) from which others took more CPU time in duel after duel, by what B had left more than A in each (the mean
/// [`taken_difference`] of its couples): more than chance explains (α 1 %) and enough to matter (a hundredth of the machine).
pub fn taken_more_from(of_duels: &[f64]) -> Option<usize> {
    let found = interval_once(of_duels, SAID_ALPHA)?;
    if found.ratio.ln().abs() < SAID_FROM {
        return None;
    }
    match (found.low > 1.0, found.high < 1.0) {
        (true, _) => Some(0),
        (_, true) => Some(1),
        _ => None,
    }
}

/// The side (0 is A) for whose slices what others took is not to be allowed for in a comparison whose duels have couples with these
/// [`taken_difference`]s: over all of them others took more from it than chance explains, and a hundredth of the machine or more on
/// average.
///
/// What a variant brings about now and then, in a few slices of each duel, no single duel tells from chance; all together do. Which
/// variant is called A makes no difference to the answer. Asked anew after each of twelve duels it says so without a cause in one
/// comparison of a hundred at the most (simulated), which is then judged by scores that are as fair as the others, only less exact. So
/// are those in which it is no variant's doing but each start's own, which couples do not tell from it.
pub fn judged_as_measured(of_duels: &[Vec<f64>]) -> Option<usize> {
    let all = || of_duels.iter().flatten().copied();
    let centre = mean(all())?;
    // A coin decides which slice of a couple is whose, so without a cause each difference has either sign: the sum of n of them
    // then has the variance Σx², however they are distributed. Of bursts of one size it takes eleven, all on one side.
    let (sum, squares) = (all().sum::<f64>(), all().map(|x| x * x).sum::<f64>());
    let is_chance = sum.abs() <= NOT_CHANCE * squares.sqrt();
    (centre.abs() >= SAID_FROM && !is_chance).then_some(usize::from(centre < 0.0))
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0usize, 0.0), |(n, sum), value| (n + 1, sum + value));
    (count > 0).then(|| sum / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn couple(a: f64, b: f64, taken: [f64; 2]) -> Couple {
        Couple {
            taken,
            ..Couple::undisturbed(a, b)
        }
    }

    /// Rates that fall twice as fast as what is left of the machine.
    fn squared(taken: [f64; 2]) -> Couple {
        let rate = |taken: f64| 1000.0 * (1.0 - taken).powi(2);
        couple(rate(taken[0]), rate(taken[1]), taken)
    }

    #[test]
    fn a_couple_weighs_half_where_a_twentieth_was_taken() {
        assert_eq!(weight(&couple(1.0, 1.0, [0.0, 0.0]), HALF_WEIGHT), 1.0);
        assert!((weight(&couple(1.0, 1.0, [0.02, 0.03]), HALF_WEIGHT) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_half_weight_of_nothing_still_weighs() {
        assert_eq!(weight(&couple(1.0, 1.0, [0.0, 0.0]), 0.0), 1.0);
        let robbed = weight(&couple(1.0, 1.0, [0.1, 0.1]), 0.0);
        assert!(robbed > 0.0 && robbed < 0.01, "{robbed}");
    }

    #[test]
    fn the_slope_is_learned_and_held_back_where_little_was_taken() {
        let duel: Vec<Couple> = (0..40)
            .map(|i| squared([0.3 * f64::from(i % 5) / 4.0, 0.3 * f64::from(i % 3) / 2.0]))
            .collect();
        let mut slope = InterferenceSlope::default();
        assert_eq!(slope.slope(), 0.0);
        slope.learn(&duel);
        assert!((slope.slope() - 2.0).abs() < 0.05, "{}", slope.slope());
        let mut quiet = InterferenceSlope::default();
        quiet.learn(&[squared([0.0, 0.001]), squared([0.001, 0.0])]);
        assert!(quiet.slope() < 0.01);
    }

    #[test]
    fn swapping_the_sides_changes_nothing() {
        let duel: Vec<Couple> = (0..30)
            .map(|i| {
                let wiggle = 1.0 + 0.03 * f64::from((i * 7) % 11);
                let mut one = squared([0.01 * f64::from(i % 9), 0.02 * f64::from(i % 4)]);
                one.b *= wiggle;
                one
            })
            .collect();
        let swapped: Vec<Couple> = duel.iter().map(Couple::swapped).collect();
        let (mut one, mut other) = (InterferenceSlope::default(), InterferenceSlope::default());
        one.learn(&duel);
        other.learn(&swapped);
        assert!((one.slope() - other.slope()).abs() < 1e-9 && one.slope() > 0.5);
        assert_eq!(depends_on_side(&duel), depends_on_side(&swapped));
    }

    #[test]
    fn what_is_taken_from_one_side_only_is_that_sides_own() {
        let lopsided: Vec<Couple> = (0..20)
            .map(|i| squared([0.0, 0.1 + 0.01 * f64::from(i % 3)]))
            .collect();
        assert!(depends_on_side(&lopsided));
        let half_the_cpus: Vec<Couple> = (0..20)
            .map(|_| Couple {
                own: [2.0, 1.0],
                ..Couple::undisturbed(100.0, 60.0)
            })
            .collect();
        assert!(depends_on_side(&half_the_cpus));
        let mut slope = InterferenceSlope::default();
        slope.learn(&lopsided);
        assert_eq!(slope, InterferenceSlope::default());
    }

    /// From 12 duels of 20 couples each: what B had left more than A in each couple, less where B provoked others.
    fn provoked(in_couples: usize, taken: f64) -> Vec<Vec<f64>> {
        let left = (1.0_f64 - taken).ln();
        let of_duel = |duel: usize| -> Vec<f64> {
            (0..20)
                .map(|couple| {
                    let noise = 0.01 * (((duel * 20 + couple) * 7919 % 13) as f64 - 6.0) / 6.0;
                    noise + if couple < in_couples { left } else { 0.0 }
                })
                .collect()
        };
        (0..12).map(of_duel).collect()
    }

    #[test]
    fn what_no_duel_tells_from_chance_all_of_them_do() {
        let now_and_then = provoked(2, 0.3);
        assert_eq!(judged_as_measured(&now_and_then[..5]), None, "ten slices");
        assert_eq!(judged_as_measured(&now_and_then[..6]), Some(1));
        assert_eq!(judged_as_measured(&now_and_then), Some(1));
        // The other way round with the labels exchanged.
        let turned = now_and_then
            .iter()
            .map(|of| of.iter().map(|x| -x).collect());
        assert_eq!(judged_as_measured(&turned.collect::<Vec<_>>()), Some(0));
        // Real, and too little to matter.
        assert_eq!(judged_as_measured(&provoked(20, 0.003)), None);
        assert_eq!(judged_as_measured(&provoked(0, 0.0)), None);
        assert_eq!(judged_as_measured(&[]), None);
    }
}
