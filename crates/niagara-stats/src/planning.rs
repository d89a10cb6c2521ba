//! What can be seen, before anything is measured.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};

use crate::looks::{ErrorBudget, LookPlan};
use crate::sample::percentile;
use crate::signed_rank::{interval_of, walsh_averages};

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
