//! What a part of a check found, noted and left out: codes and fields. Their English is in `words/check.rs`.

use niagara_error::Explanation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::StatementError;

/// A part of a check.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum CheckPart {
    /// Killed under write load: is every acknowledged commit there, and no transaction by half?
    Crash,
    /// The same answers and the same tables as another server on the same data?
    Answers,
    /// The server's own regression tests.
    Suite,
}

impl CheckPart {
    /// All parts, in the order in which they run.
    pub const ALL: [CheckPart; 3] = [CheckPart::Crash, CheckPart::Answers, CheckPart::Suite];

    /// As written on the command line.
    pub fn name(self) -> &'static str {
        match self {
            CheckPart::Crash => "crash",
            CheckPart::Answers => "answers",
            CheckPart::Suite => "suite",
        }
    }
}

/// Something that is wrong with a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum CheckFinding {
    /// It did not start again after a kill.
    DidNotRestart {
        /// The kill, from 1.
        kill: usize,
        /// The error.
        error: Explanation,
    },
    /// It ended by itself while it recovered from a kill.
    EndedInRecovery {
        /// The kill, from 1.
        kill: usize,
        /// The error.
        error: Explanation,
    },
    /// After a kill its tables hold something else than was committed.
    WrongAfterKill {
        /// The kill, from 1.
        kill: usize,
        /// What is wrong.
        fault: RecoveryFault,
    },
    /// After a kill its tables could not be read.
    UnreadableTables {
        /// The kill, from 1.
        kill: usize,
        /// The error.
        error: Explanation,
        /// The end of its log.
        log: String,
    },
    /// It did not shut down as it should at the end of a part.
    BadShutdown {
        /// The part.
        part: CheckPart,
        /// The error.
        error: Explanation,
    },
    /// It ended by itself under the load.
    EndedUnderLoad {
        /// The round of writing, from 0.
        round: usize,
        /// The end of its log.
        log: String,
    },
    /// No commit was acknowledged in a round of writing.
    NoCommitInRound {
        /// The round, from 0.
        round: usize,
        /// Seconds that the server had for itself.
        seconds: u64,
    },
    /// No commit was acknowledged at all, so nothing was checked.
    NothingAcknowledged,
    /// A client was turned away while the server was alive.
    ClientRefused {
        /// Its number, from 0.
        connection: usize,
        /// How.
        fault: ClientFault,
    },
    /// It answers a statement otherwise than the server compared with.
    OtherAnswer {
        /// The engine of the tables.
        engine: String,
        /// The line of the file of statements; `None` where tables are compared whole.
        line: Option<usize>,
        /// How.
        difference: AnswerMismatch,
        /// The statement, or its beginning.
        statement: String,
    },
    /// It crashed, or was lost, while it was asked.
    ServerLost {
        /// How its process ended, where it did.
        ended: Option<String>,
        /// The error.
        error: Explanation,
        /// The end of its log.
        log: String,
    },
    /// The runner of the tests started no server from the binary.
    SuiteWithoutServer {
        /// The binary.
        server: String,
    },
    /// The runner of the tests started a server from another binary.
    SuiteOfOtherServer {
        /// That binary.
        other: String,
        /// The binary to be checked.
        server: String,
    },
    /// A test failed twice here, and does not fail on the server compared with.
    TestFailed {
        /// `main.select`.
        test: String,
        /// Its log.
        log: String,
        /// Whether what failed is the shutdown of a server after it.
        at_shutdown: bool,
    },
    /// The runner came to no verdict about a test, twice.
    TestWithoutVerdict {
        /// `main.select`.
        test: String,
    },
}

