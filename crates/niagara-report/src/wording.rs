//! The sentences that every form of the report shares: what was found, from what, how sure.

use std::cmp::Ordering;

use niagara_model::{
    Alternative, AlternativeReason, BuildCheck, BuildNote, CheckPart, CompareSummary, Comparison,
    FinalCheck, Finding, Goal, NotTried, Reason, Recommendation, Releases, Rung, SameAnswers,
    SeriesOfRuns, StudyHeader, Summary, Together, TuneSummary, Warning, units,
};
use niagara_settings::TlsSession;
use niagara_stats::{Estimate, Judgement, MIN_NODES, Verdict, detectable_at, median};
use schemars::JsonSchema;
use serde::Serialize;

use crate::all_time::{ALL_TIME, ALL_TIME_MEANS, cautions, withdrawn};
use crate::duel_lengths::DuelLengths;
use crate::handover::is_unchecked;
use crate::load::load_of;
use crate::number;

/// What a tuning came to.
pub(crate) fn tune_headline(tune: &TuneSummary) -> String {
    let server = &tune.header.server;
    let circumstances = tune.total.as_ref().map(circumstances).unwrap_or_default();
    let load = load_of(&tune.header.workload, tune.threads, tune.total.as_ref()) + &circumstances;
    let Some(total) = &tune.total else {
        return format!("{server}: {}", without_total(tune, &load));
    };
    if let Some(failure) = failed(total, &load) {
        return format!("{server}: {failure}");
    }
    let found = figure(total);
    let duels = fresh(&tune.header.protocol, total.judged().duels);
    if let Some(both) = withdrawn(total) {
        let levers = number::count(tune.rungs.len(), "change");
        return format!("{server} with {levers} is not called faster for {load}: {both} ({duels})");
    }
    match total.judged().verdict_by_all() {
        Some(Verdict::Undetected) if total.judged().confidence.is_some() => format!(
            "{server}: too few duels to call a gain of {} for {load}: {}",
            match tune.rungs.len() {
                1 => "the lever that looked helpful",
                _ => "the levers together",
            },
            with_its_confidence(total, &found, &duels)
        ),
        Some(Verdict::Faster) => {
            format!(
                "{server} is {} with {} for {load}: {found}, proven by {duels}",
                better(total),
                changes(tune)
            )
        }
        Some(Verdict::Slower) => {
            let worse = match total.goal {
                Goal::Throughput => "slower",
                _ => "worse",
            };
            format!(
                "{server} is {worse} with {} than without: {found} for {load} ({duels})",
                number::count(tune.rungs.len(), "change")
            )
        }
        Some(Verdict::NotWorthwhile) => format!(
            "{server}: {} not worthwhile for {load}: {}, {found} ({duels})",
            match tune.rungs.len() {
                1 => "the lever is",
                _ => "the levers together are",
            },
            at_best(total)
        ),
        Some(Verdict::Undetected) => format!(
            "{server}: a gain of {} was not detected for {load}: {found} ({duels}); {}",
            match tune.rungs.len() {
                1 => "the lever that looked helpful",
                _ => "the levers together",
            },
            unseen(&total.goal.figure(&total.judged().estimate))
        ),
        None if total.judged().estimate.is_of_nothing() => {
            format!("{server}: nothing is measured yet for {load}")
        }
        None => format!("{server}: not judged yet for {load}: {found} so far ({duels})"),
    }
}

/// The changes of a final variant: `the Unix socket and 3 changes`.
fn changes(tune: &TuneSummary) -> String {
    match &tune.recommendation {
        Some(Recommendation::UseSocket(_)) => "the Unix socket".to_owned(),
        Some(Recommendation::Install {
            changes,
            with_socket: true,
            ..
        }) => format!(
            "the Unix socket and {}",
            number::count(changes.len(), "change")
        ),
        _ => number::count(tune.rungs.len(), "change"),
    }
}

/// The title of a tuning that recommends nothing yet, in twelve words at most.
pub(crate) fn tune_title(tune: &TuneSummary) -> String {
    let server = &tune.header.server;
    let total = tune.total.as_ref();
    let found = total.filter(|total| !has_failed(total) && total.judged().duels > 0);
    match (found, tune.header.complete) {
        (Some(total), _) => {
            let levers = number::count(tune.rungs.len(), "lever");
            let verdict = proven_or_verdict(total);
            format!("{server}: {levers}, {}", in_a_title(total, &verdict))
        }
        (None, true) => format!("{server}: no gain was proven"),
        (None, false) => format!("{server}: stopped, nothing proven yet"),
    }
}

/// The title of a comparison, in twelve words at most where the names are words; `has_runs`: by the protocol of 2008.
pub(crate) fn compare_title(comparison: &Comparison, has_runs: bool) -> String {
    let Comparison { a, b, .. } = comparison;
    if has_runs {
        return format!("{b} against {a}: two means, no verdict");
    }
    let found = match has_failed(comparison) {
        true => "failed".to_owned(),
        false => in_a_title(comparison, &verdict_on_goal(comparison)),
    };
    format!("{b} against {a}: {found}")
}

/// `× 1.31 [1.28, 1.34], proven`; of other goals than throughput with their names.
fn in_a_title(comparison: &Comparison, verdict: &str) -> String {
    let figure = figure(comparison);
    match comparison.goal {
        Goal::Throughput => format!("{figure}, {verdict}"),
        goal => format!("{goal} {figure}, {verdict}"),
    }
}

