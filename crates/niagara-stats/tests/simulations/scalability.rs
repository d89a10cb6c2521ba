//! Intervals of the fitted scalability law cover what they promise, in the middle and at the bounds.

use niagara_stats::{Start, scalability};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};

use crate::at_most;

const ROUNDS: usize = 150;
const COUNTS: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

/// How often each interval misses the truth: λ, σ, κ, N*.
fn misses(sigma: f64, kappa: f64, noise: f64, starts_each: usize, seed: u64) -> [f64; 4] {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut missed = [0_usize; 4];
    for _ in 0..ROUNDS {
        let starts: Vec<Start> = COUNTS
            .iter()
            .flat_map(|&count| {
                let n = f64::from(count);
                let exact = 300.0 * n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0));
                let noises: Vec<f64> = (0..starts_each)
                    .map(|_| StandardNormal.sample(&mut rng))
                    .collect();
                noises.into_iter().map(move |z| Start {
                    threads: n,
                    throughput: exact * (noise * z).exp(),
                })
            })
            .collect();
        let law = scalability(&starts, 0.05).expect("enough starts");
        let truths = [
            (law.lambda, 300.0),
            (law.sigma, sigma),
            (law.kappa, kappa),
            (law.peak_threads, ((1.0 - sigma) / kappa).sqrt()),
        ];
        for (missed, (level, truth)) in missed.iter_mut().zip(truths) {
            *missed += usize::from(!(level.low <= truth && truth <= level.high));
        }
    }
    missed.map(|missed| missed as f64 / ROUNDS as f64)
}

#[test]
fn intervals_of_the_law_cover() {
    for (sigma, kappa, noise, starts, seed) in [
        (0.05, 1e-3, 0.02, 3, 1),
        (0.3, 1e-4, 0.05, 2, 2),
        (0.02, 1e-2, 0.03, 4, 3),
        // At the bounds: no contention, no peak.
        (0.0, 1e-3, 0.03, 3, 4),
        (0.2, 0.0, 0.03, 3, 5),
    ] {
        let rates = misses(sigma, kappa, noise, starts, seed);
        for rate in rates {
            assert!(
                rate <= at_most(0.05, ROUNDS),
                "sigma {sigma}, kappa {kappa}: {rates:?}"
            );
        }
    }
}

#[test]
fn intervals_are_of_some_use() {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let starts: Vec<Start> = COUNTS
        .iter()
        .flat_map(|&count| {
            let n = f64::from(count);
            let noises: Vec<f64> = (0..3).map(|_| StandardNormal.sample(&mut rng)).collect();
            noises.into_iter().map(move |z: f64| Start {
                threads: n,
                throughput: 300.0 * n / (1.0 + 0.05 * (n - 1.0) + 1e-3 * n * (n - 1.0))
                    * (0.02 * z).exp(),
            })
        })
        .collect();
    let law = scalability(&starts, 0.05).expect("enough starts");
    assert!(law.sigma.high - law.sigma.low < 0.03, "{law:?}");
    assert!(
        law.peak_threads.high / law.peak_threads.low < 1.4,
        "{law:?}"
    );
}
