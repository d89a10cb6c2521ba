//! The English of what a check of a server found, noted and left out.

use std::fmt::{Display, Formatter, Result};

use crate::number;
use crate::{
    AnswerMismatch, CheckFinding, CheckItem, CheckNote, CheckPart, ClientFault, CommitOutcome,
    LeftOut, Objection, RecoveryFault, RowMismatch, SkipReason, TransactionFault,
};

/// Most tests that a sentence names.
const MAX_NAMED: usize = 12;

impl Display for CheckFinding {
    /// In one line, where the errors within it have one.
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::DidNotRestart { kill, error } => {
                write!(f, "after kill {kill}: it did not start again: {error}")
            }
            Self::EndedInRecovery { kill, error } => {
                write!(f, "in its first recovery after kill {kill}: {error}")
            }
            Self::WrongAfterKill { kill, fault } => write!(f, "after kill {kill}: {fault}"),
            Self::UnreadableTables { kill, error, .. } => {
                write!(
                    f,
                    "after kill {kill}: its tables could not be read: {error}"
                )
            }
            Self::BadShutdown { part, error } => {
                let after = match part {
                    CheckPart::Crash => "its last recovery",
                    CheckPart::Answers => "its statements",
                    CheckPart::Suite => "its tests",
                };
                write!(f, "after {after}: {error}")
            }
            Self::EndedUnderLoad { round, .. } => {
                write!(f, "in round {round} it ended by itself under the load")
            }
            Self::NoCommitInRound { round, seconds } => write!(
                f,
                "in round {round} no commit was acknowledged within {seconds} s that the server had for itself"
            ),
            Self::NothingAcknowledged => {
                f.write_str("no commit was ever acknowledged, so nothing was checked")
            }
            Self::ClientRefused { connection, fault } => {
                write!(f, "connection {connection}: {fault}")
            }
            Self::OtherAnswer {
                engine,
                line,
                difference,
                ..
            } => write!(f, "{engine}, {}: {difference}", place(*line)),
            Self::ServerLost {
                ended: Some(ended),
                error,
                ..
            } => write!(f, "the server crashed ({ended}): {error}"),
            Self::ServerLost {
                ended: None, error, ..
            } => write!(f, "the server was lost: {error}"),
            Self::SuiteWithoutServer { server } => write!(
                f,
                "no server was seen to run from {server}: the tests do not cover it"
            ),
            Self::SuiteOfOtherServer { other, server } => write!(
                f,
                "a server of the tests ran from {other} instead of {server}"
            ),
            Self::TestFailed {
                test,
                log,
                at_shutdown,
            } => {
                let shutdown = match at_shutdown {
                    true => ": a server did not shut down as it should after it",
                    false => "",
                };
                write!(f, "{test}{shutdown} (log: {log})")
            }
            Self::TestWithoutVerdict { test } => {
                write!(f, "{test}: the runner came to no verdict, twice")
            }
        }
    }
}

impl CheckFinding {
    /// What shows it, for whoever looks into it: the end of a log, a statement.
    pub fn evidence(&self) -> Option<String> {
        match self {
            Self::UnreadableTables { log, .. }
            | Self::EndedUnderLoad { log, .. }
            | Self::ServerLost { log, .. } => Some(format!("end of its log:\n{log}")),
            Self::OtherAnswer { statement, .. } => Some(statement.clone()),
            Self::DidNotRestart { .. }
            | Self::EndedInRecovery { .. }
            | Self::WrongAfterKill { .. }
            | Self::BadShutdown { .. }
            | Self::NoCommitInRound { .. }
            | Self::NothingAcknowledged
            | Self::ClientRefused { .. }
            | Self::SuiteWithoutServer { .. }
            | Self::SuiteOfOtherServer { .. }
            | Self::TestFailed { .. }
            | Self::TestWithoutVerdict { .. } => None,
        }
    }

    /// The first line of it.
    pub fn in_short(&self) -> String {
        let text = self.to_string();
        text.lines().next().unwrap_or_default().to_owned()
    }
}

