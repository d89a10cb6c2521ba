//! Whether B answers a capture as A does: by content, one transaction at a time on equal data.

use serde::{Deserialize, Serialize};

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
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
    pub failure: Option<String>,
}

/// A digest whose answers differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatementError {
    /// The server's number; 65535 where the connection was lost.
    pub code: u16,
    /// What the server said, without quoted literals.
    pub message: String,
}

/// In what answers differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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

    /// What was compared and what was not, a line each.
    pub fn facts(&self) -> Vec<String> {
        if let Some(failure) = &self.failure {
            return vec![format!("answers were not compared by content: {failure}")];
        }
        let part = match self.transactions < self.of_transactions {
            true => format!(
                " (the first {:.0} % of the transactions, as far as the time went)",
                self.transactions as f64 / self.of_transactions.max(1) as f64 * 100.0
            ),
            false => String::new(),
        };
        let mut facts = vec![format!(
            "answers, one transaction at a time on equal data{part}: {} statements compared by content, {} by errors and \
             rows; {} not, whose answers vary or speak of the server",
            self.by_content, self.by_rows, self.not_compared
        )];
        let open = self.differing.iter();
        facts.extend(
            open.filter(|digest| digest.what == Difference::Open)
                .map(|digest| {
                    format!(
                        "{}: the statement leaves the order or the choice of its rows open, and no answer is wrong",
                        digest.words()
                    )
                }),
        );
        facts
    }
}

impl std::fmt::Display for DifferingDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.words())
    }
}

impl DifferingDigest {
    pub(crate) fn words(&self) -> String {
        let what = match self.what {
            Difference::Open => "rows in another order, or others",
            Difference::Contents => "other contents",
            Difference::Rows => "another number of rows",
            Difference::Errors => "other errors",
        };
        let error = self.error.as_ref().map_or(String::new(), |error| {
            format!(": error {} ({})", error.code, error.message)
        });
        format!(
            "{} {}: {what} in {} of {} executions on equal data{error}",
            self.digest, self.text, self.differing, self.executions
        )
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
