//! What can be seen, before anything is measured.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::looks::{ErrorBudget, LookPlan};
use crate::sample::percentile;
use crate::signed_rank::{interval_of, walsh_averages};
use crate::{normal, student};

/// Two-sided 5 % and 80 % power: 1.960 + 0.842.
const DEVIATIONS: f64 = 2.8;
const POWER: f64 = 0.8;
/// Simulated comparisons: the 80 % point is then good to about 2 %.
const SIMS: usize = 2_000;
const SEED: u64 = 1979;

/// The effect (a difference of logarithms) that this many duels show with 80 % power by one look at the end:
/// 2.8·sd/√n. Infinite of no duels.
pub fn detectable(sd_duel: f64, duels: usize) -> f64 {
    detectable_at(sd_duel / (duels as f64).sqrt())
}

/// The effect (a difference of logarithms) that an estimate of this standard error shows with 80 % power: 2.8 times that.
pub fn detectable_at(std_err: f64) -> f64 {
    DEVIATIONS * std_err
}

/// The difference of logarithms of two variants, each of which has this many fresh starts, one in every round, that an interval of
/// 1 − `alpha` by Student's t over the rounds' ratios shows with 80 % power. `sd` is that of a start, so that a ratio's is √2 of it; of
/// pairs that were measured together `together` holds, and `sd` is that of a pair's ratio. `None` of fewer than two.
///
/// The ratios are n, with n − 1 degrees of freedom: that both variants had n starts does not make them more.
pub fn detectable_of_starts(sd: f64, starts: usize, together: bool, alpha: f64) -> Option<f64> {
    if starts < 2 {
        return None;
    }
    let n = starts as f64;
    let of_ratio = match together {
        true => sd,
        false => std::f64::consts::SQRT_2 * sd,
    };
    Some(noncentrality(n - 1.0, alpha) * of_ratio / n.sqrt())
}

/// Points at which χ² is taken in an average over it: with 400 powers are good to four digits.
const POINTS: usize = 400;

