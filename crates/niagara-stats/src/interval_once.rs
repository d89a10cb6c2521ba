//! The interval of a question that is asked once.

use crate::sign_flips::{Bound, MAX_DUELS, critical_once};
use crate::signed_rank::{interval_of, middle, signed_rank_sd, walsh_averages};
use crate::{Estimate, normal};

/// The interval of a question that is asked once, of these scores, with this two-sided error probability; `None` where
/// so few scores have none.
pub fn interval_once(scores: &[f64], alpha: f64) -> Option<Estimate> {
    let n = scores.len();
    let critical = if n > MAX_DUELS {
        // The normal approximation, which is exact to two digits there.
        let deviations = normal::quantile(1.0 - alpha / 2.0);
        Some((deviations * signed_rank_sd(n)).ceil() as u32)
    } else {
        critical_once(n, Bound::Spend(alpha))
    }?;
    let walsh = walsh_averages(scores);
    let (low, high) = interval_of(&walsh, critical);
    Some(Estimate::from_log(middle(&walsh)?, low, high))
}
