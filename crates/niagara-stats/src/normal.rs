//! The standard normal distribution.

use statrs::distribution::{ContinuousCDF, Normal};

/// P(Z <= z).
pub(crate) fn cdf(z: f64) -> f64 {
    Normal::standard().cdf(z)
}

/// The z with P(Z <= z) = p; `p` outside 0..=1 is taken as the nearer end.
pub(crate) fn quantile(p: f64) -> f64 {
    Normal::standard().inverse_cdf(p.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_tables() {
        // Abramowitz & Stegun, tables 26.1 and 26.5.
        for (p, z) in [(0.975, 1.959963985), (0.8, 0.841621234), (0.5, 0.0)] {
            assert!((quantile(p) - z).abs() < 1e-8, "{p}");
            assert!((cdf(z) - p).abs() < 1e-9, "{z}");
        }
    }
}
