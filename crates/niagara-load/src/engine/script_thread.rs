//! One thread of a script under load: its program, and what it waits for.

use crate::engine::order::Served;
use crate::script::program::Program;
use std::time::Instant;

/// What a thread of a script is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Between events.
    Parked,
    /// In an event: it waits for an answer on a link, a connection, or its turn.
    Busy,
    /// In an event, resting.
    Resting,
    /// It has left its loop of events.
    Over,
}

pub(crate) struct ScriptThread {
    pub program: Box<dyn Program>,
    pub state: State,
    /// Its place in the watch.
    pub place: usize,
    /// The link that an answer is awaited on.
    pub link: Option<usize>,
    /// When the event in flight was to begin.
    pub intended: Instant,
    /// When it did.
    pub begun: Instant,
    /// When the last command was sent.
    pub sent: Instant,
    /// When the last event ended.
    pub free_since: Instant,
    /// What was done in this slice.
    pub served: Served,
}

impl ScriptThread {
    pub(crate) fn new(program: Box<dyn Program>, place: usize, state: State) -> Self {
        let now = Instant::now();
        ScriptThread {
            program,
            state,
            place,
            link: None,
            intended: now,
            begun: now,
            sent: now,
            free_since: now,
            served: Served::default(),
        }
    }

    /// Counts the event that has just ended.
    pub(crate) fn complete(&mut self, now: Instant) {
        self.served.add(
            self.begun.saturating_duration_since(self.intended),
            now.saturating_duration_since(self.begun),
        );
        self.free_since = now;
    }

    /// What it has done since the kick: of an event in flight, the part until `moment`.
    pub(crate) fn served_until(&self, moment: Instant) -> Served {
        match self.state {
            State::Parked | State::Over => self.served,
            State::Busy | State::Resting => {
                let part = moment.saturating_duration_since(self.begun);
                self.served.with_part(part)
            }
        }
    }
}
