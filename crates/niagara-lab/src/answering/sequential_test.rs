//! One question, asked of fresh duels until the sequential test answers it or the time is up: which duel comes next, and
//! what those so far mean.

use anyhow::Result;
use niagara_error::Explanation;
use niagara_load::counted;
use niagara_model::{DuelRecord, Ending, Failure, Finding, Goal, Phase, duel_totals};
use niagara_stats::{
    AllTime, DuelTotals, ErrorBudget, Estimate, Judgement, LookPlan, Rule, Verdict,
    at_look_on_nodes, confidence_sequence, derive_seed, detectable_in, disagreement,
    hold_against_all_time, hold_against_failures, judge_final_on_nodes, judge_on_nodes,
    judged_as_measured, log_width, standard_deviation,
};

use crate::duels::score::WithoutAllowance;
use crate::plans::duel_plan::DuelShape;
use crate::plans::observer::{Event, Observer};
use crate::plans::spec::Protocol;
use crate::studies::checkpoint::{self, Checkpoint};
use crate::studies::series::{DuelRequest, Series, SeriesEnd};
use crate::studies::study::Study;
use crate::variants::variant::Variant;

/// Failures of one side, no duel survived between them, after which a comparison gives up; as many of B's in all keep it from being called
/// faster.
const MAX_FAILURES: u32 = 2;
/// Looks are planned for this many times the duels that the time seems to pay for. Should it end sooner, the last look
/// spends what is left of the error probability; should it go further, none is left.
const PLANNED_DUELS_FACTOR: f64 = 1.2;
/// Duels from which the forecast of what the planned ones show is updated: with fewer their spread is hardly known.
const NOISE_DUELS: usize = 5;
/// Room for duels that take longer than planned.
pub(crate) const SPARE_TIME: f64 = 1.15;
/// Share of the budget by which the duels of a first look may exceed it: with fewer there is no interval.
pub(crate) const MAX_BUDGET_OVERRUN: f64 = 0.2;

/// Fewest duels that a second question adds to those of the first.
pub(crate) const LEAST_MORE: usize = 4;

/// A comparison to be decided.
pub(crate) struct SequentialTest<'a> {
    pub phase: Phase,
    pub subject: &'a str,
    pub goal: Goal,
    pub a: &'a Variant,
    pub b: &'a Variant,
    pub errors: ErrorBudget,
    pub rule: Rule,
    /// The couples of its duels and their slices.
    pub shape: DuelShape,
    pub seed: u64,
    /// Seconds of the budget that are left to the questions behind this one.
    pub reserve_seconds: f64,
    /// Whether its first look is worth exceeding the budget a little: the study's answer hangs on it.
    pub must_answer: bool,
    /// How wide its interval may be (log) before a gain ends it: time that is left makes the answer more exact. `None`: it ends with its
    /// verdict.
    pub narrow_to: Option<f64>,
    /// The question whose duels count as well, by its subject: the same lever was asked about before.
    pub continues: Option<&'a str>,
    /// What its best part alone was shown to bring: a gain ends it once the interval is no wider than that of the part, nor below it.
    pub best_part: Option<Estimate>,
}

