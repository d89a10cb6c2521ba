//! The bytes of one direction of a connection, put in order: segments come twice, late, overlapping, or not at all.

use std::collections::BTreeMap;

/// Bytes that may wait for one that is missing; beyond it is lost.
const MAX_AHEAD: usize = 8 << 20;
/// Bytes that may wait to be read: more than the longest packet of the protocol.
const MAX_READY: usize = 80 << 20;

/// One direction of a connection.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// The number that is due; none before the first segment.
    next: Option<u32>,
    /// In order, not read yet.
    ready: Vec<u8>,
    /// How much of `ready` was read.
    read: usize,
    /// What came before its time, by its distance from the first number.
    ahead: BTreeMap<u64, Vec<u8>>,
    ahead_bytes: usize,
    /// Bytes since the first number.
    position: u64,
    /// Something is missing and will not come.
    lost: bool,
}

impl Stream {
    /// The next byte has this number.
    pub(super) fn begin(&mut self, sequence: u32) {
        *self = Stream {
            next: Some(sequence),
            ..Stream::default()
        };
    }

    /// Whether a segment of it was seen.
    pub(super) fn has_begun(&self) -> bool {
        self.next.is_some()
    }

    /// Whether something is missing that will not come.
    pub(super) fn is_lost(&self) -> bool {
        self.lost
    }

    /// Something is missing that will not come.
    pub(super) fn lose(&mut self) {
        self.lost = true;
    }

    /// Takes the bytes of a segment.
    pub(super) fn take(&mut self, sequence: u32, bytes: &[u8]) {
        let next = *self.next.get_or_insert(sequence);
        if self.lost || bytes.is_empty() {
            return;
        }
        // Numbers wrap; a distance of half of them is the past.
        let distance = i64::from(sequence.wrapping_sub(next) as i32);
        match usize::try_from(-distance) {
            // What was here before, and perhaps more behind it.
            Ok(known) => {
                if let Some(fresh) = bytes.get(known..) {
                    self.append(fresh);
                }
            }
            Err(_) => {
                let place = self.position + distance.unsigned_abs();
                let there = self.ahead.get(&place).map_or(0, Vec::len);
                if there < bytes.len() {
                    self.ahead_bytes += bytes.len() - there;
                    self.ahead.insert(place, bytes.to_vec());
                }
                self.lost = self.ahead_bytes > MAX_AHEAD;
            }
        }
        while let Some(entry) = self.ahead.first_entry()
            && *entry.key() <= self.position
        {
            let (place, bytes) = entry.remove_entry();
            self.ahead_bytes -= bytes.len();
            if let Some(fresh) = bytes.get((self.position - place) as usize..) {
                self.append(fresh);
            }
        }
    }

    fn append(&mut self, bytes: &[u8]) {
        if self.read > 0 {
            self.ready.drain(..self.read);
            self.read = 0;
        }
        self.ready.extend_from_slice(bytes);
        self.lost |= self.ready.len() > MAX_READY;
        self.position += bytes.len() as u64;
        self.next = self.next.map(|next| next.wrapping_add(bytes.len() as u32));
    }

    /// The bytes that have not been read.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.ready[self.read..]
    }

    /// So many of them were read.
    pub(super) fn consume(&mut self, count: usize) {
        self.read = (self.read + count).min(self.ready.len());
    }

    /// Forgets what was not read.
    pub(super) fn skip_all(&mut self) {
        self.read = self.ready.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_order_gives_the_same_bytes() {
        // Around the greatest number.
        let first = u32::MAX - 10;
        let text = b"SELECT name FROM item WHERE id = 42";
        let pieces: Vec<(u32, &[u8])> = text
            .chunks(4)
            .enumerate()
            .map(|(place, piece)| (first.wrapping_add(4 * place as u32), piece))
            .collect();
        for turn in 0..pieces.len() {
            let mut stream = Stream::default();
            stream.begin(first);
            for step in 0..pieces.len() {
                let (sequence, piece) = pieces[(step * 5 + turn) % pieces.len()];
                stream.take(sequence, piece);
                // Sent again, and once more with what follows.
                stream.take(sequence, piece);
            }
            stream.take(first, text);
            assert_eq!(stream.bytes(), text, "{turn}");
            assert!(!stream.is_lost());
        }
    }

    #[test]
    fn what_overlaps_counts_once_and_what_is_missing_is_told() {
        let mut stream = Stream::default();
        stream.take(100, b"abcd");
        stream.take(102, b"cdefgh");
        stream.consume(3);
        stream.take(112, b"mn");
        stream.take(106, b"ghijklmn");
        assert_eq!(stream.bytes(), b"defghijklmn");
        let mut stream = Stream::default();
        stream.take(0, b"a");
        for piece in 0..9 {
            stream.take(100 + piece * (1 << 20), &vec![0; 1 << 20]);
        }
        assert!(stream.is_lost());
    }
}
