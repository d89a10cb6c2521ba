//! The text of `bulk_insert`: as many rows as fit.

use crate::protocol::command;

/// Bytes of a multi-row insert, a final zero byte included: the size of sysbench's buffer. Every server's
/// max_allowed_packet has room for it.
pub(super) const BULK_BYTES: usize = 512 * 1024;

/// Bytes of a packet before the statement: its header and the command.
const BEFORE: usize = 5;

/// Writes COM_QUERY with rows `first`, `first` + 1 and so on into `out`, which is emptied; returns how many.
pub(super) fn write_insert(out: &mut Vec<u8>, table: u32, first: u64) -> u64 {
    let mut digits = itoa::Buffer::new();
    command::query(out, b"INSERT INTO sbtest");
    out.extend_from_slice(digits.format(table).as_bytes());
    out.extend_from_slice(b" VALUES");
    let mut rows = 0;
    loop {
        let row = digits.format(first + rows).as_bytes();
        let comma = usize::from(rows > 0);
        let length = 2 * row.len() + 3;
        if out.len() - BEFORE + length + comma + 1 > BULK_BYTES {
            break;
        }
        if comma > 0 {
            out.push(b',');
        }
        out.push(b'(');
        out.extend_from_slice(row);
        out.push(b',');
        out.extend_from_slice(row);
        out.push(b')');
        rows += 1;
    }
    crate::workload::parameters::close_packet(out);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_and_in_order() {
        let mut out = vec![1, 2, 3];
        let rows = write_insert(&mut out, 12, 98);
        let length = u32::from_le_bytes([out[0], out[1], out[2], 0]) as usize;
        assert_eq!(length, out.len() - 4);
        assert_eq!(out[3..5], [0, 3]);
        let text = std::str::from_utf8(&out[5..]).unwrap();
        assert!(
            text.starts_with("INSERT INTO sbtest12 VALUES(98,98),(99,99),(100,100),"),
            "{}",
            &text[..60]
        );
        let last = 98 + rows - 1;
        assert!(text.ends_with(&format!(",({last},{last})")));
        assert_eq!(text.matches('(').count() as u64, rows);
        assert!(text.len() < BULK_BYTES);
        // one more would not have fitted
        assert!(text.len() + format!(",({last},{last})").len() + 1 > BULK_BYTES);
    }
}
