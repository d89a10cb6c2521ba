//! What every interval of a run did, put together from what the loops report.

use crate::engine::options::RunOptions;
use crate::engine::order::Served;
use crate::engine::pacing::Arrivals;
use crate::engine::recorder::{Kinds, Window};
use crate::engine::stats::SliceStats;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Puts the loops' intervals together.
pub(crate) struct Intervals {
    /// What each loop has reported and others have not yet.
    waiting: Vec<VecDeque<(Window, Vec<Served>)>>,
    /// What each loop's connections had done by the last interval that was handed out, if that is asked for.
    shares: Option<Vec<Vec<Served>>>,
    /// Loops that report no more.
    finished: Vec<bool>,
    kinds: Arc<Kinds>,
    /// When counted time began.
    started: SystemTime,
    warm_up: Duration,
    /// The loops' first windows are the warm-up.
    warming_up: bool,
    /// `None`: nothing is handed out.
    interval: Option<Duration>,
    given: u32,
    /// Of an open loop: a cursor at the end of the last interval that was handed out.
    arrivals: Option<Arrivals>,
    /// Nothing begins later than this after the kick, so that what arrives then waits for nobody; `None`: no bound.
    stop: Option<Duration>,
    /// Transactions that arrived until there, less those that had begun.
    backlog: i128,
    /// Transactions that may still begin in counted time; `None`: no limit.
    to_begin: Option<u64>,
}

impl Intervals {
    pub(crate) fn new(
        loops: usize,
        started: SystemTime,
        run: &RunOptions,
        mut arrivals: Option<Arrivals>,
        kinds: Arc<Kinds>,
    ) -> Self {
        let backlog = arrivals.as_mut().map_or(0, |all| all.pass(run.warm_up));
        Intervals {
            waiting: (0..loops).map(|_| VecDeque::new()).collect(),
            shares: run.connections_by_interval.then(|| vec![Vec::new(); loops]),
            finished: vec![false; loops],
            kinds,
            started,
            warm_up: run.warm_up,
            warming_up: !run.warm_up.is_zero(),
            interval: run.interval,
            given: 0,
            arrivals,
            stop: run.duration.map(|duration| run.warm_up + duration),
            backlog: backlog.into(),
            to_begin: run.events,
        }
    }

    pub(crate) fn push(&mut self, index: usize, window: Window, per_connection: Vec<Served>) {
        if self.interval.is_some() {
            self.waiting[index].push_back((window, per_connection));
        }
    }

    pub(crate) fn finish(&mut self, index: usize, window: Window, per_connection: Vec<Served>) {
        self.push(index, window, per_connection);
        self.finished[index] = true;
    }

    /// The next interval that all loops have reported and that ends within counted time, which has `counted`.
    pub(crate) fn next(&mut self, counted: Duration) -> Option<SliceStats> {
        let interval = self.interval?;
        let end = interval * (self.given + 1);
        if self.warming_up && self.all_reported() {
            self.warming_up = false;
            for (index, windows) in self.waiting.iter_mut().enumerate() {
                if let Some((window, per_connection)) = windows.pop_front() {
                    self.backlog -= i128::from(window.begun);
                    if let Some(shares) = &mut self.shares {
                        shares[index] = per_connection;
                    }
                }
            }
        }
        if end > counted || self.warming_up || !self.all_reported() {
            return None;
        }
        let mut stats = SliceStats::new(self.started + interval * self.given, &self.kinds);
        for (index, windows) in self.waiting.iter_mut().enumerate() {
            if let Some((window, per_connection)) = windows.pop_front() {
                stats.add(index, &window);
                self.backlog -= i128::from(window.begun);
                if let Some(left) = &mut self.to_begin {
                    *left = left.saturating_sub(window.begun);
                }
                if let Some(shares) = &mut self.shares {
                    stats.add_connections(&shares[index], &per_connection);
                    shares[index] = per_connection;
                }
            }
        }
        if let Some(arrivals) = &mut self.arrivals {
            // Intervals of the drain come after the end.
            let until = self.warm_up + end;
            stats.arrivals = arrivals.pass(self.stop.map_or(until, |stop| until.min(stop)));
            self.backlog += i128::from(stats.arrivals);
            if self.to_begin != Some(0) {
                stats.backlog = self.backlog.max(0) as u64;
            }
        }
        stats.seconds = interval.as_secs_f64();
        stats.load_seconds = stats.seconds;
        self.given += 1;
        Some(stats)
    }