impl SequentialTest<'_> {
    /// When it ends, as its judgement is told: a test that goes on after its verdict speaks of all duels.
    fn final_rule(&self) -> Rule {
        Rule {
            to_the_end: self.rule.to_the_end || self.narrow_to.is_some(),
            ..self.rule
        }
    }

    /// Whether duels so far are enough.
    fn is_decided(&self, scores: &[f64], nodes: &[usize], plan: &LookPlan) -> bool {
        let verdict = judge_on_nodes(scores, nodes, plan, &self.rule).verdict;
        let Some(width) = self.narrow_to.filter(|_| !self.rule.to_the_end) else {
            return verdict.is_some() && !self.rule.to_the_end;
        };
        match verdict {
            None | Some(Verdict::Undetected) => false,
            Some(Verdict::Slower | Verdict::NotWorthwhile) => true,
            Some(Verdict::Faster) => self.exact(scores, nodes, plan).is_some_and(|judged| {
                let agrees = |part: &Estimate| disagreement(&judged.estimate, part).is_none();
                judged.estimate.low > 1.0
                    && log_width(&judged.estimate) <= width
                    && self.best_part.as_ref().is_none_or(agrees)
            }),
        }
    }

    /// The judgement of a test that continues after its verdict, once its duels end at a look and are exact enough. Its intervals have
    /// ended it. So the look's own critical value holds, and not the one that the end of the time would allow.
    fn exact(&self, scores: &[f64], nodes: &[usize], plan: &LookPlan) -> Option<Judgement> {
        let width = self.narrow_to.filter(|_| !self.rule.to_the_end)?;
        let called = judge_on_nodes(scores, nodes, plan, &self.rule);
        let judged = at_look_on_nodes(scores, nodes, plan)?;
        let is_exact =
            called.verdict == Some(Verdict::Faster) && log_width(&judged.estimate) <= width;
        is_exact.then(|| Judgement {
            verdict: called.verdict,
            next_look: None,
            called_at: (called.duels < judged.duels).then_some(called.duels),
            ..judged
        })
    }

    /// The judgement of a test that continues after its verdict, where a look ended it because a gain is not worthwhile. The scores ended
    /// it, not the time: so the look's own critical value holds, too.
    fn not_worthwhile(
        &self,
        scores: &[f64],
        nodes: &[usize],
        plan: &LookPlan,
    ) -> Option<Judgement> {
        self.narrow_to.filter(|_| !self.rule.to_the_end)?;
        let called = judge_on_nodes(scores, nodes, plan, &self.rule);
        (called.verdict == Some(Verdict::NotWorthwhile)).then_some(called)
    }

    /// Seconds that are left to it.
    fn open_seconds(&self, study: &Study) -> f64 {
        (study.left_seconds() - self.reserve_seconds).max(0.0)
    }
}

/// A judgement for whoever watches, and may stop at any time: until a verdict ends the test, it speaks of all duels, and its
/// interval holds whenever it is looked at.
fn under_way(judgement: Judgement, scores: &[f64], is_over: bool, alpha: f64) -> Judgement {
    if is_over && judgement.verdict.is_some() {
        return judgement;
    }
    Judgement {
        duels: scores.len(),
        estimate: confidence_sequence(scores, alpha),
        ..judgement
    }
}

/// How far it came.
pub(crate) struct TestOutcome {
    pub judgement: Judgement,
    /// Throughput over all time under load, which a call of "faster" is held against.
    pub all_time: Option<AllTime>,
    pub duels: Vec<DuelRecord>,
    /// Stopped on request before a verdict: the same question can be continued.
    pub interrupted: bool,
    /// Why a side could not be measured to the end, where that ended it.
    pub failure: Option<Failure>,
    /// Which one that is; 0 is A.
    pub failed_side: Option<usize>,
    /// Why a side failed last, whether or not that ended it.
    pub last_failure: Option<Failure>,
    /// The side (0 is A) from which others took more CPU time than chance explains, so that nothing is allowed for it.
    pub as_measured: Option<usize>,
    /// What a reader must know about it.
    pub findings: Vec<Finding>,
}

/// Whether the study has judged nothing before the duels of the test under way.
fn is_first(study: &Study) -> bool {
    let judging = |duel: &&DuelRecord| !matches!(duel.phase, Phase::Screen | Phase::Search);
    let judged = study.done().iter().filter(judging);
    judged.filter(|duel| duel.score.is_some()).count() == NOISE_DUELS
}

