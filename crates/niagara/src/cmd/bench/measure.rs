//! One measurement: warm-up, counters, load, counters.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use anyhow::{Result, anyhow};
use niagara_load::{Driver, Histogram, LoadError, Pacing, RunOptions, Schedule, SliceStats};
use niagara_server::Cancel;
use niagara_server::UsageSample;

use super::args::{RunArgs, schedule_text};
use super::cost::{Before, sample};
use super::hdr_log::HdrLog;
use super::live::Live;
use super::result::{IntervalResult, Latency, RunResult, per};
use super::status::Snapshot;
use super::target::Target;

/// How soon Ctrl-C is heard: the load hands out parts no longer than this, put together to the intervals asked for.
const MAX_PART: Duration = Duration::from_millis(200);

/// What every run of a bench shares.
pub struct Bench<'a> {
    /// How long, how often.
    pub args: &'a RunArgs,
    /// Connections.
    pub threads: u32,
    /// The server.
    pub target: &'a mut Target,
    /// Connections to it.
    pub driver: &'a mut Driver,
    /// Ctrl-C.
    pub cancel: &'a Cancel,
    /// Where latencies go, if anywhere.
    pub log: Option<HdrLog<'a>>,
}

impl Bench<'_> {
    /// Warms up, then measures by `pacing`. None when Ctrl-C came before anything was measured.
    ///
    /// # Errors
    /// The server is lost or refuses a statement; the log cannot be written.
    pub fn run(&mut self, pacing: &Pacing) -> Result<Option<RunResult>> {
        let live = Live::new(self.args.length());
        let run = self.measure(pacing, &live);
        live.finish();
        run
    }

    fn measure(&mut self, pacing: &Pacing, live: &Live) -> Result<Option<RunResult>> {
        if !self.args.warm_up.is_zero() {
            live.say(&format!(
                "warming up for {:.1} s",
                self.args.warm_up.as_secs_f64()
            ));
            self.warm_up(pacing)?;
        }
        if self.cancel.is_cancelled() {
            return Ok(None);
        }
        if let (Some(log), Some(schedule)) = (&mut self.log, text_of(pacing)) {
            log.comment(&format!("open loop, {schedule} transactions/s"))?;
        }
        let before = Before::read(&mut self.target.admin, &self.target.meter);
        let mut parts = Parts::new(
            self.args.report_interval,
            matches!(pacing, Pacing::Open(_)),
            before.usage().cloned(),
            before
                .counters()
                .filter(|_| self.args.interval_status)
                .cloned(),
        );
        let options = RunOptions {
            duration: Some(self.args.length()),
            interval: Some(part_of(self.args.report_interval)),
            pacing: pacing.clone(),
            ..RunOptions::default()
        };
        let mut trouble = None;
        let (target, cancel, log) = (&mut *self.target, self.cancel, &mut self.log);
        let outcome = self.driver.run(0, &options, &mut |part: &SliceStats| {
            match parts.add(part, target, log) {
                Ok(Some(interval)) => live.interval(interval),
                Ok(None) => {}
                Err(error) => trouble = Some(error),
            }
            trouble.is_none() && !cancel.is_cancelled()
        });
        let stats = match outcome {
            Err(LoadError::Cancelled) => {
                tell!("transactions in flight did not end: there are no figures of this run");
                return Ok(None);
            }
            outcome => outcome.map_err(|error| target.explain(error))?,
        };
        if let Some(error) = trouble {
            return Err(error);
        }
        let cost = before.cost(&mut target.admin, &target.meter, &stats, self.driver.io());
        parts.rest(&stats, target, log)?;
        let schedule = text_of(pacing);
        Ok(Some(RunResult::new(
            &stats,
            self.threads,
            schedule,
            cost,
            parts.intervals,
        )))
    }

    /// Load that is not counted, at the first rate of the schedule; it is over when every transaction is, so that the
    /// counters are read while the server rests.
    fn warm_up(&mut self, pacing: &Pacing) -> Result<()> {
        let pacing = match pacing {
            Pacing::Closed => Pacing::Closed,
            Pacing::Open(schedule) => match schedule.rate_at(0.0) {
                rate if rate > 0.0 => Pacing::Open(Schedule::constant(rate)),
                _ => return Ok(()),
            },
        };
        let options = RunOptions {
            duration: Some(self.args.warm_up),
            interval: Some(MAX_PART),
            pacing,
            ..RunOptions::default()
        };
        let cancel = self.cancel;
        let warmed = self
            .driver
            .run(0, &options, &mut |_| !cancel.is_cancelled());
        if matches!(warmed, Err(LoadError::Cancelled)) {
            return Ok(());
        }
        warmed
            .map(|_| ())
            .map_err(|error: LoadError| self.target.explain(error))
    }
}

