//! A file of recorded packets, read packet by packet.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{self, Read};
use std::net::SocketAddr;

use pcap_parser::traits::PcapReaderIterator;
use pcap_parser::{Block, Linktype, PcapBlockOwned, PcapError, create_reader};

use super::conversation::{Conversation, Heard};
use super::packet::{Segment, is_known, segment};
use crate::dropped::{Cause, Dropped, Place};
use crate::file::Measured;
use crate::log::{Entry, Stamp, Standing};
use crate::sql::SqlMode;
use crate::way::Way;

/// Bytes of the file that are held: more than the longest packet.
const BUFFER: usize = 1 << 19;
/// The port of servers whose greetings were not seen.
const PORT: u16 = 3306;
/// Connections that are followed at a time; with more, the half that was heard of longest ago is forgotten.
const MAX_CONNECTIONS: usize = 1 << 16;
/// Bytes that all of them may hold; a connection that would hold more is given up.
const MAX_HELD: usize = 1 << 30;
/// Greetings that are remembered, and for how long, in microseconds: a connection that passes several interfaces, or a
/// proxy, is recorded at all of them within this time.
const MAX_GREETINGS: usize = 1 << 16;
const SAME_GREETING_US: i64 = 10_000_000;

/// No packet is of a later time than this, the year 2255, in microseconds since 1970: sums of times stay numbers.
const LATEST_US: i64 = 9_000_000_000_000_000;

/// Packets of several queues and interfaces are out of order by no more than this, in microseconds.
const DISORDER_US: i64 = 2_000_000;

/// Whether a file begins as recorded traffic does.
pub(crate) fn is_pcap(first: &[u8]) -> bool {
    let magic = first.first_chunk::<4>();
    magic.is_some_and(|magic| {
        matches!(
            u32::from_le_bytes(*magic),
            0xa1b2_c3d4 | 0xd4c3_b2a1 | 0xa1b2_3c4d | 0x4d3c_b2a1 | 0x0a0d_0d0a
        )
    })
}

/// Reads as much as is asked for, as far as there is so much: the beginning of a file has to come at once.
struct Filling<R>(R);

impl<R: Read> Read for Filling<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut got = 0;
        while got < buffer.len() {
            match self.0.read(&mut buffer[got..]) {
                Ok(0) => break,
                Ok(count) => got += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // What came before it is there.
                Err(_) if got > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(got)
    }
}

/// The two ends of a connection: client, server.
type Ends = (SocketAddr, SocketAddr);

/// How an interface records.
#[derive(Debug, Clone, Copy)]
struct Interface {
    link: Linktype,
    /// Units of a second.
    resolution: u64,
    /// Seconds to be added.
    offset: i64,
}

impl Interface {
    fn micros(&self, units: u64) -> i64 {
        let units = i128::from(units) * 1_000_000 / i128::from(self.resolution.max(1));
        let micros = units + i128::from(self.offset) * 1_000_000;
        micros.clamp(0, LATEST_US.into()) as i64
    }
}

/// A connection that is followed.
struct Followed {
    thread: u64,
    conversation: Conversation,
    /// The packet that it was heard of last.
    line: u64,
    /// Bytes that it holds.
    held: usize,
}

/// What a client asked for and was answered.
#[derive(Debug)]
pub struct Told {
    thread: u64,
    line: u64,
    heard: Heard,
}

impl Told {
    /// The settings in which its text is read.
    pub(crate) fn mode(&self) -> SqlMode {
        self.heard.mode
    }

    /// As a log would have it.
    pub(crate) fn entry(&self) -> Entry<'_> {
        let heard = &self.heard;
        Entry {
            command: heard.command,
            thread: Some(self.thread),
            user: &heard.user,
            way: Some(Way::Network),
            database: None,
            stamp: Stamp::Exact(heard.start_us),
            measured: Measured {
                duration_us: heard.duration_us,
                rows_sent: heard.rows_sent,
                rows_affected: heard.rows_affected,
                error: heard.error,
                ..Measured::default()
            },
            standing: heard.status.map(|status| Standing {
                in_transaction: status.in_transaction(),
                autocommit: status.autocommit(),
            }),
            sampled: 1,
            whole_sessions: false,
            client: heard.client,
            routine: None,
            text: &heard.text,
            length: heard.length,
            line: self.line,
        }
    }
}

