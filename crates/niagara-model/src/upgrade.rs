//! What moving captured traffic to another server would break: decided by what both answered to it on equal data.

use niagara_capture::fidelity::Shortcoming;
use niagara_error::Explanation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    DifferingDigest, DigestComparison, DigestFinding, LostSetting, ReplaySummary, SameAnswers,
};

/// What was found of the way from A's server to B's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Upgrade {
    /// Product and release of A: `MariaDB 10.5.29`.
    pub from: String,
    /// Of B.
    pub to: String,
    /// What speaks against it; the worst first. Nothing was found where it is empty.
    pub obstacles: Vec<UpgradeObstacle>,
    /// Whether answers were compared for the whole capture: else what is not here was not looked for everywhere.
    pub is_whole: bool,
    /// Statements that B plans otherwise, those that take most of the captured time first. A plan alone speaks against nothing.
    pub changed_plans: Vec<ChangedPlan>,
    /// Settings of the configuration that B's server does not take.
    pub lost_settings: Vec<LostSetting>,
    /// Variables that decide what statements mean, and that the configuration leaves to servers whose defaults differ.
    pub changed_defaults: Vec<ChangedDefault>,
}

/// Something that speaks against an upgrade.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum UpgradeObstacle {
    /// Answers could not be compared.
    NotCompared {
        /// Why.
        error: Explanation,
    },
    /// Nothing was found, but the replay is not good enough to decide by: statements that fail on both servers are answered alike.
    PoorReplay {
        /// What speaks against a verdict by it.
        shortcomings: Vec<Shortcoming>,
    },
    /// Statements to which the new server answers with an error that the old one does not give.
    Failing {
        /// The digests.
        digests: Vec<DifferingDigest>,
    },
    /// Statements that the new server answers otherwise, though one answer alone is right.
    OtherAnswers {
        /// The digests.
        digests: Vec<DifferingDigest>,
    },
    /// Statements that are shown to take longer on the new server, and their share of the old server's time, 0 to 1.
    Slower {
        /// Their digests with the ratio of their times.
        digests: Vec<(String, f64)>,
        /// Their share.
        share: f64,
    },
}

/// A statement that the new server plans otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedPlan {
    /// The number of its digest.
    pub digest: String,
    /// The statement without literals, cut where it is long.
    pub text: String,
    /// Its share of the captured time, 0 to 1.
    pub share: f64,
    /// A's plan.
    pub from: PlanOutline,
    /// B's plan.
    pub to: PlanOutline,
}

/// A plan, as far as two releases are compared by it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanOutline {
    /// The tables in the order in which they are read.
    pub tables: Vec<TableRead>,
    /// Rows are sorted.
    pub is_sorted: bool,
    /// A temporary table is made.
    pub is_buffered: bool,
}

impl PlanOutline {
    /// Whether another plan reads the same tables in the same order by the same indexes, and sorts and buffers as this one does.
    pub fn is_like(&self, other: &Self) -> bool {
        let same_read = |(one, other): (&TableRead, &TableRead)| {
            one.table == other.table && one.access == other.access && one.key == other.key
        };
        self.tables.len() == other.tables.len()
            && self.tables.iter().zip(&other.tables).all(same_read)
            && (self.is_sorted, self.is_buffered) == (other.is_sorted, other.is_buffered)
    }
}

/// How a plan reads a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TableRead {
    /// What the statement calls it.
    pub table: String,
    /// The way: `scan`, `index_scan`, `range`, `lookup`, `unique_lookup`, `merge`, `words`, `other`.
    pub access: String,
    /// The index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Rows that the server expects for each execution of this step.
    pub rows: f64,
}

/// A default that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedDefault {
    /// The variable.
    pub name: String,
    /// Its value on A; none where A has no such variable.
    pub from: Option<String>,
    /// On B.
    pub to: Option<String>,
}

impl Upgrade {
    /// Whether nothing that was looked for speaks against it.
    pub fn is_safe(&self) -> bool {
        self.obstacles.is_empty()
    }
}

