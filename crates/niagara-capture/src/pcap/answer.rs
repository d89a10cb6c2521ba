//! What a server answers to a command, skimmed: rows, errors, where it ends.
//!
//! Whether result sets end with an EOF or an OK is agreed upon at the login. Where that was not seen it follows from the
//! packets themselves.

use super::field::Fields;

/// SERVER_STATUS_IN_TRANS, of a transaction of several statements.
const IN_TRANSACTION: u16 = 1;
const AUTOCOMMIT: u16 = 2;
/// SERVER_MORE_RESULTS_EXISTS.
const MORE_RESULTS: u16 = 8;
/// SERVER_STATUS_CURSOR_EXISTS: rows are fetched.
const CURSOR: u16 = 0x40;
/// SERVER_STATUS_LAST_ROW_SENT: nothing is left to be fetched.
const LAST_ROW: u16 = 0x80;
/// SERVER_STATUS_NO_BACKSLASH_ESCAPES.
const NO_BACKSLASH_ESCAPES: u16 = 0x200;

/// The number of an error that is none: MariaDB says how far a long statement is.
const PROGRESS: u64 = 0xffff;

/// Most columns of a result (the server's limit of a table, and of a view's select list).
const MAX_COLUMNS: u64 = 4096;

/// What is awaited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    First,
    /// Definitions of columns, this many to come.
    Columns(u64),
    /// Behind the definitions: an EOF, a row, or the end.
    AfterColumns,
    Rows,
    /// Of a prepare: definitions of parameters or columns, and how many of columns come after these.
    Prepared {
        left: u64,
        then: u64,
    },
    /// Behind such a group: an EOF, where the server sends one.
    AfterGroup {
        then: u64,
    },
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
    /// Definitions of columns alone (COM_FIELD_LIST).
    Fields,
    /// The exchange of a login, up to OK or an error.
    Login,
    /// One packet whatever it is.
    One,
}

/// How a server speaks, as far as client and server agree upon it; none: not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Manner {
    /// Definitions end with an EOF (no CLIENT_DEPRECATE_EOF).
    pub ends_definitions: Option<bool>,
    /// MariaDB says behind the number of columns whether their definitions follow (MARIADB_CLIENT_CACHE_METADATA).
    pub may_leave_out: Option<bool>,
    /// MySQL says so before it (CLIENT_OPTIONAL_RESULTSET_METADATA).
    pub says_first: bool,
}

/// What the server says of the session at the end of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Status(pub u16);

impl Status {
    /// A transaction of several statements is open.
    pub(super) fn in_transaction(self) -> bool {
        self.0 & IN_TRANSACTION != 0
    }

    /// Statements outside of one are transactions of their own.
    pub(super) fn autocommit(self) -> bool {
        self.0 & AUTOCOMMIT != 0
    }

    /// The `sql_mode` has NO_BACKSLASH_ESCAPES.
    pub(super) fn no_backslash_escapes(self) -> bool {
        self.0 & NO_BACKSLASH_ESCAPES != 0
    }
}

/// What a packet is to an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Took {
    /// More of it follows.
    More,
    /// It was the last one.
    Last,
    /// It is none of this answer, or not the protocol.
    Wrong,
}

/// What is known of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    part: Part,
    expected: Expected,
    /// How the server speaks, with what this answer has shown of it.
    pub manner: Manner,
    /// The number of the packet that comes next; none: any.
    next_number: Option<u8>,
    pub rows_sent: u64,
    pub rows_affected: u64,
    /// The server's error; 0: none.
    pub error: u32,
    /// Of a prepare: the statement's number, and how many parameters it has.
    pub prepared: Option<(u32, u16)>,
    /// Of the session at its end, where the answer says it.
    pub status: Option<Status>,
}

impl Answer {
    /// Of a command whose last packet has the number before `first`.
    pub(super) fn new(expected: Expected, first: u8, manner: Manner) -> Answer {
        Answer {
            part: match expected {
                Expected::Rows => Part::Rows,
                _ => Part::First,
            },
            expected,
            manner,
            next_number: (expected != Expected::Login).then_some(first),
            rows_sent: 0,
            rows_affected: 0,
            error: 0,
            prepared: None,
            status: None,
        }
    }

    /// Whether its rows are fetched by commands of their own.
    pub(super) fn has_cursor(&self) -> bool {
        self.status.is_some_and(|status| status.0 & CURSOR != 0)
    }

    /// Whether a fetch brought the last row.
    pub(super) fn has_last_row(&self) -> bool {
        self.status.is_some_and(|status| status.0 & LAST_ROW != 0)
    }

