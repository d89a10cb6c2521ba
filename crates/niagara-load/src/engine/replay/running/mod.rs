//! A piece of a trace under way on one side: units begin when they may, their statements are sent and answered.

mod beginning;
mod ending;
mod speaking;

use super::setup::Setup;
use super::side::Side;
use super::tally::Tally;
use crate::counted;
use crate::engine::counted_time::CountedTime;
use crate::engine::order::{Order, Report, client};
use crate::engine::recorder::Window;
use crate::error::LoadError;
use crate::net::event::{Coalescing, Event};
use niagara_capture::trace::{NONE, Trace};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A piece of a trace under way.
pub(super) struct Running<'r, 's> {
    setup: &'s Setup,
    trace: &'s Trace,
    order: &'r Order,
    side: &'r mut Side<'s>,
    tally: &'r mut Tally,
    time: CountedTime<'r, 's>,
    /// Units from here on are not begun.
    end: u32,
    /// Units under way, those that rest within themselves among them.
    in_flight: usize,
    /// Slots with a statement that is written and not sent.
    unsent: Vec<u32>,
    /// Of a paced replay: slots that rest, and until when.
    resting: BinaryHeap<Reverse<(Instant, u32)>>,
    /// Of a paced replay: the trace's time at the kick, in microseconds.
    origin_us: u64,
    origin: Instant,
    /// When the head of the queue could begin but for something else than its time.
    held_until: Instant,
    /// The head waits for others.
    held: bool,
    /// When a server was heard last.
    heard: Instant,
}

impl<'r, 's> Running<'r, 's> {
    pub(super) fn new(
        setup: &'s Setup,
        order: &'r Order,
        side: &'r mut Side<'s>,
        tally: &'r mut Tally,
    ) -> Result<Self, LoadError> {
        let trace: &'s Trace = &setup.trace;
        if side.dispatcher.head().is_none() {
            if trace.facts.writes {
                return Err(LoadError::invalid(
                    "the capture was replayed to its end, and what it wrote cannot be written twice",
                ));
            }
            side.rewind();
            tally.rounds += 1;
        }
        let head = side.dispatcher.head().unwrap_or(0);
        let end = match order.segment {
            true => side.segment_of(head).units.end,
            false => NONE,
        };
        Ok(Running {
            setup,
            trace,
            order,
            tally,
            time: CountedTime::new(&setup.kinds, order)?,
            end,
            in_flight: 0,
            unsent: Vec::with_capacity(side.slots.len()),
            resting: BinaryHeap::with_capacity(side.slots.len()),
            side,
            origin_us: trace.units[head as usize].start_us,
            origin: order.kick,
            held_until: order.kick,
            held: false,
            heard: order.kick,
        })
    }

    /// Replays until the segment, the trace or the time is over, and all that has begun is finished.
    pub(super) fn run(
        mut self,
        events: &mut Vec<Event>,
        buffer: &mut [u8],
        report: &dyn Fn(Window),
    ) -> Result<Report, LoadError> {
        let mut now = Instant::now();
        self.heard = now;
        let mut boundary = self.time.first_boundary();
        self.begin_due(now)?;
        self.send()?;
        while self.in_flight > 0 || self.has_more(now) {
            let wait = self.wait(boundary, now);
            self.side
                .io
                .wait(events, Coalescing::NONE, wait)
                .map_err(client("waiting for answers"))?;
            now = Instant::now();
            if !events.is_empty() || self.in_flight == self.resting.len() {
                self.heard = now;
            }
            if now >= boundary {
                boundary = self
                    .time
                    .report_intervals(now, boundary, |window, _| report(window))?;
            }
            for &event in events.iter() {
                self.hear(event, buffer, now)?;
            }
            self.side.settle();
            self.begin_due(now)?;
            self.send()?;
            if self.order.abort.load(Ordering::Relaxed) {
                return Ok(Report::Failed(LoadError::Cancelled));
            }
            self.time.obey(now);
            self.check_bounds(now)?;
        }
        self.side.settle();
        let load = now.saturating_duration_since(self.order.kick);
        self.tally.load_nanoseconds += load.as_nanos() as u64;
        self.time.finish(now, Vec::new())
    }

