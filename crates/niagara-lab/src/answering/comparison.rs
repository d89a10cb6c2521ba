//! What a sequential test came to, with everything that was recorded beside the goal.

use anyhow::Result;
use niagara_load::GENERATOR_BUSY;
use niagara_model::{
    BusySide, Comparison, DuelRecord, FailedSide, Failure, Finding, Goal, OnNodes, ReplayRecord,
    ReplaySummary, SliceRecord, SlowSide, TakenEvidence, of_median_slices,
};
use niagara_stats::{
    Stability, heterogeneity, judge_beside, signed_rank, stability, taken_more_from, trend,
};

use crate::answering::by_digest::replay_summary;
use crate::answering::sequential_test::{SequentialTest, TestOutcome};
use crate::duels::score::{mean_difference, throughput};
use crate::plans::spec::Protocol;
use crate::studies::checkpoint;
use crate::studies::study::Study;
use crate::variants::variant::Variant;

/// The answer with everything that was recorded beside throughput.
pub(crate) fn comparison(
    study: &Study,
    test: &SequentialTest<'_>,
    outcome: &TestOutcome,
) -> Result<Comparison> {
    let slices = study.store().slices(None)?;
    // Beside the verdict, with the critical value of its last look.
    let beside = |mut scores: Vec<f64>| {
        scores.truncate(outcome.judgement.duels);
        let critical = outcome.judgement.critical_for(scores.len())?;
        let (low, high) = signed_rank::interval(&scores, critical);
        let centre = signed_rank::hodges_lehmann(&scores)?;
        Some(niagara_stats::Estimate::from_log(centre, low, high))
    };
    let scored = || outcome.duels.iter().filter(|duel| duel.score.is_some());
    let tps = of_median_slices(&scored().collect::<Vec<_>>(), &slices, throughput);
    // Duels that were repeated count here: what was dropped is told whole.
    let all: Vec<&DuelRecord> = study
        .done()
        .iter()
        .filter(|duel| duel.phase == test.phase && duel.subject == test.subject)
        .collect();
    let dropped = [0, 1].map(|side| all.iter().map(|duel| duel.dropped[side]).sum());
    let scores: Vec<f64> = scored().filter_map(|duel| duel.score).collect();
    Ok(Comparison {
        a: test.a.label(),
        b: test.b.label(),
        goal: test.goal,
        rate: study.rate(),
        on_goal: (test.goal != Goal::Throughput).then(|| outcome.judgement.clone()),
        throughput: match test.goal {
            Goal::Throughput => outcome.judgement.clone(),
            _ => judge_beside(&scores, &outcome.judgement, &test.rule),
        },
        all_time: outcome.all_time,
        unadjusted: beside(scored().filter_map(|duel| duel.raw_score).collect()),
        cpu_per_transaction: beside(scored().filter_map(|duel| duel.cpu_score).collect()),
        latency_p50: beside(
            scored()
                .filter_map(|duel| Some(duel.latency_scores?[0]))
                .collect(),
        ),
        latency_p95: beside(
            scored()
                .filter_map(|duel| Some(duel.latency_scores?[1]))
                .collect(),
        ),
        in_longer_slices: None,
        latency_p99: beside(scored().filter_map(|duel| duel.p99_score).collect()),
        taken: of_sides(&slices, outcome, |slice| slice.taken),
        nodes: on_nodes(study, test, outcome),
        failed: outcome.failed_side.map(|side| FailedSide {
            side,
            failure: outcome.failure.as_ref().map_or_else(
                || Failure {
                    variant: [test.a, test.b][side.min(1)].label(),
                    error: String::new(),
                },
                Failure::clone,
            ),
        }),
        as_measured: outcome.as_measured,
        caution: limited_by_generator(&slices, test, outcome)
            .or_else(|| {
                let begun_in = study.duel_settings().slice_seconds;
                let served = of_sides(&slices, outcome, |slice| {
                    slice.transactions as f64 / begun_in
                })?;
                behind_the_rate(study.rate(), served, [test.a, test.b].map(Variant::label))
            })
            .or_else(|| taken_from_one_side(&slices, outcome))
            .or_else(|| dropped_of_one_side(dropped))
            .or_else(|| drift(&scores)),
        tps: tps.unwrap_or([f64::NAN; 2]),
        stability: from_start_to_start(study.protocol(), &slices, test, outcome),
        dropped,
        couples: all.iter().map(|duel| duel.couples).sum(),
        replay: replayed(study, test, outcome)?,
        encryption: [
            study.recall(&checkpoint::encryption(&test.a.id()))?,
            study.recall(&checkpoint::encryption(&test.b.id()))?,
        ],
    })
}

