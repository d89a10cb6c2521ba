//! Skims the answer to a command: where does it end, and is it an error?
//!
//! Bytes are fed as they arrive, in pieces of any size. Only error packets and the count of columns are kept;
//! everything else is stepped over by its length, unless the rows of this answer are wanted
//! ([`ResponseReader::keep_rows`]).

use super::answer::{Answer, Format};
use super::packet::{Fields, MAX_PAYLOAD, ServerError};
use super::sequence::{Packet, Sequence};
use super::{ProtocolError, capability};

/// Bytes of an error packet that are kept: the protocol's messages end at 512.
const KEPT: usize = 640;
/// Bytes of one answer, all its packets together (1 GiB, the greatest max_allowed_packet there is). More is taken for a
/// server that never ends.
const MAX_ANSWER: u64 = 1 << 30;

/// What is known after some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The answer continues.
    More,
    /// The answer is complete and not an error.
    Done,
    /// The answer is complete; [`ResponseReader::error`] has the error.
    Failed,
}

/// What the bytes at hand belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The header of a packet, not complete yet.
    Header,
    /// A packet whose first byte has not come yet.
    Unknown,
    /// More of a row that is longer than one packet.
    Continuation,
    Of(Packet),
}

impl Part {
    /// Whether its start matters beyond the first byte.
    fn is_kept(self) -> bool {
        matches!(
            self,
            Part::Of(Packet::Ok | Packet::Error | Packet::ColumnCount)
        )
    }
}

/// Reads one answer after another.
#[derive(Debug)]
pub(crate) struct ResponseReader {
    sequence: Sequence,
    part: Part,
    header: [u8; 4],
    header_length: usize,
    /// The number that is due.
    number: u8,
    /// The packet at hand has another number than was due, which only errors may have.
    misnumbered: bool,
    /// Bytes of the answer at hand so far.
    taken: u64,
    /// Bytes of the packet at hand that have not come yet.
    left: usize,
    /// The packet at hand is of the greatest length: the next one continues it.
    continued: bool,
    /// The last complete answer had rows, or said that rows were changed.
    touched: bool,
    /// Rows of the last complete answer, in all its results: those that came, or those that it said were changed.
    rows: u64,
    /// Rows of the answer at hand so far.
    counted: u64,
    /// Rows that the last complete answer said were changed.
    changed: u64,
    /// Rows that the last complete answer said were found, whether or not they were changed.
    found: Option<u64>,
    /// The last complete answer had rows, be it none of them.
    has_rows: bool,
    /// The start of the packet at hand where it matters; never grows past its first capacity.
    kept: Vec<u8>,
    /// Whether the rows of the answer at hand go into `answer`.
    keeps_rows: bool,
    answer: Answer,
    /// Answers may be several results: rows are counted in all of them, what else is known of an answer is known of its first one.
    several: bool,
    /// The result at hand is not the first one of its answer.
    is_later: bool,
}

impl ResponseReader {
    /// For a connection that agreed on `capabilities`.
    pub(crate) fn new(capabilities: u32) -> Self {
        ResponseReader {
            sequence: Sequence::new(capabilities),
            part: Part::Header,
            header: [0; 4],
            header_length: 0,
            number: 1,
            misnumbered: false,
            taken: 0,
            left: 0,
            continued: false,
            touched: false,
            rows: 0,
            counted: 0,
            changed: 0,
            found: None,
            has_rows: false,
            kept: Vec::with_capacity(KEPT),
            keeps_rows: false,
            answer: Answer::default(),
            several: capabilities & capability::MULTI_RESULTS != 0,
            is_later: false,
        }
    }

    /// The next answer's first packet has this number: [`command::answer_number`](super::command::answer_number).
    #[inline]
    pub(crate) fn expect(&mut self, number: u8) {
        self.number = number;
    }

    /// Says whether the rows of the next answer, which come in `format`, are to be kept.
    #[inline]
    pub(crate) fn keep_rows(&mut self, keep: bool, format: Format) {
        self.keeps_rows = keep;
        if keep {
            self.answer.begin(format);
        }
    }

