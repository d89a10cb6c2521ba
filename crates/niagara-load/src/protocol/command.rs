//! Commands, written into a buffer that is used again for every one of them.

use super::packet::MAX_PAYLOAD;

const COM_QUIT: u8 = 0x01;
const COM_INIT_DB: u8 = 0x02;
const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const COM_RESET_CONNECTION: u8 = 0x1f;
/// MariaDB's own.
const COM_STMT_BULK_EXECUTE: u8 = 0xfa;
/// Types of parameters follow, in a COM_STMT_BULK_EXECUTE.
const SENDS_TYPES: u16 = 128;

/// COM_QUIT, whole.
pub(crate) const QUIT: [u8; 5] = [1, 0, 0, 0, COM_QUIT];

/// The type of a parameter, with its flag byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum ParameterType {
    /// i32 (MYSQL_TYPE_LONG).
    Int = 0x0003,
    /// i64 (MYSQL_TYPE_LONGLONG); no statement of the first workloads has one.
    #[cfg_attr(not(test), expect(dead_code))]
    BigInt = 0x0008,
    /// A day and a time of day, in a byte each but for the year (MYSQL_TYPE_DATETIME).
    DateTime = 0x000c,
    /// A decimal number, in digits (MYSQL_TYPE_NEWDECIMAL).
    Decimal = 0x00f6,
    /// A string of bytes (MYSQL_TYPE_STRING).
    String = 0x00fe,
}

/// Writes `payload` as packets, numbered from `sequence`, and returns the next number.
pub fn write_packets(out: &mut Vec<u8>, mut sequence: u8, mut payload: &[u8]) -> u8 {
    loop {
        let (packet, rest) = payload.split_at(payload.len().min(MAX_PAYLOAD));
        out.extend_from_slice(&(packet.len() as u32).to_le_bytes()[..3]);
        out.push(sequence);
        out.extend_from_slice(packet);
        sequence = sequence.wrapping_add(1);
        payload = rest;
        // A packet of the greatest length is always followed by another, be it empty.
        if packet.len() < MAX_PAYLOAD {
            return sequence;
        }
    }
}

/// The number that the answer to what `commands` holds begins with: both ends count on through the packets of a command, the
/// last of which is the one that is answered.
#[inline]
pub(crate) fn answer_number(commands: &[u8]) -> u8 {
    let mut last = 0;
    let mut rest = commands;
    while let Some((&[a, b, c, number], behind)) = rest.split_first_chunk() {
        last = number;
        let length = u32::from_le_bytes([a, b, c, 0]) as usize;
        rest = behind.get(length..).unwrap_or_default();
    }
    last.wrapping_add(1)
}

/// COM_QUERY: a statement in text.
pub(crate) fn query(out: &mut Vec<u8>, sql: &[u8]) {
    text_command(out, COM_QUERY, sql);
}

/// COM_INIT_DB: the choice of a database.
pub(crate) fn init_db(out: &mut Vec<u8>, name: &[u8]) {
    text_command(out, COM_INIT_DB, name);
}

/// COM_RESET_CONNECTION: a session like a fresh one.
pub(crate) fn reset_connection(out: &mut Vec<u8>) {
    text_command(out, COM_RESET_CONNECTION, b"");
}

/// COM_STMT_PREPARE.
pub(crate) fn prepare(out: &mut Vec<u8>, sql: &[u8]) {
    text_command(out, COM_STMT_PREPARE, sql);
}

fn text_command(out: &mut Vec<u8>, command: u8, text: &[u8]) {
    out.clear();
    // The command's byte is the first packet's first one.
    let (first, rest) = text.split_at(text.len().min(MAX_PAYLOAD - 1));
    out.extend_from_slice(&(first.len() as u32 + 1).to_le_bytes()[..3]);
    out.push(0);
    out.push(command);
    out.extend_from_slice(first);
    // As in `write_packets`: a packet of the greatest length is always followed by another.
    if first.len() + 1 == MAX_PAYLOAD {
        write_packets(out, 1, rest);
    }
}