/// What a tuning came to that has no total.
fn without_total(tune: &TuneSummary, load: &str) -> String {
    let levers = match (tune.rungs.len(), tune.header.complete) {
        (0, true) => return format!("no lever was shown to help {load}"),
        (0, false) => return format!("stopped before any lever was judged for {load}"),
        (n, _) => number::count(n, "lever"),
    };
    let by_search = tune.rungs.iter().filter(|rung| tune.is_added(rung));
    let helpful = match by_search.count() {
        0 => "looked helpful in the screening",
        _ => "looked helpful in the screening or in the search",
    };
    let why = match &tune.total_failure {
        Some(_) => "the final variant could not be measured",
        None => "it ended before the total was judged",
    };
    let proven = tune.rungs.iter().map(Standing::of);
    match proven.filter(|of| *of == Standing::Proven).count() {
        0 => format!("{levers} {helpful} for {load}, nothing is proven: {why}"),
        n => format!("{levers} {helpful} for {load}, {n} of them proven by fresh duels; {why}"),
    }
}

/// `× 1.40 [1.30, 1.50] at 88 % confidence (4 fresh duels)`: of too few duels for a verdict.
fn with_its_confidence(comparison: &Comparison, found: &str, duels: &str) -> String {
    format!("{} ({duels})", at_its_confidence(comparison, found))
}

/// An estimate in words, and of too few duels for what was asked the confidence that its interval has:
/// `× 1.40 [1.30, 1.50] at 88 % confidence`.
pub(crate) fn at_its_confidence(comparison: &Comparison, found: &str) -> String {
    match comparison.judged().confidence {
        Some(confidence) => format!("{found} at {:.0} % confidence", confidence * 100.0),
        None => found.to_owned(),
    }
}

/// What a comparison was judged to be, with its interval and, where that is not what was asked for, its confidence.
pub(crate) fn judged_in_words(comparison: &Comparison) -> String {
    at_its_confidence(comparison, &number::estimate(&comparison.judged().estimate))
}

/// `12 fresh duels`; by other protocols the pairs of runs, or the one series that the protocol of 2008 has.
pub(crate) fn fresh(protocol: &str, count: usize) -> String {
    match protocol {
        "pair" => number::count(count, "fresh pair"),
        "trimmed" => "one series of runs each".to_owned(),
        _ => number::count(count, "fresh duel"),
    }
}

/// What a comparison came to.
pub(crate) fn compare_headline(compare: &CompareSummary) -> String {
    let Comparison { a, b, .. } = &compare.comparison;
    let load = load_of(
        &compare.header.workload,
        compare.threads,
        Some(&compare.comparison),
    ) + &circumstances(&compare.comparison);
    if let Some(failure) = failed(&compare.comparison, &load) {
        return failure;
    }
    if compare.header.protocol == "trimmed" {
        return series_headline(compare, &load);
    }
    let protocol = &compare.header.protocol;
    let judgement = compare.comparison.judged();
    let (found, duels) = (
        figure(&compare.comparison),
        fresh(protocol, judgement.duels),
    );
    if let Some(both) = withdrawn(&compare.comparison) {
        return format!("{b} is not called faster than {a} for {load}: {both} ({duels})");
    }
    let estimate = &judgement.estimate;
    match judgement.verdict {
        Some(Verdict::Faster | Verdict::Slower) if judgement.was_called_earlier() => {
            let word = match (judgement.verdict, compare.comparison.goal) {
                (Some(Verdict::Slower), Goal::Throughput) => "slower",
                (Some(Verdict::Slower), _) => "worse",
                (_, Goal::Throughput) => "faster",
                _ => "better",
            };
            format!(
                "At an earlier look {b} was called {word} than {a} for {load}; all {} together \
                 leave it open: {found} ({duels})",
                units(protocol)
            )
        }
        Some(Verdict::Faster | Verdict::Slower) => format!(
            "{b} is {} {a} for {load}: {found} ({duels})",
            better_than(&compare.comparison)
        ),
        Some(Verdict::NotWorthwhile) => format!(
            "{b} is not worthwhile over {a} for {load}: {}, {found} ({duels})",
            at_best(&compare.comparison)
        ),
        Some(Verdict::Undetected) if judgement.confidence.is_some() => format!(
            "Too few {} to call a difference between {b} and {a} for {load}: {}",
            units(protocol),
            with_its_confidence(&compare.comparison, &found, &duels)
        ),
        Some(Verdict::Undetected) => format!(
            "A difference between {b} and {a} was not detected for {load}: {found} ({duels}); {}",
            unseen(&compare.comparison.goal.figure(estimate))
        ),
        None if estimate.is_of_nothing() => {
            format!("{b} and {a} are not compared yet for {load}: nothing is measured")
        }
        None => format!("{b} and {a} are not judged yet for {load}: {found} so far ({duels})"),
    }
}

/// What the protocol of 2008 came to: two means, which decide nothing.
fn series_headline(compare: &CompareSummary, load: &str) -> String {
    let Comparison { a, b, .. } = &compare.comparison;
    match compare.runs.as_ref().map(SeriesOfRuns::means) {
        Some([of_a, of_b]) => format!(
            "{b} did {} transactions/s and {a} {} for {load}: means of the middle three of five runs each, \
             without an interval and so without a verdict",
            number::rate(of_b),
            number::rate(of_a)
        ),
        None => {
            format!("{b} and {a} are not compared yet for {load}: the series of runs did not end")
        }
    }
}

/// What a comparison came to that ended because a side failed again and again, where it did and nothing was called before.
pub(crate) fn failed(comparison: &Comparison, load: &str) -> Option<String> {
    let failed = comparison.failed.as_ref()?;
    has_failed(comparison).then(|| {
        format!(
            "{} for {load} ({} counted)",
            failed.failure,
            number::count(comparison.judged().duels, "fresh duel")
        )
    })
}

