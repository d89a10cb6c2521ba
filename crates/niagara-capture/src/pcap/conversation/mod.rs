//! One connection of a client to a server: its login, its commands, what was answered.
//!
//! Commands are read as they were sent, and wait for their turn: what the server says belongs to the first one that is not
//! answered. What tells that something is missing is TCP itself: a client that sends a command has received the answer to
//! the one before, and says how much that is ([`gaps`]).

mod bulk;
mod command;
mod ends;
mod gaps;
mod hole;
mod login;
mod prepared;
mod seek;
mod waiting;

use gaps::Gaps;
use hole::Hole;
use login::{COMPRESS, ZSTD};
use prepared::Statements;
use seek::{Closed, Seeking};
use waiting::{Sent, Waiting};

use super::answer::{Answer, Manner, Status, Took};
use super::framing::{Framing, Packet};
use super::packet::Segment;
use super::stream::Stream;
use crate::client::ClientSettings;
use crate::dropped::Cause;
use crate::log::Command;
use crate::sql::SqlMode;

/// Longest command that is read.
pub(super) const MAX_COMMAND: usize = 64 << 20;
/// Bytes that are kept of a server's packet of more than 16 MB.
const KEPT_OF_ROW: usize = 64;
/// What a client may say before the server's greeting (a proxy's header), in bytes.
const MAX_PRELUDE: usize = 64 << 10;
/// An EOF with its head, in bytes.
const LATE_EOF: usize = 9;
/// Bytes of a server's that may wait for the command that they answer, beyond the recording's own disorder.
const MAX_UNASKED: usize = 1 << 20;

/// What was heard of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Heard {
    pub command: Command,
    /// The statement with its values, the database, or the login as a general log writes it.
    pub text: Vec<u8>,
    pub user: Vec<u8>,
    /// What the client has said at this login.
    pub client: Option<ClientSettings>,
    /// The settings by which the text is read.
    pub mode: SqlMode,
    pub start_us: i64,
    pub duration_us: Option<u64>,
    pub rows_sent: Option<u64>,
    pub rows_affected: Option<u64>,
    pub error: Option<u32>,
    /// What the server says of the session afterwards.
    pub status: Option<Status>,
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
    /// It cannot be read, for this reason, which was told; or it is over.
    Unreadable,
}

/// What becomes of a command once it is answered.
#[derive(Debug)]
enum Then {
    /// It is told.
    Tell,
    /// It is counted.
    Count(Cause),
    /// Nothing: it was told, or counted, before.
    Pass,
    /// The statement can be executed.
    Prepare,
    /// It is told; it may have opened a cursor on this statement.
    Execute(u32),
    /// Rows of a cursor on this statement.
    Fetch(u32),
    /// It is many executions, of which the text has the values.
    Bulk,
    /// The session is as a fresh one.
    Reset,
    /// It is another user's.
    ChangeUser { user: Vec<u8>, fresh: SqlMode },
}

/// A command whose answer has not come, or not all of it.
#[derive(Debug)]
struct Pending {
    heard: Heard,
    answer: Answer,
    /// When the last packet of the answer came.
    last_us: i64,
    then: Then,
}

/// An execution whose rows are fetched.
#[derive(Debug)]
struct Cursor {
    statement: u32,
    heard: Heard,
}

/// A connection.
#[derive(Debug)]
pub(super) struct Conversation {
    to_server: Stream,
    to_client: Stream,
    /// By direction (0: to the server).
    framing: [Framing; 2],
    state: State,
    /// Where commands begin is not known.
    seeking: Option<Seeking>,
    gaps: Gaps,
    /// What the client can, and what the server offered.
    capabilities: Option<u64>,
    offered: Option<u64>,
    manner: Manner,
    host: String,
    user: Vec<u8>,
    pending: Option<Pending>,
    waiting: Waiting,
    /// The number of the last packet of the last answer.
    last_number: Option<u8>,
    /// The client's last packet has the greatest number: one that has the least continues a file.
    is_in_file: bool,
    statements: Statements,
    cursor: Option<Cursor>,
    /// When the last answer was complete.
    free_us: i64,
    /// The settings by which strings are read and written, and those of a fresh session.
    mode: SqlMode,
    fresh: SqlMode,
    /// The server has said that a backslash is an ordinary character.
    told_backslash: bool,
    /// The number before the client's first byte.
    first_number: Option<u32>,
    /// Something that was not kept.
    pub dropped: Vec<(Cause, usize)>,
    pub heard: Vec<Heard>,
    /// The server's, once it has greeted.
    pub version: Option<String>,
    /// What is in the greeting, which no other connection has.
    pub greeting: Option<u64>,
    /// Nothing said that it is a client of a server's.
    pub is_foreign: bool,
}

