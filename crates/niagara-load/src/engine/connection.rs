//! One connection under load: its [`Link`] to the server and the transaction it is in. Nothing here allocates once it is
//! connected.

use crate::engine::link::{Link, Lost, unasked};
use crate::engine::order::Served;
use crate::net::io::Io;
use crate::protocol::packet::ServerError;
use crate::protocol::response::Progress;
use crate::workload::plan::{Plan, Transaction};
use crate::workload::template::{Next, Unexpected};
use std::borrow::Cow;
use std::io;
use std::time::{Duration, Instant};

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Idle,
    Running,
    RollingBack,
    /// Without a link; one is being made. `resume`: for a transaction in flight, which then begins again.
    Lost {
        resume: bool,
    },
}

/// Why a transaction cannot continue.
#[derive(Debug)]
pub(crate) enum Stopped {
    Lost(Lost),
    /// The data are not what the workload expects, in words.
    Data(Cow<'static, str>),
}

impl From<Lost> for Stopped {
    fn from(lost: Lost) -> Self {
        Stopped::Lost(lost)
    }
}

#[derive(Debug)]
pub(crate) struct Connection {
    link: Option<Link>,
    token: u32,
    transaction: Transaction,
    pub state: State,
    /// A statement is written and not sent.
    unsent: bool,
    /// The next statement to be sent begins a transaction.
    opening: bool,
    /// The transaction in flight cannot succeed with what was drawn for it.
    redraws: bool,
    /// When the transaction in flight was to begin; a restart after an error does not change it.
    pub intended: Instant,
    /// When it did.
    pub begun: Instant,
    /// When its last statement was sent.
    pub sent: Instant,
    /// When the last transaction ended.
    pub free_since: Instant,
    /// What was done in this slice.
    pub served: Served,
}

impl Connection {
    /// A connection on a fresh link; `token` is what events will call it.
    pub(crate) fn new(link: Link, token: u32, transaction: Transaction) -> Self {
        let now = Instant::now();
        Connection {
            link: Some(link),
            token,
            transaction,
            state: State::Idle,
            unsent: false,
            opening: false,
            redraws: false,
            intended: now,
            begun: now,
            sent: now,
            free_since: now,
            served: Served::default(),
        }
    }

    /// What events call it.
    pub(crate) fn token(&self) -> u32 {
        self.token
    }

    /// Has what happens on this connection reported.
    pub(crate) fn register(&self, io: &mut Io) -> io::Result<()> {
        match &self.link {
            Some(link) => link.watch(io, self.token),
            None => Ok(()),
        }
    }

    /// Gives up the link.
    pub(crate) fn lose(&mut self, resume: bool, io: &mut Io) -> io::Result<()> {
        let forgotten = match self.link {
            Some(_) => io.forget(self.token),
            None => Ok(()),
        };
        self.link = None;
        self.unsent = false;
        self.state = State::Lost { resume };
        forgotten
    }

    /// Whether there is a link.
    pub(crate) fn is_linked(&self) -> bool {
        self.link.is_some()
    }

    /// Continues with a fresh link.
    pub(crate) fn relink(&mut self, link: Link, io: &mut Io) -> io::Result<()> {
        self.link = Some(link);
        self.state = State::Idle;
        self.register(io)
    }

    /// Writes the first statement of a transaction, to be sent by [`send`](Self::send).
    pub(crate) fn begin(&mut self, plan: &Plan, now: Instant) -> Result<(), Lost> {
        self.begun = now;
        self.opening = true;
        self.redraws = false;
        self.transaction.draw(plan);
        self.restart(plan)
    }

    /// A statement of the transaction in flight met a key that is there: begun again with the same one it would meet it for ever.
    pub(crate) fn met_key(&mut self) {
        self.redraws = true;
    }

    /// Writes the first statement of the transaction in flight again.
    pub(crate) fn restart(&mut self, plan: &Plan) -> Result<(), Lost> {
        self.state = State::Running;
        if std::mem::take(&mut self.redraws) {
            self.transaction.redraw(plan);
        }
        self.transaction.restart(plan);
        self.write_current(plan)
    }

    /// Writes the transaction's next statement; false when the last one was answered.
    pub(crate) fn advance(&mut self, plan: &Plan) -> Result<bool, Stopped> {
        let link = self.link.as_ref().ok_or_else(no_link)?;
        match self.transaction.advance(plan, link.answer()) {
            Ok(Next::Statement) => {
                self.write_current(plan)?;
                Ok(true)
            }
            Ok(Next::Complete) => Ok(false),
            Err(Unexpected::Protocol(error)) => Err(Stopped::Lost(error.into())),
            Err(Unexpected::Data(cause)) => Err(Stopped::Data(cause)),
        }
    }

    /// Whether a statement that fails leaves a transaction to be rolled back.
    pub(crate) fn is_open(&self, plan: &Plan) -> bool {
        self.transaction.is_open(plan)
    }

