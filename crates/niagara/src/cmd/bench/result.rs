//! What a bench found: the document that `--json` prints. docs/bench.md describes it.

use std::collections::BTreeMap;

use niagara_capture::fidelity::Fidelity;
use niagara_load::{Finding, Histogram, SliceStats, StatementClass, WorkloadSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cost::Cost;
use super::status::Delta;
use crate::json::{Document, Printed};

/// Commits and syncs of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Commits {
    /// Transactions per minute of counted time.
    pub transactions_per_minute: f64,
    /// Mean response time in milliseconds.
    pub mean_ms: f64,
    /// Syncs of the log per second of load; none if the server does not say.
    pub syncs_per_second: Option<f64>,
    /// Commits to one sync: the size of a group commit.
    pub commits_per_sync: Option<f64>,
    /// The server's counter of those syncs.
    pub counter: Option<String>,
}

/// Everything.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchResult {
    /// Niagara's version.
    pub niagara: String,
    /// The command as typed.
    pub command: String,
    /// The server.
    pub server: ServerInfo,
    /// The workload with all its numbers.
    pub workload: WorkloadSpec,
    /// Connections.
    pub threads: u32,
    /// Seed of everything that was drawn.
    pub seed: u64,
    /// Seconds of load before every run, not counted.
    pub warm_up_seconds: f64,
    /// Whether Ctrl-C ended it early.
    pub interrupted: bool,
    /// One, or one per rate step.
    pub runs: Vec<RunResult>,
    /// The highest of several rates that the server kept up with, in transactions per second; none if it kept up
    /// with none or there was only one run.
    pub highest_sustained_rate: Option<f64>,
    /// Of `tpcc`: what the consistency conditions say after the runs.
    pub consistency: Option<Vec<Finding>>,
    /// Of a capture: what was replayed beside what was captured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Fidelity>,
}

impl Printed for BenchResult {
    const DOCUMENT: Document = Document::Bench;
}

/// Which server it was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerInfo {
    /// As it calls itself: `MariaDB 10.11.19`.
    pub version: String,
    /// The address the load went to.
    pub address: String,
    /// How connections were encrypted: a mode, as `--tls` takes it.
    pub tls: String,
    /// The catalogue's name of a private server; none for one that was already running.
    pub private: Option<String>,
}

/// One measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunResult {
    /// When the load began, in seconds since 1970 (UTC).
    pub started_unix: f64,
    /// Counted time, in seconds.
    pub seconds: f64,
    /// Transactions completed in counted time.
    pub transactions: u64,
    /// Statements answered in counted time.
    pub queries: u64,
    /// Transactions per second of counted time.
    pub transactions_per_second: f64,
    /// Statements per second of counted time.
    pub queries_per_second: f64,
    /// Latency of the transactions completed in counted time.
    pub latency_ms: Latency,
    /// By type of transaction, where the workload has several; counted time.
    pub types: Vec<TypeResult>,
    /// Of `tpcc`: new-order transactions per minute of counted time, those that are rolled back as the specification wants
    /// among them. No audited result.
    pub new_orders_per_minute: Option<f64>,
    /// Of `commit`: how the log was synced.
    pub commits: Option<Commits>,
    /// By kind of statement, counted time.
    pub statements: Vec<StatementResult>,
    /// Errors after which a transaction was begun again, by the server's number; the whole load.
    pub errors: BTreeMap<u16, u64>,
    /// Connections that were lost and made again.
    pub reconnects: u64,
    /// Connections made again because the workload asks for it.
    pub renewals: u64,
    /// How evenly connections were served; the whole load.
    pub fairness: FairnessResult,
    /// Of an open loop.
    pub open_loop: Option<OpenLoop>,
    /// Why these figures may be the load generator's rather than the server's.
    pub generator_limit: Option<String>,
    /// What it cost.
    pub cost: Cost,
    /// Counted time in parts.
    pub intervals: Vec<IntervalResult>,
}

/// One type of transaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TypeResult {
    /// Its name.
    pub name: String,
    /// Transactions completed.
    pub count: u64,
    /// Their share of all.
    pub share: f64,
    /// Their latency.
    pub latency_ms: Latency,
}