/// Of a capture: what the scored duels say of its replay.
fn replayed(
    study: &Study,
    test: &SequentialTest<'_>,
    outcome: &TestOutcome,
) -> Result<Option<ReplaySummary>> {
    let records = study.store().replays()?;
    let of = |duel: &DuelRecord, wanted: u8| {
        let mut found = records
            .iter()
            .filter(|(seq, side, _)| (*seq, *side) == (duel.seq, wanted));
        found.next().map(|(_, _, record)| record)
    };
    let duels: Vec<[&ReplayRecord; 2]> = outcome
        .duels
        .iter()
        .filter_map(|duel| Some([of(duel, 0)?, of(duel, 1)?]))
        .collect();
    Ok(replay_summary(&duels, test.errors.alpha))
}

/// The machines that the duels were run on, where those are others than this one.
fn on_nodes(study: &Study, test: &SequentialTest<'_>, outcome: &TestOutcome) -> Option<OnNodes> {
    let scored = || {
        let judged = outcome.judgement.duels;
        let duels = outcome.duels.iter();
        duels
            .filter(|duel| test.goal.gain(duel).is_some())
            .take(judged)
    };
    let numbers = study.nodes().numbers(scored());
    if numbers.is_empty() {
        return None;
    }
    let scores: Vec<f64> = scored().filter_map(|duel| test.goal.gain(duel)).collect();
    // Numbers are given in the order of first appearance within the study; those that count here come first to last.
    let mut used = numbers.clone();
    used.sort_unstable();
    used.dedup();
    let place = |number: &usize| used.binary_search(number).unwrap_or(0);
    let places: Vec<usize> = numbers.iter().map(place).collect();
    let names = study.nodes().names();
    Some(OnNodes {
        names: used
            .iter()
            .filter_map(|number| names.get(*number).cloned())
            .collect(),
        heterogeneity: heterogeneity(&scores, &places, test.errors.alpha),
    })
}

/// A side that serves less than this share of what arrives does not keep up: arrivals are by chance, and few of them may be fewer
/// than the rate.
const KEEPS_UP: f64 = 0.9;

/// What a reader must know of sides that do not serve all that arrives: their queue grows for as long as a slice lasts, and what
/// waits at its end counts nowhere. `served`: transactions that were begun and answered, for each second in which they may begin.
fn behind_the_rate(rate: Option<f64>, served: [f64; 2], labels: [String; 2]) -> Option<Finding> {
    let rate = rate?;
    let sides: Vec<SlowSide> = [0, 1]
        .into_iter()
        .zip(labels)
        .zip(served)
        .filter(|(_, served)| *served > 0.0 && *served < KEEPS_UP * rate)
        .map(|((side, variant), served)| SlowSide {
            side,
            variant,
            served,
        })
        .collect();
    (!sides.is_empty()).then_some(Finding::BehindTheRate { rate, sides })
}

/// What a reader must know of sides that the load generator limited: their figures are the generator's, and a ratio with
/// them is at most a bound.
fn limited_by_generator(
    slices: &[SliceRecord],
    test: &SequentialTest<'_>,
    outcome: &TestOutcome,
) -> Option<Finding> {
    let busy = of_sides(slices, outcome, |slice| slice.generator_busy)?;
    let sides = [0, 1].into_iter().zip([test.a, test.b]).zip(busy);
    let sides: Vec<BusySide> = sides
        .filter(|(_, busy)| *busy >= GENERATOR_BUSY)
        .map(|((side, variant), busy)| BusySide {
            side,
            variant: variant.label(),
            busy,
        })
        .collect();
    (!sides.is_empty()).then_some(Finding::GeneratorLimits { sides })
}

/// What a reader must know where couples were dropped because of one side's slices rather than the other's, more often than chance does
/// it (3.29 standard deviations of a fair coin's tosses, one in a thousand): then that is likely the variant's own doing, and no part of
/// the figures.
fn dropped_of_one_side(dropped: [u32; 2]) -> Option<Finding> {
    let [a, b] = dropped.map(f64::from);
    let side = usize::from(b > a);
    ((a - b).abs() > 3.29 * (a + b).sqrt()).then(|| Finding::DroppedOneSide {
        side,
        dropped: dropped[side],
        all: dropped.iter().sum(),
    })
}

/// Trends below this p value are reported, by chance in one of a hundred comparisons without a trend.
const DRIFT: f64 = 0.01;

/// What a reader must know where later duels scored higher, or lower, than earlier ones. An interval assumes an effect that stays the same.
fn drift(scores: &[f64]) -> Option<Finding> {
    let found = trend(scores).filter(|found| found.p < DRIFT)?;
    Some(Finding::ScoresDrift {
        rises: found.rises,
        one_in: 1.0 / found.p,
    })
}

