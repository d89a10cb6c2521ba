//! What a capture says of one command of a client.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::dictionary::{NameId, TemplateId};
use super::plan::Plan;
use crate::sql::Class;

/// What a client did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum EventKind {
    /// Sent a statement as text.
    Query = 0,
    /// Prepared a statement.
    Prepare = 1,
    /// Executed a prepared statement; its text has the values.
    Execute = 2,
    /// Logged in.
    Connect = 3,
    /// Left.
    Disconnect = 4,
    /// Chose a database otherwise than by `USE`.
    Database = 5,
    /// Asked for a session like a fresh one.
    Reset = 6,
    /// Became another user on the same connection.
    ChangeUser = 7,
}

impl EventKind {
    const ALL: [EventKind; 8] = [
        EventKind::Query,
        EventKind::Prepare,
        EventKind::Execute,
        EventKind::Connect,
        EventKind::Disconnect,
        EventKind::Database,
        EventKind::Reset,
        EventKind::ChangeUser,
    ];

    pub(super) fn from_number(number: u8) -> Option<EventKind> {
        EventKind::ALL.get(usize::from(number)).copied()
    }

    /// Whether a statement was executed.
    pub(crate) fn is_statement(self) -> bool {
        matches!(self, EventKind::Query | EventKind::Execute)
    }
}

/// How an event belongs to a transaction of several statements. All false: it is a transaction of its own, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Transaction {
    /// It is part of one.
    pub inside: bool,
    /// It is the first of one.
    pub first: bool,
    /// It is the last of one: after it the session has none open.
    pub last: bool,
}

/// What the server said about an execution. None where the source does not say it. Every field is a column of captures; what only the
/// reading of a log needs is in its entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Measured {
    /// From start to end, in microseconds.
    pub duration_us: Option<u64>,
    /// The wait for locks, in microseconds.
    pub lock_us: Option<u64>,
    /// Rows sent.
    pub rows_sent: Option<u64>,
    /// Rows read to find them.
    pub rows_examined: Option<u64>,
    /// Rows changed.
    pub rows_affected: Option<u64>,
    /// The error's number, 0 for none.
    pub error: Option<u32>,
    /// How it was executed.
    pub plan: Plan,
}

/// Where an event is in time and among the sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The session: numbered from 0 in the order of their first events, never used twice.
    pub session: u64,
    /// The start, in microseconds since 1970, UTC.
    pub start_us: i64,
    /// The start is known to the microsecond, else to the second: it is then the earliest that the order of the source
    /// and of the session's statements allow.
    pub exact: bool,
}

/// One event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Event<'a> {
    /// What was done.
    pub kind: EventKind,
    /// The kind of statement; `Empty` without one.
    pub class: Class,
    /// When, and by which session.
    pub place: Place,
    /// Its transaction.
    pub transaction: Transaction,
    /// What the server said.
    pub measured: Measured,
    /// The user's name.
    pub user: NameId,
    /// The database in use when it was sent; what was chosen for a login or a choice of one.
    pub database: NameId,
    /// What its client has said at its login, as [`ClientSettings`](crate::client::ClientSettings) are written; empty where the source
    /// does not say it.
    pub client: NameId,
    /// The statement without its literals.
    pub template: Option<TemplateId>,
    /// The literals, in their order.
    pub parts: Parts<'a>,
}

/// Literals as they lie in a block.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Parts<'a> {
    /// Lengths, each a varint.
    pub(super) lengths: &'a [u8],
    pub(super) bytes: &'a [u8],
}

impl<'a> Event<'a> {
    /// The literals and comments of the statement, in their order: private.
    pub fn parts(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut lengths = super::varint::Cursor(self.parts.lengths);
        let mut bytes = super::varint::Cursor(self.parts.bytes);
        std::iter::from_fn(move || {
            let length = usize::try_from(lengths.number()?).ok()?;
            bytes.take(length)
        })
    }

    /// The end, in microseconds since 1970; the start where the duration is not known.
    pub(crate) fn end_us(&self) -> i64 {
        let duration = self.measured.duration_us.unwrap_or(0);
        self.place
            .start_us
            .saturating_add(i64::try_from(duration).unwrap_or(i64::MAX))
    }
}
