//! One connection under load: a non-blocking socket, a buffer for commands, prepared statements, and the
//! transaction it is in. Nothing here allocates once it is connected.

use crate::endpoint::Endpoint;
use crate::error::LoadError;
use crate::protocol::command::{self, Execute};
use crate::protocol::packet::ServerError;
use crate::protocol::response::{Progress, ResponseReader};
use crate::session::{CANNOT_BE_PREPARED, Session, SessionError, describe_io};
use crate::stream::Stream;
use crate::workload::statement::Statement;
use crate::workload::transaction::{Plan, Transaction};
use mio::{Interest, Registry, Token};
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

/// MySQL's ER_MAX_PREPARED_STMT_COUNT_REACHED.
const TOO_MANY_PREPARED: u16 = 1461;

/// A prepared statement on one table.
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
}

/// A connection that was lost, in words.
#[derive(Debug)]
pub struct Lost(pub String);

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

#[derive(Debug)]
pub struct Connection {
    stream: Stream,
    token: Token,
    out: Vec<u8>,
    /// Bytes of `out` that the system has taken.
    written: usize,
    waits_to_write: bool,
    reader: ResponseReader,
    /// By statement, then by table.
    handles: [Vec<Handle>; Statement::COUNT],
    transaction: Transaction,
    pub state: State,
    /// When the transaction in flight began; a restart after an error does not change it.
    pub started: Instant,
    /// Transactions completed in this slice.
    pub transactions: u64,
}

impl Connection {
    /// Connects, logs in and prepares the plan's statements.
    pub fn open(
        endpoint: &Endpoint,
        plan: &Plan,
        transaction: Transaction,
        token: Token,
        timeout: Duration,
    ) -> Result<Self, LoadError> {
        let failed = |cause: String| LoadError::Connect {
            endpoint: endpoint.to_string(),
            cause,
        };
        let mut session = Session::connect(endpoint, Some(&endpoint.database), timeout)
            .map_err(|error| failed(error.to_string()))?;
        let mut handles: [Vec<Handle>; Statement::COUNT] = Default::default();
        for statement in plan.statements() {
            let parameters = plan.parameters(statement);
            for table in 1..=plan.tables_of(statement) {
                if plan.is_text(statement) {
                    handles[statement as usize].push(Handle::Text);
                    continue;
                }
                let sql = plan.sql(statement, table);
                let handle = match session.prepare(&sql) {
                    Ok(prepared) if usize::from(prepared.parameters) == parameters.len() => {
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
                        if error.code == CANNOT_BE_PREPARED && parameters.is_empty() =>
                    {
                        Handle::Text
                    }
                    Err(SessionError::Server(error)) if error.code == TOO_MANY_PREPARED => {
                        return Err(failed(format!(
                            "{error} (every connection prepares {} statements: raise the server's \
                             max_prepared_stmt_count, or take fewer tables or threads)",
                            plan.statements().len() * plan.tables as usize
                        )));
                    }
                    Err(error) => return Err(failed(format!("{error} in: {sql}"))),
                };
                handles[statement as usize].push(handle);
            }
        }
        let (stream, capabilities, out) = session.into_parts();
        Ok(Connection {
            stream: stream
                .into_stream()
                .map_err(|error| failed(error.to_string()))?,
            token,
            out,
            written: 0,
            waits_to_write: false,
            reader: ResponseReader::new(capabilities),
            handles,
            transaction,
            state: State::Idle,
            started: Instant::now(),
            transactions: 0,
        })
    }

    /// Makes the poll report this connection.
    pub fn register(&mut self, registry: &Registry) -> io::Result<()> {
        self.stream
            .register(registry, self.token, Interest::READABLE)
    }

    /// Starts a transaction.
    pub fn begin(&mut self, plan: &Plan, registry: &Registry, now: Instant) -> Result<(), Lost> {
        self.started = now;
        self.restart(plan, registry)
    }

    /// Starts the transaction in flight from its beginning, with new parameters.
    pub fn restart(&mut self, plan: &Plan, registry: &Registry) -> Result<(), Lost> {
        self.state = State::Running;
        self.transaction.restart();
        self.send_current(plan, registry)
    }

    /// Sends the transaction's next statement; false when the last one was answered.
    pub fn advance(&mut self, plan: &Plan, registry: &Registry) -> Result<bool, Lost> {
        if !self.transaction.advance(plan) {
            return Ok(false);
        }
        self.send_current(plan, registry)?;
        Ok(true)
    }

    /// Sends ROLLBACK.
    pub fn roll_back(&mut self, registry: &Registry) -> Result<(), Lost> {
        self.state = State::RollingBack;
        command::query(&mut self.out, b"ROLLBACK");
        self.send(registry)
    }

    /// Says goodbye if that is possible at once.
    pub fn quit(&mut self) {
        if self.state == State::Idle {
            // Nothing depends on whether the goodbye arrives.
            let _ = self.stream.write(&command::QUIT);
        }
    }

    /// The statement that was sent last.
    pub fn statement_sql(&self, plan: &Plan) -> String {
        if self.state == State::RollingBack {
            return "ROLLBACK".into();
        }
        self.transaction.sql(plan)
    }

    /// The error of an answer that was `Failed`.
    pub fn error(&self) -> Result<ServerError, Lost> {
        Ok(self.reader.error()?)
    }

    fn send_current(&mut self, plan: &Plan, registry: &Registry) -> Result<(), Lost> {
        let (statement, table) = self.transaction.current(plan);
        match &mut self.handles[statement as usize][table as usize] {
            Handle::Prepared { id, types_sent } => {
                let execute =
                    Execute::new(&mut self.out, *id, plan.parameters(statement), !*types_sent);
                *types_sent = true;
                self.transaction.encode(plan, statement, execute);
            }
            Handle::Text => {
                self.transaction
                    .encode_text(plan, statement, table, &mut self.out);
            }
        }
        self.send(registry)
    }

    fn send(&mut self, registry: &Registry) -> Result<(), Lost> {
        self.written = 0;
        self.flush(registry)
    }

    fn flush(&mut self, registry: &Registry) -> Result<(), Lost> {
        while self.written < self.out.len() {
            match self.stream.write(&self.out[self.written..]) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero).into()),
                Ok(count) => self.written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    // Rare: commands are far smaller than a socket's buffer.
                    if !self.waits_to_write {
                        self.waits_to_write = true;
                        let interest = Interest::READABLE | Interest::WRITABLE;
                        self.stream.reregister(registry, self.token, interest)?;
                    }
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            }
        }
        if self.waits_to_write {
            self.waits_to_write = false;
            self.stream
                .reregister(registry, self.token, Interest::READABLE)?;
        }
        Ok(())
    }

    /// Takes what has arrived. `More` means that everything there was has been taken.
    pub fn receive(&mut self, buffer: &mut [u8], registry: &Registry) -> Result<Progress, Lost> {
        if self.waits_to_write {
            self.flush(registry)?;
        }
        loop {
            match self.stream.read(buffer) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                Ok(count) if self.state == State::Idle => {
                    return Err(Lost(self.unasked(&buffer[..count])));
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

    /// What a server says that was not asked: usually why it closes the connection.
    fn unasked(&self, bytes: &[u8]) -> String {
        match bytes.get(4..).map(ServerError::parse) {
            Some(Ok(error)) => error.to_string(),
            _ => format!("{} bytes that were not asked for", bytes.len()),
        }
    }
}
