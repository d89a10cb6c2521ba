//! Ladders, matrices and sweeps as every form of the report shows them: headline, tables, facts.

mod controls;
mod ladder;
mod matrix;
mod parts;
mod sweep;
mod sweep_headline;

use niagara_stats::IntervalEstimate;
use niagara_store::{About, Summary};

use crate::grid::Grid;

pub use ladder::steps as ladder_steps;
pub(crate) use matrix::{kind as kind_of_load, trained_mark};
pub(crate) use parts::left;

/// The tables of a study of a file, and those of a replay; `tune` and `compare` have forms of their own for the rest.
pub(crate) fn grids(summary: &Summary) -> Vec<Grid> {
    let mut grids = match summary {
        Summary::Tune(_) | Summary::Compare(_) => Vec::new(),
        Summary::Ladder(ladder) => {
            let own = ladder::grids(ladder).into_iter();
            own.chain(controls::grid(&ladder.controls, &ladder.header.checks))
                .collect()
        }
        Summary::Matrix(matrix) => {
            let own = matrix::grids(matrix).into_iter();
            own.chain(controls::grid(&matrix.controls, &matrix.header.checks))
                .collect()
        }
        Summary::Sweep(sweep) => sweep::grids(sweep),
    };
    let comparison = summary.comparison();
    if let Some(replay) = comparison.and_then(|comparison| comparison.replay.as_ref()) {
        grids.extend(crate::replay::grids(replay));
    }
    grids
}

/// The one sentence that a reader takes home.
pub fn headline(summary: &Summary) -> Option<String> {
    match summary {
        Summary::Tune(_) | Summary::Compare(_) => None,
        Summary::Ladder(ladder) => Some(ladder::headline(ladder)),
        Summary::Matrix(matrix) => Some(matrix::headline(matrix)),
        Summary::Sweep(sweep) => Some(sweep_headline::headline(sweep)),
    }
}

/// How it was measured: name and value.
pub fn facts(summary: &Summary) -> Vec<(String, String)> {
    if matches!(summary, Summary::Tune(_) | Summary::Compare(_)) {
        return Vec::new();
    }
    let header = summary.header();
    let mut facts = crate::wording::builds(&header.builds);
    let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
    fact("time", crate::wording::time(header));
    if let Some(sd) = header.sd_duel {
        fact("noise", crate::wording::noise(sd, false));
    }
    if let Some(nodes) = summary.comparison().and_then(crate::wording::nodes) {
        fact("nodes", nodes);
    }
    // Where a caution says that it is the figure to go by.
    let cautioned = summary.comparison().filter(|found| found.caution.is_some());
    if let Some(estimate) = cautioned.and_then(|found| found.unadjusted) {
        fact("throughput as measured", crate::number::estimate(&estimate));
    }
    fact("protocol", header.protocol.clone());
    fact("error probability", format!("α = {}", header.alpha));
    fact("seed", header.seed.to_string());
    facts
}

/// The words that open a study, each with its heading.
pub fn opening(about: &About) -> Vec<(&'static str, &str)> {
    [
        ("What was asked then", about.asked.as_str()),
        ("What has changed since", about.changed.as_str()),
        ("What is measured now", about.measured.as_str()),
        ("This size", about.note.as_deref().unwrap_or_default()),
    ]
    .into_iter()
    .filter(|(_, text)| !text.is_empty())
    .collect()
}

/// `1 234 [1 200, 1 270]`; without brackets where there is no interval.
pub fn interval_estimate(estimate: &IntervalEstimate, write: impl Fn(f64) -> String) -> String {
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
