//! The rows of one answer, kept in memory that is used again, for transactions whose next statement depends on them.

use super::ProtocolError;
use super::packet::Fields;

/// Bytes that the rows of one answer may take: a transaction that wants more has forgotten a condition.
const MAX_BYTES: usize = 16 << 20;

/// The same for scripts, which read whatever they like.
const MAX_BYTES_OF_SCRIPTS: usize = 1 << 30;

/// A NULL where a length would stand, in rows as text.
const TEXT_NULL: u8 = 0xfb;

/// How rows come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Format {
    /// Of COM_QUERY: every value as text.
    #[default]
    Text,
    /// Of COM_STMT_EXECUTE: every value by its column's type.
    Binary,
}

/// A column, as far as reading its values needs it.
#[derive(Debug, Clone, Copy)]
struct Column {
    kind: u8,
    unsigned: bool,
}

/// The rows of one answer, read again from its first row as often as is wanted.
#[derive(Debug)]
pub struct Answer {
    /// Bytes that they may take.
    limit: usize,
    format: Format,
    columns: Vec<Column>,
    /// All rows, one after the other.
    data: Vec<u8>,
    /// Where each row ends in `data`.
    ends: Vec<usize>,
    /// Where the packet at hand began.
    start: usize,
}

impl Default for Answer {
    fn default() -> Self {
        Answer::bounded(MAX_BYTES)
    }
}

/// One value of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// A whole number.
    Int(i64),
    /// One beyond those: of BIGINT UNSIGNED.
    Large(u64),
    /// A number.
    Float(f64),
    /// Text, or a decimal number as text.
    Bytes(&'a [u8]),
    /// A date or time in the binary form: its own bytes.
    Time(&'a [u8]),
}

impl Answer {
    /// For scripts, which may read much.
    pub fn of_script() -> Self {
        Answer::bounded(MAX_BYTES_OF_SCRIPTS)
    }

    fn bounded(limit: usize) -> Self {
        Answer {
            limit,
            format: Format::default(),
            columns: Vec::new(),
            data: Vec::new(),
            ends: Vec::new(),
            start: 0,
        }
    }

    /// Its rows may take as much as those of a script.
    pub(crate) fn allow_much(&mut self) {
        self.limit = MAX_BYTES_OF_SCRIPTS;
    }

    /// How many columns its rows have.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// Forgets the answer before.
    pub(super) fn begin(&mut self, format: Format) {
        self.format = format;
        self.columns.clear();
        self.data.clear();
        self.ends.clear();
        self.start = 0;
        // Room for what transactions usually ask for, from the first time on.
        self.columns.reserve(16);
        self.data.reserve(8192);
        self.ends.reserve(64);
    }

    /// More of the packet at hand: of a column's definition or of a row.
    pub(super) fn extend(&mut self, bytes: &[u8]) -> Result<(), ProtocolError> {
        if self.data.len() + bytes.len() > self.limit {
            return Err(ProtocolError::new(format!(
                "rows of more than {} bytes where a transaction waits for them",
                self.limit
            )));
        }
        self.data.extend_from_slice(bytes);
        Ok(())
    }

    /// The packet at hand was a column's definition.
    pub(super) fn end_column(&mut self) -> Result<(), ProtocolError> {
        let mut fields = Fields::new(&self.data[self.start..]);
        // Catalog, schema, table, original table, name, original name.
        for _ in 0..6 {
            let length = fields.lenenc()?;
            fields.bytes(length as usize)?;
        }
        // The length of what follows, character set, greatest length.
        fields.lenenc()?;
        fields.bytes(6)?;
        let kind = fields.u8()?;
        let unsigned = fields.u16()? & 0x20 != 0;
        self.columns.push(Column { kind, unsigned });
        self.data.truncate(self.start);
        Ok(())
    }

    /// The packet at hand was a row.
    pub(super) fn end_row(&mut self) {
        self.start = self.data.len();
        self.ends.push(self.start);
    }

    /// How many rows came.
    pub fn rows(&self) -> usize {
        self.ends.len()
    }

    /// The values of row `index` (from 0), from the first column on; `None`: there are fewer rows.
    pub fn row(&self, index: usize) -> Option<Row<'_>> {
        let end = *self.ends.get(index)?;
        let begin = match index {
            0 => 0,
            _ => self.ends[index - 1],
        };
        let payload = &self.data[begin..end];
        Some(match self.format {
            Format::Text => Row {
                columns: &self.columns,
                nulls: &[],
                fields: Fields::new(payload),
                next: 0,
                format: Format::Text,
            },
            Format::Binary => {
                // A zero byte, then a bit for every column, from the third bit on.
                let bitmap = (self.columns.len() + 9) / 8;
                let (nulls, rest) = payload
                    .get(1..)
                    .unwrap_or_default()
                    .split_at_checked(bitmap)
                    .unwrap_or_default();
                Row {
                    columns: &self.columns,
                    nulls,
                    fields: Fields::new(rest),
                    next: 0,
                    format: Format::Binary,
                }
            }
        })
    }
}

