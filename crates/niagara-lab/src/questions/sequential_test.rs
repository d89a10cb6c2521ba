//! One question, asked of fresh duels until the sequential test answers it or the time is up.

use anyhow::Result;
use niagara_load::GENERATOR_BUSY;
use niagara_stats::{
    ErrorBudget, Judgement, LookPlan, Rule, detectable, heterogeneity, judge_beside,
    judge_final_on_nodes, judge_on_nodes, signed_rank, standard_deviation, taken_more_from,
};
use niagara_store::{
    Comparison, DuelRecord, Ending, Goal, OnNodes, Phase, ReplayRecord, ReplaySummary, SliceRecord,
};

use crate::duels::duel::mean_difference;
use crate::duels::workbench::Workbench;
use crate::questions::by_digest::replay_summary;
use crate::studies::checkpoint;
use crate::studies::observer::{Event, Observer};
use crate::studies::study::Study;
use crate::variants::variant::Variant;
use niagara_server::Cancelled;
use niagara_stats::derive_seed;

/// Failed duels in a row after which a comparison gives up.
const MAX_FAILURES: u32 = 2;
/// Looks are planned for this many times the duels that the time seems to pay for. Should it end sooner, the last look
/// spends what is left of the error probability; should it go further, none is left.
const HOPE: f64 = 1.2;
/// Duels from which the forecast of what the planned ones show is updated: with fewer their spread is hardly known.
const NOISE_DUELS: usize = 5;
/// Room for duels that take longer than planned.
pub(crate) const SPARE_TIME: f64 = 1.15;
/// Share of the budget by which the duels of a first look may exceed it: with fewer there is no interval.
pub(crate) const OVERRUN: f64 = 0.2;

/// A comparison to be decided.
pub(crate) struct SequentialTest<'a> {
    pub phase: Phase,
    pub subject: &'a str,
    pub goal: Goal,
    pub a: &'a Variant,
    pub b: &'a Variant,
    pub errors: ErrorBudget,
    pub rule: Rule,
    pub couples: u32,
    pub seed: u64,
    /// Seconds of the budget that are left to the questions behind this one.
    pub reserve_seconds: f64,
    /// Whether its first look is worth exceeding the budget a little: the study's answer hangs on it.
    pub must_answer: bool,
}

/// How far it came.
pub(crate) struct TestOutcome {
    pub judgement: Judgement,
    pub duels: Vec<DuelRecord>,
    /// Stopped on request before a verdict: the same question can be continued.
    pub interrupted: bool,
    /// Why a side could not be measured to the end, where that ended it.
    pub failure: Option<String>,
    /// What a reader must know about it.
    pub warnings: Vec<String>,
}

/// Runs duels until a verdict, the budget's end, the stop, or a side that fails again and again.
/// None of these is an error: the answer so far comes back.
pub(crate) fn run_test(
    bench: &Workbench,
    study: &mut Study,
    test: &SequentialTest<'_>,
    observer: &mut dyn Observer,
) -> Result<TestOutcome> {
    let mut running = RunningTest::new(look_plan(study, test)?, test.goal);
    let ended_key = checkpoint::ended(test.phase, test.subject);
    let ended = study.recall(&ended_key)?;
    loop {
        let scores = running.scores();
        let nodes = running.nodes(study);
        let judgement = judge_on_nodes(&scores, &nodes, &running.plan, &test.rule);
        if !scores.is_empty() {
            observer.see(Event::Judged(&judgement));
        }
        let decided = judgement.verdict.is_some() && !test.rule.to_the_end;
        if decided || scores.len() >= running.plan.max_duels() {
            return Ok(running.outcome(test));
        }
        if scores.len() == NOISE_DUELS && is_first(study) {
            let words = what_shows(&scores, running.plan.max_duels());
            words
                .iter()
                .for_each(|words| observer.see(Event::Note(words)));
        }
        let late = match ended {
            Some(attempts) => running.attempts >= attempts,
            None => !study.has_recalled() && running.is_late(study, test, scores.len(), observer),
        };
        if late {
            if ended.is_none() {
                study.keep(&ended_key, &running.attempts)?;
            }
            return Ok(running.out_of_time(test));
        }
        let seed = derive_seed(test.seed, test.subject, running.attempts);
        running.expect(bench, study, test);
        running.attempts += 1;
        let fought = study.duel(
            bench,
            test.phase,
            test.subject,
            [test.a.clone(), test.b.clone()],
            test.couples,
            seed,
            observer,
        );
        match fought {
            Ok(record) => running.take(record),
            Err(error) if error.is::<Cancelled>() => return Ok(running.interrupted(test)),
            Err(error) => return Err(error),
        }
        if running.failures_in_a_row >= MAX_FAILURES {
            return Ok(running.failed(test));
        }
    }
}

