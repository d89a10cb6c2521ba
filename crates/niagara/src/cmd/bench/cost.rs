//! What a load cost: the server's process by the kernel's counters, the server's own counters, the client.

use niagara_load::{Admin, IoChoice, SliceStats};
use niagara_server::{Usage, UsageMeter, UsageSample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::status::{Delta, Snapshot};

/// What one run cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// What the figures cover.
    pub window: Window,
    /// The server's process; none where its counters cannot be read.
    pub server: Option<Usage>,
    /// Why `server` is not there.
    pub server_unknown: Option<String>,
    /// `server` by transaction of the window.
    pub server_per_transaction: Option<PerTransaction>,
    /// The server's counters; none where the account may not read them.
    pub status: Option<Delta>,
    /// Why `status` is not there.
    pub status_unknown: Option<String>,
    /// The load generator.
    pub client: Client,
}

/// The load between the two readings of the counters: from the first statement that was sent to the last answer,
/// without the warm-up. Nothing else of Niagara runs on the server in between.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// Its length, in seconds.
    pub seconds: f64,
    /// Transactions completed in it.
    pub transactions: u64,
    /// Statements answered in it.
    pub queries: u64,
}

/// Use of the server's process, divided by the transactions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PerTransaction {
    /// CPU time, in microseconds.
    pub cpu_us: f64,
    /// Its part outside of the kernel, in microseconds.
    pub user_us: f64,
    /// Its part in the kernel, in microseconds.
    pub system_us: f64,
    /// Context switches of threads that had to wait.
    pub voluntary_switches: f64,
    /// Context switches of threads that were made to give way.
    pub involuntary_switches: f64,
    /// Page faults without a read.
    pub minor_faults: f64,
    /// Page faults with a read.
    pub major_faults: f64,
    /// Bytes fetched from disk, where known.
    pub disk_read_bytes: Option<f64>,
    /// Bytes made to be written to disk, where known.
    pub disk_write_bytes: Option<f64>,
}

/// What the load generator used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Client {
    /// CPU time of its loops, in seconds.
    pub cpu_seconds: f64,
    /// CPU time per statement, in microseconds.
    pub cpu_us_per_query: f64,
    /// Context switches of its loops.
    pub context_switches: u64,
    /// Context switches per statement.
    pub context_switches_per_query: f64,
    /// CPU time of the busiest loop by the time under load: 1 is a whole CPU.
    pub busiest_loop: f64,
    /// How many loops there are.
    pub loops: usize,
    /// How they ask the system for input and output.
    pub io: String,
}

/// The counters at the start of a run.
pub struct Before {
    status: Result<Snapshot, String>,
    usage: Result<UsageSample, String>,
}

impl Before {
    /// Reads the server's counters, then the kernel's, so that these do not see the reading of those.
    pub fn read(admin: &mut Admin, meter: &Result<UsageMeter, String>) -> Before {
        Before {
            status: Snapshot::read(admin, true).map_err(|error| error.to_string()),
            usage: sample(meter),
        }
    }

    /// The kernel's counters, where they can be read.
    pub fn usage(&self) -> Option<&UsageSample> {
        self.usage.as_ref().ok()
    }

    /// The server's own counters, where they can be read.
    pub fn counters(&self) -> Option<&Snapshot> {
        self.status.as_ref().ok()
    }

    /// What it cost since, read in the opposite order.
    pub fn cost(
        self,
        admin: &mut Admin,
        meter: &Result<UsageMeter, String>,
        stats: &SliceStats,
        io: IoChoice,
    ) -> Cost {
        let usage = self
            .usage
            .and_then(|before| Ok(sample(meter)?.since(&before)));
        let status = self.status.and_then(|before| {
            Snapshot::read(admin, false)
                .map(|after| after.since(&before))
                .map_err(|error| error.to_string())
        });
        let (server, server_unknown) = split(usage);
        let (status, status_unknown) = split(status);
        Cost {
            window: Window {
                seconds: stats.load_seconds,
                transactions: stats.transactions_whole,
                queries: stats.queries_whole,
            },
            server_per_transaction: server
                .filter(|_| stats.transactions_whole > 0)
                .map(|usage| PerTransaction::of(&usage, stats.transactions_whole)),
            server,
            server_unknown,
            status,
            status_unknown,
            client: Client::of(stats, io),
        }
    }
}

/// The process's counters now, or why they cannot be had.
pub fn sample(meter: &Result<UsageMeter, String>) -> Result<UsageSample, String> {
    match meter {
        Ok(meter) => meter.sample().map_err(|error| format!("{error:#}")),
        Err(reason) => Err(reason.clone()),
    }
}

fn split<T>(result: Result<T, String>) -> (Option<T>, Option<String>) {
    match result {
        Ok(value) => (Some(value), None),
        Err(reason) => (None, Some(reason)),
    }
}

impl PerTransaction {
    fn of(usage: &Usage, transactions: u64) -> PerTransaction {
        let each = |total: f64| total / transactions as f64;
        PerTransaction {
            cpu_us: each(usage.cpu_seconds * 1e6),
            user_us: each(usage.user_seconds * 1e6),
            system_us: each(usage.system_seconds * 1e6),
            voluntary_switches: each(usage.voluntary_switches as f64),
            involuntary_switches: each(usage.involuntary_switches as f64),
            minor_faults: each(usage.minor_faults as f64),
            major_faults: each(usage.major_faults as f64),
            disk_read_bytes: usage.io.map(|io| each(io.disk_read_bytes as f64)),
            disk_write_bytes: usage.io.map(|io| each(io.disk_write_bytes as f64)),
        }
    }
}

impl Client {
    fn of(stats: &SliceStats, io: IoChoice) -> Client {
        let queries = stats.queries_whole.max(1) as f64;
        let busiest = stats.loop_cpu_seconds.iter().copied().fold(0.0, f64::max);
        Client {
            cpu_seconds: stats.client_cpu_seconds,
            cpu_us_per_query: stats.client_cpu_seconds * 1e6 / queries,
            context_switches: stats.client_context_switches,
            context_switches_per_query: stats.client_context_switches as f64 / queries,
            busiest_loop: if stats.load_seconds > 0.0 {
                busiest / stats.load_seconds
            } else {
                0.0
            },
            loops: stats.loop_cpu_seconds.len(),
            io: io.to_string(),
        }
    }
}
