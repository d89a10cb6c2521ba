//! A machine whose speed wanders, and what a load generator would see of two servers on it.

use niagara_stats::{Batch, Couple, DuelScore, DuelTotals, Weighing, duel_score};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal, StudentT};

/// What a side serves in a slice in which it stands still, of what it serves otherwise.
const STILL: f64 = 0.02;

pub struct Machine {
    rng: ChaCha8Rng,
    shocks: StudentT<f64>,
    log_speed: f64,
    /// Random walk per slice.
    pub drift: f64,
    /// Noise of one slice, heavy-tailed (t with 3 degrees of freedom).
    pub slice_noise: f64,
    /// Added by every restart, normal.
    pub restart_noise: f64,
}

impl Machine {
    pub fn new(seed: u64) -> Self {
        Self {
            rng: ChaCha8Rng::seed_from_u64(seed),
            shocks: StudentT::new(3.0).expect("3 > 0"),
            log_speed: 0.0,
            drift: 0.01,
            slice_noise: 0.02,
            restart_noise: 0.005,
        }
    }

    pub fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.rng)
    }

    pub fn coin(&mut self) -> bool {
        self.rng.random()
    }

    /// Between 0 and 1.
    pub fn uniform(&mut self) -> f64 {
        self.rng.random()
    }

    pub fn restart(&mut self) -> f64 {
        self.restart_noise * self.normal()
    }

    /// The rate of one slice or run of a server this much faster than another.
    pub fn slice(&mut self, log_effect: f64) -> f64 {
        // Pulled back a little, so that the machine wanders without end but not without bound.
        self.log_speed =
            0.99 * self.log_speed + self.drift * self.shocks.sample(&mut self.rng) / 3f64.sqrt();
        let noise = self.slice_noise * self.shocks.sample(&mut self.rng) / 3f64.sqrt();
        1000.0 * (self.log_speed + log_effect + noise).exp()
    }

    /// A duel of B, this much faster, with A.
    pub fn duel(&mut self, log_effect: f64, couples: usize) -> DuelScore {
        let (a, b) = (self.restart(), log_effect + self.restart());
        let couples: Vec<Couple> = (0..couples)
            .map(|_| {
                let a_first = self.coin();
                let one = self.slice(if a_first { a } else { b });
                let other = self.slice(if a_first { b } else { a });
                let (a, b) = if a_first { (one, other) } else { (other, one) };
                Couple::undisturbed(a, b)
            })
            .collect();
        duel_score(&couples, Weighing::NONE).expect("nothing is dropped")
    }

    /// A duel of two sides this much faster than another server, restarts included, each of which stands still in such a share of its
    /// slices.
    pub fn duel_with_standstills(
        &mut self,
        log_effects: [f64; 2],
        still: [f64; 2],
        couples: usize,
    ) -> (DuelScore, DuelTotals) {
        let mut sides = [Vec::new(), Vec::new()];
        let couples: Vec<Couple> = (0..couples)
            .map(|_| {
                let first = usize::from(self.coin());
                let mut rates = [0.0; 2];
                for side in [first, 1 - first] {
                    rates[side] = self.slice(log_effects[side]);
                    if self.uniform() < still[side] {
                        rates[side] *= STILL;
                    }
                    sides[side].push(Batch {
                        transactions: rates[side],
                        seconds: 1.0,
                    });
                }
                Couple::undisturbed(rates[0], rates[1])
            })
            .collect();
        let score = duel_score(&couples, Weighing::NONE).expect("nothing is dropped");
        let [a, b] = &sides;
        let totals = DuelTotals::of(score.score, [a, b]).expect("several slices a side");
        (score, totals)
    }
}
