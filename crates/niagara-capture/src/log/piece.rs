//! A piece of a log: an entry, or what lies between entries.

use super::entry::Parsed;
use crate::dropped::Cause;
use crate::sql::SqlMode;

/// What a piece of a log is.
#[derive(Debug)]
pub(super) enum Piece {
    /// An entry, which ends at `next`; its statement was read in `mode`.
    Entry {
        parsed: Box<Parsed>,
        next: usize,
        mode: SqlMode,
    },
    /// Something that is not kept.
    Drop { cause: Cause, next: usize },
    /// More of the log is needed.
    Need,
}
