//! How W moves from look to look when there is no difference: every score's sign is then a fair coin, and a new
//! score's magnitude is equally likely to take any rank among those before it.
//!
//! A state is the sign at every rank: bit r−1 of an integer is set where the score of rank r is positive.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Signs are kept in one 128-bit integer.
pub(crate) const MAX_DUELS: usize = 128;

/// Up to here all 2ⁿ states are enumerated; beyond, states are drawn at random.
const EXACT_TO: usize = 16;

/// A look whose critical value is given, or wanted.
#[derive(Clone, Copy)]
pub enum Bound {
    /// Kept as it is; `None`: no stopping there.
    Given(Option<u32>),
    /// The smallest critical value that keeps P(crossing at this look or before) at or below this.
    Spend(f64),
}

/// The critical values of looks at ascending numbers of scores, each at most [`MAX_DUELS`]. A single look's is exact, and so are those
/// of looks at few scores; later ones are simulated.
pub(crate) fn criticals(looks: &[(usize, Bound)], sims: usize, seed: u64) -> Vec<Option<u32>> {
    if let &[(n, bound)] = looks {
        return vec![critical_once(n, bound)];
    }
    let few = looks.partition_point(|look| look.0 <= EXACT_TO);
    let (mut found, mut spent) = (Vec::with_capacity(looks.len()), 0.0);

    let mut masses = vec![1.0];
    for &(n, bound) in &looks[..few] {
        while masses.len() < 1 << n {
            masses = one_more(&masses);
        }
        let mut tail = Tail::new(n);
        for (state, mass) in masses.iter().enumerate() {
            tail.add(w_of(state, n), *mass);
        }
        let critical = tail.critical(bound, spent);
        for (state, mass) in masses.iter_mut().enumerate() {
            if crosses(w_of(state, n), critical) {
                spent += *mass;
                *mass = 0.0;
            }
        }
        found.push(critical);
    }
    if few == looks.len() {
        return found;
    }

    let sizes: Vec<usize> = looks.iter().map(|look| look.0).collect();
    let mut paths = paths(&sizes, sims.max(1), seed);
    for (look, critical) in found.iter().enumerate() {
        paths.retain_uncrossed(look, *critical);
    }
    for (look, &(n, bound)) in looks.iter().enumerate().skip(few) {
        let mut tail = Tail::new(n);
        for path in paths.alive() {
            tail.add(i32::from(path[look]), 1.0 / paths.drawn as f64);
        }
        let critical = tail.critical(bound, spent);
        spent += paths.retain_uncrossed(look, critical);
        found.push(critical);
    }
    found
}

/// The critical value of the only look, at `n` scores: exact.
pub(crate) fn critical_once(n: usize, bound: Bound) -> Option<u32> {
    exact(n).critical(bound, 0.0)
}

/// The distribution of W after `n` scores, by adding one rank after the other: W = Σ ±r, every sign a fair coin (Wilcoxon, *Biometrics
/// Bulletin* 1, 1945).
fn exact(n: usize) -> Tail {
    let last = n * (n + 1) / 2;
    // By the sum of the ranks that are positive.
    let mut masses = vec![0.0; last + 1];
    masses[0] = 1.0;
    let mut reached = 0;
    for rank in 1..=n {
        reached += rank;
        for sum in (0..=reached).rev() {
            let with = if sum >= rank { masses[sum - rank] } else { 0.0 };
            masses[sum] = 0.5 * (masses[sum] + with);
        }
    }
    let mut tail = Tail::new(n);
    for (positive, mass) in masses.into_iter().enumerate() {
        tail.add(2 * positive as i32 - last as i32, mass);
    }
    tail
}

/// The probabilities of the states of n + 1 signs from those of n.
fn one_more(masses: &[f64]) -> Vec<f64> {
    let n = masses.len().ilog2() as usize;
    let share = 0.5 / (n + 1) as f64;
    (0..2 * masses.len())
        .map(|state| {
            (0..=n)
                .map(|rank| {
                    let below = state & ((1 << rank) - 1);
                    masses[below | (state >> (rank + 1) << rank)]
                })
                .sum::<f64>()
                * share
        })
        .collect()
}

fn w_of(state: usize, n: usize) -> i32 {
    (0..n)
        .map(|rank| {
            let signed = rank as i32 + 1;
            if state >> rank & 1 == 1 {
                signed
            } else {
                -signed
            }
        })
        .sum()
}

fn crosses(w: i32, critical: Option<u32>) -> bool {
    critical.is_some_and(|c| w.unsigned_abs() >= c)
}

/// How much probability lies at each |W|.
struct Tail {
    at: Vec<f64>,
}

impl Tail {
    fn new(n: usize) -> Self {
        Self {
            at: vec![0.0; n * (n + 1) / 2 + 1],
        }
    }

    fn add(&mut self, w: i32, mass: f64) {
        self.at[w.unsigned_abs() as usize] += mass;
    }