/// How many standard errors a mean must be away from 0 for its t test at `alpha`, two-sided, to call it in 80 % of cases on the right
/// side: the noncentrality at which Student's noncentral t exceeds its critical value that often. Of few degrees of freedom it is far
/// more than t(1 − alpha/2) + t(0.8), the rule of thumb: 16.3 instead of 14.1 with one.
fn noncentrality(freedom: f64, alpha: f64) -> f64 {
    let critical = student::quantile(1.0 - alpha / 2.0, freedom);
    let Ok(chi_squared) = ChiSquared::new(freedom) else {
        return f64::INFINITY;
    };
    // T > t where Z + δ > t·S, S the estimated over the true standard deviation.
    let limits: Vec<f64> = (0..POINTS)
        .map(|i| (i as f64 + 0.5) / POINTS as f64)
        .map(|p| critical * (chi_squared.inverse_cdf(p) / freedom).sqrt())
        .collect();
    let power = |delta: f64| {
        let called = limits.iter().map(|limit| normal::cdf(delta - limit));
        called.sum::<f64>() / POINTS as f64
    };
    let (mut low, mut high) = (0.0, critical + 4.0);
    while power(high) < POWER {
        high *= 2.0;
    }
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if power(middle) < POWER {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The effect (a difference of logarithms) called faster in 80 % of comparisons that walk `plan` until `seconds` are
/// up, by simulation of normal scores with a fixed seed. `None` when the time allows too few duels for any call.
///
/// Stopping for futility is left out: it takes one or two of the 80 per cent.
pub fn detectable_in(
    seconds: f64,
    seconds_per_duel: f64,
    sd_duel: f64,
    plan: &LookPlan,
) -> Option<f64> {
    let affordable = (seconds / seconds_per_duel).max(0.0) as usize;
    let duels = affordable.min(plan.max_duels());
    let plan = plan.ending_at(duels);
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let needed: Vec<f64> = (0..SIMS)
        .map(|_| {
            let noise: Vec<f64> = (0..duels)
                .map(|_| StandardNormal.sample(&mut rng))
                .collect();
            smallest_called(&noise, &plan)
        })
        .collect();
    let effect = percentile(&needed, 100.0 * POWER)?;
    effect.is_finite().then_some(effect.max(0.0) * sd_duel)
}

/// The effect (a difference of logarithms) called faster in 80 % of comparisons of this many duels, at the looks that their
/// number and their error probability give. `None` where no so few duels can call any.
pub fn detectable_by(duels: usize, sd_duel: f64, errors: &ErrorBudget) -> Option<f64> {
    detectable_in(duels as f64, 1.0, sd_duel, &errors.plan(duels))
}

/// The smallest effect that, added to this noise, some look calls faster: an interval's lower end moves along with the
/// effect, so it is above zero once the effect exceeds what the end falls short by.
fn smallest_called(noise: &[f64], plan: &LookPlan) -> f64 {
    plan.looks
        .iter()
        .filter(|look| look.duels <= noise.len())
        .filter_map(|look| {
            let walsh = walsh_averages(&noise[..look.duels]);
            Some(-interval_of(&walsh, look.critical?).0)
        })
        .fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::IntervalEstimate;

    /// By starts; from numerical integration of the noncentral t's distribution.
    const NONCENTRALITIES: [(usize, f64); 5] = [
        (2, 16.334),
        (3, 5.6535),
        (4, 4.2559),
        (6, 3.5139),
        (8, 3.2698),
    ];

    #[test]
    fn few_starts_show_large_differences_only() {
        assert_eq!(detectable_of_starts(0.05, 1, true, 0.05), None);
        // Noncentralities of one-sample t tests at 5 % with 80 % power.
        for (starts, standard_errors) in NONCENTRALITIES {
            let n = starts as f64;
            let together = detectable_of_starts(0.05, starts, true, 0.05).expect("starts enough");
            let expected = standard_errors * 0.05 / n.sqrt();
            assert!((together / expected - 1.0).abs() < 0.002, "{together}");
            let apart = detectable_of_starts(0.05, starts, false, 0.05).expect("starts enough");
            assert!((apart / together - 2f64.sqrt()).abs() < 1e-12, "{apart}");
        }
        // Of many starts it is what one look at the end shows.
        let many = detectable_of_starts(0.05, 10_000, true, 0.05).expect("starts enough");
        assert!((many / detectable(0.05, 10_000) - 1.0).abs() < 0.001);
    }

    /// Two variants, each measured alone in every round, and the interval that a sweep makes of the rounds' ratios.
    #[test]
    fn rounds_show_what_was_promised_of_them() {
        let mut rng = ChaCha8Rng::seed_from_u64(17);
        let (sd, rounds) = (0.05, 4_000);
        for starts in [2, 3, 6] {
            let effect = detectable_of_starts(sd, starts, false, 0.05).expect("starts enough");
            let mut start = |log: f64| -> f64 {
                let z: f64 = StandardNormal.sample(&mut rng);
                (log + sd * z).exp()
            };
            let seen = (0..rounds)
                .filter(|_| {
                    let ratios: Vec<f64> =
                        (0..starts).map(|_| start(effect) / start(0.0)).collect();
                    let interval = IntervalEstimate::geometric(&ratios, 0.05).expect("ratios");
                    interval.low > 1.0
                })
                .count() as f64
                / f64::from(rounds);
            assert!((seen - 0.8).abs() < 0.02, "{starts}: {seen}");
        }
    }

    #[test]
    fn matches_the_closed_forms() {
        // ((1.96 + 0.8416) · 1.2 / 1)² = 11.3
        assert!((detectable(0.012, 16) - 0.0084).abs() < 1e-12);
    }

    #[test]
    fn several_looks_cost_a_little_power() {
        let plan = LookPlan::standard(0.05);
        let all = detectable_in(44.0 * 40.0, 40.0, 0.012, &plan).expect("44 duels");
        let fixed = detectable(0.012, 44);
        assert!(all > fixed && all < 1.15 * fixed, "{all} {fixed}");
        let ten_minutes = detectable_in(600.0, 40.0, 0.012, &plan).expect("15 duels");
        assert!(ten_minutes > all && ten_minutes < 0.02, "{ten_minutes}");
    }

    #[test]
    fn too_little_time_shows_nothing() {
        let plan = LookPlan::standard(0.05);
        assert_eq!(detectable_in(30.0, 40.0, 0.012, &plan), None);
        assert_eq!(detectable_in(160.0, 40.0, 0.012, &plan), None);
    }
}
