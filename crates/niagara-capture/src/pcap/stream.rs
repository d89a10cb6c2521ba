//! The bytes of one direction of a connection, put in order: segments come twice, late, overlapping, or not at all.

use std::collections::{BTreeMap, VecDeque};

/// Bytes that may wait for some that are missing.
const MAX_AHEAD: usize = 8 << 20;
/// Bytes that may wait to be read: more than the longest packet of the protocol.
const MAX_READY: usize = 80 << 20;
/// What is kept beside the bytes of a segment, in bytes: many small ones are memory too.
const BESIDE: usize = 96;

/// Memory beyond this is given back once all of it was read, in bytes: most connections are idle.
const LARGE: usize = 4 << 10;

/// A segment that came before its time.
#[derive(Debug)]
pub(super) struct Ahead {
    pub sequence: u32,
    /// What its sender had received, where it says so.
    pub acknowledged: Option<u32>,
    /// When it came, in microseconds since 1970.
    pub at_us: i64,
    pub bytes: Vec<u8>,
}

/// From here on the sender had received so much.
#[derive(Debug, Clone, Copy)]
struct Mark {
    position: u64,
    acknowledged: Option<u32>,
}

/// One direction of a connection.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// The number that is due; none before the first segment.
    next: Option<u32>,
    /// Nothing is taken before it is said where the stream begins.
    waits: bool,
    /// In order, not read yet.
    ready: Vec<u8>,
    /// How much of `ready` was read.
    read: usize,
    /// What the sender had received when it sent what is ready, in the order of the bytes.
    marks: VecDeque<Mark>,
    /// What the sender had received when it sent the byte before the one that is read next; none: not known.
    before: Option<u32>,
    /// What came before its time, by its distance from the first number.
    ahead: BTreeMap<u64, Ahead>,
    ahead_bytes: usize,
    /// Bytes since the first number up to what is due.
    position: u64,
    /// The receiver has what comes before this number.
    received: Option<u32>,
}

/// How far one number is behind another; negative: before it. Numbers wrap: a distance of half of them is the past.
fn distance(from: u32, to: u32) -> i64 {
    i64::from(to.wrapping_sub(from) as i32)
}

/// Whether the second number is behind the first.
pub(super) fn is_behind(first: u32, second: u32) -> bool {
    distance(first, second) > 0
}

impl Stream {
    /// The next byte has this number.
    pub(super) fn begin(&mut self, sequence: u32) {
        *self = Stream {
            next: Some(sequence),
            ..Stream::default()
        };
    }

    /// Forgets all of it, and takes nothing before it [begins](Stream::begin) again.
    pub(super) fn forget(&mut self) {
        *self = Stream {
            waits: true,
            ..Stream::default()
        };
    }

    /// Whether it is known where it is.
    pub(super) fn has_begun(&self) -> bool {
        self.next.is_some()
    }

    /// As [`begin`](Stream::begin), behind a byte whose sender had received so much.
    pub(super) fn begin_behind(&mut self, sequence: u32, had: Option<u32>) {
        self.begin(sequence);
        self.before = had;
    }

    /// The number of the byte that is due.
    pub(super) fn next_number(&self) -> Option<u32> {
        self.next
    }

    /// Whether some bytes are missing before others.
    pub(super) fn has_hole(&self) -> bool {
        !self.ahead.is_empty()
    }

    /// More waits than may wait.
    pub(super) fn overflows(&self) -> bool {
        self.ahead_bytes > MAX_AHEAD || self.bytes().len() > MAX_READY
    }

    /// Bytes of memory that it takes.
    pub(super) fn held(&self) -> usize {
        self.ready.capacity() + self.ahead_bytes + self.marks.len() * size_of::<Mark>()
    }

    /// The receiver says that it has what comes before this number.
    pub(super) fn acknowledge(&mut self, number: u32) {
        let is_later = self
            .received
            .is_none_or(|known| distance(known, number) > 0);
        if is_later {
            self.received = Some(number);
        }
    }

    /// Whether the receiver has bytes that were not recorded: they will not come.
    pub(super) fn was_received(&self) -> bool {
        match (self.received, self.next) {
            (Some(received), Some(next)) => distance(next, received) > 0,
            _ => false,
        }
    }

    /// Whether what comes before this number is not all here.
    pub(super) fn lacks(&self, number: u32) -> bool {
        self.next.is_none_or(|next| distance(next, number) > 0)
    }

