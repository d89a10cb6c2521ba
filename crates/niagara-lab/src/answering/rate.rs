//! The rate of arrivals at which latencies are compared: given, or a share of what the start can do.

use anyhow::Result;
use niagara_error::bail;
use niagara_model::{Ending, Finding, Goal, Phase};

use crate::asking::rate_choice::RateChoice;
use crate::duels::duel::run_duel;
use crate::duels::score::throughput;
use crate::duels::workbench::Workbench;
use crate::plans::observer::{Event, Observer};
use crate::plans::spec::{DuelSettings, DuelSpec, Protocol};
use crate::studies::checkpoint;
use crate::studies::study::Study;
use crate::variants::variant::Variant;

/// Windows of closed load from which the start's throughput is told.
const WINDOWS: u32 = 5;
/// Counted seconds of each.
const WINDOW_SECONDS: f64 = 2.0;
/// Transactions of a slice without which no latency is compared: arrivals are by chance, and one slice in 150 then has none.
const FEWEST: f64 = 5.0;

/// A rate, and what a reader must know of percentiles at it.
pub(crate) struct FoundRate {
    /// Transactions per second.
    pub rate: f64,
    /// That slices have few of them.
    pub warning: Option<Finding>,
}

/// The rate at which `goal` is compared; a share is worked out once, from the start under closed load, and kept with the
/// study.
///
/// # Errors
/// The start cannot be measured, or does nothing; a slice has so few transactions that a percentile of them says nothing.
pub(crate) fn find_rate(
    bench: &Workbench,
    study: &Study,
    start: &Variant,
    choice: RateChoice,
    goal: Goal,
    observer: &mut dyn Observer,
) -> Result<FoundRate> {
    let rate = study.recall_or(&checkpoint::rate(), || match choice {
        RateChoice::PerSecond(rate) => Ok(rate),
        RateChoice::Share(share) => share_of_start(bench, study, start, share, observer),
    })?;
    let warning = few_in_a_slice(goal, rate, study.duel_settings().slice_seconds)?;
    Ok(FoundRate { rate, warning })
}

/// That the percentile of a slice is the latency of its slowest transaction, where there are so few.
///
/// # Errors
/// There are hardly any.
fn few_in_a_slice(goal: Goal, rate: f64, slice_seconds: f64) -> Result<Option<Finding>> {
    let least = match goal {
        Goal::P99 => 100.0,
        Goal::P95 => 20.0,
        Goal::Throughput | Goal::Cpu => return Ok(None),
    };
    let count = rate * slice_seconds;
    let enough = (least / rate).ceil();
    if count < FEWEST {
        bail!(
            "at a rate of {rate} a second a slice of {slice_seconds} s has {count:.1} transactions: {goal} of so few says nothing";
            remedy: "--slice {enough:.0}s, or a higher --rate"
        );
    }
    Ok((count < least).then_some(Finding::FewInSlice {
        transactions: count,
        goal,
        slice_seconds: enough,
    }))
}

/// A share of what the start does under closed load, in transactions per second.
fn share_of_start(
    bench: &Workbench,
    study: &Study,
    start: &Variant,
    share: f64,
    observer: &mut dyn Observer,
) -> Result<f64> {
    observer.see(Event::SettingUp(
        "finding the rate: what the start does under closed load",
    ));
    let spec = DuelSpec {
        seq: 0,
        phase: Phase::Sweep,
        subject: "rate".to_owned(),
        variants: [start.clone(), start.clone()],
        load: bench.load().clone(),
        duel_settings: DuelSettings {
            couples: WINDOWS,
            slice_seconds: WINDOW_SECONDS,
            ..study.duel_settings()
        },
        seed: study.seed(),
        interference_slope: Default::default(),
        rate: None,
    };
    let outcome = run_duel(bench, &spec, Protocol::Solo, observer)?;
    if let Ending::Failed { reason, .. } = outcome.record.ending {
        bail!(
            "the start could not be measured, so there is no rate to compare latencies at: {reason}"
        );
    }
    let slices = || outcome.slices.iter();
    // What others took of the machine meanwhile is nothing that the start cannot do.
    let undisturbed: Vec<f64> = slices()
        .filter(|slice| !slice.disturbed)
        .map(throughput)
        .collect();
    let capacity = niagara_stats::median(&undisturbed)
        .or_else(|| niagara_stats::median(&slices().map(throughput).collect::<Vec<_>>()))
        .unwrap_or(0.0);
    let rate = (capacity * share).round();
    if rate < 1.0 {
        bail!(
            "the start does {capacity:.1} transactions per second: too few to compare latencies at {:.0} % of it",
            share * 100.0;
            remedy: "give a rate (--rate 5) or a lighter workload"
        );
    }
    observer.see(Event::Note(&format!(
        "rate: {rate} transactions per second, {:.0} % of the {capacity:.0} that the start does under closed load",
        share * 100.0
    )));
    Ok(rate)
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::*;

    #[test]
    fn slices_with_few_transactions_are_told_and_those_with_hardly_any_refused() {
        assert_eq!(few_in_a_slice(Goal::P99, 500.0, 1.0).expect("enough"), None);
        assert_eq!(few_in_a_slice(Goal::P95, 30.0, 1.0).expect("enough"), None);
        assert_eq!(
            few_in_a_slice(Goal::Cpu, 1.0, 1.0).expect("no percentile"),
            None
        );
        let few = few_in_a_slice(Goal::P99, 30.0, 1.0).expect("some");
        let few = few.expect("fewer than a hundred").to_string();
        assert!(
            few.starts_with("a slice has 30 transactions") && few.contains("--slice 4s"),
            "{few}"
        );
        let none = few_in_a_slice(Goal::P95, 1.0, 1.0).expect_err("hardly any");
        assert!(
            none.explain().remedies[0].starts_with("--slice 20s"),
            "{none}"
        );
    }
}
