//! What a side serves over all of its time under load, beside the score, which is a median.
//!
//! A duel's score is the Hodges–Lehmann estimate of its couples, which up to 29 % of them hardly move, whatever they say (its
//! breakdown point, 1 − √½). That is what keeps a machine's hiccups out of it; but a side that stands still in a fifth of its slices by
//! itself (InnoDB's furious flushing, a checkpoint of the log) is hardly called slower either. All transactions over all time count
//! every slice for what it served.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::couple::Couple;
use crate::interval_once::interval_once;
use crate::rule::Rule;
use crate::{Estimate, Judgement, median, signed_rank};

/// A slice in which a side served less than this share of what it does in its median slice is a slow one.
const SLOW: f64 = 0.5;
/// Slices of a side from which on their middle and their whole are two things.
const MIN_SLICES: usize = 2;

/// What one side did in a slice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Batch {
    /// Transactions completed.
    pub transactions: f64,
    /// Seconds that they took.
    pub seconds: f64,
}

/// Both sides of a duel over all of their slices, beside its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DuelTotals {
    /// ln(rate of B / rate of A) by which the duel is judged: the middle of its couples.
    pub score: f64,
    /// The same of all transactions over all seconds of either side.
    pub all_time: f64,
    /// Slices of A, of B.
    pub slices: [usize; 2],
    /// Slices among those in which A, or B, served less than half of what it does in its median slice.
    pub slow: [usize; 2],
}

impl DuelTotals {
    /// Of the slices of A and of B of a duel with this score. `None` where a side has only one (then the whole is the middle), where
    /// one took no time, and where neither side served anything.
    pub fn of(score: f64, sides: [&[Batch]; 2]) -> Option<Self> {
        if !score.is_finite() || sides.iter().any(|side| side.len() < MIN_SLICES) {
            return None;
        }
        let [a, b] = sides.map(rate);
        Some(Self {
            score,
            all_time: Couple::undisturbed(a?, b?).log_ratio()?,
            slices: sides.map(<[Batch]>::len),
            slow: sides.map(slow),
        })
    }
}

/// Transactions per second of all slices together.
fn rate(slices: &[Batch]) -> Option<f64> {
    let sum = |of: fn(&Batch) -> f64| slices.iter().map(of).sum::<f64>();
    let rate = sum(|slice| slice.transactions) / sum(|slice| slice.seconds);
    rate.is_finite().then_some(rate)
}

fn slow(slices: &[Batch]) -> usize {
    let rates: Vec<f64> = slices.iter().filter_map(|one| rate(&[*one])).collect();
    // Of a side that stood still in half of its slices the median is nothing.
    let usual = median(&rates).unwrap_or(0.0);
    let usual = usual.max(rate(slices).unwrap_or(0.0));
    rates.iter().filter(|rate| **rate < SLOW * usual).count()
}

/// Throughput over all time under load, of the duels of a comparison, beside the one that was judged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AllTime {
    /// B over A: all transactions over all seconds under load in each duel, Hodges–Lehmann over the duels, with the critical value of
    /// the judgement's last look.
    pub estimate: Estimate,
    /// The same over the throughput that was judged, paired by duel: below 1 where B loses by what its median slice does not show. The
    /// interval is that of a question asked once at the judgement's alpha; `None` of too few duels for one.
    pub over_score: Option<Estimate>,
    /// Whether both differ beyond chance, and by more than the smallest worthwhile gain.
    pub disagrees: bool,
    /// Share of A's and of B's slices, 0 to 1, in which it served less than half of what it does in its median slice.
    pub slow: [f64; 2],
}