/// What the duels that there is time for show by the spread of the first ones here, at the looks that they are judged at: a plan
/// made before them had to assume it.
fn what_shows(
    scores: &[f64],
    affordable: usize,
    plan: &LookPlan,
    protocol: Protocol,
) -> Option<String> {
    let sd = standard_deviation(scores)?;
    let duels = affordable.min(plan.max_duels());
    let shows = detectable_in(duels as f64, 1.0, sd, plan)?;
    let units = niagara_model::units(protocol.unit());
    Some(format!(
        "the first {} {units} here spread by {:.1} %, so {duels} find, with 80 % probability, a difference of {:.1} % or more",
        scores.len(),
        sd * 100.0,
        shows * 100.0
    ))
}

/// Duels of a question that have a score.
pub(crate) fn scored_duels(study: &Study, phase: Phase, subject: &str) -> usize {
    let of = |duel: &&DuelRecord| duel.phase == phase && duel.subject == subject;
    let duels = study.done().iter().filter(of);
    duels.filter(|duel| duel.score.is_some()).count()
}

/// Duels of a test in all, those of the question that it continues included: as many as its time pays for, and enough to say anything new.
fn planned_duels(affordable: usize, earlier: Option<usize>, fewest: usize) -> usize {
    let more = match earlier {
        Some(earlier) => earlier + affordable.max(LEAST_MORE),
        None => affordable,
    };
    more.max(fewest).max(1)
}

/// The looks of a test: planned once, for the duels that its time can pay for behind those that it continues, and kept with the study.
fn look_plan(study: &Study, test: &SequentialTest<'_>) -> Result<LookPlan> {
    let key = checkpoint::looks(test.phase, test.subject);
    study.recall_or(&key, || {
        if test.rule.to_the_end {
            return Ok(test.errors.plan(test.errors.max_duels));
        }
        let affordable =
            PLANNED_DUELS_FACTOR * test.open_seconds(study) / study.duel_seconds(test.shape);
        let earlier = (test.continues).map(|subject| scored_duels(study, test.phase, subject));
        let fewest = test.errors.fewest_duels().unwrap_or(0);
        let duels = planned_duels(affordable as usize, earlier, fewest);
        Ok(test.errors.plan(duels))
    })
}

/// Whether a test asks over all of its duels if others took more CPU time from one side: decided once, and kept with the study.
fn asks_for_side(study: &Study, test: &SequentialTest<'_>) -> Result<bool> {
    // By the other protocols nothing is allowed for, and with a --disturbance of 100 % neither.
    let allows =
        study.protocol() == Protocol::Duel && study.duel_settings().half_weight().is_finite();
    if !allows {
        return Ok(false);
    }
    let key = checkpoint::asks_for_side(test.phase, test.subject);
    study.recall_or(&key, || Ok(true))
}

/// A test under way: its duels so far, and what they mean.
pub(crate) struct RunningTest<'a> {
    test: &'a SequentialTest<'a>,
    plan: LookPlan,
    duels: Vec<DuelRecord>,
    /// What each of them comes to over all time; of arrivals at a fixed rate nothing, for those are what both sides serve.
    totals: Vec<Option<DuelTotals>>,
    /// Of each of them, in the same order, what it shows where nothing is allowed for; none where that is not asked.
    without_allowance: Vec<WithoutAllowance>,
    asks_for_side: bool,
    /// The machine of each of their scores, by number.
    last_nodes: Vec<usize>,
    attempts: u64,
    /// By side: how often it failed since the last duel that both survived.
    failures_in_a_row: [u32; 2],
    /// By side: how often it failed, and its last reason.
    failures: [(u32, Explanation); 2],
    /// The side that failed last.
    last_failed: Option<usize>,
    /// Duels for which the budget was exceeded.
    over_budget: usize,
    /// The budget is exceeded for the next one.
    is_beyond_budget: bool,
}

