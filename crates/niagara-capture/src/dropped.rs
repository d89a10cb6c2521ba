//! What of a source is not in a capture, by cause, with the place of the first.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why something of a source is not in the capture.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The source begins in the middle of an entry.
    CutHead,
    /// The source ends in the middle of an entry.
    CutTail,
    /// An entry whose header is not whole.
    BrokenHeader,
    /// An entry that was cut in the middle: another one, or the start of a server, begins there.
    CutEntry,
    /// Lines between entries that belong to none.
    StrayLines,
    /// Comments between entries, such as a rotation's.
    CommentLines,
    /// Zeroes between entries: the file was cut while the server wrote to it.
    Blank,
    /// A line of a header that is not known. Its entry is kept.
    UnknownHeaderLine,
    /// A statement whose quotes or comment do not end: the server refused it.
    UnterminatedLiteral,
    /// A statement longer than what is read.
    TooLong,
    /// A statement about accounts or credentials.
    Account,
    /// PREPARE, EXECUTE and DEALLOCATE as SQL: what was executed is in the log with its values.
    SqlPrepared,
    /// A command that is no statement and changes nothing that a replay needs: Ping, Statistics, Long Data.
    Command,
    /// A prepare or a close of which the slow log does not say the statement.
    UnnamedPrepared,
    /// What the server did by itself, or for replication.
    Internal,
    /// A statement of a stored routine or a trigger, whose caller is in the capture and has it done again.
    Routine,
    /// A statement of a stored routine, or of a trigger, with variables that exist only there. Its caller is not in the capture.
    RoutineVariables,
    /// A login that was refused.
    RefusedLogin,
    /// Statements that `log_throttle_queries_not_using_indexes` kept out of the log, as the log says.
    Throttled,
    /// Nothing but a comment, or nothing at all.
    Empty,
    /// An entry without a time, before the first one that has one.
    NoTime,
    /// Left out by `capture filter`.
    Filtered,
    /// A connection that is encrypted.
    Encrypted,
    /// A connection that is compressed.
    Compressed,
    /// A connection of which packets, or parts of them, were not recorded, and which cannot be read from there on.
    LostPackets,
    /// A stretch of a connection of which packets, or parts of them, were not recorded, or not understood. Reading goes on
    /// behind it.
    Gap,
    /// An answer that may belong to one command or to another: behind a gap, and where the recording of a connection begins. The
    /// command is kept, without its duration, rows and error.
    UncertainAnswer,
    /// A connection that was recorded before: at another interface, or on the other side of a proxy.
    Twice,
    /// A packet of a kind of link that is not known.
    UnknownLink,
    /// A connection that speaks another protocol from here on.
    NoProtocol,
    /// An execution of a statement whose preparing was not recorded, or whose values cannot be written.
    UnknownPrepared,
    /// PREPARE, EXECUTE and DEALLOCATE as SQL in recorded traffic, which does not say what was executed.
    SqlExecuted,
}

impl Cause {
    /// Whether the source says what is lost by it, and it could not be understood: the capture has less than its source.
    pub fn is_loss(self) -> bool {
        matches!(
            self,
            Cause::BrokenHeader
                | Cause::CutEntry
                | Cause::StrayLines
                | Cause::TooLong
                | Cause::NoTime
                | Cause::RoutineVariables
        )
    }

    /// Whether it is a statement of a client that is not in the capture, so that a replay lacks it.
    pub(crate) fn is_lost_statement(self) -> bool {
        let is_elsewhere = matches!(
            self,
            Cause::Throttled | Cause::UnknownPrepared | Cause::SqlExecuted
        );
        // A stray line is no statement.
        is_elsewhere || (self.is_loss() && self != Cause::StrayLines)
    }