    /// The rows of the last answer whose rows were kept.
    pub(crate) fn answer(&self) -> &Answer {
        &self.answer
    }

    /// The error that made the last answer [`Progress::Failed`].
    pub(crate) fn error(&self) -> Result<ServerError, ProtocolError> {
        ServerError::parse(&self.kept)
    }

    /// Whether the last complete answer was a result set, or the OK of a statement that changed rows; or had one among its results.
    #[inline]
    pub(crate) fn touched(&self) -> bool {
        self.touched
    }

    /// Rows of the last complete answer: of a result set those that came, else those that it said were changed, together where it has
    /// several results; 0 of an error.
    #[inline]
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Of the last complete answer: the rows that were changed; `None`: it was a result set.
    pub(crate) fn changed(&self) -> Option<u64> {
        (!self.has_rows).then_some(self.changed)
    }

    /// Of the last complete answer: the rows that an UPDATE found, those among them that it left as they were; where several
    /// results come, or none is said, there is none.
    pub(crate) fn found(&self) -> Option<u64> {
        self.found
    }

    /// The last answer, to be taken away in exchange for another, whose memory is used next.
    pub(crate) fn answer_mut(&mut self) -> &mut Answer {
        &mut self.answer
    }

    /// Takes the next bytes of the answer. After `Done` or `Failed` the reader is ready for the next answer.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) -> Result<Progress, ProtocolError> {
        self.taken += bytes.len() as u64;
        if self.taken > MAX_ANSWER {
            return Err(ProtocolError::new(format!(
                "an answer of more than {MAX_ANSWER} bytes"
            )));
        }
        while !bytes.is_empty() {
            if self.part == Part::Header {
                bytes = self.take_header(bytes)?;
                // An empty packet has nothing more to wait for.
                if self.part == Part::Header || self.left > 0 {
                    continue;
                }
            }
            if self.part == Part::Unknown {
                match bytes.first() {
                    Some(&first) if self.left > 0 => self.classify(first)?,
                    _ => return Err(ProtocolError::new("an empty packet within an answer")),
                }
            }
            let (here, rest) = bytes.split_at(self.left.min(bytes.len()));
            match self.part {
                part if self.keeps(part) => {
                    let room = KEPT - self.kept.len();
                    self.kept.extend_from_slice(&here[..here.len().min(room)]);
                }
                Part::Of(Packet::Column | Packet::Row) | Part::Continuation if self.keeps_rows => {
                    self.answer.extend(here)?;
                }
                _ => {}
            }
            self.left -= here.len();
            bytes = rest;
            if self.left == 0 {
                let progress = self.packet_end()?;
                if progress != Progress::More {
                    if !bytes.is_empty() {
                        return Err(ProtocolError::new(format!(
                            "{} bytes follow a complete answer",
                            bytes.len()
                        )));
                    }
                    self.sequence.restart();
                    self.number = 1;
                    self.taken = 0;
                    self.counted = 0;
                    self.continued = false;
                    self.is_later = false;
                    return Ok(progress);
                }
            }
        }
        Ok(Progress::More)
    }

    fn take_header<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], ProtocolError> {
        let count = (4 - self.header_length).min(bytes.len());
        let (taken, rest) = bytes.split_at(count);
        self.header[self.header_length..self.header_length + count].copy_from_slice(taken);
        self.header_length += count;
        if self.header_length < 4 {
            return Ok(rest);
        }
        self.header_length = 0;
        let [a, b, c, number] = self.header;
        // What a server says unasked (why it closes the connection) is numbered from 0.
        self.misnumbered = number != self.number;
        if self.misnumbered && self.continued {
            return Err(self.wrong_number());
        }
        self.number = number.wrapping_add(1);
        self.left = u32::from_le_bytes([a, b, c, 0]) as usize;
        self.part = if self.continued {
            Part::Continuation
        } else {
            Part::Unknown
        };
        self.continued = self.left == MAX_PAYLOAD;
        if self.left == 0 && self.part == Part::Unknown {
            return Err(ProtocolError::new("an empty packet within an answer"));
        }
        Ok(rest)
    }

    fn wrong_number(&self) -> ProtocolError {
        ProtocolError::new(format!(
            "a packet has number {}, which was not due",
            self.header[3]
        ))
    }

    fn classify(&mut self, first: u8) -> Result<(), ProtocolError> {
        if self.misnumbered && first != 0xff {
            return Err(self.wrong_number());
        }
        self.part = Part::Of(self.sequence.packet(first, self.left)?);
        if self.keeps(self.part) {
            self.kept.clear();
        }
        Ok(())
    }

    /// Whether the start of a packet matters: at the end of rows it says whether that was all.
    #[inline]
    fn keeps(&self, part: Part) -> bool {
        part.is_kept() || self.several && part == Part::Of(Packet::End)
    }

    /// A result of so many rows is complete: so is the answer, unless the packet that ends it, which was kept, says that another one
    /// follows. Nothing is kept of that.
    fn result_end(&mut self, kind: Packet, rows: u64, touched: bool) -> Progress {
        let before = match self.is_later {
            true => (self.rows, self.touched),
            false => (0, false),
        };
        self.rows = before.0.saturating_add(rows);
        self.touched = before.1 || touched;
        if !self.several || !self.sequence.has_more_results(kind, &self.kept) {
            return Progress::Done;
        }
        self.is_later = true;
        self.keeps_rows = false;
        self.counted = 0;
        self.sequence.restart();
        Progress::More
    }

    fn packet_end(&mut self) -> Result<Progress, ProtocolError> {
        match std::mem::replace(&mut self.part, Part::Header) {
            Part::Of(Packet::Ok) => {
                // After the first byte: the number of rows.
                let rows = self.kept.get(1..).unwrap_or_default();
                let changed = Fields::new(rows).lenenc().unwrap_or(0);
                self.found = match self.is_later || !self.several {
                    true => None,
                    false => rows_found(&self.kept),
                };
                if !self.is_later {
                    self.changed = changed;
                    self.has_rows = false;
                }
                return Ok(self.result_end(Packet::Ok, changed, changed > 0));
            }
            Part::Of(Packet::End) => {
                self.found = None;
                if !self.is_later {
                    self.has_rows = true;
                }
                return Ok(self.result_end(Packet::End, self.counted, true));
            }
            Part::Of(Packet::Error) => {
                self.found = None;
                self.rows = 0;
                return Ok(Progress::Failed);
            }
            Part::Of(Packet::ColumnCount) => {
                self.sequence.count(&self.kept)?;
            }
            Part::Of(Packet::Column) => {
                if self.keeps_rows {
                    self.answer.end_column()?;
                }
                self.sequence.column();
            }
            Part::Of(Packet::ColumnsEnd) => self.sequence.columns_end(),
            // A row of more than one packet ends with the last of them.
            Part::Of(Packet::Row) | Part::Continuation if !self.continued => {
                self.counted += 1;
                if self.keeps_rows {
                    self.answer.end_row();
                }
            }
            Part::Header | Part::Unknown | Part::Continuation | Part::Of(Packet::Row) => {}
        }
        Ok(Progress::More)
    }
}

