//! The answer to a statement in text form whose rows are wanted. Not for load: everything is kept.

use super::packet::{Fields, ServerError};
use super::sequence::{Packet, Sequence};
use super::{ExchangeError, ProtocolError};

/// A NULL where a length would stand.
const NULL: u8 = 0xfb;

/// Bytes of memory that the rows of one answer may take.
pub(crate) const MAX_MEMORY: usize = 64 << 20;

/// A row; `None` is NULL.
pub type Row = Vec<Option<String>>;

/// Reads one answer, a packet at a time.
#[derive(Debug)]
pub(crate) struct RowReader {
    sequence: Sequence,
    columns: usize,
    /// Of the columns; none where they are not wanted.
    names: Option<Vec<String>>,
    rows: Vec<Row>,
    memory: usize,
    warnings: u16,
}

impl RowReader {
    /// For a connection that agreed on `capabilities`.
    pub(crate) fn new(capabilities: u32) -> Self {
        RowReader {
            sequence: Sequence::new(capabilities),
            columns: 0,
            names: None,
            rows: Vec::new(),
            memory: 0,
            warnings: 0,
        }
    }

    /// Keeps the names of columns.
    pub(crate) fn with_names(mut self) -> Self {
        self.names = Some(Vec::new());
        self
    }

    /// The names of columns, where they were wanted.
    pub(crate) fn names(self) -> Vec<String> {
        self.names.unwrap_or_default()
    }

    /// Warnings that the server counted for the statement; known at the end of its answer.
    pub(crate) fn warnings(&self) -> u16 {
        self.warnings
    }

    /// Takes the next packet; all rows when it was the last one.
    pub(crate) fn packet(&mut self, payload: &[u8]) -> Result<Option<Vec<Row>>, ExchangeError> {
        let first = *payload
            .first()
            .ok_or_else(|| ProtocolError::new("an empty packet within an answer"))?;
        match self.sequence.packet(first, payload.len())? {
            Packet::Error => return Err(ServerError::parse(payload)?.into()),
            Packet::Ok => {
                self.warnings = counted_by_ok(payload);
                return Ok(Some(Vec::new()));
            }
            Packet::ColumnCount => self.columns = self.sequence.count(payload)? as usize,
            Packet::Column => {
                self.sequence.column();
                if let Some(names) = &mut self.names {
                    names.push(name(payload)?);
                }
            }
            Packet::ColumnsEnd => self.sequence.columns_end(),
            Packet::End => {
                self.warnings = match self.sequence.ends_with_ok() {
                    true => counted_by_ok(payload),
                    false => counted_by_eof(payload),
                };
                return Ok(Some(std::mem::take(&mut self.rows)));
            }
            Packet::Row => {
                self.memory += payload.len() + self.columns * size_of::<Option<String>>();
                if self.memory > MAX_MEMORY {
                    return Err(ProtocolError::new(format!(
                        "rows that take more than {MAX_MEMORY} bytes"
                    ))
                    .into());
                }
                self.rows.push(row(payload, self.columns)?);
            }
        }
        Ok(None)
    }
}

/// The name that a column's definition gives it: after its catalogue, its database, its table and that table's own name.
fn name(packet: &[u8]) -> Result<String, ProtocolError> {
    let mut fields = Fields::new(packet);
    let mut text = || {
        let length = usize::try_from(fields.lenenc()?)
            .map_err(|_| ProtocolError::new("a name longer than memory"))?;
        fields.bytes(length)
    };
    for _ in 0..4 {
        text()?;
    }
    Ok(String::from_utf8_lossy(text()?).into_owned())
}

/// The count of warnings in an OK packet, whose first byte is OK's or EOF's; 0 where a packet ends before it.
fn counted_by_ok(payload: &[u8]) -> u16 {
    let mut fields = Fields::new(payload);
    let mut count = || {
        fields.u8()?;
        let (_changed, _insert_id) = (fields.lenenc()?, fields.lenenc()?);
        let _status = fields.u16()?;
        fields.u16()
    };
    count().unwrap_or(0)
}

/// The count of warnings in an EOF packet; 0 where it ends before it.
fn counted_by_eof(payload: &[u8]) -> u16 {
    let mut fields = Fields::new(payload);
    fields.u8().and_then(|_| fields.u16()).unwrap_or(0)
}

