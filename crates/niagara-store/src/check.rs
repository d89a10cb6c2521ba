//! What a check of a server's correctness came to: codes and fields. Their English is in `words.rs`.

use serde::{Deserialize, Serialize};

/// A part of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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

/// What a part counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counted {
    /// Commits that the server acknowledged.
    AcknowledgedCommits,
    /// Commits that were under way at a kill.
    UnansweredCommits,
    /// Transactions that were under way at a kill and not yet committed.
    UncommittedTransactions,
    /// Kills of the server.
    Kills,
    /// Milliseconds of the restarts after kills, together.
    RestartMilliseconds,
    /// Statements that both servers answered.
    Statements,
    /// Tables that were compared as a whole.
    WholeTables,
    /// Engines of these tables.
    Engines,
    /// Answers that differ.
    DifferentAnswers,
    /// Statements left out, as they crash the server compared with.
    CrashingStatements,
    /// Answers that are the same and come with other warnings.
    OtherWarnings,
    /// Tests that passed.
    TestsPassed,
    /// Tests that failed.
    TestsFailed,
    /// Tests that the suite skipped.
    TestsSkipped,
    /// Servers that the tests started from the binary.
    ServersStarted,
}

/// A number that a part is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckFigure {
    /// What was counted.
    pub code: Counted,
    /// How many.
    pub value: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_codes_and_agree_with_their_number() {
        for (code, value, name, words) in [
            (Counted::Engines, 1, "engines", "1 engine"),
            (Counted::Kills, 3, "kills", "3 kills"),
            (
                Counted::DifferentAnswers,
                1,
                "different-answers",
                "1 different answer",
            ),
            (
                Counted::UnansweredCommits,
                0,
                "unanswered-commits",
                "0 commits without an answer",
            ),
            (
                Counted::ServersStarted,
                1,
                "servers-started",
                "1 server started from the binary",
            ),
            (
                Counted::RestartMilliseconds,
                1,
                "restart-milliseconds",
                "1 ms of restarts",
            ),
        ] {
            let figure = CheckFigure { code, value };
            assert_eq!(figure.to_string(), words);
            let json = serde_json::json!({ "code": name, "value": value });
            assert_eq!(serde_json::to_value(figure).expect("JSON"), json);
        }
        for part in CheckPart::ALL {
            assert_eq!(serde_json::to_value(part).expect("JSON"), part.name());
        }
    }
}
