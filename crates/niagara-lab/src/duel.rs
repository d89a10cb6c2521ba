//! The protocols by which two variants meet: duel (the default), pair, trimmed.

use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use niagara_stats::{Couple, duel_score};
use niagara_store::{DuelRecord, Ending, SliceRecord};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::arena::{Arena, Trouble, unix_ms};
use crate::observer::Observer;
use crate::spec::{DuelOutcome, DuelSpec, Protocol};
use crate::workbench::Workbench;

/// Runs of each variant in the protocol of 2008.
const TRIMMED_RUNS: u32 = 5;

/// Runs one duel (or pair, or trimmed series) to its end.
///
/// # Errors
/// Where the duel cannot be run here at all (disk full, …) or was stopped. A side that fails to
/// start or dies is no error: it is the outcome.
pub fn fight(
    bench: &Workbench,
    spec: &DuelSpec,
    protocol: Protocol,
    observer: &mut dyn Observer,
) -> Result<DuelOutcome> {
    let started = SystemTime::now();
    let clock = Instant::now();
    let mut load_seconds = 0.0;
    let fought = match protocol {
        Protocol::Duel => duel(bench, spec, observer, &mut load_seconds),
        Protocol::Pair => pair(bench, spec, observer, &mut load_seconds),
        Protocol::Trimmed => trimmed(bench, spec, observer, &mut load_seconds),
    };
    let outcome = |fought: Fought, ending| {
        Ok(fought.outcome(spec, ending, started, clock.elapsed(), load_seconds))
    };
    match fought {
        Ok(fought) => {
            let ending = match fought.score {
                Some(_) => Ending::Scored,
                None => Ending::Disturbed,
            };
            outcome(fought, ending)
        }
        Err(Trouble::Side { side, reason }) => outcome(
            Fought::default(),
            Ending::Failed {
                side: side as u8,
                reason,
            },
        ),
        Err(Trouble::Fatal(error)) => Err(error),
    }
}

/// What a protocol brings back; nothing, of a duel in which a side failed.
#[derive(Default)]
struct Fought {
    score: Option<f64>,
    dropped: [u32; 2],
    slices: Vec<SliceRecord>,
    warm_up_curves: [Vec<f64>; 2],
}

impl Fought {
    fn outcome(
        self,
        spec: &DuelSpec,
        ending: Ending,
        started: SystemTime,
        wall: Duration,
        load_seconds: f64,
    ) -> DuelOutcome {
        let couples = self.slices.iter().filter(|slice| slice.side == 0).count() as u32;
        DuelOutcome {
            record: DuelRecord {
                seq: spec.seq,
                phase: spec.phase,
                subject: spec.subject.clone(),
                variants: [spec.variants[0].id(), spec.variants[1].id()],
                seed: spec.seed,
                started_unix_ms: unix_ms(started),
                wall_seconds: wall.as_secs_f64(),
                load_seconds,
                score: self.score,
                cpu_score: log_ratio(&self.slices, cpu_per_transaction),
                latency_scores: latency_scores(&self.slices),
                couples,
                dropped: self.dropped,
                ending,
            },
            slices: self.slices,
            warm_up_curves: self.warm_up_curves,
        }
    }
}

fn duel(
    bench: &Workbench,
    spec: &DuelSpec,
    observer: &mut dyn Observer,
    load_seconds: &mut f64,
) -> Result<Fought, Trouble> {
    let mut arena = Arena::open(bench, spec, &[0, 1])?;
    let mut coin = ChaCha8Rng::seed_from_u64(spec.seed);
    let fought = (|| {
        let warm_up_curves = [arena.warm_up(0)?, arena.warm_up(1)?];
        let mut slices = Vec::new();
        let mut couples = Vec::new();
        for couple in 0..spec.lengths.couples {
            bench.cancel().check()?;
            let first = usize::from(coin.random::<bool>());
            let one = arena.slice(first, couple, true, observer)?;
            let other = arena.slice(1 - first, couple, false, observer)?;
            let (a, b) = if first == 0 {
                (one, other)
            } else {
                (other, one)
            };
            couples.push(couple_of(&a, &b));
            slices.push(a);
            slices.push(b);
        }
        let score = duel_score(&couples);
        Ok(Fought {
            score: score.as_ref().map(|score| score.score),
            dropped: count_disturbed(&couples),
            slices,
            warm_up_curves,
        })
    })();
    *load_seconds = arena.load_seconds();
    arena.close();
    fought
}

/// A couple as the score takes it.
pub(crate) fn couple_of(a: &SliceRecord, b: &SliceRecord) -> Couple {
    Couple {
        a: throughput(a),
        b: throughput(b),
        disturbed: [a.disturbed, b.disturbed],
    }
}

