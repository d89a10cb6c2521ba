//! Student's t distribution.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::normal;

/// P(T <= t) with `df` > 0 degrees of freedom, not necessarily whole; normal when `df` is infinite, NaN without any.
pub fn cdf(t: f64, df: f64) -> f64 {
    if df.is_infinite() {
        return normal::cdf(t);
    }
    StudentsT::new(0.0, 1.0, df).map_or(f64::NAN, |student| student.cdf(t))
}

/// The t with P(T <= t) = p; infinite without degrees of freedom, so that an interval made of it excludes nothing.
pub fn quantile(p: f64, df: f64) -> f64 {
    let p = p.clamp(0.0, 1.0);
    // From here on the two agree to 1e-6, and the incomplete beta function loses digits.
    if df > 1e6 {
        return normal::quantile(p);
    }
    match StudentsT::new(0.0, 1.0, df) {
        Ok(student) => student.inverse_cdf(p),
        Err(_) => f64::INFINITY.copysign(p - 0.5),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_tables() {
        // Abramowitz & Stegun, table 26.10.
        for (df, t) in [
            (1.0, 12.706205),
            (4.0, 2.776445),
            (12.0, 2.178813),
            (120.0, 1.979930),
        ] {
            assert!((quantile(0.975, df) - t).abs() < 2e-6, "{df}");
            assert!((cdf(t, df) - 0.975).abs() < 1e-7, "{df}");
        }
        assert!((quantile(0.975, f64::INFINITY) - 1.959964).abs() < 1e-6);
        assert!((quantile(0.975, 2e6) - 1.959964).abs() < 1e-5);
    }

    #[test]
    fn without_degrees_of_freedom_nothing_is_excluded() {
        assert_eq!(quantile(0.975, 0.0), f64::INFINITY);
        assert_eq!(quantile(0.025, 0.0), f64::NEG_INFINITY);
    }
}
