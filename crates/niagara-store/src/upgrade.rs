//! What moving captured traffic to another server would break: decided by what both answered to it on equal data.

use serde::{Deserialize, Serialize};

use crate::{DifferingDigest, DigestComparison, DigestFinding, SameAnswers};

/// What was found of the way from A's server to B's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Upgrade {
    /// Product and release of A: `MariaDB 10.5.29`.
    pub from: String,
    /// Of B.
    pub to: String,
    /// What speaks against it; the worst first. Nothing was found where it is empty.
    pub obstacles: Vec<UpgradeObstacle>,
    /// Whether answers were compared for the whole capture: else what is not here was not looked for everywhere.
    pub is_whole: bool,
    /// Settings of the configuration that B's server does not take.
    pub lost_settings: Vec<LostSetting>,
    /// Variables that decide what statements mean, and that the configuration leaves to servers whose defaults differ.
    pub changed_defaults: Vec<ChangedDefault>,
}

/// Something that speaks against an upgrade.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum UpgradeObstacle {
    /// Answers could not be compared.
    NotCompared {
        /// Why.
        error: String,
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

/// A setting that the new server does not take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostSetting {
    /// As the configuration has it.
    pub setting: String,
    /// Where.
    pub place: String,
}

/// A default that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// What speaks against an upgrade in what was compared; the worst first.
    pub fn of(answers: &SameAnswers, digests: &[DigestComparison]) -> Vec<Self> {
        if let Some(error) = &answers.failure {
            let error = error.clone();
            return vec![Self::NotCompared { error }];
        }
        let (failing, other): (Vec<DifferingDigest>, Vec<DifferingDigest>) = answers
            .differences()
            .cloned()
            .partition(|digest| digest.error.is_some());
        let slower: Vec<&DigestComparison> = digests
            .iter()
            .filter(|digest| digest.finding == DigestFinding::Slower)
            .collect();
        let obstacles = [
            (!failing.is_empty()).then_some(Self::Failing { digests: failing }),
            (!other.is_empty()).then_some(Self::OtherAnswers { digests: other }),
            (!slower.is_empty()).then(|| Self::Slower {
                share: slower.iter().map(|digest| digest.share).sum(),
                digests: slower
                    .iter()
                    .map(|digest| (digest.digest.clone(), digest.latency.ratio))
                    .collect(),
            }),
        ];
        obstacles.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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

    fn upgrade(answers: &SameAnswers) -> Upgrade {
        Upgrade {
            from: "MariaDB 10.5.29".into(),
            to: "MariaDB 10.11.19".into(),
            obstacles: UpgradeObstacle::of(answers, &[]),
            is_whole: answers.transactions == answers.of_transactions,
            lost_settings: Vec::new(),
            changed_defaults: Vec::new(),
        }
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
}
