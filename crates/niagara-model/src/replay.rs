//! What replays of a capture did: kept with every duel, and put together in a comparison.

use niagara_capture::fidelity::{Fidelity, ReplayVerdict, Shortcoming};
use niagara_stats::Estimate;
use serde::{Deserialize, Serialize};

use crate::same_answers::{DifferingDigest, SameAnswers};

/// What a replay did on one side of a duel.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ReplayRecord {
    /// What was replayed beside what was captured.
    pub fidelity: Fidelity,
    /// The trace only reads, so that every answer is the same each time.
    pub only_reads: bool,
    /// By digest, those first that took most of the captured time.
    pub digests: Vec<DigestRecord>,
}

/// Statements of one digest on one side of a duel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DigestRecord {
    /// Its number: 16 hexadecimal digits.
    pub digest: String,
    /// The statement without literals, cut where it is long.
    pub text: String,
    /// Its answer varies from run to run: NOW, UUID, RAND.
    pub volatile: bool,
    /// Executions.
    pub count: u64,
    /// Of these, those that failed.
    pub errors: u64,
    /// Rows that came or were changed.
    pub rows: u64,
    /// Their time, in seconds.
    pub seconds: f64,
    /// 95th percentile of the latency, in microseconds; none without an execution.
    pub p95_us: Option<f64>,
}

/// What the duels of a comparison say of its replay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplaySummary {
    /// Whether it is good enough to decide by: of a side that is not, where there is one, else of A in the last duel.
    pub verdict: ReplayVerdict,
    /// What was replayed beside what was captured: of A in the last duel.
    pub fidelity: Fidelity,
    /// Digests whose answers differ between A and B, each once.
    pub answers: Vec<AnswerDifference>,
    /// What A showed against itself on the capture; none where there was no time for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identical: Option<IdenticalDuels>,
    /// What came of comparing the answers of both by content; none where that was not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_answers: Option<SameAnswers>,
    /// The error probability that all digests share.
    pub alpha: f64,
    /// Duels that speak of them.
    pub duels: usize,
    /// Slower ones first, then the faster, then those that are neither.
    pub digests: Vec<DigestComparison>,
}

/// How the answers of a digest differ between A and B.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum AnswerDifference {
    /// In the duels there were other numbers of rows or errors.
    Counts {
        /// The digest's number.
        digest: String,
        /// The statement without literals, cut where it is long.
        text: String,
        /// Of A and of B, over all duels.
        sides: [AnswerCount; 2],
    },
    /// They were compared by content on equal data.
    Content(DifferingDigest),
}

impl AnswerDifference {
    /// The digest's number.
    pub fn digest(&self) -> &str {
        match self {
            Self::Counts { digest, .. } => digest,
            Self::Content(found) => &found.digest,
        }
    }
}

/// What one side answered to a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerCount {
    /// Rows that came or were changed.
    pub rows: u64,
    /// Executions that failed.
    pub errors: u64,
    /// Executions.
    pub executions: u64,
}

/// Duels of a server against itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IdenticalDuels {
    /// How many.
    pub duels: u64,
    /// One over the other, with its 99 % interval; none of fewer than two duels.
    pub ratio: Option<Estimate>,
    /// They differ, which they cannot: something else than the server moves the figures.
    pub differ: bool,
}

impl ReplaySummary {
    /// Adds what A showed against itself: where it differs, nothing may rest on the replay.
    pub fn take_identical(&mut self, identical: &IdenticalDuels) {
        let Some(ratio) = &identical.ratio else {
            return;
        };
        if identical.differ {
            self.verdict.object(Shortcoming::DiffersFromItself {
                duels: identical.duels,
                ratio: ratio.ratio,
                low: ratio.low,
                high: ratio.high,
            });
        }
        self.identical = Some(identical.clone());
    }

    /// Adds what came of comparing answers by content: B is not recommended where they differ.
    pub fn take_answers(&mut self, answers: &SameAnswers) {
        let by_content: Vec<DifferingDigest> = answers.differences().cloned().collect();
        self.answers.retain(|known| {
            !by_content
                .iter()
                .any(|found| found.digest == known.digest())
        });
        let found = by_content.into_iter().map(AnswerDifference::Content);
        self.answers.extend(found);
        self.same_answers = Some(answers.clone());
    }
}

/// One digest, B beside A.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DigestComparison {
    /// Its number: 16 hexadecimal digits.
    pub digest: String,
    /// The statement without literals, cut where it is long.
    pub text: String,
    /// Its share of all time on A, 0 to 1.
    pub share: f64,
    /// Time per execution, B over A, with its own 95 % interval.
    pub latency: Estimate,
    /// p value of there being no difference, adjusted for the number of digests (Holm); none of fewer than three duels.
    pub p: Option<f64>,
    /// Whether it is called slower or faster.
    pub finding: DigestFinding,
    /// Mean time per execution of A and of B, in microseconds.
    pub mean_us: [f64; 2],
    /// 95th percentile of A and of B in the last duel, in microseconds.
    pub p95_us: [Option<f64>; 2],
    /// Executions.
    pub count: [u64; 2],
    /// Executions that failed.
    pub errors: [u64; 2],
    /// Rows.
    pub rows: [u64; 2],
}

/// What was found for a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DigestFinding {
    /// B takes longer.
    Slower,
    /// B takes less.
    Faster,
    /// Neither was seen.
    Undetected,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identical_servers_that_differ_take_the_verdict_away() {
        let mut summary = ReplaySummary {
            verdict: ReplayVerdict::Good {
                cautions: Vec::new(),
            },
            fidelity: Fidelity::default(),
            answers: Vec::new(),
            identical: None,
            same_answers: None,
            alpha: 0.05,
            duels: 3,
            digests: Vec::new(),
        };
        let mut identical = IdenticalDuels {
            duels: 3,
            ratio: Some(Estimate::from_log(0.0, -0.01, 0.01)),
            differ: false,
        };
        summary.take_identical(&identical);
        let facts = summary.facts();
        let last = facts.last().expect("facts");
        assert!(
            summary.verdict.is_good() && last.contains("A against itself on the capture, 3 duels"),
            "{facts:?}"
        );
        identical.differ = true;
        summary.take_identical(&identical);
        let verdict = summary.verdict.to_string();
        assert!(
            !summary.verdict.is_good() && verdict.contains("though both are the same"),
            "{verdict}"
        );
        let json = serde_json::to_value(&summary).expect("JSON");
        assert_eq!(
            json["verdict"]["shortcomings"][0]["code"],
            "differs-from-itself"
        );
        let read: ReplaySummary = serde_json::from_value(json).expect("readable");
        assert_eq!(read, summary);
    }
}