/// Whether the study has judged nothing before the duels of the test under way.
fn is_first(study: &Study) -> bool {
    let judging = |duel: &&DuelRecord| !matches!(duel.phase, Phase::Screen | Phase::Search);
    let judged = study.done().iter().filter(judging);
    judged.filter(|duel| duel.score.is_some()).count() == NOISE_DUELS
}

/// What the planned duels show by the spread of the first ones here: a plan made before them had to assume it.
fn what_shows(scores: &[f64], planned: usize) -> Option<String> {
    let sd = standard_deviation(scores)?;
    Some(format!(
        "by the first {} duels here, whose scores spread by {:.1} %: {planned} duels show a difference of {:.1} % or more, 4 times in 5",
        scores.len(),
        sd * 100.0,
        detectable(sd, planned) * 100.0
    ))
}

/// The looks of a test: planned once, for the duels that its time can pay for, and kept with the study.
fn look_plan(study: &Study, test: &SequentialTest<'_>) -> Result<LookPlan> {
    let key = checkpoint::looks(test.phase, test.subject);
    study.recall_or(&key, || {
        if test.rule.to_the_end || study.has_recalled() {
            // Of results from before looks were planned: as they were then.
            return Ok(test.errors.plan(test.errors.max_duels));
        }
        let seconds = study.left_seconds() - test.reserve_seconds;
        let affordable = HOPE * seconds / study.duel_seconds(test.couples);
        let fewest = test.errors.fewest_duels().unwrap_or(0);
        Ok(test
            .errors
            .plan((affordable.max(0.0) as usize).max(fewest).max(1)))
    })
}

/// The duels of a question so far.
struct RunningTest {
    plan: LookPlan,
    goal: Goal,
    duels: Vec<DuelRecord>,
    /// The machine of each of their scores, by number, as of the last look.
    last_nodes: Vec<usize>,
    attempts: u64,
    failures_in_a_row: u32,
    /// By side: how often it failed, and its last reason.
    failures: [(u32, String); 2],
    /// Duels for which the budget was exceeded.
    over_budget: usize,
}

impl RunningTest {
    fn new(plan: LookPlan, goal: Goal) -> Self {
        Self {
            plan,
            goal,
            duels: Vec::new(),
            last_nodes: Vec::new(),
            attempts: 0,
            failures_in_a_row: 0,
            failures: Default::default(),
            over_budget: 0,
        }
    }

    /// Whether the time is too short for another duel. What decides it are the clock and the number of duels, never
    /// their scores: so the last look may spend all that is left of the error probability.
    fn is_late(
        &mut self,
        study: &Study,
        test: &SequentialTest<'_>,
        scored: usize,
        observer: &mut dyn Observer,
    ) -> bool {
        let typical = study.duel_seconds(test.couples);
        let wanted = test.errors.fewest_duels().unwrap_or(0);
        let missing = wanted.saturating_sub(scored);
        // What comes behind the study's answer gives way to it.
        let reserve = if test.must_answer && missing > 0 {
            0.0
        } else {
            test.reserve_seconds
        };
        if study.left_seconds() - reserve > typical {
            return false;
        }
        let allowed = study.budget_seconds() * (1.0 + OVERRUN);
        if !test.must_answer
            || missing == 0
            || study.used_seconds() + missing as f64 * typical > allowed
        {
            return true;
        }
        if self.over_budget == 0 {
            observer.see(Event::Note(&format!(
                "the time is up: {missing} more duels, about {:.0} s, for a result with an interval",
                missing as f64 * typical
            )));
        }
        self.over_budget += 1;
        false
    }

    /// Says which duels are likely to be asked for next, to who runs several at a time.
    fn expect(&self, bench: &Workbench, study: &mut Study, test: &SequentialTest<'_>) {
        let left = self.plan.max_duels().saturating_sub(self.scores().len());
        let seeds = (self.attempts..)
            .take(left.min(study.ahead()))
            .map(|attempt| derive_seed(test.seed, test.subject, attempt));
        let duels = seeds.map(|seed| ([test.a.clone(), test.b.clone()], seed));
        study.expect(bench, test.phase, test.subject, test.couples, duels);
    }

    /// The machine of each score, by number; nothing where all are of this one.
    fn nodes(&mut self, study: &Study) -> Vec<usize> {
        let scored = self
            .duels
            .iter()
            .filter(|duel| self.goal.gain(duel).is_some());
        self.last_nodes = study.node_numbers(scored);
        self.last_nodes.clone()
    }

