//! What duels on the capture show of a set of indexes, and what follows for each: one that is not shown to pay is not handed over.

use niagara_capture::fidelity::Shortcoming;
use niagara_model::AnswerDifference;
use niagara_stats::{Estimate, Verdict};
use schemars::JsonSchema;
use serde::Serialize;

use crate::fate::Fate;

/// What duels showed of one variant against another.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Trial {
    /// Throughput of the second over the first.
    pub throughput: Estimate,
    /// What that is called.
    pub verdict: Option<Verdict>,
    /// Whether there were duels enough to call anything.
    pub is_decidable: bool,
    /// CPU time of the server for a transaction.
    pub cpu: Option<Estimate>,
    /// 99th percentile of latency.
    pub p99: Option<Estimate>,
    /// Duels that counted.
    pub duels: usize,
    /// Statements that were answered otherwise.
    pub other_answers: Vec<AnswerDifference>,
    /// Why the replay is not good enough to decide by; empty where it is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub poor_replay: Vec<Shortcoming>,
}

impl Trial {
    /// Whether the second is shown to be better: faster, or as fast with less CPU time, and with the same answers. A replay that is not
    /// like the capture shows nothing.
    pub fn pays(&self) -> bool {
        let less_cpu = self.cpu.as_ref().is_some_and(|cpu| cpu.high < 1.0);
        let better = match self.verdict {
            Some(Verdict::Faster) => true,
            Some(Verdict::Slower) => false,
            Some(Verdict::NotWorthwhile | Verdict::Undetected) | None => less_cpu,
        };
        better && self.other_answers.is_empty() && self.poor_replay.is_empty()
    }

    /// Whether nothing can be decided, by too few duels or by a poor replay: that says nothing against what counting found.
    pub fn is_open(&self) -> bool {
        let is_undecided = !self.is_decidable || !self.poor_replay.is_empty();
        is_undecided && self.other_answers.is_empty() && !self.pays()
    }

    /// Whether the second is not shown to be better though there were duels enough, or has other answers.
    pub fn is_lost(&self) -> bool {
        !self.pays() && !self.is_open()
    }
}

/// A statement with the set over the same without it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DigestTrial {
    /// Its number.
    pub digest: String,
    /// Its text, without literals.
    pub text: String,
    /// Its share of the time before.
    pub share: f64,
    /// Time of an execution, with the set over without it.
    pub time: Estimate,
}

/// An index of the set: the set over the set without it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct IndexTrial {
    /// The table, with its database.
    pub table: String,
    /// The index.
    pub index: String,
    /// What duels showed; none where there was no time for them.
    pub trial: Option<Trial>,
}

/// What duels showed.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Proof {
    /// The start with the set over the start.
    pub set: Trial,
    /// Each statement with the set over the same without it, slower ones first.
    pub digests: Vec<DigestTrial>,
    /// Each index of the set, left out in turn; of a set of one the set's duels are its own.
    pub indexes: Vec<IndexTrial>,
    /// The start with what is handed over over the start, where that is not the whole set.
    pub handed_over: Option<Trial>,
    /// Seconds that the duels took.
    pub seconds: f64,
}

