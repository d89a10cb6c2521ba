//! A run's windows reduced to one value, where both sides cannot be alive at once.

use crate::sample::median;

/// √2 · Φ⁻¹(3/4): a normal difference of two has its median magnitude at this many standard deviations of one.
const MEDIAN_DIFFERENCE: f64 = 0.953_872_552_417;
const OUTLIER: f64 = 3.0;

/// The relative standard deviation of a window, from the differences of successive ones, so that drift across a run
/// counts for little: their median magnitude, relative to the run's median, pooled over `first_runs` of both sides alike
/// (label-blind: no side loses more windows for being itself). 0 without two windows in any run.
pub fn window_sd(first_runs: &[Vec<f64>]) -> f64 {
    let mut differences = Vec::new();
    for run in first_runs {
        let centre = median(run).unwrap_or(0.0);
        if centre > 0.0 {
            differences.extend(run.windows(2).map(|two| (two[1] - two[0]).abs() / centre));
        }
    }
    median(&differences).unwrap_or(0.0) / MEDIAN_DIFFERENCE
}

/// The mean rate of a run's windows without those further than 3 `s` from its median, and how many those were. `s` is
/// relative, from [`window_sd`]; 0 (nothing known) drops none. NaN of no windows.
pub fn run_value(windows: &[f64], s: f64) -> (f64, usize) {
    let centre = median(windows).unwrap_or(f64::NAN);
    // Of a run that did nothing in most of its windows those in which it worked are no outliers.
    let reach = if s > 0.0 && centre > 0.0 {
        OUTLIER * s * centre
    } else {
        f64::INFINITY
    };
    let kept: Vec<f64> = windows
        .iter()
        .copied()
        .filter(|window| (window - centre).abs() <= reach)
        .collect();
    if kept.is_empty() {
        return (centre, 0);
    }
    (
        kept.iter().sum::<f64>() / kept.len() as f64,
        windows.len() - kept.len(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;
    use rand_distr::{Distribution, Normal};

    #[test]
    fn the_spread_is_that_of_neighbours_at_any_level() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let noise = Normal::new(0.0, 0.02).expect("a positive width");
        let runs: Vec<Vec<f64>> = [1000.0, 250.0]
            .iter()
            .map(|level| {
                (0..2000)
                    .map(|i| {
                        let drift = 1.0 + 0.1 * (f64::from(i) / 200.0).sin();
                        level * (drift + noise.sample(&mut rng))
                    })
                    .collect()
            })
            .collect();
        let sd = window_sd(&runs);
        assert!((sd / 0.02 - 1.0).abs() < 0.06, "{sd}");
    }

    #[test]
    fn windows_beyond_three_deviations_are_dropped() {
        let windows = [100.0, 101.0, 99.0, 100.0, 50.0, 100.0];
        assert_eq!(run_value(&windows, 0.01), (100.0, 1));
        assert_eq!(run_value(&windows, 0.0).1, 0);
        assert!(run_value(&[], 0.01).0.is_nan());
        assert_eq!(run_value(&[0.0; 4], 0.01), (0.0, 0));
        assert_eq!(run_value(&[0.0, 0.0, 90.0, 0.0], 0.01), (22.5, 0));
    }
}
