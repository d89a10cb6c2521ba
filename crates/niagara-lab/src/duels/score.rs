//! What a duel's slices come to: the figures of a slice, the couples that it is one of, ln(B / A).

use std::borrow::Borrow;

use niagara_model::{DuelRecord, Ending, SliceRecord};
use niagara_stats::{Couple, DuelScore, InterferenceSlope, Weighing, duel_score};

use crate::plans::spec::{DuelOutcome, DuelSpec, Protocol};

/// ln(B / A) of every figure that a duel is scored by, all reduced in the same way.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Scores {
    pub throughput: Option<f64>,
    /// Throughput as it was measured, neither weighted nor adjusted.
    pub raw: Option<f64>,
    /// Server CPU time per transaction.
    pub cpu: Option<f64>,
    /// Median and 95th percentile of latency.
    pub latency: Option<[f64; 2]>,
    /// 99th percentile of latency.
    pub p99: Option<f64>,
}

impl Scores {
    /// `score` is the protocol's way from the slices' figure to ln(B / A); `None` without a finite answer.
    pub(crate) fn of(score: impl Fn(Figure) -> Option<f64>) -> Self {
        let score = |figure: Figure| score(figure).filter(|score| score.is_finite());
        let raw = score(throughput);
        Self {
            throughput: raw,
            raw,
            cpu: score(cpu_per_transaction),
            latency: score(median_latency)
                .zip(score(high_latency))
                .map(Into::into),
            p99: score(highest_latency),
        }
    }

    /// Of a duel's couples, weighted by what both sides were given, throughput adjusted for the difference.
    pub(crate) fn of_couples(
        slices: &[SliceRecord],
        known: InterferenceSlope,
        half_weight: f64,
    ) -> Self {
        let weighing = Weighing::of(&couples_of(slices, throughput), known, half_weight);
        let unadjusted = weighing.unadjusted();
        let scores = Self::of(|figure| {
            let score = duel_score(&couples_of(slices, figure), unadjusted)?;
            Some(score.score)
        });
        let judged = duel_score(&couples_of(slices, throughput), weighing);
        Self {
            throughput: judged.map(|judged| judged.score),
            raw: judged.map(|judged| judged.raw),
            ..scores
        }
    }

    /// The same as it was measured: all couples of one weight, nothing adjusted.
    fn as_measured(slices: &[SliceRecord]) -> Self {
        Self::of(|figure| {
            let score = duel_score(&couples_of(slices, figure), Weighing::NONE)?;
            Some(score.score)
        })
    }
}

/// What the CPU time that others took has to do with a duel.
#[derive(Debug)]
pub(crate) struct WithoutAllowance {
    /// How much more of the machine was left to B's slice than to A's, a difference of logarithms for each couple that counts.
    pub differences: Vec<f64>,
    /// What the duel comes to where nothing is allowed for it.
    scores: Scores,
}

impl WithoutAllowance {
    /// Of a duel with these slices.
    pub(crate) fn of(slices: &[SliceRecord]) -> Self {
        let couples = couples_of(slices, throughput);
        let counted = couples.iter().filter(|couple| couple.counts());
        Self {
            differences: counted.map(niagara_stats::taken_difference).collect(),
            scores: Scores::as_measured(slices),
        }
    }

    /// The record of that duel, by these scores.
    pub(crate) fn in_place_of(&self, record: &DuelRecord) -> DuelRecord {
        let scores = &self.scores;
        DuelRecord {
            score: record.score.and(scores.throughput),
            raw_score: record.raw_score.and(scores.raw),
            cpu_score: record.cpu_score.and(scores.cpu),
            latency_scores: record.latency_scores.and(scores.latency),
            p99_score: record.p99_score.and(scores.p99),
            ..record.clone()
        }
    }
}

/// Makes an outcome that came from elsewhere the outcome of `spec`: in its place in the study, and with the scores that its
/// slices have by what the study knows now. So they do not depend on when the duel was asked for.
pub(crate) fn score_in_place(outcome: &mut DuelOutcome, spec: &DuelSpec, protocol: Protocol) {
    outcome.record.seq = spec.seq;
    for slice in &mut outcome.slices {
        slice.duel = spec.seq;
    }
    let is_duel = protocol == Protocol::Duel && !spec.load.workload.is_job();
    if !is_duel || matches!(outcome.record.ending, Ending::Failed { .. }) {
        return;
    }
    let scores = Scores::of_couples(
        &outcome.slices,
        spec.interference_slope,
        spec.duel_settings.half_weight(),
    );
    outcome.record.score = scores.throughput;
    outcome.record.raw_score = scores.raw;
    outcome.record.cpu_score = scores.cpu;
    outcome.record.latency_scores = scores.latency;
    outcome.record.p99_score = scores.p99;
    outcome.record.ending = match scores.throughput {
        Some(_) => Ending::Scored,
        None => Ending::Disturbed,
    };
}