impl Series for RunningTest<'_> {
    type Outcome = TestOutcome;

    fn ended_key(&self) -> Checkpoint<u64> {
        checkpoint::ended(self.test.phase, self.test.subject)
    }

    /// None after a verdict, the last look, or a side that fails again and again.
    fn next(&mut self, study: &Study, observer: &mut dyn Observer) -> Result<Option<DuelRequest>> {
        if self.has_failed() {
            if !study.tries_again()? {
                return Ok(None);
            }
            self.failures_in_a_row = [0; 2];
        }
        let scores = self.scores();
        self.last_nodes = self.nodes(study);
        let rule = self.test.final_rule();
        let judgement = judge_on_nodes(&scores, &self.last_nodes, &self.plan, &rule);
        let is_decided = self.test.is_decided(&scores, &self.last_nodes, &self.plan);
        let is_over = is_decided || scores.len() >= self.plan.max_duels();
        if !scores.is_empty() {
            let shown = under_way(judgement, &scores, is_over, self.plan.alpha);
            observer.see(Event::Judged(&shown, self.test.goal));
        }
        if is_over {
            return Ok(None);
        }
        if scores.len() == NOISE_DUELS && is_first(study) {
            let more = self.test.open_seconds(study) / study.duel_seconds(self.test.shape);
            let affordable = scores.len() + more as usize;
            let words = what_shows(&scores, affordable, &self.plan, study.protocol());
            words
                .iter()
                .for_each(|words| observer.see(Event::Note(words)));
        }
        Ok(Some(self.request(self.attempts)))
    }

    /// What decides it are the clock and the number of duels, never their scores: so the last look may spend all that is left of
    /// the error probability.
    fn is_late(&mut self, study: &Study, observer: &mut dyn Observer) -> bool {
        let test = self.test;
        let typical = study.duel_seconds(test.shape);
        let wanted = test.errors.fewest_duels().unwrap_or(0);
        let missing = wanted.saturating_sub(self.scores().len());
        // What comes behind the study's answer gives way to it.
        let reserve = if test.must_answer && missing > 0 {
            0.0
        } else {
            test.reserve_seconds
        };
        if study.left_seconds() - reserve > typical {
            return false;
        }
        let allowed = study.budget_seconds() * (1.0 + MAX_BUDGET_OVERRUN);
        if !test.must_answer
            || missing == 0
            || study.used_seconds() + missing as f64 * typical > allowed
        {
            return true;
        }
        if self.over_budget == 0 {
            observer.see(Event::Note(&format!(
                "the time is up: {} more, about {:.0} s, for a result with an interval",
                counted(missing as u64, "duel"),
                missing as f64 * typical
            )));
        }
        self.is_beyond_budget = true;
        false
    }

    fn likely(&self, most: usize) -> Vec<DuelRequest> {
        let left = self.plan.max_duels().saturating_sub(self.scores().len());
        let attempts = (self.attempts..).take(left.min(most));
        attempts.map(|attempt| self.request(attempt)).collect()
    }

    fn take(
        &mut self,
        study: &Study,
        record: DuelRecord,
        _observer: &mut dyn Observer,
    ) -> Result<()> {
        if self.test.must_answer {
            let key = checkpoint::beyond_budget(self.test.phase, self.test.subject, self.attempts);
            let is_beyond = match std::mem::take(&mut self.is_beyond_budget) {
                true => {
                    study.keep(&key, &true)?;
                    true
                }
                // One that an earlier sitting ran.
                false => study.recall(&key)?.unwrap_or(false),
            };
            self.over_budget += usize::from(is_beyond);
        }
        self.attempts += 1;
        match &record.ending {
            Ending::Failed { side, reason } => {
                let side = usize::from(*side).min(1);
                self.failures_in_a_row[side] += 1;
                self.last_failed = Some(side);
                let failures = &mut self.failures[side];
                failures.0 += 1;
                failures.1.clone_from(reason);
            }
            Ending::Scored | Ending::Disturbed => {
                self.failures_in_a_row = [0; 2];
                self.count(study, record)?;
            }
        }
        Ok(())
    }

    fn outcome(&self, end: SeriesEnd) -> TestOutcome {
        match end {
            SeriesEnd::Finished if self.has_failed() => self.failed(),
            SeriesEnd::Finished => self.judged(),
            SeriesEnd::OutOfTime => self.out_of_time(),
            SeriesEnd::Stopped => self.interrupted(true),
            SeriesEnd::GoesOn => self.interrupted(false),
        }
    }

    /// Under way its interval held whenever it was looked at, which is wider than that of the look at which it ended.
    fn announce(&self, outcome: &TestOutcome, observer: &mut dyn Observer) {
        if !self.scores().is_empty() {
            observer.see(Event::Judged(&outcome.judgement, self.test.goal));
        }
    }
}