/// A row, read from its first column on.
#[derive(Debug, Clone)]
pub struct Row<'a> {
    columns: &'a [Column],
    nulls: &'a [u8],
    fields: Fields<'a>,
    next: usize,
    format: Format,
}

impl<'a> Row<'a> {
    /// The next column's value; `None`: the row ends early, or is none of the protocol's.
    pub fn next_value(&mut self) -> Option<Value<'a>> {
        self.value().ok()
    }

    /// The next column's value.
    pub(crate) fn value(&mut self) -> Result<Value<'a>, ProtocolError> {
        let place = self.next;
        let column = *self
            .columns
            .get(place)
            .ok_or_else(|| ProtocolError::new("a row has fewer columns than are read"))?;
        self.next += 1;
        let fields = &mut self.fields;
        if self.format == Format::Text {
            if fields.rest().first() == Some(&TEXT_NULL) {
                fields.u8()?;
                return Ok(Value::Null);
            }
            let length = fields.lenenc()?;
            return Ok(Value::Bytes(fields.bytes(length as usize)?));
        }
        let bit = place + 2;
        let byte = self
            .nulls
            .get(bit / 8)
            .ok_or_else(|| ProtocolError::new("a row is shorter than its columns"))?;
        if byte & (1 << (bit % 8)) != 0 {
            return Ok(Value::Null);
        }
        // The numbers are the protocol's field types.
        Ok(match column.kind {
            1 => {
                let byte = fields.u8()?;
                Value::Int(match column.unsigned {
                    true => i64::from(byte),
                    false => i64::from(byte as i8),
                })
            }
            2 | 13 => {
                let short = fields.u16()?;
                Value::Int(match column.unsigned {
                    true => i64::from(short),
                    false => i64::from(short as i16),
                })
            }
            3 | 9 => {
                let long = fields.u32()?;
                Value::Int(match column.unsigned {
                    true => i64::from(long),
                    false => i64::from(long as i32),
                })
            }
            4 => Value::Float(f64::from(f32::from_bits(fields.u32()?))),
            5 => Value::Float(f64::from_le_bytes(eight(fields)?)),
            6 => Value::Null,
            7 | 10 | 11 | 12 | 14 => {
                let length = fields.u8()?;
                Value::Time(fields.bytes(usize::from(length))?)
            }
            8 => {
                let number = i64::from_le_bytes(eight(fields)?);
                match column.unsigned && number < 0 {
                    true => Value::Large(number as u64),
                    false => Value::Int(number),
                }
            }
            _ => {
                let length = fields.lenenc()?;
                Value::Bytes(fields.bytes(length as usize)?)
            }
        })
    }

    /// The next column's value as a whole number; `None`: NULL.
    pub(crate) fn int(&mut self) -> Result<Option<i64>, ProtocolError> {
        Ok(match self.value()? {
            Value::Null => None,
            Value::Int(number) => Some(number),
            Value::Large(_) => return Err(too_large()),
            Value::Float(number) => Some(number as i64),
            Value::Bytes(text) => Some(
                std::str::from_utf8(text)
                    .ok()
                    .and_then(|text| text.split('.').next())
                    .and_then(|text| text.parse().ok())
                    .ok_or_else(|| ProtocolError::new("a text where a number was expected"))?,
            ),
            Value::Time(_) => {
                return Err(ProtocolError::new("a time where a number was expected"));
            }
        })
    }

    /// The next column's value, a decimal number with at most two digits after the point, in hundredths; `None`: NULL.
    pub(crate) fn hundredths(&mut self) -> Result<Option<i64>, ProtocolError> {
        match self.value()? {
            Value::Null => Ok(None),
            Value::Int(number) => Ok(Some(number.saturating_mul(100))),
            Value::Large(_) => Err(too_large()),
            Value::Float(number) => Ok(Some((number * 100.0).round() as i64)),
            Value::Bytes(text) => match hundredths(text) {
                Some(number) => Ok(Some(number)),
                None => Err(ProtocolError::new(
                    "a text where a decimal number was expected",
                )),
            },
            Value::Time(_) => Err(ProtocolError::new(
                "a time where a decimal number was expected",
            )),
        }
    }

    /// The next column's value as text; `None`: NULL, or a number or time in its binary form.
    pub(crate) fn bytes(&mut self) -> Result<Option<&'a [u8]>, ProtocolError> {
        Ok(match self.value()? {
            Value::Bytes(text) => Some(text),
            _ => None,
        })
    }
}

fn too_large() -> ProtocolError {
    ProtocolError::new("a number beyond 63 bits where a smaller one was expected")
}

fn eight(fields: &mut Fields<'_>) -> Result<[u8; 8], ProtocolError> {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(fields.bytes(8)?);
    Ok(bytes)
}

