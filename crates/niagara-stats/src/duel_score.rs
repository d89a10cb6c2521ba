//! One duel's couples of slices, reduced to one score.

use crate::normal;
use crate::signed_rank::{middle, signed_rank_sd, walsh_averages};

/// Two neighbouring slices, one of each side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Couple {
    /// Rate of A, transactions per second.
    pub a: f64,
    /// Rate of B, transactions per second.
    pub b: f64,
    /// Whether the machine was disturbed during A's slice, during B's.
    pub disturbed: [bool; 2],
}

/// The outcome of a duel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DuelScore {
    /// ln(rate of B / rate of A), positive where B is faster: Hodges–Lehmann over the couples.
    pub score: f64,
    /// Standard deviation of a couple's log ratio, such that `couple_sd`/√`used` is the score's own error within the
    /// duel; 0 of a single couple.
    pub couple_sd: f64,
    /// Couples that count.
    pub used: usize,
    /// Couples dropped for a disturbance during A's slice, during B's; one couple can be in both.
    pub dropped: [usize; 2],
    /// Couples, among those that count, in which A, or B, did nothing at all.
    pub stalled: [usize; 2],
}

/// No couple says more than this: a thousand times. It is what a couple counts in which one side did nothing, so that a
/// server that stalls loses by much, and the score stays a number.
const LARGEST_LOG_RATIO: f64 = 6.907_755_278_982_137; // ln 1000

/// Couples with a disturbance are dropped, whichever side it hit; so are those in which neither side did anything (or
/// whose rates are no numbers), as A's and B's loss alike. `None` when over half are dropped, or there are none: the
/// duel is to be repeated.
pub fn duel_score(couples: &[Couple]) -> Option<DuelScore> {
    let mut ratios = Vec::with_capacity(couples.len());
    let (mut dropped, mut stalled) = ([0; 2], [0; 2]);
    for couple in couples {
        let idle = [couple.a, couple.b].map(|rate| rate.is_nan() || rate <= 0.0);
        let mut lost = couple.disturbed;
        if lost == [false, false] && idle == [true, true] {
            lost = [true, true];
        }
        if lost != [false, false] {
            for side in [0, 1] {
                dropped[side] += usize::from(lost[side]);
            }
            continue;
        }
        for side in [0, 1] {
            stalled[side] += usize::from(idle[side]);
        }
        ratios.push(match idle {
            [true, _] => LARGEST_LOG_RATIO,
            [_, true] => -LARGEST_LOG_RATIO,
            _ => (couple.b / couple.a)
                .ln()
                .clamp(-LARGEST_LOG_RATIO, LARGEST_LOG_RATIO),
        });
    }
    if 2 * ratios.len() < couples.len() {
        return None;
    }
    let walsh = walsh_averages(&ratios);
    Some(DuelScore {
        score: middle(&walsh)?,
        couple_sd: spread(&walsh, ratios.len()),
        used: ratios.len(),
        dropped,
        stalled,
    })
}

/// The standard deviation that explains the width of the signed-rank interval (Lehmann's estimate of the
/// Hodges–Lehmann estimator's error, scaled to one observation): as robust as the score itself. Taken at about 90 %.
fn spread(walsh: &[f64], n: usize) -> f64 {
    if n < 2 {
        return 0.0;
    }
    let deviation = signed_rank_sd(n);
    let outside = (walsh.len() as f64 - normal::quantile(0.95) * deviation) / 2.0;
    // Half an average further in, as a continuity correction.
    let q = outside.max(0.0) as usize;
    let reach = (walsh.len() as f64 - 2.0 * q as f64) / deviation;
    let width = walsh[walsh.len() - 1 - q] - walsh[q];
    width / (2.0 * reach) * (n as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;
    use rand_distr::{Distribution, Normal};

    fn couple(a: f64, b: f64) -> Couple {
        Couple {
            a,
            b,
            disturbed: [false; 2],
        }
    }

    #[test]
    fn equal_ratios_give_that_ratio() {
        let score = duel_score(&[couple(100.0, 110.0); 6]).expect("nothing dropped");
        assert!((score.score - 1.1f64.ln()).abs() < 1e-12);
        assert_eq!(
            (score.used, score.dropped, score.couple_sd),
            (6, [0, 0], 0.0)
        );
    }

    #[test]
    fn disturbed_couples_are_dropped_and_counted_by_side() {
        let mut couples = vec![couple(100.0, 100.0); 8];
        couples[0] = Couple {
            a: 1.0,
            b: 100.0,
            disturbed: [true, false],
        };
        couples[1].disturbed = [true, true];
        let score = duel_score(&couples).expect("six of eight are left");
        assert_eq!((score.score, score.used, score.dropped), (0.0, 6, [2, 1]));
    }

    #[test]
    fn a_duel_that_loses_over_half_is_repeated() {
        let mut couples = vec![couple(100.0, 100.0); 8];
        for lost in &mut couples[..4] {
            lost.disturbed = [false, true];
        }
        assert!(duel_score(&couples).is_some());
        couples[4].disturbed = [false, true];
        assert_eq!(duel_score(&couples), None);
        assert_eq!(duel_score(&[]), None);
    }

    #[test]
    fn a_side_that_does_nothing_loses_by_a_number() {
        let mut couples = vec![couple(100.0, 102.0); 20];
        couples[3].b = 0.0;
        let once = duel_score(&couples).expect("counts");
        assert!((once.score - 1.02f64.ln()).abs() < 1e-9);
        assert_eq!(once.stalled, [0, 1]);
        let never = duel_score(&[couple(100.0, 0.0); 4]).expect("counts");
        assert!((never.score + LARGEST_LOG_RATIO).abs() < 1e-12);
        assert_eq!(duel_score(&[couple(0.0, 0.0); 4]), None);
        assert_eq!(duel_score(&[couple(f64::NAN, f64::NAN); 4]), None);
    }

    #[test]
    fn couple_sd_tells_the_error_of_the_score() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for (n, tolerance) in [(6, 0.15), (8, 0.1), (20, 0.08), (60, 0.08)] {
            let noise = Normal::<f64>::new(0.0, 0.05).expect("a positive width");
            let (mut squares, mut claimed) = (0.0, 0.0);
            let rounds = 4_000;
            for _ in 0..rounds {
                let couples: Vec<Couple> = (0..n)
                    .map(|_| couple(100.0, 100.0 * noise.sample(&mut rng).exp()))
                    .collect();
                let score = duel_score(&couples).expect("nothing dropped");
                squares += score.score.powi(2);
                claimed += score.couple_sd.powi(2) / score.used as f64;
            }
            let ratio = (claimed / squares).sqrt();
            assert!((ratio - 1.0).abs() < tolerance, "{n}: {ratio}");
        }
    }
}