    fn check_bounds(&self, now: Instant) -> Result<(), LoadError> {
        self.time.check_drain(now, self.in_flight, "transactions")?;
        let silent = now.saturating_duration_since(self.heard);
        if silent < self.order.stall_timeout {
            return Ok(());
        }
        // What is captured may take long; how long it took there is known.
        let longest = self.order.stall_timeout.max(self.longest_captured() * 10);
        if silent >= longest {
            return Err(self.time.server_lost(format!(
                "no answer to {} for {:.1} s",
                counted(self.in_flight as u64, "statement"),
                longest.as_secs_f64()
            )));
        }
        Ok(())
    }

    /// The longest time in the capture of what is in flight.
    fn longest_captured(&self) -> Duration {
        let slots = self.side.slots.iter().filter(|slot| slot.unit != NONE);
        let times = slots.filter_map(|slot| self.trace.steps.get(slot.step));
        let known = times
            .map(|step| step.duration_us)
            .filter(|&time| time != NONE);
        Duration::from_micros(known.max().unwrap_or(0).into())
    }

    /// Whether there may be more to do although nothing is under way.
    fn has_more(&mut self, now: Instant) -> bool {
        !self.time.is_over(now)
            && self
                .side
                .dispatcher
                .head()
                .is_some_and(|head| head < self.end)
    }

    fn wait(&self, boundary: Instant, now: Instant) -> Duration {
        let mut until = self.time.longest_wait(boundary, now);
        if let (false, false, Some(head)) = (self.time.is_over(now), self.held, self.next_head())
            && let Some(due) = self.due(self.trace.units[head as usize].start_us)
        {
            until = until.min(due.saturating_duration_since(now));
        }
        match self.resting.peek() {
            Some(Reverse((due, _))) => until.min(due.saturating_duration_since(now)),
            None => until,
        }
    }

    fn next_head(&self) -> Option<u32> {
        self.side.dispatcher.head().filter(|&head| head < self.end)
    }

    /// When something of the trace's time is due; none: as soon as may be.
    #[inline]
    fn due(&self, time_us: u64) -> Option<Instant> {
        let speed = self.setup.speed?;
        let since = time_us.saturating_sub(self.origin_us) as f64 / speed;
        Some(self.origin + Duration::from_secs_f64(since / 1e6))
    }
}

#[cfg(test)]
mod tests {
    use super::beginning::STUCK;
    use super::ending::MAX_TRIES;
    use super::*;
    use crate::engine::link::Link;
    use crate::engine::options::DriverOptions;
    use crate::engine::order::fixture::{LONG, order};
    use crate::engine::replay::captured::capture;
    use crate::engine::replay::slot::State;
    use crate::net::endpoint::{Endpoint, TlsOptions, Transport};
    use crate::net::io_choice::IoChoice;
    use crate::net::stream::Stream;
    use crate::workload::CaptureWorkload;
    use std::os::unix::net::UnixListener;
    use std::path::Path;

    /// A replay at the captured pace of two sessions, the second of which begins after the first has changed something, on a
    /// server that lets them connect and says nothing.
    fn setup(folder: &Path) -> (Setup, UnixListener) {
        let statements = [(1, "", "INSERT INTO t VALUES (1)"), (2, "", "SELECT 1")];
        let mut workload = CaptureWorkload::open(&capture(folder, &statements)).unwrap();
        assert!(workload.set_replay("speed", "1").unwrap());
        let socket = folder.join("socket");
        let listener = UnixListener::bind(&socket).unwrap();
        let server = Endpoint {
            transport: Transport::Unix(socket),
            user: String::new(),
            password: String::new(),
            database: String::new(),
            tls: TlsOptions::default(),
        };
        let options = DriverOptions {
            io: IoChoice::Epoll,
            ..DriverOptions::default()
        };
        let setup = Setup::new(&[vec![server]], &workload, &options).unwrap();
        (setup, listener)
    }

