//! The sessions of one server.

use super::dispatcher::Dispatcher;
use super::login::{Opened, open};
use super::setup::Setup;
use super::slot::{Slot, State};
use crate::error::LoadError;
use crate::net::endpoint::Endpoint;
use crate::net::io::Io;
use niagara_capture::rewrite::RewrittenTexts;
use niagara_capture::trace::{NONE, Segment, Unit};
use std::time::Duration;

/// Sessions beyond the most of the capture that may be there at a time: their order is not quite the captured one.
const SPARE: usize = 64;

/// The sessions of one server, and how far its replay has come.
pub(crate) struct Side<'s> {
    servers: &'s [Endpoint],
    setup: &'s Setup,
    /// What is sent in place of captured statements.
    pub rewritten: Option<&'s RewrittenTexts>,
    pub io: Io,
    pub slots: Vec<Slot<'s>>,
    /// Slots that belong to no session.
    free: Vec<u32>,
    /// Slots whose sessions have gone; they are free once what was heard of them is dealt with.
    leaving: Vec<u32>,
    /// By session: its slot.
    slot_of: Vec<u32>,
    pub dispatcher: Dispatcher,
    /// The segment at hand.
    pub segment: usize,
}

impl<'s> Side<'s> {
    /// The sessions of the setup's side at `place`.
    pub(crate) fn new(place: usize, setup: &'s Setup) -> Result<Self, LoadError> {
        let servers = &setup.sides[place];
        let trace = &setup.trace;
        let places = (trace.facts.max_sessions as usize + SPARE).min(trace.sessions as usize);
        let places = places.max(1);
        Ok(Side {
            servers,
            setup,
            rewritten: setup.rewritten.get(place).and_then(Option::as_deref),
            io: Io::new(setup.io, servers, places)?,
            slots: (0..places).map(|_| Slot::new()).collect(),
            free: (0..places as u32).rev().collect(),
            leaving: Vec::with_capacity(places),
            slot_of: vec![NONE; trace.sessions as usize],
            dispatcher: Dispatcher::new(trace, &setup.firsts),
            segment: 0,
        })
    }

    /// The segment that the unit belongs to; units come in their order.
    pub(crate) fn segment_of(&mut self, unit: u32) -> &'s Segment {
        let segments = &self.setup.segments;
        while unit >= segments[self.segment].units.end {
            self.segment += 1;
        }
        &segments[self.segment]
    }

    /// The slot of a session that is there.
    #[inline]
    pub(crate) fn slot_of(&self, session: u32) -> Option<u32> {
        let slot = self.slot_of[session as usize];
        (slot != NONE).then_some(slot)
    }

    /// Connects the session of a unit, which says again what it had set before that; none: there is no place for it at the moment.
    ///
    /// # Errors
    /// The server cannot be reached, in words.
    pub(crate) fn open(&mut self, unit: &Unit, timeout: Duration) -> Result<Option<u32>, String> {
        let session = unit.session;
        let Some(place) = self.free.pop() else {
            return Ok(None);
        };
        let trace = &self.setup.trace;
        let server = &self.servers[session as usize % self.servers.len()];
        let database = trace.database(session, &server.database);
        let opened = open(server, database, trace.client(session), timeout);
        let slot = &mut self.slots[place as usize];
        let (state, watched) = match opened {
            Ok(Opened::LoggingIn(login)) => {
                let watched = login.watch(&mut self.io, place);
                (State::LoggingIn(Box::new(login)), watched)
            }
            Ok(Opened::Done(link)) => {
                let watched = link.watch(&mut self.io, place);
                (State::Idle(link), watched)
            }
            Err(cause) => {
                self.free.push(place);
                return Err(cause);
            }
        };
        slot.state = state;
        slot.session = session;
        slot.unit = NONE;
        slot.next = NONE;
        slot.unsaid = self.setup.settings.before(trace, session, unit.first_step);
        self.slot_of[session as usize] = place;
        watched.map_err(|error| error.to_string())?;
        Ok(Some(place))
    }

    /// Ends a session; with a goodbye where the connection is still there.
    pub(crate) fn close(&mut self, place: u32) {
        let slot = &mut self.slots[place as usize];
        if let State::Idle(link) = &mut slot.state {
            link.quit();
        }
        // A connection that is gone cannot be forgotten twice; nothing depends on it.
        let _ = self.io.forget(place);
        slot.state = State::Free;
        slot.unit = NONE;
        if slot.session != NONE {
            self.slot_of[slot.session as usize] = NONE;
            slot.session = NONE;
        }
        self.leaving.push(place);
    }

    /// What was heard of sessions that have gone is dealt with.
    pub(crate) fn settle(&mut self) {
        self.free.append(&mut self.leaving);
    }

    /// Makes a place by ending the session whose next unit is the farthest; false: all are at work.
    pub(crate) fn evict(&mut self) -> bool {
        let idle = |slot: &Slot<'_>| matches!(slot.state, State::Idle(_)) && slot.unit == NONE;
        let idle = (0..).zip(&self.slots).filter(|(_, slot)| idle(slot));
        let Some((place, _)) = idle.max_by_key(|(_, slot)| slot.next) else {
            return false;
        };
        self.close(place);
        self.settle();
        true
    }

    /// From the beginning again; all sessions have to be at rest.
    pub(crate) fn rewind(&mut self) {
        for place in 0..self.slots.len() as u32 {
            if !matches!(self.slots[place as usize].state, State::Free) {
                self.close(place);
            }
        }
        self.settle();
        self.dispatcher.rewind();
        self.segment = 0;
    }
}

impl Drop for Side<'_> {
    fn drop(&mut self) {
        for slot in &mut self.slots {
            if let State::Idle(link) = &mut slot.state {
                link.quit();
            }
        }
    }
}
