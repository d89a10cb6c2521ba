//! What is in a capture: where its time goes, who is there when, what was dropped.

mod concurrency;
mod histogram;
mod transactions;

use std::path::Path;

use serde::Serialize;

pub use concurrency::{Concurrency, Interval};
use histogram::Histogram;
pub use transactions::Transactions;

use crate::error::CaptureError;
use crate::file::{CaptureReader, Dictionary, Event, EventKind, Summary};
use crate::sql::Class;
use concurrency::Timeline;
use transactions::TransactionCounter;

/// What is in a capture.
#[derive(Debug, Clone, Serialize)]
pub struct Info {
    /// What the capture says about itself.
    pub summary: Summary,
    /// From the first start to the last end, in seconds.
    pub seconds: f64,
    /// Time of all statements, in seconds; none where durations are not known.
    pub statement_seconds: Option<f64>,
    /// Digests, those with most time first; by count where durations are not known.
    pub digests: Vec<DigestInfo>,
    /// By kind of statement, those with most time first.
    pub classes: Vec<ClassInfo>,
    /// Sessions, and how they come and go.
    pub sessions: SessionInfo,
    /// Transactions of several statements.
    pub transactions: Transactions,
    /// Statements in flight over time.
    pub concurrency: Concurrency,
}

/// One digest.
#[derive(Debug, Clone, Serialize)]
pub struct DigestInfo {
    /// Its number, 16 hexadecimal digits.
    pub digest: String,
    /// Its text, without literals.
    pub text: String,
    /// The kind of statement.
    pub class: Class,
    /// Its answer differs from run to run (NOW, UUID, RAND).
    pub volatile: bool,
    /// Executions.
    pub count: u64,
    /// Of them, by prepared statements.
    pub prepared: u64,
    /// Share of the time of all statements, 0 to 1; of their number where durations are not known.
    pub share: f64,
    /// Time of all executions, in seconds.
    pub seconds: f64,
    /// Mean duration, in milliseconds.
    pub mean_ms: f64,
    /// Median, in milliseconds, within 7 %.
    pub p50_ms: f64,
    /// 95th percentile, in milliseconds, within 7 %.
    pub p95_ms: f64,
    /// 99th percentile, in milliseconds, within 7 %.
    pub p99_ms: f64,
    /// The longest, in milliseconds.
    pub max_ms: f64,
    /// Time waited for locks, in seconds.
    pub lock_seconds: f64,
    /// Rows sent.
    pub rows_sent: u64,
    /// Rows read to find them.
    pub rows_examined: u64,
    /// Rows changed.
    pub rows_affected: u64,
    /// Executions that failed, where the source says it.
    pub errors: u64,
}

/// One kind of statement.
#[derive(Debug, Clone, Serialize)]
pub struct ClassInfo {
    /// The kind.
    pub class: Class,
    /// Executions.
    pub count: u64,
    /// Their time, in seconds.
    pub seconds: f64,
}

/// Sessions.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SessionInfo {
    /// How many.
    pub count: u64,
    /// Logins that the source says.
    pub connects: u64,
    /// Ends of sessions that the source says.
    pub disconnects: u64,
    /// Logins a second; none where the source does not say them.
    pub connects_per_second: Option<f64>,
    /// Mean number of statements.
    pub statements_each: f64,
}

#[derive(Default, Clone)]
struct DigestTally {
    count: u64,
    prepared: u64,
    time_us: u64,
    max_us: u64,
    lock_us: u64,
    rows: [u64; 3],
    errors: u64,
    latency: Histogram,
}

struct Tally {
    digests: Vec<DigestTally>,
    classes: Vec<(u64, u64)>,
    connects: u64,
    disconnects: u64,
    transactions: TransactionCounter,
    timeline: Timeline,
}

/// Reads a capture and says what is in it.
///
/// # Errors
/// The file cannot be read or is damaged.
pub fn info(path: &Path) -> Result<Info, CaptureError> {
    let mut reader = CaptureReader::open(path)?;
    let summary = reader.summary().clone();
    let (first, last) = (summary.first_us.unwrap_or(0), summary.last_us.unwrap_or(0));
    let mut tally = Tally {
        digests: Vec::new(),
        classes: vec![(0, 0); Class::ALL.len()],
        connects: 0,
        disconnects: 0,
        transactions: TransactionCounter::default(),
        timeline: Timeline::new(first, last),
    };
    reader.for_each(|event, dictionary| {
        tally.see(event, dictionary);
        Ok::<(), CaptureError>(())
    })?;
    Ok(tally.result(
        summary,
        reader.dictionary(),
        last.saturating_sub(first).max(0) as f64 / 1e6,
    ))
}