/// What is wrong with the tables after a kill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum RecoveryFault {
    /// A transaction is not as its client was told.
    Transaction {
        /// Its number within its connection.
        sequence: u64,
        /// Its connection.
        connection: usize,
        /// What its client was told.
        told: CommitOutcome,
        /// What is there.
        found: TransactionFault,
    },
    /// The last transaction that is noted of a connection is another one.
    LastTransaction {
        /// The connection.
        connection: usize,
        /// The last one that is there.
        last: Option<u64>,
        /// The one that is noted.
        noted: Option<u64>,
    },
    /// Transactions are there that nobody began.
    UnknownTransactions {
        /// How many.
        count: u64,
    },
    /// An account's balance is not the sum of its transactions.
    Balance {
        /// The account.
        account: u64,
        /// The sum.
        sum: i64,
        /// What its row has; `None` where there is no row.
        row: Option<i64>,
    },
    /// A row is another by an index than in the table.
    RowByIndex {
        /// Its connection.
        connection: usize,
        /// Its transaction.
        sequence: u64,
        /// Which of the transaction's two rows, from 1.
        row: usize,
    },
    /// A balance is another by an index than in the table.
    BalanceByIndex {
        /// The account.
        account: u64,
        /// By the index.
        index: i64,
        /// What its row has; `None` where there is no row.
        row: Option<i64>,
    },
    /// An index has another number of rows than its table.
    IndexSize {
        /// The index's column.
        column: String,
        /// Rows by the index.
        index: usize,
        /// Rows of the table.
        table: usize,
    },
    /// Transactions that a kill cut off are not rolled back.
    NotRolledBack {
        /// How many.
        count: u64,
        /// Seconds that were waited for them.
        seconds: u64,
    },
    /// `CHECK TABLE` has something to say of a table.
    CheckTable {
        /// The table.
        table: String,
        /// `error`, `warning`.
        kind: String,
        /// The server's words.
        message: String,
    },
}

/// What a client was told of its transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CommitOutcome {
    /// The server said that it is committed.
    Acknowledged,
    /// Nothing was heard of its commit.
    Unanswered,
    /// It was rolled back, or never got as far as its commit.
    Undone,
}

/// How a transaction in the tables differs from what its client was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TransactionFault {
    /// It was committed and is not there.
    Missing,
    /// It was not committed and is there.
    Present,
    /// Only the first of its two rows is there.
    FirstRowOnly,
    /// Only the second of its two rows is there.
    SecondRowOnly,
    /// Its rows hold another text.
    OtherText,
}

/// How a server turned a client away while it was alive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum ClientFault {
    /// It gave no connection.
    NoConnection {
        /// The error.
        error: Explanation,
    },
    /// It lost the connection.
    LostConnection {
        /// The error.
        error: Explanation,
    },
    /// It refused a statement that nothing is wrong with.
    Refused {
        /// The error.
        error: Explanation,
    },
}

/// How the answer of the server under test differs from that of the server compared with.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum AnswerMismatch {
    /// An error where there is none there.
    Error {
        /// The error.
        ours: StatementError,
    },
    /// No error where there is one there.
    NoError {
        /// The error there.
        theirs: StatementError,
    },
    /// Two different errors.
    OtherError {
        /// The error here.
        ours: StatementError,
        /// The error there.
        theirs: StatementError,
    },
    /// Another number of changed rows.
    ChangedRows {
        /// Here, as the server says it.
        ours: Option<String>,
        /// There.
        theirs: Option<String>,
    },
    /// Other rows.
    Rows {
        /// The first difference.
        first: RowMismatch,
    },
    /// Other warnings.
    Warnings {
        /// The first difference.
        first: RowMismatch,
    },
}

/// The first difference of two lists of rows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum RowMismatch {
    /// Another value.
    Value {
        /// The row, from 1.
        row: usize,
        /// The column, from 1.
        column: usize,
        /// Here, or its beginning; `None` is NULL.
        ours: Option<String>,
        /// There.
        theirs: Option<String>,
    },
    /// Another number of columns.
    Columns {
        /// The row, from 1.
        row: usize,
        /// Here.
        ours: usize,
        /// There.
        theirs: usize,
    },
    /// Another number of rows.
    Count {
        /// Here.
        ours: usize,
        /// There.
        theirs: usize,
    },
}