    /// Takes the bytes of a segment. `acknowledged`: what its sender had received.
    pub(super) fn take(
        &mut self,
        sequence: u32,
        acknowledged: Option<u32>,
        bytes: &[u8],
        at_us: i64,
    ) {
        if self.waits || bytes.is_empty() {
            return;
        }
        let next = *self.next.get_or_insert(sequence);
        let distance = distance(next, sequence);
        match usize::try_from(-distance) {
            // What was here before, and perhaps more behind it.
            Ok(known) => {
                if let Some(fresh) = bytes.get(known..) {
                    self.append(fresh, acknowledged);
                }
            }
            Err(_) => {
                let place = self.position + distance.unsigned_abs();
                let there = self.ahead.get(&place).map(|ahead| ahead.bytes.len());
                if there.is_none_or(|length| length < bytes.len()) {
                    self.ahead_bytes += bytes.len() + BESIDE;
                    self.ahead_bytes -= there.map_or(0, |length| length + BESIDE);
                    let ahead = Ahead {
                        sequence,
                        acknowledged,
                        at_us,
                        bytes: bytes.to_vec(),
                    };
                    self.ahead.insert(place, ahead);
                }
            }
        }
        self.close_up();
    }

    /// Appends what was ahead and is due.
    fn close_up(&mut self) {
        while let Some(entry) = self.ahead.first_entry()
            && *entry.key() <= self.position
        {
            let (place, ahead) = entry.remove_entry();
            self.ahead_bytes -= ahead.bytes.len() + BESIDE;
            if let Some(fresh) = ahead.bytes.get((self.position - place) as usize..) {
                self.append(fresh, ahead.acknowledged);
            }
        }
    }

    fn append(&mut self, bytes: &[u8], acknowledged: Option<u32>) {
        if bytes.is_empty() {
            return;
        }
        if self.read > 0 {
            self.ready.drain(..self.read);
            self.read = 0;
        }
        if self.ready.is_empty() {
            self.marks.clear();
        }
        let is_said = self
            .marks
            .back()
            .is_some_and(|mark| mark.acknowledged == acknowledged);
        if !is_said {
            self.marks.push_back(Mark {
                position: self.position,
                acknowledged,
            });
        }
        self.ready.extend_from_slice(bytes);
        self.position += bytes.len() as u64;
        self.next = self.next.map(|next| next.wrapping_add(bytes.len() as u32));
    }

