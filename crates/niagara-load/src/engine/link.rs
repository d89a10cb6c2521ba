//! The way to the server: a non-blocking socket, a buffer for commands, prepared statements. Nothing here allocates once
//! it is connected.

use crate::error::{LoadError, Obstacle};
use crate::net::endpoint::Endpoint;
use crate::net::io::Io;
use crate::net::session::{CANNOT_BE_PREPARED, Session, SessionError, describe_io};
use crate::net::stream::Stream;
use crate::protocol::answer::{Answer, Format};
use crate::protocol::command::{self, Execute};
use crate::protocol::packet::ServerError;
use crate::protocol::prepared::Prepared;
use crate::protocol::preparing::Preparing;
use crate::protocol::response::{Progress, ResponseReader};
use crate::workload::plan::{Plan, Transaction};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
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

/// What the answer to a command of a script is about.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Awaited {
    /// Rows or none, in this format.
    Rows(Format),
    /// A statement that is prepared.
    Statement,
}

/// A connection that was lost, in words.
#[derive(Debug)]
pub(crate) struct Lost(pub String);

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
pub(crate) struct Link {
    stream: Stream,
    out: Vec<u8>,
    /// Bytes of `out` that the system has taken.
    written: usize,
    waits_to_write: bool,
    capabilities: u32,
    reader: ResponseReader,
    /// The answer at hand is to a COM_STMT_PREPARE of a script.
    preparing: Option<Box<Preparing>>,
    /// By template.
    handles: Vec<Handle>,
    /// Transactions completed on this link.
    transactions: u64,
    /// Why it was lost while nothing was asked on it.
    ended: Option<String>,
}

impl Link {
    /// Connects, logs in and prepares the plan's statements. Blocking, every wait bounded by `timeout`.
    pub(crate) fn open(
        endpoint: &Endpoint,
        plan: &Plan,
        timeout: Duration,
    ) -> Result<Self, LoadError> {
        let failed = |cause: String| LoadError::Connect {
            endpoint: endpoint.to_string(),
            cause: Box::new(cause.into()),
            obstacle: Obstacle::Other,
        };
        let session = match plan.is_of_script() {
            true => Session::connect_for_script(endpoint, Some(&endpoint.database), timeout),
            false => Session::connect(endpoint, Some(&endpoint.database), timeout),
        };
        let mut session = session.map_err(|error| error.at(endpoint))?;
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
                    let message = format!(
                        "{} (every connection prepares {} statements: raise the server's \
                         max_prepared_stmt_count, or take fewer tables or threads)",
                        error.message,
                        plan.templates.len()
                    );
                    let error = ServerError { message, ..error };
                    return Err(SessionError::Server(error).at(endpoint));
                }
                Err(SessionError::Server(error)) => {
                    return Err(LoadError::Query {
                        code: error.code,
                        message: error.message,
                        statement: sql.to_string(),
                    });
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
            capabilities,
            reader: ResponseReader::new(capabilities),
            preparing: None,
            handles,
            transactions: 0,
            ended: None,
        })
    }
}

impl Link {
    /// On a connection that is logged in, without prepared statements: what is sent is written by
    /// [`write_text`](Self::write_text) and its like.
    pub(crate) fn without_statements(stream: Stream, capabilities: u32, out: Vec<u8>) -> Self {
        Link {
            stream,
            out,
            written: 0,
            waits_to_write: false,
            capabilities,
            preparing: None,
            reader: ResponseReader::new(capabilities),
            handles: Vec::new(),
            transactions: 0,
            ended: None,
        }
    }

    /// It was lost while nothing was asked on it: whoever asks next is told so. The system says it once, and may take a
    /// command all the same, for which no answer would ever come.
    pub(crate) fn lost_idle(&mut self, Lost(cause): Lost) {
        self.ended = Some(cause);
    }

    /// Has what happens on it reported.
    pub(crate) fn watch(&self, io: &mut Io, token: u32) -> io::Result<()> {
        io.watch(&self.stream, token)
    }

    /// The rows of the last answer whose rows were kept.
    pub(crate) fn answer(&self) -> &Answer {
        self.reader.answer()
    }

    /// Whether the last answer had rows, or was of a statement that changed some.
    #[inline]
    pub(crate) fn touched(&self) -> bool {
        self.reader.touched()
    }

    /// The error of an answer that was `Failed`.
    pub(crate) fn error(&self) -> Result<ServerError, Lost> {
        if let Some(Err(error)) = self.preparing.as_ref().and_then(|one| one.result()) {
            return Ok(error.clone());
        }
        Ok(self.reader.error()?)
    }

    /// Counts a transaction; returns how many were completed on this link.
    pub(crate) fn complete(&mut self) -> u64 {
        self.transactions += 1;
        self.transactions
    }

    /// Writes the statement that is next in `transaction`.
    #[inline]
    pub(crate) fn write(&mut self, plan: &Plan, transaction: &mut Transaction) {
        let place = transaction.current(plan);
        let template = &plan.templates[place];
        let format = match &mut self.handles[place] {
            Handle::Prepared { id, types_sent } => {
                let execute = Execute::new(&mut self.out, *id, &template.parameters, !*types_sent);
                *types_sent = true;
                transaction.encode(plan, place, execute);
                Format::Binary
            }
            Handle::Text => {
                transaction.encode_text(plan, place, &mut self.out);
                Format::Text
            }
        };
        self.reader.keep_rows(template.keeps_rows, format);
    }

    /// Writes a statement that is no part of the workload.
    pub(crate) fn write_text(&mut self, sql: &[u8]) {
        command::query(&mut self.out, sql);
        self.reader.keep_rows(false, Format::Text);
    }

