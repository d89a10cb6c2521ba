//! The findings: what rules conclude from the facts, with stable codes.

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Serialize;

use crate::facts::{Digest, ReadsSource, TableName};

/// How bad a finding is, the worst first.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Data or the server itself are at risk.
    Danger,
    /// Users see errors.
    Fault,
    /// It costs time or space.
    Cost,
    /// It is worth knowing.
    Note,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Finding {
    /// A crash may lose commits or damage data.
    DurabilityOff {
        /// The lever that is set so.
        lever: String,
        /// The variable.
        variable: String,
        /// Its value.
        value: String,
        /// What is at risk, as the lever's file says it.
        risk: String,
    },
    /// The server may take more memory than there is.
    MemoryBeyondRam {
        /// Its global buffers, in bytes.
        buffer_bytes: u64,
        /// The machine's memory, in bytes.
        memory_bytes: u64,
    },
    /// A part of the server's memory is in swap space.
    Swapped {
        /// In bytes.
        swapped_bytes: u64,
        /// What is in memory, in bytes.
        resident_bytes: u64,
        /// Pages that the machine read from swap space while it was watched.
        pages_read: u64,
    },
    /// Tables that are not crash-safe are written.
    EngineNotCrashSafe {
        /// The tables.
        tables: Vec<TableName>,
    },
    /// The series is past its end, and the package is the project's own.
    ReleaseEnded {
        /// The series.
        #[serde(flatten)]
        series: EndedSeries,
    },
    /// The series is past its end; whoever made the package may mend it.
    ReleaseEndedUpstream {
        /// The series.
        #[serde(flatten)]
        series: EndedSeries,
        /// What the package says of itself.
        package: String,
    },
    /// Changes of the source do not arrive, or are not applied.
    ReplicaStopped {
        /// The channels.
        channels: Vec<StoppedChannel>,
    },
    /// Changes of the source are applied late.
    ReplicaLags {
        /// The source.
        source: String,
        /// How late, at the better end of the window, in seconds.
        seconds: f64,
    },
    /// A replica takes writes.
    ReplicaWritable {
        /// Its sources.
        sources: Vec<String>,
        /// Statements that write rows, counted since the start; of some releases those that its sources sent are among them.
        writes: u64,
        /// It is a node of a Galera cluster.
        in_cluster: bool,
    },
    /// Connections were refused: max_connections was reached.
    ConnectionsRefused {
        /// How many, since the start.
        refused: u64,
        /// The limit.
        max_connections: u64,
    },
    /// Nearly all connections were in use.
    ConnectionsNearLimit {
        /// Most at the same time.
        most_used: u64,
        /// The limit.
        max_connections: u64,
    },
    /// Logins failed.
    LoginsFailed {
        /// How many, since the start.
        failed: u64,
        /// Of so many.
        connections: u64,
    },
    /// Clients went away without closing.
    ClientsLost {
        /// How many, since the start.
        lost: u64,
        /// Of so many.
        connections: u64,
    },
    /// The buffer pool holds less than what is read.
    PoolTooSmall {
        /// The pool, in bytes.
        pool_bytes: u64,
        /// InnoDB's data, in bytes.
        data_bytes: u64,
        /// Read from disk since the start, in bytes.
        read_bytes: u64,
        /// Pages read from disk for each that was asked for, since the start.
        miss_share: f64,
        /// Pages read from disk by the second, while it was watched.
        pages_per_second: f64,
    },
    /// The redo log is written round quickly.
    RedoTooSmall {
        /// Its size, in bytes.
        capacity_bytes: u64,
        /// Written by the second, in bytes.
        bytes_per_second: f64,
        /// Seconds in which it is full once.
        round_seconds: f64,
        /// Largest share of it that was in use.
        in_use: Option<f64>,
    },
    /// Transactions waited for space in the log buffer.
    LogBufferWaits {
        /// How often, since the start.
        waits: u64,
        /// The buffer, in bytes.
        buffer_bytes: u64,
    },
    /// The query cache is on.
    QueryCacheOn {
        /// Its size, in bytes.
        bytes: u64,
        /// SELECTs that it answered, since the start.
        hits: u64,
        /// SELECTs that were executed, since the start.
        selects: u64,
        /// Results that it dropped for want of space.
        prunes: u64,
    },
    /// Temporary tables are written to disk.
    TemporaryTablesOnDisk {
        /// How many, since the start.
        on_disk: u64,
        /// Of so many.
        all: u64,
    },
    /// Tables have no primary key.
    TablesWithoutKey {
        /// The tables.
        tables: Vec<TableName>,
    },
    /// Indexes equal others, or begin them.
    DuplicateIndexes {
        /// The pairs.
        indexes: Vec<DuplicateIndex>,
        /// Whether the server can hide an index from the optimizer.
        can_hide: bool,
    },
    /// Indexes were not read since the start.
    UnusedIndexes {
        /// The indexes.
        indexes: Vec<UnusedIndex>,
        /// Seconds since the start.
        since_seconds: f64,
        /// Who counted.
        counted_by: ReadsSource,
    },
    /// Statements read many rows for each that they return.
    StatementsReadMuch {
        /// The statements.
        digests: Vec<Digest>,
        /// Their share of all statements' time.
        time_share: f64,
    },
    /// Transactions wait for each other's rows.
    RowLockWaits {
        /// Time that they waited while the server was watched.
        seconds: f64,
        /// How long it was watched.
        window_seconds: f64,
    },
    /// Most connections need a new thread.
    ThreadsNotCached {
        /// Threads made since the start.
        created: u64,
        /// Connections since the start.
        connections: u64,
        /// New connections by the second, while it was watched.
        connections_per_second: f64,
    },
    /// Tables are opened all the time.
    TableCacheTooSmall {
        /// Opened by the second, while it was watched.
        opened_per_second: f64,
        /// Tables that are open.
        open: u64,
        /// The limit.
        limit: u64,
    },
    /// The optimizer's statistics are far from what the tables hold.
    StatisticsStale {
        /// The tables.
        tables: Vec<StaleTable>,
    },
    /// Nothing records what statements do.
    StatementsNotRecorded {
        /// The slow log is on.
        slow_log: bool,
        /// Its threshold in seconds.
        long_query_time: f64,
    },
}

