//! `niagara capture info`: what is in a capture.

use std::process::ExitCode;

use anyhow::Result;
use jiff::Timestamp;
use niagara_capture::info::{ClassInfo, DigestInfo, DigestLatency, Info, info};
use niagara_capture::log::{Dialect, LogKind};
use niagara_load::counted;
use niagara_report::number::{duration, percent};

use super::args::{InfoArgs, SortArg};
use super::figures::{known, one_line, per_row};
use super::statement;
use super::summary::{say_dropped, span};

use crate::json::{self, Document, Printed};

/// Longest text of a digest in the table, in characters.
const TEXT: usize = 100;

impl Printed for Info {
    const DOCUMENT: Document = Document::CaptureInfo;
}

pub fn run(args: &InfoArgs) -> Result<ExitCode> {
    let mut info = info(&args.capture)?;
    info.sort(args.sort.into());
    if let Some(number) = &args.digest {
        return statement::run(args, &info, number);
    }
    if args.json {
        json::print(&info)?;
        return Ok(ExitCode::SUCCESS);
    }
    say_head(&info);
    say_classes(&info.classes);
    say_digests(&info, args.top, args.sort);
    say_concurrency(&info);
    say_dropped(&info.summary);
    Ok(ExitCode::SUCCESS)
}

fn time(micros: Option<i64>) -> String {
    micros
        .and_then(|micros| Timestamp::from_microsecond(micros).ok())
        .map_or("-".to_owned(), |time| {
            time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
        })
}

fn kind(kind: LogKind) -> &'static str {
    match kind {
        LogKind::Slow => "slow log",
        LogKind::General => "general log",
        LogKind::Traffic => "recorded traffic",
    }
}

fn server(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Mariadb => "MariaDB",
        Dialect::Mysql => "MySQL",
        Dialect::Percona => "Percona Server",
    }
}

fn say_head(info: &Info) {
    let summary = &info.summary;
    for source in &summary.sources {
        say!(
            "{}: {} of {} {}, {} entries",
            source.file,
            kind(source.kind),
            server(source.dialect),
            source.version.as_deref().unwrap_or("(version not said)"),
            source.entries
        );
    }
    say!(
        "{} to {}, {}",
        time(summary.first_us),
        time(summary.last_us),
        span(summary)
    );
    say!(
        "{}, {}, {} with {:.1} statements each",
        counted(summary.statements, "statement"),
        counted(info.digests.len() as u64, "digest"),
        counted(info.sessions.count, "session"),
        info.sessions.statements_each
    );
    if let Some(seconds) = info.statement_seconds {
        say!("{} of statement time", duration(seconds));
    }
    match info.sessions.connects_per_second {
        Some(rate) => say!(
            "{} ({rate:.2} a second), {} ends of sessions",
            counted(info.sessions.connects, "login"),
            info.sessions.disconnects
        ),
        None => say!(
            "{} ends of sessions; the source does not say logins",
            info.sessions.disconnects
        ),
    }
    let transactions = &info.transactions;
    say!(
        "{} of several statements ({:.1} each, longest {}), {} rolled back, {} without an end",
        counted(transactions.ended, "transaction"),
        transactions.statements_each,
        duration(transactions.longest_seconds),
        transactions.rolled_back,
        transactions.open
    );
}

fn say_classes(classes: &[ClassInfo]) {
    let count: u64 = classes.iter().map(|class| class.count).sum();
    let seconds: f64 = classes.iter().map(|class| class.seconds).sum();
    say!();
    say!("Kind of statement        count   share    of time");
    for class in classes {
        let of_time = if seconds > 0.0 {
            percent(class.seconds / seconds)
        } else {
            "-".to_owned()
        };
        say!(
            "{:<20} {:>9} {:>7} {:>10}",
            name(class),
            class.count,
            percent(class.count as f64 / count.max(1) as f64),
            of_time
        );
    }
}

/// As the class is written in JSON, without underscores.
fn name(class: &ClassInfo) -> String {
    format!("{:?}", class.class).to_lowercase()
}

