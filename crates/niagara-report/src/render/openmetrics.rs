//! Figures as OpenMetrics text, which Prometheus and what reads its format take.

use std::fmt::Write;

use niagara_model::{Comparison, SeriesOfRuns, Summary};
use niagara_stats::{Estimate, Verdict};

use crate::wording;

/// A text of gauges in the making.
#[derive(Debug, Default)]
pub struct OpenMetrics(String);

/// A label of a sample: its name and value.
pub type Label<'a> = (&'a str, &'a str);

impl OpenMetrics {
    /// Begins a family of gauges; its samples follow.
    pub fn family(&mut self, name: &str, help: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "# TYPE {name} gauge\n# HELP {name} {help}");
    }

    /// A sample of the family that was begun last.
    pub fn sample(&mut self, name: &str, labels: &[Label<'_>], value: f64) {
        let labels: Vec<String> = labels
            .iter()
            .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
            .collect();
        let labels = match labels.is_empty() {
            true => String::new(),
            false => format!("{{{}}}", labels.join(",")),
        };
        let value = match value {
            value if value.is_nan() => "NaN".to_owned(),
            f64::INFINITY => "+Inf".to_owned(),
            f64::NEG_INFINITY => "-Inf".to_owned(),
            value => value.to_string(),
        };
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }

    /// The text with its end.
    pub fn finish(self) -> String {
        self.0 + "# EOF\n"
    }
}

/// What a comparison came to; none of a study without one.
pub(crate) fn text(summary: &Summary) -> Option<String> {
    let comparison = summary.comparison()?;
    if let Some(runs) = summary.runs() {
        return Some(runs_text([&comparison.a, &comparison.b], runs));
    }
    let mut out = OpenMetrics::default();
    let goal = comparison.goal.to_string();
    let judged = comparison.judged();
    let sides = [("a", comparison.a.as_str()), ("b", comparison.b.as_str())];
    let with = |label| [&sides[..], &[label]].concat();

    out.family("niagara_gain", "B over A by the goal; above 1 B is better.");
    bounds(
        &mut out,
        "niagara_gain",
        &with(("goal", &goal)),
        &judged.estimate,
    );
    out.family(
        "niagara_confidence",
        "Confidence of the bounds of niagara_gain.",
    );
    let confidence = judged.confidence.unwrap_or(1.0 - judged.alpha);
    out.sample("niagara_confidence", &sides, confidence);
    out.family("niagara_ratio", "B over A, figure by figure.");
    for (figure, estimate) in figures(comparison) {
        bounds(
            &mut out,
            "niagara_ratio",
            &with(("figure", figure)),
            &estimate,
        );
    }
    out.family(
        "niagara_transactions_per_second",
        "Throughput of a variant in the median slice of a duel, geometric mean over its duels.",
    );
    for (side, tps) in sides.iter().zip(comparison.tps) {
        let labels = [("side", side.0), ("variant", side.1)];
        out.sample("niagara_transactions_per_second", &labels, tps);
    }
    out.family("niagara_duels", "Duels that count.");
    out.sample("niagara_duels", &sides, judged.duels as f64);
    out.family("niagara_verdict", "1 of the verdict, 0 of the others.");
    for (verdict, name) in VERDICTS {
        let is_it = f64::from(u8::from(judged.verdict_by_all() == Some(verdict)));
        out.sample("niagara_verdict", &with(("verdict", name)), is_it);
    }
    out.family("niagara_warnings", "Warnings of the report.");
    let warnings = wording::warnings(summary).len();
    out.sample("niagara_warnings", &sides, warnings as f64);
    Some(out.finish())
}

/// What the protocol of 2008 came to: its runs and their means.
fn runs_text(variants: [&str; 2], runs: &SeriesOfRuns) -> String {
    let mut out = OpenMetrics::default();
    out.family(
        "niagara_run_transactions_per_second",
        "Throughput of each run.",
    );
    let sides = ["a", "b"].into_iter().zip(variants);
    for ((side, variant), tps) in sides.clone().zip(&runs.tps) {
        for (run, tps) in tps.iter().enumerate() {
            let run = (run + 1).to_string();
            let labels = [("side", side), ("variant", variant), ("run", run.as_str())];
            out.sample("niagara_run_transactions_per_second", &labels, *tps);
        }
    }
    out.family(
        "niagara_transactions_per_second",
        "Mean of the middle three runs of a variant.",
    );
    for ((side, variant), mean) in sides.zip(runs.means()) {
        let labels = [("side", side), ("variant", variant)];
        out.sample("niagara_transactions_per_second", &labels, mean);
    }
    out.finish()
}

/// All verdicts, by their names in labels.
const VERDICTS: [(Verdict, &str); 4] = [
    (Verdict::Faster, "faster"),
    (Verdict::Slower, "slower"),
    (Verdict::NotWorthwhile, "not_worthwhile"),
    (Verdict::Undetected, "undetected"),
];

fn figures(comparison: &Comparison) -> impl Iterator<Item = (&'static str, Estimate)> {
    [
        ("throughput", Some(comparison.throughput.estimate)),
        ("cpu_per_transaction", comparison.cpu_per_transaction),
        ("latency_p50", comparison.latency_p50),
        ("latency_p95", comparison.latency_p95),
        ("latency_p99", comparison.latency_p99),
    ]
    .into_iter()
    .filter_map(|(name, estimate)| Some((name, estimate?)))
    // Zero duels are no sample of 1.
    .filter(|(_, estimate)| !estimate.is_of_nothing())
}

fn bounds(out: &mut OpenMetrics, name: &str, labels: &[Label<'_>], estimate: &Estimate) {
    let values = [
        ("estimate", estimate.ratio),
        ("low", estimate.low),
        ("high", estimate.high),
    ];
    for (bound, value) in values {
        out.sample(name, &[labels, &[("bound", bound)]].concat(), value);
    }
}

/// A label's value as the format wants it.
fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_have_labels_and_an_end() {
        let mut out = OpenMetrics::default();
        out.family("x", "An x.");
        out.sample("x", &[("a", "q\"\\\n")], f64::INFINITY);
        out.sample("x", &[], 1.5);
        assert_eq!(
            out.finish(),
            "# TYPE x gauge\n# HELP x An x.\nx{a=\"q\\\"\\\\\\n\"} +Inf\nx 1.5\n# EOF\n"
        );
    }
}
