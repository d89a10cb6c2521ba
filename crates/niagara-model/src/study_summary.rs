//! What the studies of a file came to: ladders, matrices, sweeps.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use niagara_stats::IntervalEstimate;
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::{Comparison, Control, Failure, PointFailure, Reason, StudyHeader};

/// A ladder: steps in a given order, each kept when fresh duels prove it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LadderSummary {
    /// What all studies have.
    #[serde(flatten)]
    pub header: StudyHeader,
    /// Connections.
    pub threads: u32,
    /// Label of what it starts from.
    pub start: String,
    /// Every rung of the file, in its order.
    pub rungs: Vec<LadderRung>,
    /// The controls, where the study has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub controls: Vec<MethodControl>,
    /// Start against the final variant, from fresh duels; `None` when nothing was kept or time ended.
    pub total: Option<Comparison>,
}

/// A control of a ladder or a matrix: a lever whose effect is known, against the start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MethodControl {
    /// Which.
    pub control: Control,
    /// The lever's title.
    pub title: String,
    /// The start against it; `None` where it was not measured.
    pub comparison: Option<Comparison>,
    /// Why it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The part of a matrix that it vouches for, from 1; none where all was measured as one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<usize>,
}

/// One rung and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LadderRung {
    /// For people.
    pub title: String,
    /// What it changes here, one line; empty where it was not worked out.
    pub change: String,
    /// What the published study found.
    pub published: Option<String>,
    /// What it is today.
    pub why: Option<String>,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: RungOutcome,
}

/// What came of a rung.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum RungOutcome {
    /// Proven: the rungs after it start from it.
    Kept {
        /// The best before it against it.
        claim: Box<Comparison>,
    },
    /// Measured and not proven: the rungs after it do without.
    NotKept {
        /// The best before it against it.
        claim: Box<Comparison>,
    },
    /// Not measured.
    NotTried {
        /// Why.
        reason: Reason,
    },
}

impl LadderRung {
    /// Its comparison, where it was measured.
    pub fn claim(&self) -> Option<&Comparison> {
        match &self.outcome {
            RungOutcome::Kept { claim } | RungOutcome::NotKept { claim } => Some(claim),
            RungOutcome::NotTried { .. } => None,
        }
    }
}

/// A matrix: combinations of levels, each against the baseline, for each workload and thread count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MatrixSummary {
    /// What all studies have.
    #[serde(flatten)]
    pub header: StudyHeader,
    /// The parts that were measured one after the other, the last one included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<MeasuredPart>,
    /// What measures more of it; `None` where no cell is left that could be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_part: Option<NextPart>,
    /// What was combined.
    pub axes: Vec<Axis>,
    /// The loads.
    pub workloads: Vec<MatrixWorkload>,
    /// Connections, ascending.
    pub threads: Vec<u32>,
    /// All cells beside the baseline, in the order of the file.
    pub cells: Vec<Cell>,
    /// The best combination, in fresh duels that its choice never saw: of several that were confirmed one after the other, as parts
    /// added cells, the last one that was proven, else the last one.
    pub confirmed: Option<Confirmed>,
    /// The other ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_confirmations: Vec<Confirmed>,
    /// The controls, where the study has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub controls: Vec<MethodControl>,
}

/// What one command measured of a matrix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredPart {
    /// Its axes and levels in words; `None` where all was asked for.
    pub levels: Option<String>,
    /// Start, milliseconds since the Unix epoch.
    pub started_unix_ms: i64,
    /// Cells that it measured.
    pub cells: usize,
    /// Seconds asked for.
    pub budget_seconds: f64,
    /// Seconds used, excluding setup.
    pub elapsed_seconds: f64,
}

/// What is left of a matrix, and how more of it is measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NextPart {
    /// The command that measures the next part.
    pub command: String,
    /// Cells that it adds, as far as they are to be had.
    pub cells: usize,
    /// Cells that are left in all.
    pub left: usize,
}

/// An axis of a matrix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Axis {
    /// What its levels are levels of.
    pub name: String,
    /// The first is the baseline.
    pub levels: Vec<String>,
}

/// A load of a matrix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MatrixWorkload {
    /// Its name.
    pub name: String,
    /// One line, threads aside.
    pub one_line: String,
    /// Whether some build of the matrix was trained with it.
    pub trained: bool,
}