/// Reads recorded traffic and tells what clients asked for, each when its answer was complete.
pub struct PcapReader {
    packets: Box<dyn PcapReaderIterator + Send>,
    /// Whether the file is made of blocks with a length each (pcapng).
    has_blocks: bool,
    interfaces: Vec<Interface>,
    followed: HashMap<Ends, Followed>,
    /// By the number of the connection.
    ends: HashMap<u64, Ends>,
    /// Servers whose greetings were seen.
    servers: HashSet<SocketAddr>,
    /// Greetings by what is in them: when each was heard.
    greetings: HashMap<u64, i64>,
    /// Bytes that all connections hold.
    held: usize,
    version: Option<String>,
    mode: SqlMode,
    file: String,
    /// The packet at hand, from 1.
    line: u64,
    last_us: i64,
    /// By how much the clock was set back so far.
    set_back_us: i64,
    threads: u64,
    ready: VecDeque<Told>,
    is_over: bool,
}

/// Packets of a file.
fn packets_of(
    source: impl Read + Send + 'static,
) -> io::Result<Box<dyn PcapReaderIterator + Send>> {
    create_reader(BUFFER, Filling(source))
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
}

impl PcapReader {
    /// Reads `source`, in which strings are those of this mode; `file` names it in what is dropped.
    ///
    /// # Errors
    /// It is none of the formats, or cannot be read.
    pub fn new(
        source: impl Read + Send + 'static,
        file: String,
        mode: SqlMode,
    ) -> io::Result<PcapReader> {
        Ok(PcapReader {
            packets: packets_of(source)?,
            has_blocks: false,
            interfaces: Vec::new(),
            followed: HashMap::new(),
            ends: HashMap::new(),
            servers: HashSet::new(),
            greetings: HashMap::new(),
            held: 0,
            version: None,
            mode,
            file,
            line: 0,
            last_us: 0,
            set_back_us: 0,
            threads: 0,
            ready: VecDeque::new(),
            is_over: false,
        })
    }

    /// Goes on with the next file of the recording.
    ///
    /// # Errors
    /// As of [`new`](PcapReader::new).
    pub fn go_on_with(
        &mut self,
        source: impl Read + Send + 'static,
        file: String,
    ) -> io::Result<()> {
        self.packets = packets_of(source)?;
        self.has_blocks = false;
        self.interfaces.clear();
        self.file = file;
        self.line = 0;
        self.is_over = false;
        Ok(())
    }

    /// Nothing more is recorded: what is left of the connections [comes next](PcapReader::next).
    pub fn finish(&mut self, dropped: &mut Dropped) {
        self.is_over = true;
        let mut all: Vec<Ends> = self.followed.keys().copied().collect();
        all.sort_unstable();
        for ends in all {
            if let Some(mut followed) = self.followed.remove(&ends) {
                followed.conversation.stop(self.last_us);
                self.tell(&mut followed, dropped);
            }
        }
        self.ends.clear();
        self.held = 0;
    }

    /// The version of the first server that greeted.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// The settings of a connection from now on.
    pub(crate) fn set_mode(&mut self, thread: u64, mode: SqlMode) {
        if let Some(conversation) = self.conversation(thread) {
            conversation.set_mode(mode);
        }
    }

    /// A connection has the settings of a fresh one.
    pub(crate) fn forget_mode(&mut self, thread: u64) {
        if let Some(conversation) = self.conversation(thread) {
            conversation.forget_mode();
        }
    }

    fn conversation(&mut self, thread: u64) -> Option<&mut Conversation> {
        let followed = self.followed.get_mut(self.ends.get(&thread)?)?;
        Some(&mut followed.conversation)
    }