/// The couples of one duel as its score takes them, in terms of `figure`.
pub(crate) fn couples_of(slices: &[impl Borrow<SliceRecord>], figure: Figure) -> Vec<Couple> {
    let of_side = |side: u8| {
        slices
            .iter()
            .map(Borrow::borrow)
            .filter(move |slice: &&SliceRecord| slice.side == side)
    };
    of_side(0)
        .filter_map(|a| {
            let b = of_side(1).find(|b| b.couple == a.couple)?;
            let (in_a, in_b) = (figure(a), figure(b));
            // A side without a transaction has a throughput, 0, but no cost and no latency: nothing to compare.
            let missing = in_a.is_nan() || in_b.is_nan();
            let own = |slice: &SliceRecord| slice.server_cpu_seconds / slice.seconds.max(1e-9);
            Some(Couple {
                a: in_a,
                b: in_b,
                disturbed: [a.disturbed || missing, b.disturbed || missing],
                taken: [a.taken, b.taken],
                own: [own(a), own(b)],
            })
        })
        .collect()
}

/// What the slices of one more duel teach of throughput and CPU time taken.
pub(crate) fn learn_taken(slope: &mut InterferenceSlope, slices: &[impl Borrow<SliceRecord>]) {
    slope.learn(&couples_of(slices, throughput));
}

/// How much more of the machine was left to B's slices than to A's, on average over a duel: a difference of logarithms.
pub(crate) fn mean_difference(slices: &[impl Borrow<SliceRecord>]) -> Option<f64> {
    let couples = couples_of(slices, throughput);
    let sum: f64 = couples.iter().map(niagara_stats::taken_difference).sum();
    (!couples.is_empty()).then(|| sum / couples.len() as f64)
}

/// The score of one duel with its spread, from its slices alone.
pub(crate) fn score_alone(
    slices: &[impl Borrow<SliceRecord>],
    half_weight: f64,
) -> Option<DuelScore> {
    let couples = couples_of(slices, throughput);
    let weighing = Weighing::of(&couples, InterferenceSlope::default(), half_weight);
    duel_score(&couples, weighing)
}

/// Couples lost because the machine was disturbed during A's slice, during B's slice.
pub(crate) fn count_disturbed(couples: &[Couple]) -> [u32; 2] {
    [0, 1].map(|side| couples.iter().filter(|c| c.disturbed[side]).count() as u32)
}

/// The value of either run and how many windows it lost as outliers. Label-blind: one spread for both runs, so that no
/// side loses more windows for being itself.
pub(crate) fn run_values(runs: &[Vec<SliceRecord>; 2], figure: Figure) -> [(f64, usize); 2] {
    let values = runs.each_ref().map(|run| figures(run, figure));
    let spread = niagara_stats::window_sd(&values);
    values.map(|run| niagara_stats::run_value(&run, spread))
}

/// What a slice is reduced to; NaN where it says nothing.
pub(crate) type Figure = fn(&SliceRecord) -> f64;

/// Transactions per counted second.
pub(crate) fn throughput(slice: &SliceRecord) -> f64 {
    if slice.seconds > 0.0 {
        slice.transactions as f64 / slice.seconds
    } else {
        0.0
    }
}

/// Server CPU seconds per transaction, ramp and drain included.
fn cpu_per_transaction(slice: &SliceRecord) -> f64 {
    positive(slice.server_cpu_seconds / slice.transactions_whole as f64)
}

/// Median latency of the transactions, microseconds.
fn median_latency(slice: &SliceRecord) -> f64 {
    positive(slice.latency_us[0] as f64)
}

/// 95th percentile of the transactions' latency, microseconds.
fn high_latency(slice: &SliceRecord) -> f64 {
    positive(slice.latency_us[1] as f64)
}

/// 99th percentile of the transactions' latency, microseconds.
fn highest_latency(slice: &SliceRecord) -> f64 {
    positive(slice.latency_us[2] as f64)
}

fn positive(value: f64) -> f64 {
    if value > 0.0 && value.is_finite() {
        value
    } else {
        f64::NAN
    }
}

