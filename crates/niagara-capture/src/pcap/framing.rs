//! Packets of the protocol in a stream: their lengths and numbers; long ones put together.

use super::stream::Stream;

/// The greatest length of one packet; a longer one is continued.
const MAX_PACKET: usize = 0xff_ffff;
/// Bytes before each.
const HEAD: usize = 4;

/// A whole packet, of which a stream has the bytes until it is [over](Framing::over).
#[derive(Debug, Clone, Copy)]
pub(super) struct Packet {
    /// Its number, and that of its last part where it has several.
    pub numbers: (u8, u8),
    /// Its length without heads, in bytes.
    pub length: usize,
    /// Bytes of the stream that it takes; none: it was put together.
    here: Option<usize>,
}

impl Packet {
    /// Whether the stream still has all of it.
    pub(super) fn is_in_stream(self) -> bool {
        self.here.is_some()
    }
}

/// The packets of one direction.
#[derive(Debug)]
pub(super) struct Framing {
    /// Bytes of a long packet that are kept.
    keep: usize,
    /// The parts of a long one so far: its first number, bytes, length.
    long: Option<(u8, Vec<u8>, usize)>,
    /// A long one that is whole.
    whole: Vec<u8>,
}

/// The length and the number of the part that `bytes` begin with, if it is all there.
fn part(bytes: &[u8]) -> Option<(usize, u8)> {
    let [a, b, c, number] = *bytes.first_chunk::<HEAD>()?;
    let length = usize::from(a) | (usize::from(b) << 8) | (usize::from(c) << 16);
    (bytes.len() >= HEAD + length).then_some((length, number))
}

impl Framing {
    /// Keeps at most `keep` bytes of packets that are put together.
    pub(super) fn new(keep: usize) -> Framing {
        Framing {
            keep,
            long: None,
            whole: Vec::new(),
        }
    }

    /// Forgets what was not whole.
    pub(super) fn forget(&mut self) {
        *self = Framing::new(self.keep);
    }

    /// Bytes of memory that it takes.
    pub(super) fn held(&self) -> usize {
        let long = self.long.as_ref();
        self.whole.capacity() + long.map_or(0, |(_, bytes, _)| bytes.capacity())
    }

    /// The next packet that is whole.
    pub(super) fn next(&mut self, stream: &mut Stream) -> Option<Packet> {
        loop {
            let (length, number) = part(stream.bytes())?;
            if length < MAX_PACKET && self.long.is_none() {
                return Some(Packet {
                    numbers: (number, number),
                    length,
                    here: Some(HEAD + length),
                });
            }
            let (_, bytes, total) = self.long.get_or_insert_with(|| (number, Vec::new(), 0));
            let room = self.keep.saturating_sub(bytes.len()).min(length);
            bytes.extend_from_slice(&stream.bytes()[HEAD..HEAD + room]);
            *total += length;
            stream.consume(HEAD + length);
            if length < MAX_PACKET {
                let (first, bytes, length) = self.long.take()?;
                self.whole = bytes;
                return Some(Packet {
                    numbers: (first, number),
                    length,
                    here: None,
                });
            }
        }
    }

    /// What is in a packet, or as much of it as is kept.
    pub(super) fn bytes<'a>(&'a self, packet: Packet, stream: &'a Stream) -> &'a [u8] {
        match packet.here {
            Some(end) => &stream.bytes()[HEAD..end],
            None => &self.whole,
        }
    }

    /// A packet is done with.
    pub(super) fn over(&mut self, packet: Packet, stream: &mut Stream) {
        match packet.here {
            Some(length) => stream.consume(length),
            None => self.whole = Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_whole_or_awaited() {
        let mut stream = Stream::default();
        let mut framing = Framing::new(100);
        let bytes = b"\x02\0\0\x01ab\0\0\0\x02\x01\0\0\x03c";
        for (place, byte) in bytes.iter().enumerate() {
            stream.take(place as u32, None, &[*byte], 0);
        }
        let mut found = Vec::new();
        while let Some(packet) = framing.next(&mut stream) {
            found.push((packet.numbers.0, framing.bytes(packet, &stream).to_vec()));
            framing.over(packet, &mut stream);
        }
        assert_eq!(
            found,
            [(1, b"ab".to_vec()), (2, Vec::new()), (3, b"c".to_vec())]
        );
        assert!(framing.next(&mut stream).is_none());
    }

    #[test]
    fn a_long_one_is_put_together_and_only_its_beginning_is_kept() {
        for (rest, keep) in [(5, 1 << 26), (0, 1 << 26), (5, 10)] {
            let mut stream = Stream::default();
            let mut bytes = vec![0xff, 0xff, 0xff, 254];
            bytes.resize(HEAD + MAX_PACKET, b'x');
            bytes.extend_from_slice(&[0xff, 0xff, 0xff, 255]);
            bytes.resize(2 * (HEAD + MAX_PACKET), b'y');
            bytes.extend_from_slice(&[rest, 0, 0, 0]);
            bytes.resize(bytes.len() + usize::from(rest), b'z');
            for (place, piece) in bytes.chunks(1 << 20).enumerate() {
                stream.take((place << 20) as u32, None, piece, 0);
            }
            let mut framing = Framing::new(keep);
            let packet = framing.next(&mut stream).expect("whole");
            assert_eq!(packet.numbers, (254, 0));
            assert_eq!(packet.length, 2 * MAX_PACKET + usize::from(rest));
            let kept = framing.bytes(packet, &stream);
            assert_eq!(kept.len(), packet.length.min(keep));
            assert_eq!(kept[0], b'x');
            framing.over(packet, &mut stream);
            assert!(stream.bytes().is_empty());
        }
    }
}
