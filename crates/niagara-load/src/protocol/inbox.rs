//! What a server says during set-up, cut into packets.

use super::ProtocolError;

/// Nothing that is read whole during set-up is longer; a greater length is not the protocol.
const MAX_PACKET: usize = 1 << 20;

/// Bytes as they arrived, and the number that is due next.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    /// Where the next packet begins.
    start: usize,
    sequence: u8,
}

impl Inbox {
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

    /// The next packet's payload, once all of it is there.
    pub(crate) fn packet(&mut self) -> Result<Option<&[u8]>, ProtocolError> {
        let Some((&[a, b, c, sequence], rest)) = self.bytes[self.start..].split_first_chunk()
        else {
            return Ok(None);
        };
        let length = u32::from_le_bytes([a, b, c, 0]) as usize;
        // What a server says unasked (why it closes the connection) is numbered from 0.
        let is_error = rest.first().is_none_or(|&first| first == 0xff);
        if length > MAX_PACKET || (sequence != self.sequence && !is_error) {
            return Err(ProtocolError::new(format!(
                "packet number {sequence} of {length} bytes during set-up (number {} was due)",
                self.sequence
            )));
        }
        if rest.len() < length {
            return Ok(None);
        }
        if sequence != self.sequence && length == 0 {
            return Err(ProtocolError::new("an empty packet that was not due"));
        }
        let payload = self.start + 4;
        self.start = payload + length;
        self.sequence = sequence.wrapping_add(1);
        Ok(Some(&self.bytes[payload..payload + length]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