impl AllTime {
    /// Of the duels that were judged, in their order; `None` where so few of them have no interval.
    pub fn of(duels: &[DuelTotals], judged: &Judgement, rule: &Rule) -> Option<Self> {
        let duels = &duels[..duels.len().min(judged.duels)];
        let totals: Vec<f64> = duels.iter().map(|duel| duel.all_time).collect();
        let (low, high) = signed_rank::interval(&totals, judged.critical_for(totals.len())?);
        let centre = signed_rank::hodges_lehmann(&totals)?;
        let differences: Vec<f64> = duels
            .iter()
            .map(|duel| duel.all_time - duel.score)
            .collect();
        let over_score = interval_once(&differences, judged.alpha);
        let is_large = |over: &Estimate| over.ratio.ln().abs() > rule.min_effect.max(0.0).ln_1p();
        let is_sure = |over: &Estimate| over.low > 1.0 || over.high < 1.0;
        Some(Self {
            estimate: Estimate::from_log(centre, low, high),
            over_score,
            disagrees: over_score.is_some_and(|over| is_sure(&over) && is_large(&over)),
            slow: [0, 1].map(|side| {
                let sum = |of: fn(&DuelTotals) -> [usize; 2]| -> usize {
                    duels.iter().map(|duel| of(duel)[side]).sum()
                };
                sum(|duel| duel.slow) as f64 / sum(|duel| duel.slices) as f64
            }),
        })
    }

    /// Whether B, called faster by its median slice, loses over all time by what that does not show, so that it is not shown to be
    /// faster over all time.
    pub fn contradicts_faster(&self) -> bool {
        let loses = self.over_score.is_some_and(|over| over.ratio < 1.0);
        self.disagrees && loses && self.estimate.low <= 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LookPlan, Verdict, hold_against_all_time, judge};

    fn batches(rates: &[f64]) -> Vec<Batch> {
        let batch = |&transactions: &f64| Batch {
            transactions,
            seconds: 1.0,
        };
        rates.iter().map(batch).collect()
    }

    /// Twenty slices a side; B is this much faster and stands still in `still` of them.
    fn totals(score: f64, still: usize) -> DuelTotals {
        let a = batches(&[100.0; 20]);
        let mut b = batches(&[100.0 * score.exp(); 20]);
        b[..still].fill(Batch {
            transactions: 0.0,
            seconds: 1.0,
        });
        DuelTotals::of(score, [&a, &b]).expect("twenty slices a side")
    }

    #[test]
    fn every_slice_counts_for_what_it_served() {
        let found = totals(1.01f64.ln(), 4);
        assert!((found.all_time - (0.8 * 1.01f64).ln()).abs() < 1e-12);
        assert_eq!((found.slices, found.slow), ([20, 20], [0, 4]));
        // Slices that take longer count for longer.
        let a = batches(&[100.0; 2]);
        let b = [(100.0, 1.0), (100.0, 3.0)].map(|(transactions, seconds)| Batch {
            transactions,
            seconds,
        });
        let longer = DuelTotals::of(0.0, [&a, &b]).expect("two slices a side");
        assert!((longer.all_time - 0.5f64.ln()).abs() < 1e-12, "{longer:?}");
        // Of a side that stands still most of the time, the slices in which it does are the slow ones.
        let b = batches(&[0.0, 0.0, 0.0, 100.0]);
        let mostly = DuelTotals::of(0.0, [&b, &b]).expect("four slices a side");
        assert_eq!(mostly.slow, [3, 3]);
    }

    #[test]
    fn a_duel_without_two_slices_a_side_has_no_whole_beside_its_middle() {
        let some = batches(&[100.0; 2]);
        assert_eq!(DuelTotals::of(0.0, [&some, &some[..1]]), None);
        let none = batches(&[0.0; 2]);
        assert_eq!(DuelTotals::of(0.0, [&none, &none]), None);
        let nan = DuelTotals::of(f64::NAN, [&some, &some]);
        assert_eq!(nan, None);
        let no_time = [Batch {
            transactions: 1.0,
            seconds: 0.0,
        }; 2];
        assert_eq!(DuelTotals::of(0.0, [&some, &no_time]), None);
        let never = DuelTotals::of(0.0, [&some, &none]).expect("B served nothing");
        assert!(never.all_time < -6.0 && never.all_time.is_finite());
    }

    fn judged(duels: &[DuelTotals]) -> Judgement {
        let scores: Vec<f64> = duels.iter().map(|duel| duel.score).collect();
        judge(&scores, &LookPlan::standard(0.05), &Rule::default())
    }