fn row(packet: &[u8], columns: usize) -> Result<Row, ProtocolError> {
    let mut fields = Fields::new(packet);
    let mut row = Row::with_capacity(columns);
    for _ in 0..columns {
        if fields.rest().first() == Some(&NULL) {
            fields.u8()?;
            row.push(None);
            continue;
        }
        let length = usize::try_from(fields.lenenc()?)
            .map_err(|_| ProtocolError::new("a value longer than memory"))?;
        row.push(Some(
            String::from_utf8_lossy(fields.bytes(length)?).into_owned(),
        ));
    }
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::capability;

    const COLUMN: &[u8] = b"\x03def\x06sbtest";
    const END: &[u8] = &[0xfe, 0, 0, 2, 0];

    #[test]
    fn rows_with_nulls_and_too_short_ones() {
        assert_eq!(
            row(b"\x02ab\xfb\x00", 3),
            Ok(vec![Some("ab".into()), None, Some(String::new())])
        );
        assert!(row(b"\x05ab", 1).is_err());
        assert!(row(b"\x02ab", 2).is_err());
        assert!(row(b"\xfe\xff\xff\xff\xff\xff\xff\xff\xffab", 1).is_err());
    }

    #[test]
    fn columns_have_names_on_demand() {
        let column = b"\x03def\x01d\x01t\x01t\x02id\x02id\x0c";
        let mut reader = RowReader::new(capability::DEPRECATE_EOF).with_names();
        for packet in [&[1][..], column, b"\x01x"] {
            assert_eq!(reader.packet(packet).expect("the protocol"), None);
        }
        let rows = reader.packet(END).expect("the protocol");
        assert_eq!(rows, Some(vec![vec![Some("x".into())]]));
        assert_eq!(reader.names(), ["id"]);
        assert!(name(&column[..6]).is_err());
    }

    #[test]
    fn answers_of_both_kinds() {
        for (capabilities, packets) in [
            (
                capability::DEPRECATE_EOF,
                &[&[1][..], COLUMN, b"\x01x", END][..],
            ),
            (0, &[&[1], COLUMN, END, b"\x01x", END]),
        ] {
            let mut reader = RowReader::new(capabilities);
            let (last, others) = packets.split_last().unwrap();
            for packet in others {
                assert_eq!(reader.packet(packet), Ok(None));
            }
            assert_eq!(reader.packet(last), Ok(Some(vec![vec![Some("x".into())]])));
        }
        assert_eq!(RowReader::new(0).packet(&[0, 0, 0]), Ok(Some(Vec::new())));
    }

    #[test]
    fn warnings_as_the_server_counted_them() {
        let count = |capabilities, packets: &[&[u8]]| {
            let mut reader = RowReader::new(capabilities);
            for packet in packets {
                reader.packet(packet).unwrap();
            }
            reader.warnings()
        };
        // changed 300, insert id 1, autocommit, 5 warnings
        let ok = [0, 0xfc, 0x2c, 1, 1, 2, 0, 5, 0];
        assert_eq!(count(0, &[&ok]), 5);
        assert_eq!(count(0, &[&ok[..6]]), 0);
        let eof = [0xfe, 3, 1, 2, 0];
        assert_eq!(count(0, &[&[1], COLUMN, END, b"\x01x", &eof]), 259);
        let ok_for_eof = [0xfe, 0, 0, 2, 0, 7, 0];
        let capabilities = capability::DEPRECATE_EOF;
        assert_eq!(count(capabilities, &[&[1], COLUMN, &ok_for_eof]), 7);
    }

    #[test]
    fn malformed_responses_are_errors() {
        for absurd in [
            &[][..],
            &[0xfb],
            &[0xfc, 0, 0],
            &[0xfc, 0xff, 0xff],
            &[0xfd, 1],
            b"\xff\x10\x04Too many connections",
        ] {
            assert!(RowReader::new(0).packet(absurd).is_err(), "{absurd:?}");
        }
        // rows without an end: little on the wire, much in memory
        let mut reader = RowReader::new(capability::DEPRECATE_EOF);
        assert_eq!(reader.packet(&[0xfc, 0, 4]), Ok(None));
        for _ in 0..1024 {
            assert_eq!(reader.packet(COLUMN), Ok(None));
        }
        let row = [NULL; 1024];
        let taken = (0..).take_while(|_| reader.packet(&row).is_ok()).count();
        assert!(
            (100..MAX_MEMORY / 1024 / 24 + 1).contains(&taken),
            "{taken}"
        );
    }
}
