//! Variants that were measured each alone, set beside each other by the rounds in which all of them had a turn.

use std::collections::BTreeMap;

use niagara_model::RoundRatio;
use niagara_stats::IntervalEstimate;

/// Throughput of each variant at one thread count, by round.
pub(crate) type ByRound = Vec<BTreeMap<u32, f64>>;

/// Each variant over the first, and over the one before it: what a step brings, and all steps up to it. Only rounds in which both
/// were measured count.
pub(crate) fn round_ratios(threads: u32, variants: &ByRound, alpha: f64) -> Vec<RoundRatio> {
    let pairs = (1..variants.len()).flat_map(|of| {
        let before = (of > 1).then_some((of, of - 1));
        std::iter::once((of, 0)).chain(before)
    });
    pairs
        .filter_map(|(of, over)| {
            let ratios: Vec<f64> = (variants[of].iter())
                .filter_map(|(round, tps)| Some(tps / variants[over].get(round)?))
                .collect();
            Some(RoundRatio {
                threads,
                of,
                over,
                ratio: IntervalEstimate::geometric(&ratios, alpha)?,
                rounds: ratios.len() as u32,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rounds_with_both_count() {
        let rounds = |figures: &[(u32, f64)]| figures.iter().copied().collect();
        let variants = vec![
            rounds(&[(0, 100.0), (1, 50.0), (2, 80.0)]),
            rounds(&[(0, 200.0), (1, 100.0)]),
            rounds(&[(1, 150.0), (2, 240.0)]),
        ];
        let found = round_ratios(8, &variants, 0.05);
        let told: Vec<_> = (found.iter())
            .map(|one| (one.of, one.over, one.rounds, one.ratio.value.round()))
            .collect();
        assert_eq!(told, [(1, 0, 2, 2.0), (2, 0, 2, 3.0), (2, 1, 1, 2.0)]);
        // The machine was half as fast in the second round: the ratio does not feel it.
        assert!((found[0].ratio.high - 2.0).abs() < 1e-9, "{found:?}");
    }
}
