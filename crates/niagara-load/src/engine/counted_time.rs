//! The time of an order under way on one loop: its intervals, how much may begin, when it ends, the drain.

use crate::engine::options::MAX_RUN;
use crate::engine::order::{Order, Report, Served};
use crate::engine::recorder::{Kinds, Recorder, Window};
use crate::error::LoadError;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The longest wait before the flags are checked.
const MAX_WAIT: Duration = Duration::from_millis(100);
/// The longest drain after the user has cancelled.
const CANCELLED_DRAIN: Duration = Duration::from_secs(2);

/// Counted time of an order, and what is recorded in it.
pub(crate) struct CountedTime<'o, 'k> {
    order: &'o Order,
    pub recorder: Recorder<'k>,
    /// When it ends: as ordered, or when somebody wants it to.
    stop_at: Instant,
    /// How long transactions in flight may take after that.
    drain_timeout: Duration,
    /// No more transactions may begin because of their number.
    limit_reached: bool,
    /// Of an open loop: the arrival that is this loop's to begin next.
    reserved: Option<Instant>,
}

impl<'o, 'k> CountedTime<'o, 'k> {
    pub(crate) fn new(kinds: &'k Kinds, order: &'o Order) -> Result<Self, LoadError> {
        let count_until = match order.count_drain {
            true => order.stop_at + order.drain_timeout + MAX_RUN,
            false => order.stop_at,
        };
        Ok(CountedTime {
            order,
            recorder: Recorder::new(kinds, order.count_from, count_until)?,
            stop_at: order.stop_at,
            drain_timeout: order.drain_timeout,
            limit_reached: false,
            reserved: None,
        })
    }

    /// Whether it has ended.
    #[inline]
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        now >= self.stop_at
    }

    /// When the first interval is over.
    pub(crate) fn first_boundary(&self) -> Instant {
        match self.order.interval {
            // The warm-up is a window of its own.
            Some(_) if self.order.count_from > self.order.kick => self.order.count_from,
            Some(interval) => self.order.count_from + interval,
            None => self.stop_at,
        }
    }

    /// Reports every interval that is over, with its end, and returns the end of the one at hand. The last interval ends
    /// with the drain, not here.
    pub(crate) fn report_intervals(
        &mut self,
        now: Instant,
        mut end: Instant,
        mut report: impl FnMut(Window, Instant),
    ) -> Result<Instant, LoadError> {
        if let Some(interval) = self.order.interval {
            while (end < self.stop_at || self.order.count_drain) && now >= end {
                report(self.recorder.take()?, end);
                end += interval;
            }
        }
        // Beyond counted time there are no boundaries; one that never comes costs a comparison.
        if end >= self.stop_at && (!self.order.count_drain || self.order.interval.is_none()) {
            end = now + MAX_RUN;
        }
        Ok(end)
    }

    /// How long to wait for answers at the most.
    pub(crate) fn longest_wait(&self, boundary: Instant, now: Instant) -> Duration {
        if self.is_over(now) {
            return MAX_WAIT;
        }
        // A boundary can be reported late: no wake-up of its own for every last millisecond.
        boundary
            .min(self.stop_at)
            .saturating_duration_since(now)
            .clamp(Duration::from_millis(1), MAX_WAIT)
    }

    /// The same where somebody is free for the next arrival.
    pub(crate) fn before_arrival(&self, wait: Duration, now: Instant) -> Duration {
        match self.reserved {
            Some(due) if !self.limit_reached => wait.min(due.saturating_duration_since(now)),
            _ => wait,
        }
    }

    /// Ends it if that is wanted.
    pub(crate) fn obey(&mut self, now: Instant) {
        let cancelled = self.order.cancel.load(Ordering::Relaxed);
        if cancelled || self.order.stop.load(Ordering::Relaxed) {
            self.stop_at = self.stop_at.min(now);
            if !self.order.count_drain {
                self.recorder.stop(now);
            }
        }
        if cancelled {
            self.drain_timeout = self.drain_timeout.min(CANCELLED_DRAIN);
        }
    }

    /// Whether a transaction may begin, which is then counted as begun.
    pub(crate) fn may_begin(&mut self, now: Instant) -> bool {
        if self.is_over(now) || self.limit_reached {
            return false;
        }
        if let Some((limit, begun)) = &self.order.events
            && now >= self.order.count_from
        {
            self.limit_reached = begun.fetch_add(1, Ordering::Relaxed) >= *limit;
        }
        !self.limit_reached
    }

    /// Whether more may begin, as far as time and number are concerned; other loops count too.
    pub(crate) fn may_begin_more(&mut self, now: Instant) -> bool {
        if self.is_over(now) {
            return false;
        }
        if let Some((limit, begun)) = &self.order.events {
            self.limit_reached |= begun.load(Ordering::Relaxed) >= *limit;
        }
        !self.limit_reached
    }

    /// Of an open loop: the intended start of the next transaction, if that time has come and it may begin. `now` is read
    /// again before one is called early.
    pub(crate) fn arrived(&mut self, now: &mut Instant) -> Option<Instant> {
        let due = match self.reserved {
            Some(due) => due,
            None => {
                let arrivals = self.order.arrivals.as_ref()?;
                let mut arrivals = arrivals.lock().unwrap_or_else(PoisonError::into_inner);
                self.order.kick + arrivals.take()?
            }
        };
        self.reserved = Some(due);
        if due > *now {
            *now = Instant::now();
            if due > *now {
                return None;
            }
        }
        if !self.may_begin(*now) {
            return None;
        }
        self.reserved = None;
        Some(due)
    }

    /// Gives up a server that takes too long with what is in flight: this many of `what`.
    pub(crate) fn check_drain(
        &self,
        now: Instant,
        in_flight: usize,
        what: &str,
    ) -> Result<(), LoadError> {
        // Nothing left is not too late: this process may have been stopped meanwhile (Ctrl-Z), and has heard all answers now.
        if in_flight == 0 || now < self.stop_at + self.drain_timeout {
            return Ok(());
        }
        Err(self.server_lost(format!(
            "{in_flight} {what} were not finished {:.1} s after the stop: they wait for locks, repeat what fails, or the server hangs",
            self.drain_timeout.as_secs_f64()
        )))
    }

    /// The order is carried out.
    pub(crate) fn finish(
        self,
        now: Instant,
        per_connection: Vec<Served>,
    ) -> Result<Report, LoadError> {
        Ok(Report::Finished {
            window: self.recorder.finish()?,
            ended: now,
            stopped: self.stop_at.min(now),
            per_connection,
        })
    }

    /// The error of a server that is given up.
    pub(crate) fn server_lost(&self, cause: String) -> LoadError {
        LoadError::ServerLost {
            side: self.order.side,
            cause,
        }
    }
}
