//! When a live server is so much busier than before that a run on its host ends.
//!
//! Once a second two of its counters are looked at: threads that execute something (`Threads_running`), and statements that took longer
//! than `long_query_time` (`Slow_queries`), by the second. The mean over 10 s counts. A *rise* begins when that is above the counter's
//! limit: a floor, or twice the mean before the run, whichever is higher. It ends when the mean falls below three quarters of the limit.
//! A rise of 5 s ends the run. So a load does that moves around its limit, and a short burst does not.

use std::collections::VecDeque;
use std::fmt::{Display, Formatter};

/// Seconds of a mean, and of the time before the run.
pub const WINDOW: usize = 10;
/// How many times as busy as before is too busy.
const FACTOR: f64 = 2.0;
/// The part of the limit below which a rise is over.
const OVER: f64 = 0.75;
/// Seconds of a rise that end the run.
const HELD: usize = 5;

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gauge {
    /// Threads that execute something, without the one that asks.
    ThreadsRunning,
    /// Statements a second that were slow.
    SlowQueries,
}

impl Gauge {
    /// Up to this it is no load, however little there was before.
    fn floor(self) -> f64 {
        match self {
            Self::ThreadsRunning => 4.0,
            Self::SlowQueries => 0.5,
        }
    }
}

impl Display for Gauge {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::ThreadsRunning => "Threads_running",
            Self::SlowQueries => "Slow_queries a second",
        })
    }
}

/// A live server in one second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Second {
    /// Threads that execute something.
    pub running: f64,
    /// Statements that were slow.
    pub slow: f64,
}

impl Second {
    fn value(&self, gauge: Gauge) -> f64 {
        match gauge {
            Gauge::ThreadsRunning => self.running,
            Gauge::SlowQueries => self.slow,
        }
    }
}

/// A counter that stayed above its limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rise {
    /// Which.
    pub gauge: Gauge,
    /// Its mean.
    pub mean: f64,
    /// Its mean before the run.
    pub before: f64,
    /// The limit.
    pub limit: f64,
}

/// One counter over time.
#[derive(Debug, Clone)]
struct Trace {
    gauge: Gauge,
    before: f64,
    recent: VecDeque<f64>,
    /// Seconds since a rise began.
    risen: usize,
}

impl Trace {
    fn new(gauge: Gauge, before: &[Second]) -> Self {
        let values: VecDeque<f64> = before.iter().map(|second| second.value(gauge)).collect();
        Self {
            gauge,
            before: mean(&values),
            recent: values,
            risen: 0,
        }
    }

    fn limit(&self) -> f64 {
        self.gauge.floor().max(FACTOR * self.before)
    }

    fn see(&mut self, value: f64) -> Option<Rise> {
        self.recent.push_back(value);
        while self.recent.len() > WINDOW {
            self.recent.pop_front();
        }
        let (mean, limit) = (mean(&self.recent), self.limit());
        self.risen = match self.risen {
            0 if mean > limit => 1,
            0 => 0,
            _ if mean < OVER * limit => 0,
            risen => risen + 1,
        };
        (self.risen >= HELD).then_some(Rise {
            gauge: self.gauge,
            mean,
            before: self.before,
            limit,
        })
    }
}

fn mean(values: &VecDeque<f64>) -> f64 {
    match values.len() {
        0 => 0.0,
        count => values.iter().sum::<f64>() / count as f64,
    }
}

/// The rule, with what it has seen.
#[derive(Debug, Clone)]
pub struct LoadRule {
    traces: [Trace; 2],
}

impl LoadRule {
    /// For a server that was like this in the seconds before the run.
    pub fn of(before: &[Second]) -> Self {
        let trace = |gauge| Trace::new(gauge, before);
        Self {
            traces: [Gauge::ThreadsRunning, Gauge::SlowQueries].map(trace),
        }
    }

    /// Takes the next second in; the rise that ends the run, if it does.
    pub fn see(&mut self, second: Second) -> Option<Rise> {
        let seen = |trace: &mut Trace| trace.see(second.value(trace.gauge));
        // Each has to see each second.
        let [running, slow] = self.traces.each_mut().map(seen);
        running.or(slow)
    }

