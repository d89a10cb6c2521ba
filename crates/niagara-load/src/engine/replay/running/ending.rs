//! What follows an answer: the unit's next statement, another try after a conflict, the unit's end, a lost connection.

use super::Running;
use crate::engine::link::Lost;
use crate::engine::order::ENDING_ERRORS;
use crate::engine::replay::slot::State;
use crate::engine::replay::tally::Rows;
use crate::error::LoadError;
use niagara_capture::trace::NONE;
use std::cmp::Reverse;
use std::time::Instant;

/// Conflicts with others after which a transaction is begun again: deadlock, lock wait timeout, record changed.
const CONFLICTS: [u16; 3] = [1213, 1205, 1020];
/// How often.
pub(super) const MAX_TRIES: u32 = 10;

impl Running<'_, '_> {
    /// The statement at hand was answered.
    pub(super) fn answered(
        &mut self,
        place: u32,
        failed: bool,
        now: Instant,
    ) -> Result<(), LoadError> {
        let slot = &mut self.side.slots[place as usize];
        let latency = now.saturating_duration_since(slot.asked);
        if let State::RollingBack(_) = slot.state {
            self.time.recorder.query(now, None, latency, false);
            if slot.tries > MAX_TRIES {
                self.leave(place, now);
                return Ok(());
            }
            slot.step = self.trace.units[slot.unit as usize].first_step as usize;
            return self.go(place, now);
        }
        if let State::Restoring(_) = slot.state {
            // No statement of the unit's; one that is refused was refused before as well.
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
        let found = link.found();
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
        self.tally
            .answered(step, latency, Rows { rows, found }, code);
        if let Some(code) = code {
            if ENDING_ERRORS.contains(&code) {
                self.lose(place, &Lost(format!("server error {code}")));
                return Ok(());
            }
            // One that the capture does not have, too.
            if CONFLICTS.contains(&code) && u32::from(code) != step.error {
                self.conflict(place, code, now);
                return Ok(());
            }
        }
        self.advance(place, now);
        Ok(())
    }

    /// After a conflict with another transaction it is undone and begun again, as the client would have done; after too many it
    /// is undone and left. What is left of it alone would change data as nobody has.
    fn conflict(&mut self, place: u32, code: u16, now: Instant) {
        self.time.recorder.error(code);
        let slot = &mut self.side.slots[place as usize];
        slot.tries += 1;
        if slot.tries <= MAX_TRIES {
            self.tally.retries += 1;
        }
        slot.state = match std::mem::take(&mut slot.state) {
            State::Running(mut link) => {
                link.write_text(b"ROLLBACK");
                State::RollingBack(link)
            }
            other => other,
        };
        slot.asked = now;
        self.unsent.push(place);
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
            Some(due) if due > now && !self.time.is_over(now) => {
                let slot = &mut self.side.slots[place as usize];
                slot.state = match std::mem::take(&mut slot.state) {
                    State::Running(link) => State::Idle(link),
                    other => other,
                };
                slot.asked = due;
                self.resting.push(Reverse((due, place)));
            }
            Some(due) => self.write(place, due.min(now)),
            None => self.write(place, now),
        }
    }

    /// The unit is over.
    pub(super) fn finish(&mut self, place: u32, now: Instant) {
        let slot = &self.side.slots[place as usize];
        if self.trace.units[slot.unit as usize].steps > 0 {
            self.tally.units += 1;
            let latency = now.saturating_duration_since(slot.intended);
            self.time.recorder.transaction(now, 0, latency);
        }
        self.release(place, now);
    }

    /// The unit was undone for the last time, which completes no transaction.
    fn leave(&mut self, place: u32, now: Instant) {
        self.tally.given_up += 1;
        self.tally.left += 1;
        self.release(place, now);
    }

    /// The session is in its unit no longer.
    fn release(&mut self, place: u32, now: Instant) {
        let slot = &mut self.side.slots[place as usize];
        slot.state = match std::mem::take(&mut slot.state) {
            State::Running(link) | State::RollingBack(link) | State::Restoring(link) => {
                State::Idle(link)
            }
            other => other,
        };
        let unit = std::mem::replace(&mut slot.unit, NONE);
        slot.free_since = now;
        slot.next = self.trace.units[unit as usize].next;
        self.in_flight -= 1;
        self.side.dispatcher.end(unit);
        if self.trace.units[unit as usize].next == NONE {
            self.side.close(place);
        }
    }

    /// A connection was lost: its unit is left where it was, which completes no transaction, and its session logs in again for the next.
    pub(super) fn lose(&mut self, place: u32, _lost: &Lost) {
        let slot = &mut self.side.slots[place as usize];
        let unit = std::mem::replace(&mut slot.unit, NONE);
        self.unsent.retain(|&unsent| unsent != place);
        // It rests no longer: while all that are under way rest, nobody waits for the server.
        self.resting
            .retain(|&Reverse((_, resting))| resting != place);
        self.side.close(place);
        self.time.recorder.reconnected(false);
        self.tally.lost += 1;
        if unit != NONE {
            self.in_flight -= 1;
            self.side.dispatcher.end(unit);
            self.tally.given_up += 1;
            self.tally.left += u64::from(self.trace.units[unit as usize].steps > 0);
        }
    }

    pub(super) fn not_connected(&self, cause: &str) -> LoadError {
        self.time.server_lost(format!(
            "a session of the capture could not log in: {cause} (the capture's databases have to be there: {}; each of \
             its sessions, up to {} at a time, is a connection)",
            self.trace.database_names().join(", "),
            self.trace.facts.max_sessions
        ))
    }
}
