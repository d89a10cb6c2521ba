//! What could not be read of a server, and what would make it readable.

use schemars::JsonSchema;
use serde::Serialize;

/// A part that is missing.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Gap {
    /// What is missing.
    pub part: MissingPart,
    /// Why.
    #[serde(flatten)]
    pub cause: GapCause,
}

/// What a checkup reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MissingPart {
    /// The process and its machine: CPU time, memory, swap.
    Host,
    /// The memory that the server may take.
    Memory,
    /// Tables and indexes.
    Tables,
    /// Tables on which the account has no privilege.
    OtherTables,
    /// Indexes of tables in which one may replace another.
    SimilarIndexes,
    /// The size of InnoDB's data.
    DataSize,
    /// How often each index was read.
    IndexReads,
    /// Digests of statements.
    Statements,
    /// What the connections of other accounts do.
    Connections,
    /// Whether tables in other engines are written.
    Writes,
    /// Whether it is a replica, and of what.
    Replication,
    /// Persistent statistics of tables.
    Statistics,
}

/// Why a part is missing.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum GapCause {
    /// The account lacks a privilege.
    Privilege {
        /// The statement that grants it.
        grant: String,
    },
    /// Reading it would open very many tables.
    TooManyTables {
        /// How many there are.
        tables: u64,
        /// How many are read at most.
        most: u64,
    },
    /// The release does not end a statement that takes too long.
    NoTimeLimit,
    /// The server took too long, or there was no time left.
    NoTime,
    /// The server does not count it.
    NotCounted {
        /// The option that makes it count.
        option: String,
    },
    /// Its counters overflowed: some are missing.
    Lost,
    /// The process cannot be seen from here.
    NotSeen {
        /// What stands in the way.
        message: String,
    },
    /// The server's control group lies outside what this process sees.
    GroupNotSeen,
    /// The server refused the statement.
    Refused {
        /// Its error number.
        error: u16,
        /// Its message.
        message: String,
    },
}
