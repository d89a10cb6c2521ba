//! What a server's load spent its time on: the kernel's and the server's own counters over the slices of one side.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use niagara_load::{Fairness, SliceStats};
use niagara_model::ResourceCounters;
use niagara_server::machine::Sample;
use niagara_server::{RunningServer, UsageMeter, UsageSample};

/// The counters of one side, from before its first slice on.
pub(crate) struct CounterReader {
    record: ResourceCounters,
    status: BTreeMap<String, i64>,
    run_delay: Option<Duration>,
    meter: UsageMeter,
    usage: UsageSample,
    /// Transactions by connection.
    transactions: Vec<u64>,
    /// Seconds within them by connection.
    busy_seconds: Vec<f64>,
}

impl CounterReader {
    /// Reads the server's counters, then the kernel's, so that these do not see the reading of those.
    pub(crate) fn begin(server: &RunningServer, threads: u32) -> Result<Self> {
        let status = counters(server)?;
        let meter = UsageMeter::new(server.pid())?;
        Ok(Self {
            record: ResourceCounters {
                threads,
                ..ResourceCounters::default()
            },
            status,
            run_delay: server.run_delay(),
            usage: meter.sample()?,
            meter,
            transactions: vec![0; threads as usize],
            busy_seconds: vec![0.0; threads as usize],
        })
    }

    /// Adds one slice: what the machine did between two samples, what the load did in between, and what the server and
    /// the load generator took of the machine's CPUs for it, in seconds.
    pub(crate) fn add(
        &mut self,
        before: &Sample,
        after: &Sample,
        stats: &SliceStats,
        [server_cpu, client_cpu]: [f64; 2],
    ) {
        let record = &mut self.record;
        record.seconds += after.at.saturating_duration_since(before.at).as_secs_f64();
        record.cpus = after.cpus as u32;
        record.transactions += stats.transactions_whole;
        record.server_cpu_seconds += server_cpu;
        record.client_cpu_seconds += client_cpu;
        let transactions = &stats.per_connection_transactions;
        for (sum, one) in self.transactions.iter_mut().zip(transactions) {
            *sum += one;
        }
        let seconds = &stats.per_connection_busy_seconds;
        for (sum, one) in self.busy_seconds.iter_mut().zip(seconds) {
            *sum += one;
        }
        let grown = |now: f64, then: f64| (now - then).max(0.0);
        let iowait = grown(after.cpu.iowait, before.cpu.iowait);
        record.iowait_seconds += iowait;
        record.idle_seconds += grown(after.cpu.idle, before.cpu.idle) + iowait;
        let stalled = |total: Option<f64>, now: Option<f64>, then: Option<f64>| {
            Some(total.unwrap_or(0.0) + grown(now?, then?))
        };
        record.cpu_stall_seconds = stalled(
            record.cpu_stall_seconds,
            after.cpu_stall.map(|stall| stall.some),
            before.cpu_stall.map(|stall| stall.some),
        );
        record.io_stall_seconds = stalled(
            record.io_stall_seconds,
            after.io_stall.map(|stall| stall.full),
            before.io_stall.map(|stall| stall.full),
        );
    }

    /// The record, once the last slice is over.
    pub(crate) fn end(mut self, server: &RunningServer) -> Result<ResourceCounters> {
        let used = self.meter.sample()?.since(&self.usage);
        self.record.switches = [used.voluntary_switches, used.involuntary_switches];
        self.record.run_delay_seconds = self
            .run_delay
            .zip(server.run_delay())
            .map(|(before, after)| after.saturating_sub(before).as_secs_f64());
        self.record.unevenness = unevenness(&self.transactions, &self.busy_seconds);
        let now = counters(server)?;
        self.record.status = now
            .into_iter()
            .filter_map(|(name, value)| {
                let grown = value - self.status.get(&name)?;
                (grown != 0).then_some((name, grown))
            })
            .collect();
        Ok(self.record)
    }
}

/// Standard deviation over connections as a share of their mean, of both figures; `None` of one connection, or of none that
/// did anything.
fn unevenness(transactions: &[u64], seconds: &[f64]) -> Option<[f64; 2]> {
    if transactions.len() < 2 {
        return None;
    }
    let fairness = Fairness::of(transactions, seconds);
    let share = |sd: f64, mean: f64| (mean > 0.0).then(|| sd / mean);
    Some([
        share(fairness.transactions_sd, fairness.transactions_mean)?,
        share(fairness.seconds_sd, fairness.seconds_mean)?,
    ])
}

/// The server's whole-number counters.
fn counters(server: &RunningServer) -> Result<BTreeMap<String, i64>> {
    Ok(server
        .status()?
        .into_iter()
        .filter_map(|(name, value)| Some((name, value.parse().ok()?)))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unevenness_is_a_share_of_the_mean() {
        let [transactions, seconds] = unevenness(&[90, 110], &[2.0, 2.0]).expect("two connections");
        assert!((transactions - 0.1).abs() < 1e-12);
        assert_eq!(seconds, 0.0);
        assert_eq!(unevenness(&[100], &[2.0]), None);
        assert_eq!(unevenness(&[0, 0], &[0.0, 0.0]), None);
    }
}
