//! One connection under load: its [`Link`] to the server (a non-blocking socket, a buffer for commands, prepared
//! statements) and the transaction it is in. Nothing here allocates once it is connected.

use crate::endpoint::Endpoint;
use crate::error::LoadError;
use crate::event_loop::Served;
use crate::io::Io;
use crate::protocol::answer::Format;
use crate::protocol::command::{self, Execute};
use crate::protocol::packet::ServerError;
use crate::protocol::response::{Progress, ResponseReader};
use crate::session::{CANNOT_BE_PREPARED, Session, SessionError, describe_io};
use crate::stream::Stream;
use crate::workload::plan::{Next, Plan, Transaction, Unexpected};
use std::borrow::Cow;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

/// MySQL's ER_MAX_PREPARED_STMT_COUNT_REACHED.
const TOO_MANY_PREPARED: u16 = 1461;

/// A template as the server knows it.
#[derive(Debug, Clone, Copy)]
enum Handle {
    Prepared {
        id: u32,
        /// The server knows the parameters' types.
        types_sent: bool,
    },
    /// It goes as text: the workload wants it so, or the server cannot prepare it (MySQL and BEGIN).
    Text,
}

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Idle,
    Running,
    RollingBack,
    /// Without a link; one is being made. `resume`: for a transaction in flight, which then begins again.
    Lost {
        resume: bool,
    },
}

/// A connection that was lost, in words.
#[derive(Debug)]
pub struct Lost(pub String);

/// Why a transaction cannot go on.
#[derive(Debug)]
pub enum Stopped {
    Lost(Lost),
    /// The data are not what the workload expects, in words.
    Data(Cow<'static, str>),
}

impl From<Lost> for Stopped {
    fn from(lost: Lost) -> Self {
        Stopped::Lost(lost)
    }
}

impl From<io::Error> for Lost {
    fn from(error: io::Error) -> Self {
        Lost(describe_io(&error))
    }
}

impl From<crate::protocol::ProtocolError> for Lost {
    fn from(error: crate::protocol::ProtocolError) -> Self {
        Lost(error.to_string())
    }
}

/// The way to the server, replaced as a whole when it is lost.
#[derive(Debug)]
pub struct Link {
    stream: Stream,
    out: Vec<u8>,
    /// Bytes of `out` that the system has taken.
    written: usize,
    waits_to_write: bool,
    reader: ResponseReader,
    /// By template.
    handles: Vec<Handle>,
    /// Transactions completed on this link.
    transactions: u64,
}

impl Link {
    /// Connects, logs in and prepares the plan's statements. Blocking, every wait bounded by `timeout`.
    pub fn open(endpoint: &Endpoint, plan: &Plan, timeout: Duration) -> Result<Self, LoadError> {
        let failed = |cause: String| LoadError::Connect {
            endpoint: endpoint.to_string(),
            cause,
        };
        let mut session = Session::connect(endpoint, Some(&endpoint.database), timeout)
            .map_err(|error| failed(error.to_string()))?;
        let mut handles = Vec::with_capacity(plan.templates.len());
        for template in &plan.templates {
            if template.as_text {
                handles.push(Handle::Text);
                continue;
            }
            let sql = &template.sql;
            let parameters = template.parameters.len();
            let handle = match session.prepare(sql) {
                Ok(prepared) if usize::from(prepared.parameters) == parameters => {
                    Handle::Prepared {
                        id: prepared.statement,
                        types_sent: false,
                    }
                }
                Ok(prepared) => {
                    return Err(failed(format!(
                        "the server sees {} parameters in: {sql}",
                        prepared.parameters
                    )));
                }
                Err(SessionError::Server(error))
                    if error.code == CANNOT_BE_PREPARED && parameters == 0 =>
                {
                    Handle::Text
                }
                Err(SessionError::Server(error)) if error.code == TOO_MANY_PREPARED => {
                    return Err(failed(format!(
                        "{error} (every connection prepares {} statements: raise the server's \
                         max_prepared_stmt_count, or take fewer tables or threads)",
                        plan.templates.len()
                    )));
                }
                Err(error) => return Err(failed(format!("{error} in: {sql}"))),
            };
            handles.push(handle);
        }
        let (stream, capabilities, out) = session.into_parts();
        Ok(Link {
            stream: stream
                .into_nonblocking()
                .map_err(|error| failed(error.to_string()))?,
            out,
            written: 0,
            waits_to_write: false,
            reader: ResponseReader::new(capabilities),
            handles,
            transactions: 0,
        })
    }
}

#[derive(Debug)]
pub struct Connection {
    link: Option<Link>,
    token: u32,
    transaction: Transaction,
    pub state: State,
    /// A statement is written and not sent.
    unsent: bool,
    /// The next statement to be sent begins a transaction.
    opening: bool,
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
    pub fn new(link: Link, token: u32, transaction: Transaction) -> Self {
        let now = Instant::now();
        Connection {
            link: Some(link),
            token,
            transaction,
            state: State::Idle,
            unsent: false,
            opening: false,
            intended: now,
            begun: now,
            sent: now,
            free_since: now,
            served: Served::default(),
        }
    }

