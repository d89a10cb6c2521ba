//! Which unit begins next and when: in the captured order, at its time, with its session connected.

use super::Running;
use crate::engine::replay::slot::State;
use crate::error::LoadError;
use niagara_capture::trace::{NONE, Unit};
use std::cmp::Reverse;
use std::time::{Duration, Instant};

/// When nothing was heard for this long, and something could begin but for the captured order, it does: what holds it up
/// may wait for it, by locks that outlast their transaction (GET_LOCK, LOCK TABLES).
pub(super) const STUCK: Duration = Duration::from_secs(1);

impl Running<'_, '_> {
    /// Begins whatever may.
    pub(super) fn begin_due(&mut self, mut now: Instant) -> Result<(), LoadError> {
        // After the end nobody rests: what is under way is to be finished, and a rest may be longer than that may take.
        let is_over = self.time.is_over(now);
        while let Some(&Reverse((due, place))) = self.resting.peek()
            && (due <= now || is_over)
        {
            self.resting.pop();
            let slot = &self.side.slots[place as usize];
            // Another one may have the place of a session that was lost meanwhile.
            if matches!(slot.state, State::Idle(_)) && slot.unit != NONE && slot.asked == due {
                self.heard = now;
                self.write(place, due.min(now));
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
            // Only now: without a place it would be counted with every look.
            self.tally.out_of_order += u64::from(!self.side.dispatcher.may_begin(head));
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
    fn is_free(&self, head: u32, now: Instant) -> bool {
        self.side.dispatcher.may_begin(head)
            || self.in_flight == 0
            || now.saturating_duration_since(self.heard) >= STUCK
    }

    /// The place of the unit's session, which is connected if it is not there.
    fn place_for(&mut self, unit: &Unit) -> Result<Option<u32>, LoadError> {
        if let Some(place) = self.side.slot_of(unit.session) {
            return Ok(Some(place));
        }
        let mut opened = self.side.open(unit, self.setup.connect_timeout);
        if matches!(opened, Ok(None)) && self.in_flight == 0 {
            // Nothing more is heard of those that have gone.
            self.side.settle();
            opened = self.side.open(unit, self.setup.connect_timeout);
        }
        if matches!(opened, Ok(None)) && self.side.evict() {
            self.tally.evicted += 1;
            opened = self.side.open(unit, self.setup.connect_timeout);
        }
        let opened = opened.map_err(|cause| self.not_connected(&cause))?;
        self.tally.logins += u64::from(opened.is_some());
        self.tally.logins_again += u64::from(opened.is_some() && !unit.is_first);
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

    /// The unit's session is there: its first statement is written, once it has said what it had set.
    pub(super) fn go(&mut self, place: u32, now: Instant) -> Result<(), LoadError> {
        let slot = &self.side.slots[place as usize];
        if self.trace.units[slot.unit as usize].steps == 0 {
            self.finish(place, now);
            return Ok(());
        }
        if self.restore(place, now) {
            return Ok(());
        }
        let slot = &self.side.slots[place as usize];
        let intended = slot.intended;
        self.write(place, if slot.tries == 0 { intended } else { now });
        Ok(())
    }
}
