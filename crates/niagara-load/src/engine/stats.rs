//! What a slice, a run or an interval of it did.

use crate::engine::histogram::{coarse_histogram, fine_histogram};
use crate::engine::order::Served;
use crate::engine::recorder::{Kinds, Window};
use crate::workload::StatementClass;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::time::SystemTime;

/// What one slice (or one interval of a run) did to one side.
///
/// *Counted* time goes from the end of the ramp to the stop. *Whole* also has the ramp and the drain: it is what
/// the server's own counters see.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SliceStats {
    /// When the load was kicked off; of an interval: when the interval began.
    pub started: SystemTime,
    /// Counted time, in seconds.
    pub seconds: f64,
    /// Transactions completed in counted time.
    pub transactions: u64,
    /// Statements answered in counted time, `BEGIN`, `COMMIT` and `ROLLBACK` among them.
    pub queries: u64,
    /// Transactions completed at any time.
    pub transactions_whole: u64,
    /// Statements answered at any time.
    pub queries_whole: u64,
    /// From the kick to the last answer, in seconds.
    pub load_seconds: f64,
    /// From the stop to the last answer, in seconds.
    pub drain_seconds: f64,
    /// Errors after which a transaction was rolled back and begun again, by the server's number; whole.
    pub errors: BTreeMap<u16, u64>,
    /// Connections that were lost and re-established; whole.
    pub reconnects: u64,
    /// Connections re-established because they had served their number of transactions; whole.
    pub renewals: u64,
    /// Latency of the transactions completed in counted time, in nanoseconds, to 3 significant digits: from
    /// the intended start to the last statement's answer, restarts after errors included. The intended start is the
    /// arrival in an open loop, the end of the connection's last transaction in a closed one.
    #[serde(with = "crate::engine::histogram_text")]
    pub latency: Histogram<u64>,
    /// Of each statement of the workload, and of `ROLLBACK` as the last one; counted time.
    pub statements: Vec<StatementStats>,
    /// Of each type of transaction, where a workload has several; counted time.
    pub types: Vec<TypeStats>,
    /// Transactions that arrived, in an open loop: in the whole run from the kick to the stop, in an interval within
    /// it. 0 in a closed loop.
    pub arrivals: u64,
    /// Of those that arrived since the kick and before the stop: how many had not begun at the end. They wait for a
    /// connection. 0 where as many had begun by then as may.
    pub backlog: u64,
    /// How late transactions began although a connection was free, in nanoseconds, to 2 significant digits; open loop,
    /// counted time. This delay is the load generator's own, and part of `latency`.
    #[serde(with = "crate::engine::histogram_text")]
    pub start_delay: Histogram<u64>,
    /// CPU time of the loops and of the threads that connect, in seconds; whole.
    pub client_cpu_seconds: f64,
    /// Context switches of the loops, voluntary and involuntary; whole.
    pub client_context_switches: u64,
    /// CPU time of each loop, in seconds; whole.
    pub loop_cpu_seconds: Vec<f64>,
    /// Transactions completed at any time, by connection. Empty for intervals of a run unless they are asked for
    /// ([`RunOptions::connections_by_interval`](crate::RunOptions::connections_by_interval)).
    pub per_connection_transactions: Vec<u64>,
    /// Seconds each connection was within those transactions, from their beginning to the last statement's answer.
    /// For intervals as above; there, of a transaction that is longer than an interval, the part that is in it.
    pub per_connection_busy_seconds: Vec<f64>,
    /// Seconds that those transactions had waited for their connection before, in an open loop: from their arrival to
    /// their beginning. In an interval those of the transactions that were completed in it.
    pub per_connection_waited_seconds: Vec<f64>,
    /// The shortest and the longest of those transactions by connection, in seconds, their waiting included; zeros
    /// without one. Empty for intervals.
    pub per_connection_extreme_seconds: Vec<(f64, f64)>,
}

/// One kind of statement in counted time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StatementStats {
    /// Its name, as `point_select`.
    pub name: String,
    /// What sysbench counts it as.
    pub class: StatementClass,
    /// Answers, errors among them.
    pub count: u64,
    /// Of these, the ones without a row: nothing was changed, or it was an error. (A result set counts as rows, also an
    /// empty one.)
    pub untouched: u64,
    /// From its sending to its answer, in nanoseconds, to 2 significant digits.
    #[serde(with = "crate::engine::histogram_text")]
    pub latency: Histogram<u64>,
}

/// One type of transaction in counted time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TypeStats {
    /// Its name, as `new_order`.
    pub name: String,
    /// As [`SliceStats::latency`]; its length is the number of transactions.
    #[serde(with = "crate::engine::histogram_text")]
    pub latency: Histogram<u64>,
}

/// Mean and (population) standard deviation over connections, as sysbench prints them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fairness {
    /// Transactions per connection.
    pub transactions_mean: f64,
    /// Their standard deviation.
    pub transactions_sd: f64,
    /// Seconds within transactions per connection.
    pub seconds_mean: f64,
    /// Their standard deviation.
    pub seconds_sd: f64,
}

