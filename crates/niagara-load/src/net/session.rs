//! A connection during set-up: log in, prepare statements, run statements one at a time. Blocking, every step
//! bounded. Under load it becomes a [`Connection`](crate::engine::connection::Connection).

use crate::error::{LoadError, Obstacle};
use crate::net::endpoint::{Endpoint, TlsMode, Transport};
use crate::net::socket::HostError;
use crate::net::stream::{Hangup, Stream};
use crate::net::tls::{TlsClient, TlsError};
use crate::protocol::answer_digest::{AnswerDigest, AnswerDigestReader};
use crate::protocol::auth::Channel;
use crate::protocol::command::{self, ParameterType};
use crate::protocol::handshake::parse_greeting;
use crate::protocol::inbox::{Inbox, LONG, SHORT};
use crate::protocol::login::{Account, Encryption, Login, Step};
use crate::protocol::packet::ServerError;
use crate::protocol::prepared::{PrepareReader, Prepared};
use crate::protocol::response::{Progress, ResponseReader};
use crate::protocol::rows::{MAX_MEMORY, Row, RowReader};
use crate::protocol::{ExchangeError, ProtocolError, capability};
use niagara_capture::client::ClientSettings;
use niagara_error::Explanation;
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// MySQL's ER_UNSUPPORTED_PS: the statement cannot be prepared, only sent as text.
pub(crate) const CANNOT_BE_PREPARED: u16 = 1295;

/// Bytes read at once.
const READ: usize = 4096;

/// Why a step of the set-up failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionError {
    #[error("{}", describe_io(.0))]
    Io(#[from] io::Error),
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    #[error(transparent)]
    Server(ServerError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The server offers TLS, and no encrypted connection comes of it.
    #[error("{}", describe_io(.0))]
    Handshake(io::Error),
}

impl SessionError {
    /// No usable connection to this endpoint, for this reason.
    pub(crate) fn at(&self, endpoint: &impl std::fmt::Display) -> LoadError {
        LoadError::Connect {
            endpoint: endpoint.to_string(),
            cause: Box::new(match self {
                SessionError::Handshake(error) => {
                    Explanation::of(error).with_cause(|_| self.to_string())
                }
                _ => self.to_string().into(),
            }),
            obstacle: match self {
                SessionError::Server(error) => Obstacle::Login {
                    code: error.code,
                    message: error.message.clone(),
                },
                SessionError::Io(error) | SessionError::Handshake(error) => obstacle(error),
                SessionError::Protocol(_) | SessionError::Tls(_) => Obstacle::Other,
            },
        }
    }
}

impl From<ExchangeError> for SessionError {
    fn from(error: ExchangeError) -> Self {
        match error {
            ExchangeError::Protocol(error) => SessionError::Protocol(error),
            ExchangeError::Server(error) => SessionError::Server(error),
        }
    }
}

fn obstacle(error: &io::Error) -> Obstacle {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => return Obstacle::NoAnswer,
        io::ErrorKind::UnexpectedEof
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::ConnectionReset => return Obstacle::Other,
        _ => {}
    }
    let refused = match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(HostError::NoAddress(_) | HostError::Unresolved(..)) => return Obstacle::UnknownHost,
        Some(HostError::At(_, error)) => error.raw_os_error(),
        None => error.raw_os_error(),
    };
    refused.map_or(Obstacle::Other, Obstacle::System)
}

/// An I/O error in words for somebody whose server does not answer.
pub(crate) fn describe_io(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            "no answer within the time allowed".into()
        }
        io::ErrorKind::UnexpectedEof
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::ConnectionReset => "the server closed the connection".into(),
        _ => error.to_string(),
    }
}

/// The version that a server greets with, before any login.
///
/// # Errors
/// No server there, or it takes no connection now.
pub fn greeted_version(transport: &Transport, timeout: Duration) -> Result<String, LoadError> {
    let read = || -> Result<String, SessionError> {
        let deadline = Instant::now() + timeout;
        let stream = Stream::connect(transport, deadline)?;
        let packet = Session::silent(stream, timeout).read_packet(deadline)?;
        Ok(parse_greeting(&packet)?.version)
    };
    let version = read().map_err(|error| error.at(transport))?;
    // MariaDB's prefix for old replicas.
    Ok(version
        .strip_prefix("5.5.5-")
        .unwrap_or(&version)
        .to_owned())
}

/// How long a connection for work on tables may take to log in.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Connects for work of which a single statement may take until `timeout`.
pub(crate) fn connect(
    endpoint: &Endpoint,
    database: Option<&str>,
    timeout: Duration,
) -> Result<Session, LoadError> {
    bounded(
        Session::connect(endpoint, database, CONNECT_TIMEOUT),
        endpoint,
        timeout,
    )
}

