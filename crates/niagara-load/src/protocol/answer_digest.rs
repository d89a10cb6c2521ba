//! The answer to a statement in text form as numbers by which it is told from another one. Not for load: every row is
//! hashed.

use super::ExchangeError;
use super::packet::{Fields, ServerError};
use super::sequence::{Packet, Sequence};
use crate::protocol::ProtocolError;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Column types whose values are rounded by the server on their way: FLOAT and DOUBLE.
const INEXACT: [u8; 2] = [4, 5];
/// Digits after the first one that such values are compared to: a sum has another last digit in another order.
const DIGITS: usize = 8;
/// A NULL where a length would stand.
const NULL: u8 = 0xfb;

/// What an answer was, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct AnswerDigest {
    /// Rows that came, or that it said were changed, in all its results.
    pub rows: u64,
    /// Of all rows, in whatever order they came.
    pub set: u64,
    /// Of all rows in the order in which they came.
    pub sequence: u64,
}

/// Reads one answer, a packet at a time.
#[derive(Debug)]
pub(crate) struct AnswerDigestReader {
    sequence: Sequence,
    /// By column: its values are [inexact](INEXACT).
    inexact: Vec<bool>,
    digest: AnswerDigest,
    scratch: Vec<u8>,
}

impl AnswerDigestReader {
    /// For a connection that agreed on `capabilities`.
    pub(crate) fn new(capabilities: u32) -> Self {
        AnswerDigestReader {
            sequence: Sequence::new(capabilities),
            inexact: Vec::new(),
            digest: AnswerDigest::default(),
            scratch: Vec::new(),
        }
    }

    /// A result is over with this packet; what the answer was, unless another result follows.
    fn result_end(&mut self, kind: Packet, payload: &[u8]) -> Option<AnswerDigest> {
        if !self.sequence.has_more_results(kind, payload) {
            return Some(self.digest);
        }
        self.sequence.restart();
        None
    }

    /// Takes the next packet; what the answer was when it was the last one.
    pub(crate) fn packet(&mut self, payload: &[u8]) -> Result<Option<AnswerDigest>, ExchangeError> {
        let first = *payload
            .first()
            .ok_or_else(|| ProtocolError::new("an empty packet within an answer"))?;
        match self.sequence.packet(first, payload.len())? {
            Packet::Error => return Err(ServerError::parse(payload)?.into()),
            Packet::Ok => {
                let mut fields = Fields::new(payload);
                fields.u8()?;
                self.digest.rows = self.digest.rows.saturating_add(fields.lenenc()?);
                return Ok(self.result_end(Packet::Ok, payload));
            }
            Packet::ColumnCount => {
                let columns = self.sequence.count(payload)?;
                // Results without rows differ by their width. Those of one answer are told apart.
                let begin = |before| xxh3_64_with_seed(&columns.to_le_bytes(), before);
                self.digest.set = begin(self.digest.set);
                self.digest.sequence = begin(self.digest.sequence);
                self.inexact.clear();
            }
            Packet::Column => {
                self.inexact.push(INEXACT.contains(&column_type(payload)?));
                self.sequence.column();
            }
            Packet::ColumnsEnd => self.sequence.columns_end(),
            Packet::End => return Ok(self.result_end(Packet::End, payload)),
            Packet::Row => {
                let hash = self.row(payload)?;
                let digest = &mut self.digest;
                digest.rows += 1;
                digest.set = digest.set.wrapping_add(hash);
                digest.sequence = xxh3_64_with_seed(&hash.to_le_bytes(), digest.sequence);
            }
        }
        Ok(None)
    }

    fn row(&mut self, payload: &[u8]) -> Result<u64, ProtocolError> {
        if !self.inexact.contains(&true) {
            return Ok(xxh3_64(payload));
        }
        self.scratch.clear();
        let mut fields = Fields::new(payload);
        for &inexact in &self.inexact {
            if fields.rest().first() == Some(&NULL) {
                fields.u8()?;
                self.scratch.push(NULL);
                continue;
            }
            let length = usize::try_from(fields.lenenc()?)
                .map_err(|_| ProtocolError::new("a value longer than memory"))?;
            let value = fields.bytes(length)?;
            let number = std::str::from_utf8(value).ok();
            match number.and_then(|text| text.parse::<f64>().ok()) {
                // No negative zero.
                Some(number) if inexact => {
                    let rounded = format!("{:.DIGITS$e}", number + 0.0);
                    self.scratch.extend_from_slice(rounded.as_bytes());
                }
                _ => self.scratch.extend_from_slice(value),
            }
            self.scratch
                .extend_from_slice(&length_mark(value.len(), inexact));
        }
        Ok(xxh3_64(&self.scratch))
    }
}