/// Whether a side failed again and again before anything was called.
fn has_failed(comparison: &Comparison) -> bool {
    let verdict = comparison.judged().verdict;
    comparison.failed.is_some() && !matches!(verdict, Some(Verdict::Faster | Verdict::Slower))
}

/// How much better by the goal, in words: `19 % faster`, or `15 % less server CPU per transaction`.
pub(crate) fn better(comparison: &Comparison) -> String {
    let gain = &comparison.judged().estimate;
    if comparison.goal == Goal::Throughput {
        return faster(gain);
    }
    let figure = comparison.goal.figure(gain);
    let size = percent_of(&figure);
    let (less, lower) = if figure.ratio < 1.0 {
        ("less", "lower")
    } else {
        ("more", "higher")
    };
    match comparison.goal {
        Goal::Throughput | Goal::Cpu => {
            let cheaper = if less == "less" { "cheaper" } else { "dearer" };
            format!("{size} {cheaper} in server CPU time per transaction")
        }
        Goal::P95 => format!("{size} {lower} in its 95th percentile of latency"),
        Goal::P99 => format!("{size} {lower} in its 99th percentile of latency"),
    }
}

/// [`better`] with what joins it to the other side: `19 % faster than`, `3.4 times as fast as`.
pub(crate) fn better_than(comparison: &Comparison) -> String {
    let multiple =
        comparison.goal == Goal::Throughput && is_multiple(&comparison.judged().estimate);
    let joined = if multiple { "as" } else { "than" };
    format!("{} {joined}", better(comparison))
}

/// What B loses while it wins the goal, for the first line: every other figure whose interval lies on the wrong side.
pub fn losses(comparison: &Comparison) -> Option<String> {
    if !comparison.judged().shows_gain() {
        return None;
    }
    let mut lost = Vec::new();
    let throughput = &comparison.throughput.estimate;
    if comparison.goal != Goal::Throughput && throughput.high < 1.0 {
        lost.push(format!("throughput is {} lower", percent_of(throughput)));
    }
    let costs = [
        (
            Goal::Cpu,
            &comparison.cpu_per_transaction,
            "server CPU per transaction",
        ),
        (
            Goal::P95,
            &comparison.latency_p95,
            "the 95th percentile of latency",
        ),
        (
            Goal::P99,
            &comparison.latency_p99,
            "the 99th percentile of latency",
        ),
    ];
    for (goal, estimate, name) in costs {
        if let Some(estimate) = estimate
            && goal != comparison.goal
            && estimate.low > 1.0
        {
            lost.push(format!("{name} is {} higher", percent_of(estimate)));
        }
    }
    (!lost.is_empty()).then(|| format!("but {}", lost.join(", ")))
}

fn percent_of(estimate: &Estimate) -> String {
    number::gain_of(estimate)
        .trim_start_matches(['+', '−'])
        .to_owned()
}

/// The ratio from which percentages say less than multiples do.
const TIMES_FROM: f64 = 3.0;

fn is_multiple(estimate: &Estimate) -> bool {
    estimate.ratio >= TIMES_FROM
}

/// `19 % faster` for × 1.19, `3.0 % slower` for × 0.97, `3.4 times as fast` for × 3.4. The ratio with its interval stands
/// beside it.
fn faster(estimate: &Estimate) -> String {
    if is_multiple(estimate) {
        let digits = usize::from(estimate.ratio < 10.0);
        return format!("{:.digits$} times as fast", estimate.ratio);
    }
    let word = if estimate.ratio < 1.0 {
        "slower"
    } else {
        "faster"
    };
    format!("{} {word}", percent_of(estimate))
}

/// The figure that was judged, with its interval.
pub(crate) fn figure(comparison: &Comparison) -> String {
    number::estimate(&comparison.goal.figure(&comparison.judged().estimate))
}

/// What an undetected difference may still be.
fn unseen(e: &Estimate) -> String {
    if e.low > 0.0 && e.high.is_finite() {
        let [low, high] = number::gains([e.low, e.high]);
        format!("anything from {low} to {high} may have gone unseen")
    } else {
        "too few to put bounds on it".to_owned()
    }
}

/// What a reader must know about the protocol, where it is not the default.
fn protocol_note(protocol: &str) -> Option<Finding> {
    (protocol == "pair").then_some(Finding::PairProtocol)
}

/// `proven` is said only of what fresh duels have shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Shown by fresh duels that its screening never saw.
    Proven,
    /// Fresh duels were run and did not show it.
    NotConfirmed,
    /// Fresh duels showed the contrary.
    Refuted,
    /// Chosen by screening; no fresh duels.
    Screened,
}

impl Standing {
    /// Of one rung.
    pub fn of(rung: &Rung) -> Standing {
        match rung
            .claim
            .as_ref()
            .map(|claim| claim.judged().verdict_by_all())
        {
            Some(Some(Verdict::Faster)) => Standing::Proven,
            Some(Some(Verdict::Slower)) => Standing::Refuted,
            Some(Some(Verdict::NotWorthwhile | Verdict::Undetected)) => Standing::NotConfirmed,
            Some(None) | None => Standing::Screened,
        }
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Standing::Proven => "proven",
            Standing::NotConfirmed => "not confirmed",
            Standing::Refuted => "refuted",
            Standing::Screened => "screened",
        }
    }
}

/// The estimate that stands for a rung: its claim's once that is judged, else its screening's.
pub(crate) fn rung_estimate(rung: &Rung) -> &Estimate {
    match (&rung.claim, Standing::of(rung)) {
        (Some(claim), standing) if standing != Standing::Screened => &claim.judged().estimate,
        _ => &rung.screened.effect,
    }
}