    /// A way to that server.
    fn link(setup: &Setup) -> Link {
        let transport = &setup.sides[0][0].transport;
        let stream = Stream::connect(transport, Instant::now() + LONG).unwrap();
        Link::without_statements(stream.into_nonblocking().unwrap(), 0, Vec::new())
    }

    /// The first transaction is under way in the first place.
    fn begin(running: &mut Running<'_, '_>, state: fn(Link) -> State<'static>) {
        running.side.dispatcher.begin();
        running.in_flight = 1;
        let slot = &mut running.side.slots[0];
        slot.state = state(link(running.setup));
        slot.unit = 0;
        slot.step = running.trace.units[0].first_step as usize;
    }

    #[test]
    fn what_begins_out_of_order_is_counted_once_however_long_it_has_no_place() {
        let folder = tempfile::tempdir().unwrap();
        let (setup, _listener) = setup(folder.path());
        let mut side = Side::new(0, &setup).unwrap();
        let mut tally = Tally::new(&setup.trace);
        let now = Instant::now();
        let order = order(now, LONG);
        let mut running = Running::new(&setup, &order, &mut side, &mut tally).unwrap();
        // The first transaction is under way, and its session has both places.
        running.side.dispatcher.begin();
        running.in_flight = 1;
        for place in [0, 1] {
            let opened = running.side.open(&setup.trace.units[0], LONG);
            assert_eq!(opened, Ok(Some(place)));
        }
        assert_eq!(running.side.dispatcher.head(), Some(1));
        assert!(!running.side.dispatcher.may_begin(1));
        let stuck = now + 2 * STUCK;
        for _ in 0..3 {
            running.begin_due(stuck).unwrap();
            assert_eq!((running.in_flight, running.tally.out_of_order), (1, 0));
        }
        running.side.close(1);
        running.side.settle();
        running.begin_due(stuck).unwrap();
        assert_eq!((running.in_flight, running.tally.out_of_order), (2, 1));
    }

    #[test]
    fn nobody_rests_after_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let (setup, _listener) = setup(folder.path());
        let mut side = Side::new(0, &setup).unwrap();
        let mut tally = Tally::new(&setup.trace);
        let now = Instant::now();
        let order = order(now, LONG);
        let mut running = Running::new(&setup, &order, &mut side, &mut tally).unwrap();
        begin(&mut running, State::Idle);
        let due = order.stop_at + LONG;
        running.side.slots[0].asked = due;
        running.resting.push(Reverse((due, 0)));
        running.begin_due(now).unwrap();
        assert!(running.unsent.is_empty() && running.resting.len() == 1);
        running.begin_due(order.stop_at).unwrap();
        assert_eq!(running.unsent, [0]);
        assert_eq!(running.side.slots[0].asked, order.stop_at);
    }

    #[test]
    fn a_transaction_whose_conflicts_do_not_end_is_undone_and_left() {
        let folder = tempfile::tempdir().unwrap();
        let (setup, _listener) = setup(folder.path());
        let mut side = Side::new(0, &setup).unwrap();
        let mut tally = Tally::new(&setup.trace);
        let now = Instant::now();
        let order = order(now, LONG);
        let mut running = Running::new(&setup, &order, &mut side, &mut tally).unwrap();
        begin(&mut running, State::Running);
        let slot = &mut running.side.slots[0];
        slot.tries = MAX_TRIES;
        let deadlock = b"\x09\0\0\x01\xff\xbd\x04#40001";
        slot.link().unwrap().feed(deadlock).unwrap();
        running.answered(0, true, now).unwrap();
        assert!(matches!(running.side.slots[0].state, State::RollingBack(_)));
        assert_eq!((running.in_flight, running.tally.retries), (1, 0));
        running.answered(0, false, now).unwrap();
        assert_eq!(running.in_flight, 0);
        let tally = running.tally;
        assert_eq!((tally.units, tally.left, tally.given_up), (0, 1, 1));
    }
}