impl Proof {
    /// What this says of an index of the set; none where it pays, or was not judged alone.
    pub(crate) fn against(&self, table: &str, index: &str) -> Option<Fate> {
        let not_shown = |trial: &Trial| Fate::NotShown {
            ratio: trial.throughput,
        };
        if self.set.is_lost() {
            return Some(match self.set.other_answers.is_empty() {
                true => not_shown(&self.set),
                false => Fate::OtherAnswers,
            });
        }
        let of_index = self
            .indexes
            .iter()
            .find(|one| one.table == table && one.index == index);
        let alone = of_index.and_then(|one| one.trial.as_ref());
        match alone.filter(|trial| trial.is_lost()) {
            Some(trial) => Some(not_shown(trial)),
            None => {
                let together = self.handed_over.as_ref();
                together.filter(|trial| trial.is_lost()).map(not_shown)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use niagara_model::AnswerCount;

    use super::*;

    fn trial(verdict: Option<Verdict>, cpu_high: f64) -> Trial {
        let estimate = |ratio, low, high| Estimate { ratio, low, high };
        Trial {
            throughput: estimate(1.2, 1.1, 1.3),
            verdict,
            is_decidable: true,
            cpu: Some(estimate(0.9, 0.8, cpu_high)),
            p99: None,
            duels: 8,
            other_answers: Vec::new(),
            poor_replay: Vec::new(),
        }
    }

    fn too_few() -> Trial {
        Trial {
            is_decidable: false,
            ..trial(Some(Verdict::Undetected), 1.1)
        }
    }

    /// The same by a replay of little of the captured time.
    fn by_poor_replay(trial: Trial) -> Trial {
        Trial {
            poor_replay: vec![Shortcoming::Time { share: 0.4 }],
            ..trial
        }
    }

    fn other_answer() -> AnswerDifference {
        AnswerDifference::Counts {
            digest: "0123456789abcdef".to_owned(),
            text: "select a from t".to_owned(),
            sides: [1, 2].map(|rows| AnswerCount {
                rows,
                errors: 0,
                executions: 10,
            }),
        }
    }

    #[test]
    fn a_set_pays_by_throughput_or_by_cpu_time() {
        assert!(trial(Some(Verdict::Faster), 1.2).pays());
        assert!(trial(Some(Verdict::Undetected), 0.95).pays());
        assert!(!trial(Some(Verdict::Undetected), 1.0).pays());
        assert!(!trial(Some(Verdict::Slower), 0.9).pays());
        assert!(!trial(None, 1.1).pays());
        assert!(too_few().is_open() && !too_few().is_lost());
        assert!(trial(Some(Verdict::Undetected), 1.0).is_lost());
        let mut other = trial(Some(Verdict::Faster), 0.9);
        other.other_answers.push(other_answer());
        assert!(other.is_lost());
        other.is_decidable = false;
        assert!(other.is_lost());
    }

    #[test]
    fn a_poor_replay_decides_nothing() {
        for verdict in [Verdict::Faster, Verdict::Undetected, Verdict::Slower] {
            let poor = by_poor_replay(trial(Some(verdict), 0.9));
            assert!(poor.is_open() && !poor.pays() && !poor.is_lost());
        }
        let mut other = by_poor_replay(trial(Some(Verdict::Faster), 0.9));
        other.other_answers.push(other_answer());
        assert!(other.is_lost());
    }

    #[test]
    fn an_index_falls_with_its_own_trial_or_the_sets() {
        let index = |name: &str, trial| IndexTrial {
            table: "shop.item".to_owned(),
            index: name.to_owned(),
            trial,
        };
        let mut proof = Proof {
            set: trial(Some(Verdict::Faster), 0.9),
            digests: Vec::new(),
            indexes: vec![
                index("pays", Some(trial(Some(Verdict::Faster), 1.0))),
                index("does_not", Some(trial(Some(Verdict::Undetected), 1.0))),
                index("untried", None),
            ],
            handed_over: None,
            seconds: 1.0,
        };
        let against = |proof: &Proof, name: &str| proof.against("shop.item", name);
        assert_eq!(against(&proof, "pays"), None);
        assert_eq!(against(&proof, "untried"), None);
        assert!(matches!(
            against(&proof, "does_not"),
            Some(Fate::NotShown { .. })
        ));
        proof.handed_over = Some(trial(Some(Verdict::Undetected), 1.0));
        assert!(matches!(
            against(&proof, "pays"),
            Some(Fate::NotShown { .. })
        ));
        proof.handed_over = None;
        // Duels too few for any verdict leave what counting found, and so does a poor replay.
        let enough = std::mem::replace(&mut proof.set, too_few());
        assert_eq!(against(&proof, "untried"), None);
        proof.set = by_poor_replay(trial(Some(Verdict::Slower), 1.1));
        assert_eq!(against(&proof, "untried"), None);
        proof.set = enough;
        proof.set.other_answers.push(other_answer());
        assert_eq!(against(&proof, "pays"), Some(Fate::OtherAnswers));
    }
}