fn say_digests(info: &Info, top: usize, sort: SortArg) {
    let by = match sort {
        SortArg::Time if info.statement_seconds.is_some() => "time",
        SortArg::Time => "number of executions, for durations are not known",
        SortArg::Rows => "rows examined",
        SortArg::Calls => "number of executions",
    };
    say!();
    say!("Digests by {by}");
    say!(
        "  share      count   mean ms    p95 ms   lock ms  rows sent   examined  per row  scan  sort  disk  digest"
    );
    for digest in info.digests.iter().take(top) {
        say_digest(digest);
    }
    if info.digests.len() > top {
        let rest: f64 = info
            .digests
            .iter()
            .skip(top)
            .map(|digest| digest.share)
            .sum();
        say!(
            "{:>7}  {} more (--top)",
            percent(rest),
            info.digests.len() - top
        );
    }
    let has_rows = info
        .digests
        .iter()
        .any(|digest| digest.rows_examined.is_some());
    let has_plans = info
        .digests
        .iter()
        .any(|digest| digest.plan.full_scans.is_some());
    if has_plans {
        say!(
            "scan, sort, disk: executions with a full scan, a filesort, a temporary table on disk"
        );
    } else if has_rows {
        say!(
            "The source does not say scans, sorts and temporary tables: MariaDB with log_slow_verbosity=query_plan and MySQL with \
             log_slow_extra=ON do"
        );
    } else {
        say!("The source does not say rows examined: a slow log does");
    }
}

/// A share of executions that the source may not say.
fn share(count: Option<u64>, all: u64) -> String {
    count.map_or("-".to_owned(), |count| {
        format!("{:.0}%", 100.0 * count as f64 / all.max(1) as f64)
    })
}

fn say_digest(digest: &DigestInfo) {
    let lock_ms = digest.lock_seconds.map_or("-".to_owned(), |seconds| {
        format!("{:.3}", seconds * 1e3 / digest.count.max(1) as f64)
    });
    let ms = |figure: fn(&DigestLatency) -> f64| {
        let latency = digest.latency.as_ref().map(figure);
        latency.map_or("-".to_owned(), |ms| format!("{ms:.3}"))
    };
    say!(
        "{:>7} {:>10} {:>9} {:>9} {:>9} {:>10} {:>10} {:>8} {:>5} {:>5} {:>5}  {} {}",
        percent(digest.share),
        digest.count,
        ms(|latency| latency.mean_ms),
        ms(|latency| latency.p95_ms),
        lock_ms,
        known(digest.rows_sent),
        known(digest.rows_examined),
        per_row(digest),
        share(digest.plan.full_scans, digest.count),
        share(digest.plan.filesorts, digest.count),
        share(digest.plan.temporary_tables_on_disk, digest.count),
        digest.digest,
        one_line(&digest.text, TEXT)
    );
}

fn say_concurrency(info: &Info) {
    let concurrency = &info.concurrency;
    say!();
    if let (Some(mean), Some(highest)) = (concurrency.mean, concurrency.highest) {
        say!("Statements in flight: {mean:.2} in the mean, {highest:.2} in the highest interval");
    }
    let [first, .., last] = &concurrency.intervals[..] else {
        return;
    };
    let counts: Vec<u64> = concurrency
        .intervals
        .iter()
        .map(|interval| interval.statements)
        .collect();
    let sessions = concurrency.intervals.iter().map(|one| one.sessions);
    say!(
        "{} to {} UTC, a bar for every {}: at most {} of {}",
        clock(first.start_us),
        clock(last.start_us),
        duration(concurrency.interval_seconds),
        counted(
            counts.iter().copied().max().unwrap_or_default(),
            "statement"
        ),
        counted(sessions.max().unwrap_or_default(), "session")
    );
    say!("  {}", bars(&counts));
    say!();
}

/// The time of day, in UTC.
fn clock(micros: i64) -> String {
    Timestamp::from_microsecond(micros)
        .map_or(String::new(), |time| time.strftime("%H:%M:%S").to_string())
}

/// A bar for each count: the full height is the largest, an empty one is 0.
fn bars(counts: &[u64]) -> String {
    const HEIGHTS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = counts.iter().copied().max().unwrap_or_default().max(1);
    let bar = |count: &u64| HEIGHTS[(u128::from(*count) * 8).div_ceil(u128::from(most)) as usize];
    counts.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_high_as_counts() {
        assert_eq!(bars(&[0, 1, 50, 100]), " ▁▄█");
        assert_eq!(bars(&[0, 0]), "  ");
        assert_eq!(bars(&[u64::MAX]), "█");
    }
}