/// COM_STMT_EXECUTE under construction: parameters in order, then [`finish`](Execute::finish).
#[derive(Debug)]
pub(crate) struct Execute<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> Execute<'a> {
    /// Starts the command in `out`, which is emptied. `types` go with the first execution of a
    /// statement (`send_types`); the server remembers them, as it does for the usual client library.
    pub(crate) fn new(
        out: &'a mut Vec<u8>,
        statement: u32,
        types: &[ParameterType],
        send_types: bool,
    ) -> Self {
        out.clear();
        out.extend_from_slice(&[0, 0, 0, 0, COM_STMT_EXECUTE]);
        out.extend_from_slice(&statement.to_le_bytes());
        out.push(0); // no cursor
        out.extend_from_slice(&1u32.to_le_bytes()); // one iteration
        if !types.is_empty() {
            out.resize(out.len() + types.len().div_ceil(8), 0); // nothing is NULL
            out.push(u8::from(send_types));
            if send_types {
                for &parameter in types {
                    out.extend_from_slice(&(parameter as u16).to_le_bytes());
                }
            }
        }
        Execute { out }
    }

    pub(crate) fn int(self, value: i32) -> Self {
        self.out.extend_from_slice(&value.to_le_bytes());
        self
    }

    #[cfg(test)]
    pub(crate) fn bigint(self, value: i64) -> Self {
        self.out.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// A string of `length` bytes, filled in place.
    pub(crate) fn string(self, length: u8, fill: impl FnOnce(&mut [u8])) -> Self {
        debug_assert!(length <= 250, "longer lengths take more than one byte");
        self.out.push(length);
        let start = self.out.len();
        self.out.resize(start + usize::from(length), 0);
        fill(&mut self.out[start..]);
        self
    }

    /// Closes the packet.
    pub(crate) fn finish(self) {
        let length = (self.out.len() - 4) as u32;
        self.out[..3].copy_from_slice(&length.to_le_bytes()[..3]);
    }
}

/// The payload of COM_STMT_BULK_EXECUTE but for the rows, which follow: of every parameter a byte that says whether it is
/// NULL, then its value.
pub(crate) fn bulk_execute(payload: &mut Vec<u8>, statement: u32, types: &[ParameterType]) {
    payload.clear();
    payload.push(COM_STMT_BULK_EXECUTE);
    payload.extend_from_slice(&statement.to_le_bytes());
    payload.extend_from_slice(&SENDS_TYPES.to_le_bytes());
    for &parameter in types {
        payload.extend_from_slice(&(parameter as u16).to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn execute_is_laid_out_as_the_protocol_says() {
        let mut out = vec![9; 100];
        let types = [
            ParameterType::Int,
            ParameterType::BigInt,
            ParameterType::String,
        ];
        Execute::new(&mut out, 0x0102_0304, &types, true)
            .int(-2)
            .bigint(5)
            .string(3, |text| text.copy_from_slice(b"abc"))
            .finish();
        let body = [
            &[0x17, 4, 3, 2, 1, 0, 1, 0, 0, 0][..],
            &[0, 1, 3, 0, 8, 0, 0xfe, 0],
            &[0xfe, 0xff, 0xff, 0xff],
            &[5, 0, 0, 0, 0, 0, 0, 0],
            &[3, b'a', b'b', b'c'],
        ]
        .concat();
        assert_eq!(out[..4], [body.len() as u8, 0, 0, 0]);
        assert_eq!(out[4..], body);

        Execute::new(&mut out, 1, &types[..1], false)
            .int(7)
            .finish();
        assert_eq!(
            out,
            [
                16, 0, 0, 0, 0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 7, 0, 0, 0
            ]
        );

        Execute::new(&mut out, 1, &[], true).finish();
        assert_eq!(out, [10, 0, 0, 0, 0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0]);
    }

    #[test]
    fn long_payloads_are_split() {
        let mut out = Vec::new();
        let next = write_packets(&mut out, 0, &vec![1; MAX_PAYLOAD]);
        assert_eq!(next, 2);
        assert_eq!(out.len(), MAX_PAYLOAD + 8);
        assert_eq!(out[out.len() - 4..], [0, 0, 0, 1]);
    }

    #[test]
    fn long_statements_are_split_as_any_payload() {
        for length in [
            1,
            MAX_PAYLOAD - 2,
            MAX_PAYLOAD - 1,
            MAX_PAYLOAD,
            MAX_PAYLOAD + 9,
        ] {
            let sql = vec![b'x'; length];
            let (mut out, mut expected) = (Vec::new(), Vec::new());
            query(&mut out, &sql);
            let next = write_packets(&mut expected, 0, &[&[COM_QUERY][..], &sql].concat());
            assert!(out == expected, "{length}");
            assert_eq!(answer_number(&out), next, "{length}");
        }
    }

    #[test]
    fn answers_are_numbered_on_from_the_command_that_is_answered() {
        assert_eq!(answer_number(&QUIT), 1);
        // Behind one that is not answered, as a script's COM_STMT_CLOSE.
        let mut commands = QUIT.to_vec();
        write_packets(&mut commands, 0, &vec![1; MAX_PAYLOAD]);
        assert_eq!(answer_number(&commands), 2);
        commands.extend_from_slice(&QUIT);
        assert_eq!(answer_number(&commands), 1);
    }
}
