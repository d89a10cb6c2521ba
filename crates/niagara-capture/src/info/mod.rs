//! What is in a capture: where its time goes, who is there when, what was dropped.

mod concurrency;
mod histogram;
mod loops;
mod transactions;

use std::collections::HashMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

pub use concurrency::{Concurrency, Interval};
use histogram::Histogram;
pub use transactions::Transactions;

use crate::error::CaptureError;
use crate::file::{CaptureReader, Dictionary, DigestId, Event, EventKind, Measured, Summary};
use crate::samples::{Sample, samples};
use crate::sql::{Class, Digest, tables_of};
use concurrency::Timeline;
use loops::LoopCounter;
use transactions::TransactionCounter;

/// Samples that [`digest_detail`] takes.
const SAMPLES: usize = 10;

/// What is in a capture.
#[derive(Debug, Clone, Serialize, JsonSchema)]
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

/// How long the executions of a digest take, in milliseconds.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DigestLatency {
    /// Mean.
    pub mean_ms: f64,
    /// Median, within 7 %.
    pub p50_ms: f64,
    /// 95th percentile, within 7 %.
    pub p95_ms: f64,
    /// 99th percentile, within 7 %.
    pub p99_ms: f64,
    /// The longest.
    pub max_ms: f64,
}

/// One digest.
#[derive(Debug, Clone, Serialize, JsonSchema)]
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
    /// How long an execution takes; none where durations are not known.
    pub latency: Option<DigestLatency>,
    /// Time waited for locks, in seconds; none where the source does not say it, as all that follows.
    pub lock_seconds: Option<f64>,
    /// Rows sent.
    pub rows_sent: Option<u64>,
    /// Rows read to find them.
    pub rows_examined: Option<u64>,
    /// Rows read for each row sent or changed; for each execution where none was.
    pub examined_per_row: Option<f64>,
    /// Rows changed.
    pub rows_affected: Option<u64>,
    /// How it was executed.
    pub plan: PlanCounts,
    /// Executions in loops: five or more of one transaction, or of one short session.
    pub in_loops: u64,
    /// Such loops.
    pub loops: u64,
    /// Executions that failed, where the source says it.
    pub errors: u64,
}

/// Executions by how the server executed them; none where the source does not say it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlanCounts {
    /// A table or an index was read from one end to the other.
    pub full_scans: Option<u64>,
    /// A table was joined that way for each row of another.
    pub full_joins: Option<u64>,
    /// Rows were sorted.
    pub filesorts: Option<u64>,
    /// A temporary table was made.
    pub temporary_tables: Option<u64>,
    /// One was made on disk.
    pub temporary_tables_on_disk: Option<u64>,
}

impl PlanCounts {
    fn see(&mut self, measured: &Measured) {
        let plan = measured.plan;
        for (count, fact) in [
            (&mut self.full_scans, plan.full_scan),
            (&mut self.full_joins, plan.full_join),
            (&mut self.filesorts, plan.filesort),
            (&mut self.temporary_tables, plan.temporary_table),
            (
                &mut self.temporary_tables_on_disk,
                plan.temporary_table_on_disk,
            ),
        ] {
            if let Some(is_so) = fact {
                *count = Some(count.unwrap_or(0) + u64::from(is_so));
            }
        }
    }
}

/// What digests are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// Most time first; most executions where durations are not known.
    #[default]
    Time,
    /// Most rows examined first.
    Rows,
    /// Most executions first.
    Calls,
}

impl Info {
    /// Sorts the digests.
    pub fn sort(&mut self, by: Sort) {
        self.digests.sort_by(|a, b| {
            let order = match by {
                Sort::Time => b.share.total_cmp(&a.share),
                Sort::Rows => b.rows_examined.cmp(&a.rows_examined),
                Sort::Calls => b.count.cmp(&a.count),
            };
            order.then_with(|| a.text.cmp(&b.text))
        });
    }

    /// The digests whose number begins so.
    pub fn beginning_with<'i>(
        &'i self,
        number: &str,
    ) -> impl Iterator<Item = &'i DigestInfo> + use<'i> {
        let number = number.to_ascii_lowercase();
        self.digests
            .iter()
            .filter(move |digest| digest.digest.starts_with(&number))
    }
}

/// One digest in full.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DigestDetail {
    /// Its figures.
    #[serde(flatten)]
    pub info: DigestInfo,
    /// The tables that its text names.
    pub tables: Vec<String>,
    /// Its durations by doublings, from the shortest to the longest.
    pub histogram: Vec<HistogramBar>,
    /// Some executions: the slowest first, the fastest, others by chance.
    #[serde(skip)]
    pub samples: Vec<Sample>,
}