impl Display for RecoveryFault {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Transaction {
                sequence,
                connection,
                told,
                found,
            } => write!(
                f,
                "transaction {sequence} of connection {connection}, {told}: {found}"
            ),
            Self::LastTransaction {
                connection,
                last,
                noted,
            } => write!(
                f,
                "connection {connection}: its last transaction is {}, but {} is noted in the table",
                or(last.as_ref(), "none"),
                or(noted.as_ref(), "none")
            ),
            Self::UnknownTransactions { count } => write!(
                f,
                "{} there that nobody began",
                number::count(*count as usize, "transaction")
            ),
            Self::Balance { account, sum, row } => write!(
                f,
                "account {account}: the transactions that are there make {sum}, its row says {}",
                or(row.as_ref(), "nothing")
            ),
            Self::RowByIndex {
                connection,
                sequence,
                row,
            } => write!(
                f,
                "row {row} of transaction {sequence} of connection {connection} is another by the index on note than in the table"
            ),
            Self::BalanceByIndex {
                account,
                index,
                row,
            } => write!(
                f,
                "account {account}: {index} by the index on balance, its row says {}",
                or(row.as_ref(), "nothing")
            ),
            Self::IndexSize {
                column,
                index,
                table,
            } => write!(
                f,
                "the index on {column} has {index} rows, the table {table}"
            ),
            Self::NotRolledBack { count, seconds } => write!(
                f,
                "{} of before the kill not rolled back after {seconds} s",
                number::count(*count as usize, "transaction")
            ),
            Self::CheckTable {
                table,
                kind,
                message,
            } => write!(f, "CHECK TABLE {table}: {kind} {message}"),
        }
    }
}

impl Display for CommitOutcome {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Self::Acknowledged => "acknowledged as committed",
            Self::Unanswered => "whose commit was not answered",
            Self::Undone => "not committed",
        })
    }
}

impl Display for TransactionFault {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Self::Missing => "it is not there",
            Self::Present => "it is there",
            Self::FirstRowOnly => "only the first of its two rows is there",
            Self::SecondRowOnly => "only the second of its two rows is there",
            Self::OtherText => "its rows hold another text than was written",
        })
    }
}

impl Display for ClientFault {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::NoConnection { error } => {
                write!(f, "no connection to a server that was alive: {error}")
            }
            Self::LostConnection { error } => write!(
                f,
                "the connection was lost while the server was alive: {error}"
            ),
            Self::Refused { error } => write!(f, "{error}"),
        }
    }
}

impl Display for AnswerMismatch {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Error { ours } => {
                write!(f, "error {} ({}), none there", ours.code, ours.message)
            }
            Self::NoError { theirs } => {
                write!(f, "no error, there {} ({})", theirs.code, theirs.message)
            }
            Self::OtherError { ours, theirs } => write!(
                f,
                "error {} ({}), there {} ({})",
                ours.code, ours.message, theirs.code, theirs.message
            ),
            Self::ChangedRows { ours, theirs } => write!(
                f,
                "{} rows changed, there {}",
                quoted(ours.as_deref()),
                quoted(theirs.as_deref())
            ),
            Self::Rows { first } => first.fmt(f),
            Self::Warnings { first } => write!(f, "warnings: {first}"),
        }
    }
}

impl Display for RowMismatch {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Value {
                row,
                column,
                ours,
                theirs,
            } => write!(
                f,
                "row {row}, column {column}: {}, there {}",
                quoted(ours.as_deref()),
                quoted(theirs.as_deref())
            ),
            Self::Columns { row, ours, theirs } => {
                write!(f, "row {row} has {ours} columns, there {theirs}")
            }
            Self::Count { ours, theirs } => write!(f, "{ours} rows, there {theirs}"),
        }
    }
}

