//! Levers with which a server stands still now and then: their duels' scores, which are medians, hardly show it.

use statrs::distribution::{Binomial, DiscreteCDF};

use super::fit::levels;
use super::{Factor, Row};
use crate::all_time::DuelTotals;
use crate::promotion::ScreenedEffect;

/// Probability at which chance alone is no longer believed to have put the standstills on the side with a level. It is asked of those that
/// would be promoted, where an error costs the gain of one that is innocent: in simulations of machines that stand still by
/// themselves at most 3 of 100 final variants lose one by it (`tests/simulations/unsteady.rs`).
const BY_CHANCE: f64 = 0.05;

/// A level whose side stood still more often than the side without it, beyond chance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unsteady {
    /// Index of the factor.
    pub factor: usize,
    /// Its level, 1 or more.
    pub level: usize,
    /// Duels in which the side with it had more slices in which it stood still than the other.
    pub with: u32,
    /// Duels in which the side without it had more of them.
    pub without: u32,
    /// What that costs over all time (log, negative): by the shares of slices in which either side stood still.
    pub log_cost: f64,
}

impl Unsteady {
    /// Whether it costs so much that less than `worthwhile` (log) of what the level brings is left over all time.
    pub fn outweighs(&self, effect: &ScreenedEffect, worthwhile: f64) -> bool {
        effect.expected().0 + self.log_cost < worthwhile
    }
}

/// The levels that made their side stand still, of duels each of which set a row; those without totals tell nothing.
///
/// A duel counts once, whichever number of its slices it was: by a sign test over duels (exact, one-sided). In a fold-over design
/// every other lever is as often on the side with the level as on the other, so that standstills which another one brings about
/// are on either side by a fair coin.
pub fn unsteady<'d>(
    factors: &[Factor],
    duels: impl Iterator<Item = (&'d Row, Option<DuelTotals>)> + Clone,
) -> Vec<Unsteady> {
    let told = duels.filter_map(|(row, totals)| Some((row, totals?)));
    levels(factors)
        .into_iter()
        .filter_map(|(factor, level)| {
            let (mut with, mut without) = (0, 0);
            // Slices, and those that were slow, of the side with it and of the other.
            let (mut slices, mut slow) = ([0; 2], [0; 2]);
            for (row, totals) in told.clone() {
                let side = match [&row.a, &row.b].map(|side| side.get(factor) == Some(&level)) {
                    [true, false] => 0,
                    [false, true] => 1,
                    _ => continue,
                };
                for (place, of) in [side, 1 - side].into_iter().enumerate() {
                    slices[place] += totals.slices[of];
                    slow[place] += totals.slow[of];
                }
                with += u32::from(totals.slow[side] > totals.slow[1 - side]);
                without += u32::from(totals.slow[side] < totals.slow[1 - side]);
            }
            let [with_it, without_it] =
                [0, 1].map(|place| slow[place] as f64 / slices[place].max(1) as f64);
            let log_cost = (1.0 - with_it).ln() - (1.0 - without_it).ln();
            let is_sure = by_chance(with, without) <= BY_CHANCE;
            (is_sure && log_cost < 0.0).then_some(Unsteady {
                factor,
                level,
                with,
                without,
                log_cost,
            })
        })
        .collect()
}

/// The probability that of so many fair coins so many or more fall on one side.
fn by_chance(with: u32, without: u32) -> f64 {
    let all = u64::from(with) + u64::from(without);
    match Binomial::new(0.5, all) {
        Ok(coins) if with > 0 => coins.sf(u64::from(with) - 1),
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::all_time::Batch;

    fn totals(slow: [usize; 2]) -> Option<DuelTotals> {
        let side = |slow: usize| -> Vec<Batch> {
            (0..4)
                .map(|slice| Batch {
                    transactions: if slice < slow { 1.0 } else { 100.0 },
                    seconds: 1.0,
                })
                .collect()
        };
        DuelTotals::of(0.0, [&side(slow[0]), &side(slow[1])])
    }

    fn row(a: [usize; 2], b: [usize; 2]) -> Row {
        Row {
            a: a.to_vec(),
            b: b.to_vec(),
        }
    }

    #[test]
    fn the_side_that_stands_still_tells_the_level_and_what_it_costs() {
        let factors = [Factor::Switch, Factor::Choice(3)];
        let duels = [
            (row([1, 0], [0, 2]), totals([1, 0])),
            (row([0, 0], [1, 2]), totals([0, 1])),
            (row([0, 2], [1, 1]), totals([0, 1])),
            (row([0, 2], [1, 0]), totals([0, 1])),
            (row([1, 1], [0, 0]), totals([1, 0])),
            (row([1, 2], [0, 1]), totals([1, 0])),
            // Both sides of it, and one that tells nothing.
            (row([1, 2], [1, 0]), totals([0, 1])),
            (row([0, 2], [1, 0]), None),
        ];
        let found = unsteady(&factors, duels.iter().map(|(row, totals)| (row, *totals)));
        let [one] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!((one.factor, one.level, one.with, one.without), (0, 1, 6, 0));
        assert!((one.log_cost - 0.75f64.ln()).abs() < 1e-12, "{one:?}");
    }

    #[test]
    fn a_few_standstills_are_chance() {
        assert!((by_chance(5, 0) - 1.0 / 32.0).abs() < 1e-12);
        assert!((by_chance(6, 0) - 1.0 / 64.0).abs() < 1e-12);
        assert!(by_chance(0, 0) >= 1.0 && by_chance(0, 9) >= 1.0);
        let duels = vec![(row([1, 0], [0, 0]), totals([1, 0])); 4];
        let few = duels.iter().map(|(row, totals)| (row, *totals));
        assert_eq!(unsteady(&[Factor::Switch; 2], few), []);
    }
}
