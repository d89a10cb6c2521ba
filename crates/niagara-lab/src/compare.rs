//! `compare`: is B faster than A?

use anyhow::{Result, bail};
use niagara_stats::{ErrorBudget, Rule};
use niagara_store::{CompareSummary, Goal, Phase};

use crate::build_note::build_notes;
use crate::client_host::ClientHost;
use crate::history::History;
use crate::judged::{Question, ask, comparison};
use crate::observer::{Event, Observer};
use crate::rate::{RateChoice, find_rate};
use crate::spec::Protocol;
use crate::study::Study;
use crate::variant::Variant;
use crate::workbench::Workbench;

/// How a comparison is decided.
#[derive(Debug, Clone)]
pub struct CompareOptions {
    /// A, the baseline.
    pub a: Variant,
    /// B, the candidate.
    pub b: Variant,
    /// What decides.
    pub goal: Goal,
    /// The rate at which latencies are compared, where they are the goal.
    pub rate: Option<RateChoice>,
    /// How they meet.
    pub protocol: Protocol,
    /// Error probability, most duels.
    pub errors: ErrorBudget,
    /// Smallest worthwhile gain, futility, whether all duels are run.
    pub rule: Rule,
    /// Couples in a duel.
    pub couples: u32,
    /// Seed.
    pub seed: u64,
}

/// Compares B with A until a verdict or the budget's end.
///
/// # Errors
/// A variant that cannot be measured at all; results that cannot be written.
pub fn compare(
    bench: &Workbench,
    study: &mut Study,
    history: &History,
    options: &CompareOptions,
    observer: &mut dyn Observer,
) -> Result<CompareSummary> {
    let question = Question {
        phase: Phase::Compare,
        subject: "",
        goal: options.goal,
        a: &options.a,
        b: &options.b,
        errors: match options.protocol {
            // One series of five and five: there is nothing to look at twice.
            Protocol::Trimmed => ErrorBudget {
                max_duels: 1,
                ..options.errors
            },
            Protocol::Duel | Protocol::Pair | Protocol::Solo => options.errors,
        },
        rule: options.rule,
        couples: options.couples,
        seed: options.seed,
        reserve_seconds: 0.0,
        must_answer: true,
    };
    if let Some(choice) = options.rate {
        let rate = find_rate(bench, study, &options.a, choice, observer)?;
        study.set_rate(rate);
    }
    observer.see(Event::Stage {
        name: "compare",
        seconds: study.left_seconds(),
    });
    let answer = ask(bench, study, &question, observer);
    study.end_sitting()?;
    let answer = answer?;
    if let (Some(failure), true) = (&answer.failure, answer.duels.is_empty()) {
        bail!("{failure}");
    }
    let comparison = comparison(study, &question, &answer)?;
    // The history is of duels whose load came from this host.
    let from_here = bench.client().is_none();
    if options.protocol == Protocol::Duel && !study.is_resumed() && from_here {
        let slices = study.store().slices(None)?;
        history.add(bench.load(), &study.lengths(), &answer.duels, &slices)?;
    }
    let scores: Vec<f64> = answer.duels.iter().filter_map(|duel| duel.score).collect();
    let mut warnings = answer.warnings.clone();
    warnings.extend(answer.failure.clone());
    warnings.extend(comparison.caution.clone());
    warnings.extend(bench.client().map(ClientHost::remark));
    if question.errors.fewest_duels().is_none() && options.protocol != Protocol::Trimmed {
        warnings.push(format!(
            "{} duels can call no difference at α = {}: give more with --max-duels",
            question.errors.max_duels, question.errors.alpha
        ));
    }
    if options.protocol == Protocol::Trimmed {
        warnings.push(
            "protocol of 2008: one series of runs after the other, best and worst dropped, no \
             interval; on identical servers it shows a difference every time"
                .to_owned(),
        );
    }
    Ok(CompareSummary {
        about: None,
        protocol: options.protocol.to_string(),
        workload: bench.load().one_line(),
        threads: bench.load().threads,
        seed: options.seed,
        elapsed_seconds: study.used_seconds(),
        load_seconds: study.load_seconds(),
        complete: !answer.interrupted && answer.failure.is_none(),
        builds: build_notes(bench, &[("A", &options.a), ("B", &options.b)])?,
        comparison,
        sd_duel: niagara_stats::standard_deviation(&scores),
        warnings,
    })
}