/// `proven, n = 12`: of duels.
pub(crate) fn rung_standing(rung: &Rung) -> String {
    let standing = Standing::of(rung);
    let duels = match (&rung.claim, standing) {
        (Some(claim), s) if s != Standing::Screened => claim.judged().duels,
        _ => rung.screened.duels as usize,
    };
    format!("{}, n = {duels}", standing.word())
}

/// What is known of a rung in one line: `× 1.093 [1.081, 1.104], proven, n = 12`.
pub(crate) fn rung_effect(rung: &Rung) -> String {
    format!(
        "{}, {}",
        number::estimate(rung_estimate(rung)),
        rung_standing(rung)
    )
}

/// What fresh duels proved of a rung or of a combination: `× 1.093 [1.081, 1.104], proven, n = 12`.
pub fn claim_effect(claim: &Comparison) -> String {
    let judged = claim.judged();
    format!(
        "{}, proven, n = {}",
        number::estimate(&judged.estimate),
        judged.duels
    )
}

/// The verdict in a few words.
pub fn verdict(judgement: &Judgement) -> &'static str {
    match judgement.verdict {
        Some(Verdict::Faster) if judgement.was_called_earlier() => {
            "called faster at an earlier look"
        }
        Some(Verdict::Slower) if judgement.was_called_earlier() => {
            "called slower at an earlier look"
        }
        Some(Verdict::Faster) => "faster",
        Some(Verdict::Slower) => "slower",
        Some(Verdict::NotWorthwhile) => "not worthwhile",
        Some(Verdict::Undetected) if judgement.withdrawn => "not faster over all time",
        Some(Verdict::Undetected) => "undetected",
        None => "not judged yet",
    }
}

/// The most that B may be better by what was measured: `+0.3 % at most`; of what is better when lower `−0.3 % at best`.
fn at_best(comparison: &Comparison) -> String {
    let figure = comparison.goal.figure(&comparison.judged().estimate);
    let [low, high] = number::gains([figure.low, figure.high]);
    match comparison.goal {
        Goal::Throughput => format!("{high} at most"),
        Goal::Cpu | Goal::P95 | Goal::P99 => format!("{low} at best"),
    }
}

/// Why a variant is not recommended, and where its figure looks better than the recommended one's, what that is worth.
/// `own`: what its levers brought by duels of their own, multiplied.
pub(crate) fn not_recommended(
    other: &Alternative,
    recommended: Option<&Comparison>,
    own: Option<Estimate>,
) -> String {
    let gain = other.comparison.judged().estimate;
    let looks_better = recommended
        .map(|total| total.judged().estimate)
        .filter(|total| gain.ratio > total.ratio)
        // Where the tail is worse, the gain is not what decides.
        .filter(|_| other.because == AlternativeReason::UnprovenLevers);
    let chance = match looks_better.is_some_and(|total| may_be_chance(&gain, &total)) {
        true => "; its larger gain may be chance",
        false => "",
    };
    let own = own.map_or(String::new(), |product| {
        format!(
            "; its levers' own duels, multiplied, give {}",
            number::estimate(&product)
        )
    });
    let p95 = [
        other.comparison.latency_p95,
        recommended.and_then(|total| total.latency_p95),
    ];
    let tail = match p95 {
        [Some(other), Some(total)] if other.high < total.low => {
            ". Its 95th percentile is lower than the recommended variant's"
        }
        _ => "",
    };
    format!("{}{chance}{own}{tail}", other.because)
}

/// Whether one estimate may be larger than another, of other duels, by chance alone: the difference of logarithms is within the halves of
/// the intervals that face each other, added in quadrature. That two intervals overlap would say less.
fn may_be_chance(larger: &Estimate, smaller: &Estimate) -> bool {
    let between = |high: f64, low: f64| (high / low).ln();
    let reach = between(larger.ratio, larger.low).hypot(between(smaller.high, smaller.ratio));
    between(larger.ratio, smaller.ratio) <= reach
}

/// Which of two figures of a lever counts.
pub(crate) fn fresh_count(tune: &TuneSummary) -> String {
    let pairs = match tune.together.is_empty() {
        true => "",
        false => {
            " Those of a pair in \"Levers that act on each other\" hold without the other one."
        }
    };
    format!(
        "Where screened and fresh figures differ, go by the fresh ones, which took no part in the screening. The first lever was \
         tried alone, each other beside those kept or still undecided. The screening's figures are averages over the other levers' \
         settings.{pairs}"
    )
}

/// What the figures of rungs and totals are. Above × 1 is better, below it worse, whatever the goal.
pub(crate) fn judged_by(goal: Goal) -> &'static str {
    match goal {
        Goal::Throughput => "Throughput",
        Goal::Cpu => "By server CPU (above × 1 is better)",
        Goal::P95 => "By the 95th percentile (above × 1 is better)",
        Goal::P99 => "By the 99th percentile (above × 1 is better)",
    }
}

/// The verdict on a comparison's goal in a few words: what is no throughput is better or worse, not faster.
pub(crate) fn verdict_on_goal(comparison: &Comparison) -> String {
    let words = verdict(comparison.judged());
    match comparison.goal {
        Goal::Throughput => words.to_owned(),
        _ => words.replace("faster", "better").replace("slower", "worse"),
    }
}

/// `proven` of a gain that is shown, else [`verdict_on_goal`].
pub(crate) fn proven_or_verdict(comparison: &Comparison) -> String {
    match comparison.judged().shows_gain() {
        true => "proven".to_owned(),
        false => verdict_on_goal(comparison),
    }
}

/// The error probability of a judgement, and what its interval covers: `α = 0.05`.
pub(crate) fn error_probability(judgement: &Judgement) -> String {
    // Twice a one-sided claim's own error probability is what its interval leaves out at both ends.
    let alpha = match judgement.one_sided {
        true => judgement.alpha / 2.0,
        false => judgement.alpha,
    };
    match judgement.confidence {
        Some(confidence) => format!(
            "too few duels for α = {alpha}: the interval is of {:.0} % confidence",
            confidence * 100.0
        ),
        None if judgement.one_sided => {
            format!("α = {alpha}, one-sided: only the lower bound is promised")
        }
        None => format!("α = {alpha}"),
    }
}

