//! Commands of the protocol, with the values that a script has bound.

use niagara_load::write_packets;
use std::ffi::{c_char, c_ulong, c_void};

/// As `boot.lua` declares it: keep them alike.
#[repr(C)]
pub struct Bind {
    pub kind: i32,
    pub buffer: *const c_void,
    pub data_len: *const c_ulong,
    pub max_len: c_ulong,
    pub is_null: *const c_char,
}

/// A bound value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound<'a> {
    Null,
    Whole(i64),
    Real(f64),
    Text(&'a [u8]),
}

/// The kinds that scripts' parameters have, by sysbench's numbers.
const WHOLE: i32 = 4;
const REAL: i32 = 6;

/// The protocol's types: MYSQL_TYPE_LONGLONG, MYSQL_TYPE_DOUBLE, MYSQL_TYPE_STRING.
const LONGLONG: u16 = 8;
const DOUBLE: u16 = 5;
const STRING: u16 = 0xfe;

const COM_QUERY: u8 = 3;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const COM_STMT_CLOSE: u8 = 0x19;

impl Bind {
    /// Its value as it is now.
    ///
    /// # Safety
    /// The pointers are those of a parameter that the script's statement holds: `sql.lua` makes them, and keeps them
    /// together.
    pub unsafe fn value(&self) -> Bound<'_> {
        // SAFETY: as above.
        unsafe {
            if !self.is_null.is_null() && *self.is_null != 0 {
                return Bound::Null;
            }
            match self.kind {
                WHOLE => Bound::Whole(self.buffer.cast::<i64>().read_unaligned()),
                REAL => Bound::Real(self.buffer.cast::<f64>().read_unaligned()),
                _ => {
                    let length = (*self.data_len).min(self.max_len) as usize;
                    Bound::Text(std::slice::from_raw_parts(self.buffer.cast(), length))
                }
            }
        }
    }

    fn type_code(&self) -> u16 {
        match self.kind {
            WHOLE => LONGLONG,
            REAL => DOUBLE,
            _ => STRING,
        }
    }
}

/// A packet, or several: what is within `out` from `start` on, after room for a header.
fn close(out: &mut Vec<u8>, start: usize) {
    let length = out.len() - start - 4;
    if length < 0xff_ffff {
        out[start..start + 3].copy_from_slice(&(length as u32).to_le_bytes()[..3]);
        out[start + 3] = 0;
        return;
    }
    let payload = out.split_off(start + 4);
    out.truncate(start);
    write_packets(out, 0, &payload);
}

fn open(out: &mut Vec<u8>, command: u8) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0, 0, 0, 0, command]);
    start
}

/// A statement in text.
pub fn query(out: &mut Vec<u8>, sql: &[u8]) {
    let start = open(out, COM_QUERY);
    out.extend_from_slice(sql);
    close(out, start);
}

/// A statement to be prepared.
pub fn prepare(out: &mut Vec<u8>, sql: &[u8]) {
    let start = open(out, COM_STMT_PREPARE);
    out.extend_from_slice(sql);
    close(out, start);
}

/// A statement that is needed no more. It is not answered.
pub fn forget(out: &mut Vec<u8>, statement: u32) {
    let start = open(out, COM_STMT_CLOSE);
    out.extend_from_slice(&statement.to_le_bytes());
    close(out, start);
}

/// A prepared statement with its values; their types go with it where `sends_types`.
///
/// # Safety
/// As [`Bind::value`].
pub unsafe fn execute(out: &mut Vec<u8>, statement: u32, binds: &[Bind], sends_types: bool) {
    let start = open(out, COM_STMT_EXECUTE);
    out.extend_from_slice(&statement.to_le_bytes());
    // No cursor, one iteration.
    out.extend_from_slice(&[0, 1, 0, 0, 0]);
    if !binds.is_empty() {
        let nulls = out.len();
        out.resize(nulls + binds.len().div_ceil(8), 0);
        out.push(u8::from(sends_types));
        if sends_types {
            for bind in binds {
                out.extend_from_slice(&bind.type_code().to_le_bytes());
            }
        }
        for (place, bind) in binds.iter().enumerate() {
            // SAFETY: the caller's.
            match unsafe { bind.value() } {
                Bound::Null => out[nulls + place / 8] |= 1 << (place % 8),
                Bound::Whole(number) => out.extend_from_slice(&number.to_le_bytes()),
                Bound::Real(number) => out.extend_from_slice(&number.to_le_bytes()),
                Bound::Text(text) => {
                    length(out, text.len() as u64);
                    out.extend_from_slice(text);
                }
            }
        }
    }
    close(out, start);
}

