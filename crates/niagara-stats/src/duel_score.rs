//! One duel's couples of slices, reduced to one score.

use crate::couple::Couple;
use crate::normal;
use crate::signed_rank::{middle, signed_rank_sd, walsh_averages};
use crate::standard_deviation;
use crate::taken::{self, InterferenceSlope};

/// How couples are counted from which others took CPU time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weighing {
    /// Share of the machine, taken from both slices together, at which a couple weighs half; infinite: all weigh the same.
    pub half: f64,
    /// Slope of ln(throughput) against ln(share of the CPUs that was left), by which ratios are adjusted; 0: not at all.
    pub slope: f64,
}

impl Weighing {
    /// All couples weigh the same, no ratio is adjusted.
    pub const NONE: Self = Self {
        half: f64::INFINITY,
        slope: 0.0,
    };

    /// Weighted, but not adjusted: for figures that do not follow what the machine gives.
    pub fn unadjusted(self) -> Self {
        Self { slope: 0.0, ..self }
    }

    /// The weighing of one duel: by the slope of `known`, the study's duels before it, and of its own couples; without
    /// adjustment where the sides' own use of the machine differs, and none where more was taken from one side.
    pub fn of(couples: &[Couple], mut known: InterferenceSlope, half: f64) -> Self {
        if !half.is_finite() || taken::is_more_from_one_side(couples) {
            return Self::NONE;
        }
        if taken::depends_on_side(couples) {
            return Self { half, slope: 0.0 };
        }
        known.learn(couples);
        Self {
            half,
            slope: known.slope(),
        }
    }
}

/// The outcome of a duel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DuelScore {
    /// ln(rate of B / rate of A), positive where B is faster: Hodges–Lehmann over the couples, weighted and adjusted.
    pub score: f64,
    /// The same of the couples as they were measured, all of one weight.
    pub raw: f64,
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

/// Couples with a slice of no use are dropped, whichever side it hit; so are those in which neither side did anything
/// (or whose rates are no numbers), as A's and B's loss alike. `None` when over half are dropped, or there are none: the
/// duel is to be repeated.
pub fn duel_score(couples: &[Couple], weighing: Weighing) -> Option<DuelScore> {
    let mut counted = Vec::with_capacity(couples.len());
    let (mut dropped, mut stalled) = ([0; 2], [0; 2]);
    for couple in couples {
        let idle = couple.idle();
        let lost = if couple.disturbed == [false, false] && idle == [true, true] {
            [true, true]
        } else {
            couple.disturbed
        };
        if lost != [false, false] {
            for side in [0, 1] {
                dropped[side] += usize::from(lost[side]);
            }
            continue;
        }
        for side in [0, 1] {
            stalled[side] += usize::from(idle[side]);
        }
        counted.push(couple);
    }
    if 2 * counted.len() < couples.len() {
        return None;
    }
    let raw: Vec<f64> = counted.iter().filter_map(|c| c.log_ratio()).collect();
    let adjusted: Vec<f64> = counted
        .iter()
        .zip(&raw)
        .map(|(couple, ratio)| ratio - weighing.slope * taken::taken_difference(couple))
        .collect();
    let weights: Vec<f64> = counted
        .iter()
        .map(|couple| taken::weight(couple, weighing.half))
        .collect();
    let score = weighted_hodges_lehmann(&adjusted, &weights)?;
    Some(DuelScore {
        score,
        raw: middle(&walsh_averages(&raw))?,
        couple_sd: weighted_spread(&adjusted, &weights, score),
        used: raw.len(),
        dropped,
        stalled,
    })
}