fn text_of(pacing: &Pacing) -> Option<String> {
    match pacing {
        Pacing::Open(schedule) => Some(schedule_text(schedule)),
        Pacing::Closed => None,
    }
}

/// The longest equal part of an interval that is short enough.
fn part_of(interval: Duration) -> Duration {
    let parts = interval.as_millis().div_ceil(MAX_PART.as_millis()).max(1);
    interval / u32::try_from(parts).unwrap_or(u32::MAX)
}

/// Parts as the load hands them out, put together to intervals.
struct Parts {
    interval: Duration,
    open: bool,
    /// All parts so far.
    total: Option<Sum>,
    /// Those of the interval at hand.
    at_hand: Option<Sum>,
    intervals: Vec<IntervalResult>,
    /// The server's counters when the interval at hand began.
    usage: Option<UsageSample>,
    /// Its counters then, where intervals are to have them.
    counters: Option<Snapshot>,
}

/// What was counted in some parts.
#[derive(Clone)]
struct Sum {
    started: SystemTime,
    seconds: f64,
    transactions: u64,
    queries: u64,
    errors: BTreeMap<u16, u64>,
    reconnects: u64,
    arrivals: u64,
    /// At its end.
    backlog: u64,
    client_cpu_seconds: f64,
    latency: Histogram<u64>,
}

impl Parts {
    fn new(
        interval: Duration,
        open: bool,
        usage: Option<UsageSample>,
        counters: Option<Snapshot>,
    ) -> Parts {
        Parts {
            interval,
            open,
            total: None,
            at_hand: None,
            intervals: Vec::new(),
            usage,
            counters,
        }
    }

    /// Adds a part; the interval that it completes, if it does.
    fn add(
        &mut self,
        part: &SliceStats,
        target: &mut Target,
        log: &mut Option<HdrLog<'_>>,
    ) -> Result<Option<&IntervalResult>> {
        let part = Sum::of(part);
        match &mut self.total {
            Some(total) => total.add(&part),
            None => self.total = Some(part.clone()),
        }
        let sum = match self.at_hand.take() {
            Some(mut sum) => {
                sum.add(&part);
                sum
            }
            None => part,
        };
        // Half a part more or less is rounding.
        if sum.seconds + 0.5 * part_of(self.interval).as_secs_f64() < self.interval.as_secs_f64() {
            self.at_hand = Some(sum);
            return Ok(None);
        }
        self.close(sum, target, log)?;
        Ok(self.intervals.last())
    }

    /// Adds what `whole` has and no part had: the end of a run that was cut short, and the drain.
    fn rest(
        &mut self,
        whole: &SliceStats,
        target: &mut Target,
        log: &mut Option<HdrLog<'_>>,
    ) -> Result<()> {
        let mut rest = Sum::of(whole);
        if let Some(total) = &self.total {
            rest.subtract(total)?;
        }
        if let Some(mut sum) = self.at_hand.take() {
            sum.add(&rest);
            return self.close(sum, target, log);
        }
        match self.intervals.last_mut() {
            // Only what the drain brought is left.
            Some(last) if rest.transactions == 0 && rest.queries == 0 && rest.seconds < 1e-3 => {
                add_counts(&mut last.errors, &rest.errors);
                last.reconnects += rest.reconnects;
                last.client_cpu_seconds += rest.client_cpu_seconds;
                Ok(())
            }
            last => {
                let after = Duration::try_from_secs_f64(last.map_or(0.0, |last| last.end));
                rest.started = whole.started + after.unwrap_or_default();
                self.close(rest, target, log)
            }
        }
    }

