//! A ratio together with its interval: the two never travel apart.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A ratio of B to A (1.0 = no difference) with the ends of its interval.
///
/// The confidence level is that of whoever made it; `low <= ratio <= high` always holds, and
/// an interval that nothing bounds yet has `low == 0.0` or `high == f64::INFINITY`
/// (serialised as `null`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The point estimate, dimensionless.
    pub ratio: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval; `null` in JSON when unbounded.
    #[serde(with = "crate::unbounded")]
    #[schemars(with = "Option<f64>")]
    pub high: f64,
}

impl Estimate {
    /// From a difference of logarithms and the ends of its interval.
    pub fn from_log(centre: f64, low: f64, high: f64) -> Self {
        Self {
            ratio: centre.exp(),
            low: low.exp(),
            high: high.exp(),
        }
    }

    /// From a difference of logarithms and its standard error, `z` standard errors to each side.
    pub fn from_log_std_err(centre: f64, std_err: f64, z: f64) -> Self {
        Self::from_log(centre, centre - z * std_err, centre + z * std_err)
    }

    /// Whether nothing was measured: an empty sample's ratio is 1, between no bounds.
    pub fn is_of_nothing(&self) -> bool {
        self.ratio == 1.0 && self.low <= 0.0 && self.high.is_infinite()
    }

    /// Whether this ratio lies within the interval, its ends included.
    pub fn holds(&self, ratio: f64) -> bool {
        (self.low..=self.high).contains(&ratio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unbounded_interval_survives_json() {
        let open = Estimate::from_log(0.01, f64::NEG_INFINITY, f64::INFINITY);
        let text = serde_json::to_string(&open).expect("an estimate is plain data");
        let back: Estimate = serde_json::from_str(&text).expect("what was just written");
        assert_eq!(back.low, 0.0);
        assert!(back.high.is_infinite(), "{text}");
    }
}