/// Keeps values apart; that of an inexact one says nothing of how many digits it came with.
fn length_mark(length: usize, inexact: bool) -> [u8; 8] {
    match inexact {
        true => [0xff; 8],
        false => (length as u64).to_le_bytes(),
    }
}

/// The type of a column from its definition.
fn column_type(payload: &[u8]) -> Result<u8, ProtocolError> {
    let mut fields = Fields::new(payload);
    // Catalog, schema, table, original table, name, original name.
    for _ in 0..6 {
        let length = fields.lenenc()?;
        fields.bytes(length as usize)?;
    }
    // The length of what follows, character set, greatest length.
    fields.lenenc()?;
    fields.bytes(6)?;
    fields.u8()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(kind: u8) -> Vec<u8> {
        let mut bytes = vec![0; 6];
        bytes.extend([12, 0, 0, 0, 0, 0, 0, kind, 0, 0, 0, 0, 0]);
        bytes
    }

    fn digest(kinds: &[u8], rows: &[&[u8]]) -> AnswerDigest {
        let mut reader = AnswerDigestReader::new(0);
        let end = [0xfe, 0, 0, 2, 0];
        assert_eq!(reader.packet(&[kinds.len() as u8]), Ok(None));
        for &kind in kinds {
            assert_eq!(reader.packet(&column(kind)), Ok(None));
        }
        assert_eq!(reader.packet(&end), Ok(None));
        for row in rows {
            assert_eq!(reader.packet(row), Ok(None));
        }
        reader.packet(&end).unwrap().unwrap()
    }

    #[test]
    fn rows_count_with_their_contents_and_their_order_by_itself() {
        let one = digest(&[253, 3], &[b"\x02ab\x011", b"\x02cd\xfb"]);
        let turned = digest(&[253, 3], &[b"\x02cd\xfb", b"\x02ab\x011"]);
        assert_eq!((one.rows, one.set), (2, turned.set));
        assert_ne!(one.sequence, turned.sequence);
        let other = digest(&[253, 3], &[b"\x02ab\x011", b"\x02cd\x011"]);
        assert_ne!(one.set, other.set);
        assert_ne!(digest(&[3], &[]).set, digest(&[3, 3], &[]).set);
    }

    #[test]
    fn numbers_that_are_rounded_are_compared_to_nine_digits() {
        let of = |text: &str| {
            let mut row = vec![text.len() as u8];
            row.extend_from_slice(text.as_bytes());
            digest(&[5], &[&row]).set
        };
        assert_eq!(of("0.1234567891234567"), of("0.123456789123457"));
        assert_eq!(of("1e3"), of("1000"));
        assert_ne!(of("1000.0001"), of("1000"));
    }

    #[test]
    fn several_results_are_one_answer() {
        let more = [0xfe, 0, 0, 8, 0];
        let end = [0xfe, 0, 0, 2, 0];
        let ok = [0, 1, 0, 2, 0, 0, 0];
        let read = |first: &[&[u8]], second: &[&[u8]]| {
            let mut reader = AnswerDigestReader::new(0);
            for (rows, ends) in [(first, &more), (second, &more)] {
                for packet in [&[1][..], &column(253), &end] {
                    assert_eq!(reader.packet(packet), Ok(None));
                }
                for row in rows.iter().copied().chain([&ends[..]]) {
                    assert_eq!(reader.packet(row), Ok(None));
                }
            }
            reader.packet(&ok).unwrap().unwrap()
        };
        let one = read(&[b"\x01a", b"\x01b"], &[b"\x01c"]);
        assert_eq!(one.rows, 4);
        assert_eq!(one.set, read(&[b"\x01b", b"\x01a"], &[b"\x01c"]).set);
        // The same rows, shared out otherwise.
        assert_ne!(one.set, read(&[b"\x01a"], &[b"\x01b", b"\x01c"]).set);
    }

    #[test]
    fn statements_without_rows_say_what_they_changed() {
        let mut reader = AnswerDigestReader::new(0);
        let answer = reader.packet(&[0, 7, 0, 2, 0, 0, 0]).unwrap().unwrap();
        assert_eq!(
            answer,
            AnswerDigest {
                rows: 7,
                set: 0,
                sequence: 0
            }
        );
        assert!(AnswerDigestReader::new(0).packet(&[]).is_err());
        let mut reader = AnswerDigestReader::new(0);
        reader.packet(&[1]).unwrap();
        assert!(reader.packet(b"\x03de").is_err());
    }
}