/// A series that its project has ended.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct EndedSeries {
    /// As the catalogue of servers writes it: `mysql-8.0`.
    pub series: String,
    /// The last day.
    pub ended: Date,
    /// A series to compare with: `mysql-9.7`.
    pub newest: String,
    /// The policy that says so.
    pub policy: String,
}

/// A channel of replication that stands still.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StoppedChannel {
    /// The source.
    pub source: String,
    /// What does not run.
    pub part: StoppedPart,
    /// The server's number of the error; 0 where it was stopped.
    pub error: u32,
}

/// A part of replication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StoppedPart {
    /// The connection to the source.
    Receiver,
    /// What applies the changes.
    Applier,
    /// Both.
    Both,
}

/// An index that equals another one, or begins it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DuplicateIndex {
    /// The table.
    #[serde(flatten)]
    pub table: TableName,
    /// The index.
    pub index: String,
    /// The other one.
    pub covered_by: String,
    /// How alike they are.
    pub likeness: Likeness,
}

/// How alike an index and another one are that finds the same rows, the most alike first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Likeness {
    /// Both have the same columns in the same order.
    Equal,
    /// The other one has more columns: it is larger, and rows of equal values come in another order.
    Beginning,
    /// The other one is InnoDB's primary key, which holds whole rows.
    WholeRows,
}

/// An index that was not read.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct UnusedIndex {
    /// The table.
    #[serde(flatten)]
    pub table: TableName,
    /// The index.
    pub index: String,
    /// Reads of the table by other means.
    pub table_reads: f64,
}

/// A table whose statistics are stale.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StaleTable {
    /// The table.
    #[serde(flatten)]
    pub table: TableName,
    /// Rows by the statistics.
    pub rows: f64,
    /// Rows that were inserted since, less those deleted.
    pub inserted: f64,
}
