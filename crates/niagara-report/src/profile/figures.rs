//! Figures of profiles for people.

use crate::number::{NOTHING, grouped};

/// Three figures that matter, for what is small or large, if it is known.
pub(super) fn small(value: impl Into<Option<f64>>) -> String {
    let Some(value) = value.into().filter(|value| value.is_finite()) else {
        return NOTHING.to_owned();
    };
    match value.abs() {
        0.0 => "0".to_owned(),
        v if v >= 999.5 => grouped(value),
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        v if v >= 0.9995 => format!("{value:.2}"),
        v if v >= 0.000_05 => format!("{value:.4}"),
        _ => "< 0.0001".to_owned(),
    }
}

/// A part of a whole; NaN where there is no whole.
pub(super) fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { f64::NAN }
}