    /// What events call it.
    pub fn token(&self) -> u32 {
        self.token
    }

    /// Has what happens on this connection reported.
    pub fn register(&self, io: &mut Io) -> io::Result<()> {
        match &self.link {
            Some(link) => io.watch(&link.stream, self.token),
            None => Ok(()),
        }
    }

    /// Gives up the link.
    pub fn lose(&mut self, resume: bool, io: &mut Io) -> io::Result<()> {
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
    pub fn is_linked(&self) -> bool {
        self.link.is_some()
    }

    /// Goes on with a fresh link.
    pub fn relink(&mut self, link: Link, io: &mut Io) -> io::Result<()> {
        self.link = Some(link);
        self.state = State::Idle;
        self.register(io)
    }

    /// Writes the first statement of a transaction, to be sent by [`send`](Self::send).
    pub fn begin(&mut self, plan: &Plan, now: Instant) -> Result<(), Lost> {
        self.begun = now;
        self.opening = true;
        self.transaction.draw(plan);
        self.restart(plan)
    }

    /// Writes the first statement of the transaction in flight anew.
    pub fn restart(&mut self, plan: &Plan) -> Result<(), Lost> {
        self.state = State::Running;
        self.transaction.restart(plan);
        self.write_current(plan)
    }

    /// Writes the transaction's next statement; false when the last one was answered.
    pub fn advance(&mut self, plan: &Plan) -> Result<bool, Stopped> {
        let link = self.link.as_ref().ok_or_else(no_link)?;
        match self.transaction.advance(plan, link.reader.answer()) {
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
    pub fn is_open(&self, plan: &Plan) -> bool {
        self.transaction.is_open(plan)
    }

    /// How long it rests after the transaction that has just completed.
    pub fn pause(&mut self, plan: &Plan) -> Duration {
        self.transaction.pause(plan)
    }

    /// What type of transaction it is in: a place in [`Plan::types`].
    #[inline]
    pub fn kind(&self) -> usize {
        self.transaction.kind()
    }

    /// Sends what was written, if anything; true when that is a transaction's beginning.
    pub fn send(&mut self, io: &mut Io, now: Instant) -> Result<bool, Lost> {
        if !std::mem::take(&mut self.unsent) {
            return Ok(false);
        }
        let opening = std::mem::take(&mut self.opening);
        self.sent = now;
        let link = self.link.as_mut().ok_or_else(no_link)?;
        if io.send(self.token, &link.out)? {
            link.written = link.out.len();
        } else {
            link.written = 0;
            link.flush(io, self.token)?;
        }
        Ok(opening)
    }

    /// Counts the transaction that has just been answered; returns how many this link has served.
    pub fn complete(&mut self, now: Instant) -> u64 {
        let took = now.saturating_duration_since(self.begun);
        let served = &mut self.served;
        served.shortest = match served.transactions {
            0 => took,
            _ => served.shortest.min(took),
        };
        served.longest = served.longest.max(took);
        served.transactions += 1;
        served.busy += took;
        self.free_since = now;
        match &mut self.link {
            Some(link) => {
                link.transactions += 1;
                link.transactions
            }
            None => 0,
        }
    }

    /// Writes ROLLBACK.
    pub fn roll_back(&mut self) -> Result<(), Lost> {
        self.state = State::RollingBack;
        let link = self.link.as_mut().ok_or_else(no_link)?;
        command::query(&mut link.out, b"ROLLBACK");
        link.reader.keep_rows(false, Format::Text);
        self.unsent = true;
        Ok(())
    }

    /// Says goodbye if that is possible at once.
    pub fn quit(&mut self) {
        if let (State::Idle, Some(link)) = (self.state, &mut self.link) {
            // Nothing depends on whether the goodbye arrives.
            let _ = link.stream.write(&command::QUIT);
        }
    }

    /// What the statement that was sent last is counted as, a place in [`Plan::kinds`]; `None`: ROLLBACK after an error.
    #[inline]
    pub fn statement(&self, plan: &Plan) -> Option<u16> {
        match self.state {
            State::RollingBack => None,
            _ => Some(plan.templates[self.transaction.peek(plan)].kind),
        }
    }

    /// Its text.
    pub fn statement_sql(&self, plan: &Plan) -> String {
        if self.state == State::RollingBack {
            return "ROLLBACK".into();
        }
        self.transaction.sql(plan)
    }

    /// Whether the last answer had rows, or was of a statement that changed some.
    #[inline]
    pub fn touched(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.reader.touched())
    }

    /// The error of an answer that was `Failed`.
    pub fn error(&self) -> Result<ServerError, Lost> {
        Ok(self.link.as_ref().ok_or_else(no_link)?.reader.error()?)
    }

    fn write_current(&mut self, plan: &Plan) -> Result<(), Lost> {
        let link = self.link.as_mut().ok_or_else(no_link)?;
        let place = self.transaction.current(plan);
        let template = &plan.templates[place];
        let format = match &mut link.handles[place] {
            Handle::Prepared { id, types_sent } => {
                let execute = Execute::new(&mut link.out, *id, &template.parameters, !*types_sent);
                *types_sent = true;
                self.transaction.encode(plan, place, execute);
                Format::Binary
            }
            Handle::Text => {
                self.transaction.encode_text(plan, place, &mut link.out);
                Format::Text
            }
        };
        link.reader.keep_rows(template.keeps_rows, format);
        self.unsent = true;
        Ok(())
    }

    /// Reads what has arrived. `More` means that everything there was has been taken.
    #[inline]
    pub fn receive(&mut self, buffer: &mut [u8], io: &mut Io) -> Result<Progress, Lost> {
        match &mut self.link {
            Some(link) => link.receive(buffer, io, self.token, self.state == State::Idle),
            // An event of the socket that has just been closed.
            None => Ok(Progress::More),
        }
    }

    /// Takes what was received.
    #[inline]
    pub fn take(&mut self, bytes: &[u8]) -> Result<Progress, Lost> {
        match &mut self.link {
            Some(_) if self.state == State::Idle => Err(Lost(unasked(bytes))),
            Some(link) => Ok(link.reader.feed(bytes)?),
            // Of the socket that has just been closed.
            None => Ok(Progress::More),
        }
    }

    /// Goes on with a command of which the system has taken `sent` bytes only.
    pub fn resume_sending(&mut self, sent: usize, io: &mut Io) -> Result<(), Lost> {
        match &mut self.link {
            Some(link) => {
                link.written = sent.min(link.out.len());
                link.flush(io, self.token)
            }
            None => Ok(()),
        }
    }

    /// Goes on with a command for which there was no room.
    pub fn go_on_sending(&mut self, io: &mut Io) -> Result<(), Lost> {
        match &mut self.link {
            Some(link) => link.flush(io, self.token),
            None => Ok(()),
        }
    }
}

fn no_link() -> Lost {
    Lost("the connection was given up before".into())
}

impl Link {
    fn flush(&mut self, io: &mut Io, token: u32) -> Result<(), Lost> {
        while self.written < self.out.len() {
            match self.stream.write(&self.out[self.written..]) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero).into()),
                Ok(count) => self.written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    // Rare: commands are far smaller than a socket's buffer.
                    self.waits_to_write = true;
                    io.want_writable(&self.stream, token, true)?;
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            }
        }
        if self.waits_to_write {
            self.waits_to_write = false;
            io.want_writable(&self.stream, token, false)?;
        }
        Ok(())
    }

    fn receive(
        &mut self,
        buffer: &mut [u8],
        io: &mut Io,
        token: u32,
        idle: bool,
    ) -> Result<Progress, Lost> {
        if self.waits_to_write {
            self.flush(io, token)?;
        }
        loop {
            match self.stream.read(buffer) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                Ok(count) if idle => {
                    return Err(Lost(unasked(&buffer[..count])));
                }
                // A complete answer is followed by nothing until the next command, so the poll's edge for
                // that next answer is still to come and the read that finds nothing can be spared.
                Ok(count) => match self.reader.feed(&buffer[..count])? {
                    Progress::More => {}
                    complete => return Ok(complete),
                },
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Progress::More);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// What a server says that was not asked: usually why it closes the connection.
fn unasked(bytes: &[u8]) -> String {
    match bytes.get(4..).map(ServerError::parse) {
        Some(Ok(error)) => error.to_string(),
        _ => format!("{} bytes that were not asked for", bytes.len()),
    }
}