    fn close(&mut self, sum: Sum, target: &mut Target, log: &mut Option<HdrLog<'_>>) -> Result<()> {
        if let Some(log) = log {
            log.interval(sum.started, sum.seconds, &sum.latency)?;
        }
        let now = sample(&target.meter).ok();
        let server = now
            .as_ref()
            .zip(self.usage.as_ref())
            .map(|(now, before)| now.since(before));
        self.usage = now;
        let counters = match self.counters {
            Some(_) => Snapshot::read(&mut target.admin, false).ok(),
            None => None,
        };
        let status = match (&counters, &self.counters) {
            (Some(now), Some(before)) => Some(now.since(before)),
            _ => None,
        };
        // One that could not be read leaves the next interval with both.
        self.counters = counters.or(self.counters.take());
        let before = self.intervals.last().map_or(0.0, |last| last.end);
        self.intervals.push(IntervalResult {
            end: before + sum.seconds,
            seconds: sum.seconds,
            transactions: sum.transactions,
            queries: sum.queries,
            transactions_per_second: per(sum.transactions, sum.seconds),
            queries_per_second: per(sum.queries, sum.seconds),
            latency_ms: (!sum.latency.is_empty()).then(|| Latency::of(&sum.latency)),
            errors: sum.errors,
            reconnects: sum.reconnects,
            arrivals: self.open.then_some(sum.arrivals),
            backlog: self.open.then_some(sum.backlog),
            client_cpu_seconds: sum.client_cpu_seconds,
            server,
            status,
        });
        Ok(())
    }
}

impl Sum {
    fn of(stats: &SliceStats) -> Sum {
        Sum {
            started: stats.started,
            seconds: stats.seconds,
            transactions: stats.transactions,
            queries: stats.queries,
            errors: stats.errors.clone(),
            reconnects: stats.reconnects,
            arrivals: stats.arrivals,
            backlog: stats.backlog,
            client_cpu_seconds: stats.client_cpu_seconds,
            latency: stats.latency.clone(),
        }
    }

    fn add(&mut self, more: &Sum) {
        self.seconds += more.seconds;
        self.transactions += more.transactions;
        self.queries += more.queries;
        add_counts(&mut self.errors, &more.errors);
        self.reconnects += more.reconnects;
        self.arrivals += more.arrivals;
        self.backlog = more.backlog;
        self.client_cpu_seconds += more.client_cpu_seconds;
        // All have the same bounds, so nothing is too large.
        let _ = self.latency.add(&more.latency);
    }

    fn subtract(&mut self, less: &Sum) -> Result<()> {
        self.seconds = (self.seconds - less.seconds).max(0.0);
        self.transactions = self.transactions.saturating_sub(less.transactions);
        self.queries = self.queries.saturating_sub(less.queries);
        for (code, count) in &less.errors {
            if let Some(left) = self.errors.get_mut(code) {
                *left = left.saturating_sub(*count);
            }
        }
        self.errors.retain(|_, count| *count > 0);
        self.reconnects = self.reconnects.saturating_sub(less.reconnects);
        self.arrivals = self.arrivals.saturating_sub(less.arrivals);
        self.client_cpu_seconds = (self.client_cpu_seconds - less.client_cpu_seconds).max(0.0);
        self.latency
            .subtract(&less.latency)
            .map_err(|error| anyhow!("the intervals do not add up to the run: {error}"))
    }
}

fn add_counts(sum: &mut BTreeMap<u16, u64>, more: &BTreeMap<u16, u64>) {
    for (code, count) in more {
        *sum.entry(*code).or_default() += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_made_of_equal_parts() {
        for (interval, part) in [
            (100, 100),
            (200, 200),
            (500, 167),
            (1000, 200),
            (10_000, 200),
        ] {
            let found = part_of(Duration::from_millis(interval));
            assert_eq!((found.as_secs_f64() * 1e3).round() as u64, part);
        }
    }

    fn sum(seconds: f64, transactions: u64, milliseconds: u64) -> Sum {
        let mut latency = Histogram::new(3).expect("three digits");
        latency
            .record_n(milliseconds * 1_000_000, transactions)
            .expect("it grows");
        Sum {
            started: SystemTime::now(),
            seconds,
            transactions,
            queries: transactions * 16,
            errors: BTreeMap::new(),
            reconnects: 0,
            arrivals: 0,
            backlog: 0,
            client_cpu_seconds: 0.0,
            latency,
        }
    }

    #[test]
    fn subtracting_statistics_undoes_adding() {
        let (a, b) = (sum(1.0, 10, 5), sum(0.5, 3, 80));
        let mut both = a.clone();
        both.add(&b);
        both.errors.insert(1213, 2);
        assert_eq!((both.transactions, both.latency.len()), (13, 13));
        both.subtract(&a).expect("a is in it");
        assert_eq!((both.transactions, both.queries), (3, 48));
        assert_eq!(both.latency.len(), 3);
        assert!(both.latency.equivalent(both.latency.min(), 80_000_000));
        assert_eq!(both.errors[&1213], 2);
        assert!(both.subtract(&a).is_err());
    }
}
