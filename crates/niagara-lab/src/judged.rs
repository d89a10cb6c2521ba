//! One question, asked of fresh duels until the sequential test answers it or the time is up.

use anyhow::Result;
use niagara_stats::{Judgement, LookPlan, Rule, Verdict, judge, judge_final, signed_rank};
use niagara_store::{Comparison, DuelRecord, Ending, Phase};

use crate::observer::{Event, Observer};
use crate::study::Study;
use crate::variant::Variant;
use crate::workbench::Workbench;
use niagara_server::Cancelled;
use niagara_stats::derive_seed;

/// Failed duels in a row after which a comparison gives up.
const MOST_FAILURES: u32 = 2;

/// A comparison to be decided.
pub(crate) struct Question<'a> {
    pub phase: Phase,
    pub subject: &'a str,
    pub a: &'a Variant,
    pub b: &'a Variant,
    pub plan: LookPlan,
    pub rule: Rule,
    pub couples: u32,
    pub seed: u64,
    /// Seconds of the budget that are left to the questions behind this one.
    pub reserve_seconds: f64,
    /// A verdict is not the end: all of the plan's duels are run, to know more exactly. Then only a difference, once
    /// called, stands; "not worthwhile" and "undetected" are said of all duels.
    pub to_the_end: bool,
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
    let mut inquiry = Inquiry::default();
    let ended_name = format!("ended {:?} {}", question.phase, question.subject);
    let ended: Option<u64> = study.decision(&ended_name)?.and_then(|n| n.parse().ok());
    loop {
        let scores = inquiry.scores();
        let judgement = so_far(&scores, question);
        if !scores.is_empty() {
            observer.see(Event::Judged(&judgement));
        }
        let decided = judgement.verdict.is_some() && !question.to_the_end;
        if decided || scores.len() >= question.plan.max_duels() {
            return Ok(inquiry.answer(question));
        }
        let late = match ended {
            Some(attempts) => inquiry.attempts >= attempts,
            None => {
                let typical = study.seconds_per_duel(question.phase).unwrap_or_else(|| {
                    crate::duel_plan::duel_seconds(&study.lengths(), question.couples)
                });
                !study.has_recalled() && study.left_seconds() - question.reserve_seconds <= typical
            }
        };
        if late {
            if ended.is_none() {
                study.decide(&ended_name, &inquiry.attempts.to_string())?;
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
        if inquiry.failures_in_a_row >= MOST_FAILURES {
            return Ok(inquiry.failed(question));
        }
    }
}

/// The duels of a question so far.
#[derive(Default)]
struct Inquiry {
    duels: Vec<DuelRecord>,
    attempts: u64,
    failures_in_a_row: u32,
    /// By side: how often it failed, and its last reason.
    failures: [(u32, String); 2],
}

impl Inquiry {
    fn scores(&self) -> Vec<f64> {
        self.duels.iter().filter_map(|duel| duel.score).collect()
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
        let warnings = self
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
        Answer {
            judgement: in_the_end(&scores, question),
            duels: self.duels,
            interrupted: false,
            failure: None,
            warnings,
        }
    }

    fn out_of_time(self, question: &Question<'_>) -> Answer {
        let mut answer = self.answer(question);
        let needed = first_useful_look(&question.plan);
        let fought = answer
            .duels
            .iter()
            .filter(|duel| duel.score.is_some())
            .count();
        if fought < needed {
            answer.warnings.push(format!(
                "the time ended after {fought} duels, before the first look at which a \
                 difference can be called ({needed} duels): give a longer --budget"
            ));
        }
        answer
    }

    fn interrupted(self, question: &Question<'_>) -> Answer {
        let scores = self.scores();
        let mut answer = self.answer(question);
        // Stopped while looking at the figures: no verdict but one that stood already.
        answer.judgement = so_far(&scores, question);
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

/// The rule of a question that goes on to the end: only a difference is called under way. The critical values do not
/// count on stops for futility, so that going on past one costs no error probability.
const ONLY_DIFFERENCES: Rule = Rule {
    min_effect: f64::NEG_INFINITY,
    futility: 0.0,
};

/// The judgement while more duels may come.
fn so_far(scores: &[f64], question: &Question<'_>) -> Judgement {
    let rule = if question.to_the_end {
        &ONLY_DIFFERENCES
    } else {
        &question.rule
    };
    judge(scores, &question.plan, rule)
}

/// The judgement when no more duels will come.
fn in_the_end(scores: &[f64], question: &Question<'_>) -> Judgement {
    if question.to_the_end {
        to_the_end(scores, &question.plan, &question.rule)
    } else {
        judge_final(scores, &question.plan, &question.rule)
    }
}

/// The judgement of all duels, also of those beyond the look at which a comparison would have stopped. A difference
/// called at any look stands: that is what the critical values allow for. Everything else is said anew from the last
/// interval, which covers as well as that of any look (Jennison & Turnbull's repeated confidence intervals).
fn to_the_end(scores: &[f64], plan: &LookPlan, rule: &Rule) -> Judgement {
    let mut judgement = judge_final(scores, plan, &ONLY_DIFFERENCES);
    if judgement.duels < scores.len() {
        let last = plan.ending_at(scores.len()).looks.last().copied();
        if let Some(critical) = last.and_then(|look| look.critical) {
            let (low, high) = signed_rank::interval(scores, critical);
            let centre = signed_rank::hodges_lehmann(scores).unwrap_or(0.0);
            judgement.estimate = niagara_stats::Estimate::from_log(centre, low, high);
            judgement.critical = Some(critical);
            judgement.duels = scores.len();
            judgement.w = signed_rank::signed_rank_sum(scores);
        }
    }
    let called = matches!(judgement.verdict, Some(Verdict::Faster | Verdict::Slower));
    if !called && judgement.estimate.high < 1.0 + rule.min_effect {
        judgement.verdict = Some(Verdict::NotWorthwhile);
    }
    judgement
}

/// Duels at the first look of `plan` that can reject.
pub(crate) fn first_useful_look(plan: &LookPlan) -> usize {
    plan.looks
        .iter()
        .find(|look| look.critical.is_some())
        .map_or(usize::MAX, |look| look.duels)
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
        throughput: answer.judgement.clone(),
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
        tps,
        dropped,
        couples: all.iter().map(|duel| duel.couples).sum(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scores around a centre, alternating by a width that differs from duel to duel.
    fn around(centre: f64, width: f64, n: usize) -> impl Iterator<Item = f64> {
        (0..n).map(move |i| {
            let size = width * (1.0 + 0.1 * ((i * 7) % 11) as f64);
            centre + if i % 2 == 0 { size } else { -size }
        })
    }

    fn at_the_end(scores: &[f64], max_duels: usize) -> (Verdict, Judgement) {
        let plan = LookPlan::standard(0.05).truncated(max_duels);
        let judgement = to_the_end(scores, &plan, &Rule::default());
        assert_eq!(judgement.duels, scores.len(), "it speaks of all duels");
        (judgement.verdict.expect("no more will come"), judgement)
    }

    #[test]
    fn not_worthwhile_at_an_early_look_is_said_anew_from_all_duels() {
        // Tight around nothing, then wide: identical servers on a machine that became noisy.
        let scores: Vec<f64> = around(0.0, 0.002, 8)
            .chain(around(0.004, 0.02, 36))
            .collect();
        let plan = LookPlan::standard(0.05);
        let early = judge(&scores, &plan, &Rule::default());
        assert_eq!(
            (early.verdict, early.duels),
            (Some(Verdict::NotWorthwhile), 8)
        );
        let (verdict, judgement) = at_the_end(&scores, 44);
        assert!(judgement.estimate.low < 1.0 && judgement.estimate.high > 1.005);
        assert_eq!(verdict, Verdict::Undetected);
    }

    #[test]
    fn undetected_at_an_early_look_is_said_anew_from_all_duels() {
        let scores: Vec<f64> = around(0.0, 0.03, 16)
            .chain(around(0.0, 0.0008, 28))
            .collect();
        let plan = LookPlan::standard(0.05);
        let early = judge(&scores, &plan, &Rule::default());
        assert_eq!(early.verdict, Some(Verdict::Undetected));
        assert!(early.duels < 44);
        let (verdict, judgement) = at_the_end(&scores, 44);
        assert!(judgement.estimate.high < 1.005, "{judgement:?}");
        assert_eq!(verdict, Verdict::NotWorthwhile);
    }

    #[test]
    fn a_difference_that_shows_after_a_stop_for_futility_is_called() {
        let scores: Vec<f64> = around(0.0, 0.03, 16)
            .chain(around(0.05, 0.01, 28))
            .collect();
        let (verdict, judgement) = at_the_end(&scores, 44);
        assert!(judgement.estimate.low > 1.0);
        assert_eq!(verdict, Verdict::Faster);
    }

    #[test]
    fn a_difference_once_called_stands() {
        let scores: Vec<f64> = around(0.05, 0.01, 8).chain(around(0.0, 0.05, 22)).collect();
        let (verdict, judgement) = at_the_end(&scores, 44);
        assert_eq!(verdict, Verdict::Faster);
        assert!(judgement.estimate.low < 1.0 && judgement.estimate.high > 1.0);
    }

    #[test]
    fn time_that_is_too_short_for_all_is_enough_for_some() {
        assert_eq!(share_seconds(600.0, 6, 50.0), 100.0);
        assert_eq!(share_seconds(240.0, 6, 50.0), 50.0);
        assert_eq!(share_seconds(30.0, 6, 50.0), 30.0);
        assert_eq!(share_seconds(-5.0, 0, 50.0), 0.0);
    }

    #[test]
    fn too_few_duels_to_tell_are_undetected() {
        let scores: Vec<f64> = around(0.0, 0.001, 4).collect();
        let (verdict, judgement) = at_the_end(&scores, 4);
        assert_eq!(verdict, Verdict::Undetected);
        assert!(judgement.estimate.high.is_infinite());
    }
}
