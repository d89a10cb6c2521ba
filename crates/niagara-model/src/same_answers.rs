//! Whether B answers a capture as A does: by content, one transaction at a time on equal data.

use niagara_error::Explanation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SameAnswers {
    /// Transactions that both servers were sent.
    pub transactions: u64,
    /// Of how many in the capture.
    pub of_transactions: u64,
    /// Executions whose contents were compared.
    pub by_content: u64,
    /// Those of which errors and the number of rows were.
    pub by_rows: u64,
    /// Those that were not: their answers vary on one and the same server, or speak of the server.
    pub not_compared: u64,
    /// Digests whose answers differ.
    pub differing: Vec<DifferingDigest>,
    /// Why it could not be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Explanation>,
}

/// A digest whose answers differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DifferingDigest {
    /// Its number: 16 hexadecimal digits.
    pub digest: String,
    /// The statement without literals, cut where it is long.
    pub text: String,
    /// In what they differ.
    pub what: Difference,
    /// Executions that were compared.
    pub executions: u64,
    /// Of these, those that differ.
    pub differing: u64,
    /// The error that B answered with and A did not; none where it did not fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<StatementError>,
}

/// An error that a server answered a statement with.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct StatementError {
    /// The server's number; 65535 where the connection was lost.
    pub code: u16,
    /// What the server said, without quoted literals.
    pub message: String,
}

/// In what answers differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    /// In what the statement leaves open: the order of rows that are equal by ORDER BY, or which of them LIMIT takes. Nobody
    /// is wrong.
    Open,
    /// In their contents.
    Contents,
    /// In the number of rows that came or were changed.
    Rows,
    /// In errors.
    Errors,
}

impl SameAnswers {
    /// Whether B answers otherwise than A where only one answer is right.
    pub fn differ(&self) -> bool {
        self.differing
            .iter()
            .any(|digest| digest.what != Difference::Open)
    }

    /// The digests that B answers otherwise.
    pub fn differences(&self) -> impl Iterator<Item = &DifferingDigest> {
        let wrong = self.differing.iter();
        wrong.filter(|digest| digest.what != Difference::Open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_open_is_told_and_not_held_against_b() {
        let digest = |what| DifferingDigest {
            digest: "0123456789abcdef".into(),
            text: "select a from t".into(),
            what,
            executions: 10,
            differing: 3,
            error: None,
        };
        let mut answers = SameAnswers {
            transactions: 50,
            of_transactions: 100,
            differing: vec![digest(Difference::Open)],
            ..SameAnswers::default()
        };
        assert!(!answers.differ());
        assert_eq!(answers.differences().count(), 0);
        let facts = answers.facts();
        assert!(
            facts[0].contains("first 50 %") && facts[1].contains("3 of 10"),
            "{facts:?}"
        );
        answers.differing.push(digest(Difference::Contents));
        assert!(answers.differ());
        let words: Vec<String> = answers.differences().map(ToString::to_string).collect();
        assert!(
            words.len() == 1 && words[0].contains("other contents"),
            "{words:?}"
        );
    }
}