/// A length-encoded integer.
fn length(out: &mut Vec<u8>, length: u64) {
    match length {
        0..=250 => out.push(length as u8),
        251..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(length as u16).to_le_bytes());
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&length.to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&length.to_le_bytes());
        }
    }
}

/// A statement in text, with its values in place of its question marks; false: there are too few of them.
///
/// # Safety
/// As [`Bind::value`].
pub unsafe fn query_with(out: &mut Vec<u8>, sql: &[u8], binds: &[Bind]) -> bool {
    let start = open(out, COM_QUERY);
    let mut binds = binds.iter();
    for &byte in sql {
        if byte != b'?' {
            out.push(byte);
            continue;
        }
        let Some(bind) = binds.next() else {
            out.truncate(start);
            return false;
        };
        // SAFETY: the caller's.
        match unsafe { bind.value() } {
            Bound::Null => out.extend_from_slice(b"NULL"),
            Bound::Whole(number) => out.extend_from_slice(number.to_string().as_bytes()),
            Bound::Real(number) => out.extend_from_slice(number.to_string().as_bytes()),
            Bound::Text(text) => {
                out.push(b'\'');
                for &byte in text {
                    if matches!(byte, b'\'' | b'\\') {
                        out.push(b'\\');
                    }
                    out.push(byte);
                }
                out.push(b'\'');
            }
        }
    }
    close(out, start);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::null;

    fn whole(number: &i64) -> Bind {
        Bind {
            kind: WHOLE,
            buffer: std::ptr::from_ref(number).cast(),
            data_len: null(),
            max_len: 8,
            is_null: null(),
        }
    }

    #[test]
    fn values_take_the_place_of_question_marks() {
        let (number, text, length) = (-5, b"it's", 4);
        let binds = [
            whole(&number),
            Bind {
                kind: 12,
                buffer: text.as_ptr().cast(),
                data_len: &raw const length,
                max_len: 4,
                is_null: null(),
            },
        ];
        let mut out = Vec::new();
        // SAFETY: the pointers are to values of this test.
        assert!(unsafe { query_with(&mut out, b"SET a = ?, b = ?", &binds) });
        assert_eq!(&out[5..], b"SET a = -5, b = 'it\\'s'");
        assert_eq!(usize::from(out[0]), out.len() - 4);
        out.clear();
        // SAFETY: as above.
        assert!(!unsafe { query_with(&mut out, b"? ? ?", &binds) });
        assert!(out.is_empty());
    }

    #[test]
    fn an_execution_has_its_types_once() {
        let number = 7;
        let mut out = Vec::new();
        // SAFETY: the pointer is to a value of this test.
        unsafe { execute(&mut out, 3, &[whole(&number)], true) };
        assert_eq!(
            out,
            [
                &[22, 0, 0, 0, 0x17, 3, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 8, 0][..],
                &7_i64.to_le_bytes()
            ]
            .concat()
        );
        out.clear();
        // SAFETY: as above.
        unsafe { execute(&mut out, 3, &[whole(&number)], false) };
        assert_eq!(out.len(), 24);
    }

    #[test]
    fn long_texts_take_several_packets() {
        let sql = vec![b'x'; 0xff_ffff];
        let mut out = Vec::new();
        query(&mut out, &sql);
        assert_eq!(out.len(), sql.len() + 1 + 8);
        assert_eq!(out[..4], [0xff, 0xff, 0xff, 0]);
    }
}