    fn critical(&self, bound: Bound, spent: f64) -> Option<u32> {
        let limit = match bound {
            Bound::Given(critical) => return critical,
            Bound::Spend(limit) => limit,
        };
        // Only values that W can take: M, M − 2, …
        let mut total = spent;
        let mut critical = None;
        for value in (0..self.at.len()).rev().step_by(2) {
            total += self.at[value];
            // A tail that simulation never reached is not a tail of no probability. Sums of exact fractions may be off
            // in the last place.
            if limit.is_nan() || limit <= 0.0 || total > limit * (1.0 + 1e-12) {
                break;
            }
            critical = Some(value as u32);
        }
        critical
    }
}

/// Simulated values of W at every look.
struct Paths {
    looks: usize,
    drawn: usize,
    w: Vec<i16>,
}

impl Paths {
    fn alive(&self) -> impl Iterator<Item = &[i16]> {
        self.w.chunks_exact(self.looks)
    }

    /// Ends the paths that cross at a look; returns their share of all that were drawn.
    fn retain_uncrossed(&mut self, look: usize, critical: Option<u32>) -> f64 {
        let before = self.w.len();
        let mut kept = 0;
        for start in (0..before).step_by(self.looks) {
            if !crosses(i32::from(self.w[start + look]), critical) {
                self.w.copy_within(start..start + self.looks, kept);
                kept += self.looks;
            }
        }
        self.w.truncate(kept);
        ((before - kept) / self.looks) as f64 / self.drawn as f64
    }
}

fn paths(sizes: &[usize], drawn: usize, seed: u64) -> Paths {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut w = Vec::with_capacity(drawn * sizes.len());
    for _ in 0..drawn {
        let (mut signs, mut n, mut sum) = (0u128, 0u32, 0i32);
        for &size in sizes {
            while (n as usize) < size {
                let random = rng.next_u32();
                let positive = random & 1;
                // A uniform place among n + 1: the upper 31 bits scaled.
                let rank = ((u64::from(random >> 1) * u64::from(n + 1)) >> 31) as u32;
                let above = signs >> rank;
                let below = signs & ((1u128 << rank) - 1);
                // The newcomer takes rank + 1, and whoever stands above moves up by one.
                let positive_above = above.count_ones() as i32;
                let all_above = (n - rank) as i32;
                sum +=
                    (rank as i32 + 1) * (2 * positive as i32 - 1) + 2 * positive_above - all_above;
                signs = below | (u128::from(positive) | above << 1) << rank;
                n += 1;
            }
            // |W| <= 128·129/2 = 8256.
            w.push(sum as i16);
        }
    }
    Paths {
        looks: sizes.len(),
        drawn,
        w,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enumeration_gives_every_state_its_probability() {
        let mut masses = vec![1.0];
        for _ in 0..6 {
            masses = one_more(&masses);
        }
        assert_eq!(masses.len(), 64);
        assert!(masses.iter().all(|mass| (mass - 1.0 / 64.0).abs() < 1e-15));
    }

    #[test]
    fn simulation_agrees_with_enumeration() {
        let looks = [8, 12, 16];
        let wanted: Vec<(usize, Bound)> = looks
            .iter()
            .map(|&n| (n, Bound::Spend(0.05 * n as f64 / 44.0)))
            .collect();
        let exact = criticals(&wanted, 0, 0);
        let mut paths = paths(&looks, 400_000, 1);
        let crossed: f64 = (0..3)
            .map(|look| paths.retain_uncrossed(look, exact[look]))
            .sum();
        // Exactly: 0.0176 of 0.0182 allowed; three binomial standard errors.
        assert!(crossed < 0.05 * 16.0 / 44.0 + 3.0 * 0.00021, "{crossed}");
        assert!(crossed > 0.016, "{crossed}");
    }

    #[test]
    fn a_single_look_is_exact_whatever_it_is_at() {
        for n in [1, 2, 6, 12] {
            let mut by_states = Tail::new(n);
            for state in 0..1 << n {
                by_states.add(w_of(state, n), 0.5f64.powi(n as i32));
            }
            let found = exact(n);
            let pairs = found.at.iter().zip(&by_states.at);
            assert!(
                pairs
                    .clone()
                    .all(|(one, other)| (one - other).abs() < 1e-15)
            );
        }
        for n in [44, MAX_DUELS] {
            let found = exact(n);
            let variance: f64 = (0..)
                .zip(&found.at)
                .map(|(w, p)| f64::from(w * w) * p)
                .sum();
            let expected = crate::signed_rank::signed_rank_sd(n).powi(2);
            assert!((variance / expected - 1.0).abs() < 1e-9, "{n}");
            assert!((found.at.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{n}");
        }
        // The tables of the signed-rank test: of 20 scores a sum of 52 is significant at 5 %, two-sided, W = 210 − 2·52; of 50, 434.
        let critical = |n| criticals(&[(n, Bound::Spend(0.05))], 0, 0)[0];
        assert_eq!(critical(20), Some(210 - 2 * 52));
        assert_eq!(critical(50), Some(1275 - 2 * 434));
    }

    #[test]
    fn moments_of_w() {
        let paths = paths(&[44], 200_000, 2);
        let mean_square = paths
            .alive()
            .map(|path| f64::from(path[0]).powi(2))
            .sum::<f64>()
            / 200_000.0;
        let expected = crate::signed_rank::signed_rank_sd(44).powi(2);
        assert!((mean_square / expected - 1.0).abs() < 0.01);
    }
}