/// A claim beside the one on throughput, with what a reader must know of it.
pub struct LesserClaim {
    /// What it is about.
    pub title: &'static str,
    /// B over A.
    pub estimate: Estimate,
    /// How to read it.
    pub note: &'static str,
}

/// What latency means where connections wait for their answers.
pub(crate) const CLOSED_LOAD: &str = "Each connection waits for its answer before its next statement. So the mean of latency follows from \
    throughput; its percentiles do not.";

/// The same, where it says something of a comparison's figures.
pub(crate) fn closed_load(comparison: &Comparison) -> Option<&'static str> {
    let is_closed = !comparison.goal.is_latency() && comparison.replay.is_none();
    (is_closed && comparison.latency_p50.is_some()).then_some(CLOSED_LOAD)
}

/// How the load of each side was encrypted, where it was.
pub(crate) fn encryption(comparison: &Comparison) -> Option<String> {
    let told = |sides: &str, session: &TlsSession| {
        format!("{sides}: {}, {}", session.version, session.cipher)
    };
    match &comparison.encryption {
        [None, None] => None,
        [Some(a), None] => Some(told("A", a)),
        [None, Some(b)] => Some(told("B", b)),
        [Some(a), Some(b)] if a == b => Some(told("A and B", a)),
        [Some(a), Some(b)] => Some(format!("{}; {}", told("A", a), told("B", b))),
    }
}

/// Title of the throughput without what was allowed for.
const UNCORRECTED: &str = "Uncorrected for CPU taken by others";

/// Titles of the tail of latency.
pub(crate) const TAILS: [&str; 2] = ["95th percentile of latency", "99th percentile of latency"];

/// Claims beside the one on throughput.
pub(crate) fn lesser_claims(comparison: &Comparison) -> Vec<LesserClaim> {
    let latency = if comparison.goal.is_latency() {
        "lower is better; at a fixed rate of arrivals"
    } else if comparison.replay.is_some() {
        "lower is better; of a capture: with --speed from when each transaction was due, else under load that waits for its answers"
    } else {
        "lower is better"
    };
    let taken = comparison.taken.unwrap_or([0.0; 2]);
    let as_measured = comparison.unadjusted.filter(|_| {
        comparison.tells_uncorrected() || taken.iter().any(|share| *share >= WORTH_TELLING)
    });
    let claim = |title, estimate: &Option<Estimate>, note| {
        let estimate = (*estimate)?;
        Some(LesserClaim {
            title,
            estimate,
            note,
        })
    };
    [
        claim(
            "Throughput",
            &(comparison.goal != Goal::Throughput).then_some(comparison.throughput.estimate),
            "beside the goal: not what was decided by",
        ),
        claim(
            ALL_TIME,
            &comparison.all_time.map(|found| found.estimate),
            ALL_TIME_MEANS,
        ),
        claim(
            UNCORRECTED,
            &as_measured,
            "the throughput as it was measured",
        ),
        claim(
            "Server CPU per transaction",
            &comparison.cpu_per_transaction,
            "lower is better; judged on its own; time spent waiting does not count",
        ),
        claim("Median latency", &comparison.latency_p50, latency),
        claim(TAILS[0], &comparison.latency_p95, latency),
        claim(TAILS[1], &comparison.latency_p99, latency),
    ]
    .into_iter()
    .flatten()
    .filter(|claim| claim.title != comparison.goal.title())
    .collect()
}

/// Couples, with a word on what they are.
pub(crate) fn couples(
    comparison: &Comparison,
    of_total: bool,
    lengths: Option<&DuelLengths>,
) -> String {
    let whose = match of_total {
        true => "of the total: ",
        false => "",
    };
    let load = lengths.map_or(String::new(), |lengths| {
        let seconds = 2.0 * comparison.couples as f64 * lengths.slice;
        format!("; {seconds:.0} s of load on both together")
    });
    format!(
        "{whose}{} (a couple: two neighbouring slices, one of each server){load}",
        dropped(comparison)
    )
}

/// Couples run, what was dropped, and what others took of the machine.
pub fn dropped(comparison: &Comparison) -> String {
    let [a, b] = comparison.dropped;
    let mut text = format!("{} measured", comparison.couples);
    text += &match a + b {
        0 => ", none dropped".to_owned(),
        _ => format!(", dropped: {a} for A's slice, {b} for B's"),
    };
    if let Some(taken) = comparison.taken {
        text += &format!("; others {}", took(taken));
    }
    text
}

/// `took 3 % of the CPUs from A, 4 % from B`.
fn took([a, b]: [f64; 2]) -> String {
    format!(
        "took {:.0} % of the CPUs from A, {:.0} % from B",
        a * 100.0,
        b * 100.0
    )
}

/// What the CPU time that others take does to what is judged.
pub(crate) const WIDENS: &str = "widens intervals";

/// What others took of the machine and what that does, where it is worth telling.
pub(crate) fn others_took(comparison: &Comparison, effect: &str) -> Option<String> {
    let taken = comparison.taken?;
    let is_much = taken.iter().any(|share| *share >= WORTH_TELLING);
    let effect = match comparison.unadjusted {
        Some(estimate) => format!("; uncorrected {}", number::estimate(&estimate)),
        None => format!(", which {effect}"),
    };
    is_much.then(|| took(taken) + &effect)
}

/// Share of the CPUs taken by others from which on it is told beside the figures: it widens intervals.
pub const WORTH_TELLING: f64 = 0.03;