    /// What comes next; what is not kept is counted in `dropped`. None at the end of the file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn next(&mut self, dropped: &mut Dropped) -> io::Result<Option<Told>> {
        loop {
            if let Some(told) = self.ready.pop_front() {
                return Ok(Some(told));
            }
            if self.is_over {
                return Ok(None);
            }
            self.packet(dropped)?;
        }
    }

    /// Reads the next block of the file.
    fn packet(&mut self, dropped: &mut Dropped) -> io::Result<()> {
        // pcap-parser takes the lengths around a block from its length unseen.
        if self.has_blocks && is_too_short(self.packets.data()) {
            return self.end(true, dropped);
        }
        let (length, found) = match self.packets.next() {
            Ok((length, block)) => {
                self.has_blocks |= matches!(block, PcapBlockOwned::NG(_));
                (length, record(block, &mut self.interfaces))
            }
            Err(PcapError::Eof) => return self.end(false, dropped),
            Err(PcapError::Incomplete(_)) => {
                // More than fits is asked for by a damaged file only.
                let held = self.packets.data().len();
                let refilled = self.packets.refill().is_ok();
                if !refilled || self.packets.data().len() == held {
                    // Where nothing is left, the file ended behind a packet.
                    return self.end(held > 0, dropped);
                }
                return Ok(());
            }
            Err(PcapError::ReadError) => {
                return Err(io::Error::other("the recorded traffic cannot be read"));
            }
            Err(_) => return self.end(true, dropped),
        };
        if let Some((interface, said_us, data)) = found {
            let (data, bytes) = (is_known(interface.link).then(|| data.to_vec()), data.len());
            self.line += 1;
            if self.line == 1 && self.is_before(said_us) {
                // Recorded at the same time as the file before, elsewhere: none of its connections goes on here.
                self.finish(dropped);
                self.is_over = false;
                (self.last_us, self.set_back_us) = (said_us, 0);
            }
            let at_us = self.time(said_us);
            match &data {
                Some(data) => {
                    if let Some(segment) = segment(interface.link, data) {
                        self.segment(&segment, at_us, dropped);
                    }
                }
                None => {
                    let line = self.line;
                    dropped.add(Cause::UnknownLink, 1, bytes, || place(&self.file, line));
                }
            }
        }
        self.packets.consume(length);
        Ok(())
    }

    /// Whether this time of a packet is before what was recorded so far.
    fn is_before(&self, said_us: i64) -> bool {
        said_us.saturating_add(self.set_back_us) < self.last_us.saturating_sub(DISORDER_US)
    }

    /// The time of a packet that says this one: a clock that is set back goes on, so that what took a moment does not end
    /// before it began. Packets out of order by less keep theirs.
    fn time(&mut self, said_us: i64) -> i64 {
        let mut at_us = said_us.saturating_add(self.set_back_us);
        if self.is_before(said_us) {
            self.set_back_us += self.last_us - at_us;
            at_us = self.last_us;
        }
        let at_us = at_us.min(LATEST_US);
        self.last_us = self.last_us.max(at_us);
        at_us
    }

    /// The file is over; `is_cut`: in the middle of a packet.
    fn end(&mut self, is_cut: bool, dropped: &mut Dropped) -> io::Result<()> {
        self.is_over = true;
        if is_cut {
            dropped.add(Cause::CutTail, 1, 0, || place(&self.file, self.line));
        }
        Ok(())
    }

    fn segment(&mut self, segment: &Segment<'_>, now_us: i64, dropped: &mut Dropped) {
        let Some((ends, from_client)) = self.ends_of(segment) else {
            return;
        };
        let begins = segment.syn && (from_client || !self.followed.contains_key(&ends));
        if begins {
            self.begin(ends, segment, true, dropped);
        } else if !self.followed.contains_key(&ends) {
            // Without a word it is not known, and not missed.
            if segment.payload.is_empty() {
                return;
            }
            self.begin(ends, segment, false, dropped);
        }
        let Some(mut followed) = self.followed.remove(&ends) else {
            return;
        };
        self.held -= followed.held;
        followed.line = self.line;
        let conversation = &mut followed.conversation;
        conversation.hear(segment, from_client, now_us);
        self.greet(&mut followed.conversation, ends.1, now_us);
        let conversation = &mut followed.conversation;
        if segment.ends && !conversation.is_over() {
            conversation.end(now_us);
        }
        followed.held = conversation.held();
        if self.held.saturating_add(followed.held) > MAX_HELD {
            conversation.give_up(Cause::LostPackets);
            followed.held = 0;
        }
        self.held += followed.held;
        let is_done = segment.ends || followed.conversation.is_foreign;
        self.tell(&mut followed, dropped);
        match is_done {
            true => {
                self.held -= followed.held;
                self.ends.remove(&followed.thread);
            }
            false => {
                self.followed.insert(ends, followed);
            }
        }
    }

    /// Whose segment it is: client and server, and whether the client sent it. None of what is not followed.
    fn ends_of(&self, segment: &Segment<'_>) -> Option<(Ends, bool)> {
        let (as_client, as_server) = ((segment.from, segment.to), (segment.to, segment.from));
        if self.followed.contains_key(&as_client) {
            return Some((as_client, true));
        }
        if self.followed.contains_key(&as_server) {
            return Some((as_server, false));
        }
        let is_server =
            |address: &SocketAddr| address.port() == PORT || self.servers.contains(address);
        match (segment.syn, segment.acknowledged) {
            (true, None) => Some((as_client, true)),
            // The answer to a request that was not recorded.
            (true, Some(_)) => Some((as_server, false)),
            (false, _) if is_server(&segment.to) => Some((as_client, true)),
            (false, _) if is_server(&segment.from) => Some((as_server, false)),
            (false, _) => None,
        }
    }

    /// Takes what a server's greeting says, once it is heard.
    fn greet(&mut self, conversation: &mut Conversation, server: SocketAddr, now_us: i64) {
        if let Some(version) = conversation.version.take() {
            self.version.get_or_insert(version);
            self.servers.insert(server);
        }
        // Its number and its secret are those of one connection.
        if let Some(greeting) = conversation.greeting.take() {
            if self.greetings.len() >= MAX_GREETINGS {
                self.greetings
                    .retain(|_, heard_us| now_us.abs_diff(*heard_us) < SAME_GREETING_US as u64);
            }
            if self.greetings.len() >= MAX_GREETINGS {
                self.greetings.clear();
            }
            let before = self.greetings.insert(greeting, now_us);
            let is_twice =
                before.is_some_and(|heard_us| now_us.abs_diff(heard_us) < SAME_GREETING_US as u64);
            if is_twice {
                conversation.give_up(Cause::Twice);
            }
        }
    }

    /// Follows a connection from here on; one of the same ends is over.
    fn begin(&mut self, ends: Ends, segment: &Segment<'_>, is_new: bool, dropped: &mut Dropped) {
        if let Some(mut before) = self.followed.remove(&ends) {
            if is_new && before.conversation.began_with(segment.sequence) {
                // The same request once more.
                self.followed.insert(ends, before);
                return;
            }
            self.held -= before.held;
            before.conversation.end(self.last_us);
            self.tell(&mut before, dropped);
            self.ends.remove(&before.thread);
        }
        if self.followed.len() >= MAX_CONNECTIONS {
            self.make_room(dropped);
        }
        self.threads += 1;
        let host = ends.0.ip().to_string();
        self.ends.insert(self.threads, ends);
        self.followed.insert(
            ends,
            Followed {
                thread: self.threads,
                conversation: Conversation::new(host, is_new, self.mode),
                line: self.line,
                held: 0,
            },
        );
    }

    /// Forgets the half of the connections that was heard of longest ago: nobody recorded their ends.
    fn make_room(&mut self, dropped: &mut Dropped) {
        let mut lines: Vec<u64> = self.followed.values().map(|one| one.line).collect();
        let middle = lines.len() / 2;
        let (_, &mut median, _) = lines.select_nth_unstable(middle);
        let mut old: Vec<(u64, Ends)> = self
            .followed
            .iter()
            .filter(|(_, one)| one.line <= median)
            .map(|(&ends, one)| (one.line, ends))
            .collect();
        old.sort_unstable();
        for (_, ends) in old {
            if let Some(mut followed) = self.followed.remove(&ends) {
                self.held -= followed.held;
                followed.conversation.stop(self.last_us);
                self.tell(&mut followed, dropped);
                self.ends.remove(&followed.thread);
            }
        }
    }

    /// Hands on what a connection has told.
    fn tell(&mut self, followed: &mut Followed, dropped: &mut Dropped) {
        let line = self.line;
        for (cause, bytes) in followed.conversation.dropped.drain(..) {
            dropped.add(cause, 1, bytes, || place(&self.file, line));
        }
        for heard in followed.conversation.heard.drain(..) {
            self.ready.push_back(Told {
                thread: followed.thread,
                line,
                heard,
            });
        }
    }
}