    /// Each counter with its mean before the run and its limit.
    pub fn limits(&self) -> [(Gauge, f64, f64); 2] {
        self.traces
            .each_ref()
            .map(|trace| (trace.gauge, trace.before, trace.limit()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running(threads: f64) -> Second {
        Second {
            running: threads,
            slow: 0.0,
        }
    }

    fn rule(before: f64) -> LoadRule {
        LoadRule::of(&[running(before); WINDOW])
    }

    /// The second in which it ends the run, the first being 1.
    fn ends(rule: &mut LoadRule, seconds: impl IntoIterator<Item = f64>) -> Option<usize> {
        let mut seconds = seconds.into_iter();
        seconds
            .position(|threads| rule.see(running(threads)).is_some())
            .map(|at| at + 1)
    }

    #[test]
    fn an_idle_server_that_gets_busy_ends_the_run_within_ten_seconds() {
        // The mean of ten seconds is above 4 with the sixth of 8 threads: that second and four more.
        assert_eq!(ends(&mut rule(0.0), [8.0; 60]), Some(10));
        let mut busy = rule(0.0);
        busy.see(running(8.0));
        let rise = (0..60)
            .find_map(|_| busy.see(running(8.0)))
            .expect("a rise");
        assert_eq!(
            (rise.gauge, rise.before, rise.limit),
            (Gauge::ThreadsRunning, 0.0, 4.0)
        );
        assert_eq!(rise.mean, 8.0);
    }

    #[test]
    fn a_busy_server_may_be_as_busy_as_it_was() {
        let moving =
            |around: f64| (0..3600_u32).map(move |second| around + f64::from(second % 7) - 3.0);
        assert_eq!(ends(&mut rule(20.0), moving(20.0)), None);
        assert_eq!(ends(&mut rule(20.0), moving(35.0)), None);
        assert!(ends(&mut rule(20.0), moving(50.0)).is_some());
    }

    #[test]
    fn little_load_is_no_rise() {
        assert_eq!(ends(&mut rule(0.1), [4.0; 3600]), None);
    }

    #[test]
    fn bursts_do_not_end_the_run() {
        let bursts = (0..3600).map(|second| match second % 30 < 2 {
            true => 15.0,
            false => 1.0,
        });
        assert_eq!(ends(&mut rule(1.0), bursts), None);
    }

    #[test]
    fn a_rise_lasts_until_the_load_is_clearly_lower() {
        let mut just_below = rule(4.0);
        assert_eq!(just_below.limits()[0].2, 8.0);
        // The mean is above 8 with the last of them.
        let risen = [9.0; WINDOW].into_iter().take(9);
        assert_eq!(ends(&mut just_below, risen.clone()), None);
        // Means of 8.3, 7.6, 6.9 and 6.2: three quarters of 8 are 6.
        assert_eq!(ends(&mut just_below, [2.0; 4]), Some(4));
        // 8.1, 7.2, 6.3, 5.4: over, so that the next rise is one from its beginning.
        let mut far_below = rule(4.0);
        assert_eq!(ends(&mut far_below, risen), None);
        assert_eq!(ends(&mut far_below, [0.0; WINDOW]), None);
        assert_eq!(ends(&mut far_below, [9.0; WINDOW]), None);
    }

    #[test]
    fn slow_statements_end_the_run_too() {
        let slow = |slow| Second { running: 1.0, slow };
        let mut rule = LoadRule::of(&[slow(0.0); WINDOW]);
        let rise = (0..60).find_map(|_| rule.see(slow(1.0))).expect("a rise");
        assert_eq!((rise.gauge, rise.limit), (Gauge::SlowQueries, 0.5));
        // A server whose log has everything has slow statements all the time.
        let mut rule = LoadRule::of(&[slow(900.0); WINDOW]);
        assert!((0..3600).all(|_| rule.see(slow(1500.0)).is_none()));
    }
}