impl Display for CheckNote {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::CutShort { error } => write!(f, "it was not checked on: {error}"),
            Self::RecommendsNothing { objection } => write!(
                f,
                "this look finds faults, but recommends nothing: {objection}"
            ),
            Self::OtherWarnings {
                line,
                difference,
                times,
            } => write!(
                f,
                "the two releases warn differently: {}: {difference} ({times} times)",
                place(*line)
            ),
            Self::VerdictWhenRepeated { test } => write!(
                f,
                "{test} came to no verdict at first and passed when it was repeated"
            ),
            Self::PassedWhenRepeated { test, log } => write!(
                f,
                "{test} failed once and passed when it was repeated (log: {log})"
            ),
            Self::ShutdownWhenRepeated { tests, log } => write!(
                f,
                "a server did not shut down as it should after {}, and did when they were repeated{} (log: {log})",
                number::count(tests.len(), "test"),
                named(tests)
            ),
            Self::PassedWithFilesOfSuite {
                test,
                server,
                suite,
                log,
            } => write!(
                f,
                "{test} failed with the files of version {server} and passed with those of {suite}, of which the runner's \
                 programs are (log: {log})"
            ),
            Self::TestsOfSource {
                suite,
                server,
                tests,
            } => write!(
                f,
                "the suite is of version {suite}, the server of {server}; {} with other files came from the server's own source{}",
                number::count(tests.len(), "test"),
                named(tests)
            ),
            Self::SuiteOfOtherVersion { suite, server } => write!(
                f,
                "the suite is of version {suite}, the server of {server}: the archive has no tests of its version, and tests of \
                 later mends may fail"
            ),
            Self::RunnerOutput { file } => write!(f, "the runner's output: {file}"),
        }
    }
}

impl Display for Objection {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::SameServer => f.write_str("a server agrees with itself"),
            Self::OtherSeries {
                server,
                version,
                ours,
            } => write!(
                f,
                "{server} {version} is of another series than {ours}, and asked only what is equal everywhere"
            ),
            Self::NotPackaged { server } => {
                write!(f, "{server} is not the packaged server of its series")
            }
        }
    }
}

impl Display for LeftOut {
    /// `main.grant (needs a user who is not root)`.
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} ({})", self.what, self.reason)
    }
}

impl Display for CheckItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Part { part } => f.write_str(part.title()),
            Self::Engine { engine } => write!(f, "tables in {engine}"),
            Self::Section { name, statements } => {
                write!(f, "{name}, {}", number::count(*statements, "statement"))
            }
            Self::Statement { line } => {
                write!(f, "the statement of checks/answers.sql:{line}")
            }
            Self::Test { test } => f.write_str(test),
        }
    }
}

impl Display for SkipReason {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::NothingToCompareWith { family, series } => write!(
                f,
                "not compared: no packaged server of {family} {series} is in the catalogue; --against names another server, to \
                 look for faults with"
            ),
            Self::NoSuite => f.write_str(
                "no server of its family and series is in the catalogue, whose tests could be run",
            ),
            Self::NoTestList { server } => write!(
                f,
                "there is no list of tests for it (data/checks/{server}.tests)"
            ),
            Self::NoTestPackages { server } => write!(
                f,
                "data/servers/{server}.toml names no packages with tests ([suite])"
            ),
            Self::NoEngine => f.write_str("this server does not have it"),
            Self::NoEngineThere => f.write_str("the server it is compared with does not have it"),
            Self::NeedsEngine { engine } => write!(f, "they need {engine}"),
            Self::MariadbOnly => f.write_str("only MariaDB knows them"),
            Self::MysqlOnly => f.write_str("only MySQL knows them"),
            Self::OtherSeries => f.write_str("servers of different series may answer differently"),
            Self::CrashesThere { server, ended } => write!(f, "{server} crashes on it ({ended})"),
            Self::Listed { because } => f.write_str(because),
            Self::NotInSuite { suite } => write!(f, "not among the tests of version {suite}"),
            Self::NotInSource => {
                f.write_str("the source that the server was built from has no such test")
            }
            Self::SkippedByRunner { because } => write!(f, "the runner skips it: {because}"),
            Self::FailsThere {
                server,
                version,
                log,
            } => write!(f, "fails on {server} {version} too (log: {log})"),
        }
    }
}

/// Where in the comparison something was seen.
fn place(line: Option<usize>) -> String {
    line.map_or("tables".to_owned(), |line| format!("line {line}"))
}

fn or<T: Display>(value: Option<&T>, none: &str) -> String {
    value.map_or(none.to_owned(), T::to_string)
}

fn quoted(value: Option<&str>) -> String {
    value.map_or("NULL".to_owned(), |text| format!("`{text}`"))
}

/// `: main.a, main.b and 3 more`; nothing of none.
fn named(tests: &[String]) -> String {
    let first: Vec<&str> = tests.iter().take(MAX_NAMED).map(String::as_str).collect();
    match (first.is_empty(), tests.len() - first.len()) {
        (true, _) => String::new(),
        (false, 0) => format!(": {}", first.join(", ")),
        (false, more) => format!(": {} and {more} more", first.join(", ")),
    }
}
