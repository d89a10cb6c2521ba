//! A connection during set-up: log in, prepare statements, run statements one at a time. Blocking, every wait
//! bounded. Under load it becomes a [`Connection`](crate::connection::Connection).

use crate::endpoint::Endpoint;
use crate::protocol::command::{self, Prepared};
use crate::protocol::packet::{Fields, MAX_PAYLOAD, ServerError};
use crate::protocol::response::{Progress, ResponseReader};
use crate::protocol::{ProtocolError, auth, capability, handshake};
use crate::stream::BlockingStream;
use std::io::{self, Read, Write};
use std::time::Duration;

/// MySQL's ER_UNSUPPORTED_PS: the statement cannot be prepared, only sent as text.
pub const CANNOT_BE_PREPARED: u16 = 1295;

/// Nothing that is read whole during set-up is longer; a greater length is not the protocol.
const LONGEST_SETUP_PACKET: usize = 1 << 20;

/// Why a step of the set-up failed.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error("{}", describe_io(.0))]
    Io(#[from] io::Error),
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    #[error("{0}")]
    Server(ServerError),
}

/// An I/O error in words for somebody whose server does not answer.
pub fn describe_io(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            "no answer within the time allowed".into()
        }
        io::ErrorKind::UnexpectedEof => "the server closed the connection".into(),
        _ => error.to_string(),
    }
}

/// A logged-in blocking connection.
#[derive(Debug)]
pub struct Session {
    stream: BlockingStream,
    capabilities: u32,
    out: Vec<u8>,
    sequence: u8,
}

impl Session {
    /// Connects and logs in; `database` may be left out to create it first.
    pub fn connect(
        endpoint: &Endpoint,
        database: Option<&str>,
        timeout: Duration,
    ) -> Result<Self, SessionError> {
        let stream = BlockingStream::connect(&endpoint.transport, timeout)?;
        let mut session = Session {
            stream,
            capabilities: 0,
            out: Vec::with_capacity(512),
            sequence: 0,
        };
        session.log_in(&endpoint.user, &endpoint.password, database)?;
        Ok(session)
    }

    /// Changes the bound on every single wait.
    pub fn set_timeout(&self, timeout: Duration) -> Result<(), SessionError> {
        Ok(self.stream.set_timeout(timeout)?)
    }

    /// The stream, the capabilities, and the buffer, for a connection under load.
    pub fn into_parts(self) -> (BlockingStream, u32, Vec<u8>) {
        (self.stream, self.capabilities, self.out)
    }

    fn log_in(
        &mut self,
        user: &str,
        password: &str,
        database: Option<&str>,
    ) -> Result<(), SessionError> {
        let greeting =
            handshake::parse_greeting(&self.read_packet()?)?.map_err(SessionError::Server)?;
        self.capabilities = handshake::agree(greeting.capabilities, database.is_some());
        let mut nonce = greeting.nonce;
        let mut plugin = if auth::is_known(&greeting.plugin) {
            greeting.plugin
        } else {
            auth::FALLBACK_PLUGIN.to_owned()
        };
        let answer = auth::first_answer(&plugin, password, &nonce)?;
        let response = handshake::response(self.capabilities, user, &answer, database, &plugin)?;
        self.write_packet(&response)?;

        // A switch of plugin, then at most a few exchanges within it.
        for _ in 0..8 {
            let packet = self.read_packet()?;
            match packet.first() {
                Some(0x00) => return Ok(()),
                Some(0xff) => return Err(SessionError::Server(ServerError::parse(&packet)?)),
                Some(0xfe) => {
                    let mut fields = Fields::new(&packet[1..]);
                    plugin = String::from_utf8_lossy(fields.until_nul()).into_owned();
                    nonce = fields.rest().to_vec();
                    if nonce.last() == Some(&0) {
                        nonce.pop();
                    }
                    let answer = auth::first_answer(&plugin, password, &nonce)?;
                    self.write_packet(&answer)?;
                }
                Some(0x01) if plugin == "caching_sha2_password" => match packet.get(1) {
                    Some(&auth::FAST_AUTH_SUCCESS) => {}
                    Some(&auth::FULL_AUTH_NEEDED) if self.stream.is_local() => {
                        self.write_packet(&auth::clear_password(password))?;
                    }
                    Some(&auth::FULL_AUTH_NEEDED) => {
                        self.write_packet(&[auth::REQUEST_PUBLIC_KEY])?;
                        let key = self.read_packet()?;
                        match key.split_first() {
                            Some((0x01, key)) => {
                                let answer = auth::encrypted_password(password, &nonce, key)?;
                                self.write_packet(&answer)?;
                            }
                            Some((0xff, _)) => {
                                return Err(SessionError::Server(ServerError::parse(&key)?));
                            }
                            _ => {
                                return Err(ProtocolError::new("no RSA public key came").into());
                            }
                        }
                    }
                    _ => return Err(ProtocolError::new("an unknown authentication step").into()),
                },
                _ => return Err(ProtocolError::new("an unknown answer to the login").into()),
            }
        }
        Err(ProtocolError::new("the login goes in circles").into())
    }

