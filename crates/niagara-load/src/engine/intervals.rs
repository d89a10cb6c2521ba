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
    /// Transactions that arrived until there, less those that had begun.
    backlog: i128,
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
            backlog: backlog.into(),
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
                if let Some(shares) = &mut self.shares {
                    stats.add_connections(&shares[index], &per_connection);
                    shares[index] = per_connection;
                }
            }
        }
        if let Some(arrivals) = &mut self.arrivals {
            stats.arrivals = arrivals.pass(self.warm_up + end);
            self.backlog += i128::from(stats.arrivals);
            stats.backlog = self.backlog.max(0) as u64;
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