impl Conversation {
    /// Of a client on `host`. `is_new`: its beginning was seen.
    pub(super) fn new(host: String, is_new: bool, mode: SqlMode) -> Conversation {
        let mut conversation = Conversation {
            to_server: Stream::default(),
            to_client: Stream::default(),
            framing: [Framing::new(MAX_COMMAND), Framing::new(KEPT_OF_ROW)],
            state: State::Greeting,
            seeking: None,
            gaps: Gaps::default(),
            capabilities: None,
            offered: None,
            manner: Manner::default(),
            host,
            user: Vec::new(),
            pending: None,
            waiting: Waiting::default(),
            last_number: None,
            is_in_file: false,
            statements: Statements::default(),
            cursor: None,
            free_us: i64::MIN,
            mode,
            fresh: mode,
            told_backslash: false,
            first_number: None,
            dropped: Vec::new(),
            heard: Vec::new(),
            version: None,
            greeting: None,
            is_foreign: false,
        };
        if !is_new {
            conversation.seek(Seeking::joined());
        }
        conversation
    }

    /// Whether a request to connect with this number is the one that it began with, once more.
    pub(super) fn began_with(&self, number: u32) -> bool {
        self.first_number == Some(number)
    }

    /// Whether nothing more can be heard of it.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, State::Unreadable)
    }

    /// Bytes of memory that it takes beside its own.
    pub(super) fn held(&self) -> usize {
        let pending = self.pending.as_ref();
        let cursor = self.cursor.as_ref();
        self.to_server.held()
            + self.to_client.held()
            + self.framing.iter().map(Framing::held).sum::<usize>()
            + self.waiting.held()
            + self.statements.held()
            + pending.map_or(0, |pending| pending.heard.text.capacity())
            + cursor.map_or(0, |cursor| cursor.heard.text.capacity())
    }

    /// The settings of the session from now on.
    pub(super) fn set_mode(&mut self, mode: SqlMode) {
        self.mode = mode;
    }

    /// The session has the settings of a fresh one.
    pub(super) fn forget_mode(&mut self) {
        self.mode = self.fresh;
    }

    /// Takes a segment, at this time.
    pub(super) fn hear(&mut self, segment: &Segment<'_>, from_client: bool, now_us: i64) {
        if self.is_over() {
            return;
        }
        self.gaps.segments += 1;
        let (own, other) = match from_client {
            true => (&mut self.to_server, &mut self.to_client),
            false => (&mut self.to_client, &mut self.to_server),
        };
        if let Some(number) = segment.acknowledged {
            other.acknowledge(number);
        }
        if segment.syn {
            let first = segment.sequence.wrapping_add(1);
            if !own.has_begun() {
                own.begin(first);
            }
            if from_client {
                self.first_number.get_or_insert(segment.sequence);
            } else if let (false, Some(number)) = (other.has_begun(), segment.acknowledged) {
                other.begin(number);
            }
            return;
        }
        if from_client {
            self.client_sends(
                segment.sequence,
                segment.acknowledged,
                segment.payload,
                now_us,
            );
        } else {
            self.server_sends(segment, now_us);
        }
        self.read(now_us);
        self.settle(now_us, false);
    }

    fn client_sends(&mut self, sequence: u32, acknowledged: Option<u32>, bytes: &[u8], at_us: i64) {
        if bytes.is_empty() {
            return;
        }
        if let Some(seeking) = &mut self.seeking {
            // Who leaves a connection that was never read says nothing of it.
            let is_goodbye = !seeking.is_joined && seek::is_goodbye(bytes);
            if seeking.is_old(sequence) || !(is_goodbye || seek::begins_command(bytes)) {
                let closed = seeking.note(0, bytes);
                self.close(closed);
                return;
            }
            if let (false, Some(number)) = (self.to_client.has_begun(), acknowledged) {
                let had = seeking.had_before(number);
                self.to_client.begin_behind(number, had);
            }
            let length = seeking.passed_over(sequence);
            self.seeking = None;
            self.to_server.begin(sequence);
            let end = sequence;
            self.gaps.goes_on_behind(Hole { end, length });
        }
        self.to_server.take(sequence, acknowledged, bytes, at_us);
    }

    fn server_sends(&mut self, segment: &Segment<'_>, at_us: i64) {
        let bytes = segment.payload;
        if let Some(seeking) = &mut self.seeking
            && seeking.is_joined
            && !self.to_client.has_begun()
            && !bytes.is_empty()
        {
            if !seek::is_greeting(bytes) {
                let end = segment.sequence.wrapping_add(bytes.len() as u32);
                seeking.says(end, segment.acknowledged);
                let closed = seeking.note(1, bytes);
                self.close(closed);
                return;
            }
            // Only the request to connect was not recorded.
            self.seeking = None;
            self.gaps = Gaps::default();
            self.state = State::Greeting;
            self.to_client.begin(segment.sequence);
            if let Some(number) = segment.acknowledged {
                self.to_server.begin(number);
            }
        }
        let acknowledged = segment.acknowledged;
        self.to_client
            .take(segment.sequence, acknowledged, bytes, at_us);
    }

    fn close(&mut self, closed: Option<Closed>) {
        match closed {
            Some(Closed::Encrypted) => self.give_up(Cause::Encrypted),
            Some(Closed::Compressed) => self.give_up(Cause::Compressed),
            None => {}
        }
    }

    /// Commands are looked for from here on.
    fn seek(&mut self, seeking: Seeking) {
        self.to_server.forget();
        self.framing[0].forget();
        if seeking.is_joined {
            self.to_client.forget();
            self.framing[1].forget();
        }
        if let State::Verdict { login } = std::mem::replace(&mut self.state, State::Commands) {
            self.heard.push(login.heard);
        }
        self.is_in_file = false;
        self.gaps.lose();
        self.seeking = Some(seeking);
    }

    /// Reads what has come.
    fn read(&mut self, now_us: i64) {
        while self.step(now_us) {}
        // Nobody has asked for it, as far as was recorded.
        let unasked = self.pending.is_none() && self.waiting.is_empty();
        if unasked && self.to_client.bytes().len() > MAX_UNASKED {
            self.gaps.lose();
            self.to_client.forget();
            self.framing[1].forget();
        }
    }

    /// Reads the next packet; false: there is none.
    fn step(&mut self, now_us: i64) -> bool {
        match &self.state {
            State::Unreadable => false,
            State::Greeting if !self.may_be_a_greeting() => {
                self.leave();
                false
            }
            State::Greeting => {
                let Some(packet) = self.framing[1].next(&mut self.to_client) else {
                    return false;
                };
                self.greeting(packet, now_us);
                true
            }
            State::Login { start_us } => {
                let start_us = *start_us;
                if !self.pass_over_prelude() {
                    return false;
                }
                let Some(packet) = self.framing[0].next(&mut self.to_server) else {
                    return false;
                };
                let bytes = self.take_packet(0, packet);
                self.login(&bytes, start_us);
                true
            }
            State::Verdict { .. } => self.verdict(now_us) || self.client_packet(now_us),
            // What was asked says what an answer can be the answer to.
            State::Commands => self.client_packet(now_us) || self.answer(now_us) || self.turn(),
        }
    }

    /// What is in a packet; it is done with.
    fn take_packet(&mut self, direction: usize, packet: Packet) -> Vec<u8> {
        let stream = match direction {
            0 => &mut self.to_server,
            _ => &mut self.to_client,
        };
        let framing = &mut self.framing[direction];
        let bytes = framing.bytes(packet, stream).to_vec();
        framing.over(packet, stream);
        bytes
    }

    /// Reads a packet of the client's, which waits for its turn.
    fn client_packet(&mut self, now_us: i64) -> bool {
        let acknowledged = self.to_server.acknowledged();
        let Some(packet) = self.framing[0].next(&mut self.to_server) else {
            return false;
        };
        let (first, number) = packet.numbers;
        // Only a command begins to count anew: what belongs to a login does not, nor does a file, whose numbers come to 0, too.
        let is_command = first == 0 && packet.length > 0 && !self.is_in_file;
        self.is_in_file = number == u8::MAX && packet.length > 0;
        if !is_command {
            self.framing[0].over(packet, &mut self.to_server);
            return true;
        }
        let body = self.take_packet(0, packet);
        let mut sent = Sent {
            length: packet.length,
            body,
            number,
            acknowledged,
            at_us: now_us,
            segment: self.gaps.segments,
            end: self.to_server.number(),
            hole_before: None,
        };
        self.gaps.asks(&mut sent);
        self.waiting.push(sent);
        true
    }

    /// Reads a packet of the answer that is awaited.
    fn answer(&mut self, now_us: i64) -> bool {
        if self.gaps.is_blind() {
            return self.leave_answers();
        }
        if self.pass_over_late_eof() {
            return true;
        }
        let Some(pending) = &mut self.pending else {
            return false;
        };
        let Some(packet) = self.framing[1].next(&mut self.to_client) else {
            return false;
        };
        if self.gaps.is_too_early(self.to_client.acknowledged()) {
            return true;
        }
        let bytes = self.framing[1].bytes(packet, &self.to_client);
        let took = pending.answer.packet(packet.numbers, bytes, packet.length);
        if took == Took::Wrong {
            self.misread(packet);
            return true;
        }
        pending.last_us = now_us;
        self.last_number = Some(packet.numbers.1);
        self.framing[1].over(packet, &mut self.to_client);
        if took == Took::Last && !self.is_interrupted() {
            self.finish(true);
        }
        true
    }

    /// Passes over an EOF that belongs to the answer before: the end of a prepare, of which nobody knew whether it would come.
    fn pass_over_late_eof(&mut self) -> bool {
        let [5, 0, 0, number, 0xfe, _, _, _, _, ..] = *self.to_client.bytes() else {
            return false;
        };
        let is_late = self
            .last_number
            .is_some_and(|last| last.wrapping_add(1) == number)
            && match &self.pending {
                Some(pending) => pending.answer.begins_with_another(number),
                None => true,
            };
        if is_late {
            self.to_client.consume(LATE_EOF);
            self.last_number = None;
            self.manner.ends_definitions = Some(true);
            if let Some(pending) = &mut self.pending {
                pending.answer.manner = self.manner;
            }
        }
        is_late
    }

    /// The next command that waits has its turn; false: there is none, or the one before has.
    fn turn(&mut self) -> bool {
        if self.pending.is_some() {
            return false;
        }
        let Some(sent) = self.waiting.pop() else {
            return false;
        };
        let is_found = self.find_answer(&sent);
        self.command(sent);
        if !is_found {
            self.leave_answer();
        }
        true
    }

    fn heard_of(&self, command: Command, text: Vec<u8>, start_us: i64, length: usize) -> Heard {
        Heard {
            command,
            text,
            user: self.user.clone(),
            client: None,
            mode: self.mode,
            start_us,
            duration_us: None,
            rows_sent: None,
            rows_affected: None,
            error: None,
            status: None,
            length,
        }
    }

    /// Whether both have agreed upon this.
    fn agreed(&self, bit: u64) -> Option<bool> {
        let client = self.capabilities?;
        Some(client & self.offered.unwrap_or(u64::MAX) & bit != 0)
    }

    fn is_compressed(&self) -> bool {
        self.agreed(COMPRESS | ZSTD).unwrap_or(false)
    }
}