    /// Writes the choice of a database.
    pub(crate) fn write_database(&mut self, name: &[u8]) {
        command::init_db(&mut self.out, name);
        self.reader.keep_rows(false, Format::Text);
    }

    /// Writes the wish for a session like a fresh one.
    pub(crate) fn write_reset(&mut self) {
        command::reset_connection(&mut self.out);
        self.reader.keep_rows(false, Format::Text);
    }

    /// Rows of the last answer: those that came, or those that it said were changed.
    #[inline]
    pub(crate) fn rows(&self) -> u64 {
        self.reader.rows()
    }

    /// Rows that the last answer said an UPDATE found.
    pub(crate) fn found(&self) -> Option<u64> {
        self.reader.found()
    }

    /// Writes a command of a script, whose packets have their headers.
    pub(crate) fn write_command(&mut self, command: &[u8], answer: Awaited) {
        self.out.clear();
        self.out.extend_from_slice(command);
        self.preparing = None;
        match answer {
            Awaited::Rows(format) => {
                // Answers are swapped: any of them may be the next one's.
                self.reader.answer_mut().allow_much();
                self.reader.keep_rows(true, format);
            }
            Awaited::Statement => {
                self.preparing = Some(Box::new(Preparing::new(self.capabilities)));
            }
        }
    }

    /// The statement that the last answer was about, if it was about one.
    pub(crate) fn prepared(&self) -> Option<Prepared> {
        let result = self.preparing.as_ref()?.result()?;
        result.as_ref().ok().copied()
    }

    /// Of the last answer: the rows that were changed; `None`: it was a result set.
    pub(crate) fn changed(&self) -> Option<u64> {
        self.reader.changed()
    }

    /// Takes the rows of the last answer away in exchange for others, whose memory is used next.
    pub(crate) fn swap_answer(&mut self, other: &mut Answer) {
        std::mem::swap(self.reader.answer_mut(), other);
    }

    /// Sends what was written and waits for the answer, blocking until `deadline`. Nothing else may read from the link
    /// meanwhile.
    pub(crate) fn exchange(&mut self, deadline: Instant) -> Result<Progress, Lost> {
        let mut buffer = [0; 16 * 1024];
        let mut written = 0;
        self.expect_answer();
        while written < self.out.len() {
            match self.stream.write(&self.out[written..]) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero).into()),
                Ok(count) => written += count,
                Err(error) => self.wait_for(&error, deadline, true)?,
            }
        }
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                Ok(count) => match self.feed(&buffer[..count])? {
                    Progress::More => {}
                    complete => return Ok(complete),
                },
                Err(error) => self.wait_for(&error, deadline, false)?,
            }
        }
    }

    /// Waits for what a read or write would have blocked for; any other error is returned.
    fn wait_for(&self, error: &io::Error, deadline: Instant, to_write: bool) -> Result<(), Lost> {
        match error.kind() {
            io::ErrorKind::Interrupted => return Ok(()),
            io::ErrorKind::WouldBlock => {}
            _ => return Err(Lost(describe_io(error))),
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let flags = match to_write {
            true => PollFlags::POLLOUT,
            false => PollFlags::POLLIN,
        };
        let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        match poll(&mut [PollFd::new(self.stream.as_fd(), flags)], timeout) {
            Ok(0) => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(io::Error::from(error).into()),
        }
    }

    /// A command is about to be sent: says which number its answer begins with.
    #[inline]
    fn expect_answer(&mut self) {
        let number = command::answer_number(&self.out);
        match &mut self.preparing {
            Some(preparing) => preparing.expect(number),
            None => self.reader.expect(number),
        }
    }

    /// Hands what was written to the kernel: into the ring that the loop waits by, to be sent when it waits next, or, without
    /// one, straight into the socket.
    #[inline]
    pub(crate) fn send(&mut self, io: &mut Io, token: u32) -> Result<(), Lost> {
        if let Some(cause) = &self.ended {
            return Err(Lost(cause.clone()));
        }
        self.expect_answer();
        if let Some(ring) = io.ring()
            && ring.send(token, &self.out)?
        {
            self.written = self.out.len();
            return Ok(());
        }
        self.written = 0;
        self.flush(io, token)
    }

    /// Continues with a command of which the system has taken `sent` bytes only.
    pub(crate) fn resume_sending(
        &mut self,
        sent: usize,
        io: &mut Io,
        token: u32,
    ) -> Result<(), Lost> {
        self.written = sent.min(self.out.len());
        self.flush(io, token)
    }

    /// Says goodbye if that is possible at once.
    pub(crate) fn quit(&mut self) {
        // Nothing depends on whether the goodbye arrives.
        let _ = self.stream.write(&command::QUIT);
    }

    /// Takes what was received.
    #[inline]
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<Progress, Lost> {
        if let Some(preparing) = &mut self.preparing {
            return Ok(preparing.feed(bytes)?);
        }
        Ok(self.reader.feed(bytes)?)
    }

    /// Sends what is left of a command.
    pub(crate) fn flush(&mut self, io: &mut Io, token: u32) -> Result<(), Lost> {
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

    /// Reads what has arrived; on an `idle` connection nothing was asked for.
    #[inline]
    pub(crate) fn receive(
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
                Ok(count) => match self.feed(&buffer[..count])? {
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
pub(crate) fn unasked(bytes: &[u8]) -> String {
    match bytes.get(4..).map(ServerError::parse) {
        Some(Ok(error)) => error.to_string(),
        _ => format!("{} bytes that were not asked for", bytes.len()),
    }
}