/// The median of the Walsh averages, each weighing the product of its two weights.
fn weighted_hodges_lehmann(values: &[f64], weights: &[f64]) -> Option<f64> {
    if weights.windows(2).all(|two| two[0] == two[1]) {
        return middle(&walsh_averages(values));
    }
    let mut averages = Vec::with_capacity(values.len() * (values.len() + 1) / 2);
    for (i, one) in values.iter().enumerate() {
        for (j, other) in values.iter().enumerate().skip(i) {
            averages.push(((one + other) / 2.0, weights[i] * weights[j]));
        }
    }
    averages.sort_unstable_by(|x, y| x.0.total_cmp(&y.0));
    let half = averages.iter().map(|average| average.1).sum::<f64>() / 2.0;
    let mut below = 0.0;
    averages
        .windows(2)
        .find_map(|two| {
            below += two[0].1;
            // Exactly half below: the middle of the two, so that the same couples with A called B give the same score turned.
            let tie = (below - half).abs() <= 1e-12 * half;
            match () {
                () if tie => Some((two[0].0 + two[1].0) / 2.0),
                () if below > half => Some(two[0].0),
                () => None,
            }
        })
        .or(averages.last().map(|average| average.0))
}

/// Values from which ranks tell how far they spread.
const FEWEST_RANKED: usize = 6;

/// [`spread`] of values whose variances are inverse to their weights, such that `spread`/√n is the error of their
/// weighted centre: σ/√Σw, σ the spread of a value of weight 1.
fn weighted_spread(values: &[f64], weights: &[f64], centre: f64) -> f64 {
    let n = values.len();
    let standardised: Vec<f64> = values
        .iter()
        .zip(weights)
        .map(|(value, weight)| weight.sqrt() * (value - centre))
        .collect();
    let mean_weight = weights.iter().sum::<f64>() / n as f64;
    // Of few, the interval's width says something else: three quarters of the spread with two, 1.2 times as much with four.
    if n < FEWEST_RANKED {
        return standard_deviation(&standardised).unwrap_or(0.0) / mean_weight.sqrt();
    }
    spread(&walsh_averages(&standardised), n) / mean_weight.sqrt()
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
    use crate::couple::MAX_LOG_RATIO;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;
    use rand_distr::{Distribution, Normal};

    fn couple(a: f64, b: f64) -> Couple {
        Couple::undisturbed(a, b)
    }

    fn duel_score(couples: &[Couple]) -> Option<DuelScore> {
        super::duel_score(couples, Weighing::NONE)
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
            disturbed: [true, false],
            ..couple(1.0, 100.0)
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
        assert!((never.score + MAX_LOG_RATIO).abs() < 1e-12);
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

    #[test]
    fn weights_move_the_score_towards_the_couples_that_were_given_more() {
        let mut couples = vec![couple(100.0, 110.0); 6];
        for robbed in &mut couples[..3] {
            robbed.b = 50.0;
            robbed.taken = [0.3, 0.3];
        }
        let weighed = super::duel_score(
            &couples,
            Weighing {
                half: 0.05,
                slope: 0.0,
            },
        )
        .expect("nothing dropped");
        assert!((weighed.score - 1.1f64.ln()).abs() < 1e-9, "{weighed:?}");
        assert!(weighed.raw < 0.0);
        // What was taken from both alike is the couple's loss, not the duel's.
        assert_eq!((weighed.used, weighed.dropped), (6, [0, 0]));
    }

    #[test]
    fn swapped_labels_turn_the_score() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let noise = Normal::<f64>::new(0.0, 0.05).expect("a positive width");
        for n in [7, 8, 21] {
            let couples: Vec<Couple> = (0..n)
                .map(|_| Couple {
                    taken: [0, 1].map(|_| noise.sample(&mut rng).abs()),
                    ..couple(100.0, 100.0 * noise.sample(&mut rng).exp())
                })
                .collect();
            let swapped: Vec<Couple> = couples.iter().map(Couple::swapped).collect();
            let [one, other] = [couples, swapped].map(|couples| {
                let weighing = Weighing::of(&couples, InterferenceSlope::default(), 0.05);
                super::duel_score(&couples, weighing).expect("nothing dropped")
            });
            assert!((one.score + other.score).abs() < 1e-12, "{one:?} {other:?}");
        }
    }
}
