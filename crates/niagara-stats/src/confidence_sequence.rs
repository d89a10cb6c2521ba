//! An interval that may be looked at after every duel: it covers at all times together, not at one that was planned.

use crate::Estimate;
use crate::signed_rank::{middle, walsh_averages};

/// Stakes of the bets, as shares of what is there. Several are held side by side: small ones grow by long rows of small evidence, large
/// ones by few clear duels.
const STAKES: [f64; 3] = [0.3, 0.6, 0.9];

/// The ratio with an interval that covers the true one after every duel, all at once, with probability 1 − `alpha` at the least: whoever
/// watches may stop whenever it looks good.
///
/// The scores are taken to be spread evenly around the true one (as every interval here does), so that given the past and how far a score
/// lies from it, the side is a fair coin's. A gambler who bets on one side, by the rank of the distance, then gains nothing on average;
/// a centre at which one would have multiplied the stake by 2/α is ruled out (Ville's inequality; Howard et al., *Annals of
/// Statistics* 49, 2021). No distribution is assumed, and no spread has to be known.
///
/// Of few scores neither end is bounded: 11 on one side bound it at `alpha` = 0.05.
pub fn confidence_sequence(scores: &[f64], alpha: f64) -> Estimate {
    let walsh = walsh_averages(scores);
    let mut centres = walsh.clone();
    centres.sort_by(f64::total_cmp);
    centres.dedup();
    // What is true of a stretch between two Walsh averages is true of its middle.
    let between = |pair: &[f64]| f64::midpoint(pair[0], pair[1]);
    let is_out = |centre: f64, side: f64| wealth(scores, centre, side) >= 2.0 / alpha;
    let (Some(first), Some(last)) = (centres.first(), centres.last()) else {
        return Estimate::from_log(0.0, f64::NEG_INFINITY, f64::INFINITY);
    };
    let beyond = (last - first).abs().max(1.0);
    let low = match is_out(first - beyond, 1.0) {
        false => f64::NEG_INFINITY,
        true => {
            let mut stretches = centres.windows(2);
            stretches
                .find(|pair| !is_out(between(pair), 1.0))
                .map_or(*last, |pair| pair[0])
        }
    };
    let high = match is_out(last + beyond, -1.0) {
        false => f64::INFINITY,
        true => {
            let mut stretches = centres.windows(2).rev();
            stretches
                .find(|pair| !is_out(between(pair), -1.0))
                .map_or(*first, |pair| pair[1])
        }
    };
    let centre = middle(&walsh).unwrap_or(0.0);
    Estimate::from_log(centre, low.min(centre), high.max(centre))
}

/// The most, over all duels so far, that bets on `side` of this centre made of one unit, held in equal parts at every stake.
fn wealth(scores: &[f64], centre: f64, side: f64) -> f64 {
    let mut parts = [1.0; STAKES.len()];
    let mut most: f64 = 1.0;
    for (n, score) in scores.iter().enumerate() {
        let distance = (score - centre).abs();
        let nearer = scores[..n]
            .iter()
            .filter(|other| (*other - centre).abs() <= distance)
            .count();
        let rank = (nearer + 1) as f64 / (n + 1) as f64;
        let towards = side * (score - centre).signum();
        for (part, stake) in parts.iter_mut().zip(STAKES) {
            *part *= 1.0 + stake * rank * towards;
        }
        most = most.max(parts.iter().sum::<f64>() / STAKES.len() as f64);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_scores_bound_nothing() {
        for scores in [&[][..], &[0.1], &[0.1, 0.11, 0.12]] {
            let found = confidence_sequence(scores, 0.05);
            assert_eq!((found.low, found.high), (0.0, f64::INFINITY));
        }
    }

    #[test]
    fn intervals_narrow_around_the_centre() {
        let scores: Vec<f64> = (0..40)
            .map(|n| 0.1 + 0.001 * f64::from((n * 7) % 11 - 5))
            .collect();
        let mut width = f64::INFINITY;
        for n in [15, 25, 40] {
            let found = confidence_sequence(&scores[..n], 0.05);
            assert!(found.low <= found.ratio && found.ratio <= found.high);
            assert!(found.low > 1.09 && found.high < 1.12, "{n}: {found:?}");
            let now = (found.high / found.low).ln();
            assert!(now <= width + 1e-12, "{n}");
            width = now;
        }
    }
}