impl<'a> RunningTest<'a> {
    /// The test with its looks planned, and with no duel but those of the question that it continues.
    ///
    /// # Errors
    /// The results cannot be read or written.
    pub(crate) fn begin(study: &Study, test: &'a SequentialTest<'a>) -> Result<Self> {
        let mut running = Self::planned(study, test)?;
        let is_earlier = |duel: &&DuelRecord| {
            duel.phase == test.phase && Some(duel.subject.as_str()) == test.continues
        };
        let earlier: Vec<DuelRecord> = study.done().iter().filter(is_earlier).cloned().collect();
        for duel in earlier {
            if !matches!(duel.ending, Ending::Failed { .. }) {
                running.count(study, duel)?;
            }
        }
        Ok(running)
    }

    /// A duel that both sides survived.
    fn count(&mut self, study: &Study, record: DuelRecord) -> Result<()> {
        let slices = study.store().slices(Some(record.seq))?;
        if self.asks_for_side {
            self.without_allowance.push(WithoutAllowance::of(&slices));
        }
        let totals = duel_totals(&record, &slices);
        self.totals.push(totals.filter(|_| study.rate().is_none()));
        self.duels.push(record);
        // It may be told how far this came before the next look.
        self.last_nodes = self.nodes(study);
        Ok(())
    }

    fn planned(study: &Study, test: &'a SequentialTest<'a>) -> Result<Self> {
        Ok(Self {
            test,
            plan: look_plan(study, test)?,
            duels: Vec::new(),
            totals: Vec::new(),
            without_allowance: Vec::new(),
            asks_for_side: asks_for_side(study, test)?,
            last_nodes: Vec::new(),
            attempts: 0,
            failures_in_a_row: [0; 2],
            failures: Default::default(),
            last_failed: None,
            over_budget: 0,
            is_beyond_budget: false,
        })
    }

    fn request(&self, attempt: u64) -> DuelRequest {
        let test = self.test;
        DuelRequest {
            phase: test.phase,
            subject: test.subject.to_owned(),
            variants: [test.a.clone(), test.b.clone()],
            shape: test.shape,
            seed: derive_seed(test.seed, test.subject, attempt),
        }
    }

    fn has_failed(&self) -> bool {
        self.failed_side().is_some()
    }

    /// The side that fails again and again.
    fn failed_side(&self) -> Option<usize> {
        let mut counts = self.failures_in_a_row.iter();
        counts.position(|count| *count >= MAX_FAILURES)
    }

    /// The machine of each score, by number; nothing where all are of this one.
    fn nodes(&self, study: &Study) -> Vec<usize> {
        let goal = self.test.goal;
        let scored = self.duels.iter().filter(|duel| goal.gain(duel).is_some());
        study.nodes().numbers(scored)
    }

    /// The side from which others took more CPU time than chance explains, over all duels so far.
    fn taken_from(&self) -> Option<usize> {
        let duels = self.without_allowance.iter();
        let differences: Vec<Vec<f64>> = duels.map(|duel| duel.differences.clone()).collect();
        judged_as_measured(&differences)
    }

    /// The duels as they are judged: where others took more CPU time from one side that is the variant's own doing, and no duel has
    /// anything allowed for it.
    fn counted(&self) -> Vec<DuelRecord> {
        if self.taken_from().is_none() {
            return self.duels.clone();
        }
        let duels = self.duels.iter().zip(&self.without_allowance);
        duels.map(|(duel, of)| of.in_place_of(duel)).collect()
    }

