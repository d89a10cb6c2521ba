//! One connection of a client to a server: its login, its commands, what was answered.

mod command;
mod login;
mod prepared;

use std::collections::HashMap;

use login::{COMPRESS, ZSTD};
use prepared::Prepared;

use super::answer::Answer;
use super::field::Fields;
use super::stream::Stream;
use crate::dropped::Cause;
use crate::log::Command;
use crate::sql::SqlMode;

/// The greatest length of one packet; a longer one is continued.
const MAX_PACKET: usize = 0xff_ffff;
/// Longest command that is read.
const MAX_COMMAND: usize = 64 << 20;

/// What was heard of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Heard {
    pub command: Command,
    /// The statement with its values, the database, or the login as a general log writes it.
    pub text: Vec<u8>,
    pub user: Vec<u8>,
    pub start_us: i64,
    pub duration_us: Option<u64>,
    pub rows_sent: Option<u64>,
    pub rows_affected: Option<u64>,
    pub error: Option<u32>,
    /// Bytes of the command.
    pub length: usize,
}

/// What the connection is at.
#[derive(Debug)]
enum State {
    /// The server's greeting is awaited.
    Greeting,
    /// The client's answer to it.
    Login { start_us: i64 },
    /// The server's verdict.
    Verdict { login: Box<Pending> },
    /// Commands.
    Commands,
    /// It cannot be read, for this reason, which was told.
    Unreadable,
}

/// A command whose answer has not come, or not all of it.
#[derive(Debug)]
struct Pending {
    heard: Heard,
    answer: Answer,
    /// When the last packet of the answer came.
    last_us: i64,
    /// The statement that is prepared.
    prepares: Option<Vec<u8>>,
    /// Nobody tells of it: a ping.
    is_silent: Option<Cause>,
}

/// A connection.
#[derive(Debug)]
pub(super) struct Conversation {
    pub to_server: Stream,
    pub to_client: Stream,
    state: State,
    capabilities: Option<u64>,
    host: String,
    user: Vec<u8>,
    pending: Option<Pending>,
    statements: HashMap<u32, Prepared>,
    /// The settings by which strings are read and written.
    pub mode: SqlMode,
    /// Packets that belong together, longer than one may be.
    long: [Vec<u8>; 2],
    /// Something that was not kept.
    pub dropped: Vec<(Cause, usize)>,
    pub heard: Vec<Heard>,
    /// The server's, once it has greeted.
    pub version: Option<String>,
}

impl Conversation {
    /// Of a client on `host`. `is_new`: its beginning was seen.
    pub(super) fn new(host: String, is_new: bool, mode: SqlMode) -> Conversation {
        Conversation {
            to_server: Stream::default(),
            to_client: Stream::default(),
            state: match is_new {
                true => State::Greeting,
                false => State::Commands,
            },
            capabilities: None,
            host,
            user: Vec::new(),
            pending: None,
            statements: HashMap::new(),
            mode,
            long: [Vec::new(), Vec::new()],
            dropped: Vec::new(),
            heard: Vec::new(),
            version: None,
        }
    }

    /// Whether nothing was read of it.
    pub(super) fn is_fresh(&self) -> bool {
        matches!(self.state, State::Greeting) && !self.to_client.has_begun()
    }

    /// The recording ends here: what was answered so far is told, and nobody has left.
    pub(super) fn stop(&mut self) {
        self.finish();
        self.state = State::Unreadable;
    }

    /// Reads what has come, at this time.
    pub(super) fn read(&mut self, now_us: i64) {
        loop {
            if matches!(self.state, State::Unreadable) {
                self.to_server.skip_all();
                self.to_client.skip_all();
                return;
            }
            if self.to_server.is_lost() || self.to_client.is_lost() {
                self.give_up(Cause::LostPackets);
                continue;
            }
            if matches!(self.state, State::Greeting) && !self.may_be_a_greeting() {
                // Other traffic, which is none of ours.
                self.state = State::Unreadable;
                continue;
            }
            // What the server says belongs to what the client has asked before.
            if let Some((_, packet)) = self.packet(1) {
                self.server_says(&packet, now_us);
            } else if let Some((number, packet)) = self.packet(0) {
                self.client_says(number, &packet, now_us);
            } else {
                return;
            }
        }
    }

    /// Whether what the server said first begins a greeting, as far as it can be seen.
    fn may_be_a_greeting(&self) -> bool {
        match self.to_client.bytes() {
            [_, second, third, number, kind, ..] => {
                *second < 4 && *third == 0 && *number == 0 && matches!(kind, 10 | 0xff)
            }
            _ => true,
        }
    }

    /// No more will come.
    pub(super) fn end(&mut self, now_us: i64) {
        let seen = matches!(self.state, State::Commands);
        self.finish();
        if seen {
            self.heard
                .push(self.heard_of(Command::Quit, Vec::new(), now_us, 0));
        }
        self.state = State::Unreadable;
    }

