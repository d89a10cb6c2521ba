//! A session that logs in while others are under load: its packets come as events, like answers.

use crate::engine::link::Link;
use crate::net::endpoint::{Endpoint, TlsMode};
use crate::net::io::Io;
use crate::net::session::{Session, describe_io};
use crate::net::stream::Stream;
use crate::protocol::auth::Channel;
use crate::protocol::command::write_packets;
use crate::protocol::inbox::Inbox;
use crate::protocol::login::{Account, Encryption, Login, Step};
use niagara_capture::client::ClientSettings;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

/// A login under way.
#[derive(Debug)]
pub(crate) struct LoggingIn<'s> {
    stream: Stream,
    inbox: Inbox,
    login: Login<'s>,
    out: Vec<u8>,
}

/// What came of opening a connection.
pub(crate) enum Opened<'s> {
    /// The server's greeting is awaited.
    LoggingIn(LoggingIn<'s>),
    /// All is done: encrypted connections log in while everything else waits.
    Done(Link),
}

/// Room for statements that a link has from the beginning.
const ROOM: usize = 4096;

/// Connects to `endpoint` for a session that begins with `database`, as its captured `client` did. Only encrypted connections block for longer than the
/// connect takes.
///
/// # Errors
/// In words.
pub(crate) fn open<'s>(
    endpoint: &'s Endpoint,
    database: Option<&'s str>,
    client: ClientSettings,
    timeout: Duration,
) -> Result<Opened<'s>, String> {
    let deadline = Instant::now() + timeout;
    let stream =
        Stream::connect(&endpoint.transport, deadline).map_err(|error| describe_io(&error))?;
    let is_plain = match endpoint.tls.mode {
        TlsMode::Disabled => true,
        TlsMode::Preferred => stream.is_unix(),
        _ => false,
    };
    if !is_plain {
        let session = Session::connect_as_client(endpoint, database, client, timeout)
            .map_err(|error| error.to_string())?;
        let (stream, capabilities, out) = session.into_parts();
        let stream = stream
            .into_nonblocking()
            .map_err(|error| error.to_string())?;
        return Ok(Opened::Done(Link::without_statements(
            stream,
            capabilities,
            out,
        )));
    }
    let account = Account {
        user: &endpoint.user,
        password: &endpoint.password,
        database,
    };
    let channel = if stream.is_unix() {
        Channel::Local
    } else {
        Channel::Open
    };
    Ok(Opened::LoggingIn(LoggingIn {
        stream: stream
            .into_nonblocking()
            .map_err(|error| error.to_string())?,
        inbox: Inbox::default(),
        login: Login::new(account, channel, Encryption::Never)
            .wanting_several_results()
            .for_client(client),
        out: Vec::with_capacity(ROOM),
    }))
}

impl LoggingIn<'_> {
    /// Has what happens on it reported.
    pub(crate) fn watch(&self, io: &mut Io, token: u32) -> io::Result<()> {
        io.watch(&self.stream, token)
    }

    /// Reads what has arrived; true once it is logged in.
    ///
    /// # Errors
    /// In words: the server refused, or was lost.
    pub(crate) fn receive(&mut self, buffer: &mut [u8]) -> Result<bool, String> {
        loop {
            match self.stream.read(buffer) {
                Ok(0) => return Err("the server closed the connection".into()),
                Ok(count) => {
                    if self.take(&buffer[..count])? {
                        return Ok(true);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(describe_io(&error)),
            }
        }
    }

    /// Takes what was received; true once it is logged in.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<bool, String> {
        self.inbox.put(bytes);
        loop {
            let packet = self.inbox.packet().map_err(|error| error.to_string())?;
            let Some(packet) = packet else {
                return Ok(false);
            };
            match self
                .login
                .packet(packet)
                .map_err(|error| error.to_string())?
            {
                Step::Wait => {}
                Step::Done => return Ok(true),
                Step::Encrypt(_) => return Err("the server asks for TLS".into()),
                Step::Send(payload) => {
                    self.out.clear();
                    let next = write_packets(&mut self.out, self.inbox.sequence(), &payload);
                    self.inbox.set_sequence(next);
                    // The first bytes on a fresh socket: there is room for them.
                    self.stream
                        .write_all(&self.out)
                        .map_err(|error| describe_io(&error))?;
                }
            }
        }
    }

    /// The way to the server, once it is logged in.
    pub(crate) fn into_link(self) -> Link {
        Link::without_statements(self.stream, self.login.capabilities(), self.out)
    }
}