impl UpgradeObstacle {
    /// What speaks against an upgrade in what was compared; the worst first. Answers that differ do so on equal data, however poor
    /// the replay; times of a poor one show nothing.
    pub fn of(answers: &SameAnswers, replay: Option<&ReplaySummary>) -> Vec<Self> {
        if let Some(error) = &answers.failure {
            let error = error.clone();
            return vec![Self::NotCompared { error }];
        }
        let (failing, other): (Vec<DifferingDigest>, Vec<DifferingDigest>) = answers
            .differences()
            .cloned()
            .partition(|digest| digest.error.is_some());
        let is_answered_alike = failing.is_empty() && other.is_empty();
        let by_replay = replay.and_then(|replay| match replay.verdict.is_good() {
            true => Self::slower(&replay.digests),
            false => is_answered_alike.then(|| Self::PoorReplay {
                shortcomings: replay.verdict.shortcomings().to_vec(),
            }),
        });
        let obstacles = [
            (!failing.is_empty()).then_some(Self::Failing { digests: failing }),
            (!other.is_empty()).then_some(Self::OtherAnswers { digests: other }),
            by_replay,
        ];
        obstacles.into_iter().flatten().collect()
    }

    /// Those of `digests` that are shown to be slower; none where none is.
    fn slower(digests: &[DigestComparison]) -> Option<Self> {
        let slower: Vec<&DigestComparison> = digests
            .iter()
            .filter(|digest| digest.finding == DigestFinding::Slower)
            .collect();
        (!slower.is_empty()).then(|| Self::Slower {
            share: slower.iter().map(|digest| digest.share).sum(),
            digests: slower
                .iter()
                .map(|digest| (digest.digest.clone(), digest.latency.ratio))
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use niagara_capture::fidelity::ReplayVerdict;
    use niagara_stats::Estimate;

    use super::*;
    use crate::replay::tests::replayed;
    use crate::{Difference, StatementError};

    fn digest(what: Difference, error: Option<StatementError>) -> DifferingDigest {
        DifferingDigest {
            digest: "0123456789abcdef".into(),
            text: "select rank from t".into(),
            what,
            executions: 10,
            differing: 10,
            error,
        }
    }

    /// A replay with one statement that is slower on B.
    fn replay(verdict: ReplayVerdict) -> ReplaySummary {
        ReplaySummary {
            verdict,
            digests: vec![DigestComparison {
                digest: "0123456789abcdef".into(),
                text: "select rank from t".into(),
                share: 0.4,
                latency: Estimate::from_log(0.5, 0.4, 0.6),
                p: Some(0.001),
                finding: DigestFinding::Slower,
                mean_us: [100.0, 165.0],
                p95_us: [None, None],
                captured_us: None,
                count: [100, 100],
                errors: [0, 0],
                rows: [0, 0],
            }],
            ..replayed(&[])
        }
    }

    fn upgrade(answers: &SameAnswers) -> Upgrade {
        upgrade_by(answers, None)
    }

    fn upgrade_by(answers: &SameAnswers, replay: Option<&ReplaySummary>) -> Upgrade {
        Upgrade {
            from: "MariaDB 10.5.29".into(),
            to: "MariaDB 10.11.19".into(),
            obstacles: UpgradeObstacle::of(answers, replay),
            is_whole: answers.transactions == answers.of_transactions,
            changed_plans: Vec::new(),
            lost_settings: Vec::new(),
            changed_defaults: Vec::new(),
        }
    }

    #[test]
    fn plans_differ_by_order_way_and_index() {
        let read = |table: &str, access: &str, key: Option<&str>| TableRead {
            table: table.to_owned(),
            access: access.to_owned(),
            key: key.map(str::to_owned),
            rows: 1.0,
        };
        let plan = |tables: &[TableRead]| PlanOutline {
            tables: tables.to_vec(),
            ..PlanOutline::default()
        };
        let (item, line) = (
            read("item", "scan", None),
            read("line", "lookup", Some("item")),
        );
        let first = plan(&[item.clone(), line.clone()]);
        let more_rows = TableRead {
            rows: 900.0,
            ..item.clone()
        };
        assert!(first.is_like(&plan(&[more_rows, line.clone()])));
        assert!(!first.is_like(&plan(&[line.clone(), item.clone()])));
        assert!(!first.is_like(&plan(&[item.clone(), read("line", "lookup", Some("id"))])));
        assert!(!first.is_like(&plan(&[item])));
        let sorted = PlanOutline {
            is_sorted: true,
            ..first.clone()
        };
        assert!(!first.is_like(&sorted));
    }

    #[test]
    fn the_same_answers_are_safe() {
        let answers = SameAnswers {
            transactions: 7,
            of_transactions: 7,
            differing: vec![digest(Difference::Open, None)],
            ..SameAnswers::default()
        };
        let found = upgrade(&answers);
        assert!(found.is_safe());
        assert_eq!(
            found.to_string(),
            "safe to upgrade from MariaDB 10.5.29 to MariaDB 10.11.19 for this traffic"
        );
        let part = SameAnswers {
            of_transactions: 20,
            ..answers
        };
        assert!(
            upgrade(&part)
                .to_string()
                .contains("for the part of this traffic that was compared")
        );
    }

    #[test]
    fn failing_statements_come_first() {
        let error = StatementError {
            code: 1064,
            message: "You have an error in your SQL syntax".into(),
        };
        let answers = SameAnswers {
            differing: vec![
                digest(Difference::Contents, None),
                digest(Difference::Errors, Some(error)),
            ],
            ..SameAnswers::default()
        };
        let found = upgrade(&answers);
        assert!(!found.is_safe());
        assert!(matches!(
            found.obstacles[0],
            UpgradeObstacle::Failing { .. }
        ));
        assert_eq!(
            found.to_string(),
            "not safe to upgrade from MariaDB 10.5.29 to MariaDB 10.11.19 for this traffic: 1 statement fails (error 1064); \
             1 statement is answered otherwise"
        );
        let json = serde_json::to_value(&found.obstacles[0]).expect("JSON");
        assert_eq!(json["code"], "failing");
        assert_eq!(json["digests"][0]["error"]["code"], 1064);
    }

    #[test]
    fn what_was_not_compared_is_not_safe() {
        let answers = SameAnswers {
            failure: Some("the server ended".into()),
            ..SameAnswers::default()
        };
        let said = upgrade(&answers).to_string();
        assert!(
            said.contains("not known to be safe") && said.contains("the server ended"),
            "{said}"
        );
    }

    #[test]
    fn poor_replay_leaves_safety_unknown() {
        // Tables that the data lack: both servers answer with the same error.
        let answers = SameAnswers {
            transactions: 7,
            of_transactions: 7,
            ..SameAnswers::default()
        };
        let poor = replay(ReplayVerdict::Poor {
            shortcomings: vec![Shortcoming::Errors { share: 0.6 }],
        });
        let found = upgrade_by(&answers, Some(&poor));
        assert!(!found.is_safe());
        assert_eq!(
            found.title(),
            "not known to be safe to upgrade from MariaDB 10.5.29 to MariaDB 10.11.19"
        );
        let said = found.to_string();
        assert!(
            said.contains("the replay is not good enough to decide by")
                && said.contains("60.0 % of the statements failed"),
            "{said}"
        );
        let json = serde_json::to_value(&found.obstacles).expect("JSON");
        let expected = serde_json::json!([
            { "code": "poor_replay", "shortcomings": [{ "code": "errors", "share": 0.6 }] }
        ]);
        assert_eq!(json, expected);

        let good = replay(ReplayVerdict::Good {
            cautions: Vec::new(),
        });
        let slower = upgrade_by(&answers, Some(&good));
        assert!(
            matches!(slower.obstacles[..], [UpgradeObstacle::Slower { .. }]),
            "{slower:?}"
        );
    }

    #[test]
    fn other_answers_are_unsafe_by_a_poor_replay() {
        let answers = SameAnswers {
            differing: vec![digest(Difference::Contents, None)],
            ..SameAnswers::default()
        };
        let poor = replay(ReplayVerdict::Poor {
            shortcomings: vec![Shortcoming::Late { share: 0.3 }],
        });
        let found = upgrade_by(&answers, Some(&poor));
        assert!(
            matches!(found.obstacles[..], [UpgradeObstacle::OtherAnswers { .. }]),
            "{found:?}"
        );
        assert!(found.title().starts_with("not safe"), "{found}");
    }
}
