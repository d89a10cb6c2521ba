//! What a server answers to a command, skimmed: rows, errors, where it ends.
//!
//! Whether result sets end with an EOF or an OK follows from the packets themselves, so that connections whose login was
//! not seen can be read as well.

use super::field::Fields;

/// SERVER_MORE_RESULTS_EXISTS.
const MORE_RESULTS: u16 = 8;

/// What is awaited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    First,
    /// Definitions of columns, this many to come.
    Columns(u64),
    /// Behind the definitions: an EOF, a row, or the end.
    AfterColumns,
    Rows,
    /// Of a prepare: definitions of parameters and columns, with an EOF behind each where the server sends one.
    Prepared(u64),
}

/// How an answer is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// A result set, OK or an error.
    Result,
    /// The answer to COM_STMT_PREPARE.
    Prepare,
    /// Rows alone (COM_STMT_FETCH).
    Rows,
    /// One packet whatever it is.
    One,
}

/// What is known of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    part: Part,
    expected: Expected,
    pub rows_sent: u64,
    pub rows_affected: u64,
    /// The server's error; 0: none.
    pub error: u32,
    /// Of a prepare: the statement's number, and how many parameters it has.
    pub prepared: Option<(u32, u16)>,
    /// The server asks for a file of the client's.
    pub wants_file: bool,
}

impl Answer {
    pub(super) fn new(expected: Expected) -> Answer {
        Answer {
            part: match expected {
                Expected::Rows => Part::Rows,
                _ => Part::First,
            },
            expected,
            rows_sent: 0,
            rows_affected: 0,
            error: 0,
            prepared: None,
            wants_file: false,
        }
    }

    /// Takes the next packet; true: it was the last one. None: this is not the protocol.
    pub(super) fn packet(&mut self, packet: &[u8]) -> Option<bool> {
        let (&first, length) = (packet.first()?, packet.len());
        if first == 0xff {
            self.error = Fields(&packet[1..]).number(2)? as u32;
            return Some(true);
        }
        if self.expected == Expected::One {
            return Some(true);
        }
        match self.part {
            Part::First if self.expected == Expected::Prepare => self.prepare(packet),
            Part::First => match first {
                0 => self.ok(packet),
                0xfb => {
                    self.wants_file = true;
                    Some(false)
                }
                // Of COM_SET_OPTION and the like.
                0xfe if length <= 9 => Some(true),
                _ => {
                    self.part = Part::Columns(Fields(packet).lenenc()?);
                    Some(false)
                }
            },
            Part::Columns(left) => {
                self.part = match left {
                    0 | 1 => Part::AfterColumns,
                    more => Part::Columns(more - 1),
                };
                Some(false)
            }
            Part::AfterColumns if first == 0xfe && length == 5 => {
                self.part = Part::Rows;
                // An EOF that says so opens a cursor: rows are fetched.
                let status = Fields(&packet[3..]).number(2)?;
                Some(status & 0x40 != 0)
            }
            Part::AfterColumns | Part::Rows => self.row(first, packet),
            Part::Prepared(left) => {
                let is_eof = first == 0xfe && length == 5;
                let left = left - u64::from(!is_eof && left > 0);
                self.part = Part::Prepared(left);
                // A last EOF may follow; it belongs to no command.
                Some(left == 0)
            }
        }
    }

    fn row(&mut self, first: u8, packet: &[u8]) -> Option<bool> {
        self.part = Part::Rows;
        if first != 0xfe || packet.len() >= 0xff_ffff {
            self.rows_sent += 1;
            return Some(false);
        }
        if packet.len() == 5 {
            let status = Fields(&packet[3..]).number(2)? as u16;
            return Some(self.ended(status));
        }
        // An OK with the first byte of an EOF: rows changed, number made, status.
        let mut fields = Fields(&packet[1..]);
        fields.lenenc()?;
        fields.lenenc()?;
        let status = fields.number(2)? as u16;
        Some(self.ended(status))
    }

    fn ok(&mut self, packet: &[u8]) -> Option<bool> {
        let mut fields = Fields(&packet[1..]);
        self.rows_affected = self.rows_affected.saturating_add(fields.lenenc()?);
        fields.lenenc()?;
        let status = fields.number(2)? as u16;
        Some(self.ended(status))
    }

    fn ended(&mut self, status: u16) -> bool {
        self.part = Part::First;
        status & MORE_RESULTS == 0
    }

    fn prepare(&mut self, packet: &[u8]) -> Option<bool> {
        let mut fields = Fields(&packet[1..]);
        let statement = fields.number(4)? as u32;
        let columns = fields.number(2)?;
        let parameters = fields.number(2)?;
        self.prepared = Some((statement, parameters as u16));
        self.part = Part::Prepared(columns + parameters);
        Some(columns + parameters == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];
    const OK_AT_END: &[u8] = &[0xfe, 0, 0, 2, 0, 0, 0];

    fn read(expected: Expected, packets: &[&[u8]]) -> Answer {
        let mut answer = Answer::new(expected);
        let (last, others) = packets.split_last().unwrap();
        for packet in others {
            assert_eq!(answer.packet(packet), Some(false), "{packet:?}");
        }
        assert_eq!(answer.packet(last), Some(true));
        answer
    }

    #[test]
    fn result_sets_of_both_kinds_end_where_they_end() {
        let column = b"\x03def\x00\x00\x00\x01a\x00";
        for packets in [
            &[&[1][..], column, EOF, b"\x011", b"\x012", EOF][..],
            &[&[1], column, b"\x011", b"\x012", OK_AT_END],
        ] {
            assert_eq!(read(Expected::Result, packets).rows_sent, 2);
        }
        assert_eq!(
            read(Expected::Result, &[&[1], column, OK_AT_END]).rows_sent,
            0
        );
        assert_eq!(
            read(Expected::Result, &[&[1], column, EOF, EOF]).rows_sent,
            0
        );
        // A second result follows.
        let more = &[0xfe, 0, 0, 10, 0][..];
        let two = read(
            Expected::Result,
            &[&[1], column, EOF, b"\x011", more, &[0, 3, 0, 2, 0, 0, 0]],
        );
        assert_eq!((two.rows_sent, two.rows_affected), (1, 3));
    }

    #[test]
    fn errors_and_prepares() {
        let error = read(Expected::Result, &[b"\xff\x28\x04#42000You have"]);
        assert_eq!(error.error, 1064);
        let prepared = [0, 7, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0];
        let answer = read(
            Expected::Prepare,
            &[&prepared, b"\x03def", b"\x03def", EOF, b"\x03def"],
        );
        assert_eq!(answer.prepared, Some((7, 2)));
        assert_eq!(Answer::new(Expected::Result).packet(&[]), None);
        assert_eq!(Answer::new(Expected::Result).packet(&[0]), None);
    }
}