/// A combination of levels at one workload and thread count, against the baseline there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// Level of each axis; empty of a variant that stands beside the combinations.
    pub levels: Vec<usize>,
    /// The levels that differ from the baseline: `gcc + PGO`.
    pub title: String,
    /// Index into the workloads.
    pub workload: usize,
    /// Connections.
    pub threads: u32,
    /// Whether the combination's own build was trained with the workload.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trained: bool,
    /// p value of "it does not differ from the baseline", adjusted for all cells of the table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_over_table: Option<f64>,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: CellOutcome,
}

/// What came of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum CellOutcome {
    /// Measured.
    Measured {
        /// Baseline against the combination.
        comparison: Box<Comparison>,
    },
    /// Not measured.
    NotTried {
        /// Why.
        reason: Reason,
    },
}

impl Cell {
    /// What failed, where one side did again and again, whether or not duels counted before.
    pub fn failure(&self) -> Option<&Failure> {
        match &self.outcome {
            CellOutcome::Measured { comparison } => {
                let failed = comparison.failed.as_ref()?;
                Some(&failed.failure)
            }
            CellOutcome::NotTried { reason } => reason.failure(),
        }
    }

    /// Its comparison, where it was measured.
    pub fn comparison(&self) -> Option<&Comparison> {
        match &self.outcome {
            CellOutcome::Measured { comparison } => Some(comparison),
            CellOutcome::NotTried { .. } => None,
        }
    }

    /// Whether a later part may measure it.
    pub fn is_left(&self) -> bool {
        matches!(&self.outcome, CellOutcome::NotTried { reason } if reason.is_temporary())
    }
}

/// The best combination of a matrix, confirmed or not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Confirmed {
    /// Its levels, as a cell's title.
    pub title: String,
    /// Index into the workloads: where it was confirmed.
    pub workload: usize,
    /// Connections there.
    pub threads: u32,
    /// What its duels are known by among those of all confirmations.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub subject: String,
    /// Baseline against it, from fresh duels.
    pub comparison: Comparison,
}

/// A sweep over threads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepSummary {
    /// What all studies have.
    #[serde(flatten)]
    pub header: StudyHeader,
    /// A curve for each variant.
    pub curves: Vec<SweepCurve>,
    /// The second variant over the first at each thread count, where two were interleaved.
    pub ratios: Vec<RatioAt>,
    /// Several variants that were measured each alone: every one over the first and over the one before it, round by round.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_round: Vec<RoundRatio>,
}

/// Two of several variants at one thread count, each measured alone in the same rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoundRatio {
    /// Connections.
    pub threads: u32,
    /// Index of the variant whose throughput is told.
    pub of: usize,
    /// Index of the one that it is set beside.
    pub over: usize,
    /// Throughput of the one over the other: geometric mean over rounds, interval by Student's t on the logarithms.
    pub ratio: IntervalEstimate,
    /// Rounds behind it.
    pub rounds: u32,
}

/// Two variants at one thread count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RatioAt {
    /// Connections.
    pub threads: u32,
    /// Throughput of the second over the first: geometric mean over duels, interval by Student's t on the logarithms.
    pub ratio: IntervalEstimate,
    /// Duels behind it.
    pub duels: u32,
}

/// One variant over all thread counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepCurve {
    /// What people call it.
    pub title: String,
    /// The variant's label.
    pub label: String,
    /// The server's own version string.
    pub server_version: String,
    /// Ascending in threads; those that were measured.
    pub points: Vec<SweepPoint>,
    /// The scalability law fitted to every fresh start; `None` of fewer than three thread counts or four starts.
    pub law: Option<Law>,
    /// Where it stops scaling.
    pub knee: Option<Knee>,
    /// Thread counts that could not be measured, each with the reason.
    #[serde(deserialize_with = "by_number")]
    pub failures: BTreeMap<u32, PointFailure>,
}

