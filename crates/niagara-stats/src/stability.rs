//! How far fresh starts of one server lie apart, and whether another's lie closer together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::interval_estimate::IntervalEstimate;
use crate::student;

/// The spread of two servers from start to start, as they met in pairs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stability {
    /// Standard deviation of the logarithm of A's and of B's figures, as a fraction: 0.03 is 3 %. Intervals by χ².
    pub sides: [IntervalEstimate; 2],
    /// B's over A's: below 1 B is the steadier one. The interval (Morgan 1939) allows for what moves both of a pair.
    pub ratio: IntervalEstimate,
}

/// Of positive figures of A and B by pair, intervals at 1 − `alpha` where their logarithms are normal; `None` of fewer than
/// four pairs, of figures that are not positive, or of a side that does not vary.
pub fn stability(pairs: &[[f64; 2]], alpha: f64) -> Option<Stability> {
    let n = pairs.len() as f64;
    let logs =
        [0, 1].map(|side| -> Vec<f64> { pairs.iter().map(|pair| pair[side].ln()).collect() });
    if pairs.len() < 4 || logs.iter().flatten().any(|log| !log.is_finite()) {
        return None;
    }
    let mean = logs.each_ref().map(|side| side.iter().sum::<f64>() / n);
    let product = |one: usize, other: usize| -> f64 {
        let both = logs[one].iter().zip(&logs[other]);
        both.map(|(a, b)| (a - mean[one]) * (b - mean[other])).sum()
    };
    let squares = [product(0, 0), product(1, 1)];
    if squares.iter().any(|sum| *sum <= 0.0) {
        return None;
    }
    let chi = ChiSquared::new(n - 1.0).ok()?;
    let [most, least] = [1.0 - alpha / 2.0, alpha / 2.0].map(|p| chi.inverse_cdf(p));
    let sides = squares.map(|sum| IntervalEstimate {
        value: (sum / (n - 1.0)).sqrt(),
        low: (sum / most).sqrt(),
        high: (sum / least).sqrt(),
    });
    let r_squared = (product(0, 1).powi(2) / (squares[0] * squares[1])).min(1.0);
    let t = student::quantile(1.0 - alpha / 2.0, n - 2.0);
    let k = 1.0 + 2.0 * (1.0 - r_squared) * t * t / (n - 2.0);
    let wide = (k * k - 1.0).max(0.0).sqrt();
    let variances = squares[1] / squares[0];
    Some(Stability {
        sides,
        ratio: IntervalEstimate {
            value: variances.sqrt(),
            low: (variances * (k - wide)).sqrt(),
            high: (variances * (k + wide)).sqrt(),
        },
    })
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::normal;

    /// The nominal coverage, with what moves both sides of a pair in it.
    #[test]
    fn intervals_cover_the_truth() {
        let mut rng = ChaCha8Rng::seed_from_u64(11);
        let mut draw = || normal::quantile(rng.random_range(1e-9..1.0 - 1e-9));
        let runs = 2_000;
        let mut covered = [0; 3];
        for _ in 0..runs {
            let pairs: Vec<[f64; 2]> = (0..12)
                .map(|_| {
                    let both = 0.04 * draw();
                    [(both + 0.03 * draw()).exp(), (both + 0.01 * draw()).exp()]
                })
                .collect();
            let found = stability(&pairs, 0.05).expect("pairs");
            let [a, b] = [0.05, (0.04_f64.powi(2) + 0.01_f64.powi(2)).sqrt()];
            let truths = [
                (found.sides[0], a),
                (found.sides[1], b),
                (found.ratio, b / a),
            ];
            for (count, (interval, truth)) in covered.iter_mut().zip(truths) {
                *count += u32::from(interval.low <= truth && truth <= interval.high);
            }
        }
        for count in covered {
            let share = f64::from(count) / f64::from(runs);
            assert!((0.935..0.965).contains(&share), "{share}");
        }
    }

    #[test]
    fn what_has_no_spread_has_none_to_tell() {
        assert_eq!(stability(&[[1.0, 2.0]; 3], 0.05), None);
        assert_eq!(stability(&[[1.0, 2.0]; 8], 0.05), None);
        let dead = [[1.0, 2.0], [1.1, 2.2], [0.9, 0.0], [1.0, 2.1]];
        assert_eq!(stability(&dead, 0.05), None);
    }
}
