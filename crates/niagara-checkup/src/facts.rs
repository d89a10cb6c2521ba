//! The facts: what was read of a server, typed. Rules see nothing else.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use niagara_server::machine::Fingerprint;
use niagara_server::{Family, HideClause, Usage, Version};
use schemars::JsonSchema;
use serde::Serialize;

use crate::gap::Gap;

/// Everything that was read.
#[derive(Debug, Clone)]
pub struct Facts {
    /// Where the server is, as the user may write it.
    pub address: String,
    /// The options by which the checkup has logged in, each a word.
    pub login: Vec<String>,
    /// What it is.
    pub server: Server,
    /// Its global variables.
    pub variables: Variables,
    /// The words that its variables take; nothing of a server that does not tell.
    pub choices: Choices,
    /// How its variables are set.
    pub options: Options,
    /// Its counters since the start, read before anything else.
    pub since_start: Counters,
    /// What happened while it was watched.
    pub window: Window,
    /// Its process and machine; none where they cannot be seen from here.
    pub host: Option<Host>,
    /// Commands on its machine need another user than this one: root.
    pub needs_root: bool,
    /// Its tables and indexes; none where they were not read.
    pub catalog: Option<Catalog>,
    /// What its statements do; none where the server does not count them.
    pub statements: Option<Statements>,
    /// Where its changes come from; none where it is no replica, or that was not read.
    pub channels: Vec<Channel>,
    /// The day.
    pub today: Date,
    /// What could not be read, and why.
    pub gaps: Vec<Gap>,
}

/// What a server is.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Server {
    /// Branch of the family.
    pub family: Family,
    /// Its version.
    pub version: Version,
    /// The version as it prints it.
    pub version_string: String,
    /// Who made the package, as its `version_comment` says it.
    pub package: String,
    /// Its host's name as it says it.
    pub host: String,
    /// Seconds since its start.
    pub uptime_seconds: f64,
}

impl Server {
    /// How it hides an index; none of a server that cannot.
    pub(crate) fn hide_clause(&self) -> Option<HideClause> {
        HideClause::of(self.family, self.version)
    }
}

/// A channel of replication.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Channel {
    /// Its name; empty of the only one.
    pub name: String,
    /// The source's address.
    pub source: String,
    /// Whether changes arrive.
    pub receiver: ReplicaThread,
    /// Whether they are applied.
    pub applier: ReplicaThread,
    /// How late they are applied, without a delay that is set, in seconds; none where the server does not know.
    pub lag_seconds: Option<f64>,
}

/// A thread of replication.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReplicaThread {
    /// Whether it runs.
    pub runs: bool,
    /// The server's number of its last error; 0 where there was none.
    pub error: u32,
}

/// Global variables by their names in lower case.
#[derive(Debug, Clone, Default)]
pub struct Variables(pub BTreeMap<String, String>);

impl Variables {
    /// Its value as the server prints it.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Its value where it is a number.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.text(name)?.parse().ok()
    }

    /// Whether it is there and on.
    pub fn is_on(&self, name: &str) -> bool {
        let value = self.text(name).unwrap_or_default();
        ["ON", "1", "YES", "TRUE"]
            .iter()
            .any(|on| value.eq_ignore_ascii_case(on))
    }
}

/// The words that variables take, by their names in lower case.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Choices(pub BTreeMap<String, Vec<String>>);

impl Choices {
    /// Whether a variable takes a value, as far as that is known.
    pub fn take(&self, variable: &str, value: &str) -> bool {
        let is_word = !value.is_empty() && value.parse::<f64>().is_err();
        let words = self.0.get(variable).filter(|_| is_word);
        words.is_none_or(|words| {
            // Of switches, `mrr=on`, the names are listed.
            let mut asked = value.split(',').filter_map(|one| one.split('=').next());
            asked.all(|asked| {
                words
                    .iter()
                    .any(|word| word.eq_ignore_ascii_case(asked.trim()))
            })
        })
    }
}

/// How variables are set: at a start alone or at once, and in which option file.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Variables that a start alone sets; none of a server that does not say it.
    pub start_alone: Option<BTreeSet<String>>,
    /// The option file that set each variable, as the server names it.
    pub set_in: BTreeMap<String, String>,
    /// The option file for variables that none sets yet; none where nobody says what the server reads.
    pub usual: Option<String>,
}

impl Options {
    /// The option file for a variable.
    pub(crate) fn file_of(&self, variable: &str) -> Option<String> {
        self.set_in.get(variable).or(self.usual.as_ref()).cloned()
    }
}

/// Status counters by their names in lower case.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counters(pub BTreeMap<String, f64>);

impl Counters {
    /// Its value; none of one that this server does not have.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }

    /// Its value; 0 of one that this server does not have.
    pub fn or_zero(&self, name: &str) -> f64 {
        self.get(name).unwrap_or(0.0)
    }

    /// The growth since `earlier`, without what `own` grew by.
    pub(crate) fn since(&self, earlier: &Counters, own: &BTreeMap<String, f64>) -> Counters {
        let grown = self.0.iter().filter_map(|(name, now)| {
            let own = own.get(name).copied().unwrap_or(0.0);
            Some((name.clone(), now - earlier.get(name)? - own))
        });
        Counters(grown.map(|(name, grown)| (name, grown.max(0.0))).collect())
    }
}

