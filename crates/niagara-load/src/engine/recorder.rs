//! What happened, counted per loop without sharing and merged when a slice or an interval ends.

use crate::engine::histogram::{LONGEST, coarse_histogram, fine_histogram};
use crate::error::LoadError;
use crate::workload::StatementClass;
use crate::workload::plan::Plan;
use hdrhistogram::Histogram;
use nix::sys::resource::{UsageWho, getrusage};
use nix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What one loop counted in one interval.
#[derive(Debug)]
pub(crate) struct Window {
    pub transactions: u64,
    pub queries: u64,
    pub transactions_whole: u64,
    pub queries_whole: u64,
    /// Transactions begun at any time.
    pub begun: u64,
    pub errors: BTreeMap<u16, u64>,
    pub reconnects: u64,
    pub renewals: u64,
    pub latency: Histogram<u64>,
    pub start_delay: Histogram<u64>,
    /// By the place of the statement in [`Kinds`].
    pub statements: Vec<Histogram<u64>>,
    /// By the place of the transaction's type in [`Kinds`].
    pub types: Vec<Histogram<u64>>,
    /// Of them, those that were answered without a row.
    pub untouched: Vec<u64>,
    pub cpu: Duration,
    /// CPU time of the threads that connect.
    pub connecting: Duration,
    pub switches: u64,
}

impl Window {
    fn new(kinds: &Kinds) -> Self {
        Window {
            transactions: 0,
            queries: 0,
            transactions_whole: 0,
            queries_whole: 0,
            begun: 0,
            errors: BTreeMap::new(),
            reconnects: 0,
            renewals: 0,
            latency: fine_histogram(),
            start_delay: coarse_histogram(),
            statements: kinds.names.iter().map(|_| coarse_histogram()).collect(),
            types: kinds.types.iter().map(|_| fine_histogram()).collect(),
            untouched: vec![0; kinds.names.len()],
            cpu: Duration::ZERO,
            connecting: Duration::ZERO,
            switches: 0,
        }
    }
}

/// What a plan's statements and transactions are counted as.
#[derive(Debug, Clone)]
pub(crate) struct Kinds {
    /// Of statements, `ROLLBACK` after an error last: what they are called and which class they are.
    pub names: Vec<(String, StatementClass)>,
    /// Of transactions; empty where all are of one type.
    pub types: Vec<String>,
}

impl Kinds {
    pub(crate) fn of(plan: &Plan) -> Self {
        let mut names = plan.kinds.clone();
        names.push(("rollback".into(), StatementClass::Other));
        Kinds {
            names,
            types: plan.types.clone(),
        }
    }

    fn rollback(&self) -> usize {
        self.names.len() - 1
    }
}

/// One loop's counters.
#[derive(Debug)]
pub(crate) struct Recorder<'a> {
    kinds: &'a Kinds,
    window: Window,
    count_from: Instant,
    count_until: Instant,
    usage: ThreadUsage,
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(LONGEST)
}

impl<'a> Recorder<'a> {
    /// Counts from `count_from` until `count_until`. Must be made by the loop's own thread.
    pub(crate) fn new(
        kinds: &'a Kinds,
        count_from: Instant,
        count_until: Instant,
    ) -> Result<Self, LoadError> {
        Ok(Recorder {
            kinds,
            window: Window::new(kinds),
            count_from,
            count_until,
            usage: ThreadUsage::now()?,
        })
    }

    /// Ends counted time early.
    pub(crate) fn stop(&mut self, now: Instant) {
        self.count_until = self.count_until.min(now);
    }

    fn is_counted(&self, now: Instant) -> bool {
        now >= self.count_from && now < self.count_until
    }

    /// A statement was answered, of a kind by its place in [`Kinds`] (`None`: `ROLLBACK` after an error); `touched`: with
    /// rows, or rows were changed.
    #[inline]
    pub(crate) fn query(
        &mut self,
        now: Instant,
        kind: Option<u16>,
        latency: Duration,
        touched: bool,
    ) {
        self.window.queries_whole += 1;
        if self.is_counted(now) {
            self.window.queries += 1;
            let place = kind.map_or_else(|| self.kinds.rollback(), usize::from);
            self.window.statements[place].saturating_record(nanoseconds(latency));
            self.window.untouched[place] += u64::from(!touched);
        }
    }

    /// A transaction began; `late` says by how much although a connection was free, in an open loop.
    pub(crate) fn began(&mut self, now: Instant, late: Option<Duration>) {
        self.window.begun += 1;
        if let Some(late) = late
            && self.is_counted(now)
        {
            self.window.start_delay.saturating_record(nanoseconds(late));
        }
    }

    /// A transaction was completed, of a type by its place in [`Kinds`].
    pub(crate) fn transaction(&mut self, now: Instant, kind: usize, latency: Duration) {
        self.window.transactions_whole += 1;
        if self.is_counted(now) {
            self.window.transactions += 1;
            let latency = nanoseconds(latency);
            self.window.latency.saturating_record(latency);
            if let Some(of_type) = self.window.types.get_mut(kind) {
                of_type.saturating_record(latency);
            }
        }
    }