    /// The bytes that have not been read.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.ready[self.read..]
    }

    /// What the sender had received when it sent the byte that is read next, where it said so.
    pub(super) fn acknowledged(&self) -> Option<u32> {
        self.marks.front()?.acknowledged
    }

    /// What the sender had received when it sent the byte before that one, where it said so and that byte is known.
    pub(super) fn acknowledged_before(&self) -> Option<u32> {
        self.before
    }

    /// The number of the byte that is read next.
    pub(super) fn number(&self) -> Option<u32> {
        let unread = self.bytes().len() as u32;
        self.next.map(|next| next.wrapping_sub(unread))
    }

    /// So many of them were read.
    pub(super) fn consume(&mut self, count: usize) {
        if count == 0 {
            return;
        }
        let end = self.position - self.bytes().len() as u64 + count as u64;
        let marks = self.marks.iter().take_while(|mark| mark.position < end);
        self.before = marks.last().and_then(|mark| mark.acknowledged);
        self.read = (self.read + count).min(self.ready.len());
        if self.read == self.ready.len() && self.ready.capacity() > LARGE {
            self.ready = Vec::new();
            self.read = 0;
        }
        let start = self.position - self.bytes().len() as u64;
        while self.marks.get(1).is_some_and(|mark| mark.position <= start) {
            self.marks.pop_front();
        }
    }

    /// Goes on with the byte of this number, present or missing; how many bytes were passed over. None: it was read before.
    pub(super) fn skip_to(&mut self, number: u32) -> Option<u64> {
        let Some(next) = self.next else {
            self.begin(number);
            return Some(0);
        };
        let unread = self.bytes().len() as u64;
        let missing = distance(next, number);
        if missing <= 0 {
            let skipped = unread.checked_sub(missing.unsigned_abs())?;
            self.consume(skipped as usize);
            return Some(skipped);
        }
        self.ready.clear();
        self.read = 0;
        self.marks.clear();
        self.position += missing.unsigned_abs();
        self.next = Some(number);
        self.before = (self.ahead.range(..self.position).rev())
            .find(|(place, ahead)| *place + ahead.bytes.len() as u64 >= self.position)
            .and_then(|(_, ahead)| ahead.acknowledged);
        self.close_up();
        Some(unread + missing.unsigned_abs())
    }

    /// Takes out what is ahead, in the order of the bytes, and forgets all else.
    pub(super) fn give_up(&mut self) -> Vec<Ahead> {
        let ahead = std::mem::take(&mut self.ahead);
        self.forget();
        ahead.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(stream: &mut Stream, sequence: u32, bytes: &[u8]) {
        stream.take(sequence, Some(7), bytes, 0);
    }

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
                take(&mut stream, sequence, piece);
                // Sent again, and once more with what follows.
                take(&mut stream, sequence, piece);
            }
            take(&mut stream, first, text);
            assert_eq!(stream.bytes(), text, "{turn}");
            assert!(!stream.has_hole());
        }
    }

    #[test]
    fn what_overlaps_counts_once_and_what_is_missing_is_told() {
        let mut stream = Stream::default();
        take(&mut stream, 100, b"abcd");
        take(&mut stream, 102, b"cdefgh");
        stream.consume(3);
        take(&mut stream, 112, b"mn");
        assert!(stream.has_hole() && !stream.was_received());
        stream.acknowledge(112);
        assert!(stream.was_received() && stream.lacks(109) && !stream.lacks(108));
        take(&mut stream, 106, b"ghijklmn");
        assert_eq!(stream.bytes(), b"defghijklmn");
        assert!(!stream.was_received());
        let mut stream = Stream::default();
        take(&mut stream, 0, b"a");
        for piece in 0..9 {
            take(&mut stream, 100 + piece * (1 << 20), &vec![0; 1 << 20]);
        }
        assert!(stream.overflows());
        assert_eq!(stream.give_up().len(), 9);
        assert!(!stream.overflows() && !stream.has_begun());
        take(&mut stream, 5, b"not taken");
        assert!(stream.bytes().is_empty());
    }

    #[test]
    fn segments_of_one_byte_are_memory_too() {
        let mut stream = Stream::default();
        take(&mut stream, 0, b"a");
        let mut place = 0_u32;
        while !stream.overflows() {
            place += 2;
            take(&mut stream, place, b"x");
        }
        assert!(place < 400_000, "{place}");
    }

    #[test]
    fn it_goes_on_where_it_is_told_to() {
        let mut stream = Stream::default();
        stream.begin(1000);
        take(&mut stream, 1000, b"abcdef");
        take(&mut stream, 1010, b"klmn");
        stream.consume(1);
        assert_eq!(stream.skip_to(1000), None);
        assert_eq!(stream.skip_to(1003), Some(2));
        assert_eq!(stream.bytes(), b"def");
        // Over what is missing, into what came before its time.
        assert_eq!(stream.skip_to(1011), Some(8));
        assert_eq!(stream.bytes(), b"lmn");
        assert_eq!(stream.skip_to(1020), Some(9));
        take(&mut stream, 1018, b"stuv");
        assert_eq!(stream.bytes(), b"uv");
    }

    #[test]
    fn what_the_sender_had_received_belongs_to_its_bytes() {
        let mut stream = Stream::default();
        stream.begin(0);
        stream.take(0, Some(50), b"abc", 0);
        stream.take(3, Some(60), b"def", 0);
        stream.take(6, Some(60), b"ghi", 0);
        assert_eq!(stream.acknowledged(), Some(50));
        stream.consume(2);
        assert_eq!(stream.acknowledged(), Some(50));
        stream.consume(1);
        assert_eq!(stream.acknowledged(), Some(60));
        assert_eq!(stream.acknowledged_before(), Some(50));
        stream.consume(6);
        stream.take(9, Some(70), b"j", 0);
        assert_eq!(stream.acknowledged(), Some(70));
        assert_eq!(stream.acknowledged_before(), Some(60));
        assert_eq!(stream.number(), Some(9));
        // Over a hole: the byte before is there, or it is not.
        stream.take(12, Some(80), b"mno", 0);
        assert_eq!(stream.skip_to(14), Some(5));
        assert_eq!(stream.acknowledged_before(), Some(80));
        assert_eq!(stream.skip_to(20), Some(6));
        assert_eq!(stream.acknowledged_before(), None);
    }
}