/// Latency in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub sd: f64,
    /// Shortest.
    pub min: f64,
    /// Half were no longer.
    pub p50: f64,
    /// 90 % were no longer.
    pub p90: f64,
    /// 95 % were no longer.
    pub p95: f64,
    /// 99 % were no longer.
    pub p99: f64,
    /// 99.9 % were no longer.
    pub p99_9: f64,
    /// 99.99 % were no longer.
    pub p99_99: f64,
    /// Longest.
    pub max: f64,
}

/// One kind of statement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatementResult {
    /// `point_select`, `commit`, …
    pub name: String,
    /// `read`, `write` or `other`.
    pub class: String,
    /// Answers in counted time.
    pub count: u64,
    /// From its sending to its answer.
    pub latency_ms: Latency,
}

/// Mean and standard deviation over connections.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FairnessResult {
    /// Transactions per connection.
    pub transactions_mean: f64,
    /// Their standard deviation.
    pub transactions_sd: f64,
    /// Seconds within transactions per connection.
    pub seconds_mean: f64,
    /// Their standard deviation.
    pub seconds_sd: f64,
}

/// What only an open loop has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpenLoop {
    /// The schedule, as `--rate` takes it.
    pub schedule: String,
    /// Transactions that arrived.
    pub arrivals: u64,
    /// Arrivals per second of counted time.
    pub arrivals_per_second: f64,
    /// Of them, those that had not begun at the end: they waited for a connection and are in no latency.
    pub backlog: u64,
    /// Whether the server kept up: no more than 1 % of the arrivals, or as many as there are connections, had not begun.
    pub kept_up: bool,
    /// 99th percentile of how late transactions began although a connection was free: the generator's own delay.
    pub start_delay_p99_ms: f64,
}

/// A part of counted time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IntervalResult {
    /// Seconds from the beginning of counted time to its end.
    pub end: f64,
    /// Its length, in seconds.
    pub seconds: f64,
    /// Transactions completed.
    pub transactions: u64,
    /// Statements answered.
    pub queries: u64,
    /// Transactions per second.
    pub transactions_per_second: f64,
    /// Statements per second.
    pub queries_per_second: f64,
    /// Latency of the transactions completed; none when there were none.
    pub latency_ms: Option<Latency>,
    /// Errors, by the server's number.
    pub errors: BTreeMap<u16, u64>,
    /// Connections that were lost and made again.
    pub reconnects: u64,
    /// Transactions that arrived, in an open loop.
    pub arrivals: Option<u64>,
    /// Of all that arrived so far, those that had not begun at its end; in an open loop.
    pub backlog: Option<u64>,
    /// CPU time of the load generator's loops, in seconds.
    pub client_cpu_seconds: f64,
    /// What the server's process used, by the kernel's counters. They are read just after the interval's end, so that
    /// `server.seconds` differs a little from `seconds`.
    pub server: Option<niagara_server::Usage>,
    /// What the server's own counters did, with `--interval-status`. Read just after the interval's end, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Delta>,
}

impl Latency {
    /// Of a histogram in nanoseconds.
    pub fn of(histogram: &Histogram<u64>) -> Latency {
        let milliseconds = |nanoseconds: u64| nanoseconds as f64 / 1e6;
        let at = |quantile| milliseconds(histogram.value_at_quantile(quantile));
        Latency {
            mean: finite(histogram.mean() / 1e6),
            sd: finite(histogram.stdev() / 1e6),
            min: milliseconds(histogram.min()),
            p50: at(0.5),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            p99_9: at(0.999),
            p99_99: at(0.9999),
            max: milliseconds(histogram.max()),
        }
    }
}

/// JSON has no infinities: what nothing bounds is 0.
fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

/// `count` per second.
pub fn per(count: u64, seconds: f64) -> f64 {
    finite(count as f64 / seconds)
}

