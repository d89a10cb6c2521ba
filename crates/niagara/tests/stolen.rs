//! A machine of which others take a share all the time: it costs power, never the answer.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use common::{Place, run};
use niagara_model::{Ending, Summary};
use niagara_store::Store;

/// Threads that take this share of every CPU for as long as it lives.
struct Competitor {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Competitor {
    fn start(share: f64) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = (0..cpus)
            .map(|_| {
                let stop = Arc::clone(&stop);
                std::thread::spawn(move || {
                    let period = Duration::from_millis(10);
                    while !stop.load(Ordering::Relaxed) {
                        let began = Instant::now();
                        while began.elapsed() < period.mul_f64(share) {
                            std::hint::spin_loop();
                        }
                        std::thread::sleep(period.mul_f64(1.0 - share));
                    }
                })
            })
            .collect();
        Self { stop, threads }
    }
}

impl Drop for Competitor {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[test]
fn a_comparison_beside_a_competitor_repeats_nothing_and_ends_with_an_interval() {
    let place = Place::new();
    let _competitor = Competitor::start(0.3);
    let (code, _, stderr) = run(place
        .niagara(&[
            "compare",
            "base",
            "transport=unix",
            "--threads",
            "4",
            "--table-size",
            "1000",
            "--couples",
            "6",
            "--slice",
            "100ms",
            "--warm-up",
            "200ms",
            "--max-duels",
            "7",
            "--budget",
            "4m",
            "--seed",
            "5",
            "--out",
        ])
        .arg(place.out()));
    assert_eq!(code, Some(0), "{stderr}");

    let store = Store::open_read_only(&place.out().join("results.db")).expect("results");
    let duels = store.duels().expect("duels");
    assert!(
        duels.iter().all(|duel| duel.ending == Ending::Scored),
        "{duels:?}"
    );
    assert!(duels.len() <= 7);
    // What was taken is told of every slice, and both figures of every duel.
    let slices = store.slices(None).expect("slices");
    let taken: f64 = slices.iter().map(|slice| slice.taken).sum();
    assert!(
        taken / slices.len() as f64 > 0.02,
        "{taken} over {}",
        slices.len()
    );
    assert!(duels.iter().all(|duel| duel.raw_score.is_some()));
    let Some(Summary::Compare(compare)) = store.summary().expect("readable") else {
        panic!("a comparison");
    };
    let interval = compare.comparison.throughput.estimate;
    assert!(
        interval.low > 0.0 && interval.high.is_finite(),
        "{interval:?}"
    );
    assert!(compare.comparison.taken.is_some_and(|taken| taken[0] > 0.0));
}

#[test]
fn a_budget_that_is_too_short_for_a_verdict_still_gives_an_interval() {
    let place = Place::new();
    let (code, stdout, stderr) = run(place
        .niagara(&[
            "compare",
            "base",
            "base",
            "--threads",
            "4",
            "--table-size",
            "1000",
            "--couples",
            "4",
            "--slice",
            "100ms",
            "--warm-up",
            "200ms",
            "--budget",
            "25s",
            "--seed",
            "5",
            "--out",
        ])
        .arg(place.out()));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(!stdout.contains('∞'), "{stdout}");
    let store = Store::open_read_only(&place.out().join("results.db")).expect("results");
    let Some(Summary::Compare(compare)) = store.summary().expect("readable") else {
        panic!("a comparison");
    };
    let interval = compare.comparison.throughput.estimate;
    assert!(
        interval.low > 0.0 && interval.high.is_finite(),
        "{interval:?}"
    );
}
