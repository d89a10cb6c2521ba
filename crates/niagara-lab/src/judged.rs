//! One question, asked of fresh duels until the sequential test answers it or the time is up.

use anyhow::Result;
use niagara_stats::{Judgement, LookPlan, Rule, judge, judge_final, signed_rank};
use niagara_store::{Comparison, DuelRecord, Ending, Phase};

use crate::cancel::Cancelled;
use crate::observer::{Event, Observer};
use crate::seed::derive;
use crate::study::Study;
use crate::variant::Variant;
use crate::workbench::Workbench;

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
    /// A verdict is not the end: all of the plan's duels are run, to know more exactly.
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
        let judgement = judge(&scores, &question.plan, &question.rule);
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
                let typical = study
                    .seconds_per_duel(question.phase)
                    .unwrap_or_else(|| crate::tune::duel_seconds(study, question.couples));
                !study.has_recalled() && study.left_seconds() <= typical
            }
        };
        if late {
            if ended.is_none() {
                study.decide(&ended_name, &inquiry.attempts.to_string())?;
            }
            return Ok(inquiry.out_of_time(question));
        }
        let seed = derive(question.seed, question.subject, inquiry.attempts);
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
            judgement: in_the_end(&scores, &question.plan, &question.rule),
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
        answer.judgement = judge(&scores, &question.plan, &question.rule);
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

/// The judgement when no more duels will come. Duels fought beyond a verdict do not change it,
/// but narrow its interval: that of the last look covers as well as any (Jennison & Turnbull's
/// repeated confidence intervals).
fn in_the_end(scores: &[f64], plan: &LookPlan, rule: &Rule) -> Judgement {
    let mut judgement = judge_final(scores, plan, rule);
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
    judgement
}

/// Duels at the first look of `plan` that can reject.
pub(crate) fn first_useful_look(plan: &LookPlan) -> usize {
    plan.looks
        .iter()
        .find(|look| look.critical.is_some())
        .map_or(usize::MAX, |look| look.duels)
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
