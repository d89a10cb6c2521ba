//! What the `commit` workload is about: commits, and the syncs of the log that make them durable.

use super::result::{Commits, RunResult, per};

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