/// One variant at one thread count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepPoint {
    /// Connections.
    pub threads: u32,
    /// Fresh starts behind it.
    pub starts: u32,
    /// Transactions per second: geometric mean over starts, interval by Student's t on the logarithms.
    pub tps: IntervalEstimate,
    /// Median latency, milliseconds, likewise.
    pub p50_ms: IntervalEstimate,
    /// 95th percentile of latency, milliseconds, likewise.
    pub p95_ms: IntervalEstimate,
    /// 99th percentile of latency, milliseconds, likewise.
    pub p99_ms: IntervalEstimate,
    /// Slices in which the machine was disturbed, of all.
    pub disturbed: [u32; 2],
    /// Errors of the server by code, all starts together.
    #[serde(deserialize_with = "by_number")]
    pub errors: BTreeMap<u16, u64>,
    /// What the time went into.
    pub breakdown: Option<Breakdown>,
    /// How unevenly connections were served; none of one connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unevenness: Option<Unevenness>,
}

/// How unevenly the connections of a start were served: standard deviation over connections as a share of their mean (0: all
/// alike), the arithmetic mean of that over starts, interval by Student's t, not below 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unevenness {
    /// Of the transactions of a connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transactions: Option<IntervalEstimate>,
    /// Of the time that it was within transactions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<IntervalEstimate>,
}

/// The Universal Scalability Law (Gunther 2007), X(N) = λN / (1 + σ(N − 1) + κN(N − 1)), fitted by least squares
/// on ln X over all fresh starts; intervals by profile likelihood.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Law {
    /// Transactions per second of one thread without company.
    pub lambda: IntervalEstimate,
    /// Contention: the share of the work that is serial, dimensionless.
    pub sigma: IntervalEstimate,
    /// Coherency: the cost of keeping pairs consistent, dimensionless.
    pub kappa: IntervalEstimate,
    /// Threads at which throughput peaks, √((1 − σ)/κ); infinite where κ is 0.
    pub peak_threads: IntervalEstimate,
    /// Throughput there, transactions per second; the limit λ/σ where there is no peak, none without contention either.
    pub peak_tps: Option<f64>,
    /// Root mean square of the residuals of ln X: the typical relative distance of a start from the curve.
    pub residual: f64,
    /// Residual beyond what fresh starts at the same thread count differ by: the law does not describe this curve well.
    pub misfit: bool,
}

/// Where a curve stops rising.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Knee {
    /// Smallest measured thread count within `within` of the best.
    pub threads: u32,
    /// Measured thread count with the highest throughput.
    pub best_threads: u32,
    /// The share that counts as "as good as the best": 0.02.
    pub within: f64,
    /// What holds it back there; the point's breakdown has the figures.
    pub held_back_by: Option<Bound>,
}

/// What holds a server back at a thread count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// The CPUs.
    Cpu,
    /// The CPUs, of which the load generator takes as much as the server.
    Client,
    /// Row locks, while a CPU idles.
    RowLocks,
    /// The log: its syncs wait for the disk.
    Log,
    /// The disk.
    Disk,
    /// Too few connections to keep the CPUs busy.
    Connections,
    /// Waits that no counter names: the network, locks inside of the server.
    Waits,
}

/// Where the time of a thread count goes, by the kernel's and the server's counters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Breakdown {
    /// Connections.
    pub threads: u32,
    /// Online CPUs.
    pub cpus: u32,
    /// Share of the machine's CPU time in the server.
    pub server: f64,
    /// Share in the load generator.
    pub client: f64,
    /// Share in neither (kernel threads, interrupts, other processes, the hypervisor).
    pub other: f64,
    /// Share in which a CPU had nothing to do.
    pub idle: f64,
    /// Share of those waiting for a disk.
    pub iowait: f64,
    /// Of a connection's time: the server works for it on a CPU.
    pub on_cpu: f64,
    /// The server's threads are ready and wait for a CPU; none where the kernel does not count it.
    pub run_queue: Option<f64>,
    /// Waits for row locks; none where the engine does not count it.
    pub row_locks: Option<f64>,
    /// Everything else: the network, the load generator's turn, the log, locks inside of the server.
    pub elsewhere: f64,
    /// Server CPU per transaction, microseconds.
    pub cpu_us: f64,
    /// Context switches of the server per transaction: voluntary, involuntary.
    pub switches: [f64; 2],
    /// Row-lock waits per transaction.
    pub row_lock_waits: Option<f64>,
    /// Deadlocks per transaction.
    pub deadlocks: Option<f64>,
    /// Syncs of the log per transaction, or of all of InnoDB's files where the server counts those alone.
    pub log_syncs: Option<f64>,
    /// Share of the time in which all tasks that could run waited for I/O.
    pub io_pressure: Option<f64>,
    /// Share of the time in which some task waited for a CPU.
    pub cpu_pressure: Option<f64>,
    /// What holds it back.
    pub bound: Bound,
}

