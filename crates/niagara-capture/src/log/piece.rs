//! A piece of a log: an entry, or what lies between entries.

use std::ops::Range;

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
    /// Something that is not kept; `database`: where it says the one in use.
    Drop {
        cause: Cause,
        next: usize,
        database: Option<Range<usize>>,
    },
    /// More of the log is needed.
    Need,
}

impl Piece {
    /// Something up to `next` that is not kept.
    pub fn drop(cause: Cause, next: usize) -> Piece {
        Piece::Drop {
            cause,
            next,
            database: None,
        }
    }
}
