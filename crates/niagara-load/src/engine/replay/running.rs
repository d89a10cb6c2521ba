//! A piece of a trace under way on one side: units begin when they may, their statements are sent and answered.

use super::setup::Setup;
use super::side::Side;
use super::slot::State;
use super::tally::Tally;
use crate::counted;
use crate::engine::counted_time::CountedTime;
use crate::engine::link::Lost;
use crate::engine::order::{ENDING_ERRORS, Order, Report, client};
use crate::engine::recorder::Window;
use crate::error::LoadError;
use crate::net::event::{Coalescing, Event};
use crate::protocol::response::Progress;
use niagara_capture::trace::{Action, NONE, Trace, Unit};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Conflicts with others after which a transaction is begun again: deadlock, lock wait timeout, record changed.
const CONFLICTS: [u16; 3] = [1213, 1205, 1020];
/// How often.
const MAX_TRIES: u32 = 10;
/// When nothing was heard for this long, and something could begin but for the captured order, it does: what holds it up
/// may wait for it, by locks that outlast their transaction (GET_LOCK, LOCK TABLES).
const STUCK: Duration = Duration::from_secs(1);
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
                return Err(LoadError::Invalid(
                    "the capture was replayed to its end, and what it wrote cannot be written twice".into(),
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
                boundary = self.time.report_intervals(now, boundary, report)?;
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
        // What is captured may take long; how long it took there is known.
        let longest = self.order.stall_timeout.max(self.longest_captured() * 10);
        if now.saturating_duration_since(self.heard) >= longest {
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

    /// Begins whatever may.
    fn begin_due(&mut self, mut now: Instant) -> Result<(), LoadError> {
        while let Some(&Reverse((due, place))) = self.resting.peek()
            && due <= now
        {
            self.resting.pop();
            let slot = &self.side.slots[place as usize];
            // Another one may have the place of a session that was lost meanwhile.
            if matches!(slot.state, State::Idle(_)) && slot.unit != NONE && slot.asked == due {
                self.heard = now;
                self.write(place, due);
            }
        }
        self.held = false;
        loop {
            if self.time.is_over(now) {
                return Ok(());
            }
            let Some(head) = self.next_head() else {
                if self.in_flight == 0 && !self.begin_again(now) {
                    return Ok(());
                }
                match self.next_head() {
                    Some(_) => continue,
                    None => return Ok(()),
                }
            };
            let unit = self.trace.units[head as usize];
            let due = self.due(unit.start_us);
            if due.is_some_and(|due| due > now) {
                now = Instant::now();
                if due.is_some_and(|due| due > now) {
                    return Ok(());
                }
            }
            if !self.has_room(head) || !self.is_free(head, now) {
                self.held = true;
                self.held_until = now;
                return Ok(());
            }
            let Some(place) = self.place_for(&unit)? else {
                self.held = true;
                self.held_until = now;
                return Ok(());
            };
            self.side.dispatcher.begin();
            self.begin(place, head, due.unwrap_or(now), now)?;
        }
    }

    /// Whether as many are under way as were at that time of the capture; a paced replay begins what is due.
    fn has_room(&mut self, head: u32) -> bool {
        let most = self.side.segment_of(head).in_flight as usize;
        self.setup.speed.is_some() || self.in_flight < most
    }

    /// Whether what the unit waits for is over, or nothing else is running.
    fn is_free(&mut self, head: u32, now: Instant) -> bool {
        if self.side.dispatcher.may_begin(head) {
            return true;
        }
        let stuck = self.in_flight == 0 || now.saturating_duration_since(self.heard) >= STUCK;
        self.tally.out_of_order += u64::from(stuck);
        stuck
    }

    /// The place of the unit's session, which is connected if it is not there.
    fn place_for(&mut self, unit: &Unit) -> Result<Option<u32>, LoadError> {
        if let Some(place) = self.side.slot_of(unit.session) {
            return Ok(Some(place));
        }
        let mut opened = self.side.open(unit.session, self.setup.connect_timeout);
        if matches!(opened, Ok(None)) && (self.in_flight == 0 || self.side.evict()) {
            self.side.settle();
            opened = self.side.open(unit.session, self.setup.connect_timeout);
        }
        let opened = opened.map_err(|cause| self.not_connected(&cause))?;
        self.tally.logins += u64::from(opened.is_some());
        Ok(opened)
    }

    /// A trace that only reads begins again while there is time; false: it does not.
    fn begin_again(&mut self, now: Instant) -> bool {
        let is_over = self.side.dispatcher.head().is_none();
        if !is_over || self.order.segment || self.trace.facts.writes {
            return false;
        }
        self.side.rewind();
        self.tally.rounds += 1;
        self.origin = now;
        self.origin_us = self.trace.units.first().map_or(0, |unit| unit.start_us);
        true
    }

    fn begin(
        &mut self,
        place: u32,
        head: u32,
        intended: Instant,
        now: Instant,
    ) -> Result<(), LoadError> {
        self.in_flight += 1;
        self.tally.max_in_flight = self.tally.max_in_flight.max(self.in_flight as u32);
        let unit = &self.trace.units[head as usize];
        let slot = &mut self.side.slots[place as usize];
        slot.unit = head;
        slot.step = unit.first_step as usize;
        slot.tries = 0;
        slot.intended = intended;
        let late = self.setup.speed.map(|_| {
            let ready = intended.max(slot.free_since).max(self.held_until);
            now.saturating_duration_since(ready)
        });
        if let Some(late) = late {
            self.tally.late.add(late);
            self.tally
                .behind
                .add(now.saturating_duration_since(intended));
        }
        self.time.recorder.began(now, late);
        if matches!(slot.state, State::LoggingIn(_)) {
            return Ok(());
        }
        self.go(place, now)
    }

    /// The unit's session is there: its first statement is written.
    fn go(&mut self, place: u32, now: Instant) -> Result<(), LoadError> {
        let slot = &self.side.slots[place as usize];
        if self.trace.units[slot.unit as usize].steps == 0 {
            self.finish(place, now);
            return Ok(());
        }
        let intended = slot.intended;
        self.write(place, if slot.tries == 0 { intended } else { now });
        Ok(())
    }

    /// Writes the statement at hand; its latency counts from `asked`, or in a replay that is not paced from its sending.
    fn write(&mut self, place: u32, asked: Instant) {
        let slot = &mut self.side.slots[place as usize];
        let step = &self.trace.steps[slot.step];
        slot.asked = asked;
        slot.state = match std::mem::take(&mut slot.state) {
            State::Idle(mut link) | State::Running(mut link) | State::RollingBack(mut link) => {
                let text = match step.action {
                    Action::Reset => &[],
                    _ => self.trace.text(step.text),
                };
                match step.action {
                    Action::Query => link.write_text(text),
                    Action::Database => link.write_database(text),
                    Action::Reset => link.write_reset(),
                }
                State::Running(link)
            }
            other => other,
        };
        self.unsent.push(place);
    }

    /// Sends what was written, in the order in which it was.
    fn send(&mut self) -> Result<(), LoadError> {
        let mut unsent = std::mem::take(&mut self.unsent);
        for place in unsent.drain(..) {
            let slot = &mut self.side.slots[place as usize];
            if self.setup.speed.is_none() {
                slot.asked = Instant::now();
            }
            let io = &mut self.side.io;
            let sent = match slot.link() {
                Some(link) => link.send(io, place),
                None => Ok(()),
            };
            if let Err(lost) = sent {
                self.lose(place, &lost);
            }
        }
        self.unsent = unsent;
        Ok(())
    }

    /// Deals with one event.
    fn hear(&mut self, event: Event, buffer: &mut [u8], now: Instant) -> Result<(), LoadError> {
        let (Event::Ready(token)
        | Event::Received { token, .. }
        | Event::Ended { token, .. }
        | Event::Short { token, .. }
        | Event::Writable(token)) = event
        else {
            return Ok(());
        };
        let Some(slot) = self.side.slots.get_mut(token as usize) else {
            return Ok(());
        };
        let io = &mut self.side.io;
        if let State::LoggingIn(login) = &mut slot.state {
            let done = match event {
                Event::Ready(_) => login.receive(buffer),
                Event::Received { buffer, length, .. } => {
                    let done = login.take(io.bytes(buffer, length));
                    io.give(buffer);
                    done
                }
                Event::Ended { .. } => Err("the server closed the connection".into()),
                _ => Ok(false),
            };
            return match done {
                Ok(false) => Ok(()),
                Ok(true) => self.logged_in(token, now),
                Err(cause) => Err(self.not_connected(&cause)),
            };
        }
        let idle = matches!(slot.state, State::Idle(_));
        let progress = match (slot.link(), event) {
            (None, Event::Received { buffer, .. }) => {
                io.give(buffer);
                return Ok(());
            }
            (None, _) => return Ok(()),
            (Some(link), Event::Ready(_)) => link.receive(buffer, io, token, idle),
            (Some(link), Event::Received { buffer, length, .. }) => {
                let progress = match idle {
                    true => Err(Lost(crate::engine::link::unasked(io.bytes(buffer, length)))),
                    false => link.feed(io.bytes(buffer, length)),
                };
                io.give(buffer);
                progress
            }
            (Some(_), Event::Ended { error, .. }) => Err(match error {
                0 => io::Error::from(io::ErrorKind::UnexpectedEof),
                error => io::Error::from_raw_os_error(error),
            }
            .into()),
            (Some(link), Event::Short { sent, .. }) => {
                let resumed = link.resume_sending(sent as usize, io, token);
                resumed.map(|()| Progress::More)
            }
            (Some(link), _) => link.flush(io, token).map(|()| Progress::More),
        };
        match progress {
            Ok(Progress::More) => Ok(()),
            Ok(progress) => self.answered(token, progress == Progress::Failed, now),
            Err(lost) => {
                self.lose(token, &lost);
                Ok(())
            }
        }
    }

    fn logged_in(&mut self, place: u32, now: Instant) -> Result<(), LoadError> {
        let slot = &mut self.side.slots[place as usize];
        slot.state = match std::mem::take(&mut slot.state) {
            State::LoggingIn(login) => State::Idle(login.into_link()),
            other => other,
        };
        if slot.unit == NONE {
            return Ok(());
        }
        self.go(place, now)
    }

    /// The statement at hand was answered.
    fn answered(&mut self, place: u32, failed: bool, now: Instant) -> Result<(), LoadError> {
        let slot = &mut self.side.slots[place as usize];
        let latency = now.saturating_duration_since(slot.asked);
        if let State::RollingBack(_) = slot.state {
            self.time.recorder.query(now, None, latency, false);
            slot.step = self.trace.units[slot.unit as usize].first_step as usize;
            return self.go(place, now);
        }
        let step = &self.trace.steps[slot.step];
        let kind = match self.setup.kind_of.get(step.digest as usize) {
            Some(&kind) => kind,
            None => self.setup.session_kind(),
        };
        let Some(link) = slot.link() else {
            return Ok(());
        };
        let rows = link.rows();
        let touched = !failed && link.touched();
        let code = match failed {
            false => None,
            true => match link.error() {
                Ok(error) => Some(error.code),
                Err(lost) => {
                    self.lose(place, &lost);
                    return Ok(());
                }
            },
        };
        self.time.recorder.query(now, Some(kind), latency, touched);
        self.tally.answered(step, latency, rows, code);
        if let Some(code) = code {
            if ENDING_ERRORS.contains(&code) {
                self.lose(place, &Lost(format!("server error {code}")));
                return Ok(());
            }
            // One that the capture does not have, too.
            if CONFLICTS.contains(&code) && u32::from(code) != step.error {
                return self.conflict(place, code, now);
            }
        }
        self.advance(place, now);
        Ok(())
    }

    /// After a conflict with another transaction it is undone and begun again, as the client would have done.
    fn conflict(&mut self, place: u32, code: u16, now: Instant) -> Result<(), LoadError> {
        self.time.recorder.error(code);
        let slot = &mut self.side.slots[place as usize];
        if slot.tries >= MAX_TRIES {
            self.tally.given_up += 1;
            self.advance(place, now);
            return Ok(());
        }
        slot.tries += 1;
        self.tally.retries += 1;
        slot.state = match std::mem::take(&mut slot.state) {
            State::Running(mut link) => {
                link.write_text(b"ROLLBACK");
                State::RollingBack(link)
            }
            other => other,
        };
        slot.asked = now;
        self.unsent.push(place);
        Ok(())
    }

    /// Goes on to the unit's next statement, or ends it.
    fn advance(&mut self, place: u32, now: Instant) {
        let slot = &mut self.side.slots[place as usize];
        slot.step += 1;
        if slot.step >= self.trace.units[slot.unit as usize].range().end {
            self.finish(place, now);
            return;
        }
        let due = self.due(self.trace.steps[self.side.slots[place as usize].step].start_us);
        match due {
            Some(due) if due > now => {
                let slot = &mut self.side.slots[place as usize];
                slot.state = match std::mem::take(&mut slot.state) {
                    State::Running(link) => State::Idle(link),
                    other => other,
                };
                slot.asked = due;
                self.resting.push(Reverse((due, place)));
            }
            Some(due) => self.write(place, due),
            None => self.write(place, now),
        }
    }

    /// The unit is over.
    fn finish(&mut self, place: u32, now: Instant) {
        let slot = &mut self.side.slots[place as usize];
        slot.state = match std::mem::take(&mut slot.state) {
            State::Running(link) | State::RollingBack(link) => State::Idle(link),
            other => other,
        };
        let unit = std::mem::replace(&mut slot.unit, NONE);
        slot.free_since = now;
        let intended = slot.intended;
        self.end(unit, now, intended);
        if self.trace.units[unit as usize].next == NONE {
            self.side.close(place);
        }
    }

    fn end(&mut self, unit: u32, now: Instant, intended: Instant) {
        self.in_flight -= 1;
        self.side.dispatcher.end(unit);
        if self.trace.units[unit as usize].steps > 0 {
            self.tally.units += 1;
            let latency = now.saturating_duration_since(intended);
            self.time.recorder.transaction(now, 0, latency);
        }
    }

    /// A connection was lost: its unit is left where it was, and its session logs in again for the next.
    fn lose(&mut self, place: u32, _lost: &Lost) {
        let slot = &mut self.side.slots[place as usize];
        let unit = std::mem::replace(&mut slot.unit, NONE);
        let intended = slot.intended;
        self.unsent.retain(|&unsent| unsent != place);
        self.side.close(place);
        self.time.recorder.reconnected(false);
        if unit != NONE {
            self.tally.given_up += 1;
            self.end(unit, Instant::now(), intended);
        }
    }

    fn not_connected(&self, cause: &str) -> LoadError {
        self.time.server_lost(format!(
            "a session of the capture could not log in: {cause} (the capture's databases have to be there: {}; each of \
             its sessions, up to {} at a time, is a connection)",
            self.trace.database_names().join(", "),
            self.trace.facts.max_sessions
        ))
    }
}