/// As [`connect`], for rows that are inserted [many at once](Session::insert_bulk) where the server knows how.
pub(crate) fn connect_for_bulk(
    endpoint: &Endpoint,
    database: Option<&str>,
    timeout: Duration,
) -> Result<Session, LoadError> {
    bounded(
        Session::connect_for_bulk(endpoint, database, CONNECT_TIMEOUT),
        endpoint,
        timeout,
    )
}

fn bounded(
    connected: Result<Session, SessionError>,
    endpoint: &Endpoint,
    timeout: Duration,
) -> Result<Session, LoadError> {
    let mut session = connected.map_err(|error| error.at(endpoint))?;
    session.set_timeout(timeout);
    Ok(session)
}

/// A logged-in blocking connection.
#[derive(Debug)]
pub(crate) struct Session {
    stream: Stream,
    capabilities: u32,
    out: Vec<u8>,
    /// Empty between commands.
    inbox: Inbox,
    timeout: Duration,
    /// Of the last statement of [`rows`](Session::rows).
    warnings: u16,
    /// Why it is not encrypted, where that was preferred and offered.
    unencrypted: Option<String>,
}

impl Session {
    /// Connects and logs in within `timeout`; `database` may be left out to create it first. The timeout then
    /// bounds every single command.
    pub(crate) fn connect(
        endpoint: &Endpoint,
        database: Option<&str>,
        timeout: Duration,
    ) -> Result<Self, SessionError> {
        Self::open(endpoint, database, timeout, |login| login)
    }

    /// As [`connect`](Self::connect), and asks for [`insert_bulk`](Self::insert_bulk).
    pub(crate) fn connect_for_bulk(
        endpoint: &Endpoint,
        database: Option<&str>,
        timeout: Duration,
    ) -> Result<Self, SessionError> {
        Self::open(endpoint, database, timeout, |login| login.wanting_bulk())
    }

    /// As [`connect`](Self::connect), for the statements of a captured client, of which nobody knows whether they call procedures:
    /// [`answer`](Self::answer) and its like read answers of several results.
    pub(crate) fn connect_as_client(
        endpoint: &Endpoint,
        database: Option<&str>,
        client: ClientSettings,
        timeout: Duration,
    ) -> Result<Self, SessionError> {
        Self::open(endpoint, database, timeout, |login| {
            login.wanting_several_results().for_client(client)
        })
    }

    /// As [`connect`](Self::connect), for the connection of a script: its texts may be several statements, and answers several results.
    pub(crate) fn connect_for_script(
        endpoint: &Endpoint,
        database: Option<&str>,
        timeout: Duration,
    ) -> Result<Self, SessionError> {
        Self::open(endpoint, database, timeout, |login| {
            login.wanting_several_statements()
        })
    }