    /// The cause in words.
    pub fn text(self) -> &'static str {
        match self {
            Cause::CutHead => "the log begins in the middle of an entry",
            Cause::CutTail => "the log ends in the middle of an entry",
            Cause::BrokenHeader => "headers that are not whole",
            Cause::CutEntry => "entries that were cut in the middle",
            Cause::StrayLines => "lines between entries that belong to none",
            Cause::CommentLines => "comments between entries",
            Cause::Blank => {
                "zeroes between entries (the file was cut while the server wrote to it)"
            }
            Cause::UnknownHeaderLine => {
                "lines of headers that are not known (their entries are kept)"
            }
            Cause::UnterminatedLiteral => {
                "quotes or a comment that do not end (the server refused the statement)"
            }
            Cause::TooLong => "longer than what is read of one statement",
            Cause::Account => "about accounts or credentials",
            Cause::SqlPrepared => {
                "PREPARE, EXECUTE, DEALLOCATE as SQL (what they executed is kept, with its values)"
            }
            Cause::Command => "commands without a statement (ping, statistics, long data)",
            Cause::UnnamedPrepared => {
                "prepares and closes of which the log does not say the statement"
            }
            Cause::Internal => "the server's own statements, and replication",
            Cause::Routine => {
                "of stored routines and triggers, whose callers are in the capture and have them done again"
            }
            Cause::RoutineVariables => {
                "of stored routines and triggers, with variables that exist only there"
            }
            Cause::RefusedLogin => "refused logins",
            Cause::Throttled => {
                "kept out of the log by log_throttle_queries_not_using_indexes, as it says"
            }
            Cause::Empty => "nothing but a comment",
            Cause::NoTime => "before the first time in the log",
            Cause::Filtered => "left out by `niagara capture filter`",
            Cause::Encrypted => "connections that are encrypted (a slow log has their statements)",
            Cause::Compressed => {
                "connections that are compressed (a slow log has their statements)"
            }
            Cause::LostPackets => {
                "connections with packets that were not recorded, or not whole: from there on they cannot be read"
            }
            Cause::Gap => {
                "gaps in connections: packets not recorded, not whole or not understood (what was asked in them is lost, what was \
                 answered in them is not known)"
            }
            Cause::UncertainAnswer => {
                "answers that may belong to several commands: behind gaps, above all of clients that do not wait for them, and of connections \
                 that were there before (the commands are kept, without duration, rows and error)"
            }
            Cause::Twice => {
                "connections that were recorded twice (at several interfaces, or before and behind a proxy)"
            }
            Cause::UnknownLink => {
                "packets of a kind of link that is not known (Ethernet, tcpdump -i any, loopback and bare IP are)"
            }
            Cause::NoProtocol => "connections that cannot be read from here on",
            Cause::UnknownPrepared => {
                "executions of statements whose preparing was not recorded, or whose values cannot be written in SQL"
            }
            Cause::SqlExecuted => {
                "PREPARE, EXECUTE, DEALLOCATE as SQL (recorded traffic does not say what they executed)"
            }
        }
    }
}

/// A place in a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    /// The file's path as it was given.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// How much was dropped for one cause.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Drops {
    /// How many entries.
    pub count: u64,
    /// Their length in the source, in bytes, where it is known.
    pub bytes: u64,
    /// Where the first one was.
    pub first: Option<Place>,
}

/// All that was dropped.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Dropped {
    by_cause: BTreeMap<Cause, Drops>,
}

impl Dropped {
    /// Counts `count` entries of `bytes` altogether; `place` is called for the first of a cause.
    pub fn add(&mut self, cause: Cause, count: u64, bytes: usize, place: impl FnOnce() -> Place) {
        let drops = self.by_cause.entry(cause).or_default();
        drops.count += count;
        drops.bytes += bytes as u64;
        drops.first.get_or_insert_with(place);
    }

    /// Counts what has no place in a file.
    pub(crate) fn add_without_place(&mut self, cause: Cause, count: u64) {
        self.by_cause.entry(cause).or_default().count += count;
    }

    /// What was dropped for each cause.
    pub fn by_cause(&self) -> impl Iterator<Item = (Cause, &Drops)> {
        self.by_cause.iter().map(|(&cause, drops)| (cause, drops))
    }

    /// How many entries were dropped for this cause.
    pub fn count(&self, cause: Cause) -> u64 {
        self.by_cause.get(&cause).map_or(0, |drops| drops.count)
    }

    /// How many statements of clients are not in the capture.
    pub(crate) fn lost_statements(&self) -> u64 {
        let lost = self.by_cause.iter();
        lost.filter(|(cause, _)| cause.is_lost_statement())
            .map(|(_, drops)| drops.count)
            .sum()
    }

    /// Nothing was dropped.
    pub fn is_empty(&self) -> bool {
        self.by_cause.is_empty()
    }
}
