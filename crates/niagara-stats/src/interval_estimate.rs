//! A figure together with its interval, where it is no ratio of two variants.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::student;

/// A figure with the ends of its interval, in the figure's own unit. The confidence level is that of whoever made it;
/// `low <= value <= high`. What nothing bounds is 0 below and infinite above (`null` in JSON).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IntervalEstimate {
    /// The figure; `null` in JSON when infinite.
    #[serde(with = "crate::unbounded")]
    #[schemars(with = "Option<f64>")]
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end; `null` in JSON when unbounded.
    #[serde(with = "crate::unbounded")]
    #[schemars(with = "Option<f64>")]
    pub high: f64,
}

impl IntervalEstimate {
    /// The geometric mean of independent positive figures, with an interval that covers at 1 − `alpha` when their
    /// logarithms are normal: exp(mean ± t · s / √n) of the logarithms. One figure alone has no interval; `None` of
    /// none, or when one of them is not positive.
    pub fn geometric(figures: &[f64], alpha: f64) -> Option<Self> {
        let logs: Vec<f64> = figures.iter().map(|figure| figure.ln()).collect();
        if logs.is_empty() || logs.iter().any(|log| !log.is_finite()) {
            return None;
        }
        let n = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / n;
        let half = match crate::standard_deviation(&logs) {
            Some(sd) => student::quantile(1.0 - alpha / 2.0, n - 1.0) * sd / n.sqrt(),
            None => f64::INFINITY,
        };
        Some(Self {
            value: mean.exp(),
            low: (mean - half).exp(),
            high: (mean + half).exp(),
        })
    }

    /// The arithmetic mean of independent figures of which none is negative, with an interval that covers at 1 − `alpha` when
    /// they are normal: mean ± t · s / √n, and nothing below 0. One figure alone has no interval; `None` of none, or when one
    /// of them is negative or not finite.
    pub fn arithmetic(figures: &[f64], alpha: f64) -> Option<Self> {
        if figures.is_empty() || figures.iter().any(|f| !f.is_finite() || *f < 0.0) {
            return None;
        }
        let n = figures.len() as f64;
        let mean = figures.iter().sum::<f64>() / n;
        let half = match crate::standard_deviation(figures) {
            Some(sd) => student::quantile(1.0 - alpha / 2.0, n - 1.0) * sd / n.sqrt(),
            None => f64::INFINITY,
        };
        Some(Self {
            value: mean,
            low: (mean - half).max(0.0),
            high: mean + half,
        })
    }

    /// Whether both ends are bounded by something.
    pub fn is_bounded(&self) -> bool {
        self.low > 0.0 && self.high.is_finite()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_start_has_no_interval() {
        let estimate = IntervalEstimate::geometric(&[100.0], 0.05).expect("a figure");
        assert_eq!((estimate.low, estimate.high), (0.0, f64::INFINITY));
        assert!((estimate.value - 100.0).abs() < 1e-9);
        assert!(!estimate.is_bounded());
        assert_eq!(IntervalEstimate::geometric(&[], 0.05), None);
        assert_eq!(IntervalEstimate::geometric(&[1.0, 0.0], 0.05), None);
    }

    #[test]
    fn several_starts_have_that_of_student() {
        // ln: 0, 1, 2; s = 1, t(0.975, 2) = 4.302653.
        let e = std::f64::consts::E;
        let estimate = IntervalEstimate::geometric(&[1.0, e, e * e], 0.05).expect("figures");
        let half = 4.302_653 / 3f64.sqrt();
        assert!((estimate.value.ln() - 1.0).abs() < 1e-9);
        assert!((estimate.low.ln() - (1.0 - half)).abs() < 1e-5);
        assert!((estimate.high.ln() - (1.0 + half)).abs() < 1e-5);
    }

    #[test]
    fn a_mean_may_be_nothing_and_its_interval_is_not_below_nothing() {
        // s = 1, t(0.975, 2) = 4.302653.
        let estimate = IntervalEstimate::arithmetic(&[9.0, 10.0, 11.0], 0.05).expect("figures");
        let half = 4.302_653 / 3f64.sqrt();
        assert!((estimate.value - 10.0).abs() < 1e-9);
        assert!((estimate.low - (10.0 - half)).abs() < 1e-5);
        assert!((estimate.high - (10.0 + half)).abs() < 1e-5);
        let estimate = IntervalEstimate::arithmetic(&[0.0, 0.1], 0.05).expect("figures");
        assert_eq!((estimate.value, estimate.low), (0.05, 0.0));
        let none = IntervalEstimate::arithmetic(&[0.0, 0.0], 0.05).expect("figures");
        assert_eq!((none.value, none.low, none.high), (0.0, 0.0, 0.0));
        let one = IntervalEstimate::arithmetic(&[0.0], 0.05).expect("a figure");
        assert_eq!((one.value, one.low, one.high), (0.0, 0.0, f64::INFINITY));
        assert_eq!(IntervalEstimate::arithmetic(&[], 0.05), None);
        assert_eq!(IntervalEstimate::arithmetic(&[1.0, -0.1], 0.05), None);
    }

    #[test]
    fn what_nothing_bounds_survives_json() {
        let estimate = IntervalEstimate {
            value: f64::INFINITY,
            low: 12.0,
            high: f64::INFINITY,
        };
        let text = serde_json::to_string(&estimate).expect("plain data");
        let back: IntervalEstimate = serde_json::from_str(&text).expect("what was just written");
        assert_eq!(back, estimate);
    }
}
