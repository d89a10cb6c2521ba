//! The values of a prepared statement's execution, written as SQL in the places of its question marks.

use std::io::Write;

use super::field::Fields;
use crate::sql::{Charset, Inside, Scanner, SqlMode};

/// A parameter's type as the protocol numbers it, with a bit that says it has no sign.
pub(super) type Type = u16;

const UNSIGNED: u16 = 0x8000;
const NULL: u16 = 6;

/// Writes the value of this type that comes next; none: it is none of the protocol's.
pub(super) fn value(
    fields: &mut Fields<'_>,
    kind: Type,
    mode: SqlMode,
    out: &mut Vec<u8>,
) -> Option<()> {
    let signed = kind & UNSIGNED == 0;
    // A vector takes whatever is written.
    let mut write = |text: std::fmt::Arguments<'_>| out.write_fmt(text).ok();
    match kind & 0xff {
        1 => {
            let byte = fields.u8()?;
            match signed {
                true => write(format_args!("{}", byte as i8)),
                false => write(format_args!("{byte}")),
            }
        }
        2 | 13 => {
            let number = fields.number(2)? as u16;
            match signed {
                true => write(format_args!("{}", number as i16)),
                false => write(format_args!("{number}")),
            }
        }
        3 | 9 => {
            let number = fields.number(4)? as u32;
            match signed {
                true => write(format_args!("{}", number as i32)),
                false => write(format_args!("{number}")),
            }
        }
        8 => {
            let number = fields.number(8)?;
            match signed {
                true => write(format_args!("{}", number as i64)),
                false => write(format_args!("{number}")),
            }
        }
        4 => float(f32::from_bits(fields.number(4)? as u32).into(), &mut write),
        5 => float(f64::from_bits(fields.number(8)?), &mut write),
        NULL => write(format_args!("NULL")),
        kind @ (7 | 10 | 12 | 14) => date(fields, matches!(kind, 7 | 12), &mut write),
        11 => time(fields, &mut write),
        _ => {
            bytes_as_sql(fields.string()?, kind, mode, out);
            Some(())
        }
    }
}

/// Writes a value that is bytes: a decimal as a number, what is of a binary type as that, all else as a string.
pub(super) fn bytes_as_sql(bytes: &[u8], kind: Type, mode: SqlMode, out: &mut Vec<u8>) {
    match kind & 0xff {
        0 | 246 if is_decimal(bytes) => out.extend_from_slice(bytes),
        // Where the second byte of a character may be a quote or a backslash, bytes that are no characters are not safe in
        // quotes.
        249..=252 | 255 if mode.charset != Charset::Plain => {
            out.extend_from_slice(b"x'");
            out.extend_from_slice(hex::encode(bytes).as_bytes());
            out.push(b'\'');
        }
        249..=252 | 255 => {
            out.extend_from_slice(b"_binary");
            quote(bytes, mode, out);
        }
        _ => quote(bytes, mode, out),
    }
}

/// Digits with a point and a sign, at most: nothing that would be another thing in SQL.
fn is_decimal(bytes: &[u8]) -> bool {
    let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let points = digits.iter().filter(|&&byte| byte == b'.').count();
    digits.first().is_some_and(u8::is_ascii_digit)
        && points <= 1
        && digits
            .iter()
            .all(|byte| byte.is_ascii_digit() || *byte == b'.')
}

