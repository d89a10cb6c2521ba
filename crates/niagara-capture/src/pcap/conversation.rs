//! One connection of a client to a server: its login, its commands, what was answered.

use std::collections::HashMap;

use super::answer::{Answer, Expected};
use super::field::Fields;
use super::parameters::{Type, quote, value, with_values};
use super::stream::Stream;
use crate::dropped::Cause;
use crate::log::Command;
use crate::sql::SqlMode;

const CONNECT_WITH_DB: u64 = 1 << 3;
const COMPRESS: u64 = 1 << 5;
const PROTOCOL_41: u64 = 1 << 9;
const SSL: u64 = 1 << 11;
const SECURE_CONNECTION: u64 = 1 << 15;
const PLUGIN_AUTH_LENENC: u64 = 1 << 21;
const ZSTD: u64 = 1 << 26;
const QUERY_ATTRIBUTES: u64 = 1 << 27;

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
    /// The database that was chosen by the login; it follows the connection by the statements from then on.
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

#[derive(Debug)]
struct Prepared {
    text: Vec<u8>,
    parameters: u16,
    types: Vec<Type>,
    /// By parameter: what was sent ahead.
    long: HashMap<u16, Vec<u8>>,
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

    fn login(&mut self, packet: &[u8], start_us: i64) {
        let Some(login) = self.read_login(packet) else {
            self.give_up(Cause::NoProtocol);
            return;
        };
        let Some((user, database)) = login else {
            self.give_up(Cause::Encrypted);
            return;
        };
        let mut text = user.clone();
        text.extend_from_slice(format!("@{} on ", self.host).as_bytes());
        text.extend_from_slice(&database);
        text.extend_from_slice(b" using TCP/IP");
        self.user = user;
        let heard = self.heard_of(Command::Connect, text, start_us, packet.len());
        self.state = State::Verdict {
            login: Box::new(Pending {
                heard,
                answer: Answer::new(Expected::One),
                last_us: start_us,
                prepares: None,
                is_silent: None,
            }),
        };
    }