/// At what rate of arrivals, where it was a fixed one, and on how many nodes, where there were some.
fn circumstances(comparison: &Comparison) -> String {
    let arriving = comparison.rate.map_or(String::new(), |rate| {
        format!(", {} transactions/s arriving", number::rate(rate))
    });
    let on = match comparison.nodes.as_ref().map(|nodes| nodes.names.len()) {
        None => String::new(),
        Some(1) => " on this machine".to_owned(),
        Some(count) => format!(" on these {count} nodes"),
    };
    arriving + &on
}

/// How it was measured, with how long the parts of a duel took where duels are stored.
pub(crate) fn protocol(name: &str, lengths: Option<&DuelLengths>) -> String {
    let how = match name {
        "duel" => "duels, with both servers alive and the load moving between them",
        "pair" => "pairs, one server after the other, each started afresh, in random order",
        "trimmed" => "of 2008: five runs of each, the best and the worst dropped",
        "solo" => "each variant alone, started afresh",
        other => other,
    };
    let Some(lengths) = lengths else {
        return how.to_owned();
    };
    let warm_up = format!(
        "after {} of warm-up for each server",
        number::seconds(lengths.warm_up)
    );
    match name {
        "duel" => format!(
            "{how}; {} of slices of {} in each, {warm_up}",
            number::count(lengths.couples, "couple"),
            number::seconds(lengths.slice)
        ),
        "pair" => format!(
            "{how}; {} of load on each, in windows of {}, {warm_up}",
            number::seconds(lengths.slice * lengths.couples as f64),
            number::seconds(lengths.slice)
        ),
        _ => how.to_owned(),
    }
}

/// What each machine says by itself, whether they differ, and what may be said of machines like these.
pub fn nodes(comparison: &Comparison) -> Option<String> {
    let nodes = comparison.nodes.as_ref()?;
    let Some(found) = &nodes.heterogeneity else {
        return Some(nodes.names.join(", "));
    };
    let each: Vec<String> = found
        .nodes
        .iter()
        .map(|node| {
            let name = nodes.names.get(node.node).map_or("?", String::as_str);
            let duels = number::count(node.duels, "duel");
            let figure = comparison.goal.figure(&node.estimate);
            format!("{name} {} ({duels})", number::estimate(&figure))
        })
        .collect();
    let like = match found.nodes.len() {
        count if count >= MIN_NODES => "on machines like these",
        _ => "allowing for nodes, too few to speak of machines like these",
    };
    Some(format!(
        "{}; between nodes the effect differs by τ = {:.1} % (I² = {}); {like}: {}",
        each.join(", "),
        100.0 * found.tau,
        number::percent(found.i_squared),
        number::estimate(&comparison.goal.figure(&found.over_machines))
    ))
}

/// By what levers of a screening are picked for proof.
pub(crate) const PICKED: &str = "Levers go to proof by the effect with earlier runs: this screening, weighed with what the lever brought elsewhere \
     (niagara levers --show ID). Required: two standard errors above 1, or one and a half where the lever helped elsewhere.";

/// What a reader must know of many intervals side by side: how many of them leave 1 out by chance, and why some are wider.
pub(crate) fn many_intervals(n: usize) -> Option<String> {
    (n >= 10).then(|| {
        format!(
            "Even if no lever had an effect, about {} of {n} intervals of 95 % would leave out × 1 by chance. An effect is a mean over \
             the other levers, some of which slow the server: the proof may show more. Intervals are wider where fewer duels bear on a \
             lever.",
            (n as f64 / 20.0).round()
        )
    })
}

/// When the negative control of a tuning is warned of, where its interval leaves out 1.
pub(crate) fn control_rule(tune: &TuneSummary) -> Option<String> {
    let effect = &tune.negative_control.as_ref()?.effect;
    (effect.low > 1.0 || effect.high < 1.0).then(|| {
        "The negative control's interval of 95 % leaves out 1 in one of 20 tunings by chance. The report warns where that of 99 % does."
            .to_owned()
    })
}

/// `1 h 58 min of 2 h asked`.
pub(crate) fn time_of_asked(header: &StudyHeader) -> String {
    let asked = header.budget_seconds.map(number::duration);
    let asked = asked.map_or(String::new(), |asked| format!(" of {asked} asked"));
    number::duration(header.elapsed_seconds) + &asked
}

/// `1 h 58 min of 2 h asked, 61 % of it under load`.
pub fn time(header: &StudyHeader) -> String {
    let (elapsed, load) = (header.elapsed_seconds, header.load_seconds);
    let share = if load > elapsed {
        // Nodes are under load at the same time.
        format!(
            ", {} under load on all nodes together",
            number::duration(load)
        )
    } else if elapsed > 0.0 {
        format!(", {} of it under load", number::percent(load / elapsed))
    } else {
        String::new()
    };
    time_of_asked(header) + &share
}

/// Levers that were not tried, by reason, the most common reason first.
pub(crate) fn by_reason<'a>(
    not_tried: impl Iterator<Item = &'a NotTried>,
) -> Vec<(&'a Reason, Vec<&'a NotTried>)> {
    let mut groups: Vec<(&Reason, Vec<&NotTried>)> = Vec::new();
    for lever in not_tried {
        match groups
            .iter_mut()
            .find(|(reason, _)| **reason == lever.reason)
        {
            Some((_, levers)) => levers.push(lever),
            None => groups.push((&lever.reason, vec![lever])),
        }
    }
    groups.sort_by_key(|(_, levers)| std::cmp::Reverse(levers.len()));
    groups
}

