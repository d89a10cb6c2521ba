//! What the confirmations of a matrix may spend, and which of them counts.
//!
//! The best combination is chosen by the cells and confirmed by duels that its choice never saw. So whatever the choice rests on, and
//! whatever was measured before, a confirmation calls a difference that is not there with at most the error probability that it was given
//! before its first duel. A matrix that is measured in parts may have several, one whenever cells were added that make another
//! combination the best; how many is not known beforehand. They share the matrix's α: each is given half of what is left, and all of
//! it once no cell is left that could change the best. Together they spend no more than α, so that the chance that any of them calls
//! a difference that is not there is at most α, over all parts. A matrix that is measured as a whole spends α on its only one.
//!
//! A combination that was confirmed, or that could not be, is not confirmed again: whoever tries until it succeeds spends more than he
//! says. One that was stopped, or whose time ended before it could call anything, may be repeated; it has spent its share all the same,
//! unless its time ended before its first duel: then nothing was seen.

use niagara_model::Confirmed;
use niagara_stats::{ErrorBudget, LookPlan};

/// Below this share of α nothing is left of it.
const NOTHING: f64 = 1e-6;

/// The error probability of the next confirmation of a matrix at `alpha`, of which `spent` is gone; `is_last` when no cell is left that
/// could change the best. `None` where too little is left for any verdict.
pub(crate) fn confirmation_alpha(alpha: f64, spent: f64, is_last: bool) -> Option<f64> {
    let left = alpha - spent;
    let share = match is_last {
        true => left,
        false => left / 2.0,
    };
    // Shares are sums of halves: what rounding leaves is nothing.
    let is_enough = share > alpha * NOTHING && LookPlan::fewest_duels(share).is_some();
    is_enough.then_some(share)
}

/// How a confirmation is judged that is given `share` of `alpha`: by as many duels as a cell, and by so many more as it takes more to
/// call anything at all.
pub(crate) fn confirmation_errors(alpha: f64, share: f64, duels: usize) -> ErrorBudget {
    let fewest = |alpha: f64| LookPlan::fewest_duels(alpha).unwrap_or(duels);
    let more = fewest(share).saturating_sub(fewest(alpha));
    ErrorBudget::two_sided(share, duels + more)
}

/// What the duels of a confirmation are known by, which is the only one of its part; parts are counted from 0.
pub(crate) fn confirmation_subject(part: usize) -> String {
    match part {
        0 => String::new(),
        part => format!("part {}", part + 1),
    }
}

/// Whether fresh duels proved it faster than the baseline.
pub(crate) fn is_proven(confirmed: &Confirmed) -> bool {
    confirmed.comparison.judged().shows_gain()
}

/// Which of the two counts, the later one first, and which does not: the later one, unless the earlier one alone was proven. What was
/// proven stays so; that another combination looked better, and was not confirmed, takes nothing from it.
pub(crate) fn which_counts(
    later: Confirmed,
    earlier: Option<Confirmed>,
) -> (Confirmed, Option<Confirmed>) {
    match earlier {
        Some(earlier) if is_proven(&earlier) && !is_proven(&later) => (earlier, Some(later)),
        earlier => (later, earlier),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confirmations_spend_no_more_than_there_is() {
        let mut spent = 0.0;
        for (is_last, share) in [(false, 0.025), (false, 0.0125), (true, 0.0125)] {
            let given = confirmation_alpha(0.05, spent, is_last).expect("enough");
            assert!((given - share).abs() < 1e-12, "{given}");
            spent += given;
        }
        assert!((spent - 0.05).abs() < 1e-12);
        // A cell that could not be had then is there now, and nothing is left.
        assert_eq!(confirmation_alpha(0.05, spent, false), None);
        // Measured as a whole: all of it at once.
        assert_eq!(confirmation_alpha(0.05, 0.0, true), Some(0.05));
    }

    #[test]
    fn a_smaller_share_takes_more_duels_and_has_them() {
        assert_eq!(confirmation_errors(0.05, 0.05, 8).max_duels, 8);
        let quarter = confirmation_errors(0.05, 0.0125, 6);
        assert_eq!(quarter.max_duels, 8);
        assert_eq!(quarter.fewest_duels(), Some(8));
    }
}