    fn scores(&self) -> Vec<f64> {
        let gains = self.duels.iter().filter_map(|duel| self.goal.gain(duel));
        gains.collect()
    }

    fn take(&mut self, record: DuelRecord) {
        match &record.ending {
            Ending::Failed { side, reason } => {
                self.failures_in_a_row += 1;
                let failures = &mut self.failures[usize::from(*side).min(1)];
                failures.0 += 1;
                failures.1.clone_from(reason);
            }
            Ending::Scored | Ending::Disturbed => {
                self.failures_in_a_row = 0;
                self.duels.push(record);
            }
        }
    }

    fn outcome(self, test: &SequentialTest<'_>) -> TestOutcome {
        let scores = self.scores();
        let mut warnings: Vec<String> = self
            .failures
            .iter()
            .zip([test.a, test.b])
            .filter(|((count, _), _)| *count > 0)
            .map(|((count, reason), variant)| {
                let reason = reason.lines().next().unwrap_or_default();
                format!(
                    "{} failed in {count} of its duels: {reason}",
                    variant.label()
                )
            })
            .collect();
        if self.over_budget > 0 {
            warnings.push(format!(
                "{} duels were run beyond the budget, for a result with an interval",
                self.over_budget
            ));
        }
        TestOutcome {
            judgement: judge_final_on_nodes(&scores, &self.last_nodes, &self.plan, &test.rule),
            duels: self.duels,
            interrupted: false,
            failure: None,
            warnings,
        }
    }

    fn out_of_time(self, test: &SequentialTest<'_>) -> TestOutcome {
        let mut outcome = self.outcome(test);
        if let Some(confidence) = outcome.judgement.confidence {
            let duels = outcome.judgement.duels;
            outcome.warnings.push(format!(
                "the time ended after {duels} duels, too few to call a difference at α = {}: the interval is the widest \
                 there is, of {:.0} % confidence; give a longer --budget",
                test.errors.alpha,
                confidence * 100.0
            ));
        } else if outcome.judgement.critical.is_none() {
            outcome.warnings.push(format!(
                "the time ended after {}: there is no interval; give a longer --budget, or shorter duels (--couples)",
                match outcome.judgement.duels {
                    0 => "no duel".to_owned(),
                    1 => "one duel".to_owned(),
                    duels => format!("{duels} duels"),
                }
            ));
        }
        outcome
    }

    fn interrupted(self, test: &SequentialTest<'_>) -> TestOutcome {
        let (scores, nodes) = (self.scores(), self.last_nodes.clone());
        let so_far = judge_on_nodes(&scores, &nodes, &self.plan, &test.rule);
        let mut outcome = self.outcome(test);
        // Stopped between looks: no verdict but one that stood already.
        outcome.judgement = so_far;
        outcome.interrupted = true;
        outcome
            .warnings
            .push("stopped on request before a verdict".to_owned());
        outcome
    }

    fn failed(self, test: &SequentialTest<'_>) -> TestOutcome {
        let last = self
            .failures
            .iter()
            .zip([test.a, test.b])
            .max_by_key(|((count, _), _)| *count)
            .map(|((_, reason), variant)| {
                format!("{} could not be measured: {reason}", variant.label())
            });
        let mut outcome = self.outcome(test);
        outcome.failure = last;
        outcome
    }
}

/// Seconds that a question of duels of this many couples takes until the first look that can tell a difference, with room
/// for duels that take longer than the last ones.
pub(crate) fn first_look_seconds(study: &Study, errors: ErrorBudget, couples: u32) -> f64 {
    let duels = errors.fewest_duels().unwrap_or(errors.max_duels);
    duels as f64 * study.duel_seconds(couples) * SPARE_TIME
}

/// Seconds for the next of `questions` that share `open_seconds`: an equal part, but at least what its first look takes.
/// With less there is no verdict on any of them; so the last ones go without where the time is too short for all.
pub(crate) fn share_seconds(open_seconds: f64, questions: usize, first_look_seconds: f64) -> f64 {
    let open = open_seconds.max(0.0);
    (open / questions.max(1) as f64)
        .max(first_look_seconds)
        .min(open)
}

