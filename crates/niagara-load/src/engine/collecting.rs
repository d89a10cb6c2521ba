//! What a run did, put together from what the loops report.

use crate::engine::intervals::Intervals;
use crate::engine::options::RunOptions;
use crate::engine::order::{Order, Report, Served};
use crate::engine::pacing::Arrivals;
use crate::engine::recorder::Kinds;
use crate::engine::stats::SliceStats;
use crate::error::LoadError;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Instant, SystemTime};

/// What the loops have reported of a run so far.
pub(crate) struct Collecting {
    whole: SliceStats,
    intervals: Intervals,
    /// Of an open loop.
    arrivals: Option<Arrivals>,
    /// When the last transaction of all loops was finished, and when counted time ended.
    ended: Instant,
    stopped: Instant,
    failure: Option<LoadError>,
    /// By loop: what each of its connections did.
    shares: Vec<Vec<Served>>,
    /// Transactions that were begun.
    begun: u64,
    /// Loops that report no more.
    finished: usize,
}

impl Collecting {
    /// For a run that was kicked off at this time and moment.
    pub(crate) fn new(
        loops: usize,
        (started, kick): (SystemTime, Instant),
        run: &RunOptions,
        arrivals: Option<Arrivals>,
        kinds: &Arc<Kinds>,
    ) -> Self {
        Collecting {
            whole: SliceStats::new(started, kinds),
            intervals: Intervals::new(
                loops,
                started + run.warm_up,
                run,
                arrivals.clone(),
                Arc::clone(kinds),
            ),
            arrivals,
            ended: kick,
            stopped: kick,
            failure: None,
            shares: vec![Vec::new(); loops],
            begun: 0,
            finished: 0,
        }
    }

    /// Whether all loops have said all they have to say.
    pub(crate) fn is_complete(&self) -> bool {
        self.finished == self.shares.len()
    }

    /// Takes what loop number `index` reports.
    pub(crate) fn take(&mut self, index: usize, report: Report) {
        match report {
            Report::Interval(window, per_connection) => {
                self.whole.add(index, &window);
                self.begun += window.begun;
                self.intervals.push(index, window, per_connection);
            }
            Report::Finished {
                window,
                ended,
                stopped,
                per_connection,
            } => {
                self.finished += 1;
                self.whole.add(index, &window);
                self.begun += window.begun;
                self.ended = self.ended.max(ended);
                self.stopped = self.stopped.max(stopped);
                self.intervals.finish(index, window, per_connection.clone());
                self.shares[index] = per_connection;
            }
            Report::Failed(error) => {
                self.finished += 1;
                // Loops that were told to give up say Cancelled; the reason comes from another one.
                if self.failure.is_none() || self.failure == Some(LoadError::Cancelled) {
                    self.failure = Some(error);
                }
            }
        }
    }

    /// Hands out the intervals that are complete; false: no more are wanted, the run is to end.
    ///
    /// Only full intervals are handed out: the last one is if the run was not cut short.
    pub(crate) fn hand_out(
        &mut self,
        order: &Order,
        last_moment: Instant,
        on_interval: &mut dyn FnMut(&SliceStats) -> bool,
    ) -> bool {
        let end = match (self.is_complete(), order.count_drain) {
            (false, false) => order.stop_at,
            (false, true) => last_moment,
            (true, false) => self.stopped,
            (true, true) => self.ended,
        };
        let mut wanted = true;
        while let Some(stats) = self
            .intervals
            .next(end.saturating_duration_since(order.count_from))
        {
            if self.failure.is_none() && !on_interval(&stats) {
                self.intervals.close();
                wanted = false;
            }
        }
        wanted
    }

    /// The whole run.
    ///
    /// # Errors
    /// What made a loop fail.
    pub(crate) fn finish(self, order: &Order) -> Result<SliceStats, LoadError> {
        if let Some(error) = self.failure {
            return Err(error);
        }
        let (ended, stopped, mut whole) = (self.ended, self.stopped, self.whole);
        let counted_until = if order.count_drain { ended } else { stopped };
        let seconds = |from: Instant, to: Instant| to.saturating_duration_since(from).as_secs_f64();
        whole.seconds = seconds(order.count_from, counted_until);
        whole.load_seconds = seconds(order.kick, ended);
        whole.drain_seconds = seconds(stopped, ended);
        for served in self.shares.concat() {
            whole.per_connection_transactions.push(served.transactions);
            whole
                .per_connection_busy_seconds
                .push(served.busy.as_secs_f64());
            whole
                .per_connection_waited_seconds
                .push(served.waited.as_secs_f64());
            whole
                .per_connection_extreme_seconds
                .push((served.shortest.as_secs_f64(), served.longest.as_secs_f64()));
        }
        if let Some(mut arrivals) = self.arrivals {
            whole.arrivals = arrivals.pass(stopped.saturating_duration_since(order.kick));
            // Nobody waits once as many have begun as may; of intervals it is the same.
            let all_have_begun = order
                .events
                .as_ref()
                .is_some_and(|(limit, begun)| begun.load(Ordering::Relaxed) >= *limit);
            if !all_have_begun {
                whole.backlog = whole.arrivals.saturating_sub(self.begun);
            }
        }
        Ok(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::order::fixture::{LONG, kinds, order};
    use crate::engine::pacing::{Pacing, Schedule};
    use crate::engine::recorder::Recorder;
    use std::sync::atomic::AtomicU64;
    use std::time::Duration;

    /// The backlog of a run at 1,000 per second that ends after two seconds, ten transactions having begun of at most `events`.
    fn backlog(events: u64) -> u64 {
        let kick = Instant::now();
        let kinds = Arc::new(kinds());
        let schedule = Schedule::constant(1000.0);
        let run = RunOptions {
            duration: None,
            events: Some(events),
            pacing: Pacing::Open(schedule.clone()),
            ..RunOptions::default()
        };
        let order = Order {
            events: Some((events, Arc::new(AtomicU64::new(10)))),
            ..order(kick, LONG)
        };
        let arrivals = Arrivals::new(&schedule, Duration::ZERO, 7);
        let begun = (SystemTime::now(), kick);
        let mut collecting = Collecting::new(1, begun, &run, Some(arrivals), &kinds);
        let mut recorder = Recorder::new(&kinds, kick, kick + LONG).unwrap();
        for _ in 0..10 {
            recorder.began(kick, None);
        }
        let end = kick + Duration::from_secs(2);
        collecting.take(
            0,
            Report::Finished {
                window: recorder.finish().unwrap(),
                ended: end,
                stopped: end,
                per_connection: Vec::new(),
            },
        );
        collecting.finish(&order).unwrap().backlog
    }

    #[test]
    fn nobody_waits_once_all_have_begun_that_may() {
        assert_eq!(backlog(10), 0);
        assert!(backlog(11) > 1000);
    }
}
