//! The values of a prepared statement's execution, written as SQL in the places of its question marks.

use std::io::Write;

use super::field::Fields;
use crate::sql::{Cut, SqlMode};

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
        7 | 10 | 12 | 14 => date(fields, &mut write),
        11 => time(fields, &mut write),
        _ => {
            quote(fields.string()?, mode, out);
            Some(())
        }
    }
}

/// A double with an exponent, so that it is one to the server.
fn float(number: f64, write: &mut impl FnMut(std::fmt::Arguments<'_>) -> Option<()>) -> Option<()> {
    match number.is_finite() {
        true => write(format_args!("{number:e}")),
        false => write(format_args!("NULL")),
    }
}

fn date(
    fields: &mut Fields<'_>,
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
pub(super) fn quote(text: &[u8], mode: SqlMode, out: &mut Vec<u8>) {
    out.push(b'\'');
    for &byte in text {
        match byte {
            b'\'' => out.extend_from_slice(b"''"),
            b'\\' if !mode.no_backslash_escapes => out.extend_from_slice(b"\\\\"),
            byte => out.push(byte),
        }
    }
    out.push(b'\'');
}

/// The statement with its values in the places of its question marks; none where they are not as many.
pub(super) fn with_values(statement: &[u8], values: &[Vec<u8>], mode: SqlMode) -> Option<Vec<u8>> {
    let mut cut = Cut::default();
    cut.read(statement, mode);
    // Question marks inside of strings and comments are none.
    let mut inside = cut.parts.iter().peekable();
    let mut values = values.iter();
    let mut out = Vec::with_capacity(statement.len() + 64);
    let mut at = 0;
    while at < statement.len() {
        while inside.next_if(|part| part.end <= at).is_some() {}
        if let Some(part) = inside.peek()
            && part.start <= at
        {
            out.extend_from_slice(&statement[at..part.end]);
            at = part.end;
            continue;
        }
        match statement[at] {
            b'?' => out.extend_from_slice(values.next()?),
            byte => out.push(byte),
        }
        at += 1;
    }
    values.next().is_none().then_some(out)
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
            (3, &[0, 0, 0, 0x80], "-2147483648"),
            (8 | UNSIGNED, &[0xff; 8], "18446744073709551615"),
            (5, &1.5_f64.to_le_bytes(), "1.5e0"),
            (NULL, &[], "NULL"),
            (253, b"\x05it's\\", r"'it''s\\'"),
            (10, &[4, 0xea, 0x07, 11, 23], "'2026-11-23'"),
            (12, &[7, 0xea, 0x07, 1, 2, 3, 4, 5], "'2026-01-02 03:04:05'"),
            (
                7,
                &[11, 0xea, 0x07, 1, 2, 3, 4, 5, 1, 0, 0, 0],
                "'2026-01-02 03:04:05.000001'",
            ),
            (11, &[8, 1, 1, 0, 0, 0, 2, 3, 4], "'-26:03:04'"),
        ] {
            assert_eq!(sql(kind, bytes).as_deref(), Some(expected), "{kind}");
        }
        assert_eq!(sql(8, &[1, 2]), None);
        assert_eq!(sql(253, b"\x05a"), None);
    }

    #[test]
    fn values_stand_in_the_places_of_question_marks_only() {
        let of = |statement: &str, values: &[&str]| {
            let values: Vec<Vec<u8>> = values
                .iter()
                .map(|value| value.as_bytes().to_vec())
                .collect();
            let text = with_values(statement.as_bytes(), &values, SqlMode::default())?;
            String::from_utf8(text).ok()
        };
        assert_eq!(
            of(
                "SELECT '?', a FROM t /* ? */ WHERE b = ? AND c IN (?, 7, ?) -- ?",
                &["1", "'x?'", "NULL"]
            )
            .as_deref(),
            Some("SELECT '?', a FROM t /* ? */ WHERE b = 1 AND c IN ('x?', 7, NULL) -- ?")
        );
        assert_eq!(of("SELECT ?", &[]), None);
        assert_eq!(of("SELECT 1", &["1"]), None);
    }
}
