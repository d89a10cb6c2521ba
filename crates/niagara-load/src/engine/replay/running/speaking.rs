//! Statements are written and sent, and what the server says is taken to whom it concerns.

use super::Running;
use crate::engine::link::{Link, Lost, unasked};
use crate::engine::replay::slot::State;
use crate::error::LoadError;
use crate::net::event::Event;
use crate::protocol::response::Progress;
use niagara_capture::rewrite::RewrittenTexts;
use niagara_capture::trace::{Action, NONE, Step, Trace};
use std::io;
use std::time::Instant;

impl Running<'_, '_> {
    /// Writes the statement at hand; its latency counts from `asked`, or in a replay that is not paced from its sending.
    pub(super) fn write(&mut self, place: u32, asked: Instant) {
        let trace = self.trace;
        let rewritten = self.side.rewritten;
        let slot = &mut self.side.slots[place as usize];
        slot.asked = asked;
        slot.state = match std::mem::take(&mut slot.state) {
            State::Idle(mut link)
            | State::Running(mut link)
            | State::RollingBack(mut link)
            | State::Restoring(mut link) => {
                say(&mut link, trace, rewritten, &trace.steps[slot.step]);
                State::Running(link)
            }
            other => other,
        };
        self.unsent.push(place);
    }

    /// Writes the next of what the session had set before it was lost or had to make room; false: all of it is said.
    pub(super) fn restore(&mut self, place: u32, now: Instant) -> bool {
        let trace = self.trace;
        let rewritten = self.side.rewritten;
        let slot = &mut self.side.slots[place as usize];
        let Some(step) = slot.unsaid.pop() else {
            return false;
        };
        slot.asked = now;
        slot.state = match std::mem::take(&mut slot.state) {
            State::Idle(mut link) | State::Restoring(mut link) => {
                say(&mut link, trace, rewritten, &trace.steps[step as usize]);
                State::Restoring(link)
            }
            other => other,
        };
        self.unsent.push(place);
        true
    }

    /// Sends what was written, in the order in which it was.
    pub(super) fn send(&mut self) -> Result<(), LoadError> {
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
    pub(super) fn hear(
        &mut self,
        event: Event,
        buffer: &mut [u8],
        now: Instant,
    ) -> Result<(), LoadError> {
        let Some(token) = event.token() else {
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
                    true => Err(Lost(unasked(io.bytes(buffer, length)))),
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
}

/// Writes what a step sends.
fn say(link: &mut Link, trace: &Trace, rewritten: Option<&RewrittenTexts>, step: &Step) {
    match step.action {
        Action::Query => {
            let other = rewritten.and_then(|texts| texts.get(step.text));
            link.write_text(other.unwrap_or_else(|| trace.text(step.text)));
        }
        Action::Database => link.write_database(trace.text(step.text)),
        Action::Reset => link.write_reset(),
    }
}