    /// Eight duels of scores around `score`; B stands still in 4 of 20 slices of each, but for `spared` duels.
    fn duels(score: f64, spared: usize) -> Vec<DuelTotals> {
        (0..8)
            .map(|i| {
                let score = score + 0.0005 * f64::from(i as u32);
                totals(score, if i < spared { 0 } else { 4 })
            })
            .collect()
    }

    #[test]
    fn a_call_by_the_median_slice_is_taken_back_where_all_time_says_otherwise() {
        let duels = duels(0.01, 0);
        let mut judgement = judged(&duels);
        assert_eq!(judgement.verdict, Some(Verdict::Faster));
        let before = judgement.estimate;
        let found = AllTime::of(&duels, &judgement, &Rule::default()).expect("a look's duels");
        assert!(found.disagrees && found.contradicts_faster(), "{found:?}");
        assert!((found.estimate.ratio - 0.81).abs() < 0.01, "{found:?}");
        assert_eq!(found.slow, [0.0, 0.2]);
        hold_against_all_time(&mut judgement, Some(&found));
        assert_eq!(judgement.verdict, Some(Verdict::Undetected));
        assert!(judgement.withdrawn);
        // What was measured stays.
        assert_eq!(judgement.estimate, before);
    }

    #[test]
    fn where_all_time_shows_the_gain_as_well_the_call_stands() {
        let duels = duels(0.3, 0);
        let mut judgement = judged(&duels);
        let found = AllTime::of(&duels, &judgement, &Rule::default()).expect("a look's duels");
        assert!(found.disagrees && found.estimate.low > 1.0, "{found:?}");
        assert!(!found.contradicts_faster());
        hold_against_all_time(&mut judgement, Some(&found));
        assert_eq!(judgement.verdict, Some(Verdict::Faster));
        assert!(!judgement.withdrawn);
    }

    #[test]
    fn what_agrees_takes_nothing_back() {
        // Over all time it is hardly anything, and not surely less than in the median slice.
        let duels = duels(0.01, 5);
        let mut judgement = judged(&duels);
        let found = AllTime::of(&duels, &judgement, &Rule::default()).expect("a look's duels");
        assert!(!found.disagrees && found.estimate.low < 1.0, "{found:?}");
        hold_against_all_time(&mut judgement, Some(&found));
        assert_eq!(judgement.verdict, Some(Verdict::Faster));
    }

    #[test]
    fn nothing_but_a_call_of_faster_is_changed() {
        let duels = duels(0.01, 0);
        let faster = judged(&duels);
        let found = AllTime::of(&duels, &faster, &Rule::default()).expect("a look's duels");
        for verdict in [
            None,
            Some(Verdict::Slower),
            Some(Verdict::NotWorthwhile),
            Some(Verdict::Undetected),
        ] {
            let before = Judgement {
                verdict,
                ..faster.clone()
            };
            for all_time in [Some(&found), None] {
                let mut after = before.clone();
                hold_against_all_time(&mut after, all_time);
                assert_eq!(after, before);
            }
        }
        // Where A is the one that stands still, B is not the less for it.
        let turned: Vec<DuelTotals> = duels
            .iter()
            .map(|duel| DuelTotals {
                all_time: 0.2,
                ..*duel
            })
            .collect();
        let found = AllTime::of(&turned, &faster, &Rule::default()).expect("a look's duels");
        assert!(found.disagrees && !found.contradicts_faster(), "{found:?}");
    }

    #[test]
    fn differences_too_small_to_matter_are_no_disagreement() {
        let duels: Vec<DuelTotals> = (0..8)
            .map(|i| DuelTotals {
                all_time: 0.011 - 0.0001 * f64::from(i),
                ..totals(0.014, 0)
            })
            .collect();
        let found = AllTime::of(&duels, &judged(&duels), &Rule::default()).expect("a look's duels");
        assert!(
            found.over_score.is_some_and(|over| over.high < 1.0),
            "{found:?}"
        );
        assert!(!found.disagrees, "{found:?}");
    }

    #[test]
    fn too_few_duels_have_no_figure() {
        let duels = &duels(0.01, 0)[..4];
        let found = AllTime::of(duels, &judged(duels), &Rule::default());
        assert_eq!(found, None);
    }
}
