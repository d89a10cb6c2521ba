//! What a sequence of duel scores says: the verdict, with its estimate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Estimate;
use crate::looks::{Look, carried_over};

/// The verdicts of a comparison of B with A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The interval lies above 1.
    Faster,
    /// The interval lies below 1.
    Slower,
    /// The upper end lies below the smallest worthwhile gain.
    NotWorthwhile,
    /// Stopped, by futility or by the budget, without a difference shown: never "no effect".
    Undetected,
}

/// The state of a comparison after some duels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judgement {
    /// Duels that count.
    pub duels: usize,
    /// `None` while more duels are wanted.
    pub verdict: Option<Verdict>,
    /// Throughput of B over A with the sequential interval at `alpha`.
    pub estimate: Estimate,
    /// Signed-rank statistic W of the duels' scores.
    pub w: f64,
    /// The critical value |W| was held against at the last look; `None` where no rejection was possible.
    pub critical: Option<u32>,
    /// Predictive probability of reaching the last critical value, given the duels so far (the futility bound compares
    /// it with 0.05).
    pub predictive_power: f64,
    /// Number of duels at the next look, if there is one.
    pub next_look: Option<usize>,
    /// Two-sided error probability of the whole sequence of looks.
    pub alpha: f64,
    /// Duels at the look that called the difference, where more duels were run afterwards or at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called_at: Option<usize>,
    /// Confidence of the interval where it is not 1 − `alpha`: of too few duels for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// The looks passed so far, each with the critical value that held there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<Look>,
    /// Only a gain could be claimed: the interval's lower end holds at `alpha`/2, which is the claim's own error
    /// probability.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_sided: bool,
    /// B was faster in its median slice, and the call was taken back, for over all time under load it was not
    /// ([`hold_against_all_time`](crate::hold_against_all_time)).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withdrawn: bool,
}

impl Judgement {
    /// The critical value of its last look for this many scores. Where the look was at another number of them (more duels
    /// were fought since, or some have no such figure) it is carried over on the scale of W's standard deviation.
    pub fn critical_for(&self, scores: usize) -> Option<u32> {
        let critical = self.critical;
        match self.looks.last() {
            Some(&Look { duels, .. }) if duels != scores => {
                carried_over(&Look { duels, critical }, scores)
            }
            _ => critical,
        }
    }

    /// Whether B is shown to be faster, by all duels together: it was called so, and the last duels take nothing back. What is handed over
    /// or called proven asks this.
    pub fn shows_gain(&self) -> bool {
        self.verdict_by_all() == Some(Verdict::Faster)
    }

    /// The verdict by all duels together: a difference that was called at an earlier look, and that the last duels take back, is undetected.
    pub fn verdict_by_all(&self) -> Option<Verdict> {
        match self.was_called_earlier() {
            true => Some(Verdict::Undetected),
            false => self.verdict,
        }
    }

    /// Whether the difference was called at a look before the last duels, which no longer show it by themselves.
    pub fn was_called_earlier(&self) -> bool {
        match self.verdict {
            Some(Verdict::Faster) => self.estimate.low <= 1.0,
            Some(Verdict::Slower) => self.estimate.high >= 1.0,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{LookPlan, Rule, Verdict, judge};

    #[test]
    fn a_gain_that_later_duels_take_back_is_not_shown() {
        let scores: Vec<f64> = (0..12).map(|place| 0.1 + 0.01 * f64::from(place)).collect();
        let mut judged = judge(&scores, &LookPlan::standard(0.05), &Rule::default());
        assert!(judged.shows_gain(), "{judged:?}");
        judged.estimate.low = 0.99;
        assert!(judged.was_called_earlier() && !judged.shows_gain());
        assert_eq!(judged.verdict_by_all(), Some(Verdict::Undetected));
        judged.verdict = None;
        assert!(!judged.shows_gain());
        assert_eq!(judged.verdict_by_all(), None);
    }
}