    fn scores(&self) -> Vec<f64> {
        let goal = self.test.goal;
        let counted = self.counted();
        counted.iter().filter_map(|duel| goal.gain(duel)).collect()
    }

    /// Throughput over all time, of the duels that `judged` is of.
    fn all_time(&self, judged: &Judgement) -> Option<AllTime> {
        let counted = self.counted();
        let judged_by = |duel: &DuelRecord, totals: Option<DuelTotals>| {
            Some(DuelTotals {
                score: duel.score?,
                ..totals?
            })
        };
        let totals: Vec<DuelTotals> = counted
            .iter()
            .zip(&self.totals)
            .filter(|(duel, _)| self.test.goal.gain(duel).is_some())
            .take(judged.duels)
            .filter_map(|(duel, totals)| judged_by(duel, *totals))
            .collect();
        AllTime::of(&totals, judged, &self.test.final_rule())
    }

    /// What it came to by the last look.
    fn judged(&self) -> TestOutcome {
        let test = self.test;
        let scores = self.scores();
        let mut findings: Vec<Finding> = self
            .failures
            .iter()
            .zip([test.a, test.b])
            .filter(|((count, _), _)| *count > 0)
            .map(|((count, error), variant)| Finding::FailedDuels {
                count: *count as usize,
                failure: Failure {
                    variant: variant.label(),
                    error: error.headline().to_owned(),
                },
            })
            .collect();
        if self.over_budget > 0 {
            findings.push(Finding::BeyondBudget {
                duels: self.over_budget,
            });
        }
        let (nodes, plan) = (&self.last_nodes, &self.plan);
        let mut judgement = test
            .exact(&scores, nodes, plan)
            .or_else(|| test.not_worthwhile(&scores, nodes, plan))
            .unwrap_or_else(|| {
                let rule = test.final_rule();
                judge_final_on_nodes(&scores, nodes, plan, &rule)
            });
        // Duels that a side did not survive are among no scores: what the others say is not what it is worth. Whatever is called A,
        // neither is called better that ended the comparison so, or that failed again and again, nor where the other one ended it.
        let is_unsound = |better: usize| match (better, self.failed_side()) {
            // That A is better than one that fails as well is no claim that anything hangs on.
            (0, Some(1)) => false,
            (_, Some(_)) => true,
            (better, None) => self.failures[better].0 >= MAX_FAILURES,
        };
        if let Some(better) = hold_against_failures(&mut judgement, is_unsound) {
            findings.push(Finding::FasterWhereBothSurvived {
                variant: [test.a, test.b][better].label(),
            });
        }
        let all_time = self.all_time(&judgement);
        if test.goal == Goal::Throughput {
            hold_against_all_time(&mut judgement, all_time.as_ref());
        }
        TestOutcome {
            judgement,
            all_time,
            duels: self.counted(),
            interrupted: false,
            failure: None,
            failed_side: None,
            last_failure: self.last_failed.map(|side| self.why_failed(side)),
            as_measured: self.taken_from(),
            findings,
        }
    }

    fn out_of_time(&self) -> TestOutcome {
        let test = self.test;
        let mut outcome = self.judged();
        let confidence = outcome.judgement.confidence;
        if confidence.is_some() || outcome.judgement.critical.is_none() {
            outcome.findings.push(Finding::TooFewDuels {
                duels: outcome.judgement.duels,
                alpha: test.errors.alpha,
                confidence,
            });
        }
        outcome
    }

    /// What it came to before its end; `stopped`: on request.
    fn interrupted(&self, stopped: bool) -> TestOutcome {
        let rule = self.test.final_rule();
        let so_far = judge_on_nodes(&self.scores(), &self.last_nodes, &self.plan, &rule);
        let mut outcome = self.judged();
        outcome.interrupted = true;
        outcome.findings.push(Finding::QuestionUnfinished {
            stopped,
            // It went on to the end although it was called: all duels count for the interval.
            called_after: so_far.verdict.map(|_| so_far.duels),
            withdrawn: outcome.judgement.withdrawn,
        });
        // Stopped between looks: no verdict.
        if so_far.verdict.is_none() {
            outcome.all_time = self.all_time(&so_far);
            outcome.judgement = so_far;
        }
        outcome
    }