impl Fairness {
    /// Of what each connection did: its transactions, and the seconds that it was within them. Zeros of no connection.
    pub fn of(transactions: &[u64], seconds: &[f64]) -> Self {
        let counts = transactions.iter().map(|&count| count as f64);
        let (transactions_mean, transactions_sd) = mean_and_sd(counts);
        let (seconds_mean, seconds_sd) = mean_and_sd(seconds.iter().copied());
        Self {
            transactions_mean,
            transactions_sd,
            seconds_mean,
            seconds_sd,
        }
    }
}

impl SliceStats {
    pub(crate) fn new(started: SystemTime, kinds: &Kinds) -> Self {
        SliceStats {
            started,
            seconds: 0.0,
            transactions: 0,
            queries: 0,
            transactions_whole: 0,
            queries_whole: 0,
            load_seconds: 0.0,
            drain_seconds: 0.0,
            errors: BTreeMap::new(),
            reconnects: 0,
            renewals: 0,
            latency: fine_histogram(),
            statements: kinds
                .names
                .iter()
                .map(|(name, class)| StatementStats {
                    name: name.clone(),
                    class: *class,
                    count: 0,
                    untouched: 0,
                    latency: coarse_histogram(),
                })
                .collect(),
            types: kinds
                .types
                .iter()
                .map(|name| TypeStats {
                    name: name.clone(),
                    latency: fine_histogram(),
                })
                .collect(),
            arrivals: 0,
            backlog: 0,
            start_delay: coarse_histogram(),
            client_cpu_seconds: 0.0,
            client_context_switches: 0,
            loop_cpu_seconds: Vec::new(),
            per_connection_transactions: Vec::new(),
            per_connection_busy_seconds: Vec::new(),
            per_connection_waited_seconds: Vec::new(),
            per_connection_extreme_seconds: Vec::new(),
        }
    }

    /// Adds what loop number `index` counted.
    pub(crate) fn add(&mut self, index: usize, window: &Window) {
        self.transactions += window.transactions;
        self.queries += window.queries;
        self.transactions_whole += window.transactions_whole;
        self.queries_whole += window.queries_whole;
        for (&code, count) in &window.errors {
            *self.errors.entry(code).or_default() += count;
        }
        self.reconnects += window.reconnects;
        self.renewals += window.renewals;
        // All histograms of a kind have the same bounds, so nothing is too large.
        let _ = self.latency.add(&window.latency);
        let _ = self.start_delay.add(&window.start_delay);
        let counted = window.statements.iter().zip(&window.untouched);
        for (statement, (counted, untouched)) in self.statements.iter_mut().zip(counted) {
            statement.count += counted.len();
            statement.untouched += untouched;
            let _ = statement.latency.add(counted);
        }
        for (of_type, counted) in self.types.iter_mut().zip(&window.types) {
            let _ = of_type.latency.add(counted);
        }
        let cpu = window.cpu.as_secs_f64();
        self.client_cpu_seconds += cpu + window.connecting.as_secs_f64();
        self.client_context_switches += window.switches;
        if self.loop_cpu_seconds.len() <= index {
            self.loop_cpu_seconds.resize(index + 1, 0.0);
        }
        self.loop_cpu_seconds[index] += cpu;
    }

    /// Adds what a loop's connections did between two moments, given by what they had done since the kick.
    pub(crate) fn add_connections(&mut self, before: &[Served], after: &[Served]) {
        for (index, now) in after.iter().enumerate() {
            let was = before.get(index).copied().unwrap_or_default();
            self.per_connection_transactions
                .push(now.transactions.saturating_sub(was.transactions));
            self.per_connection_busy_seconds
                .push(now.busy.saturating_sub(was.busy).as_secs_f64());
            self.per_connection_waited_seconds
                .push(now.waited.saturating_sub(was.waited).as_secs_f64());
        }
    }

    /// Writes among [`StatementClass::Write`] that changed no row, in counted time. sysbench counts them as other.
    pub fn idle_writes(&self) -> u64 {
        let writes = self.statements.iter();
        let writes = writes.filter(|one| one.class == StatementClass::Write);
        writes.map(|one| one.untouched).sum()
    }

    /// Statements of a class answered in counted time.
    pub fn queries_of(&self, class: StatementClass) -> u64 {
        let of_class = self.statements.iter().filter(|one| one.class == class);
        of_class.map(|one| one.count).sum()
    }

    /// How evenly the connections were served. All zeros for an interval.
    pub fn fairness(&self) -> Fairness {
        Fairness::of(
            &self.per_connection_transactions,
            &self.per_connection_busy_seconds,
        )
    }

    /// CPU time of the busiest loop as a share of the time under load: 1.0 is a whole CPU.
    pub fn busiest_loop(&self) -> f64 {
        let busiest = self.loop_cpu_seconds.iter().copied().fold(0.0, f64::max);
        if self.load_seconds > 0.0 {
            busiest / self.load_seconds
        } else {
            0.0
        }
    }

