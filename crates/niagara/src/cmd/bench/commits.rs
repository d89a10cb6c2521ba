//! What the `commit` workload is about: commits, and the syncs of the log that make them durable.

use serde::{Deserialize, Serialize};

use super::result::{RunResult, per};

/// Commits and syncs of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

/// Counters of syncs, best first: those of the binary log's groups, of InnoDB's log, of all of InnoDB's files.
const SYNCS: [&str; 3] = [
    "Binlog_group_commits",
    "Innodb_os_log_fsyncs",
    "Innodb_data_fsyncs",
];

impl Commits {
    /// From what was measured. Every transaction of the workload is a commit.
    pub fn of(run: &RunResult) -> Commits {
        let window = &run.cost.window;
        let syncs = run.cost.status.as_ref().and_then(|status| {
            SYNCS.into_iter().find_map(|name| {
                let count = status.changed.get(name)?;
                u64::try_from(*count)
                    .ok()
                    .filter(|count| *count > 0)
                    .map(|count| (name, count))
            })
        });
        Commits {
            transactions_per_minute: 60.0 * run.transactions_per_second,
            mean_ms: run.latency_ms.mean,
            syncs_per_second: syncs.map(|(_, count)| per(count, window.seconds)),
            commits_per_sync: syncs.map(|(_, count)| per(window.transactions, count as f64)),
            counter: syncs.map(|(name, _)| name.to_owned()),
        }
    }
}