/// Durations within a doubling.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct HistogramBar {
    /// The shortest that belongs here, in milliseconds.
    pub from_ms: f64,
    /// The shortest that does not belong here any more, in milliseconds.
    pub to_ms: f64,
    /// How many.
    pub count: u64,
}

/// Reads a capture and says everything about the digest of this number.
///
/// # Errors
/// The file cannot be read or is damaged; it has no such digest.
pub fn digest_detail(path: &Path, digest: &DigestInfo) -> Result<DigestDetail, CaptureError> {
    let number = Digest(u64::from_str_radix(&digest.digest, 16).unwrap_or(0));
    let mut histogram = Histogram::default();
    CaptureReader::open(path)?.for_each(|event, dictionary| {
        if let (true, Some(template), Some(duration)) = (
            event.kind.is_statement(),
            event.template,
            event.measured.duration_us,
        ) && dictionary
            .digest(dictionary.template(template).digest)
            .digest
            == number
        {
            histogram.add(duration);
        }
        Ok::<(), CaptureError>(())
    })?;
    let ms = |micros: u64| micros as f64 / 1e3;
    let bars = histogram.doublings().into_iter();
    Ok(DigestDetail {
        info: digest.clone(),
        tables: tables_of(digest.text.as_bytes()),
        histogram: bars
            .map(|(from, to, count)| HistogramBar {
                from_ms: ms(from),
                to_ms: ms(to),
                count,
            })
            .collect(),
        samples: samples(path, &HashMap::from([(number, SAMPLES)]))?
            .remove(&number)
            .unwrap_or_default(),
    })
}

/// One kind of statement.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ClassInfo {
    /// The kind.
    pub class: Class,
    /// Executions.
    pub count: u64,
    /// Their time, in seconds.
    pub seconds: f64,
}

/// Sessions.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
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
    lock_us: Option<u64>,
    rows: [Option<u64>; 3],
    plan: PlanCounts,
    errors: u64,
    latency: Histogram,
}

struct Tally {
    digests: Vec<DigestTally>,
    classes: Vec<(u64, u64)>,
    connects: u64,
    disconnects: u64,
    transactions: TransactionCounter,
    loops: LoopCounter,
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
        loops: LoopCounter::default(),
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
        let executed = event
            .template
            .filter(|_| event.kind.is_statement() && event.class == Class::Read);
        let looped = executed.map(|template| dictionary.template(template).digest.0);
        self.loops.see(event, looped);
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
        let add = |sum: &mut Option<u64>, value: Option<u64>| {
            if let Some(value) = value {
                *sum = Some(sum.unwrap_or(0).saturating_add(value));
            }
        };
        add(&mut digest.lock_us, measured.lock_us);
        digest.plan.see(&measured);
        for (sum, rows) in digest.rows.iter_mut().zip([
            measured.rows_sent,
            measured.rows_examined,
            measured.rows_affected,
        ]) {
            add(sum, rows);
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
        let loops = self.loops.result();
        let digests: Vec<DigestInfo> = self
            .digests
            .iter()
            .enumerate()
            .filter(|(_, digest)| digest.count > 0)
            .map(|(number, digest)| {
                let in_loops = loops.get(number).copied().unwrap_or_default();
                let mut described = digest.describe(number, share(digest), in_loops, dictionary);
                if !summary.has_durations {
                    described.latency = None;
                }
                described
            })
            .collect();
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
        let mut info = Info {
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
        };
        info.sort(Sort::Time);
        info
    }
}

impl DigestTally {
    fn describe(
        &self,
        number: usize,
        share: f64,
        (in_loops, loops): (u64, u64),
        dictionary: &Dictionary,
    ) -> DigestInfo {
        let entry = dictionary.digest(DigestId(number as u32));
        let [sent, examined, affected] = self.rows;
        // What reads changes nothing: without what it sent its rows are not known.
        let has_rows = sent.is_some() || (affected.is_some() && entry.traits.class != Class::Read);
        let rows = sent.unwrap_or(0).saturating_add(affected.unwrap_or(0));
        let rows = if rows == 0 { self.count } else { rows };
        let per_row = |examined: u64| examined as f64 / rows.max(1) as f64;
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
            latency: Some(DigestLatency {
                mean_ms: ms(self.time_us) / self.count as f64,
                p50_ms: at(0.5),
                p95_ms: at(0.95),
                p99_ms: at(0.99),
                max_ms: ms(self.max_us),
            }),
            lock_seconds: self.lock_us.map(|lock| lock as f64 / 1e6),
            rows_sent: sent,
            rows_examined: examined,
            examined_per_row: examined.filter(|_| has_rows).map(per_row),
            rows_affected: affected,
            plan: self.plan,
            in_loops,
            loops,
            errors: self.errors,
        }
    }
}