    /// Why these figures may be the load generator's rather than the server's; `None` when nothing says so.
    ///
    /// Either a loop used 90 % of a CPU or more, or transactions began late although connections were free: the
    /// 99th percentile of that delay is at least a tenth of the latency's (and 100 µs, which a wake-up may take).
    pub fn generator_limit(&self) -> Option<GeneratorLimit> {
        let busiest_loop = self.busiest_loop();
        let percentile = |histogram: &Histogram<u64>| histogram.value_at_quantile(0.99) as f64;
        let start_delay = percentile(&self.start_delay);
        let is_late = self.start_delay.len() >= FEWEST_STARTS
            && start_delay >= 100_000.0
            && start_delay >= 0.1 * percentile(&self.latency);
        (busiest_loop >= GENERATOR_BUSY || is_late).then_some(GeneratorLimit {
            busiest_loop,
            loops: self.loop_cpu_seconds.len(),
            start_delay_seconds: if is_late { start_delay / 1e9 } else { 0.0 },
        })
    }
}

/// Share of a CPU from which on a loop of the load generator is taken for the bottleneck.
pub const GENERATOR_BUSY: f64 = 0.9;

/// Transactions of an open loop below which their delays are not reported: the 99th percentile of fewer is that of
/// two or three that something else disturbed.
const FEWEST_STARTS: u64 = 500;

/// Signs that the load generator itself was the bottleneck. `Display` says them and what can be done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GeneratorLimit {
    /// CPU time of the busiest loop as a share of the time under load: 1.0 is a whole CPU.
    pub busiest_loop: f64,
    /// How many loops there are.
    pub loops: usize,
    /// 99th percentile of how late transactions began although connections were free, in seconds; 0 if not late.
    pub start_delay_seconds: f64,
}

impl fmt::Display for GeneratorLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let busy = self.busiest_loop >= GENERATOR_BUSY;
        f.write_str("the load generator may be the bottleneck: ")?;
        if busy {
            write!(
                f,
                "the busiest of its {} loops used {:.0} % of a CPU (more loops may help)",
                self.loops,
                self.busiest_loop * 100.0
            )?;
        }
        if self.start_delay_seconds > 0.0 {
            write!(
                f,
                "{}1 in 100 transactions began {:.2} ms late or more although connections were free (the loops \
                 wait for a CPU: give them one of their own, or ask for a lower rate)",
                if busy { "; " } else { "" },
                self.start_delay_seconds * 1e3
            )?;
        }
        Ok(())
    }
}

/// Population standard deviation; zeros of nothing.
fn mean_and_sd(values: impl ExactSizeIterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.len();
    if count == 0 {
        return (0.0, 0.0);
    }
    let mean = values.clone().sum::<f64>() / count as f64;
    let variance = values.map(|value| (value - mean).powi(2)).sum::<f64>() / count as f64;
    (mean, variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats() -> SliceStats {
        SliceStats::new(
            SystemTime::now(),
            &Kinds {
                names: vec![("begin".into(), StatementClass::Other)],
                types: Vec::new(),
            },
        )
    }

    #[test]
    fn fairness_by_hand() {
        let mut stats = stats();
        assert_eq!(stats.fairness().transactions_mean, 0.0);
        stats.per_connection_transactions = vec![2, 4, 4, 4, 5, 5, 7, 9];
        stats.per_connection_busy_seconds = vec![1.0; 8];
        let fairness = stats.fairness();
        assert_eq!(
            (fairness.transactions_mean, fairness.transactions_sd),
            (5.0, 2.0)
        );
        assert_eq!((fairness.seconds_mean, fairness.seconds_sd), (1.0, 0.0));
    }

    #[test]
    fn a_busy_or_late_generator_says_so() {
        let mut stats = stats();
        stats.load_seconds = 10.0;
        stats.loop_cpu_seconds = vec![8.9, 3.0];
        for _ in 0..100 {
            stats.latency.record(5_000_000).unwrap();
            stats.start_delay.record(90_000).unwrap();
        }
        assert_eq!(stats.generator_limit(), None);
        stats.loop_cpu_seconds = vec![3.0, 9.8];
        let limit = stats.generator_limit().unwrap();
        assert!((limit.busiest_loop - 0.98).abs() < 1e-9);
        assert_eq!(limit.start_delay_seconds, 0.0);
        assert!(limit.to_string().contains("98 % of a CPU"), "{limit}");
        stats.loop_cpu_seconds = vec![3.0];
        for _ in 0..10 {
            stats.start_delay.record(2_000_000).unwrap();
        }
        // too few to say so
        assert_eq!(stats.generator_limit(), None);
        stats.start_delay.record_n(2_000_000, 400).unwrap();
        let limit = stats.generator_limit().unwrap();
        assert!(limit.to_string().contains("2.0"), "{limit}");
        assert!(!limit.to_string().contains("% of a CPU"), "{limit}");
    }
}