/// Units of a second by the option `if_tsresol`: 10, or with its highest bit 2, to the power of minus the rest of it.
fn resolution(option: u8) -> u64 {
    let power = u32::from(option & 0x7f);
    let units = match option & 0x80 {
        0 => 10_u64.checked_pow(power),
        _ => 2_u64.checked_pow(power),
    };
    units.unwrap_or(1_000_000)
}

fn place(file: &str, line: u64) -> Place {
    Place {
        file: file.to_owned(),
        line,
    }
}

/// Whether the block that begins here is shorter than its own type and lengths. A length that is so in the other order of
/// bytes is longer than any that is read.
fn is_too_short(data: &[u8]) -> bool {
    let Some(length) = data.get(4..8).and_then(|bytes| bytes.try_into().ok()) else {
        return false;
    };
    u32::from_le_bytes(length).min(u32::from_be_bytes(length)) < 12
}

/// When the first packet of a file was recorded, in microseconds since 1970; none where there is none.
pub(crate) fn first_us(source: impl Read + Send + 'static) -> Option<i64> {
    let mut packets = packets_of(source).ok()?;
    let mut interfaces = Vec::new();
    let mut has_blocks = false;
    loop {
        match packets.next() {
            Ok((length, block)) => {
                has_blocks |= matches!(block, PcapBlockOwned::NG(_));
                if let Some((_, at_us, _)) = record(block, &mut interfaces) {
                    return Some(at_us);
                }
                packets.consume(length);
            }
            Err(PcapError::Incomplete(_)) => {
                let held = packets.data().len();
                if packets.refill().is_err() || packets.data().len() == held {
                    return None;
                }
            }
            Err(_) => return None,
        }
        if has_blocks && is_too_short(packets.data()) {
            return None;
        }
    }
}