    /// User and database of the client's answer to the greeting; an inner none: TLS follows.
    #[allow(
        clippy::option_option,
        reason = "the outer one: it is not the protocol"
    )]
    fn read_login(&mut self, packet: &[u8]) -> Option<Option<(Vec<u8>, Vec<u8>)>> {
        let mut fields = Fields(packet);
        let mut capabilities = fields.number(2)?;
        if capabilities & PROTOCOL_41 == 0 {
            return None;
        }
        capabilities |= fields.number(2)? << 16;
        self.capabilities = Some(capabilities);
        // Greatest packet, character set, nothing.
        fields.bytes(4 + 1 + 23)?;
        if capabilities & SSL != 0 && fields.0.is_empty() {
            return Some(None);
        }
        let user = fields.zero_ended()?.to_vec();
        if capabilities & PLUGIN_AUTH_LENENC != 0 {
            fields.string()?;
        } else if capabilities & SECURE_CONNECTION != 0 {
            let length = fields.u8()?;
            fields.bytes(length.into())?;
        } else {
            fields.zero_ended()?;
        }
        let database = match capabilities & CONNECT_WITH_DB {
            0 => Vec::new(),
            _ => fields.zero_ended()?.to_vec(),
        };
        Some(Some((user, database)))
    }

    fn command(&mut self, packet: &[u8], now_us: i64) {
        // The answer before is over, whatever was understood of it.
        self.finish();
        let Some((&code, body)) = packet.split_first() else {
            return;
        };
        let length = packet.len() + 4;
        let plain = |command, text: &[u8]| (command, text.to_vec(), Expected::One);
        let (command, text, expected) = match code {
            1 => {
                self.heard
                    .push(self.heard_of(Command::Quit, Vec::new(), now_us, length));
                self.state = State::Unreadable;
                return;
            }
            2 => plain(Command::InitDb, body),
            3 => (
                Command::Query,
                self.query_text(body).to_vec(),
                Expected::Result,
            ),
            0x11 => {
                // Its exchange is that of a login, which is of no use without what it says.
                self.give_up(Cause::Command);
                return;
            }
            0x16 => (Command::Prepare, body.to_vec(), Expected::Prepare),
            0x17 => match self.execute(body) {
                Some(text) => (Command::Execute, text, Expected::Result),
                None => {
                    self.dropped.push((Cause::UnknownPrepared, length));
                    (Command::Other, Vec::new(), Expected::Result)
                }
            },
            0x18 => {
                self.long_data(body);
                return;
            }
            0x19 => {
                if let Some(statement) = Fields(body).number(4) {
                    self.statements.remove(&(statement as u32));
                }
                return;
            }
            0x1f => {
                self.statements.clear();
                plain(Command::ResetConnection, &[])
            }
            0x1c => (Command::Other, Vec::new(), Expected::Rows),
            // A ping, statistics, a debug dump, an option, a statement forgotten.
            0x09 | 0x0d | 0x0e | 0x1a | 0x1b => plain(Command::Other, &[]),
            _ => (Command::Other, Vec::new(), Expected::Result),
        };
        let is_silent = match (command, code) {
            (Command::Other, 0x17) => Some(Cause::UnknownPrepared),
            // Rows that were asked for before.
            (Command::Other, 0x1c | 0x1a) => Some(Cause::Empty),
            (Command::Other, _) => Some(Cause::Command),
            _ => None,
        };
        self.pending = Some(Pending {
            prepares: (command == Command::Prepare).then(|| text.clone()),
            heard: self.heard_of(command, text, now_us, length),
            answer: Answer::new(expected),
            last_us: now_us,
            is_silent,
        });
    }

    /// The text of a COM_QUERY, behind its attributes where the client sends some.
    fn query_text<'b>(&self, body: &'b [u8]) -> &'b [u8] {
        let has_attributes = match self.capabilities {
            Some(capabilities) => capabilities & QUERY_ATTRIBUTES != 0,
            // No statement begins so.
            None => body.starts_with(&[0, 1]),
        };
        if !has_attributes {
            return body;
        }
        let skip = |body: &'b [u8]| -> Option<&'b [u8]> {
            let mut fields = Fields(body);
            let count = usize::try_from(fields.lenenc()?)
                .ok()
                .filter(|&count| count < 1 << 16)?;
            fields.lenenc()?;
            if count > 0 {
                let nulls = fields.bytes(count.div_ceil(8))?;
                fields.u8()?;
                let mut types = Vec::with_capacity(count);
                for _ in 0..count {
                    types.push(fields.number(2)? as Type);
                    fields.string()?;
                }
                let mut nothing = Vec::new();
                for (place, &kind) in types.iter().enumerate() {
                    if nulls[place / 8] & (1 << (place % 8)) == 0 {
                        value(&mut fields, kind, SqlMode::default(), &mut nothing)?;
                    }
                }
            }
            Some(fields.0)
        };
        skip(body).unwrap_or(body)
    }

    /// The statement of a COM_STMT_EXECUTE with its values; none where it is not known, or is not the protocol.
    fn execute(&mut self, body: &[u8]) -> Option<Vec<u8>> {
        let mut fields = Fields(body);
        let statement = fields.number(4)? as u32;
        let flags = fields.u8()?;
        fields.bytes(4)?;
        let attributes = self
            .capabilities
            .is_some_and(|all| all & QUERY_ATTRIBUTES != 0);
        let mode = self.mode;
        let prepared = self.statements.get_mut(&statement)?;
        let own = usize::from(prepared.parameters);
        let mut count = own;
        // PARAMETER_COUNT_AVAILABLE: attributes may follow the parameters.
        if attributes && flags & 8 != 0 {
            count = usize::try_from(fields.lenenc()?)
                .ok()
                .filter(|&count| count < 1 << 16)?;
        }
        if count < own {
            return None;
        }
        let mut values = Vec::with_capacity(own);
        if count > 0 {
            let nulls = fields.bytes(count.div_ceil(8))?;
            if fields.u8()? == 1 {
                prepared.types.clear();
                for _ in 0..count {
                    prepared.types.push(fields.number(2)? as Type);
                    if attributes {
                        fields.string()?;
                    }
                }
            }
            for place in 0..own {
                let mut text = Vec::new();
                let kind = *prepared.types.get(place)?;
                if nulls[place / 8] & (1 << (place % 8)) != 0 {
                    text.extend_from_slice(b"NULL");
                } else if let Some(long) = prepared.long.get(&(place as u16)) {
                    quote(long, mode, &mut text);
                } else {
                    value(&mut fields, kind, mode, &mut text)?;
                }
                values.push(text);
            }
        }
        prepared.long.clear();
        with_values(&prepared.text, &values, mode)
    }

    fn long_data(&mut self, body: &[u8]) {
        let mut fields = Fields(body);
        let (Some(statement), Some(parameter)) = (fields.number(4), fields.number(2)) else {
            return;
        };
        if let Some(prepared) = self.statements.get_mut(&(statement as u32)) {
            let data = prepared.long.entry(parameter as u16).or_default();
            if data.len() + fields.0.len() <= MAX_COMMAND {
                data.extend_from_slice(fields.0);
            }
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
