//! What can be seen, before anything is measured.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};

use crate::looks::{ErrorBudget, LookPlan};
use crate::sample::percentile;
use crate::signed_rank::{interval_of, walsh_averages};
use crate::student;

/// Two-sided 5 % and 80 % power: 1.960 + 0.842.
const DEVIATIONS: f64 = 2.8;
const POWER_PERCENT: f64 = 80.0;
/// Simulated comparisons: the 80 % point is then good to about 2 %.
const SIMS: usize = 2_000;
const SEED: u64 = 1979;

/// The effect (a difference of logarithms) that this many duels show with 80 % power by one look at the end:
/// 2.8·sd/√n. Infinite of no duels.
pub fn detectable(sd_duel: f64, duels: usize) -> f64 {
    DEVIATIONS * sd_duel / (duels as f64).sqrt()
}

/// The difference of logarithms of two variants, each of which has this many fresh starts, that an interval of 1 − `alpha` by Student's
/// t shows with 80 % power: `(t(1 − alpha/2) + t(0.8))·√2·sd/√n` with 2(n − 1) degrees of freedom. Of pairs that were measured together
/// `together` holds, `sd` is that of a pair's ratio, and there is no √2. `None` of fewer than two.
pub fn detectable_of_starts(sd: f64, starts: usize, together: bool, alpha: f64) -> Option<f64> {
    if starts < 2 {
        return None;
    }
    let n = starts as f64;
    let (freedom, factor) = match together {
        true => (n - 1.0, 1.0),
        false => (2.0 * (n - 1.0), std::f64::consts::SQRT_2),
    };
    let quantiles = student::quantile(1.0 - alpha / 2.0, freedom) + student::quantile(0.8, freedom);
    Some(quantiles * factor * sd / n.sqrt())
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
    let effect = percentile(&needed, POWER_PERCENT)?;
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

    #[test]
    fn few_starts_show_large_differences_only() {
        assert_eq!(detectable_of_starts(0.05, 1, true, 0.05), None);
        // t of 5 degrees of freedom: 2.571 and 0.920; of 10: 2.228 and 0.879.
        let together = detectable_of_starts(0.05, 6, true, 0.05).expect("starts enough");
        assert!(
            (together - 3.491 * 0.05 / 6f64.sqrt()).abs() < 1e-4,
            "{together}"
        );
        let apart = detectable_of_starts(0.05, 6, false, 0.05).expect("starts enough");
        assert!(
            (apart - 3.107 * 2f64.sqrt() * 0.05 / 6f64.sqrt()).abs() < 1e-4,
            "{apart}"
        );
        // Of many starts it is what one look at the end shows.
        let many = detectable_of_starts(0.05, 10_000, true, 0.05).expect("starts enough");
        assert!((many / detectable(0.05, 10_000) - 1.0).abs() < 0.001);
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