/// A double with an exponent, so that it is one to the server.
fn float(number: f64, write: &mut impl FnMut(std::fmt::Arguments<'_>) -> Option<()>) -> Option<()> {
    match number.is_finite() {
        true => write(format_args!("{number:e}")),
        false => write(format_args!("NULL")),
    }
}

/// A date; `has_time`: with a time of day, whether it is sent or not.
fn date(
    fields: &mut Fields<'_>,
    has_time: bool,
    write: &mut impl FnMut(std::fmt::Arguments<'_>) -> Option<()>,
) -> Option<()> {
    let length = fields.u8()?;
    let mut fields = Fields(fields.bytes(length.into())?);
    let (year, month, day) = match length {
        0 => (0, 0, 0),
        _ => (fields.number(2)?, fields.u8()?, fields.u8()?),
    };
    write(format_args!("'{year:04}-{month:02}-{day:02}"))?;
    if length >= 7 {
        let (hour, minute, second) = (fields.u8()?, fields.u8()?, fields.u8()?);
        write(format_args!(" {hour:02}:{minute:02}:{second:02}"))?;
    } else if has_time {
        write(format_args!(" 00:00:00"))?;
    }
    if length >= 11 {
        write(format_args!(".{:06}", fields.number(4)?))?;
    }
    write(format_args!("'"))
}

fn time(
    fields: &mut Fields<'_>,
    write: &mut impl FnMut(std::fmt::Arguments<'_>) -> Option<()>,
) -> Option<()> {
    let length = fields.u8()?;
    let mut fields = Fields(fields.bytes(length.into())?);
    if length == 0 {
        return write(format_args!("'00:00:00'"));
    }
    let sign = if fields.u8()? == 1 { "-" } else { "" };
    let days = fields.number(4)?;
    let hours = days * 24 + u64::from(fields.u8()?);
    let (minute, second) = (fields.u8()?, fields.u8()?);
    write(format_args!("'{sign}{hours:02}:{minute:02}:{second:02}"))?;
    if length >= 12 {
        write(format_args!(".{:06}", fields.number(4)?))?;
    }
    write(format_args!("'"))
}

/// A string literal.
fn quote(text: &[u8], mode: SqlMode, out: &mut Vec<u8>) {
    out.push(b'\'');
    let mut rest = text;
    while let Some(&byte) = rest.first() {
        let length = match byte {
            b'\'' | b'\\' => 1,
            // The second byte of a character is none of these, whatever it looks like.
            _ => mode.charset.length(rest),
        };
        match byte {
            b'\'' => out.push(byte),
            b'\\' if !mode.no_backslash_escapes => out.push(byte),
            _ => {}
        }
        out.extend_from_slice(&rest[..length]);
        rest = &rest[length..];
    }
    out.push(b'\'');
}

/// Where the question marks of a statement are that stand for values: those in strings, names and comments do not.
pub(super) fn question_marks(statement: &[u8], mode: SqlMode) -> Vec<usize> {
    let mut scanner = Scanner::new(mode);
    memchr::memchr_iter(b'?', statement)
        .filter(|&place| scanner.run(statement, place) == Inside::Code)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sql(kind: Type, bytes: &[u8]) -> Option<String> {
        let mut out = Vec::new();
        let mut fields = Fields(bytes);
        value(&mut fields, kind, SqlMode::default(), &mut out)?;
        assert!(fields.0.is_empty());
        String::from_utf8(out).ok()
    }

    #[test]
    fn values_are_written_as_literals() {
        for (kind, bytes, expected) in [
            (1, &[0xff][..], "-1"),
            (1 | UNSIGNED, &[0xff], "255"),
            (2, &[0xfe, 0xff], "-2"),
            (13 | UNSIGNED, &[0xea, 0x07], "2026"),
            (3, &[0, 0, 0, 0x80], "-2147483648"),
            (8 | UNSIGNED, &[0xff; 8], "18446744073709551615"),
            (5, &1.5_f64.to_le_bytes(), "1.5e0"),
            (4, &0.1_f32.to_le_bytes(), "1.0000000149011612e-1"),
            (NULL, &[], "NULL"),
            (253, b"\x05it's\\", r"'it''s\\'"),
            (252, b"\x02a'", "_binary'a'''"),
            (246, b"\x05-1.50", "-1.50"),
            (0, b"\x061.5e10", "'1.5e10'"),
            (246, b"\x00", "''"),
            (246, b"\x02--", "'--'"),
            (10, &[4, 0xea, 0x07, 11, 23], "'2026-11-23'"),
            (10, &[0], "'0000-00-00'"),
            (12, &[7, 0xea, 0x07, 1, 2, 3, 4, 5], "'2026-01-02 03:04:05'"),
            (12, &[4, 0xea, 0x07, 1, 2], "'2026-01-02 00:00:00'"),
            (
                7,
                &[11, 0xea, 0x07, 1, 2, 3, 4, 5, 1, 0, 0, 0],
                "'2026-01-02 03:04:05.000001'",
            ),
            (11, &[8, 1, 1, 0, 0, 0, 2, 3, 4], "'-26:03:04'"),
            (11, &[0], "'00:00:00'"),
        ] {
            assert_eq!(sql(kind, bytes).as_deref(), Some(expected), "{kind}");
        }
        assert_eq!(sql(8, &[1, 2]), None);
        assert_eq!(sql(253, b"\x05a"), None);
    }

    fn written(bytes: &[u8], kind: Type, mode: SqlMode) -> Vec<u8> {
        let mut out = Vec::new();
        bytes_as_sql(bytes, kind, mode, &mut out);
        out
    }

    #[test]
    fn bytes_are_binary_where_their_type_is() {
        let plain = SqlMode::default();
        let gbk = plain.with_character_set(b"gbk");
        assert_eq!(written(b"a'\xff\\", 252, plain), b"_binary'a''\xff\\\\'");
        assert_eq!(written(b"a'\xff\\", 252, gbk), b"x'6127ff5c'");
        let literal = plain.with_list(b"NO_BACKSLASH_ESCAPES");
        assert_eq!(written(b"a'\\", 253, literal), br"'a''\'");
    }

    #[test]
    fn a_character_of_two_bytes_is_not_torn() {
        let gbk = SqlMode::default().with_character_set(b"gbk");
        let literal = written(b"\xbf\\ \\ '", 253, gbk);
        assert_eq!(literal, b"'\xbf\\ \\\\ '''");
        let mut scanner = Scanner::new(gbk);
        assert_eq!(scanner.run(&literal, literal.len()), Inside::Code);
    }

    #[test]
    fn question_marks_in_names_strings_and_comments_are_none() {
        let marks = |statement: &str| {
            let places = question_marks(statement.as_bytes(), SqlMode::default());
            let all = statement.as_bytes();
            assert!(places.iter().all(|&place| all[place] == b'?'));
            places.len()
        };
        for (statement, count) in [
            (
                "SELECT '?', `is?` FROM t /* ? */ WHERE b = ? AND c IN (?, 7, ?) -- ?",
                3,
            ),
            ("SELECT 1", 0),
            ("SELECT /*!50000 ? */, 'it''s ?', \"?\", ?", 2),
            ("SELECT '\0?' = ?", 1),
        ] {
            assert_eq!(marks(statement), count, "{statement}");
        }
    }
}