impl Breakdown {
    /// A share of the connections' time in row locks that is worth naming.
    pub const MANY_ROW_LOCKS: f64 = 0.25;

    /// Share of the time in which nothing could run for want of the disk.
    pub(crate) fn stalled(&self) -> f64 {
        self.io_pressure.unwrap_or(self.iowait)
    }
}

/// The counters of one side of a start, over its counted slices.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ResourceCounters {
    /// Seconds of wall clock.
    pub seconds: f64,
    /// Transactions completed in them.
    pub transactions: u64,
    /// Connections.
    pub threads: u32,
    /// Online CPUs.
    pub cpus: u32,
    /// CPU seconds of the server.
    pub server_cpu_seconds: f64,
    /// CPU seconds of the load generator.
    pub client_cpu_seconds: f64,
    /// CPU seconds of nothing to do, waiting for disks included.
    pub idle_seconds: f64,
    /// CPU seconds of those with a task waiting for a disk.
    pub iowait_seconds: f64,
    /// Seconds in which some task waited for a CPU.
    pub cpu_stall_seconds: Option<f64>,
    /// Seconds in which all tasks waited for I/O.
    pub io_stall_seconds: Option<f64>,
    /// Seconds that the server's threads were ready and waited for a CPU, all threads together.
    pub run_delay_seconds: Option<f64>,
    /// Context switches of the server: voluntary, involuntary.
    pub switches: [u64; 2],
    /// The server's counters that changed, by its own names.
    pub status: BTreeMap<String, i64>,
    /// Standard deviation over connections as a share of their mean, of a connection's transactions and of its seconds within
    /// them; none of one connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unevenness: Option<[f64; 2]>,
}

/// Reads a map with numbers for keys, which are texts in JSON. Within an enum that is told by a tag, such as
/// [`Summary`](crate::Summary), serde does not turn them into numbers.
fn by_number<'de, D, K, V>(deserializer: D) -> Result<BTreeMap<K, V>, D::Error>
where
    D: Deserializer<'de>,
    K: FromStr<Err: Display> + Ord,
    V: Deserialize<'de>,
{
    let texts = BTreeMap::<String, V>::deserialize(deserializer)?;
    let numbers = texts.into_iter().map(|(text, value)| {
        let number = text.parse().map_err(D::Error::custom)?;
        Ok((number, value))
    });
    numbers.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_have_a_code_and_words() {
        let mut breakdown = Breakdown {
            threads: 2,
            cpus: 8,
            server: 0.5,
            client: 0.25,
            other: 0.05,
            idle: 0.2,
            iowait: 0.1,
            on_cpu: 0.3,
            run_queue: Some(0.4),
            row_locks: Some(0.3),
            elsewhere: 0.35,
            cpu_us: 100.0,
            switches: [2.0, 0.5],
            row_lock_waits: Some(0.9),
            deadlocks: None,
            log_syncs: Some(0.75),
            io_pressure: None,
            cpu_pressure: None,
            bound: Bound::Cpu,
        };
        let cpus = "server 50 %, load generator 25 %, others 5 %, idle 20 %";
        for (bound, code, words) in [
            (Bound::Cpu, "cpu", "used up"),
            (Bound::Cpu, "cpu", "; in 40 % of their time"),
            (Bound::Cpu, "cpu", ", in 30 % they wait for row locks"),
            (Bound::Client, "client", "as much of them as the server"),
            (
                Bound::RowLocks,
                "row-locks",
                "in 30 % of their time, 0.90 waits",
            ),
            (Bound::Log, "log", "0.75 syncs a transaction"),
            (Bound::Disk, "disk", "in 10 % of the time"),
            (
                Bound::Connections,
                "connections",
                "2 cannot keep 8 CPUs busy",
            ),
            (
                Bound::Waits,
                "waits",
                "35 % of the connections' time, 2.5 context switches",
            ),
        ] {
            breakdown.bound = bound;
            let said = breakdown.to_string();
            assert!(said.contains(words) && said.contains(cpus), "{said}");
            let json = serde_json::to_value(&breakdown).expect("JSON");
            assert_eq!(json["bound"], code);
        }
    }
}