    /// How long it rests after the transaction that has just completed.
    pub(crate) fn pause(&mut self, plan: &Plan) -> Duration {
        self.transaction.pause(plan)
    }

    /// What type of transaction it is in: a place in [`Plan::types`].
    #[inline]
    pub(crate) fn kind(&self, plan: &Plan) -> usize {
        self.transaction.kind(plan)
    }

    /// Sends what was written, if anything; true when that is a transaction's beginning.
    pub(crate) fn send(&mut self, io: &mut Io, now: Instant) -> Result<bool, Lost> {
        if !std::mem::take(&mut self.unsent) {
            return Ok(false);
        }
        let opening = std::mem::take(&mut self.opening);
        self.sent = now;
        let link = self.link.as_mut().ok_or_else(no_link)?;
        link.send(io, self.token)?;
        Ok(opening)
    }

    /// Counts the transaction that has just been answered; returns how many this link has served.
    pub(crate) fn complete(&mut self, now: Instant) -> u64 {
        self.served.add(
            self.begun.saturating_duration_since(self.intended),
            now.saturating_duration_since(self.begun),
        );
        self.free_since = now;
        match &mut self.link {
            Some(link) => link.complete(),
            None => 0,
        }
    }

    /// What it has done since the kick: of a transaction in flight, the part until `moment`.
    pub(crate) fn served_until(&self, moment: Instant) -> Served {
        match self.state {
            State::Idle | State::Lost { resume: false } => self.served,
            State::Running | State::RollingBack | State::Lost { resume: true } => {
                let part = moment.saturating_duration_since(self.begun);
                self.served.with_part(part)
            }
        }
    }

    /// Writes ROLLBACK.
    pub(crate) fn roll_back(&mut self) -> Result<(), Lost> {
        self.state = State::RollingBack;
        let link = self.link.as_mut().ok_or_else(no_link)?;
        link.write_text(b"ROLLBACK");
        self.unsent = true;
        Ok(())
    }

    /// Says goodbye if that is possible at once.
    pub(crate) fn quit(&mut self) {
        if let (State::Idle, Some(link)) = (self.state, &mut self.link) {
            link.quit();
        }
    }

    /// What the statement that was sent last is counted as, a place in [`Plan::kinds`]; `None`: ROLLBACK after an error.
    #[inline]
    pub(crate) fn statement(&self, plan: &Plan) -> Option<u16> {
        match self.state {
            State::RollingBack => None,
            _ => Some(plan.templates[self.transaction.peek(plan)].kind),
        }
    }

    /// Its text.
    pub(crate) fn statement_sql(&self, plan: &Plan) -> String {
        if self.state == State::RollingBack {
            return "ROLLBACK".into();
        }
        self.transaction.sql(plan)
    }

    /// Whether the last answer had rows, or was of a statement that changed some.
    #[inline]
    pub(crate) fn touched(&self) -> bool {
        self.link.as_ref().is_some_and(Link::touched)
    }

    /// The error of an answer that was `Failed`.
    pub(crate) fn error(&self) -> Result<ServerError, Lost> {
        self.link.as_ref().ok_or_else(no_link)?.error()
    }

    fn write_current(&mut self, plan: &Plan) -> Result<(), Lost> {
        let link = self.link.as_mut().ok_or_else(no_link)?;
        link.write(plan, &mut self.transaction);
        self.unsent = true;
        Ok(())
    }

    /// Reads what has arrived. `More` means that everything there was has been taken.
    #[inline]
    pub(crate) fn receive(&mut self, buffer: &mut [u8], io: &mut Io) -> Result<Progress, Lost> {
        match &mut self.link {
            Some(link) => link.receive(buffer, io, self.token, self.state == State::Idle),
            // An event of the socket that has just been closed.
            None => Ok(Progress::More),
        }
    }

    /// Takes what was received.
    #[inline]
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<Progress, Lost> {
        match &mut self.link {
            Some(_) if self.state == State::Idle => Err(Lost(unasked(bytes))),
            Some(link) => link.feed(bytes),
            // Of the socket that has just been closed.
            None => Ok(Progress::More),
        }
    }

    /// Continues with a command of which the system has taken `sent` bytes only.
    pub(crate) fn resume_sending(&mut self, sent: usize, io: &mut Io) -> Result<(), Lost> {
        match &mut self.link {
            Some(link) => link.resume_sending(sent, io, self.token),
            None => Ok(()),
        }
    }

    /// Continues with a command for which there was no room.
    pub(crate) fn go_on_sending(&mut self, io: &mut Io) -> Result<(), Lost> {
        match &mut self.link {
            Some(link) => link.flush(io, self.token),
            None => Ok(()),
        }
    }
}

fn no_link() -> Lost {
    Lost("the connection was given up before".into())
}
