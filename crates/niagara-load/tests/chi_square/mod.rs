//! Whether two samples come from one distribution.

use statrs::distribution::{ChiSquared, ContinuousCDF};
use std::collections::BTreeMap;

/// Cells with fewer draws are joined with the next one, so that the statistic has its distribution.
const LEAST: f64 = 20.0;

/// Pearson's test of homogeneity for two samples of equal size: the probability of a difference as great as this one
/// if there is none. 1 when everything falls into one cell in both.
pub fn p_value(a: &[i32], b: &[i32]) -> f64 {
    assert_eq!(a.len(), b.len());
    assert!(!a.is_empty());
    let mut cells: BTreeMap<i32, [f64; 2]> = BTreeMap::new();
    for (sample, values) in [a, b].into_iter().enumerate() {
        for value in values {
            cells.entry(*value).or_default()[sample] += 1.0;
        }
    }
    let mut joined: Vec<[f64; 2]> = Vec::new();
    let mut open = [0.0; 2];
    for cell in cells.into_values() {
        open = [open[0] + cell[0], open[1] + cell[1]];
        if open[0] + open[1] >= LEAST {
            joined.push(std::mem::take(&mut open));
        }
    }
    match joined.last_mut() {
        Some(last) => *last = [last[0] + open[0], last[1] + open[1]],
        None => joined.push(open),
    }
    if joined.len() < 2 {
        return 1.0;
    }
    // With equal sizes each sample expects half of a cell.
    let statistic: f64 = joined.iter().map(|[a, b]| (a - b).powi(2) / (a + b)).sum();
    ChiSquared::new((joined.len() - 1) as f64)
        .expect("degrees of freedom")
        .sf(statistic)
}
