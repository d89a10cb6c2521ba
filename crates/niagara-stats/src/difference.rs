//! Whether two ratios that were measured independently of each other differ.

use crate::{Estimate, normal, student};

/// The second ratio over the first, with an interval at the confidence of theirs, by the method of variance estimates
/// recovery (G. Y. Zou and A. Donner, Statistics in Medicine 27 (2008), 1693–1702): with d the difference of the logarithms,
/// each end is d plus or minus the root of the sum of squares of the distances from the estimates to those ends of the two
/// intervals that lie in its direction. It asks for independence and for nothing else: the intervals may be lopsided, and
/// where they hold over all looks of a sequential test, so does this one. Unbounded where theirs are.
pub fn difference(first: &Estimate, second: &Estimate) -> Estimate {
    let logs = |e: &Estimate| (e.low.ln(), e.ratio.ln(), e.high.ln());
    let (first_low, first_middle, first_high) = logs(first);
    let (second_low, second_middle, second_high) = logs(second);
    let centre = second_middle - first_middle;
    let below = (second_middle - second_low).hypot(first_high - first_middle);
    let above = (second_high - second_middle).hypot(first_middle - first_low);
    Estimate::from_log(centre, centre - below, centre + above)
}

/// An interval at 1 − `own_alpha` made as wide as one at 1 − `alpha` has to be: of a family of intervals that hold together at 1 − α each
/// has α over their number (Bonferroni). One that is as wide already stays. `std_err`, the standard error of the logarithm, tells how
/// many degrees of freedom the interval was made with (its half-width is Student's t times the standard error); without it the widths
/// are those of a normal distribution.
pub fn widened(estimate: &Estimate, own_alpha: f64, alpha: f64, std_err: Option<f64>) -> Estimate {
    if own_alpha.is_nan() || own_alpha <= alpha {
        return *estimate;
    }
    let p = 1.0 - own_alpha / 2.0;
    let p_each = 1.0 - alpha / 2.0;
    let (low, middle, high) = (estimate.low.ln(), estimate.ratio.ln(), estimate.high.ln());
    let df = std_err
        .filter(|std_err| *std_err > 0.0)
        .map_or(f64::INFINITY, |std_err| {
            degrees_of_freedom((high - low) / 2.0 / std_err, p)
        });
    let factor = match df.is_finite() {
        true => student::quantile(p_each, df) / student::quantile(p, df),
        false => normal::quantile(p_each) / normal::quantile(p),
    };
    Estimate::from_log(
        middle,
        middle - (middle - low) * factor,
        middle + (high - middle) * factor,
    )
}

/// The degrees of freedom whose quantile at `p` is `t`: infinite from the normal quantile down.
fn degrees_of_freedom(t: f64, p: f64) -> f64 {
    // Beyond this many the two quantiles agree to three digits.
    const MANY: f64 = 1000.0;
    if !t.is_finite() || t <= student::quantile(p, MANY) {
        return f64::INFINITY;
    }
    let (mut few, mut many) = (1.0_f64, MANY);
    for _ in 0..60 {
        let middle = (few * many).sqrt();
        if student::quantile(p, middle) > t {
            few = middle;
        } else {
            many = middle;
        }
    }
    few
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive_seed;

    fn of(log: f64, half: f64) -> Estimate {
        Estimate::from_log(log, log - half, log + half)
    }

    #[test]
    fn symmetric_intervals_add_as_variances_do() {
        let found = difference(&of(0.1, 0.03), &of(0.3, 0.04));
        assert!((found.ratio.ln() - 0.2).abs() < 1e-12);
        assert!((found.low.ln() - 0.15).abs() < 1e-12);
        assert!((found.high.ln() - 0.25).abs() < 1e-12);
    }

    #[test]
    fn each_end_comes_from_the_ends_in_its_direction() {
        let lopsided = Estimate::from_log(0.0, -0.03, 0.4);
        let found = difference(&lopsided, &of(0.0, 0.04));
        assert!((found.high.ln() - 0.05).abs() < 1e-12, "{found:?}");
        assert!(found.low.ln() < -0.4, "{found:?}");
    }

    #[test]
    fn what_nothing_bounds_is_not_bounded_by_the_other() {
        let open = Estimate::from_log(0.1, f64::NEG_INFINITY, f64::INFINITY);
        let found = difference(&open, &of(0.0, 0.01));
        assert_eq!(found.low, 0.0);
        assert!(found.high.is_infinite());
    }

    #[test]
    fn a_family_is_widened_by_its_own_distribution() {
        assert_eq!(widened(&of(0.1, 0.02), 0.05, 0.05, None), of(0.1, 0.02));
        // z(1 − 0.05/20) / z(0.975) = 2.80703 / 1.95996.
        let wide = widened(&of(0.1, 0.02), 0.05, 0.005, None);
        assert!(((wide.high.ln() - 0.1) / 0.02 - 1.43219).abs() < 1e-4);
        // Of 90 %, as beside a claim of a gain: z(1 − 0.05/20) / z(0.95) = 2.80703 / 1.64485.
        let wide = widened(&of(0.1, 0.02), 0.1, 0.005, None);
        assert!(((wide.high.ln() - 0.1) / 0.02 - 1.70655).abs() < 1e-4);
        // One that holds for more already.
        assert_eq!(widened(&of(0.1, 0.02), 0.001, 0.005, None), of(0.1, 0.02));
        // With four degrees of freedom: t(0.9975, 4) / t(0.975, 4) = 5.59757 / 2.77645.
        let four = widened(&of(0.1, 2.776_445 * 0.01), 0.05, 0.005, Some(0.01));
        assert!(
            ((four.high.ln() - 0.1) / 0.01 - 5.597_57).abs() < 1e-3,
            "{four:?}"
        );
        // Narrower than a normal distribution allows: a rounded 1.96 of one.
        let normal = widened(&of(0.1, 0.0195), 0.05, 0.005, Some(0.01));
        assert!(((normal.high.ln() - 0.1) / 0.0195 - 1.43219).abs() < 1e-4);
    }

    /// Of studies of the same thing about one in twenty is said to differ; of those far apart, most.
    #[test]
    fn it_keeps_its_error_probability_and_sees_what_is_there() {
        let mut state = 0;
        let mut uniform = || {
            state += 1;
            // 48 bits.
            derive_seed(20_081_117, "difference", state) as f64 / (1u64 << 48) as f64
        };
        let mut normal_draw = || -> f64 { (0..12).map(|_| uniform()).sum::<f64>() - 6.0 };
        let tries = 2000;
        let mut called = [0; 2];
        for _ in 0..tries {
            for (place, apart) in [0.0, 0.08].into_iter().enumerate() {
                let first = of(0.1 + 0.01 * normal_draw(), 1.96 * 0.01);
                let second = of(0.1 + apart + 0.02 * normal_draw(), 1.96 * 0.02);
                let found = difference(&first, &second);
                called[place] += usize::from(found.low > 1.0 || found.high < 1.0);
            }
        }
        let [falsely, rightly] = called.map(|count| count as f64 / f64::from(tries));
        assert!(falsely < 0.065, "{falsely}");
        assert!(rightly > 0.9, "{rightly}");
    }
}