    fn failed(&self) -> TestOutcome {
        let mut outcome = self.judged();
        outcome.failed_side = self.failed_side();
        outcome.failure = outcome.failed_side.map(|side| self.why_failed(side));
        outcome
    }

    /// Which variant could not be measured, and why at last.
    fn why_failed(&self, side: usize) -> Failure {
        let (_, error) = &self.failures[side];
        Failure {
            variant: [self.test.a, self.test.b][side].label(),
            error: error.headline().to_owned(),
        }
    }
}

/// Seconds that a question of duels of this shape takes until the first look that can tell a difference, with room for duels
/// that take longer than the last ones.
pub(crate) fn first_look_seconds(
    study: &Study,
    errors: ErrorBudget,
    shape: impl Into<DuelShape>,
) -> f64 {
    let duels = errors.fewest_duels().unwrap_or(errors.max_duels);
    seconds_of(study, duels, shape)
}

/// Seconds that so many duels of this shape take, with room for duels that take longer than the last ones.
pub(crate) fn seconds_of(study: &Study, duels: usize, shape: impl Into<DuelShape>) -> f64 {
    duels as f64 * study.duel_seconds(shape) * SPARE_TIME
}

/// Seconds that cells or rungs may take where what is `left` has to suffice for a confirmation or a total behind them, too, which takes
/// `reserve` seconds. Where the time is too short for both, and nothing `is_there` to be confirmed, it is all theirs.
pub(crate) fn open_seconds(left: f64, reserve: f64, first_look: f64, is_there: bool) -> f64 {
    let open = left - reserve;
    match open < first_look && !is_there {
        true => left,
        false => open,
    }
}

