//! The table on the terminal, and everything as JSON.

use crate::case::CaseResult;
use crate::ratio::with_interval;
use crate::sample::Sample;
use anyhow::{Context, Result};
use niagara_stats::median;
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
        "\n{} ({}, {rounds} rounds; medians, ratios with 95 % intervals)\n{:<24} {:>10} {:>16} {:>16} {:>8} {:>9}\n",
        result.name,
        result.workload,
        "",
        "queries/s",
        "client µs/query",
        "server µs/query",
        "95% ms",
        "max/mean"
    );
    for one in &result.contestants {
        let of = |value: fn(&Sample) -> f64| {
            let values: Vec<f64> = one.samples.iter().map(value).collect();
            median(&values).unwrap_or(f64::NAN)
        };
        let known = |value: f64| match value > 0.0 {
            true => format!("{value:.2}"),
            false => "-".into(),
        };
        let _ = writeln!(
            text,
            "{:<24} {:>10.0} {:>16.3} {:>16.3} {:>8} {:>9}",
            one.name,
            of(|sample| sample.queries_per_second),
            of(|sample| sample.cpu_microseconds),
            of(|sample| sample.server_cpu_microseconds),
            known(of(|sample| sample.latency_milliseconds)),
            known(of(|sample| sample.unevenness)),
        );
    }
    for ratio in &result.ratios {
        let _ = writeln!(
            text,
            "{} / {}: CPU {}{}, throughput {}{}",
            ratio.one,
            ratio.other,
            with_interval(&ratio.cpu),
            verdict("≤", ratio.cpu_target, |target| ratio.cpu.ratio <= target),
            with_interval(&ratio.throughput),
            verdict("≥", ratio.throughput_target, |target| {
                ratio.throughput.ratio >= target
            }),
        );
    }
    for one in &result.contestants {
        if let Some(memory) = one.memory {
            let _ = writeln!(
                text,
                "{}: {:.1} KiB a connection in the process; {:.1} KiB more in the kernel, both ends together",
                one.name, memory.process_kib, memory.kernel_kib
            );
        }
    }
    text
}

fn verdict(sign: &str, target: Option<f64>, met: impl Fn(f64) -> bool) -> String {
    match target {
        Some(target) if met(target) => format!(" ({sign} {target}: met)"),
        Some(target) => format!(" ({sign} {target}: missed)"),
        None => String::new(),
    }
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
