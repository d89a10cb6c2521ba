//! What a check of a server's correctness came to: codes and fields. Their English is in `words.rs`.

use niagara_error::Explanation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CheckFinding, CheckPart, SkipReason};

/// What a part counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CheckCount {
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckFigure {
    /// What was counted.
    pub code: CheckCount,
    /// How many.
    pub value: u64,
}

/// The figures of a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartFigures {
    /// Which part.
    pub part: CheckPart,
    /// What it counted.
    pub figures: Vec<CheckFigure>,
}

/// What is wrong with a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartFault {
    /// The part that found it.
    pub part: CheckPart,
    /// What it found first.
    pub finding: Box<CheckFinding>,
}

/// Why a built server was not checked, or not wholly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum UndoneCheck {
    /// An error kept it from being done.
    Error {
        /// The error.
        error: Explanation,
    },
    /// Another build could not be checked here before, so it was not tried.
    NotTried,
    /// A part could not be done.
    Part {
        /// Which.
        part: CheckPart,
        /// Why.
        reason: SkipReason,
    },
}

/// What `niagara server check` says of a built server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum BuildCheck {
    /// Every part of the check was passed.
    Passed {
        /// What they counted.
        parts: Vec<PartFigures>,
    },
    /// Something is wrong with it.
    Failed(PartFault),
    /// Not every part was checked.
    Unknown {
        /// Why, where it was tried.
        undone: Option<UndoneCheck>,
        /// The server's binary.
        server: String,
    },
}

/// A check of a final variant before it is handed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FinalCheck {
    /// Which.
    pub part: CheckPart,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: CheckOutcome,
    /// Where it was not of the variant exactly as that is handed over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<CheckLimit>,
}

/// What came of a check of a final variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum CheckOutcome {
    /// Nothing wrong was found.
    Passed {
        /// What was counted.
        figures: Vec<CheckFigure>,
    },
    /// Something is wrong.
    Failed {
        /// What was found first.
        finding: Box<CheckFinding>,
    },
    /// It cannot be done here.
    Skipped {
        /// Why.
        reason: SkipReason,
    },
    /// There is nothing to check: the engine of its tables has no transactions, which whoever installs it has to know.
    NoTransactions {
        /// The engine.
        engine: String,
    },
    /// An error kept it from being done, which may pass: nothing is handed over by it, and it is tried again.
    Broken {
        /// The error.
        error: Explanation,
    },
}

/// Where a check was not of a variant exactly as it is handed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum CheckLimit {
    /// Answers were asked of tables in another engine than the variant's, for which there are no questions.
    NoQuestions {
        /// The engine that was asked.
        asked: String,
        /// The variant's.
        engine: String,
    },
    /// Answers were asked of tables in the variant's engine on both servers; the start has its own in another one.
    StartsEngine {
        /// The variant's.
        engine: String,
        /// The start's.
        start: String,
    },
    /// The process was killed, not the machine.
    ProcessKilled,
    /// It was killed without variables that give durability up.
    Durable {
        /// These variables.
        without: Vec<String>,
    },
    /// It was killed with sizes at which pages are written before a kill.
    Sizes {
        /// Those that are not the variant's own.
        sizes: Vec<CheckedSize>,
    },
    /// It was killed with tables in an engine that has transactions; the variant's has none.
    Transactional {
        /// The engine that was used.
        used: String,
        /// The variant's.
        engine: String,
    },
}

/// A size that a check set in place of a variant's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedSize {
    /// The variable.
    pub variable: String,
    /// Its value in the check.
    pub value: String,
    /// The variant's.
    pub own: String,
}

impl FinalCheck {
    /// Whether it passed; `None` where it could not be done.
    pub fn passed(&self) -> Option<bool> {
        match self.outcome {
            CheckOutcome::Passed { .. } => Some(true),
            CheckOutcome::Failed { .. } => Some(false),
            CheckOutcome::Skipped { .. }
            | CheckOutcome::NoTransactions { .. }
            | CheckOutcome::Broken { .. } => None,
        }
    }

    /// Whether an error kept it from being done.
    pub fn is_broken(&self) -> bool {
        matches!(self.outcome, CheckOutcome::Broken { .. })
    }

    /// Whether none of them was broken by an error: a study is not over while one was, and the same command tries it again.
    pub fn none_broken(checks: &[FinalCheck]) -> bool {
        !checks.iter().any(FinalCheck::is_broken)
    }