/// Levers that were not tried, counted by kind of reason, most first; each kind by its heading.
pub fn counted(not_tried: &[NotTried]) -> Vec<(&'static str, usize)> {
    let mut kinds: Vec<(&'static str, usize)> = Vec::new();
    for lever in not_tried {
        let heading = lever.reason.heading();
        match kinds.iter_mut().find(|(known, _)| *known == heading) {
            Some((_, count)) => *count += 1,
            None => kinds.push((heading, 1)),
        }
    }
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    kinds
}

/// What there is to know of built servers: whose, and what.
pub fn builds(builds: &[BuildNote]) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    for build in builds {
        lines.push((format!("build of {}", build.of), build.recipe.clone()));
        let releases = build.releases.as_ref();
        lines.extend(releases.map(|releases| ("release".to_owned(), release(releases))));
        if !build.trained_on.is_empty() {
            let how = if build.measured_on_training {
                "what was measured here is one of these: a workload that was held out may gain less"
            } else {
                "what was measured here is none of these, though they may have statements in common"
            };
            lines.push((
                "trained on".to_owned(),
                format!("{}; {how}", build.trained_on.join(", ")),
            ));
        }
        let check = &build.check;
        let check = match check {
            BuildCheck::Passed { .. } => format!("passed the check ({check})"),
            BuildCheck::Failed(_) => format!("FAILED the check: {check}"),
            BuildCheck::Unknown { .. } => format!("not checked: {check}"),
        };
        lines.push(("correctness".to_owned(), check));
    }
    lines
}

/// The release of a built server, and how the one beside it stands to it.
fn release(releases: &Releases) -> String {
    let built = &releases.built;
    let Some(beside) = &releases.beside else {
        return built.clone();
    };
    match releases.order() {
        Some(Ordering::Equal) => format!("{built}, the same as {beside} beside it"),
        Some(Ordering::Less) => format!("{built}, OLDER than {beside} beside it"),
        Some(Ordering::Greater) => {
            format!("{built}, newer than {beside} beside it: the ratio compares two releases, too")
        }
        None => format!("{built}; beside it {beside}"),
    }
}

/// Built servers that are older than the ones they were compared with.
fn older_builds(builds: &[BuildNote]) -> impl Iterator<Item = Finding> {
    builds.iter().filter_map(|build| {
        let releases = build.releases.clone()?;
        releases.newer_beside()?;
        Some(Finding::OlderBuild {
            of: build.of.clone(),
            releases,
        })
    })
}

/// Whether a tuning was stopped before any lever was judged.
pub(crate) fn is_stopped_in_screening(tune: &TuneSummary) -> bool {
    let mut warnings = tune.header.warnings.iter();
    warnings.any(|one| matches!(one.finding, Finding::ScreeningStopped))
}

/// Warnings stored with the summary, and those that follow from it: those that change what a reader does, worst first.
pub fn warnings(summary: &Summary) -> Vec<Warning> {
    let header = summary.header();
    let mut all: Vec<Warning> = older_builds(&header.builds).map(Warning::from).collect();
    all.extend(cautions(summary));
    let stored = &header.warnings;
    // What the queries need is the headline.
    let is_first = |warning: &&Warning| matches!(warning.finding, Finding::QueriesFirst { .. });
    all.extend(stored.iter().filter(|one| !is_first(one)).cloned());
    if let Some(replay) = summary
        .comparison()
        .and_then(|comparison| comparison.replay.as_ref())
    {
        all.extend(
            crate::replay::warnings(replay)
                .into_iter()
                .map(Warning::from),
        );
    }
    // What the headline and the tables of an upgrade say statement by statement.
    if matches!(summary, Summary::Compare(compare) if compare.upgrade.is_some()) {
        all.retain(|warning| !matches!(warning.finding, Finding::ReplayAnswers { .. }));
    }
    if is_unchecked(summary) {
        all.push(Finding::ProvenUnchecked.into());
    }
    let is_told =
        |warning: &Warning| matches!(warning.finding, Finding::Stopped | Finding::Unfinished);
    if !header.complete && !stored.iter().any(is_told) {
        all.push(Finding::Unfinished.into());
    }
    all.extend(protocol_note(&header.protocol).map(Warning::from));
    all.retain(|warning| !warning.finding.is_idle());
    // Stable: of those that weigh alike the first that was found comes first.
    all.sort_by_key(|warning| warning.finding.weight());
    all
}

/// How much one duel's figure varies, in words; of a tuning the screening's, in which both sides differ in many levers, and by `sd_total` the
/// total's.
pub(crate) fn noise(sd_duel: f64, screening: bool, sd_total: Option<f64>) -> String {
    let duel = match screening {
        true => "a screening duel",
        false => "one duel",
    };
    let total = match sd_total.filter(|_| screening) {
        Some(sd) => format!(", one of the total by {}", number::percent(sd)),
        None => String::new(),
    };
    format!(
        "{duel}'s figure varies by {} (standard deviation){total}",
        number::percent(sd_duel)
    )
}

/// From this multiple of a typical lever's figure on, the least exact lever's is told, too.
const CLEARLY_MORE: f64 = 1.2;

/// The least gain (a fraction) of a typical lever, and of the one that is known least exactly, that the screening picks with 80 % probability
/// by its own noise; nothing where no lever has a standard error.
fn picked(tune: &TuneSummary) -> Option<[f64; 2]> {
    let kept = tune.rungs.iter().map(|rung| &rung.screened);
    let errors = kept.chain(&tune.not_helped).map(|lever| lever.std_err);
    let errors: Vec<f64> = errors
        .filter(|error| error.is_finite() && *error > 0.0)
        .collect();
    let detectable = detectable_at(median(&errors)?).exp_m1();
    // A lever with several levels, or one that others exclude, is in fewer duels.
    let worst = detectable_at(errors.iter().copied().fold(0.0, f64::max)).exp_m1();
    Some([detectable, worst])
}