    /// Whether nothing of it has come yet, and its first packet has another number.
    pub(super) fn begins_with_another(&self, number: u8) -> bool {
        self.part == Part::First && self.status.is_none() && self.next_number != Some(number)
    }

    /// Takes the next packet, of these numbers (a long one has several); `packet` may be its beginning, `length` is the length
    /// of it all.
    pub(super) fn packet(&mut self, numbers: (u8, u8), packet: &[u8], length: usize) -> Took {
        let is_next = self.next_number.is_none_or(|next| next == numbers.0);
        // Who gives up in the middle of a command has another number.
        let gives_up = self.part == Part::First && packet.first() == Some(&0xff);
        if !is_next && !gives_up {
            return Took::Wrong;
        }
        if self.expected != Expected::Login {
            self.next_number = Some(numbers.1.wrapping_add(1));
        }
        match self.read(packet, length) {
            Some(true) => Took::Last,
            Some(false) => Took::More,
            None => Took::Wrong,
        }
    }

    /// Reads a packet; true: it is the last one. None: this is not the protocol.
    fn read(&mut self, packet: &[u8], length: usize) -> Option<bool> {
        let &first = packet.first()?;
        if first == 0xff {
            let error = Fields(&packet[1..]).number(2)?;
            if error == PROGRESS {
                return Some(false);
            }
            self.error = error as u32;
            return Some(true);
        }
        let is_eof = first == 0xfe && length == 5;
        match (self.expected, self.part) {
            (Expected::One, _) => {
                if first == 0 {
                    // Where it is an OK it says how the session is; other answers are a text.
                    let mut fields = Fields(&packet[1..]);
                    let status = fields.lenenc().and(fields.lenenc()).and(fields.number(2));
                    self.status = status.map(|status| Status(status as u16));
                }
                Some(true)
            }
            (Expected::Login, _) => match first {
                0 => self.ok(packet),
                // Another way to log in is wanted, or more data for it.
                _ => Some(false),
            },
            (Expected::Fields, _) => Some(first == 0xfe && length < 0xff_ffff),
            (Expected::Prepare, Part::First) => self.prepare(packet),
            (_, Part::First) => self.first(packet, length),
            (_, Part::Columns(left)) => {
                self.part = self.after_columns(left.saturating_sub(1));
                Some(false)
            }
            (_, Part::AfterColumns) if is_eof => {
                self.manner.ends_definitions = Some(true);
                self.part = Part::Rows;
                // An EOF that says so opens a cursor: rows are fetched.
                let status = Fields(&packet[3..]).number(2)? as u16;
                self.status = Some(Status(status));
                Some(status & CURSOR != 0)
            }
            (_, Part::AfterColumns | Part::Rows) => self.row(first, packet, length),
            (_, Part::Prepared { left, then }) => Some(self.definition(left, then)),
            (_, Part::AfterGroup { then }) if is_eof => {
                self.manner.ends_definitions = Some(true);
                Some(self.group(then, 0))
            }
            (_, Part::AfterGroup { then }) => {
                self.manner.ends_definitions = Some(false);
                Some(self.definition(then, 0))
            }
        }
    }

    /// The first packet of a result.
    fn first(&mut self, packet: &[u8], length: usize) -> Option<bool> {
        match packet[0] {
            0 if self.manner.says_first && length <= 3 => {
                self.part = Part::AfterColumns;
                Some(false)
            }
            0 => self.ok(packet),
            0xfb => {
                // The client sends a file, and the numbers go on with those of it.
                self.next_number = None;
                Some(false)
            }
            // Of COM_SET_OPTION and the like.
            0xfe if length <= 9 => Some(true),
            _ => {
                let mut fields = Fields(packet);
                if self.manner.says_first {
                    fields.u8()?;
                }
                let columns = fields.lenenc()?;
                if columns == 0 || columns > MAX_COLUMNS {
                    return None;
                }
                let follow = match (fields.0, self.manner.may_leave_out) {
                    ([], _) => true,
                    ([follow], Some(true) | None) => *follow != 0,
                    _ => return None,
                };
                self.part = self.after_columns(if follow { columns } else { 0 });
                Some(false)
            }
        }
    }

    fn after_columns(&self, left: u64) -> Part {
        match (left, self.manner.ends_definitions) {
            (0, Some(false)) => Part::Rows,
            (0, _) => Part::AfterColumns,
            (left, _) => Part::Columns(left),
        }
    }

