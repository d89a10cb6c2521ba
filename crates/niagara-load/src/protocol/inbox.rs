//! What a server says where it is read whole, cut into payloads: one for each packet, or for several where it is longer than
//! one takes.

use super::ProtocolError;
use super::packet::MAX_PAYLOAD;

/// Logins and definitions of columns are no longer; a greater length is not the protocol.
pub(crate) const SHORT: usize = 1 << 20;
/// Nothing is longer than the greatest max_allowed_packet there is.
pub(crate) const LONG: usize = 1 << 30;
/// Bytes before the payload of a packet: its length and its number.
const HEADER: usize = 4;

/// Bytes as they arrived, and the number that is due next.
#[derive(Debug)]
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    /// Where the header of the next payload is.
    start: usize,
    /// Bytes of the payload at hand that came in packets of the greatest length, which others continue; what stood between them
    /// is taken out.
    joined: usize,
    sequence: u8,
    /// The longest payload that is taken.
    longest: usize,
}

impl Default for Inbox {
    fn default() -> Self {
        Inbox {
            bytes: Vec::new(),
            start: 0,
            joined: 0,
            sequence: 0,
            longest: SHORT,
        }
    }
}

impl Inbox {
    /// Takes payloads of up to `longest` bytes from here on; at first they may be [`SHORT`].
    pub(crate) fn allow(&mut self, longest: usize) {
        self.longest = longest;
    }

    /// All has been taken: the memory of a long payload is not kept for the short ones that follow it.
    pub(crate) fn let_go(&mut self) {
        if self.is_empty() && self.bytes.capacity() > SHORT {
            self.bytes = Vec::new();
            self.start = 0;
        }
    }

    /// The number of the next packet, of either end.
    pub(crate) fn sequence(&self) -> u8 {
        self.sequence
    }

    /// Numbers continue from here.
    pub(crate) fn set_sequence(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    /// Whether nothing is left that no one has asked for.
    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.bytes.len()
    }

    /// Takes what has arrived.
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.start);
        self.start = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next payload, once all of it is there.
    pub(crate) fn packet(&mut self) -> Result<Option<&[u8]>, ProtocolError> {
        loop {
            let header = match self.joined {
                0 => self.start,
                joined => self.start + HEADER + joined,
            };
            let Some((&[a, b, c, sequence], rest)) = self.bytes[header..].split_first_chunk()
            else {
                return Ok(None);
            };
            let length = u32::from_le_bytes([a, b, c, 0]) as usize;
            // What a server says unasked (why it closes the connection) is numbered from 0.
            let is_error = self.joined == 0 && rest.first().is_none_or(|&first| first == 0xff);
            if sequence != self.sequence && !is_error {
                return Err(ProtocolError::new(format!(
                    "packet number {sequence} of {length} bytes (number {} was due)",
                    self.sequence
                )));
            }
            let whole = self.joined + length;
            if whole > self.longest {
                return Err(ProtocolError::new(format!(
                    "a payload of {whole} bytes or more, where {} are the most",
                    self.longest
                )));
            }
            if rest.len() < length {
                return Ok(None);
            }
            if sequence != self.sequence && length == 0 {
                return Err(ProtocolError::new("an empty packet that was not due"));
            }
            self.sequence = sequence.wrapping_add(1);
            if self.joined > 0 {
                self.bytes.drain(header..header + HEADER);
            }
            // A packet of the greatest length is continued by the next one, be that empty.
            if length == MAX_PAYLOAD {
                self.joined = whole;
                continue;
            }
            self.joined = 0;
            let payload = self.start + HEADER;
            self.start = payload + whole;
            return Ok(Some(&self.bytes[payload..payload + whole]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::command::write_packets;

    #[test]
    fn packets_come_whole_however_the_bytes_do() {
        let bytes = [2, 0, 0, 0, 8, 9, 0, 0, 0, 1, 1, 0, 0, 2, 7];
        for piece in 1..=bytes.len() {
            let mut inbox = Inbox::default();
            let mut found: Vec<Vec<u8>> = Vec::new();
            for bytes in bytes.chunks(piece) {
                inbox.put(bytes);
                while let Some(packet) = inbox.packet().unwrap() {
                    found.push(packet.to_vec());
                }
            }
            assert_eq!(found, [vec![8, 9], vec![], vec![7]]);
            assert!(inbox.is_empty());
            assert_eq!(inbox.sequence(), 3);
        }
    }

    #[test]
    fn out_of_range_lengths_and_numbers_are_errors() {
        for bytes in [[0xff, 0xff, 0xff, 0, 1], [1, 0, 0, 1, 1], [0, 0, 0, 1, 1]] {
            let mut inbox = Inbox::default();
            inbox.put(&bytes);
            assert!(inbox.packet().is_err(), "{bytes:?}");
        }
        // an error says why it comes out of turn
        let mut inbox = Inbox::default();
        inbox.put(&[1, 0, 0, 5, 0xff]);
        assert_eq!(inbox.packet().unwrap(), Some(&[0xff][..]));
    }

    #[test]
    fn long_payloads_come_whole_where_they_are_allowed() {
        for length in [SHORT + 1, MAX_PAYLOAD - 1, MAX_PAYLOAD, MAX_PAYLOAD + 9] {
            let mut bytes = Vec::new();
            let mut long = vec![7; length];
            long[length - 1] = 8;
            let next = write_packets(&mut bytes, 0, &long);
            write_packets(&mut bytes, next, &[9]);
            let mut inbox = Inbox::default();
            inbox.allow(LONG);
            let mut found: Vec<Vec<u8>> = Vec::new();
            for bytes in bytes.chunks(100_003) {
                inbox.put(bytes);
                while let Some(payload) = inbox.packet().unwrap() {
                    found.push(payload.to_vec());
                }
            }
            assert!(found == [long, vec![9]], "{length}");
            assert!(inbox.is_empty());
            assert_eq!(inbox.sequence(), next + 1);
            inbox.let_go();
            assert!(inbox.is_empty() && inbox.bytes.capacity() <= SHORT);
            inbox.put(&[1, 0, 0, next + 1, 5]);
            assert_eq!(inbox.packet().unwrap(), Some(&[5][..]));
        }
    }

    #[test]
    fn what_is_too_long_is_named_with_its_size() {
        let mut inbox = Inbox::default();
        inbox.put(&[1, 0, 16, 0, 1]);
        let error = inbox.packet().unwrap_err().to_string();
        assert!(error.contains("1048577 bytes"), "{error}");
        // Of several packets all count together.
        let mut bytes = Vec::new();
        write_packets(&mut bytes, 0, &vec![7; MAX_PAYLOAD + 9]);
        let mut inbox = Inbox::default();
        inbox.allow(MAX_PAYLOAD + 8);
        inbox.put(&bytes);
        assert!(inbox.packet().is_err());
    }
}
