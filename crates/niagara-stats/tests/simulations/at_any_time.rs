//! The interval of the live picture: whoever looks after every duel is misled no more often than was said.

use niagara_stats::{confidence_sequence, interval_once};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal, StudentT};

use crate::at_most;

const ALPHA: f64 = 0.05;
const RUNS: usize = 300;
const DUELS: usize = 44;
const TRUTH: f64 = 0.03;

/// The share of runs in which an interval once leaves the truth out, by a fresh look after every duel.
fn misled(interval: impl Fn(&[f64]) -> Option<(f64, f64)>, heavy: bool) -> f64 {
    let tails = StudentT::new(2.0).expect("degrees of freedom");
    let runs = (0..RUNS).filter(|&run| {
        let mut rng = ChaCha8Rng::seed_from_u64(run as u64);
        let mut scores = Vec::new();
        (0..DUELS).any(|_| {
            let noise: f64 = match heavy {
                true => tails.sample(&mut rng),
                false => StandardNormal.sample(&mut rng),
            };
            scores.push(TRUTH + 0.02 * noise);
            interval(&scores).is_some_and(|(low, high)| !(low..=high).contains(&TRUTH.exp()))
        })
    });
    runs.count() as f64 / RUNS as f64
}

#[test]
fn looking_after_every_duel_misleads_rarely() {
    for heavy in [false, true] {
        let rate = misled(
            |scores| {
                let found = confidence_sequence(scores, ALPHA);
                Some((found.low, found.high))
            },
            heavy,
        );
        assert!(rate <= at_most(ALPHA, RUNS), "heavy {heavy}: {rate}");
    }
}

#[test]
fn looking_at_a_single_look_interval_misleads_often() {
    let rate = misled(
        |scores| {
            let found = interval_once(scores, ALPHA)?;
            Some((found.low, found.high))
        },
        false,
    );
    assert!(rate > 2.0 * ALPHA, "{rate}");
}
