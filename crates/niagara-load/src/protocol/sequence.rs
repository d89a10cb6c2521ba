//! Which packets an answer consists of, and in what order: what each is follows from its first byte and those before it.

use super::packet::{Fields, MAX_PAYLOAD};
use super::{ProtocolError, capability};

/// Columns of a result; servers of the family allow no more in a table.
const MAX_COLUMNS: u64 = 4096;

/// Among the flags of a status: another result follows.
const MORE_RESULTS: u16 = 1 << 3;

/// A packet of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packet {
    /// The whole answer to a statement without rows.
    Ok,
    /// The answer ends with an error, at any place.
    Error,
    /// How many columns the rows have.
    ColumnCount,
    /// The definition of a column.
    Column,
    /// The EOF between columns and rows.
    ColumnsEnd,
    Row,
    /// The OK or EOF after the last row.
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// OK, ERR or the count of columns.
    First,
    /// Column definitions, this many to come.
    Columns(u64),
    /// The EOF between columns and rows.
    ColumnsEnd,
    Rows,
}

/// Where an answer is.
#[derive(Debug)]
pub(super) struct Sequence {
    deprecate_eof: bool,
    phase: Phase,
}

impl Sequence {
    /// For a connection that agreed on `capabilities`.
    pub(super) fn new(capabilities: u32) -> Self {
        Sequence {
            deprecate_eof: capabilities & capability::DEPRECATE_EOF != 0,
            phase: Phase::First,
        }
    }

    /// Whether result sets end with an OK rather than an EOF.
    pub(super) fn ends_with_ok(&self) -> bool {
        self.deprecate_eof
    }

    /// Whether the packet that ends a result, an [`Ok`](Packet::Ok) or an [`End`](Packet::End) that begins so, says that another
    /// result follows.
    pub(super) fn has_more_results(&self, kind: Packet, payload: &[u8]) -> bool {
        let status = |payload: &[u8]| {
            let mut fields = Fields::new(payload);
            if kind == Packet::End && !self.ends_with_ok() {
                // The number of warnings.
                fields.u16()?;
            } else {
                // The numbers of rows, and of the last insertion.
                fields.lenenc()?;
                fields.lenenc()?;
            }
            fields.u16()
        };
        let status = payload.get(1..).map(status).and_then(Result::ok);
        status.unwrap_or(0) & MORE_RESULTS != 0
    }

    /// The next packet is the first one of another answer.
    pub(super) fn restart(&mut self) {
        self.phase = Phase::First;
    }

    /// What a packet of `length` bytes is that begins with `first`.
    #[inline]
    pub(super) fn packet(&self, first: u8, length: usize) -> Result<Packet, ProtocolError> {
        Ok(match (self.phase, first) {
            (_, 0xff) => Packet::Error,
            (Phase::First, 0x00) => Packet::Ok,
            (Phase::First, 0xfb) => {
                return Err(ProtocolError::new("the server asks for a local file"));
            }
            (Phase::First, 0xfe) => {
                return Err(ProtocolError::new("an answer cannot start with an EOF"));
            }
            (Phase::First, _) => Packet::ColumnCount,
            (Phase::Columns(_), _) => Packet::Column,
            (Phase::ColumnsEnd, 0xfe) => Packet::ColumnsEnd,
            (Phase::ColumnsEnd, _) => {
                return Err(ProtocolError::new("no EOF between columns and rows"));
            }
            // A row may begin with 0xfe too, but is then longer than what ends a result set.
            (Phase::Rows, 0xfe) if length < if self.deprecate_eof { MAX_PAYLOAD } else { 9 } => {
                Packet::End
            }
            (Phase::Rows, _) => Packet::Row,
        })
    }

    /// Follows a [`Packet::ColumnCount`], whose payload begins so; the number of columns.
    pub(super) fn count(&mut self, payload: &[u8]) -> Result<u64, ProtocolError> {
        let columns = Fields::new(payload).lenenc()?;
        if columns == 0 || columns > MAX_COLUMNS {
            return Err(ProtocolError::new(format!("a result of {columns} columns")));
        }
        self.phase = Phase::Columns(columns);
        Ok(columns)
    }

    /// Follows a [`Packet::Column`].
    #[inline]
    pub(super) fn column(&mut self) {
        if let Phase::Columns(left) = self.phase {
            self.phase = match (left, self.deprecate_eof) {
                (2.., _) => Phase::Columns(left - 1),
                (_, true) => Phase::Rows,
                (_, false) => Phase::ColumnsEnd,
            };
        }
    }

    /// Follows a [`Packet::ColumnsEnd`].
    #[inline]
    pub(super) fn columns_end(&mut self) {
        self.phase = Phase::Rows;
    }
}
