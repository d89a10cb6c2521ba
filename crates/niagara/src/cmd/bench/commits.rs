//! What the `commit` workload is about: commits, and the syncs of the log that make them durable.

use niagara_lab::log_syncs;

use super::result::{Commits, RunResult, per};

impl Commits {
    /// From what was measured. Every transaction of the workload is a commit.
    pub fn of(run: &RunResult) -> Commits {
        let window = &run.cost.window;
        let status = run.cost.status.as_ref();
        let syncs = status.and_then(|status| log_syncs(&status.changed));
        Commits {
            transactions_per_minute: 60.0 * run.transactions_per_second,
            mean_ms: run.latency_ms.mean,
            syncs_per_second: syncs.map(|(_, count)| per(count, window.seconds)),
            commits_per_sync: syncs.map(|(_, count)| per(window.transactions, count as f64)),
            counter: syncs.map(|(name, _)| name.to_owned()),
        }
    }
}