/// Seconds for the next of `questions` that share `open_seconds`: an equal part, but at least what its first look takes.
/// With less there is no verdict on any of them; so the last ones go without where the time is too short for all.
pub(crate) fn share_seconds(open_seconds: f64, questions: usize, first_look_seconds: f64) -> f64 {
    let open = open_seconds.max(0.0);
    (open / questions.max(1) as f64)
        .max(first_look_seconds)
        .min(open)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watchers_see_every_duel_after_a_verdict() {
        let plan = LookPlan::standard(0.05);
        let rule = Rule {
            to_the_end: true,
            ..Rule::default()
        };
        let scores: Vec<f64> = (0..30)
            .map(|place| 0.2 + 0.01 * f64::from(place % 5))
            .collect();
        for duels in 20..30 {
            let scores = &scores[..duels];
            let judged = niagara_stats::judge(scores, &plan, &rule);
            assert!(
                judged.verdict.is_some() && judged.duels < duels,
                "{judged:?}"
            );
            assert_eq!(under_way(judged, scores, false, 0.05).duels, duels);
        }
        let judged = niagara_stats::judge(&scores, &plan, &Rule::default());
        assert_eq!(under_way(judged.clone(), &scores, true, 0.05), judged);
    }

    /// The judgements that whoever watches is shown.
    #[derive(Default)]
    struct Shown(Vec<Judgement>);

    impl Observer for Shown {
        fn see(&mut self, event: Event<'_>) {
            if let Event::Judged(judgement, _) = event {
                self.0.push(judgement.clone());
            }
        }
    }

    fn scored(seq: u32, score: f64) -> DuelRecord {
        DuelRecord {
            seq,
            phase: Phase::Total,
            subject: String::new(),
            variants: ["a", "b"].map(str::to_owned),
            seed: u64::from(seq),
            started_unix_ms: 0,
            wall_seconds: 4.0,
            load_seconds: 3.0,
            score: Some(score),
            raw_score: None,
            cpu_score: None,
            latency_scores: None,
            p99_score: None,
            couples: 8,
            dropped: [0; 2],
            ending: Ending::Scored,
        }
    }

    /// A total that continues until its interval is narrow.
    fn total<'a>([a, b]: [&'a Variant; 2]) -> SequentialTest<'a> {
        SequentialTest {
            phase: Phase::Total,
            subject: "",
            goal: Goal::Throughput,
            a,
            b,
            errors: ErrorBudget::one_sided(0.05, 44),
            rule: Rule::default(),
            shape: 8.into(),
            seed: 1,
            reserve_seconds: 0.0,
            must_answer: true,
            narrow_to: Some(0.01),
            continues: None,
            best_part: None,
        }
    }

    /// A test with these scores behind it, planned for so many duels.
    fn with_scores<'a>(
        test: &'a SequentialTest<'a>,
        scores: &[f64],
        planned: usize,
    ) -> RunningTest<'a> {
        let duels = (0..).zip(scores).map(|(seq, &score)| scored(seq, score));
        RunningTest {
            test,
            plan: test.errors.plan(planned),
            duels: duels.collect(),
            totals: vec![None; scores.len()],
            without_allowance: Vec::new(),
            asks_for_side: false,
            last_nodes: Vec::new(),
            attempts: scores.len() as u64,
            failures_in_a_row: [0; 2],
            failures: Default::default(),
            last_failed: None,
            over_budget: 0,
            is_beyond_budget: false,
        }
    }

    #[test]
    fn total_that_a_look_ended_keeps_the_look_s_critical_value() {
        let [a, b] = ["a", "b"].map(Variant::base);
        let test = total([&a, &b]);
        let scores = [-0.01, -0.02, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35].map(|percent| percent / 100.0);
        let running = with_scores(&test, &scores, 44);
        assert!(test.is_decided(&scores, &[], &running.plan));
        let judged = running.judged().judgement;
        assert_eq!(judged.verdict, Some(Verdict::NotWorthwhile), "{judged:?}");
        assert!(judged.estimate.low < 1.0 && judged.estimate.high < 1.005);
    }

    #[test]
    fn what_is_shown_last_is_what_is_kept() {
        let [a, b] = ["a", "b"].map(Variant::base);
        let test = total([&a, &b]);
        let scores = [0.05, 0.11, 0.07, 0.10, 0.06, 0.12, 0.08, 0.04, 0.09];
        let running = with_scores(&test, &scores, 11);
        let outcome = running.outcome(SeriesEnd::OutOfTime);
        let kept = outcome.judgement.clone();
        let mut shown = Shown::default();
        running.announce(&outcome, &mut shown);
        assert_eq!(shown.0.as_slice(), std::slice::from_ref(&kept));
        // What it showed before its end holds at every look: it is wider.
        let before = under_way(kept.clone(), &scores, false, running.plan.alpha);
        assert!(
            before.estimate.low < kept.estimate.low,
            "{before:?} {kept:?}"
        );
    }

    #[test]
    fn a_second_question_plans_duels_behind_those_of_the_first() {
        assert_eq!(planned_duels(7, None, 10), 10);
        assert_eq!(planned_duels(7, Some(12), 10), 19);
        assert_eq!(planned_duels(0, Some(12), 10), 12 + LEAST_MORE);
        assert_eq!(planned_duels(0, None, 0), 1);
    }

    #[test]
    fn time_that_is_too_short_for_all_is_enough_for_some() {
        assert_eq!(open_seconds(600.0, 60.0, 50.0, false), 540.0);
        assert_eq!(open_seconds(100.0, 60.0, 50.0, false), 100.0);
        assert_eq!(open_seconds(100.0, 60.0, 50.0, true), 40.0);
        assert_eq!(share_seconds(600.0, 6, 50.0), 100.0);
        assert_eq!(share_seconds(240.0, 6, 50.0), 50.0);
        assert_eq!(share_seconds(30.0, 6, 50.0), 30.0);
        assert_eq!(share_seconds(-5.0, 0, 50.0), 0.0);
    }
}