    fn all_reported(&self) -> bool {
        let mut loops = self.waiting.iter().zip(&self.finished);
        loops.all(|(windows, finished)| *finished || !windows.is_empty())
    }

    pub(crate) fn close(&mut self) {
        self.interval = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::pacing::{Pacing, Schedule};
    use crate::engine::recorder::Recorder;
    use crate::workload::StatementClass;
    use std::time::Instant;

    const SECOND: Duration = Duration::from_secs(1);

    fn kinds() -> Arc<Kinds> {
        Arc::new(Kinds {
            names: vec![("begin".into(), StatementClass::Other)],
            types: Vec::new(),
        })
    }

    /// What a loop reports of an interval in which this many transactions began.
    fn window(kinds: &Kinds, begun: u64) -> Window {
        let now = Instant::now();
        let mut recorder = Recorder::new(kinds, now, now + SECOND).unwrap();
        for _ in 0..begun {
            recorder.began(now, None);
        }
        recorder.take().unwrap()
    }

    /// Backlog and arrivals by second of a run at 1,000 per second in which `begun` transactions begin in the first of
    /// five, and none later; how many arrive in the first `seconds` of it.
    fn seconds_of(run: &RunOptions, begun: u64, seconds: u32) -> (Vec<(u64, u64)>, u64) {
        let kinds = kinds();
        let arrivals = Arrivals::new(&Schedule::constant(1000.0), run.warm_up, 7);
        let expected = arrivals.clone().pass(SECOND * seconds);
        let mut intervals = Intervals::new(
            1,
            SystemTime::now(),
            run,
            Some(arrivals),
            Arc::clone(&kinds),
        );
        let mut found = Vec::new();
        for second in 0..5 {
            let begun = if second == 0 { begun } else { 0 };
            intervals.push(0, window(&kinds, begun), Vec::new());
            let stats = intervals.next(SECOND * 10).unwrap();
            found.push((stats.backlog, stats.arrivals));
        }
        (found, expected)
    }

    fn run(duration: Option<Duration>, events: Option<u64>) -> RunOptions {
        RunOptions {
            duration,
            events,
            pacing: Pacing::Open(Schedule::constant(1000.0)),
            interval: Some(SECOND),
            count_drain: true,
            ..RunOptions::default()
        }
    }

    #[test]
    fn nothing_arrives_after_the_stop_however_long_the_drain_is() {
        let (found, expected) = seconds_of(&run(Some(SECOND * 2), None), 10, 2);
        let backlogs: Vec<u64> = found.iter().map(|(backlog, _)| *backlog).collect();
        assert_eq!(backlogs[1..], [expected - 10; 4]);
        let arrived: u64 = found.iter().map(|(_, arrivals)| arrivals).sum();
        assert_eq!(arrived, expected);
        // Without an end they go on arriving.
        let (found, expected) = seconds_of(&run(None, None), 10, 5);
        assert_eq!(found[4].0, expected - 10);
    }

    #[test]
    fn nobody_waits_once_all_have_begun_that_may() {
        let (found, _) = seconds_of(&run(None, Some(10)), 10, 5);
        assert!(found.iter().all(|(backlog, _)| *backlog == 0), "{found:?}");
        let (found, expected) = seconds_of(&run(None, Some(11)), 10, 5);
        assert_eq!(found[4].0, expected - 10);
    }
}