/// Something worth knowing of a part that is no fault of the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum CheckNote {
    /// An error ended the part after it had found something.
    CutShort {
        /// The error.
        error: Explanation,
    },
    /// The part finds faults, and recommends nothing.
    RecommendsNothing {
        /// Why.
        objection: Objection,
    },
    /// Two releases answer the same and warn differently.
    OtherWarnings {
        /// The line of the file of statements; `None` where tables are compared whole.
        line: Option<usize>,
        /// How.
        difference: AnswerMismatch,
        /// How often.
        times: u64,
    },
    /// A test came to no verdict at first and passed when it was repeated.
    VerdictWhenRepeated {
        /// `main.select`.
        test: String,
    },
    /// A test failed once and passed when it was repeated.
    PassedWhenRepeated {
        /// `main.select`.
        test: String,
        /// Its log.
        log: String,
    },
    /// A server did not shut down as it should after these tests, and did when they were repeated.
    ShutdownWhenRepeated {
        /// The tests.
        tests: Vec<String>,
        /// The log of the first.
        log: String,
    },
    /// A test failed with the files of the server's version and passed with those of the suite's.
    PassedWithFilesOfSuite {
        /// `main.select`.
        test: String,
        /// The server's version.
        server: String,
        /// The suite's version.
        suite: String,
        /// Its log.
        log: String,
    },
    /// The suite is of another version; tests whose files differ were taken from the server's source.
    TestsOfSource {
        /// The suite's version.
        suite: String,
        /// The server's version.
        server: String,
        /// Those tests.
        tests: Vec<String>,
    },
    /// The suite is of another version, and the server's source is not known.
    SuiteOfOtherVersion {
        /// The suite's version.
        suite: String,
        /// The server's version.
        server: String,
    },
    /// Where the runner's output is.
    RunnerOutput {
        /// The file.
        file: String,
    },
}

/// Why a comparison recommends nothing, even where nothing differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Objection {
    /// A server agrees with itself.
    SameServer,
    /// The server compared with is of another series.
    OtherSeries {
        /// That server.
        server: String,
        /// Its version.
        version: String,
        /// The version of the server under test.
        ours: String,
    },
    /// The server compared with is not the packaged one of its series.
    NotPackaged {
        /// That server.
        server: String,
    },
}

/// Something that a check did not look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// What.
    pub what: CheckItem,
    /// Why.
    pub reason: SkipReason,
}

/// Something that a check looks at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum CheckItem {
    /// A whole part.
    Part {
        /// Which.
        part: CheckPart,
    },
    /// All statements on tables in an engine.
    Engine {
        /// The engine.
        engine: String,
    },
    /// A section of the file of statements.
    Section {
        /// Its name.
        name: String,
        /// How many statements it has.
        statements: usize,
    },
    /// A statement of the file of statements.
    Statement {
        /// Its line.
        line: usize,
    },
    /// A test.
    Test {
        /// `main.select`.
        test: String,
    },
}

/// Why a check did not look at something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum SkipReason {
    /// There is no packaged server to compare answers with.
    NothingToCompareWith {
        /// `MariaDB`, `MySQL`, `Percona Server`.
        family: String,
        /// `10.11`.
        series: String,
    },
    /// The catalogue has no server of this family and series, whose tests could be run.
    NoSuite,
    /// No list of tests is built in.
    NoTestList {
        /// The server's name in the catalogue.
        server: String,
    },
    /// The catalogue names no packages with tests.
    NoTestPackages {
        /// The server's name in the catalogue.
        server: String,
    },
    /// The server under test does not have the engine.
    NoEngine,
    /// The server compared with does not have the engine.
    NoEngineThere,
    /// The statements need an engine that is not compared.
    NeedsEngine {
        /// The engine.
        engine: String,
    },
    /// Only MariaDB knows the statements.
    MariadbOnly,
    /// Only MySQL knows the statements.
    MysqlOnly,
    /// Servers of different series may answer the statements differently.
    OtherSeries,
    /// The server compared with crashes on the statement.
    CrashesThere {
        /// That server.
        server: String,
        /// How its process ended.
        ended: String,
    },
    /// The list of tests leaves it out.
    Listed {
        /// The list's words.
        because: String,
    },
    /// The suite has no such test.
    NotInSuite {
        /// The suite's version.
        suite: String,
    },
    /// The source of the server has no such test.
    NotInSource,
    /// The runner skipped it.
    SkippedByRunner {
        /// The runner's words.
        because: String,
    },
    /// It fails on the server compared with, too.
    FailsThere {
        /// That server.
        server: String,
        /// Its version.
        version: String,
        /// The log of the test here.
        log: String,
    },
}