impl RunResult {
    /// From what the load generator counted.
    pub fn new(
        stats: &SliceStats,
        threads: u32,
        schedule: Option<String>,
        cost: Cost,
        intervals: Vec<IntervalResult>,
    ) -> RunResult {
        let fairness = stats.fairness();
        RunResult {
            started_unix: unix_seconds(stats.started),
            seconds: stats.seconds,
            transactions: stats.transactions,
            queries: stats.queries,
            transactions_per_second: per(stats.transactions, stats.seconds),
            queries_per_second: per(stats.queries, stats.seconds),
            latency_ms: Latency::of(&stats.latency),
            types: stats
                .types
                .iter()
                .map(|one| TypeResult {
                    name: one.name.clone(),
                    count: one.latency.len(),
                    share: per(one.latency.len(), stats.transactions as f64),
                    latency_ms: Latency::of(&one.latency),
                })
                .collect(),
            new_orders_per_minute: None,
            commits: None,
            statements: stats
                .statements
                .iter()
                .filter(|statement| statement.count > 0)
                .map(|statement| StatementResult {
                    name: statement.name.clone(),
                    class: class_name(statement.class).to_owned(),
                    count: statement.count,
                    latency_ms: Latency::of(&statement.latency),
                })
                .collect(),
            errors: stats.errors.clone(),
            reconnects: stats.reconnects,
            renewals: stats.renewals,
            fairness: FairnessResult {
                transactions_mean: fairness.transactions_mean,
                transactions_sd: fairness.transactions_sd,
                seconds_mean: fairness.seconds_mean,
                seconds_sd: fairness.seconds_sd,
            },
            open_loop: schedule.map(|schedule| OpenLoop {
                schedule,
                arrivals: stats.arrivals,
                arrivals_per_second: per(stats.arrivals, stats.seconds),
                backlog: stats.backlog,
                kept_up: kept_up(stats.arrivals, stats.backlog, threads),
                start_delay_p99_ms: stats.start_delay.value_at_quantile(0.99) as f64 / 1e6,
            }),
            generator_limit: stats.generator_limit().map(|limit| limit.to_string()),
            cost,
            intervals,
        }
    }

    /// Transactions of this type per minute of counted time.
    pub fn per_minute(&self, name: &str) -> Option<f64> {
        let found = self.types.iter().find(|one| one.name == name);
        found.map(|one| 60.0 * per(one.count, self.seconds))
    }
}

/// A backlog within the noise of arrivals by chance: see [`OpenLoop::kept_up`].
fn kept_up(arrivals: u64, backlog: u64, threads: u32) -> bool {
    backlog <= (arrivals / 100).max(u64::from(threads))
}

/// The highest rate of the runs, in their order by rate, up to which the server kept up with every one.
pub fn highest_sustained_rate(rates: &[f64], runs: &[RunResult]) -> Option<f64> {
    let mut steps: Vec<(f64, bool)> = rates
        .iter()
        .zip(runs)
        .filter_map(|(rate, run)| Some((*rate, run.open_loop.as_ref()?.kept_up)))
        .collect();
    steps.sort_by(|a, b| a.0.total_cmp(&b.0));
    steps
        .into_iter()
        .take_while(|(_, kept_up)| *kept_up)
        .map(|(rate, _)| rate)
        .last()
}

fn class_name(class: StatementClass) -> &'static str {
    match class {
        StatementClass::Read => "read",
        StatementClass::Write => "write",
        StatementClass::Other => "other",
    }
}

/// Seconds since 1970.
pub fn unix_seconds(time: std::time::SystemTime) -> f64 {
    time.duration_since(std::time::UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backlog_within_chance_is_no_backlog() {
        assert!(kept_up(10_000, 100, 4));
        assert!(!kept_up(10_000, 101, 4));
        assert!(kept_up(100, 32, 32));
        assert!(kept_up(0, 0, 1));
    }

    #[test]
    fn an_empty_measurement_has_no_infinities() {
        let empty = Histogram::<u64>::new(3).expect("three digits");
        assert_eq!(Latency::of(&empty).mean, 0.0);
        assert_eq!(Latency::of(&empty).max, 0.0);
        assert_eq!(per(0, 0.0), 0.0);
        assert_eq!(per(5, 0.0), 0.0);
    }
}