/// The answer with everything that was recorded beside throughput.
pub(crate) fn comparison(
    study: &Study,
    test: &SequentialTest<'_>,
    outcome: &TestOutcome,
) -> Result<Comparison> {
    let slices = study.store().slices(None)?;
    let critical = outcome.judgement.critical;
    // Beside the verdict, with the critical value of its last look.
    let beside = |mut scores: Vec<f64>| {
        scores.truncate(outcome.judgement.duels);
        let (low, high) = signed_rank::interval(&scores, critical?);
        let centre = signed_rank::hodges_lehmann(&scores)?;
        Some(niagara_stats::Estimate::from_log(centre, low, high))
    };
    let scored = || outcome.duels.iter().filter(|duel| duel.score.is_some());
    let tps = [0, 1].map(|side| {
        let rates: Vec<f64> = slices
            .iter()
            .filter(|slice| {
                slice.side == side
                    && slice.seconds > 0.0
                    && scored().any(|duel| duel.seq == slice.duel)
            })
            .map(|slice| slice.transactions as f64 / slice.seconds)
            .collect();
        niagara_stats::median(&rates).unwrap_or(0.0)
    });
    // Duels that were repeated count here: what was dropped is told whole.
    let all: Vec<&DuelRecord> = study
        .done()
        .iter()
        .filter(|duel| duel.phase == test.phase && duel.subject == test.subject)
        .collect();
    let dropped = [0, 1].map(|side| all.iter().map(|duel| duel.dropped[side]).sum());
    Ok(Comparison {
        a: test.a.label(),
        b: test.b.label(),
        goal: test.goal,
        on_goal: (test.goal != Goal::Throughput).then(|| outcome.judgement.clone()),
        throughput: match test.goal {
            Goal::Throughput => outcome.judgement.clone(),
            _ => judge_beside(
                &scored().filter_map(|duel| duel.score).collect::<Vec<_>>(),
                &outcome.judgement,
                &test.rule,
            ),
        },
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
        latency_p99: beside(scored().filter_map(|duel| duel.p99_score).collect()),
        taken: of_sides(&slices, outcome, |slice| slice.taken),
        nodes: on_nodes(study, test, outcome),
        caution: limited_by_generator(&slices, test, outcome)
            .or_else(|| taken_from_one_side(&slices, outcome)),
        tps,
        dropped,
        couples: all.iter().map(|duel| duel.couples).sum(),
        replay: replayed(study, test, outcome)?,
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
    let numbers = study.node_numbers(scored());
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
    let names = study.node_names();
    Some(OnNodes {
        names: used
            .iter()
            .filter_map(|number| names.get(*number).cloned())
            .collect(),
        heterogeneity: heterogeneity(&scores, &places, test.errors.alpha),
    })
}

/// What a reader must know of sides that the load generator limited: their figures are the generator's, and a ratio with
/// them is at most a bound.
fn limited_by_generator(
    slices: &[SliceRecord],
    test: &SequentialTest<'_>,
    outcome: &TestOutcome,
) -> Option<String> {
    let busy = of_sides(slices, outcome, |slice| slice.generator_busy)?;
    let sides = ["A", "B"].into_iter().zip([test.a, test.b]).zip(busy);
    let limited: Vec<String> = sides
        .filter(|(_, busy)| *busy >= GENERATOR_BUSY)
        .map(|((side, variant), busy)| {
            format!(
                "{side} ({}): its busiest loop used {:.0} % of a CPU",
                variant.label(),
                busy * 100.0
            )
        })
        .collect();
    (!limited.is_empty()).then(|| {
        format!(
            "limited by the load generator, not by the server: {}; the server's own difference may be larger, so take the \
             figures for a bound (fewer --threads, or the load from another machine: --client-host)",
            limited.join("; ")
        )
    })
}

/// What a reader must know where others take more CPU time from one side than from the other, duel after duel: then that is
/// the variant's own doing, of which the adjustment takes a part away.
fn taken_from_one_side(slices: &[SliceRecord], outcome: &TestOutcome) -> Option<String> {
    let of_duels: Vec<f64> = outcome
        .duels
        .iter()
        .filter(|duel| duel.score.is_some())
        .filter_map(|duel| {
            let own: Vec<&SliceRecord> = slices.iter().filter(|s| s.duel == duel.seq).collect();
            mean_difference(&own)
        })
        .collect();
    let side = ["A", "B"][taken_more_from(&of_duels)?];
    Some(format!(
        "others took more CPU time from {side} than from the other side, in duel after duel: that is likely {side}'s own doing, and \
         throughput as measured, without allowing for it, is the figure to go by"
    ))
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
    fn time_that_is_too_short_for_all_is_enough_for_some() {
        assert_eq!(share_seconds(600.0, 6, 50.0), 100.0);
        assert_eq!(share_seconds(240.0, 6, 50.0), 50.0);
        assert_eq!(share_seconds(30.0, 6, 50.0), 30.0);
        assert_eq!(share_seconds(-5.0, 0, 50.0), 0.0);
    }
}
