//! Which of many comparisons with one baseline differ, the whole table of them considered.

use std::collections::BTreeMap;

use crate::holm::holm;
use crate::looks::MOST_LOOKS;
use crate::student;

/// A comparison of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableCell {
    /// The cells of a group have the same load, and so duels that spread alike.
    pub group: usize,
    /// ln(ratio) of each of its duels.
    pub scores: Vec<f64>,
}

/// p values of "this cell does not differ", adjusted so that calling those at most α calls any of them wrongly with a probability of at
/// most α. `None` of a cell without a score, and of one whose group tells no spread.
///
/// Each is Student's two-sided t test of the mean score, its spread pooled over the group. It is multiplied by the looks that a
/// comparison may have been stopped at (Bonferroni), then adjusted over the table by Holm's method.
pub fn over_the_whole_table(cells: &[TableCell]) -> Vec<Option<f64>> {
    let spreads = spreads(cells);
    let plain: Vec<Option<f64>> = cells
        .iter()
        .map(|cell| {
            let (sd, df) = *spreads.get(&cell.group)?;
            if cell.scores.is_empty() {
                // The distribution panics at a mean of nothing.
                return None;
            }
            let n = cell.scores.len() as f64;
            let mean = cell.scores.iter().sum::<f64>() / n;
            let t = mean.abs() / (sd / n.sqrt());
            let p = 2.0 * (1.0 - student::cdf(t, df)) * MOST_LOOKS as f64;
            p.is_finite().then_some(p.min(1.0))
        })
        .collect();
    let known: Vec<f64> = plain.iter().copied().flatten().collect();
    let mut adjusted = holm(&known).into_iter();
    plain
        .into_iter()
        .map(|p| p.and_then(|_| adjusted.next()))
        .collect()
}

/// Standard deviation of a score in each group, and its degrees of freedom, where there are any.
fn spreads(cells: &[TableCell]) -> BTreeMap<usize, (f64, f64)> {
    let mut sums: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    for cell in cells {
        if let Some(sd) = crate::standard_deviation(&cell.scores) {
            let df = cell.scores.len() as f64 - 1.0;
            let (squares, all) = sums.entry(cell.group).or_default();
            *squares += sd * sd * df;
            *all += df;
        }
    }
    sums.into_iter()
        .filter(|(_, (squares, df))| *df > 0.0 && *squares > 0.0)
        .map(|(group, (squares, df))| (group, ((squares / df).sqrt(), df)))
        .collect()
}

#[cfg(test)]
mod tests {
    use rand::{Rng, RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::{LookPlan, Rule, judge};

    /// A table of the simulation: combinations, groups, the standard deviations of a duel in them.
    const COMBINATIONS: usize = 12;
    const SPREADS: [f64; 3] = [0.01, 0.03, 0.08];
    const ALPHA: f64 = 0.05;

    /// Nearly normal with a standard deviation of 1, by a sum of uniform numbers; `heavy`: one in ten is three times as large.
    fn noise(rng: &mut impl Rng, heavy: bool) -> f64 {
        let sum: f64 = (0..12).map(|_| rng.random::<f64>()).sum();
        let plain = sum - 6.0;
        match heavy && rng.random_bool(0.1) {
            true => 3.0 * plain,
            false => plain,
        }
    }

    /// A table in which the first combination has this effect; each cell is stopped at the first look that calls a difference.
    fn table(plan: &LookPlan, rng: &mut impl Rng, effect: f64, heavy: bool) -> Vec<TableCell> {
        let mut cells = Vec::new();
        for combination in 0..COMBINATIONS {
            for (group, spread) in SPREADS.into_iter().enumerate() {
                let effect = if combination == 0 { effect } else { 0.0 };
                let mut scores = Vec::new();
                for _ in 0..plan.max_duels() {
                    scores.push(effect + spread * noise(rng, heavy));
                    let is_look = plan.looks.iter().any(|look| look.duels == scores.len());
                    if is_look && judge(&scores, plan, &Rule::default()).verdict.is_some() {
                        break;
                    }
                }
                cells.push(TableCell { group, scores });
            }
        }
        cells
    }

    /// In how many of `tables` tables a cell was called that does not differ, and in how many cells one that does.
    fn calls(tables: usize, effect: f64, heavy: bool) -> (usize, usize) {
        let mut rng = ChaCha8Rng::seed_from_u64(20_261_128);
        let plan = LookPlan::for_duels(ALPHA, 16);
        let (mut wrong, mut right) = (0, 0);
        for _ in 0..tables {
            let found = over_the_whole_table(&table(&plan, &mut rng, effect, heavy));
            let is_called = |p: &Option<f64>| p.is_some_and(|p| p <= ALPHA);
            let (differing, alike) = found.split_at(SPREADS.len());
            right += differing.iter().filter(|p| is_called(p)).count();
            wrong += usize::from(alike.iter().any(is_called));
        }
        (wrong, right)
    }

    #[test]
    fn a_table_without_differences_is_called_different_in_at_most_alpha() {
        for heavy in [false, true] {
            // 5 % of 400 and two standard errors.
            let (wrong, _) = calls(400, 0.0, heavy);
            assert!(wrong <= 28, "heavy {heavy}: {wrong} of 400");
        }
    }

    #[test]
    fn a_large_difference_is_found_in_the_whole_table() {
        // Ten standard deviations of the quietest load, 1.2 of the noisiest.
        let (wrong, right) = calls(100, 0.1, false);
        assert!(wrong <= 10, "{wrong} of 100");
        assert!(right >= 200, "{right} of 300");
    }

    #[test]
    fn cells_without_scores_or_spread_have_no_p_value() {
        let cell = |group: usize, scores: &[f64]| TableCell {
            group,
            scores: scores.to_vec(),
        };
        let found = over_the_whole_table(&[
            cell(0, &[]),
            cell(0, &[0.5, 0.51, 0.49]),
            cell(1, &[0.1]),
            cell(2, &[0.1, 0.1]),
        ]);
        assert!(found[1].is_some_and(|p| p < 0.05), "{found:?}");
        let without = [&found[0], &found[2], &found[3]];
        assert_eq!(without, [&None; 3]);
    }
}