    /// Whether what these checks are of may be handed over, as far as they could be done.
    pub fn may_be_handed_over(checks: &[FinalCheck]) -> bool {
        !checks.is_empty() && FinalCheck::none_broken(checks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_codes_and_agree_with_their_number() {
        for (code, value, name, words) in [
            (CheckCount::Engines, 1, "engines", "1 engine"),
            (CheckCount::Kills, 3, "kills", "3 kills"),
            (
                CheckCount::DifferentAnswers,
                1,
                "different-answers",
                "1 different answer",
            ),
            (
                CheckCount::UnansweredCommits,
                0,
                "unanswered-commits",
                "0 commits without an answer",
            ),
            (
                CheckCount::ServersStarted,
                1,
                "servers-started",
                "1 server started from the binary",
            ),
            (
                CheckCount::RestartMilliseconds,
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

    #[test]
    fn final_checks_are_data_and_have_words() {
        let kills = CheckFigure {
            code: CheckCount::Kills,
            value: 4,
        };
        let crash = FinalCheck {
            part: CheckPart::Crash,
            outcome: CheckOutcome::Passed {
                figures: vec![kills],
            },
            limits: vec![
                CheckLimit::ProcessKilled,
                CheckLimit::Durable {
                    without: vec!["sync_binlog".to_owned()],
                },
            ],
        };
        let json = serde_json::json!({
            "part": "crash", "outcome": "passed", "figures": [{ "code": "kills", "value": 4 }],
            "limits": [{ "code": "process-killed" }, { "code": "durable", "without": ["sync_binlog"] }]
        });
        assert_eq!(serde_json::to_value(&crash).expect("JSON"), json);
        let read: FinalCheck = serde_json::from_value(json).expect("readable");
        assert_eq!(read, crash);
        assert_eq!(
            crash.detail(),
            "4 kills; the process was killed, not the machine; without sync_binlog, which gives durability up"
        );
        let none = FinalCheck {
            outcome: CheckOutcome::NoTransactions {
                engine: "Aria".to_owned(),
            },
            limits: Vec::new(),
            ..crash.clone()
        };
        assert_eq!(none.title(), "crash recovery of tables in Aria");
        let json =
            serde_json::json!({ "part": "crash", "outcome": "no-transactions", "engine": "Aria" });
        assert_eq!(serde_json::to_value(&none).expect("JSON"), json);
        // Within a warning, too.
        let warning = crate::Warning::from(crate::Finding::CheckNotDone(none));
        let json = serde_json::to_value(&warning).expect("JSON");
        assert_eq!(json["code"], "check-not-done");
        assert_eq!(json["engine"], "Aria");
        let read: crate::Warning = serde_json::from_value(json).expect("readable");
        assert_eq!(read, warning);
        assert!(warning.to_string().contains("Aria has no transactions"));
    }

    #[test]
    fn only_errors_keep_a_variant_back() {
        let of = |outcome| FinalCheck {
            part: CheckPart::Answers,
            outcome,
            limits: Vec::new(),
        };
        let passed = of(CheckOutcome::Passed {
            figures: Vec::new(),
        });
        let skipped = of(CheckOutcome::Skipped {
            reason: SkipReason::NoSuite,
        });
        let failed = of(CheckOutcome::Failed {
            finding: Box::new(CheckFinding::NothingAcknowledged),
        });
        let broken = of(CheckOutcome::Broken {
            error: "no room".into(),
        });
        let all = [&passed, &skipped, &failed, &broken];
        assert_eq!(
            all.map(FinalCheck::passed),
            [Some(true), None, Some(false), None]
        );
        assert!(FinalCheck::may_be_handed_over(&[passed.clone(), skipped]));
        assert!(!FinalCheck::may_be_handed_over(&[passed, broken]));
        assert!(!FinalCheck::may_be_handed_over(&[]));
    }

    #[test]
    fn checks_of_builds_are_data_and_have_words() {
        let server = "/opt/sbin/mariadbd".to_owned();
        let fault = PartFault {
            part: CheckPart::Suite,
            finding: Box::new(CheckFinding::TestWithoutVerdict {
                test: "main.select".to_owned(),
            }),
        };
        let undone = UndoneCheck::Part {
            part: CheckPart::Suite,
            reason: SkipReason::NoTestList {
                server: "mariadb-10.11".to_owned(),
            },
        };
        for (check, code, words) in [
            (
                BuildCheck::Failed(fault),
                "failed",
                "regression suite: main.select: the runner came to no verdict, twice",
            ),
            (
                BuildCheck::Unknown {
                    undone: Some(undone),
                    server: server.clone(),
                },
                "unknown",
                "regression suite: there is no list of tests for it (data/checks/mariadb-10.11.tests); niagara server check \
                 /opt/sbin/mariadbd",
            ),
            (
                BuildCheck::Unknown {
                    undone: None,
                    server,
                },
                "unknown",
                "niagara server check /opt/sbin/mariadbd",
            ),
        ] {
            let json = serde_json::to_value(&check).expect("JSON");
            assert_eq!(json["outcome"], code);
            assert_eq!(check.to_string(), words);
            let read: BuildCheck = serde_json::from_value(json).expect("readable");
            assert_eq!(read, check);
        }
    }
}
