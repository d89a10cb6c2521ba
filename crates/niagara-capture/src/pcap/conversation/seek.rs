//! What tells, in the middle of a connection, where a command begins; and what can never be read.
//!
//! A segment that begins with a command has a length that fits it, the number 0 and a known code. TLS and the compressed
//! protocol have heads of their own.

use crate::pcap::stream::is_behind;

/// Segments of one direction that say what it is, where the other direction was not recorded.
const ENOUGH: u8 = 4;
/// A command that goes on in the next segment fills its own: to this length at least, in bytes.
const LONG: usize = 512;
/// Longest record of TLS (RFC 8446 and RFC 5246, with room for what it is sealed with), in bytes.
const MAX_RECORD: usize = (1 << 14) + 2048;
/// The greatest length of one packet.
const MAX_PACKET: usize = 0xff_ffff;

/// What was seen of a connection while commands are looked for.
#[derive(Debug, Default)]
pub(super) struct Seeking {
    /// The connection was there before the recording.
    pub is_joined: bool,
    /// What comes before this number was sent before: it is sent once more.
    behind: Option<u32>,
    /// The last that the server said: the number behind it, and what the server had received then.
    said: Option<(u32, Option<u32>)>,
    /// Its client has sent something that is no goodbye.
    pub has_asked: bool,
    /// Segments by direction (0: to the server) that are TLS, or compressed.
    sealed: [u8; 2],
    packed: [u8; 2],
}

/// What a connection is that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closed {
    Encrypted,
    Compressed,
}

impl Seeking {
    /// Of a connection that was there before the recording.
    pub(super) fn joined() -> Seeking {
        Seeking {
            is_joined: true,
            ..Seeking::default()
        }
    }

    /// Of one in which something is missing from this number on.
    pub(super) fn behind(number: Option<u32>) -> Seeking {
        Seeking {
            behind: number,
            ..Seeking::default()
        }
    }

    /// Whether a segment of the client's with this number was sent before.
    pub(super) fn is_old(&self, number: u32) -> bool {
        self.behind.is_some_and(|behind| is_behind(number, behind))
    }

    /// How many bytes of the client's were passed over up to this number; none: all before the recording.
    pub(super) fn passed_over(&self, number: u32) -> Option<u32> {
        self.behind.map(|behind| number.wrapping_sub(behind))
    }

    /// The server said something that ends before the number `end`; it had received so much.
    pub(super) fn says(&mut self, end: u32, had: Option<u32>) {
        self.said = Some((end, had));
    }

    /// What the server had received when it said what ends before this number; none: that was not recorded.
    pub(super) fn had_before(&self, number: u32) -> Option<u32> {
        let (_, had) = self.said.filter(|(end, _)| *end == number)?;
        had
    }

    /// A segment in which no command begins; what it says of the connection.
    pub(super) fn note(&mut self, direction: usize, bytes: &[u8]) -> Option<Closed> {
        self.has_asked |= direction == 0 && bytes.len() > 4 && !is_goodbye(bytes);
        let seen = if is_sealed(bytes) {
            &mut self.sealed
        } else if is_packed(bytes) {
            &mut self.packed
        } else {
            return None;
        };
        seen[direction] = seen[direction].saturating_add(1);
        let is_sure = |seen: [u8; 2]| {
            seen.iter().all(|&count| count > 0) || seen.iter().any(|&count| count >= ENOUGH)
        };
        match () {
            () if is_sure(self.sealed) => Some(Closed::Encrypted),
            () if is_sure(self.packed) => Some(Closed::Compressed),
            () => None,
        }
    }
}

fn length_of(bytes: [u8; 3]) -> usize {
    usize::from(bytes[0]) | (usize::from(bytes[1]) << 8) | (usize::from(bytes[2]) << 16)
}

/// Whether a client's segment says goodbye, and nothing else.
pub(super) fn is_goodbye(segment: &[u8]) -> bool {
    segment == [1, 0, 0, 0, 1]
}

/// Whether a client's segment begins with a command: with one or several, the last of which may go on.
pub(super) fn begins_command(segment: &[u8]) -> bool {
    let mut rest = segment;
    loop {
        let [a, b, c, 0, body @ ..] = rest else {
            return false;
        };
        let length = length_of([*a, *b, *c]);
        let here = &body[..body.len().min(length)];
        if !is_command(here, length) {
            return false;
        }
        if length > body.len() {
            // Text and values may be long, and a segment is not cut short.
            return segment.len() >= LONG && matches!(here[0], 3 | 0x16..=0x18 | 0xfa);
        }
        rest = &body[length..];
        if rest.is_empty() {
            return true;
        }
    }
}

/// Whether this is a command of `length` bytes, or the beginning of one.
fn is_command(body: &[u8], length: usize) -> bool {
    let Some((&code, rest)) = body.split_first() else {
        return false;
    };
    match code {
        // A statement; or the number of its attributes, and of sets of them, which is 1.
        3 | 0x16 => match rest {
            [_, 1, ..] => true,
            [first, ..] => *first >= b' ' || matches!(first, b'\t' | b'\n' | b'\r'),
            [] => false,
        },
        // Ping, statistics, debug, process list, reset.
        0x09 | 0x0a | 0x0d | 0x0e | 0x1f => length == 1,
        // A statement's number; with a count of rows; an option.
        0x0c | 0x19 | 0x1a => length == 5,
        0x1c => length == 9,
        0x1b => length == 3,
        // An execution, values ahead of one, many executions.
        0x17 => length >= 10,
        0x18 | 0xfa => length >= 7,
        // Databases, columns, refresh, shutdown, another user, replication.
        0x02 | 0x04..=0x08 | 0x11..=0x13 | 0x15 | 0x1e => length < 1 << 16,
        _ => false,
    }
}