/// Couples lost because the machine was disturbed during A's slice, during B's slice.
fn count_disturbed(couples: &[Couple]) -> [u32; 2] {
    [0, 1].map(|side| couples.iter().filter(|c| c.disturbed[side]).count() as u32)
}

/// A fresh run of one side: its windows.
fn run(
    bench: &Workbench,
    spec: &DuelSpec,
    side: usize,
    windows: std::ops::Range<u32>,
    first: bool,
    observer: &mut dyn Observer,
    load_seconds: &mut f64,
) -> Result<(Vec<SliceRecord>, Vec<f64>), Trouble> {
    let mut arena = Arena::open(bench, spec, &[side])?;
    let ran = (|| {
        let curve = arena.warm_up(side)?;
        let mut slices = Vec::new();
        for window in windows {
            bench.cancel().check()?;
            slices.push(arena.slice(side, window, first, observer)?);
        }
        Ok((slices, curve))
    })();
    *load_seconds += arena.load_seconds();
    arena.close();
    ran
}

fn pair(
    bench: &Workbench,
    spec: &DuelSpec,
    observer: &mut dyn Observer,
    load_seconds: &mut f64,
) -> Result<Fought, Trouble> {
    let first = usize::from(ChaCha8Rng::seed_from_u64(spec.seed).random::<bool>());
    let mut slices = [Vec::new(), Vec::new()];
    let mut curves = [Vec::new(), Vec::new()];
    for (side, goes_first) in [(first, true), (1 - first, false)] {
        let windows = 0..spec.lengths.couples;
        (slices[side], curves[side]) = run(
            bench,
            spec,
            side,
            windows,
            goes_first,
            observer,
            load_seconds,
        )?;
    }
    let rates = slices.each_ref().map(|run| throughputs(run));
    // Label-blind: one spread for both runs, so that no side loses more windows for being itself.
    let spread = niagara_stats::window_sd(&rates);
    let values = rates
        .each_ref()
        .map(|run| niagara_stats::run_value(run, spread));
    let score = (values[1].0 / values[0].0).ln();
    Ok(Fought {
        score: score.is_finite().then_some(score),
        dropped: [values[0].1 as u32, values[1].1 as u32],
        slices: slices.concat(),
        warm_up_curves: curves,
    })
}

fn trimmed(
    bench: &Workbench,
    spec: &DuelSpec,
    observer: &mut dyn Observer,
    load_seconds: &mut f64,
) -> Result<Fought, Trouble> {
    let mut slices = Vec::new();
    let mut means = [0.0; 2];
    for side in [0, 1] {
        let mut runs = Vec::new();
        for index in 0..TRIMMED_RUNS {
            let (window, _) = run(
                bench,
                spec,
                side,
                index..index + 1,
                side == 0,
                observer,
                load_seconds,
            )?;
            runs.extend(throughputs(&window));
            slices.extend(window);
        }
        means[side] = niagara_stats::trimmed(&runs);
    }
    let score = (means[1] / means[0]).ln();
    Ok(Fought {
        score: score.is_finite().then_some(score),
        dropped: [2, 2],
        slices,
        warm_up_curves: [Vec::new(), Vec::new()],
    })
}

/// Transactions per counted second.
fn throughput(slice: &SliceRecord) -> f64 {
    if slice.seconds > 0.0 {
        slice.transactions as f64 / slice.seconds
    } else {
        0.0
    }
}

fn throughputs(slices: &[SliceRecord]) -> Vec<f64> {
    slices.iter().map(throughput).collect()
}

/// Server CPU seconds per transaction, ramp and drain included.
fn cpu_per_transaction(slices: &[&SliceRecord]) -> f64 {
    let cpu: f64 = slices.iter().map(|slice| slice.server_cpu_seconds).sum();
    let transactions: u64 = slices.iter().map(|slice| slice.transactions_whole).sum();
    cpu / transactions as f64
}

/// ln(figure of B / figure of A) over the slices that were not disturbed; `None` without a finite answer.
fn log_ratio(slices: &[SliceRecord], figure: impl Fn(&[&SliceRecord]) -> f64) -> Option<f64> {
    let [a, b] = [0, 1].map(|side| {
        let of_side: Vec<_> = slices
            .iter()
            .filter(|slice| slice.side == side && !slice.disturbed)
            .collect();
        figure(&of_side)
    });
    let ratio = (b / a).ln();
    ratio.is_finite().then_some(ratio)
}

/// Log ratios of the median over slices of p50 and of p95.
fn latency_scores(slices: &[SliceRecord]) -> Option<[f64; 2]> {
    let score = |percentile: usize| {
        log_ratio(slices, |side| {
            let mut values: Vec<f64> = side
                .iter()
                .map(|slice| slice.latency_us[percentile] as f64)
                .collect();
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
        })
    };
    Some([score(0)?, score(1)?])
}
