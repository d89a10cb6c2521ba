//! Figures with their intervals, as tables write them.

use niagara_model::number;
use niagara_stats::{IntervalEstimate, outwards};

/// How a figure and the ends of its interval are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Digits {
    /// `0.042`: so many decimals.
    Decimals(usize),
    /// `4.2 %` of 0.042.
    Percent,
    /// Three significant digits.
    Three,
    /// `12 340`.
    Whole,
}

impl Digits {
    fn text(self, value: f64) -> String {
        match self {
            Self::Decimals(decimals) => format!("{value:.decimals$}"),
            Self::Percent => number::percent(value),
            Self::Three => three_digits(value),
            Self::Whole => number::grouped(value),
        }
    }

    /// Decimals of `value` in that text.
    fn decimals(self, value: f64) -> usize {
        match self {
            Self::Decimals(decimals) => decimals,
            Self::Percent => 2 + number::decimals_of_percent(value),
            Self::Three => significant(value),
            Self::Whole => 0,
        }
    }
}

/// `1 234 [1 200, 1 270]`; without brackets where there is no interval.
pub(crate) fn interval_estimate(estimate: &IntervalEstimate, digits: Digits) -> String {
    interval_over("one start", estimate, digits)
}

/// The same; `alone` stands in the brackets where there is no interval: what the only figure is of.
pub(crate) fn interval_over(alone: &str, estimate: &IntervalEstimate, digits: Digits) -> String {
    let write = |value: f64| match value.is_finite() {
        true => digits.text(value),
        false => "∞".to_owned(),
    };
    let end = |value: f64, side: usize| write(outwards([value; 2], digits.decimals(value))[side]);
    if !estimate.is_bounded()
        && estimate.value.is_finite()
        && estimate.low <= 0.0
        && estimate.high.is_infinite()
    {
        return format!("{} [{alone}]", write(estimate.value));
    }
    let low = match estimate.low > 0.0 {
        true => end(estimate.low, 0),
        false => "0".to_owned(),
    };
    let high = end(estimate.high, 1);
    format!("{} [{low}, {high}]", write(estimate.value))
}

/// Three significant digits, without an exponent for what people read without one.
pub(crate) fn three_digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if value.abs() < LEAST_WITHOUT_EXPONENT {
        return format!("{value:.1e}");
    }
    let digits = significant(value);
    format!("{value:.digits$}")
}

/// Below this three digits have an exponent, and are two.
const LEAST_WITHOUT_EXPONENT: f64 = 0.0005;

/// Decimals with which `value` has three significant digits, or the two of a small one.
fn significant(value: f64) -> usize {
    let magnitude = value.abs().log10().floor() as i32;
    match value.abs() < LEAST_WITHOUT_EXPONENT {
        _ if value == 0.0 => 0,
        true => (1 - magnitude) as usize,
        false => (2 - magnitude).clamp(0, 5) as usize,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unbounded_intervals_name_the_missing_bound() {
        let of = |value, low, high| {
            interval_estimate(&IntervalEstimate { value, low, high }, Digits::Three)
        };
        assert_eq!(of(1234.0, 1200.3, 1270.2), "1234 [1200, 1271]");
        assert_eq!(of(0.000_012, 0.000_011_9, 0.02), "1.2e-5 [1.1e-5, 0.0200]");
        assert_eq!(of(12.0, 0.0, f64::INFINITY), "12.0 [one start]");
        assert_eq!(of(f64::INFINITY, 30.0, f64::INFINITY), "∞ [30.0, ∞]");
        assert_eq!(of(0.0, 0.0, 0.0), "0 [0, 0]");
        assert_eq!(of(0.05, 0.0, 0.7), "0.0500 [0, 0.700]");
        let shares = IntervalEstimate {
            value: 0.052,
            low: 0.0418,
            high: 0.123,
        };
        assert_eq!(
            interval_estimate(&shares, Digits::Percent),
            "5.2 % [4.1 %, 13 %]"
        );
        assert_eq!(three_digits(0.0123), "0.0123");
        assert_eq!(three_digits(0.0006), "0.00060");
        assert_eq!(three_digits(0.000012), "1.2e-5");
    }
}
