//! The table on the terminal, and everything as JSON.

use crate::case::CaseResult;
use crate::contestant::Sample;
use anyhow::{Context, Result};
use niagara_stats::{Estimate, median};
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;

/// A case in about ten lines.
pub fn table(result: &CaseResult) -> String {
    let rounds = result
        .contestants
        .first()
        .map_or(0, |one| one.samples.len());
    let mut text = format!(
        "\n{} ({}, {rounds} rounds; medians, ratios with 95 % intervals)\n{:<20} {:>12} {:>14} {:>12} {:>10}\n",
        result.name, result.workload, "", "queries/s", "CPU µs/query", "max/mean", "KiB/conn"
    );
    for one in &result.contestants {
        let of = |value: fn(&Sample) -> f64| {
            let values: Vec<f64> = one.samples.iter().map(value).collect();
            median(&values).unwrap_or(f64::NAN)
        };
        let unevenness = of(|sample| sample.unevenness);
        let _ = writeln!(
            text,
            "{:<20} {:>12.0} {:>14.3} {:>12} {:>10}",
            one.name,
            of(|sample| sample.queries_per_second),
            of(|sample| sample.cpu_microseconds),
            if unevenness > 0.0 {
                format!("{unevenness:.2}")
            } else {
                "-".into()
            },
            one.kib_per_connection
                .map_or("-".into(), |kib| format!("{kib:.1}")),
        );
    }
    for ratio in &result.ratios {
        let _ = writeln!(
            text,
            "{} / {}: CPU per query {} (target ≤ {}: {}), throughput {}",
            ratio.one,
            ratio.other,
            interval(&ratio.cpu),
            ratio.target,
            if ratio.cpu.ratio <= ratio.target {
                "met"
            } else {
                "missed"
            },
            interval(&ratio.throughput),
        );
    }
    text
}

fn interval(estimate: &Estimate) -> String {
    format!(
        "× {:.3} [{:.3}, {:.3}]",
        estimate.ratio, estimate.low, estimate.high
    )
}

/// Everything that was measured.
pub fn write_json(path: &Path, server: &str, results: &[CaseResult]) -> Result<()> {
    #[derive(Serialize)]
    struct Document<'a> {
        server: &'a str,
        command: Vec<String>,
        cases: &'a [CaseResult],
    }
    let document = Document {
        server,
        command: std::env::args().collect(),
        cases: results,
    };
    let text = serde_json::to_string_pretty(&document)?;
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
