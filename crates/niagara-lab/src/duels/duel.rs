//! The protocols by which two variants meet: duel (the default), pair, trimmed.

use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use niagara_load::StepTime;
use niagara_model::{DuelRecord, Ending, Phase, ReplayRecord, ResourceCounters, SliceRecord};
use niagara_server::TlsSession;
use niagara_stats::Couple;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::duels::arena::{Arena, unix_ms};
use crate::duels::job;
use crate::duels::score::{
    Figure, Scores, count_disturbed, couples_of, figures, run_values, throughput,
};
use crate::duels::seat::Trouble;
use crate::duels::workbench::Workbench;
use crate::plans::observer::Observer;
use crate::plans::spec::{DuelOutcome, DuelSpec, Protocol};

/// Runs of each variant in the protocol of 2008.
const TRIMMED_RUNS: u32 = 5;

/// Runs one duel (or pair, or trimmed series) to its end.
///
/// # Errors
/// Where the duel cannot be run here at all (disk full, …) or was stopped. A side that fails to
/// start or dies is no error: it is the outcome.
pub(crate) fn run_duel(
    bench: &Workbench,
    spec: &DuelSpec,
    protocol: Protocol,
    observer: &mut dyn Observer,
) -> Result<DuelOutcome> {
    let started = SystemTime::now();
    let clock = Instant::now();
    let mut load_seconds = 0.0;
    let fought = match protocol {
        _ if spec.load.workload.is_job() => job_pair(bench, spec, observer, &mut load_seconds),
        Protocol::Duel => duel(bench, spec, observer, &mut load_seconds),
        Protocol::Pair => pair(bench, spec, observer, &mut load_seconds),
        Protocol::Trimmed => trimmed(bench, spec, observer, &mut load_seconds),
        Protocol::Solo => solo(bench, spec, observer, &mut load_seconds),
    };
    let outcome = |fought: DuelData, ending| {
        Ok(fought.outcome(spec, ending, started, clock.elapsed(), load_seconds))
    };
    match fought {
        Ok(fought) => {
            let ending = if fought.counts || fought.scores.throughput.is_some() {
                Ending::Scored
            } else {
                Ending::Disturbed
            };
            outcome(fought, ending)
        }
        Err(Trouble::Side { side, reason }) => outcome(
            DuelData::default(),
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
struct DuelData {
    scores: Scores,
    /// It counts although nothing was compared.
    counts: bool,
    counters: Vec<(u8, ResourceCounters)>,
    replays: Vec<(u8, ReplayRecord)>,
    dropped: [u32; 2],
    slices: Vec<SliceRecord>,
    warm_up_curves: [Vec<f64>; 2],
    steps: [Vec<StepTime>; 2],
    encryption: [Option<TlsSession>; 2],
}

impl DuelData {
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
                score: self.scores.throughput,
                raw_score: self.scores.raw,
                cpu_score: self.scores.cpu,
                latency_scores: self.scores.latency,
                p99_score: self.scores.p99,
                couples,
                dropped: self.dropped,
                ending,
            },
            slices: self.slices,
            warm_up_curves: self.warm_up_curves,
            counters: self.counters,
            replays: self.replays,
            steps: self.steps,
            encryption: self.encryption,
        }
    }
}

fn duel(
    bench: &Workbench,
    spec: &DuelSpec,
    observer: &mut dyn Observer,
    load_seconds: &mut f64,
) -> Result<DuelData, Trouble> {
    let mut coin = ChaCha8Rng::seed_from_u64(spec.seed);
    let sides = places(spec.seed);
    let mut arena = Arena::open(bench, spec, &sides)?;
    let fought = (|| {
        let mut warm_up_curves = [Vec::new(), Vec::new()];
        for side in sides {
            warm_up_curves[side] = arena.warm_up(side)?;
        }
        if spec.phase == Phase::Sweep {
            arena.begin_accounts(0)?;
            arena.begin_accounts(1)?;
        }
        let mut slices = Vec::new();
        for couple in 0..spec.duel_settings.couples {
            bench.cancel().check()?;
            if !arena.has_more() {
                break;
            }
            let first = usize::from(coin.random::<bool>());
            let one = arena.slice(first, couple, true, observer)?;
            let other = arena.slice(1 - first, couple, false, observer)?;
            let (a, b) = if first == 0 {
                (one, other)
            } else {
                (other, one)
            };
            slices.push(a);
            slices.push(b);
        }
        arena.judge_again(&mut slices);
        let counters = arena.end_counters()?;
        arena.check_data()?;
        let replays = arena.replays()?;
        Ok(DuelData {
            replays,
            scores: Scores::of_couples(
                &slices,
                spec.interference_slope,
                spec.duel_settings.half_weight(),
            ),
            dropped: count_disturbed(&couples_of(&slices, throughput)),
            counters,
            slices,
            warm_up_curves,
            encryption: arena.encryption(),
            ..DuelData::default()
        })
    })();
    *load_seconds = arena.load_seconds();
    arena.close();
    fought
}

/// The sides in the order in which they are copied, started, read in and warmed up, by a fair coin: who comes first gets the
/// nearer memory and the huge pages that are left, and has the older page cache. Another coin than those of the couples.
fn places(seed: u64) -> [usize; 2] {
    let mut coin = ChaCha8Rng::seed_from_u64(seed);
    coin.set_stream(1);
    let first = usize::from(coin.random::<bool>());
    [first, 1 - first]
}

