//! `niagara capture info CAPTURE DIGEST`: one statement.

use std::process::ExitCode;

use anyhow::Result;
use niagara_capture::Sample;
use niagara_capture::info::{DigestDetail, DigestInfo, Info, digest_detail};
use niagara_capture::rewrite::numbered;
use niagara_error::bail;
use niagara_report::number::percent;
use schemars::JsonSchema;
use serde::Serialize;

use super::args::InfoArgs;
use super::figures::{known, one_line, per_row};

use crate::json::{self, Document, Printed};

/// The longest bar of the histogram, in characters.
const BAR: u64 = 40;
/// Digests that are named where several begin so.
const NAMED: usize = 5;

/// As JSON: the samples with their literals where they were asked for.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ShownStatement<'d> {
    #[serde(flatten)]
    detail: &'d DigestDetail,
    /// Statements as they were sent, with `--literals`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    samples: Vec<ShownSample<'d>>,
}

/// A statement as it was sent.
#[derive(Serialize, JsonSchema)]
struct ShownSample<'d> {
    /// Its text.
    statement: std::borrow::Cow<'d, str>,
    /// The database in use.
    database: std::borrow::Cow<'d, str>,
    /// How long it took, in microseconds.
    duration_us: Option<u64>,
    /// Rows that were sent to the client.
    rows_sent: Option<u64>,
    /// Rows that the server looked at.
    rows_examined: Option<u64>,
}

impl Printed for ShownStatement<'_> {
    const DOCUMENT: Document = Document::CaptureStatement;
}

pub fn run(args: &InfoArgs, info: &Info, number: &str) -> Result<ExitCode> {
    let detail = digest_detail(&args.capture, the_one(args, info, number)?)?;
    if args.as_rewrite {
        return say_rewrite(args, &detail);
    }
    if args.json {
        let samples = match args.literals {
            true => detail.samples.iter().map(shown).collect(),
            false => Vec::new(),
        };
        let shown = ShownStatement {
            detail: &detail,
            samples,
        };
        json::print(&shown)?;
        return Ok(ExitCode::SUCCESS);
    }
    say_figures(&detail);
    say_histogram(&detail);
    say_samples(&detail, args.literals);
    Ok(ExitCode::SUCCESS)
}

/// A file of a rewrite that changes nothing yet.
fn say_rewrite(args: &InfoArgs, detail: &DigestDetail) -> Result<ExitCode> {
    let capture = args.capture.display();
    let Some(sample) = detail.samples.first() else {
        bail!(
            "{capture} has no sample of {}", detail.info.digest;
            remedy: "a capture with the statements themselves"
        );
    };
    let statement = numbered(&sample.text);
    // A literal text in TOML has no escapes; it cannot hold its own quotes.
    let quoted = match statement.contains("'''") {
        true => format!("{statement:?}"),
        false => format!("'''\n{statement}\n'''"),
    };
    say!(
        "# Edit the statement: an index hint, an optimizer hint, another way to ask. ?1 is the first literal, a list of literals is one."
    );
    say!("# niagara compare base rewrite=./FILE.toml --workload {capture} --data BACKUP");
    say!("[[rewrite]]");
    say!("digest = \"{}\"", detail.info.digest);
    say!("statement = {quoted}");
    Ok(ExitCode::SUCCESS)
}

/// The digest that is meant.
fn the_one<'i>(args: &InfoArgs, info: &'i Info, number: &str) -> Result<&'i DigestInfo> {
    let capture = args.capture.display();
    let mut found = info.beginning_with(number);
    let Some(first) = found.next() else {
        bail!(
            "{capture} has no digest that begins with {number}";
            remedy: "`niagara capture info {capture} --top 100` lists them"
        );
    };
    let others: Vec<&str> = found.map(|digest| digest.digest.as_str()).collect();
    if !others.is_empty() && first.digest != number {
        let named: Vec<&str> = others.iter().copied().take(NAMED).collect();
        bail!(
            "{} digests of {capture} begin with {number}: {}, {}",
            others.len() + 1,
            first.digest,
            named.join(", ");
            remedy: "more of its digits"
        );
    }
    Ok(first)
}

fn shown(sample: &Sample) -> ShownSample<'_> {
    ShownSample {
        statement: String::from_utf8_lossy(&sample.text),
        database: String::from_utf8_lossy(&sample.database),
        duration_us: sample.duration_us,
        rows_sent: sample.rows_sent,
        rows_examined: sample.rows_examined,
    }
}

fn say_figures(detail: &DigestDetail) {
    let info = &detail.info;
    say!("{}  {}", info.digest, one_line(&info.text, usize::MAX));
    if !detail.tables.is_empty() {
        say!("tables: {}", detail.tables.join(", "));
    }
    say!(
        "{} executions ({} prepared), {} of {}{}",
        info.count,
        info.prepared,
        percent(info.share),
        match &info.latency {
            Some(_) => "the time",
            None => "all executions: durations are not known",
        },
        info.latency
            .as_ref()
            .map_or(String::new(), |latency| format!(
                ": mean {:.3} ms, median {:.3}, p95 {:.3}, p99 {:.3}, longest {:.3}",
                latency.mean_ms, latency.p50_ms, latency.p95_ms, latency.p99_ms, latency.max_ms
            ))
    );
    say!(
        "rows: {} examined, {} sent, {} changed; {} examined for each row sent or changed",
        known(info.rows_examined),
        known(info.rows_sent),
        known(info.rows_affected),
        per_row(info)
    );
    if let Some(seconds) = info.lock_seconds {
        say!(
            "waits for locks: {:.3} ms an execution",
            seconds * 1e3 / info.count.max(1) as f64
        );
    }
    let plan = &info.plan;
    for (count, what) in [
        (plan.full_scans, "with a full scan"),
        (
            plan.full_joins,
            "with a join that scans a table for each row of another",
        ),
        (plan.filesorts, "with a filesort"),
        (plan.temporary_tables, "with a temporary table"),
        (
            plan.temporary_tables_on_disk,
            "with a temporary table on disk",
        ),
    ] {
        if let Some(count) = count.filter(|&count| count > 0) {
            say!("{count} executions {what}");
        }
    }
    if info.loops > 0 {
        say!(
            "{} executions in {} loops, {:.0} in each: one transaction, or one short session, sends it again and again",
            info.in_loops,
            info.loops,
            info.in_loops as f64 / info.loops as f64
        );
    }
    if info.errors > 0 {
        say!("{} executions failed", info.errors);
    }
}

fn say_histogram(detail: &DigestDetail) {
    let most = detail.histogram.iter().map(|bar| bar.count).max();
    let Some(most) = most.filter(|&most| most > 0) else {
        return;
    };
    say!();
    say!("   from ms     to ms      count");
    for bar in &detail.histogram {
        let length = (bar.count * BAR).div_ceil(most) as usize;
        say!(
            "{:>10.3} {:>9.3} {:>10}  {}",
            bar.from_ms,
            bar.to_ms,
            bar.count,
            "█".repeat(length)
        );
    }
}

fn say_samples(detail: &DigestDetail, literals: bool) {
    say!();
    if !literals {
        say!(
            "{} samples are hidden: --literals shows them as they were sent",
            detail.samples.len()
        );
        return;
    }
    for sample in &detail.samples {
        let time = sample
            .duration_us
            .map_or("-".to_owned(), |us| format!("{:.3} ms", us as f64 / 1e3));
        say!(
            "{time}, {} examined, {} sent: {}",
            known(sample.rows_examined),
            known(sample.rows_sent),
            one_line(&String::from_utf8_lossy(&sample.text), usize::MAX)
        );
    }
}