/// The same on one screen, for the first lines foretold it from other noise.
pub(crate) fn picked_in_short(tune: &TuneSummary) -> Option<String> {
    let [detectable, _] = picked(tune)?;
    Some(format!(
        "a lever worth {} reaches its proof with 80 % chance",
        number::percent(detectable)
    ))
}

/// What the screening sees of a lever by its own noise.
pub(crate) fn sensitivity(tune: &TuneSummary) -> Option<String> {
    let [detectable, worst] = picked(tune)?;
    let of_choices = match worst > CLEARLY_MORE * detectable {
        true => format!(
            " (of levers that exclude each other: {})",
            number::percent(worst)
        ),
        false => String::new(),
    };
    Some(format!(
        "by its own noise, with 80 % probability, the screening picks a lever of {} or more for the proof{of_choices}",
        number::percent(detectable)
    ))
}

/// What the intervals of a tuning cover with both their ends; nothing where no total was judged at α.
pub(crate) fn two_sided_confidence(tune: &TuneSummary) -> Option<String> {
    let total = tune.total.as_ref()?.judged();
    if total.confidence.is_some() {
        return None;
    }
    let claims = tune.rungs.iter().filter_map(|rung| rung.claim.as_ref());
    let least = claims.map(|claim| claim.judged().alpha).reduce(f64::max);
    let levers = least.map_or(String::new(), |alpha| {
        format!(
            ", {} % or more (levers by fresh duels)",
            number::confidence(alpha)
        )
    });
    // Calculated, it has the confidence of neither.
    let is_measured = tune.recommendation.as_ref().is_some_and(|found| {
        matches!(found, Recommendation::Install { over_socket: Some(left), .. } if left.duels.is_some())
    });
    let over_socket = match is_measured {
        true => "what remains over the socket, ",
        false => "",
    };
    Some(format!(
        "both ends hold with {} % (total, {over_socket}latency, CPU){levers}, 95 % (screened levers)",
        number::confidence(total.alpha)
    ))
}

/// A check of what is handed over, in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CheckInWords {
    /// What was checked: `same answers`.
    pub part: String,
    /// Whether it passed; `None` where it could not be done.
    pub passed: Option<bool>,
    /// What it counted, what it found, or why it could not be done.
    pub words: String,
}

impl From<&FinalCheck> for CheckInWords {
    fn from(check: &FinalCheck) -> Self {
        let detail = check.detail();
        Self {
            part: check.title(),
            passed: check.passed(),
            words: match check.part {
                // Not to be taken for the answers to a capture.
                CheckPart::Answers => format!("Niagara's own test: {detail}"),
                CheckPart::Crash | CheckPart::Suite => detail,
            },
        }
    }
}

impl From<&SameAnswers> for CheckInWords {
    fn from(answers: &SameAnswers) -> Self {
        let words = match (&answers.failure, answers.differ()) {
            (Some(failure), _) => failure.to_string(),
            (None, true) => {
                let told: Vec<String> = answers.differences().map(ToString::to_string).collect();
                told.join("; ")
            }
            (None, false) => {
                let alike = number::count(answers.by_content as usize, "statement");
                let by_rows = match answers.by_rows {
                    0 => String::new(),
                    some => format!(
                        ", {} more by errors and number of rows",
                        number::grouped(some as f64)
                    ),
                };
                format!("{alike} answered alike{by_rows}")
            }
        };
        let part = match answers.transactions < answers.of_transactions {
            true => format!(
                ", of the first {} of {} transactions",
                number::grouped(answers.transactions as f64),
                number::grouped(answers.of_transactions as f64)
            ),
            false => String::new(),
        };
        Self {
            part: "answers to your capture".to_owned(),
            passed: answers.failure.is_none().then(|| !answers.differ()),
            words: words + &part,
        }
    }
}

impl From<&BuildCheck> for CheckInWords {
    fn from(check: &BuildCheck) -> Self {
        Self {
            part: "the build".to_owned(),
            passed: match check {
                BuildCheck::Passed { .. } => Some(true),
                BuildCheck::Failed(_) => Some(false),
                BuildCheck::Unknown { .. } => None,
            },
            words: check.to_string(),
        }
    }
}

/// What a final variant was checked for, and what came of it; `None` where it was not checked.
pub(crate) fn checks_told(checks: &[CheckInWords]) -> Option<String> {
    let told = checks.iter().map(|check| {
        let result = match check.passed {
            Some(true) => "passed",
            Some(false) => "FAILED",
            None => "could not be done",
        };
        let words = check.words.lines().next().unwrap_or_default();
        format!("{}: {result} ({words})", check.part)
    });
    let told = told.collect::<Vec<_>>().join("; ");
    (!told.is_empty()).then(|| number::capital(&format!("{told}.")))
}

/// A text whose lines were broken for a file, as one paragraph; blank lines still part paragraphs.
pub(crate) fn paragraph(text: &str) -> String {
    let parts = text.split("\n\n").map(|part| {
        let words: Vec<&str> = part.split_whitespace().collect();
        words.join(" ")
    });
    parts.collect::<Vec<_>>().join("\n\n")
}

/// What two levers do together, in a sentence.
pub(crate) fn together(together: &Together, kept: &[Rung]) -> String {
    let [one, other] = [0, 1].map(|at| {
        let id = &together.levers[at];
        let is_kept = kept.iter().any(|rung| rung.screened.lever == *id);
        let became = if is_kept { "kept" } else { "not kept" };
        format!("{} ({id}, {became})", together.titles[at])
    });
    format!(
        "{one} with {other}: {} beyond what each does without the other",
        number::estimate(&together.effect)
    )
}