/// What a reader must know where others take more CPU time from one side than from the other: then that is the variant's own doing,
/// and nothing is allowed for it.
fn taken_from_one_side(slices: &[SliceRecord], outcome: &TestOutcome) -> Option<Finding> {
    let of_duels: Vec<f64> = outcome
        .duels
        .iter()
        .filter(|duel| duel.score.is_some())
        .filter_map(|duel| {
            let own: Vec<&SliceRecord> = slices.iter().filter(|s| s.duel == duel.seq).collect();
            mean_difference(&own)
        })
        .collect();
    let more = taken_more_from(&of_duels);
    match (outcome.as_measured, more) {
        (Some(side), Some(more)) if side == more => Some(Finding::TakenFromOneSide {
            side,
            evidence: TakenEvidence::DuelAfterDuel,
        }),
        (Some(side), _) => Some(Finding::TakenFromOneSide {
            side,
            evidence: TakenEvidence::AllSlices,
        }),
        (None, _) => None,
    }
}

/// How far the fresh starts of either side lie apart, by what its undisturbed slices did in the middle. Of duels alone: by the
/// other protocols the two sides of a pair are not alive together, and a series of runs is no start.
fn from_start_to_start(
    protocol: Protocol,
    slices: &[SliceRecord],
    test: &SequentialTest<'_>,
    outcome: &TestOutcome,
) -> Option<Stability> {
    if protocol != Protocol::Duel {
        return None;
    }
    let level = |duel: &DuelRecord, side: u8| {
        let own = slices
            .iter()
            .filter(|slice| (slice.duel, slice.side) == (duel.seq, side) && !slice.disturbed);
        niagara_stats::median(&own.map(throughput).collect::<Vec<_>>())
    };
    let duels = outcome.duels.iter().filter(|duel| duel.score.is_some());
    let pairs: Vec<[f64; 2]> = duels
        .filter_map(|duel| Some([level(duel, 0)?, level(duel, 1)?]))
        .collect();
    stability(&pairs, test.errors.alpha)
}

/// The mean of a figure over A's and over B's slices of the duels that count.
fn of_sides(
    slices: &[SliceRecord],
    outcome: &TestOutcome,
    figure: impl Fn(&SliceRecord) -> f64,
) -> Option<[f64; 2]> {
    let of = |side: u8| {
        let of_side = slices.iter().filter(|slice| {
            let mut counted = outcome.duels.iter().filter(|duel| duel.score.is_some());
            slice.side == side && counted.any(|duel| duel.seq == slice.duel)
        });
        let figures: Vec<f64> = of_side.map(&figure).collect();
        let count = figures.len() as f64;
        (count > 0.0).then(|| figures.iter().sum::<f64>() / count)
    };
    Some([of(0)?, of(1)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_that_rise_with_time_are_told() {
        let rising = [0.295, 0.307, 0.308, 0.314, 0.325, 0.317, 0.319, 0.323];
        let told = drift(&rising).expect("they rise");
        assert_eq!(
            told.to_string(),
            "later duels scored higher than earlier ones, as by chance in about one of 182 runs: the machine or the servers changed \
             meanwhile, and the brackets may be too narrow for an effect that drifts"
        );
        let falling: Vec<f64> = (0..12).map(|place| -f64::from(place)).collect();
        let told = drift(&falling).expect("they fall").to_string();
        assert!(
            told.starts_with("later duels scored lower") && told.contains("one of 10000 runs"),
            "{told}"
        );
        assert_eq!(drift(&[0.31, 0.30, 0.32, 0.305, 0.315, 0.31]), None);
    }

    #[test]
    fn a_side_that_does_not_keep_up_with_what_arrives_is_told() {
        let told = |rate, tps| behind_the_rate(rate, tps, ["base".into(), "base + slow".into()]);
        assert_eq!(told(None, [900.0, 400.0]), None);
        assert_eq!(
            told(Some(1000.0), [990.0, 960.0]),
            None,
            "arrivals are by chance"
        );
        let text = told(Some(1000.0), [990.0, 700.0])
            .expect("B does not keep up")
            .to_string();
        assert!(
            text.starts_with(
                "of 1000 transactions a second that arrived B (base + slow) served 700:"
            ),
            "{text}"
        );
        let both = told(Some(2000.0), [990.0, 700.0])
            .expect("neither does")
            .to_string();
        assert!(
            both.contains("A (base) served 990, B (base + slow) served 700"),
            "{both}"
        );
    }
}
