//! The place of one session on one server: its connection, and the unit it is in.

use super::login::LoggingIn;
use crate::engine::link::Link;
use niagara_capture::trace::NONE;
use std::time::Instant;

/// What a slot is doing.
#[derive(Debug, Default)]
pub(crate) enum State<'s> {
    /// It belongs to no session.
    #[default]
    Free,
    /// Its session logs in.
    LoggingIn(Box<LoggingIn<'s>>),
    /// It waits for its session's next unit, or rests within one.
    Idle(Link),
    /// A statement is written or sent.
    Running(Link),
    /// A transaction is undone, to be begun again.
    RollingBack(Link),
    /// A session that has logged in again says what it had set.
    Restoring(Link),
}

/// The place of one session.
#[derive(Debug)]
pub(crate) struct Slot<'s> {
    pub state: State<'s>,
    pub session: u32,
    /// The unit under way; [`NONE`]: none.
    pub unit: u32,
    /// The step at hand, a place in the trace.
    pub step: usize,
    /// How often the unit was begun again.
    pub tries: u32,
    /// When the unit was to begin.
    pub intended: Instant,
    /// When the statement was to be sent: its latency counts from here.
    pub asked: Instant,
    /// When the last unit ended.
    pub free_since: Instant,
    /// The session's next unit, where it is in none.
    pub next: u32,
    /// Steps that the session has to say again before its next unit, the first one last.
    pub unsaid: Vec<u32>,
}

impl Slot<'_> {
    pub(crate) fn new() -> Self {
        let now = Instant::now();
        Slot {
            state: State::Free,
            session: NONE,
            unit: NONE,
            step: 0,
            tries: 0,
            intended: now,
            asked: now,
            free_since: now,
            next: NONE,
            unsaid: Vec::new(),
        }
    }

    /// The way to the server, where there is one.
    #[inline]
    pub(crate) fn link(&mut self) -> Option<&mut Link> {
        match &mut self.state {
            State::Idle(link)
            | State::Running(link)
            | State::RollingBack(link)
            | State::Restoring(link) => Some(link),
            State::Free | State::LoggingIn(_) => None,
        }
    }
}