/// `-12.3` as -1230. Digits after the second one must be zeros.
fn hundredths(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        _ => (false, text),
    };
    let mut number: i64 = 0;
    let mut after_point: Option<u32> = None;
    for &byte in digits {
        match (byte, after_point) {
            (b'.', None) => after_point = Some(0),
            (b'0'..=b'9', Some(2..)) => {
                if byte != b'0' {
                    return None;
                }
            }
            (b'0'..=b'9', _) => {
                number = number
                    .checked_mul(10)?
                    .checked_add(i64::from(byte - b'0'))?;
                after_point = after_point.map(|count| count + 1);
            }
            _ => return None,
        }
    }
    let missing = 2 - after_point.unwrap_or(0).min(2);
    let number = number.checked_mul(10_i64.pow(missing))?;
    (!digits.is_empty()).then_some(if negative { -number } else { number })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(kind: u8, flags: u16) -> Vec<u8> {
        let mut definition = Vec::new();
        for text in [&b"def"[..], b"d", b"t", b"t", b"c", b"c"] {
            definition.push(text.len() as u8);
            definition.extend_from_slice(text);
        }
        definition.extend_from_slice(&[0x0c, 33, 0, 11, 0, 0, 0, kind]);
        definition.extend_from_slice(&flags.to_le_bytes());
        definition.extend_from_slice(&[0, 0, 0]);
        definition
    }

    fn answer(format: Format, columns: &[(u8, u16)], rows: &[&[u8]]) -> Answer {
        let mut answer = Answer::default();
        answer.begin(format);
        for &(kind, flags) in columns {
            answer.extend(&column(kind, flags)).unwrap();
            answer.end_column().unwrap();
        }
        for row in rows {
            answer.extend(row).unwrap();
            answer.end_row();
        }
        answer
    }

    #[test]
    fn binary_rows_by_their_types() {
        let row = [
            &[0, 0b0000_1000][..], // the second column is NULL
            &(-5i32).to_le_bytes(),
            b"\x0512.34",
            &7u64.to_le_bytes(),
            &[4, 0xe9, 7, 11, 21],
        ]
        .concat();
        let answer = answer(
            Format::Binary,
            &[(3, 0), (3, 0), (246, 0), (8, 0x20), (10, 0)],
            &[&row, &row],
        );
        assert_eq!(answer.rows(), 2);
        for index in 0..2 {
            let mut row = answer.row(index).unwrap();
            assert_eq!(row.int(), Ok(Some(-5)));
            assert_eq!(row.int(), Ok(None));
            assert_eq!(row.hundredths(), Ok(Some(1234)));
            assert_eq!(row.int(), Ok(Some(7)));
            assert_eq!(row.value(), Ok(Value::Time(&[0xe9, 7, 11, 21])));
            assert!(row.value().is_err());
        }
        assert!(answer.row(2).is_none());
    }

    #[test]
    fn large_numbers_are_not_negative() {
        let row = [&[0, 0][..], &[0xff; 8], &[0xff; 8], &5_u64.to_le_bytes()].concat();
        let answer = answer(Format::Binary, &[(8, 0x20), (8, 0), (8, 0x20)], &[&row]);
        let mut row = answer.row(0).unwrap();
        assert!(row.clone().int().is_err() && row.clone().hundredths().is_err());
        assert_eq!(row.value(), Ok(Value::Large(u64::MAX)));
        assert_eq!(row.value(), Ok(Value::Int(-1)));
        assert_eq!(row.value(), Ok(Value::Int(5)));
    }

    #[test]
    fn rows_as_text() {
        let answer = answer(
            Format::Text,
            &[(3, 0), (253, 0), (246, 0)],
            &[b"\x03-17\xfb\x041.50", b"\x00"],
        );
        let mut row = answer.row(0).unwrap();
        assert_eq!(row.int(), Ok(Some(-17)));
        assert_eq!(row.bytes(), Ok(None));
        assert_eq!(row.hundredths(), Ok(Some(150)));
        let mut short = answer.row(1).unwrap();
        assert!(short.int().is_err());
        assert!(short.value().is_err());
    }

    #[test]
    fn rows_cut_short_are_errors() {
        let answer = answer(
            Format::Binary,
            &[(3, 0), (8, 0)],
            &[&[0, 0, 1, 2], &[0], &[]],
        );
        for index in 0..3 {
            assert!(answer.row(index).unwrap().value().is_err());
        }
        let mut answer = Answer::default();
        answer.begin(Format::Text);
        answer.extend(b"\x03de").unwrap();
        assert!(answer.end_column().is_err());
    }

    #[test]
    fn decimal_numbers_in_hundredths() {
        for (text, number) in [
            ("0", Some(0)),
            ("12", Some(1200)),
            ("-0.07", Some(-7)),
            ("3.1", Some(310)),
            ("300000.00", Some(30_000_000)),
            ("1.500", Some(150)),
            ("1.505", None),
            ("", None),
            ("-", None),
            ("1.2.3", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(hundredths(text.as_bytes()), number, "{text}");
        }
    }
}
