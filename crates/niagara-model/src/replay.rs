//! What replays of a capture did: kept with every duel, and put together in a comparison.

use niagara_capture::fidelity::{Fidelity, ReplayVerdict, Shortcoming};
use niagara_stats::Estimate;
use schemars::JsonSchema;
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
    /// Mean time of an execution in the capture, in microseconds; none where durations are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub captured_us: Option<f64>,
}

/// What the duels of a comparison say of its replay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerCount {
    /// Rows that came or were changed.
    pub rows: u64,
    /// Executions that failed.
    pub errors: u64,
    /// Executions.
    pub executions: u64,
}

/// A digest that takes far longer on the copy than on the server that was captured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlowHere {
    /// The digest's number.
    pub digest: String,
    /// Its share of all time on A, 0 to 1.
    pub share: f64,
    /// Mean time per execution of A, in microseconds.
    pub here_us: f64,
    /// In the capture, in microseconds.
    pub captured_us: f64,
}

/// Duels of a server against itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IdenticalDuels {
    /// How many.
    pub duels: u64,
    /// One over the other, with its 99 % interval; none of fewer than two duels.
    pub ratio: Option<Estimate>,
    /// They differ, which they cannot: something else than the server moves the figures.
    pub differ: bool,
}

/// Share of the time from which on a digest carries figures of the whole.
const WEIGHTY: f64 = 0.05;
/// How many times longer than in the capture a digest takes where another plan is likely: other hardware and more load at a time move
/// all digests, and are taken off by the median.
const OTHER_PLAN: f64 = 4.0;

impl ReplaySummary {
    /// Digests of weight that take far longer on A than in the capture, more than the others do.
    pub fn slow_here(&self) -> Vec<SlowHere> {
        let factor = |digest: &DigestComparison| {
            let captured = digest.captured_us.filter(|mean| *mean > 0.0)?;
            Some(digest.mean_us[0] / captured)
        };
        let mut factors: Vec<f64> = self.digests.iter().filter_map(factor).collect();
        factors.sort_by(f64::total_cmp);
        // The lower of two in the middle: of two digests one may be the slow one.
        let Some(median) = factors.get(factors.len().saturating_sub(1) / 2) else {
            return Vec::new();
        };
        let usual = median.max(1.0);
        let slow = self.digests.iter().filter(|digest| {
            digest.share >= WEIGHTY
                && factor(digest).is_some_and(|factor| factor >= OTHER_PLAN * usual)
        });
        slow.filter_map(|digest| {
            Some(SlowHere {
                digest: digest.digest.clone(),
                share: digest.share,
                here_us: digest.mean_us[0],
                captured_us: digest.captured_us?,
            })
        })
        .collect()
    }

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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Mean time per execution in the capture, in microseconds; none where durations are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub captured_us: Option<f64>,
    /// Executions.
    pub count: [u64; 2],
    /// Executions that failed.
    pub errors: [u64; 2],
    /// Rows.
    pub rows: [u64; 2],
}

/// What was found for a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
pub(crate) mod tests {
    use super::*;

    /// Digests by their share, their time here and in the capture.
    pub(crate) fn replayed(digests: &[(&str, f64, f64, Option<f64>)]) -> ReplaySummary {
        let digests = digests
            .iter()
            .map(|&(name, share, here_us, captured_us)| DigestComparison {
                digest: name.to_owned(),
                text: String::new(),
                share,
                latency: Estimate::from_log(0.0, -0.01, 0.01),
                p: None,
                finding: DigestFinding::Undetected,
                mean_us: [here_us, here_us],
                p95_us: [None, None],
                captured_us,
                count: [100, 100],
                errors: [0, 0],
                rows: [0, 0],
            });
        ReplaySummary {
            verdict: ReplayVerdict::Good {
                cautions: Vec::new(),
            },
            fidelity: Fidelity::default(),
            answers: Vec::new(),
            identical: None,
            same_answers: None,
            alpha: 0.05,
            duels: 3,
            digests: digests.collect(),
        }
    }

    #[test]
    fn a_digest_that_is_slow_here_alone_is_told() {
        let slow = |digests: &[_]| {
            let slow = replayed(digests).slow_here();
            let names: Vec<String> = slow.into_iter().map(|one| one.digest).collect();
            names
        };
        let captured = Some(258.0);
        let usual = [
            ("a", 0.3, 300.0, captured),
            ("b", 0.3, 200.0, captured),
            ("light", 0.01, 9000.0, captured),
            ("unknown", 0.2, 9000.0, None),
        ];
        assert_eq!(slow(&usual), [""; 0]);
        let mut other = usual.to_vec();
        other.push(("edd6ab0c", 0.2, 3052.0, captured));
        assert_eq!(slow(&other), ["edd6ab0c"]);
        // A slower machine slows all of them.
        let all = [
            ("a", 0.3, 1500.0, captured),
            ("b", 0.3, 1600.0, captured),
            ("edd6ab0c", 0.2, 3052.0, captured),
        ];
        assert_eq!(slow(&all), [""; 0]);
        assert_eq!(slow(&[]), [""; 0]);
    }

    #[test]
    fn identical_servers_that_differ_take_the_verdict_away() {
        let mut summary = replayed(&[]);
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