    /// A transaction was rolled back because of a server error.
    pub(crate) fn error(&mut self, code: u16) {
        *self.window.errors.entry(code).or_default() += 1;
    }

    /// A connection is there again: after it was lost, or because its time had come (`renewed`).
    pub(crate) fn reconnected(&mut self, renewed: bool) {
        if renewed {
            self.window.renewals += 1;
        } else {
            self.window.reconnects += 1;
        }
    }

    /// Another thread has taken this CPU time to connect.
    pub(crate) fn connecting(&mut self, cpu: Duration) {
        self.window.connecting += cpu;
    }

    /// Takes what was counted so far and starts from zero.
    pub(crate) fn take(&mut self) -> Result<Window, LoadError> {
        let fresh = Window::new(self.kinds);
        let window = std::mem::replace(&mut self.window, fresh);
        let before = self.usage;
        self.usage = ThreadUsage::now()?;
        Ok(self.usage.since(before, window))
    }

    /// Takes what was counted since the last time.
    pub(crate) fn finish(self) -> Result<Window, LoadError> {
        Ok(ThreadUsage::now()?.since(self.usage, self.window))
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

    /// `window`, with what was used since `before`.
    fn since(self, before: ThreadUsage, mut window: Window) -> Window {
        window.cpu = self.cpu.saturating_sub(before.cpu);
        window.switches = self.switches.saturating_sub(before.switches);
        window
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::stats::SliceStats;
    use crate::workload::WorkloadSpec;
    use std::time::SystemTime;

    fn kinds() -> Kinds {
        Kinds::of(&Plan::new(&WorkloadSpec::default(), 1, 1))
    }

    #[test]
    fn names_and_classes_come_from_the_statements() {
        let kinds = kinds();
        let names: Vec<_> = kinds.names.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names.first(), Some(&"begin"));
        assert_eq!(names.last(), Some(&"rollback"));
        assert!(
            kinds
                .names
                .contains(&("point_select".into(), StatementClass::Read))
        );
        assert!(
            kinds
                .names
                .contains(&("commit".into(), StatementClass::Other))
        );
    }

    #[test]
    fn only_counted_time_is_counted() {
        let kinds = kinds();
        let kick = Instant::now();
        let at = |milliseconds| kick + Duration::from_millis(milliseconds);
        let mut names = kinds.names.iter();
        let point_select = names.position(|(name, _)| name == "point_select");
        let point_select = point_select.unwrap() as u16;
        let mut recorder = Recorder::new(&kinds, at(100), at(200)).unwrap();
        for milliseconds in [0, 99, 100, 199, 200, 250] {
            let latency = Duration::from_micros(milliseconds);
            recorder.began(at(milliseconds), Some(latency));
            recorder.query(at(milliseconds), Some(point_select), latency, true);
            recorder.query(at(milliseconds), None, latency, false);
            recorder.transaction(at(milliseconds), 0, latency);
        }
        recorder.error(1213);
        recorder.reconnected(false);
        recorder.connecting(Duration::from_secs(7));
        let window = recorder.take().unwrap();
        assert_eq!((window.queries, window.queries_whole), (4, 12));
        assert_eq!((window.transactions, window.transactions_whole), (2, 6));
        assert_eq!((window.begun, window.start_delay.len()), (6, 2));
        assert_eq!(window.latency.len(), 2);
        let longest = window.latency.max() as f64;
        assert!((longest / 199_000.0 - 1.0).abs() < 1e-3, "{longest}");

        let mut stats = SliceStats::new(SystemTime::now(), &kinds);
        stats.add(0, &window);
        stats.add(1, &window);
        assert_eq!(stats.queries, 8);
        assert_eq!(stats.queries_of(StatementClass::Read), 4);
        assert_eq!(stats.queries_of(StatementClass::Other), 4);
        assert_eq!(stats.errors[&1213], 2);
        assert_eq!(stats.reconnects, 2);
        assert_eq!(stats.latency.len(), 4);
        assert_eq!(stats.loop_cpu_seconds.len(), 2);
        // It is the client's, and no loop's.
        assert!(stats.client_cpu_seconds >= 14.0 && stats.busiest_loop() < 7.0);
        assert_eq!(recorder.take().unwrap().queries_whole, 0);
    }

    #[test]
    fn latencies_beyond_the_bounds_do_not_fail() {
        let kinds = kinds();
        let now = Instant::now();
        let mut recorder = Recorder::new(&kinds, now, now + Duration::from_secs(1)).unwrap();
        for latency in [
            Duration::ZERO,
            Duration::from_secs(1_000_000),
            Duration::MAX,
        ] {
            recorder.transaction(now, 0, latency);
            recorder.query(now, None, latency, false);
        }
        let window = recorder.take().unwrap();
        assert_eq!((window.latency.len(), window.queries), (3, 3));
    }
}