/// A figure of each slice that has it.
pub(crate) fn figures(slices: &[SliceRecord], figure: Figure) -> Vec<f64> {
    let all = slices.iter().map(figure);
    all.filter(|value| value.is_finite()).collect()
}

/// Slices for tests.
#[cfg(test)]
pub(super) mod made_up {
    use super::*;
    use std::collections::BTreeMap;

    /// Two slices of a couple: B needs `ratio` times the time and CPU that A does, on a machine that slows both by `drift`.
    pub(in crate::duels) fn couple(couple: u32, drift: f64, ratio: f64) -> [SliceRecord; 2] {
        [1.0, ratio].map(|of_side| {
            let slow = drift * of_side;
            SliceRecord {
                duel: 0,
                couple,
                side: u8::from(of_side != 1.0),
                first: of_side == 1.0,
                started_unix_ms: 0,
                seconds: 1.0,
                transactions: 1000,
                queries: 16_000,
                errors: BTreeMap::new(),
                latency_us: [10_000.0, 20_000.0, 30_000.0, 40_000.0, 50_000.0]
                    .map(|us: f64| (us * slow).round() as u64),
                server_cpu_seconds: 1.2 * slow,
                client_cpu_seconds: 0.4,
                transactions_whole: 1100,
                client_context_switches: 0,
                server_context_switches: 0,
                steal: 0.0,
                taken: 0.0,
                generator_busy: 0.0,
                disturbed: false,
                histogram: String::new(),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::made_up::couple;
    use super::*;

    fn scores(slices: &[SliceRecord]) -> Scores {
        Scores::of_couples(slices, InterferenceSlope::default(), 0.05)
    }

    fn near(found: Option<f64>, ratio: f64) {
        let found = found.expect("scored");
        assert!((found - ratio.ln()).abs() < 1e-3, "{}", found.exp());
    }

    #[test]
    fn cpu_and_latency_are_compared_within_couples_that_nothing_disturbed() {
        // The machine slows down by half over the duel, and B's share of its slow end is lost to disturbances: what is
        // left of A and of B are different times.
        let mut slices: Vec<SliceRecord> = (0..12)
            .flat_map(|n| couple(n, 1.0 + f64::from(n) * 0.05, 1.1))
            .collect();
        for slice in &mut slices {
            if slice.side == 1 && slice.couple >= 8 {
                slice.disturbed = true;
                slice.server_cpu_seconds *= 3.0;
            }
        }
        let scores = scores(&slices);
        near(scores.cpu, 1.1);
        let [p50, p95] = scores.latency.expect("scored");
        near(Some(p50), 1.1);
        near(Some(p95), 1.1);
    }

    #[test]
    fn one_wild_couple_hardly_moves_them() {
        let mut slices: Vec<SliceRecord> = (0..20).flat_map(|n| couple(n, 1.0, 1.1)).collect();
        slices[7].server_cpu_seconds *= 50.0;
        slices[7].latency_us[0] *= 50;
        let scores = scores(&slices);
        near(scores.cpu, 1.1);
        near(scores.latency.map(|[p50, _]| p50), 1.1);
    }

    #[test]
    fn a_side_that_did_nothing_in_a_couple_has_no_cost_in_it() {
        let mut slices: Vec<SliceRecord> = (0..8).flat_map(|n| couple(n, 1.0, 1.1)).collect();
        slices[3].transactions = 0;
        slices[3].transactions_whole = 0;
        slices[3].latency_us = [0; 5];
        let scores = scores(&slices);
        near(scores.cpu, 1.1);
        near(scores.latency.map(|[_, p95]| p95), 1.1);
        // More than half of them: no score, as with disturbances.
        for slice in &mut slices[..10] {
            slice.transactions_whole = 0;
        }
        assert_eq!(self::scores(&slices).cpu, None);
    }

    #[test]
    fn the_runs_of_a_pair_are_reduced_like_their_throughput() {
        let runs = [0, 1].map(|side| {
            (0..6)
                .flat_map(|n| couple(n, 1.0 + f64::from(n % 2) * 0.01, 1.1))
                .filter(|slice| slice.side == side)
                .collect::<Vec<_>>()
        });
        let mut wild = runs.clone();
        wild[1][2].server_cpu_seconds *= 2.0;
        for runs in [runs, wild] {
            let [(a, _), (b, _)] = run_values(&runs, cpu_per_transaction);
            let ratio = b / a;
            assert!((ratio - 1.1).abs() < 0.01, "{ratio}");
        }
    }
}