    fn row(&mut self, first: u8, packet: &[u8], length: usize) -> Option<bool> {
        if self.part == Part::AfterColumns && first != 0xfe {
            self.manner.ends_definitions = Some(false);
        }
        self.part = Part::Rows;
        if first != 0xfe || length >= 0xff_ffff {
            self.rows_sent += 1;
            return Some(false);
        }
        if length == 5 {
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
        self.status = Some(Status(status));
        status & MORE_RESULTS == 0
    }

    fn prepare(&mut self, packet: &[u8]) -> Option<bool> {
        if packet[0] != 0 {
            return None;
        }
        let mut fields = Fields(&packet[1..]);
        let statement = fields.number(4)? as u32;
        let columns = fields.number(2)?;
        let parameters = fields.number(2)?;
        self.prepared = Some((statement, parameters as u16));
        // Nothing, warnings, and whether definitions follow.
        if self.manner.says_first && packet.get(12) == Some(&0) {
            return Some(true);
        }
        Some(match parameters {
            0 => self.group(columns, 0),
            _ => self.group(parameters, columns),
        })
    }

    /// A group of definitions begins, `then` in another one behind it; true: there is none.
    fn group(&mut self, left: u64, then: u64) -> bool {
        self.part = Part::Prepared { left, then };
        left == 0
    }

    /// A definition of a prepare; true: it is the last packet, for all that can be told.
    fn definition(&mut self, left: u64, then: u64) -> bool {
        match (left.saturating_sub(1), self.manner.ends_definitions) {
            (0, Some(false)) => self.group(then, 0),
            (0, ends) => {
                self.part = Part::AfterGroup { then };
                // A last EOF may follow; who reads on passes over it.
                ends.is_none() && then == 0
            }
            (left, _) => self.group(left, then),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];
    const OK_AT_END: &[u8] = &[0xfe, 0, 0, 2, 0, 0, 0];
    const OK: &[u8] = &[0, 1, 0, 2, 0, 0, 0];
    const COLUMN: &[u8] = b"\x03def\x00\x00\x00\x01a\x00";
    const UNKNOWN: Manner = Manner {
        ends_definitions: None,
        may_leave_out: None,
        says_first: false,
    };

    fn read_as(expected: Expected, manner: Manner, packets: &[&[u8]]) -> Answer {
        let mut answer = Answer::new(expected, 1, manner);
        for (place, packet) in packets.iter().enumerate() {
            let number = place as u8 + 1;
            let took = match place + 1 == packets.len() {
                true => Took::Last,
                false => Took::More,
            };
            let found = answer.packet((number, number), packet, packet.len());
            assert_eq!(found, took, "{place}: {packet:?}");
        }
        answer
    }

    fn read(expected: Expected, packets: &[&[u8]]) -> Answer {
        read_as(expected, UNKNOWN, packets)
    }

    #[test]
    fn result_sets_of_both_kinds_end_where_they_end() {
        for (packets, ends) in [
            (&[&[1][..], COLUMN, EOF, b"\x011", b"\x012", EOF][..], true),
            (&[&[1], COLUMN, b"\x011", b"\x012", OK_AT_END], false),
        ] {
            let known = Manner {
                ends_definitions: Some(ends),
                ..UNKNOWN
            };
            for manner in [UNKNOWN, known] {
                let answer = read_as(Expected::Result, manner, packets);
                assert_eq!(answer.rows_sent, 2);
                assert_eq!(answer.manner.ends_definitions, Some(ends));
                let status = answer.status.expect("an end");
                assert!(status.autocommit() && !status.in_transaction());
            }
        }
        let none = &[&[1][..], COLUMN, OK_AT_END];
        assert_eq!(read(Expected::Result, none).rows_sent, 0);
        let none = &[&[1][..], COLUMN, EOF, EOF];
        assert_eq!(read(Expected::Result, none).rows_sent, 0);
        // A second result follows.
        let more = &[0xfe, 0, 0, 10, 0][..];
        let two = read(
            Expected::Result,
            &[&[1], COLUMN, EOF, b"\x011", more, &[0, 3, 0, 2, 0, 0, 0]],
        );
        assert_eq!((two.rows_sent, two.rows_affected), (1, 3));
    }

    #[test]
    fn definitions_may_be_left_out() {
        // MariaDB: the client has them from the last execution.
        let rows = [0, 0, 7];
        let packets = &[&[2, 0][..], EOF, &rows, EOF];
        assert_eq!(read(Expected::Result, packets).rows_sent, 1);
        let packets = &[&[2, 1][..], COLUMN, COLUMN, EOF, &rows, EOF];
        assert_eq!(read(Expected::Result, packets).rows_sent, 1);
        let manner = Manner {
            ends_definitions: Some(false),
            may_leave_out: Some(true),
            says_first: false,
        };
        let packets = &[&[2, 0][..], &rows, OK_AT_END];
        assert_eq!(read_as(Expected::Result, manner, packets).rows_sent, 1);
        // MySQL, on the client's wish.
        let manner = Manner {
            ends_definitions: Some(false),
            may_leave_out: Some(false),
            says_first: true,
        };
        for packets in [
            &[&[0, 2][..], &rows, OK_AT_END][..],
            &[&[1, 2][..], COLUMN, COLUMN, &rows, OK_AT_END],
        ] {
            assert_eq!(read_as(Expected::Result, manner, packets).rows_sent, 1);
        }
    }

    #[test]
    fn errors_and_prepares() {
        let error = read(Expected::Result, &[b"\xff\x28\x04#42000You have"]);
        assert_eq!(error.error, 1064);
        let prepared = [0, 7, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0];
        let without = &[&prepared[..], COLUMN, COLUMN, COLUMN];
        let with = &[&prepared[..], COLUMN, COLUMN, EOF, COLUMN, EOF];
        for (packets, ends) in [(&without[..], false), (&with[..], true)] {
            let manner = Manner {
                ends_definitions: Some(ends),
                ..UNKNOWN
            };
            let answer = read_as(Expected::Prepare, manner, packets);
            assert_eq!(answer.prepared, Some((7, 2)));
        }
        // Where it is not known, the first group tells.
        assert_eq!(
            read(Expected::Prepare, with).manner.ends_definitions,
            Some(true)
        );
        read(Expected::Prepare, without);
        let mut answer = Answer::new(Expected::Result, 1, UNKNOWN);
        assert_eq!(answer.packet((1, 1), &[], 0), Took::Wrong);
        assert_eq!(answer.packet((1, 1), &[0], 1), Took::Wrong);
    }

    #[test]
    fn what_is_no_end_is_none() {
        // MariaDB says how far it is.
        let progress = b"\xff\xff\xff\x01\x01\x02\x00\x00\x00\x04copy";
        read(Expected::Result, &[progress, progress, OK]);
        // A client is asked for more than its password.
        let wants = b"\xfemysql_native_password\0abcdefgh\0";
        read(Expected::Login, &[wants, &[1, 4], OK]);
        assert_eq!(read(Expected::Login, &[b"\xff\x15\x04no"]).error, 1045);
        let fields = read(Expected::Fields, &[COLUMN, COLUMN, EOF]);
        assert_eq!(fields.rows_sent, 0);
        assert_eq!(read(Expected::One, &[OK]).status, Some(Status(2)));
        read(
            Expected::One,
            &[b"Uptime: 9  Threads: 1  Questions: 4711  Slow queries: 0"],
        );
    }

    #[test]
    fn a_cursor_is_an_answer_without_its_rows() {
        let open = &[0xfe, 0, 0, 0x42, 0][..];
        let opened = read(Expected::Result, &[&[1], COLUMN, open]);
        assert!(opened.has_cursor() && opened.rows_sent == 0);
        let some = read(Expected::Rows, &[&[0, 0, 1], &[0, 0, 2], open]);
        assert!(!some.has_last_row() && some.rows_sent == 2);
        let rest = read(Expected::Rows, &[&[0, 0, 1], &[0xfe, 0, 0, 0x82, 0]]);
        assert!(rest.has_last_row() && rest.rows_sent == 1);
    }

    #[test]
    fn packets_have_numbers() {
        let mut answer = Answer::new(Expected::Result, 1, UNKNOWN);
        assert_eq!(answer.packet((1, 1), &[1], 1), Took::More);
        assert_eq!(answer.packet((2, 2), COLUMN, COLUMN.len()), Took::More);
        // The first one of another answer.
        assert_eq!(answer.packet((1, 1), OK, OK.len()), Took::Wrong);
        // A long row has several; its number wraps.
        let mut answer = Answer::new(Expected::Rows, 254, UNKNOWN);
        let row = [0xfe; 9];
        assert_eq!(answer.packet((254, 0), &row, 1 << 25), Took::More);
        assert_eq!(answer.packet((1, 1), EOF, EOF.len()), Took::Last);
        assert_eq!(answer.rows_sent, 1);
        // An error that comes too early for its number.
        let mut answer = Answer::new(Expected::Result, 5, UNKNOWN);
        assert_eq!(answer.packet((2, 2), b"\xff\x81\x04x", 4), Took::Last);
        assert_eq!(answer.error, 1153);
    }

    #[test]
    fn a_file_of_the_clients_comes_between() {
        let mut answer = Answer::new(Expected::Result, 1, UNKNOWN);
        assert_eq!(answer.packet((1, 1), b"\xfb/tmp/x", 7), Took::More);
        assert_eq!(answer.packet((4, 4), OK, OK.len()), Took::Last);
        assert_eq!(answer.rows_affected, 1);
    }
}