/// The packet of a block, how its interface records, and its time; none of blocks that are none.
fn record<'b>(
    block: PcapBlockOwned<'b>,
    interfaces: &mut Vec<Interface>,
) -> Option<(Interface, i64, &'b [u8])> {
    match block {
        PcapBlockOwned::LegacyHeader(header) => {
            interfaces.push(Interface {
                link: header.network,
                resolution: match header.is_nanosecond_precision() {
                    true => 1_000_000_000,
                    false => 1_000_000,
                },
                offset: 0,
            });
            None
        }
        PcapBlockOwned::Legacy(packet) => {
            let interface = *interfaces.first()?;
            let units = u64::from(packet.ts_sec) * interface.resolution + u64::from(packet.ts_usec);
            Some((interface, interface.micros(units), packet.data))
        }
        PcapBlockOwned::NG(Block::SectionHeader(_)) => {
            interfaces.clear();
            None
        }
        PcapBlockOwned::NG(Block::InterfaceDescription(interface)) => {
            interfaces.push(Interface {
                link: interface.linktype,
                resolution: resolution(interface.if_tsresol),
                offset: interface.ts_offset(),
            });
            None
        }
        PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
            let interface = *interfaces.get(packet.if_id as usize)?;
            let units = (u64::from(packet.ts_high) << 32) | u64::from(packet.ts_low);
            // Behind the packet are bytes that fill it up.
            let length = packet.data.len().min(packet.caplen as usize);
            Some((interface, interface.micros(units), &packet.data[..length]))
        }
        PcapBlockOwned::NG(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_a_second_are_powers_of_ten_or_of_two() {
        for (option, units) in [
            (6, 1_000_000),
            (9, 1_000_000_000),
            (0, 1),
            (0x80 | 20, 1 << 20),
            (0x80 | 63, 1 << 63),
            // More than can be counted: what is usual.
            (20, 1_000_000),
            (0xff, 1_000_000),
        ] {
            assert_eq!(resolution(option), units, "{option}");
        }
    }
}
