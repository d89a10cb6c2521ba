//! What was measured since the start, a checkpoint or the last intermediate line, on its way into a report.

use crate::buckets::Buckets;
use crate::report::{Counts, Cumulative, Latency, Share};
use niagara_load::{Counts as ScriptCounts, Histogram, SliceStats, StatementClass};

/// A sum of intervals.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Seconds that it is of.
    pub seconds: f64,
    pub counts: Counts,
    /// Nanoseconds; `None` as long as nothing was added.
    latency: Option<Histogram<u64>>,
    shares: Vec<Share>,
    /// Seconds that all connections were within transactions, their waiting for a connection left out.
    busy_seconds: f64,
}

/// What sysbench would have counted.
pub fn counts(stats: &SliceStats) -> Counts {
    let idle = stats.idle_writes();
    Counts {
        events: stats.transactions,
        reads: stats.queries_of(StatementClass::Read),
        writes: stats.queries_of(StatementClass::Write) - idle,
        other: stats.queries_of(StatementClass::Other) + idle,
        errors: stats.errors.values().sum(),
        // It makes no difference between connections that were lost and those that had served their time.
        reconnects: stats.reconnects + stats.renewals,
    }
}

impl Tally {
    /// Adds an interval.
    pub fn add(&mut self, stats: &SliceStats) {
        let more = counts(stats);
        let sum = &mut self.counts;
        sum.events += more.events;
        sum.reads += more.reads;
        sum.writes += more.writes;
        sum.other += more.other;
        sum.errors += more.errors;
        sum.reconnects += more.reconnects;
        self.seconds += stats.seconds;
        match &mut self.latency {
            // Histograms of one run have the same bounds, so nothing is too large.
            Some(latency) => {
                let _ = latency.add(&stats.latency);
            }
            None => self.latency = Some(stats.latency.clone()),
        }
        let shares = stats
            .per_connection_transactions
            .iter()
            .zip(&stats.per_connection_busy_seconds)
            .zip(&stats.per_connection_waited_seconds);
        if self.shares.len() < shares.len() {
            self.shares.resize(shares.len(), Share::default());
        }
        for (share, ((events, busy), waited)) in self.shares.iter_mut().zip(shares) {
            share.events += events;
            // With a rate, sysbench's timers of an event begin when it comes into the queue.
            share.seconds += busy + waited;
            self.busy_seconds += busy;
        }
        let extremes = stats.per_connection_extreme_seconds.iter();
        for (share, &(shortest, longest)) in self.shares.iter_mut().zip(extremes) {
            (share.shortest, share.longest) = (shortest, longest);
        }
    }

    /// Adds what a script has asked before its first event and after its last one.
    pub(crate) fn add_outside(&mut self, more: ScriptCounts) {
        let sum = &mut self.counts;
        sum.reads += u64::from(more.reads);
        sum.writes += u64::from(more.writes);
        sum.other += u64::from(more.other);
        sum.errors += u64::from(more.errors);
        sum.reconnects += u64::from(more.reconnects);
    }

    /// What was added after `before`, which is this sum at an earlier time.
    pub fn since(&self, before: &Tally) -> Tally {
        let mut latency = self.latency.clone();
        if let (Some(latency), Some(before)) = (&mut latency, &before.latency) {
            // It holds all that the earlier one holds, in the same bounds.
            let _ = latency.subtract(before);
        }
        let (sum, was) = (&self.counts, &before.counts);
        let mut shares = self.shares.clone();
        for (share, was) in shares.iter_mut().zip(&before.shares) {
            share.events = share.events.saturating_sub(was.events);
            // A transaction that was under way then and never came to its end counts there only.
            share.seconds = (share.seconds - was.seconds).max(0.0);
        }
        Tally {
            seconds: self.seconds - before.seconds,
            counts: Counts {
                events: sum.events - was.events,
                reads: sum.reads - was.reads,
                writes: sum.writes - was.writes,
                other: sum.other - was.other,
                errors: sum.errors - was.errors,
                reconnects: sum.reconnects - was.reconnects,
            },
            latency,
            shares,
            busy_seconds: (self.busy_seconds - before.busy_seconds).max(0.0),
        }
    }

    /// Connections that were within a transaction, on average.
    pub(crate) fn mean_busy(&self) -> f64 {
        if self.seconds > 0.0 {
            self.busy_seconds / self.seconds
        } else {
            0.0
        }
    }

    /// Latency in sysbench's buckets.
    pub fn buckets(&self) -> Buckets {
        self.latency
            .as_ref()
            .map(Buckets::from_nanoseconds)
            .unwrap_or_default()
    }

    /// The report, `elapsed` seconds after the start.
    pub fn report(&self, elapsed: f64, percentile: Option<u32>) -> Cumulative {
        let latency = match &self.latency {
            Some(latency) if !latency.is_empty() => {
                let avg = latency.mean() / 1e6;
                Latency {
                    min: latency.min() as f64 / 1e6,
                    avg,
                    max: latency.max() as f64 / 1e6,
                    sum: avg * latency.len() as f64,
                }
            }
            _ => Latency::default(),
        };
        let buckets = self.buckets();
        Cumulative {
            elapsed,
            seconds: self.seconds,
            counts: self.counts,
            latency,
            percentile: percentile.map(|percentile| (percentile, buckets.percentile(percentile))),
            shares: self.shares.clone(),
            unfinished: None,
            asks_a_server: true,
        }
    }
}