    fn open(
        endpoint: &Endpoint,
        database: Option<&str>,
        timeout: Duration,
        wanting: impl Fn(Login<'_>) -> Login<'_>,
    ) -> Result<Self, SessionError> {
        let deadline = Instant::now() + timeout;
        let encryption = match endpoint.tls.mode {
            TlsMode::Disabled => Encryption::Never,
            TlsMode::Preferred => Encryption::IfOffered,
            TlsMode::Required | TlsMode::VerifyCa | TlsMode::VerifyIdentity => Encryption::Always,
        };
        let opened = Self::open_before(
            deadline,
            timeout,
            (endpoint, database),
            encryption,
            &wanting,
        );
        match opened {
            // As clients of the servers do: encrypted where that can be.
            Err(SessionError::Handshake(error)) if encryption == Encryption::IfOffered => {
                let session = Self::open_before(
                    deadline,
                    timeout,
                    (endpoint, database),
                    Encryption::Never,
                    &wanting,
                )?;
                Ok(Session {
                    unencrypted: Some(describe_io(&error)),
                    ..session
                })
            }
            opened => opened,
        }
    }

    fn open_before(
        deadline: Instant,
        timeout: Duration,
        (endpoint, database): (&Endpoint, Option<&str>),
        encryption: Encryption,
        wanting: &impl Fn(Login<'_>) -> Login<'_>,
    ) -> Result<Self, SessionError> {
        let tls = match encryption {
            Encryption::Never => None,
            _ => Some(TlsClient::new(&endpoint.tls, &endpoint.transport)?),
        };
        let stream = Stream::connect(&endpoint.transport, deadline)?;
        let (channel, encryption) = match (stream.is_unix(), encryption) {
            // A Unix socket is as good as encrypted.
            (true, Encryption::IfOffered) => (Channel::Local, Encryption::Never),
            (true, encryption) => (Channel::Local, encryption),
            (false, encryption) => (Channel::Open, encryption),
        };
        let account = Account {
            user: &endpoint.user,
            password: &endpoint.password,
            database,
        };
        let session = Session::silent(stream, timeout);
        let login = wanting(Login::new(account, channel, encryption));
        session.log_in(login, tls.as_ref(), deadline)
    }

    /// On a stream on which nothing was said yet.
    fn silent(stream: Stream, timeout: Duration) -> Self {
        Session {
            stream,
            capabilities: 0,
            out: Vec::with_capacity(512),
            inbox: Inbox::default(),
            timeout,
            warnings: 0,
            unencrypted: None,
        }
    }

    /// Whether the server takes many rows in one execution of a statement: MariaDB, when it was asked for.
    pub(crate) fn takes_bulk(&self) -> bool {
        self.capabilities & capability::LONG_PASSWORD == 0
    }

    /// Executes a prepared statement once for each of `rows`, which hold the parameters as
    /// [`command::bulk_execute`] says. Only where [`takes_bulk`](Self::takes_bulk).
    pub(crate) fn insert_bulk(
        &mut self,
        statement: u32,
        types: &[ParameterType],
        rows: &[u8],
    ) -> Result<(), SessionError> {
        let mut payload = Vec::with_capacity(rows.len() + 256);
        command::bulk_execute(&mut payload, statement, types);
        payload.extend_from_slice(rows);
        self.out.clear();
        command::write_packets(&mut self.out, 0, &payload);
        self.run().map(|_| ())
    }

    /// Changes the bound on every single command.
    pub(crate) fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    /// The stream, the capabilities, and the buffer, for a connection under load.
    pub(crate) fn into_parts(self) -> (Stream, u32, Vec<u8>) {
        (self.stream, self.capabilities, self.out)
    }

    fn log_in(
        mut self,
        mut login: Login,
        tls: Option<&TlsClient>,
        deadline: Instant,
    ) -> Result<Self, SessionError> {
        loop {
            let packet = self.read_packet(deadline)?;
            match login.packet(&packet)? {
                Step::Wait => {}
                Step::Send(payload) => self.write_packet(&payload, deadline)?,
                Step::Encrypt(payload) => {
                    // What came in clear after the greeting must not be taken for something encrypted.
                    self.expect_silence()?;
                    self.write_packet(&payload, deadline)?;
                    let tls = tls.ok_or_else(|| ProtocolError::new("nobody asked for TLS"))?;
                    self.stream = self
                        .stream
                        .encrypt(tls, deadline)
                        .map_err(SessionError::Handshake)?;
                    self.write_packet(&login.encrypted()?, deadline)?;
                }
                Step::Done => {
                    self.capabilities = login.capabilities();
                    self.expect_silence()?;
                    return Ok(self);
                }
            }
        }
    }

    /// Prepares a statement.
    pub(crate) fn prepare(&mut self, sql: &str) -> Result<Prepared, SessionError> {
        let deadline = Instant::now() + self.timeout;
        command::prepare(&mut self.out, sql.as_bytes());
        let mut reader = PrepareReader::new(self.capabilities);
        self.exchange(deadline, SHORT, |packet| reader.packet(packet))
    }

    /// Runs a statement in text form and keeps its rows.
    pub(crate) fn rows(&mut self, sql: &str) -> Result<Vec<Row>, SessionError> {
        let deadline = Instant::now() + self.timeout;
        command::query(&mut self.out, sql.as_bytes());
        let mut reader = RowReader::new(self.capabilities);
        let rows = self.exchange(deadline, MAX_MEMORY, |packet| reader.packet(packet));
        self.warnings = reader.warnings();
        rows
    }

    /// Runs a statement in text form and keeps the names of its columns and its rows.
    pub(crate) fn table(&mut self, sql: &str) -> Result<(Vec<String>, Vec<Row>), SessionError> {
        let deadline = Instant::now() + self.timeout;
        command::query(&mut self.out, sql.as_bytes());
        let mut reader = RowReader::new(self.capabilities).with_names();
        let rows = self.exchange(deadline, MAX_MEMORY, |packet| reader.packet(packet))?;
        self.warnings = reader.warnings();
        Ok((reader.names(), rows))
    }

    /// Runs a statement in text form and says what the answer was.
    pub(crate) fn answer(&mut self, sql: &[u8]) -> Result<AnswerDigest, SessionError> {
        command::query(&mut self.out, sql);
        self.digest()
    }

    /// Chooses a database.
    pub(crate) fn choose_database(&mut self, name: &[u8]) -> Result<AnswerDigest, SessionError> {
        command::init_db(&mut self.out, name);
        self.digest()
    }

    /// Makes the session like a fresh one.
    pub(crate) fn reset(&mut self) -> Result<AnswerDigest, SessionError> {
        command::reset_connection(&mut self.out);
        self.digest()
    }

    /// Sends the command in the buffer; what the answer was.
    fn digest(&mut self) -> Result<AnswerDigest, SessionError> {
        let deadline = Instant::now() + self.timeout;
        let mut reader = AnswerDigestReader::new(self.capabilities);
        self.exchange(deadline, LONG, |packet| reader.packet(packet))
    }

    /// Warnings that the server counted for the last statement of [`rows`](Session::rows); 0 where it was refused.
    pub(crate) fn warnings(&self) -> u16 {
        self.warnings
    }

    /// Runs a statement in text form and discards what it returns.
    pub(crate) fn execute(&mut self, sql: &[u8]) -> Result<(), SessionError> {
        self.count(sql).map(|_| ())
    }

    /// The same; how many rows came or were changed.
    pub(crate) fn count(&mut self, sql: &[u8]) -> Result<u64, SessionError> {
        command::query(&mut self.out, sql);
        self.run()
    }

    /// Sends the command in the buffer and discards what it returns; the rows that came or were changed.
    fn run(&mut self) -> Result<u64, SessionError> {
        let deadline = Instant::now() + self.timeout;
        self.stream.write_before(deadline, &self.out)?;
        let mut reader = ResponseReader::new(self.capabilities);
        reader.expect(command::answer_number(&self.out));
        let mut buffer = [0; READ];
        loop {
            let count = self.stream.read_before(deadline, &mut buffer)?;
            match reader.feed(&buffer[..count])? {
                Progress::More => {}
                Progress::Done => return Ok(reader.rows()),
                Progress::Failed => return Err(SessionError::Server(reader.error()?)),
            }
        }
    }

    /// Why the connection is not encrypted, where that was preferred and the server offers it.
    pub(crate) fn unencrypted(&self) -> Option<&str> {
        self.unencrypted.as_deref()
    }

    /// What ends the connection from another thread.
    pub(crate) fn hangup(&self) -> io::Result<Hangup> {
        self.stream.hangup()
    }

    /// Says goodbye; the server may then forget the connection without a warning in its log.
    pub(crate) fn quit(mut self) {
        // Nothing depends on whether the goodbye arrives.
        let _ = self.stream.write(&command::QUIT);
    }

    /// Sends the command in the buffer and hands the payloads of its answer, each of up to `longest` bytes, to `take` until
    /// it has a result.
    fn exchange<T>(
        &mut self,
        deadline: Instant,
        longest: usize,
        mut take: impl FnMut(&[u8]) -> Result<Option<T>, ExchangeError>,
    ) -> Result<T, SessionError> {
        self.stream.write_before(deadline, &self.out)?;
        self.inbox.allow(longest);
        self.inbox.set_sequence(command::answer_number(&self.out));
        let mut buffer = [0; READ];
        loop {
            // Where it lies: a copy of a long one would take as much memory again.
            let Some(payload) = self.inbox.packet()? else {
                let count = self.stream.read_before(deadline, &mut buffer)?;
                self.inbox.put(&buffer[..count]);
                continue;
            };
            let result = match take(payload) {
                Ok(None) => continue,
                Ok(Some(result)) => Ok(result),
                Err(ExchangeError::Server(error)) => Err(SessionError::Server(error)),
                Err(ExchangeError::Protocol(error)) => return Err(error.into()),
            };
            // A refused statement leaves the connection usable, unless more follows.
            self.expect_silence()?;
            self.inbox.let_go();
            return result;
        }
    }

    fn read_packet(&mut self, deadline: Instant) -> Result<Vec<u8>, SessionError> {
        let mut buffer = [0; READ];
        loop {
            if let Some(payload) = self.inbox.packet()? {
                return Ok(payload.to_vec());
            }
            let count = self.stream.read_before(deadline, &mut buffer)?;
            self.inbox.put(&buffer[..count]);
        }
    }

    fn write_packet(&mut self, payload: &[u8], deadline: Instant) -> Result<(), SessionError> {
        self.out.clear();
        let next = command::write_packets(&mut self.out, self.inbox.sequence(), payload);
        self.inbox.set_sequence(next);
        Ok(self.stream.write_before(deadline, &self.out)?)
    }

    /// An answer is complete: what follows it is not the protocol.
    fn expect_silence(&self) -> Result<(), ProtocolError> {
        if self.inbox.is_empty() {
            Ok(())
        } else {
            Err(ProtocolError::new("bytes follow a complete answer"))
        }
    }
}