impl Tally {
    fn see(&mut self, event: &Event<'_>, dictionary: &Dictionary) {
        match event.kind {
            EventKind::Connect => self.connects += 1,
            EventKind::Disconnect => self.disconnects += 1,
            _ => {}
        }
        self.transactions.see(event);
        if !event.kind.is_statement() {
            return;
        }
        self.timeline.see(event);
        let measured = event.measured;
        let duration = measured.duration_us.unwrap_or(0);
        let class = &mut self.classes[event.class as usize];
        class.0 += 1;
        class.1 = class.1.saturating_add(duration);
        let Some(template) = event.template else {
            return;
        };
        let number = dictionary.template(template).digest.0 as usize;
        if self.digests.len() <= number {
            self.digests.resize_with(number + 1, DigestTally::default);
        }
        let digest = &mut self.digests[number];
        digest.count += 1;
        digest.prepared += u64::from(event.kind == EventKind::Execute);
        digest.time_us = digest.time_us.saturating_add(duration);
        digest.max_us = digest.max_us.max(duration);
        digest.lock_us = digest.lock_us.saturating_add(measured.lock_us.unwrap_or(0));
        for (sum, rows) in digest.rows.iter_mut().zip([
            measured.rows_sent,
            measured.rows_examined,
            measured.rows_affected,
        ]) {
            *sum = sum.saturating_add(rows.unwrap_or(0));
        }
        digest.errors += u64::from(measured.error.is_some_and(|error| error > 0));
        if measured.duration_us.is_some() {
            digest.latency.add(duration);
        }
    }

    fn result(self, summary: Summary, dictionary: &Dictionary, seconds: f64) -> Info {
        let times = self.digests.iter().map(|digest| digest.time_us);
        let time = times.fold(0, u64::saturating_add);
        let count: u64 = self.digests.iter().map(|digest| digest.count).sum();
        let by_time = summary.has_durations && time > 0;
        let share = |digest: &DigestTally| {
            if by_time {
                digest.time_us as f64 / time as f64
            } else {
                digest.count as f64 / count.max(1) as f64
            }
        };
        let mut digests: Vec<DigestInfo> = self
            .digests
            .iter()
            .enumerate()
            .filter(|(_, digest)| digest.count > 0)
            .map(|(number, digest)| digest.describe(number, share(digest), dictionary))
            .collect();
        digests.sort_by(|a, b| {
            b.share
                .total_cmp(&a.share)
                .then_with(|| a.text.cmp(&b.text))
        });
        let mut classes: Vec<ClassInfo> = Class::ALL
            .into_iter()
            .zip(self.classes)
            .filter(|(_, (count, _))| *count > 0)
            .map(|(class, (count, time))| ClassInfo {
                class,
                count,
                seconds: time as f64 / 1e6,
            })
            .collect();
        classes.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then(b.count.cmp(&a.count)));
        Info {
            seconds,
            statement_seconds: summary.has_durations.then_some(time as f64 / 1e6),
            digests,
            classes,
            sessions: SessionInfo {
                count: summary.sessions,
                connects: self.connects,
                disconnects: self.disconnects,
                connects_per_second: (summary.has_connects && seconds > 0.0)
                    .then(|| self.connects as f64 / seconds),
                statements_each: summary.statements as f64 / summary.sessions.max(1) as f64,
            },
            transactions: self.transactions.result(),
            concurrency: self.timeline.result(summary.has_durations),
            summary,
        }
    }
}

impl DigestTally {
    fn describe(&self, number: usize, share: f64, dictionary: &Dictionary) -> DigestInfo {
        let entry = dictionary.digest(crate::file::DigestId(number as u32));
        let ms = |micros: u64| micros as f64 / 1e3;
        let at = |share: f64| ms(self.latency.quantile(share).min(self.max_us));
        DigestInfo {
            digest: entry.digest.to_string(),
            text: String::from_utf8_lossy(&entry.text).into_owned(),
            class: entry.traits.class,
            volatile: entry.traits.volatile,
            count: self.count,
            prepared: self.prepared,
            share,
            seconds: self.time_us as f64 / 1e6,
            mean_ms: ms(self.time_us) / self.count as f64,
            p50_ms: at(0.5),
            p95_ms: at(0.95),
            p99_ms: at(0.99),
            max_ms: ms(self.max_us),
            lock_seconds: self.lock_us as f64 / 1e6,
            rows_sent: self.rows[0],
            rows_examined: self.rows[1],
            rows_affected: self.rows[2],
            errors: self.errors,
        }
    }
}