    /// Prepares a statement.
    pub fn prepare(&mut self, sql: &str) -> Result<Prepared, SessionError> {
        check_length(sql)?;
        command::prepare(&mut self.out, sql.as_bytes());
        self.stream.write_all(&self.out)?;
        self.sequence = 1;
        let packet = self.read_packet()?;
        if packet.first() == Some(&0xff) {
            return Err(SessionError::Server(ServerError::parse(&packet)?));
        }
        let prepared = Prepared::parse(&packet)?;
        let eof = self.capabilities & capability::DEPRECATE_EOF == 0;
        for count in [prepared.parameters, prepared.columns] {
            if count > 0 {
                for _ in 0..usize::from(count) + usize::from(eof) {
                    self.read_packet()?;
                }
            }
        }
        Ok(prepared)
    }

    /// Runs a statement in text form and discards what it returns.
    pub fn execute(&mut self, sql: &[u8]) -> Result<(), SessionError> {
        let mut payload = Vec::new();
        if sql.len() + 1 < MAX_PAYLOAD {
            command::query(&mut self.out, sql);
        } else {
            payload.push(3);
            payload.extend_from_slice(sql);
            self.out.clear();
            command::write_packets(&mut self.out, 0, &payload);
        }
        self.stream.write_all(&self.out)?;
        let mut reader = ResponseReader::new(self.capabilities);
        let mut buffer = [0; 4096];
        loop {
            let count = self.stream.read(&mut buffer)?;
            if count == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
            match reader.feed(&buffer[..count])? {
                Progress::More => {}
                Progress::Done => return Ok(()),
                Progress::Failed => return Err(SessionError::Server(reader.error()?)),
            }
        }
    }

    /// Says goodbye; the server may then forget the connection without a warning in its log.
    pub fn quit(mut self) {
        // Nothing depends on whether the goodbye arrives.
        let _ = self.stream.write_all(&command::QUIT);
    }

    /// Sends a statement in text form; the first packet of its answer.
    pub fn ask(&mut self, sql: &str) -> Result<Vec<u8>, SessionError> {
        check_length(sql)?;
        command::query(&mut self.out, sql.as_bytes());
        self.stream.write_all(&self.out)?;
        self.sequence = 1;
        self.read_answer()
    }

    /// The next packet of an answer; an error packet is an error.
    pub fn read_answer(&mut self) -> Result<Vec<u8>, SessionError> {
        let packet = self.read_packet()?;
        if packet.first() == Some(&0xff) {
            return Err(SessionError::Server(ServerError::parse(&packet)?));
        }
        Ok(packet)
    }

    /// Whether an end-of-file packet stands between columns and rows.
    pub fn sends_eof(&self) -> bool {
        self.capabilities & capability::DEPRECATE_EOF == 0
    }

    pub fn read_packet(&mut self) -> Result<Vec<u8>, SessionError> {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header)?;
        let [a, b, c, sequence] = header;
        let length = u32::from_le_bytes([a, b, c, 0]) as usize;
        // An error may come before anything was numbered (as when there are too many connections).
        if sequence != self.sequence || length > LONGEST_SETUP_PACKET {
            return Err(ProtocolError::new(format!(
                "packet number {sequence} of {length} bytes during set-up (number {} was due)",
                self.sequence
            ))
            .into());
        }
        self.sequence = sequence.wrapping_add(1);
        let mut payload = vec![0; length];
        self.stream.read_exact(&mut payload)?;
        Ok(payload)
    }

    fn write_packet(&mut self, payload: &[u8]) -> Result<(), SessionError> {
        self.out.clear();
        self.sequence = command::write_packets(&mut self.out, self.sequence, payload);
        self.stream.write_all(&self.out)?;
        Ok(())
    }
}

fn check_length(sql: &str) -> Result<(), ProtocolError> {
    if sql.len() + 1 >= MAX_PAYLOAD {
        return Err(ProtocolError::new(format!(
            "a statement of {} bytes cannot be prepared",
            sql.len()
        )));
    }
    Ok(())
}