/// What a fresh run of one side brings back.
struct RunData {
    slices: Vec<SliceRecord>,
    warm_up_curve: Vec<f64>,
    encryption: Option<TlsSession>,
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
) -> Result<RunData, Trouble> {
    let mut arena = Arena::open(bench, spec, &[side])?;
    let ran = (|| {
        let warm_up_curve = arena.warm_up(side)?;
        let mut slices = Vec::new();
        for window in windows {
            bench.cancel().check()?;
            if !arena.has_more() {
                break;
            }
            slices.push(arena.slice(side, window, first, observer)?);
        }
        arena.judge_again(&mut slices);
        arena.check_data()?;
        let [a, b] = arena.encryption();
        Ok(RunData {
            slices,
            warm_up_curve,
            encryption: a.or(b),
        })
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
) -> Result<DuelData, Trouble> {
    let first = usize::from(ChaCha8Rng::seed_from_u64(spec.seed).random::<bool>());
    let mut slices = [Vec::new(), Vec::new()];
    let mut curves = [Vec::new(), Vec::new()];
    let mut encryption = [None, None];
    for (side, goes_first) in [(first, true), (1 - first, false)] {
        let windows = 0..spec.duel_settings.couples;
        let ran = run(
            bench,
            spec,
            side,
            windows,
            goes_first,
            observer,
            load_seconds,
        )?;
        slices[side] = ran.slices;
        curves[side] = ran.warm_up_curve;
        encryption[side] = ran.encryption;
    }
    let [(_, dropped_a), (_, dropped_b)] = run_values(&slices, throughput);
    Ok(DuelData {
        scores: Scores::of(|figure| {
            let [(a, _), (b, _)] = run_values(&slices, figure);
            // A run without any latency, none of its transactions having ended within it, says nothing of latencies.
            let is_known = !(a.is_nan() || b.is_nan());
            is_known.then(|| Couple::undisturbed(a, b).log_ratio())?
        }),
        dropped: [dropped_a as u32, dropped_b as u32],
        slices: slices.concat(),
        warm_up_curves: curves,
        encryption,
        ..DuelData::default()
    })
}

/// A job on either side, from a cold start each, order by a fair coin.
fn job_pair(
    bench: &Workbench,
    spec: &DuelSpec,
    observer: &mut dyn Observer,
    load_seconds: &mut f64,
) -> Result<DuelData, Trouble> {
    let first = usize::from(ChaCha8Rng::seed_from_u64(spec.seed).random::<bool>());
    let mut slices = Vec::new();
    let mut steps = [Vec::new(), Vec::new()];
    let mut encryption = [None, None];
    for (side, goes_first) in [(first, true), (1 - first, false)] {
        let done = job::run(bench, spec, side, goes_first, observer)?;
        *load_seconds += done.slice.seconds;
        slices.push(done.slice);
        steps[side] = done.steps;
        encryption[side] = done.encryption;
    }
    slices.sort_by_key(|slice| slice.side);
    let ratio = |figure: Figure| match slices.as_slice() {
        [a, b] => Some((figure(b) / figure(a)).ln()),
        _ => None,
    };
    let mut scores = Scores::of(ratio);
    // The time of one job is its throughput: there is no latency beside it.
    scores.latency = None;
    scores.p99 = None;
    Ok(DuelData {
        scores,
        slices,
        steps,
        encryption,
        ..DuelData::default()
    })
}

fn trimmed(
    bench: &Workbench,
    spec: &DuelSpec,
    observer: &mut dyn Observer,
    load_seconds: &mut f64,
) -> Result<DuelData, Trouble> {
    let mut slices = [Vec::new(), Vec::new()];
    let mut encryption = [None, None];
    for side in [0, 1] {
        for index in 0..TRIMMED_RUNS {
            let ran = run(
                bench,
                spec,
                side,
                index..index + 1,
                side == 0,
                observer,
                load_seconds,
            )?;
            slices[side].extend(ran.slices);
            encryption[side] = ran.encryption;
        }
    }
    Ok(DuelData {
        scores: Scores::of(|figure| {
            let [a, b] = slices
                .each_ref()
                .map(|runs| niagara_stats::trimmed(&figures(runs, figure)));
            Some((b / a).ln())
        }),
        dropped: [2, 2],
        slices: slices.concat(),
        encryption,
        ..DuelData::default()
    })
}

/// A alone: the windows of one fresh start. It counts when at most half of them were disturbed.
fn solo(
    bench: &Workbench,
    spec: &DuelSpec,
    observer: &mut dyn Observer,
    load_seconds: &mut f64,
) -> Result<DuelData, Trouble> {
    let mut arena = Arena::open(bench, spec, &[0])?;
    let fought = (|| {
        let curve = arena.warm_up(0)?;
        arena.begin_accounts(0)?;
        let mut slices = Vec::new();
        for window in 0..spec.duel_settings.couples {
            bench.cancel().check()?;
            if !arena.has_more() {
                break;
            }
            slices.push(arena.slice(0, window, true, observer)?);
        }
        arena.judge_again(&mut slices);
        let disturbed = slices.iter().filter(|slice| slice.disturbed).count();
        let counters = arena.end_counters()?;
        arena.check_data()?;
        Ok(DuelData {
            counts: 2 * disturbed <= slices.len(),
            dropped: [disturbed as u32, 0],
            counters,
            slices,
            warm_up_curves: [curve, Vec::new()],
            encryption: arena.encryption(),
            ..DuelData::default()
        })
    })();
    *load_seconds = arena.load_seconds();
    arena.close();
    fought
}