/// What an UPDATE says of itself in its OK (`Rows matched: 2  Changed: 1  Warnings: 0`), in English only.
fn rows_found(ok: &[u8]) -> Option<u64> {
    const WORDS: &[u8] = b"Rows matched: ";
    let at = memchr::memmem::find(ok, WORDS)?;
    let digits = ok[at + WORDS.len()..]
        .iter()
        .take_while(|b| b.is_ascii_digit());
    digits.fold(None, |sum: Option<u64>, digit| {
        let sum = sum.unwrap_or(0).checked_mul(10)?;
        sum.checked_add(u64::from(digit - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::capability;

    const MODERN: u32 = capability::DEPRECATE_EOF;
    const OLD: u32 = 0;

    /// Packets numbered from 1.
    fn packets(payloads: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut sequence = 1;
        for payload in payloads {
            sequence = crate::protocol::command::write_packets(&mut out, sequence, payload);
        }
        out
    }

    const OK: &[u8] = &[0, 1, 0, 2, 0, 0, 0];
    const OK_END: &[u8] = &[0xfe, 0, 0, 2, 0, 0, 0];
    const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];
    const COLUMN: &[u8] = b"\x03def\x06sbtest";
    const ROW: &[u8] = b"\x00\x00\x05hello";
    const ERROR: &[u8] = b"\xff\xbd\x04#40001Deadlock found";

    /// Feeds whole, byte by byte, and in two pieces at every place: all must agree.
    fn read(capabilities: u32, bytes: &[u8]) -> Result<Progress, ProtocolError> {
        let whole = ResponseReader::new(capabilities).feed(bytes);
        let mut single = ResponseReader::new(capabilities);
        let mut progress = Ok(Progress::More);
        for byte in bytes {
            progress = match progress {
                Ok(Progress::More) => single.feed(std::slice::from_ref(byte)),
                Ok(_) => Err(ProtocolError::new("bytes follow")),
                error => error,
            };
        }
        assert_eq!(whole.is_ok(), progress.is_ok(), "{whole:?} {progress:?}");
        if let (Ok(whole), Ok(single)) = (&whole, &progress) {
            assert_eq!(whole, single);
        }
        for at in 1..bytes.len() {
            let mut reader = ResponseReader::new(capabilities);
            if let Ok(Progress::More) = reader.feed(&bytes[..at]) {
                let rest = reader.feed(&bytes[at..]);
                assert_eq!(rest.is_ok(), whole.is_ok());
                if let (Ok(rest), Ok(whole)) = (rest, &whole) {
                    assert_eq!(rest, *whole);
                }
            }
        }
        whole
    }

    #[test]
    fn ok_and_error() {
        for capabilities in [MODERN, OLD] {
            assert_eq!(read(capabilities, &packets(&[OK])), Ok(Progress::Done));
            assert_eq!(read(capabilities, &packets(&[ERROR])), Ok(Progress::Failed));
        }
        let mut reader = ResponseReader::new(MODERN);
        reader.feed(&packets(&[ERROR])).unwrap();
        assert_eq!(reader.error().unwrap().code, 1213);
        assert_eq!(reader.error().unwrap().message, "Deadlock found");
        // ready for the next answer
        assert_eq!(reader.feed(&packets(&[OK])), Ok(Progress::Done));
    }

    #[test]
    fn responses_that_changed_no_row_are_told_apart() {
        let mut reader = ResponseReader::new(MODERN);
        for (payloads, touched) in [
            (&[OK][..], true),
            (&[&[0, 0, 0, 2, 0, 0, 0]], false),
            (&[&[1], COLUMN, ROW, OK_END], true),
            (&[&[0, 0xfc, 0, 1, 0, 2, 0, 0, 0]], true),
            // no OK at all, strictly speaking
            (&[&[0]], false),
        ] {
            for byte in packets(payloads) {
                reader.feed(&[byte]).unwrap();
            }
            assert_eq!(reader.touched(), touched, "{payloads:?}");
        }
    }

    #[test]
    fn rows_are_counted() {
        let mut reader = ResponseReader::new(MODERN);
        for (payloads, rows) in [
            (&[&[2][..], COLUMN, COLUMN, ROW, ROW, ROW, OK_END][..], 3),
            (&[&[1], COLUMN, OK_END], 0),
            (&[OK], 1),
            (&[&[0, 0xfc, 0, 1, 0, 2, 0, 0, 0]], 256),
            (&[ERROR], 0),
            (&[&[1], COLUMN, ROW, OK_END], 1),
        ] {
            for byte in packets(payloads) {
                reader.feed(&[byte]).unwrap();
            }
            assert_eq!(reader.rows(), rows, "{payloads:?}");
        }
    }

    #[test]
    fn of_several_results_all_are_counted_and_the_first_one_is_told() {
        const MORE_OK: &[u8] = &[0, 1, 0, 8, 0, 0, 0];
        const MORE_END: &[u8] = &[0xfe, 0, 0, 8, 0, 0, 0];
        const MORE_EOF: &[u8] = &[0xfe, 0, 0, 8, 0];
        let of_procedure = packets(&[
            &[1],
            COLUMN,
            ROW,
            ROW,
            MORE_END,
            &[2],
            COLUMN,
            COLUMN,
            ROW,
            MORE_END,
            OK,
        ]);
        let old = packets(&[&[1], COLUMN, EOF, ROW, ROW, MORE_EOF, OK]);
        // Rows that came, and one that was changed.
        for (kind, bytes, rows) in [(MODERN, &of_procedure, 4), (OLD, &old, 3)] {
            let several = kind | capability::MULTI_RESULTS;
            assert_eq!(read(several, bytes), Ok(Progress::Done));
            let mut reader = ResponseReader::new(several);
            assert_eq!(reader.feed(bytes), Ok(Progress::Done));
            assert_eq!((reader.rows(), reader.changed()), (rows, None));
            assert!(reader.touched());
            // The next answer is its own.
            assert_eq!(reader.feed(&packets(&[OK])), Ok(Progress::Done));
            assert_eq!((reader.rows(), reader.changed()), (1, Some(1)));
        }
        let statements = packets(&[MORE_OK, &[1], COLUMN, ROW, OK_END]);
        let mut reader = ResponseReader::new(MODERN | capability::MULTI_RESULTS);
        assert_eq!(reader.feed(&statements), Ok(Progress::Done));
        assert_eq!(reader.changed(), Some(1));
        let failing = packets(&[MORE_OK, ERROR]);
        assert_eq!(reader.feed(&failing), Ok(Progress::Failed));
        assert_eq!(reader.error().unwrap().code, 1213);
        assert_eq!(reader.feed(&packets(&[OK])), Ok(Progress::Done));
    }

    #[test]
    fn result_sets_of_both_kinds() {
        let modern = packets(&[&[2], COLUMN, COLUMN, ROW, ROW, OK_END]);
        assert_eq!(read(MODERN, &modern), Ok(Progress::Done));
        let old = packets(&[&[2], COLUMN, COLUMN, EOF, ROW, ROW, EOF]);
        assert_eq!(read(OLD, &old), Ok(Progress::Done));
        let empty = packets(&[&[1], COLUMN, OK_END]);
        assert_eq!(read(MODERN, &empty), Ok(Progress::Done));
        assert_eq!(
            read(OLD, &packets(&[&[1], COLUMN, EOF, EOF])),
            Ok(Progress::Done)
        );
        // without the agreement an EOF must stand between columns and rows
        assert!(read(OLD, &modern).is_err());
    }

    #[test]
    fn errors_at_any_point() {
        for prefix in [
            &[&[1u8][..]][..],
            &[&[2], COLUMN],
            &[&[1], COLUMN, ROW],
            &[&[1], COLUMN],
        ] {
            let mut all = prefix.to_vec();
            all.push(ERROR);
            assert_eq!(read(MODERN, &packets(&all)), Ok(Progress::Failed));
        }
    }

    #[test]
    fn errors_that_were_not_asked_for_are_numbered_from_zero() {
        let mut bytes = packets(&[ERROR]);
        bytes[3] = 0;
        assert_eq!(read(MODERN, &bytes), Ok(Progress::Failed));
        let mut bytes = packets(&[OK]);
        bytes[3] = 0;
        assert!(read(MODERN, &bytes).is_err());
    }

    #[test]
    fn answers_to_commands_of_several_packets_are_numbered_on_from_these() {
        let mut bytes = Vec::new();
        crate::protocol::command::write_packets(&mut bytes, 3, OK);
        let mut reader = ResponseReader::new(MODERN);
        reader.expect(3);
        assert_eq!(reader.feed(&bytes), Ok(Progress::Done));
        // The next one is the usual one again.
        assert_eq!(reader.feed(&packets(&[OK])), Ok(Progress::Done));
        assert!(reader.feed(&bytes).is_err());
    }

    #[test]
    fn an_answer_without_an_end_is_an_error() {
        let row = vec![0; MAX_PAYLOAD - 1];
        let mut reader = ResponseReader::new(MODERN);
        let mut bytes = packets(&[&[1], COLUMN]);
        let mut sequence = bytes[bytes.len() - 1 - COLUMN.len()];
        for fed in 0..=MAX_ANSWER / row.len() as u64 + 1 {
            match reader.feed(&bytes) {
                Ok(progress) => assert_eq!(progress, Progress::More),
                Err(error) => {
                    assert!(fed > 50, "{error}");
                    return;
                }
            }
            bytes.clear();
            sequence = sequence.wrapping_add(1);
            crate::protocol::command::write_packets(&mut bytes, sequence, &row);
        }
        panic!("more than {MAX_ANSWER} bytes were taken");
    }

    #[test]
    fn truncated_answers_wait_for_more() {
        let bytes = packets(&[&[2], COLUMN, COLUMN, ROW, ROW, OK_END]);
        for length in 0..bytes.len() {
            assert_eq!(
                ResponseReader::new(MODERN).feed(&bytes[..length]),
                Ok(Progress::More)
            );
        }
    }

    #[test]
    fn malformed_responses_are_errors() {
        for absurd in [
            packets(&[&[]]),
            packets(&[&[1], COLUMN, &[]]),
            packets(&[&[0xfb]]),
            packets(&[EOF]),
            packets(&[&[0xfc, 0, 0]]),
            packets(&[&[0xfc, 0xff, 0xff]]),
            packets(&[&[0xfd, 1]]),
            packets(&[OK, OK]),
            vec![1, 0, 0, 9, 0],
        ] {
            assert!(read(MODERN, &absurd).is_err(), "{absurd:?}");
        }
        // an error without a code
        let mut reader = ResponseReader::new(MODERN);
        assert_eq!(reader.feed(&packets(&[&[0xff]])), Ok(Progress::Failed));
        assert!(reader.error().is_err());
        // an error far too long keeps its start only
        let mut long = ERROR.to_vec();
        long.resize(100_000, b'x');
        assert_eq!(reader.feed(&packets(&[&long])), Ok(Progress::Failed));
        assert!(reader.error().unwrap().message.len() < KEPT);
    }

    #[test]
    fn random_bytes_never_panic() {
        use rand::{RngExt, SeedableRng};
        let mut rng = rand::rngs::Xoshiro256PlusPlus::seed_from_u64(1);
        let bytes = packets(&[&[2], COLUMN, COLUMN, ROW, ROW, OK_END]);
        for _ in 0..200_000 {
            let mut damaged = bytes.clone();
            for _ in 0..rng.random_range(1..4) {
                let at = rng.random_range(0..damaged.len());
                damaged[at] = rng.random();
            }
            for capabilities in [MODERN, OLD] {
                let mut reader = ResponseReader::new(capabilities);
                for piece in damaged.chunks(rng.random_range(1..64)) {
                    match reader.feed(piece) {
                        Ok(Progress::Failed) => drop(reader.error()),
                        Ok(_) => {}
                        Err(_) => break,
                    }
                }
            }
        }
    }

    #[test]
    fn rows_longer_than_a_packet() {
        for length in [MAX_PAYLOAD - 1, MAX_PAYLOAD, MAX_PAYLOAD + 10] {
            let mut row = vec![0xff; length];
            row[0] = 0;
            let bytes = packets(&[&[1], COLUMN, &row, ROW, OK_END]);
            let mut reader = ResponseReader::new(MODERN);
            let mut progress = Progress::More;
            for piece in bytes.chunks(65_536) {
                assert_eq!(progress, Progress::More);
                progress = reader.feed(piece).unwrap();
            }
            assert_eq!(progress, Progress::Done, "{length}");
            assert_eq!(reader.rows(), 2, "{length}");
        }
    }
}