/// Whether a server's segment is the greeting to a new connection.
pub(super) fn is_greeting(segment: &[u8]) -> bool {
    let [a, b, c, 0, 10, rest @ ..] = segment else {
        return false;
    };
    let version = memchr::memchr(0, rest);
    length_of([*a, *b, *c]) == rest.len() + 1
        && version.is_some_and(|length| length > 0 && rest[..length].is_ascii())
}

/// Whether a segment consists of records of TLS, the last of which may go on.
fn is_sealed(segment: &[u8]) -> bool {
    let mut rest = segment;
    while let [kind, 3, minor, high, low, body @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let is_record = matches!(kind, 0x14..=0x17)
            && (1..=4).contains(minor)
            && (1..=MAX_RECORD).contains(&length);
        if !is_record {
            return false;
        }
        if length >= body.len() {
            return true;
        }
        rest = &body[length..];
    }
    false
}

/// Whether a segment consists of packets of the compressed protocol: three bytes of length, a number, three bytes of the
/// length of what is packed, or 0 where it is not.
fn is_packed(segment: &[u8]) -> bool {
    let mut rest = segment;
    while let [a, b, c, _, x, y, z, body @ ..] = rest {
        let (length, unpacked) = (length_of([*a, *b, *c]), length_of([*x, *y, *z]));
        let Some(here) = body.get(..length) else {
            return false;
        };
        let fits = match (unpacked, here) {
            (0, [l, m, n, _, ..]) => {
                let inner = length_of([*l, *m, *n]);
                inner + 4 <= length || inner == MAX_PACKET || segment.len() > LONG
            }
            // What zlib and Zstandard begin with.
            (1.., [0x78, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..]) => true,
            _ => false,
        };
        if !fits {
            return false;
        }
        rest = &body[length..];
        if rest.is_empty() {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(body: &[u8]) -> Vec<u8> {
        let length = (body.len() as u32).to_le_bytes();
        [&length[..3], &[0], body].concat()
    }

    fn packed(number: u8, unpacked: u32, body: &[u8]) -> Vec<u8> {
        let length = (body.len() as u32).to_le_bytes();
        [&length[..3], &[number], &unpacked.to_le_bytes()[..3], body].concat()
    }

    #[test]
    fn commands_are_known_by_what_fits() {
        let query = command(b"\x03SELECT 1");
        let ping = command(b"\x0e");
        assert!(begins_command(&query));
        assert!(begins_command(&ping));
        assert!(begins_command(&[&query[..], &ping].concat()));
        assert!(begins_command(&command(b"\x03\0\x01SELECT 1")));
        let long = command(&[&b"\x03INSERT"[..], &[b'x'; 3000]].concat());
        assert!(begins_command(&long[..1448]));
        for no in [
            &long[..300],
            &query[..query.len() - 1],
            &query[1..],
            &[&query[..], b"\0"].concat(),
            &command(b"\x03\x01"),
            &command(b"\x01"),
            &command(b"\x17\x07\0\0\0"),
            &command(b""),
            b"",
            b"SELECT 1",
        ] {
            assert!(!begins_command(no), "{no:?}");
        }
    }

    #[test]
    fn encrypted_and_compressed_connections_are_known_by_both_directions() {
        // Of a length that would be a prepare, and of one that would be none.
        let records: [&[u8]; 2] = [
            &[&[0x17, 3, 3, 0, 0x16][..], &[0x16; 0x16]].concat(),
            &[&[0x17, 3, 3, 1, 0][..], &[9; 256], &[0x15, 3, 3, 0, 1, 1]].concat(),
        ];
        for record in records {
            assert!(!begins_command(record), "{record:?}");
            let mut seeking = Seeking::joined();
            assert_eq!(seeking.note(0, record), None);
            assert_eq!(seeking.note(1, b"in the middle of one"), None);
            assert_eq!(seeking.note(1, &record[..20]), Some(Closed::Encrypted));
        }
        let plain = packed(0, 0, &command(b"\x03SELECT 1"));
        let answer = packed(1, 300, b"\x78\x9cxxxx");
        assert!(!begins_command(&plain));
        let mut seeking = Seeking::joined();
        assert_eq!(seeking.note(0, &plain), None);
        assert_eq!(seeking.note(1, &answer), Some(Closed::Compressed));
        let mut seeking = Seeking::joined();
        for _ in 1..ENOUGH {
            assert_eq!(seeking.note(1, &answer), None);
        }
        assert_eq!(seeking.note(1, &answer), Some(Closed::Compressed));
    }

    #[test]
    fn what_is_in_clear_is_neither() {
        let rows = b"\x01\0\0\x01\x01\x05\0\0\x02\xfe\0\0\x02\0\x02\0\0\x03\x011";
        let query = command(b"\x03SELECT 1");
        for bytes in [&rows[..], &query, &query[..7], b"", b"\x17\x03\x03"] {
            assert!(!is_sealed(bytes) && !is_packed(bytes), "{bytes:?}");
        }
    }

    #[test]
    fn greetings() {
        let mut greeting = b"\x4a\0\0\0\x0a8.0.36\0".to_vec();
        greeting.resize(0x4a + 4, 7);
        assert!(is_greeting(&greeting));
        assert!(!is_greeting(&greeting[..60]));
        assert!(!is_greeting(b"\x01\0\0\0\x0a"));
    }
}
