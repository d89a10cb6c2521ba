//! Where a duel's noise comes from: its couples, or the restarts; and how many couples pay.

use crate::duel_score::DuelScore;

/// Couples per duel are held in this range.
pub const COUPLES: std::ops::RangeInclusive<u32> = 8..=300;

/// Variance components of log ratios.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Components {
    /// σ_W²: variance of one couple's log ratio within a duel.
    pub within: f64,
    /// σ_R²: variance that one restart of one side adds.
    pub restart: f64,
    /// Degrees of freedom behind `within`: couples less one, over all duels.
    pub within_df: f64,
    /// Degrees of freedom behind the variance between duels; 0 leaves `restart` at 0.
    pub between_df: f64,
}

impl Components {
    /// Standard deviation of a duel's score with this many couples: √(2σ_R² + σ_W²/K).
    pub fn duel_sd(&self, couples: u32) -> f64 {
        (2.0 * self.restart + self.within / f64::from(couples.max(1))).sqrt()
    }
}

/// σ_W² from the couples within duels, σ_R² = (var(d) − σ_W²/K)/2 from the duels within comparisons, K their harmonic
/// mean; below zero it is zero. One item of `history` is one comparison of the same two variants: each may have its own
/// effect. `None` without a duel of two couples.
pub fn components(history: &[Vec<DuelScore>]) -> Option<Components> {
    let duels = || history.iter().flatten().filter(|duel| duel.used > 1);
    let within_df: f64 = duels().map(|duel| (duel.used - 1) as f64).sum();
    if within_df == 0.0 {
        return None;
    }
    let squares: f64 = duels()
        .map(|duel| (duel.used - 1) as f64 * duel.couple_sd.powi(2))
        .sum();
    let within = squares / within_df;

    let (mut between_squares, mut between_df, mut inverse_couples) = (0.0, 0.0, 0.0);
    for comparison in history {
        let duels: Vec<&DuelScore> = comparison.iter().filter(|duel| duel.used > 0).collect();
        let n = duels.len() as f64;
        if n < 2.0 {
            continue;
        }
        let mean = duels.iter().map(|duel| duel.score).sum::<f64>() / n;
        let squares: f64 = duels.iter().map(|duel| (duel.score - mean).powi(2)).sum();
        let inverse: f64 = duels.iter().map(|duel| 1.0 / duel.used as f64).sum();
        between_squares += squares;
        between_df += n - 1.0;
        inverse_couples += inverse / n * (n - 1.0);
    }
    let restart = if between_df > 0.0 {
        ((between_squares - within * inverse_couples) / between_df / 2.0).max(0.0)
    } else {
        0.0
    };
    Some(Components {
        within,
        restart,
        within_df,
        between_df,
    })
}

/// The K that minimises the variance per minute, (2σ_R² + σ_W²/K)·(restart + K·couple): √(σ_W²·restart/(2σ_R²·couple)),
/// held between 8 and 300. `restart_seconds` is what a duel costs besides its couples (both sides' starts and warm-ups),
/// `couple_seconds` one couple with its changes of side.
pub fn optimal_couples(components: &Components, restart_seconds: f64, couple_seconds: f64) -> u32 {
    let best =
        (components.within * restart_seconds / (2.0 * components.restart * couple_seconds)).sqrt();
    // Without any restart variance (or any cost of a couple) the quotient is infinite or no number: as many as allowed.
    let best = if best.is_nan() { f64::INFINITY } else { best };
    best.round()
        .clamp(f64::from(*COUPLES.start()), f64::from(*COUPLES.end())) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;
    use rand_distr::{Distribution, StandardNormal};

    use crate::couple::Couple;
    use crate::duel_score::{Weighing, duel_score};

    #[test]
    fn components_are_recovered() {
        let mut rng = ChaCha8Rng::seed_from_u64(11);
        let mut normal = |sd: f64| -> f64 {
            let z: f64 = StandardNormal.sample(&mut rng);
            sd * z
        };
        let (within_sd, restart_sd) = (0.05, 0.008);
        let history: Vec<Vec<DuelScore>> = (0..60)
            .map(|_| {
                let effect = normal(0.1);
                (0..16)
                    .map(|_| {
                        let [a, b] = [normal(restart_sd), normal(restart_sd)];
                        let couples: Vec<Couple> = (0..20)
                            .map(|_| {
                                let rate_b = 100.0 * (effect + b + normal(within_sd)).exp();
                                Couple::undisturbed(100.0 * a.exp(), rate_b)
                            })
                            .collect();
                        duel_score(&couples, Weighing::NONE).expect("nothing dropped")
                    })
                    .collect()
            })
            .collect();
        let found = components(&history).expect("plenty");
        // The robust couple_sd is that of the score's own efficiency: 1/√0.95 of the normal one.
        let expected = within_sd * within_sd / 0.95;
        assert!((found.within / expected - 1.0).abs() < 0.1, "{found:?}");
        assert!(
            (found.restart.sqrt() / restart_sd - 1.0).abs() < 0.1,
            "{found:?}"
        );
        assert_eq!(found.between_df, 60.0 * 15.0);
    }

    #[test]
    fn without_history_the_defaults_stay() {
        assert_eq!(components(&[]), None);
        assert_eq!(components(&[vec![]]), None);
    }

    #[test]
    fn couples_follow_the_noise_and_the_costs() {
        let of = |within: f64, restart: f64| Components {
            within,
            restart,
            within_df: 100.0,
            between_df: 10.0,
        };
        assert_eq!(optimal_couples(&of(0.0025, 0.0), 15.0, 1.0), 300);
        // √(0.0025·20/(2·0.0000625·1)) = 20
        assert_eq!(optimal_couples(&of(0.0025, 0.0000625), 20.0, 1.0), 20);
        assert_eq!(optimal_couples(&of(0.0001, 0.01), 15.0, 1.0), 8);
        assert_eq!(optimal_couples(&of(0.0, 0.0), 15.0, 1.0), 300);
        assert!((of(0.0025, 0.0000625).duel_sd(20) - (0.00025f64).sqrt()).abs() < 1e-12);
    }
}
