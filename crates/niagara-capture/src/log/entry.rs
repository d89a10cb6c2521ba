//! One entry of a log.

use std::ops::Range;

use crate::client::ClientSettings;
use crate::file::Measured;
use crate::way::Way;

/// When a statement began, as far as the log says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stamp {
    /// In microseconds since 1970, UTC.
    Exact(i64),
    /// In this second since 1970, UTC.
    Second(i64),
    /// It ended in this second since 1970, UTC.
    EndSecond(i64),
}

/// What a client asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// A statement as text.
    Query,
    /// A statement is prepared; its text has question marks. Without a text where the log does not say it.
    Prepare,
    /// A prepared statement is executed; its text has the values.
    Execute,
    /// A prepared statement is forgotten.
    CloseStatement,
    /// A login; its text is the general log's (`joe@host on shop using TCP/IP`).
    Connect,
    /// A client left.
    Quit,
    /// A database was chosen; its text is the name, where the log says it.
    InitDb,
    /// The session is as a fresh one.
    ResetConnection,
    /// Another user on the same connection; its text is as that of Connect.
    ChangeUser,
    /// The server's own: its start, its daemons, replication.
    Internal,
    /// Anything else.
    Other,
    /// The log says that this many statements were kept out of it.
    Throttled(u64),
}

/// How a session stands after a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// A transaction of several statements is open.
    pub in_transaction: bool,
    /// Statements outside of one are transactions of their own.
    pub autocommit: bool,
}

/// What a log says of one command of a client.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// What was asked for.
    pub command: Command,
    /// The server's number of the session; none in a log without it.
    pub thread: Option<u64>,
    /// The user's name as the client gave it; empty where the log does not say it.
    pub user: &'a [u8],
    /// How the client came, where the entry says it.
    pub way: Option<Way>,
    /// The database in use, where the entry says it; empty for none.
    pub database: Option<&'a [u8]>,
    /// The beginning.
    pub stamp: Stamp,
    /// What the server said of it.
    pub measured: Measured,
    /// How the session stands afterwards, as the server says it in recorded traffic; none of what failed, and in logs.
    pub standing: Option<Standing>,
    /// One in this many statements, or sessions, was logged (`log_slow_rate_limit`).
    pub sampled: u64,
    /// Whole sessions were chosen for the log, no single statements (`log_slow_rate_type` of Percona Server).
    pub whole_sessions: bool,
    /// What the client has said at this login.
    pub client: Option<ClientSettings>,
    /// The stored routine that the statement is part of; empty where the log does not name it.
    pub routine: Option<&'a [u8]>,
    /// The statement.
    pub text: &'a [u8],
    /// The length of the whole entry in the log, in bytes.
    pub length: usize,
    /// The line at which it begins, from 1.
    pub line: u64,
}

/// An entry by its places in the buffer, so that it holds nothing while the buffer moves.
#[derive(Debug, Clone, Default)]
pub(super) struct Parsed {
    pub command: Option<Command>,
    pub thread: Option<u64>,
    pub user: Range<usize>,
    pub way: Option<Way>,
    pub database: Option<Range<usize>>,
    pub stamp: Option<Stamp>,
    /// The second of the server's clock that a slow log says with it, as if its local time were UTC.
    pub said_second: Option<i64>,
    pub measured: Measured,
    /// Bytes sent to the client; tells statements that failed. MariaDB says 0 for executes of prepared statements.
    pub bytes_sent: Option<u64>,
    pub sampled: u64,
    pub whole_sessions: bool,
    pub routine: Option<Range<usize>>,
    pub text: Range<usize>,
    /// Lines of its header that are not known, and where the first one begins.
    pub unknown_lines: u64,
    pub first_unknown: usize,
}