    /// It cannot be read from here on.
    fn give_up(&mut self, cause: Cause) {
        self.pending = None;
        self.dropped.push((cause, 0));
        self.state = State::Unreadable;
    }

    /// The next whole packet of a direction (0: to the server), with its number.
    fn packet(&mut self, direction: usize) -> Option<(u8, Vec<u8>)> {
        loop {
            let stream = match direction {
                0 => &mut self.to_server,
                _ => &mut self.to_client,
            };
            let bytes = stream.bytes();
            let [a, b, c, number] = *bytes.first_chunk::<4>()?;
            let length = usize::from(a) | (usize::from(b) << 8) | (usize::from(c) << 16);
            let payload = bytes.get(4..4 + length)?;
            let long = &mut self.long[direction];
            if length == MAX_PACKET || !long.is_empty() {
                long.extend_from_slice(payload);
                stream.consume(4 + length);
                if length < MAX_PACKET {
                    return Some((number, std::mem::take(long)));
                }
                if long.len() > MAX_COMMAND {
                    long.clear();
                    self.give_up(Cause::TooLong);
                    return None;
                }
                continue;
            }
            let payload = payload.to_vec();
            stream.consume(4 + length);
            return Some((number, payload));
        }
    }

    fn server_says(&mut self, packet: &[u8], now_us: i64) {
        match std::mem::replace(&mut self.state, State::Commands) {
            State::Greeting => {
                self.state = match packet.first() {
                    Some(10) => {
                        let version = Fields(&packet[1..]).zero_ended().unwrap_or_default();
                        // MariaDB up to 10.11 says this first, for replicas of old.
                        let version = version.strip_prefix(b"5.5.5-").unwrap_or(version);
                        self.version = Some(String::from_utf8_lossy(version).into_owned());
                        State::Login { start_us: now_us }
                    }
                    // The server refuses at once: too many connections.
                    Some(0xff) => {
                        self.dropped.push((Cause::RefusedLogin, packet.len()));
                        State::Unreadable
                    }
                    _ => {
                        self.dropped.push((Cause::NoProtocol, packet.len()));
                        State::Unreadable
                    }
                };
            }
            State::Verdict { mut login } => match packet.first() {
                Some(0) => {
                    login.last_us = now_us;
                    self.pending = Some(*login);
                    self.finish();
                    if self
                        .capabilities
                        .is_some_and(|all| all & (COMPRESS | ZSTD) != 0)
                    {
                        self.give_up(Cause::Compressed);
                    }
                }
                Some(0xff) => {
                    self.dropped.push((Cause::RefusedLogin, packet.len()));
                    self.state = State::Unreadable;
                }
                _ => self.state = State::Verdict { login },
            },
            State::Commands => {
                let Some(pending) = &mut self.pending else {
                    // The end of a prepare, or of what was asked before the first packet.
                    return;
                };
                pending.last_us = now_us;
                match pending.answer.packet(packet) {
                    Some(true) => self.finish(),
                    Some(false) => {}
                    None => self.give_up(Cause::NoProtocol),
                }
            }
            other => self.state = other,
        }
    }

    fn client_says(&mut self, number: u8, packet: &[u8], now_us: i64) {
        match &self.state {
            State::Login { start_us } => {
                let start_us = *start_us;
                self.login(packet, start_us);
            }
            // Only a command begins to count anew; a file's content does not.
            State::Commands if number == 0 => self.command(packet, now_us),
            _ => {}
        }
    }

    fn heard_of(&self, command: Command, text: Vec<u8>, start_us: i64, length: usize) -> Heard {
        Heard {
            command,
            text,
            user: self.user.clone(),
            start_us,
            duration_us: None,
            rows_sent: None,
            rows_affected: None,
            error: None,
            length,
        }
    }

    /// The command under way is over.
    fn finish(&mut self) {
        let Some(pending) = self.pending.take() else {
            return;
        };
        let Pending {
            mut heard,
            answer,
            last_us,
            prepares,
            is_silent,
        } = pending;
        heard.duration_us = Some((last_us - heard.start_us).max(0) as u64);
        heard.error = Some(answer.error);
        heard.rows_sent = Some(answer.rows_sent);
        heard.rows_affected = Some(answer.rows_affected);
        if let (Some(text), Some((statement, parameters))) = (prepares, answer.prepared) {
            let prepared = Prepared {
                text,
                parameters,
                types: Vec::new(),
                long: HashMap::new(),
            };
            self.statements.insert(statement, prepared);
        }
        match is_silent {
            Some(Cause::Empty | Cause::UnknownPrepared) => {}
            Some(cause) => self.dropped.push((cause, heard.length)),
            None => self.heard.push(heard),
        }
    }
}
