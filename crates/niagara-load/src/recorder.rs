//! What happened, counted per loop without sharing and merged when a slice or an interval ends.

use crate::error::LoadError;
use hdrhistogram::Histogram;
use nix::sys::resource::{UsageWho, getrusage};
use nix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

/// The shortest and the longest latency told apart, in nanoseconds. Outliers count as the bound.
const SHORTEST: u64 = 100;
const LONGEST: u64 = 3_600_000_000_000;

/// What one slice (or one interval of a run) did to one side.
///
/// *Counted* time goes from the end of the ramp to the stop. *Whole* also has the ramp and the drain: it is what
/// the server's own counters see.
#[derive(Debug, Clone)]
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
    /// Connections made anew. None of the workloads so far does that: always 0.
    pub reconnects: u64,
    /// Latency of the transactions completed in counted time, in nanoseconds, to 3 significant digits: from
    /// the first statement's sending to the last one's answer, restarts after errors included.
    pub latency: Histogram<u64>,
    /// CPU time of the loops, in seconds; whole.
    pub client_cpu_seconds: f64,
    /// Context switches of the loops, voluntary and involuntary; whole.
    pub client_context_switches: u64,
    /// Transactions completed at any time, by connection. Empty for intervals of a run.
    pub per_connection_transactions: Vec<u64>,
}

impl SliceStats {
    pub(crate) fn new(started: SystemTime) -> Self {
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
            latency: new_histogram(),
            client_cpu_seconds: 0.0,
            client_context_switches: 0,
            per_connection_transactions: Vec::new(),
        }
    }

    /// Adds what one loop counted.
    pub(crate) fn add(&mut self, window: &Window) {
        self.transactions += window.transactions;
        self.queries += window.queries;
        self.transactions_whole += window.transactions_whole;
        self.queries_whole += window.queries_whole;
        for (&code, count) in &window.errors {
            *self.errors.entry(code).or_default() += count;
        }
        // Both have the same bounds, so nothing is too large.
        let _ = self.latency.add(&window.latency);
        self.client_cpu_seconds += window.cpu.as_secs_f64();
        self.client_context_switches += window.switches;
    }
}

fn new_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(SHORTEST, LONGEST, 3)
        .expect("the bounds are constants that the histogram accepts")
}

/// What one loop counted in one interval.
#[derive(Debug)]
pub struct Window {
    pub transactions: u64,
    pub queries: u64,
    pub transactions_whole: u64,
    pub queries_whole: u64,
    pub errors: BTreeMap<u16, u64>,
    pub latency: Histogram<u64>,
    pub cpu: Duration,
    pub switches: u64,
}

impl Window {
    fn new() -> Self {
        Window {
            transactions: 0,
            queries: 0,
            transactions_whole: 0,
            queries_whole: 0,
            errors: BTreeMap::new(),
            latency: new_histogram(),
            cpu: Duration::ZERO,
            switches: 0,
        }
    }
}

/// One loop's counters.
#[derive(Debug)]
pub struct Recorder {
    window: Window,
    count_from: Instant,
    count_until: Instant,
    usage: ThreadUsage,
}

impl Recorder {
    /// Counts from `count_from` until `count_until`. Must be made by the loop's own thread.
    pub fn new(count_from: Instant, count_until: Instant) -> Result<Self, LoadError> {
        Ok(Recorder {
            window: Window::new(),
            count_from,
            count_until,
            usage: ThreadUsage::now()?,
        })
    }

    /// Ends counted time early.
    pub fn stop(&mut self, now: Instant) {
        self.count_until = self.count_until.min(now);
    }

    fn is_counted(&self, now: Instant) -> bool {
        now >= self.count_from && now < self.count_until
    }

    /// A statement was answered.
    pub fn query(&mut self, now: Instant) {
        self.window.queries_whole += 1;
        self.window.queries += u64::from(self.is_counted(now));
    }

    /// A transaction was completed.
    pub fn transaction(&mut self, now: Instant, latency: Duration) {
        self.window.transactions_whole += 1;
        if self.is_counted(now) {
            self.window.transactions += 1;
            let nanoseconds = u64::try_from(latency.as_nanos()).unwrap_or(LONGEST);
            self.window.latency.saturating_record(nanoseconds);
        }
    }

    /// A transaction was rolled back because of a server error.
    pub fn error(&mut self, code: u16) {
        *self.window.errors.entry(code).or_default() += 1;
    }

    /// Takes what was counted so far and starts from zero.
    pub fn take(&mut self) -> Result<Window, LoadError> {
        let usage = ThreadUsage::now()?;
        let mut window = std::mem::replace(&mut self.window, Window::new());
        window.cpu = usage.cpu.saturating_sub(self.usage.cpu);
        window.switches = usage.switches.saturating_sub(self.usage.switches);
        self.usage = usage;
        Ok(window)
    }
}

/// What the calling thread has used since it started.
#[derive(Debug, Clone, Copy)]
struct ThreadUsage {
    cpu: Duration,
    switches: u64,
}

impl ThreadUsage {
    fn now() -> Result<Self, LoadError> {
        let failed = |error| LoadError::Client(format!("reading the thread's clock: {error}"));
        let usage = getrusage(UsageWho::RUSAGE_THREAD).map_err(failed)?;
        let switches = usage.voluntary_context_switches() + usage.involuntary_context_switches();
        Ok(ThreadUsage {
            cpu: Duration::from(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_err(failed)?),
            switches: u64::try_from(switches).unwrap_or(0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_counted_time_is_counted() {
        let kick = Instant::now();
        let at = |milliseconds| kick + Duration::from_millis(milliseconds);
        let mut recorder = Recorder::new(at(100), at(200)).unwrap();
        for milliseconds in [0, 99, 100, 199, 200, 250] {
            recorder.query(at(milliseconds));
            recorder.transaction(at(milliseconds), Duration::from_micros(milliseconds));
        }
        recorder.error(1213);
        let window = recorder.take().unwrap();
        assert_eq!((window.queries, window.queries_whole), (2, 6));
        assert_eq!((window.transactions, window.transactions_whole), (2, 6));
        assert_eq!(window.latency.len(), 2);
        let longest = window.latency.max() as f64;
        assert!((longest / 199_000.0 - 1.0).abs() < 1e-3, "{longest}");

        let mut stats = SliceStats::new(SystemTime::now());
        stats.add(&window);
        stats.add(&window);
        assert_eq!(stats.queries, 4);
        assert_eq!(stats.errors[&1213], 2);
        assert_eq!(stats.latency.len(), 4);
        assert_eq!(recorder.take().unwrap().queries_whole, 0);
    }

    #[test]
    fn latencies_beyond_the_bounds_do_not_fail() {
        let now = Instant::now();
        let mut recorder = Recorder::new(now, now + Duration::from_secs(1)).unwrap();
        recorder.transaction(now, Duration::ZERO);
        recorder.transaction(now, Duration::from_secs(1_000_000));
        recorder.transaction(now, Duration::MAX);
        assert_eq!(recorder.take().unwrap().latency.len(), 3);
    }
}
