//! Ratios of two contestants over the rounds, with their intervals.

use niagara_stats::{Estimate, LookPlan, Rule, judge_final, outwards};

/// Simulated sign flips behind a critical value beyond 16 rounds.
const SIMULATIONS: usize = 100_000;

/// The ratio of `one` to `other` (a pair per round): Hodges–Lehmann, with the signed-rank interval at 95 %. Unbounded
/// below 6 rounds, which cannot carry that level.
pub fn ratio(one: &[f64], other: &[f64]) -> Estimate {
    let scores: Vec<f64> = one
        .iter()
        .zip(other)
        .map(|(one, other)| (one / other).ln())
        .collect();
    let plan = LookPlan::generate(0.05, &[scores.len()], SIMULATIONS, 1);
    let judged = judge_final(&scores, &plan, &Rule::default());
    match judged.confidence {
        None => judged.estimate,
        // Of less than 95 %.
        Some(_) => Estimate {
            low: 0.0,
            high: f64::INFINITY,
            ..judged.estimate
        },
    }
}

/// `× 0.402 [0.391, 0.413]`.
pub fn with_interval(estimate: &Estimate) -> String {
    let [low, high] = outwards([estimate.low, estimate.high], 3);
    format!("× {:.3} [{low:.3}, {high:.3}]", estimate.ratio)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_with_its_interval() {
        let other = [1.0, 1.1, 0.9, 1.2, 1.0, 0.8, 1.05, 1.0];
        let one: Vec<f64> = (0..8)
            .map(|round| other[round] * (0.5 + 0.01 * round as f64))
            .collect();
        let estimate = ratio(&one, &other);
        assert!((estimate.ratio - 0.535).abs() < 0.005, "{estimate:?}");
        assert!(estimate.low > 0.5 && estimate.high < 0.57, "{estimate:?}");
        let few = ratio(&one[..4], &other[..4]);
        assert!(few.high.is_infinite() && few.low == 0.0, "{few:?}");
    }
}