/// What happened while the server was watched.
#[derive(Debug, Clone, Default)]
pub struct Window {
    /// How long that was.
    pub seconds: f64,
    /// Growth of its counters, without the checkup's own statements.
    pub growth: Counters,
    /// Moments at which the statements under way were counted.
    pub samples: Vec<Sample>,
    /// Time of all statements that ended, where the server sums it up.
    pub statement_seconds: Option<f64>,
    /// What its process used; none where it cannot be seen.
    pub usage: Option<Usage>,
    /// Pages that the machine read from swap space.
    pub pages_from_swap: Option<u64>,
    /// Largest share of the redo log that was in use at any moment.
    pub redo_in_use: Option<f64>,
}

/// Statements under way at one moment.
#[derive(Debug, Clone, Default)]
pub struct Sample {
    /// Statements under way, without the checkup's own.
    pub running: f64,
    /// What they are doing; none where the account may not see them.
    pub doing: Option<BTreeMap<Activity, u32>>,
}

/// What a connection does that is not idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Activity {
    /// Executes a statement.
    Query,
    /// Waits until a commit is durable.
    Commit,
    /// Waits for a lock on a table.
    TableLock,
    /// Logs in.
    Login,
}

/// A server's process and its machine.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Host {
    /// Its process.
    pub pid: i32,
    /// The program that it runs.
    pub program: Option<String>,
    /// Memory that it has, in bytes.
    pub resident_bytes: u64,
    /// Memory of it that is in swap space, in bytes.
    pub swapped_bytes: u64,
    /// Memory of the machine or of the server's control group, in bytes; none where that group cannot be seen from here.
    pub memory_bytes: Option<u64>,
    /// CPUs of the machine or of the server's control group.
    pub cpus: usize,
    /// Other servers that listen on the machine and take memory, too.
    pub other_servers: usize,
    /// The machine.
    #[serde(skip)]
    pub machine: Fingerprint,
}

/// Tables and indexes of the user's databases.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// Tables; views and the server's own are left out.
    pub tables: Vec<Table>,
    /// Bytes of InnoDB's tablespaces; none where nobody says it.
    pub innodb_bytes: Option<u64>,
    /// How often indexes were read; none where the server does not count that.
    pub index_reads: Option<IndexReads>,
}

/// A table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// Its database and name.
    pub name: TableName,
    /// Its storage engine.
    pub engine: String,
    /// Its indexes.
    pub indexes: Vec<Index>,
    /// Columns at which a foreign key's index begins.
    pub foreign_keys: Vec<String>,
    /// Whether it was written to since the start; none where nobody says it.
    pub is_written: Option<bool>,
    /// What its persistent statistics say; none where they were not read.
    pub statistics: Option<TableStatistics>,
}

/// A table's persistent statistics against what was counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TableStatistics {
    /// Rows by the statistics.
    pub rows: f64,
    /// Rows inserted since the start, less those deleted.
    pub inserted: f64,
    /// The statistics were made before the server started.
    pub before_start: bool,
}

/// A table's database and name.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct TableName {
    /// Database.
    pub schema: String,
    /// Table.
    pub table: String,
}

impl std::fmt::Display for TableName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.schema, self.table)
    }
}

/// An index.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Index {
    /// Its name.
    pub name: String,
    /// Whether it forbids equal rows.
    pub unique: bool,
    /// `BTREE`, `FULLTEXT`, …; none where a server would have opened too many tables to say it.
    pub kind: Option<String>,
    /// The optimizer may not use it.
    pub hidden: bool,
    /// Its columns in order.
    pub parts: Vec<Part>,
}

/// A column of an index.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Part {
    /// The column; empty of an expression.
    pub column: String,
    /// Its beginning alone, in characters.
    pub prefix: Option<u64>,
    /// Sorted from the largest down.
    pub descending: bool,
    /// It may be NULL.
    pub nullable: bool,
}

/// How often indexes were read since the start.
#[derive(Debug, Clone, Default)]
pub struct IndexReads {
    /// Who counted.
    pub source: ReadsSource,
    /// Reads of each table by each index.
    pub of_table: BTreeMap<TableName, BTreeMap<String, f64>>,
}

/// Who counts reads of indexes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReadsSource {
    /// The performance schema, all indexes of each table that was opened.
    #[default]
    PerformanceSchema,
    /// MariaDB's user statistics, those that were used alone.
    UserStatistics,
}

/// What statements did since the server's start, or since its counters were set back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Statements {
    /// Time of all of them.
    pub seconds: f64,
    /// Those that took most time, by digest.
    pub digests: Vec<Digest>,
}

/// Statements that differ by their literals alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Digest {
    /// The database in use.
    pub schema: Option<String>,
    /// The statement without its literals.
    pub text: String,
    /// Executions.
    pub count: f64,
    /// Time of all executions.
    pub seconds: f64,
    /// Rows that the server read for them.
    pub rows_examined: f64,
    /// Rows that it sent or changed.
    pub rows_returned: f64,
    /// Executions that used no index.
    pub without_index: f64,
}
