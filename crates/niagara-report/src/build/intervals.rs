//! Figures with their intervals, as tables write them.

use niagara_stats::IntervalEstimate;

/// `1 234 [1 200, 1 270]`; without brackets where there is no interval.
pub(crate) fn interval_estimate(
    estimate: &IntervalEstimate,
    write: impl Fn(f64) -> String,
) -> String {
    interval_over("one start", estimate, write)
}

/// The same; `alone` stands in the brackets where there is no interval: what the only figure is of.
pub(crate) fn interval_over(
    alone: &str,
    estimate: &IntervalEstimate,
    write: impl Fn(f64) -> String,
) -> String {
    let end = |value: f64| match value.is_finite() {
        true => write(value),
        false => "∞".to_owned(),
    };
    if !estimate.is_bounded()
        && estimate.value.is_finite()
        && estimate.low <= 0.0
        && estimate.high.is_infinite()
    {
        return format!("{} [{alone}]", write(estimate.value));
    }
    let low = match estimate.low > 0.0 {
        true => end(estimate.low),
        false => "0".to_owned(),
    };
    format!("{} [{low}, {}]", end(estimate.value), end(estimate.high))
}

/// Three significant digits, without an exponent for what people read without one.
pub(crate) fn three_digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if value.abs() < 0.0005 {
        return format!("{value:.1e}");
    }
    let digits = (2 - value.abs().log10().floor() as i32).clamp(0, 5) as usize;
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unbounded_intervals_name_the_missing_bound() {
        let of = |value, low, high| {
            interval_estimate(&IntervalEstimate { value, low, high }, three_digits)
        };
        assert_eq!(of(1234.0, 1200.0, 1270.0), "1234 [1200, 1270]");
        assert_eq!(of(12.0, 0.0, f64::INFINITY), "12.0 [one start]");
        assert_eq!(of(f64::INFINITY, 30.0, f64::INFINITY), "∞ [30.0, ∞]");
        assert_eq!(of(0.0, 0.0, 0.0), "0 [0, 0]");
        assert_eq!(of(0.05, 0.0, 0.7), "0.0500 [0, 0.700]");
        assert_eq!(three_digits(0.0123), "0.0123");
        assert_eq!(three_digits(0.000012), "1.2e-5");
    }
}
