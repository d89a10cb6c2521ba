//! One question, asked of fresh duels until the sequential test answers it or the time is up.

use anyhow::Result;
use niagara_load::GENERATOR_BUSY;
use niagara_stats::{
    ErrorBudget, Judgement, LookPlan, Rule, interval_once, judge, judge_beside, judge_final,
    signed_rank,
};
use niagara_store::{
    Comparison, DuelRecord, Ending, Goal, Phase, ReplayRecord, ReplaySummary, SliceRecord,
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
/// Looks are planned for so many times the duels that the time seems to pay for. Should it end sooner, the last look
/// spends what is left of the error probability; should it go further, none is left.
const HOPE: f64 = 1.2;
/// Room for duels that take longer than planned.
pub(crate) const SPARE_TIME: f64 = 1.15;
/// Share of the budget by which the duels of a first look may exceed it: with fewer there is no interval.
pub(crate) const OVERRUN: f64 = 0.2;

/// A comparison to be decided.
pub(crate) struct Question<'a> {
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
pub(crate) struct Answer {
    pub judgement: Judgement,
    pub duels: Vec<DuelRecord>,
    /// Stopped on request before a verdict: the same question can be gone on with.
    pub interrupted: bool,
    /// Why a side could not be measured to the end, where that ended it.
    pub failure: Option<String>,
    /// What a reader must know about it.
    pub warnings: Vec<String>,
}

/// Runs duels until a verdict, the budget's end, the stop, or a side that fails again and again.
/// None of these is an error: the answer so far comes back.
pub(crate) fn ask(
    bench: &Workbench,
    study: &mut Study,
    question: &Question<'_>,
    observer: &mut dyn Observer,
) -> Result<Answer> {
    let mut inquiry = Inquiry::new(look_plan(study, question)?, question.goal);
    let ended_key = checkpoint::ended(question.phase, question.subject);
    let ended = study.recall(&ended_key)?;
    loop {
        let scores = inquiry.scores();
        let judgement = judge(&scores, &inquiry.plan, &question.rule);
        if !scores.is_empty() {
            observer.see(Event::Judged(&judgement));
        }
        let decided = judgement.verdict.is_some() && !question.rule.to_the_end;
        if decided || scores.len() >= inquiry.plan.max_duels() {
            return Ok(inquiry.answer(question));
        }
        let late = match ended {
            Some(attempts) => inquiry.attempts >= attempts,
            None => {
                !study.has_recalled() && inquiry.is_late(study, question, scores.len(), observer)
            }
        };
        if late {
            if ended.is_none() {
                study.keep(&ended_key, &inquiry.attempts)?;
            }
            return Ok(inquiry.out_of_time(question));
        }
        let seed = derive_seed(question.seed, question.subject, inquiry.attempts);
        inquiry.attempts += 1;
        let fought = study.duel(
            bench,
            question.phase,
            question.subject,
            [question.a.clone(), question.b.clone()],
            question.couples,
            seed,
            observer,
        );
        match fought {
            Ok(record) => inquiry.take(record),
            Err(error) if error.is::<Cancelled>() => return Ok(inquiry.interrupted(question)),
            Err(error) => return Err(error),
        }
        if inquiry.failures_in_a_row >= MAX_FAILURES {
            return Ok(inquiry.failed(question));
        }
    }
}

/// The looks at a question: planned once, for the duels that its time can pay for, and kept with the study.
fn look_plan(study: &Study, question: &Question<'_>) -> Result<LookPlan> {
    let key = checkpoint::looks(question.phase, question.subject);
    study.recall_or(&key, || {
        if question.rule.to_the_end || study.has_recalled() {
            // Of results from before looks were planned: as they were then.
            return Ok(question.errors.plan(question.errors.max_duels));
        }
        let seconds = study.left_seconds() - question.reserve_seconds;
        let affordable = HOPE * seconds / study.duel_seconds(question.couples);
        let fewest = question.errors.fewest_duels().unwrap_or(0);
        Ok(question
            .errors
            .plan((affordable.max(0.0) as usize).max(fewest).max(1)))
    })
}

/// The duels of a question so far.
struct Inquiry {
    plan: LookPlan,
    goal: Goal,
    duels: Vec<DuelRecord>,
    attempts: u64,
    failures_in_a_row: u32,
    /// By side: how often it failed, and its last reason.
    failures: [(u32, String); 2],
    /// Duels for which the budget was exceeded.
    over_budget: usize,
}

impl Inquiry {
    fn new(plan: LookPlan, goal: Goal) -> Self {
        Self {
            plan,
            goal,
            duels: Vec::new(),
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
        question: &Question<'_>,
        scored: usize,
        observer: &mut dyn Observer,
    ) -> bool {
        let typical = study.duel_seconds(question.couples);
        let wanted = question.errors.fewest_duels().unwrap_or(0);
        let missing = wanted.saturating_sub(scored);
        // What comes behind the study's answer gives way to it.
        let reserve = if question.must_answer && missing > 0 {
            0.0
        } else {
            question.reserve_seconds
        };
        if study.left_seconds() - reserve > typical {
            return false;
        }
        let allowed = study.budget_seconds() * (1.0 + OVERRUN);
        if !question.must_answer
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

    fn answer(self, question: &Question<'_>) -> Answer {
        let scores = self.scores();
        let mut warnings: Vec<String> = self
            .failures
            .iter()
            .zip([question.a, question.b])
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
        Answer {
            judgement: judge_final(&scores, &self.plan, &question.rule),
            duels: self.duels,
            interrupted: false,
            failure: None,
            warnings,
        }
    }

    fn out_of_time(self, question: &Question<'_>) -> Answer {
        let mut answer = self.answer(question);
        if let Some(confidence) = answer.judgement.confidence {
            let duels = answer.judgement.duels;
            answer.warnings.push(format!(
                "the time ended after {duels} duels, too few to call a difference at α = {}: the interval is the widest \
                 there is, of {:.0} % confidence; give a longer --budget",
                question.errors.alpha,
                confidence * 100.0
            ));
        } else if answer.judgement.critical.is_none() {
            answer.warnings.push(format!(
                "the time ended after {}: there is no interval; give a longer --budget, or shorter duels (--couples)",
                match answer.judgement.duels {
                    0 => "no duel".to_owned(),
                    1 => "one duel".to_owned(),
                    duels => format!("{duels} duels"),
                }
            ));
        }
        answer
    }

    fn interrupted(self, question: &Question<'_>) -> Answer {
        let so_far = judge(&self.scores(), &self.plan, &question.rule);
        let mut answer = self.answer(question);
        // Stopped while looking at the figures: no verdict but one that stood already.
        answer.judgement = so_far;
        answer.interrupted = true;
        answer
            .warnings
            .push("stopped on request before a verdict".to_owned());
        answer
    }

    fn failed(self, question: &Question<'_>) -> Answer {
        let last = self
            .failures
            .iter()
            .zip([question.a, question.b])
            .max_by_key(|((count, _), _)| *count)
            .map(|((_, reason), variant)| {
                format!("{} could not be measured: {reason}", variant.label())
            });
        let mut answer = self.answer(question);
        answer.failure = last;
        answer
    }
}

/// Seconds that a question of duels of so many couples takes until the first look that can tell a difference, with room
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
    question: &Question<'_>,
    answer: &Answer,
) -> Result<Comparison> {
    let slices = study.store().slices(None)?;
    let critical = answer.judgement.critical;
    // Beside the verdict, with the critical value of its last look.
    let beside = |mut scores: Vec<f64>| {
        scores.truncate(answer.judgement.duels);
        let (low, high) = signed_rank::interval(&scores, critical?);
        let centre = signed_rank::hodges_lehmann(&scores)?;
        Some(niagara_stats::Estimate::from_log(centre, low, high))
    };
    let scored = || answer.duels.iter().filter(|duel| duel.score.is_some());
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
        .filter(|duel| duel.phase == question.phase && duel.subject == question.subject)
        .collect();
    let dropped = [0, 1].map(|side| all.iter().map(|duel| duel.dropped[side]).sum());
    Ok(Comparison {
        a: question.a.label(),
        b: question.b.label(),
        goal: question.goal,
        on_goal: (question.goal != Goal::Throughput).then(|| answer.judgement.clone()),
        throughput: match question.goal {
            Goal::Throughput => answer.judgement.clone(),
            _ => judge_beside(
                &scored().filter_map(|duel| duel.score).collect::<Vec<_>>(),
                &answer.judgement,
                &question.rule,
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
        taken: of_sides(&slices, answer, |slice| slice.taken),
        caution: limited_by_generator(&slices, question, answer)
            .or_else(|| taken_from_one_side(&slices, answer)),
        tps,
        dropped,
        couples: all.iter().map(|duel| duel.couples).sum(),
        replay: replayed(study, question, answer)?,
    })
}

/// Of a capture: what the scored duels say of its replay.
fn replayed(
    study: &Study,
    question: &Question<'_>,
    answer: &Answer,
) -> Result<Option<ReplaySummary>> {
    let records = study.store().replays()?;
    let of = |duel: &DuelRecord, wanted: u8| {
        let mut found = records
            .iter()
            .filter(|(seq, side, _)| (*seq, *side) == (duel.seq, wanted));
        found.next().map(|(_, _, record)| record)
    };
    let duels: Vec<[&ReplayRecord; 2]> = answer
        .duels
        .iter()
        .filter_map(|duel| Some([of(duel, 0)?, of(duel, 1)?]))
        .collect();
    Ok(replay_summary(&duels, question.errors.alpha))
}

/// What a reader must know of sides that the load generator limited: their figures are the generator's, and a ratio with
/// them is at most a bound.
fn limited_by_generator(
    slices: &[SliceRecord],
    question: &Question<'_>,
    answer: &Answer,
) -> Option<String> {
    let busy = of_sides(slices, answer, |slice| slice.generator_busy)?;
    let sides = ["A", "B"]
        .into_iter()
        .zip([question.a, question.b])
        .zip(busy);
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

/// Error probability of saying that more is taken from one side.
const TAKEN_ALPHA: f64 = 0.01;

/// What a reader must know where others take more CPU time from one side than from the other, duel after duel: then that is
/// the variant's own doing, of which the adjustment takes a part away.
fn taken_from_one_side(slices: &[SliceRecord], answer: &Answer) -> Option<String> {
    let of_duels: Vec<f64> = answer
        .duels
        .iter()
        .filter(|duel| duel.score.is_some())
        .filter_map(|duel| {
            let own: Vec<&SliceRecord> = slices.iter().filter(|s| s.duel == duel.seq).collect();
            mean_difference(&own)
        })
        .collect();
    let found = interval_once(&of_duels, TAKEN_ALPHA)?;
    let side = match (found.low > 1.0, found.high < 1.0) {
        (true, _) => "A",
        (_, true) => "B",
        _ => return None,
    };
    Some(format!(
        "others took more CPU time from {side} than from the other side, in duel after duel: that is likely {side}'s own doing, and \
         throughput as measured, without allowing for it, is the figure to go by"
    ))
}

/// The mean of a figure over A's and over B's slices of the duels that count.
fn of_sides(
    slices: &[SliceRecord],
    answer: &Answer,
    figure: impl Fn(&SliceRecord) -> f64,
) -> Option<[f64; 2]> {
    let of = |side: u8| {
        let of_side = slices.iter().filter(|slice| {
            let mut counted = answer.duels.iter().filter(|duel| duel.score.is_some());
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
