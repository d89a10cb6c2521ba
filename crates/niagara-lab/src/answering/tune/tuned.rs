//! What a tuning has found so far, and what is told of it.

use anyhow::Result;
use niagara_model::{
    Alternative, AlternativeReason, Comparison, Control, Deployment, DropReason, DroppedLever,
    DuelsOf, Failure, FinalCheck, Finding, Goal, NotTried, Reason, Rung, SameAnswers, Screened,
    Searched, TailGuard, Together, Warning,
};
use niagara_stats::{
    Bond, Estimate, Judgement, Prospect, ScreenedEffect, Unsteady, Verdict, promote, student,
};

use crate::answering::comparison::comparison;
use crate::answering::deployment::{Part, deployment, of_transport};
use crate::answering::failure_summary::warnings;
use crate::answering::same_answers::take_answers;
use crate::answering::sequential_test::{SequentialTest, TestOutcome};
use crate::answering::target_sizes::with_sizes;
use crate::answering::tune::options::TuneOptions;
use crate::answering::tune::screen::Screening;
use crate::answering::tune::search::Outcome as SearchOutcome;
use crate::duels::workbench::Workbench;
use crate::lever::Role;
use crate::studies::study::Study;
use crate::variants::candidate::{Candidate, factors, with_all};
use crate::variants::variant::Variant;

/// Error probability at which the negative control is believed to differ from nothing, on either side, as
/// docs/methodology.md says.
const ALARM: f64 = 0.01;

/// How a tuning came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Final {
    /// The time was used.
    TimeUsed,
    /// There was time left, and nothing to decide.
    NothingLeft,
    /// There was time left, and too little for what was left to decide.
    TooLittle,
}

/// Levers that fresh duels showed to help together.
#[derive(Debug, Clone)]
pub(crate) struct HelpfulGroup {
    /// By index of the candidate.
    pub levers: Vec<usize>,
    /// Their gain.
    pub effect: Estimate,
    /// Those duels.
    pub duels: usize,
}

/// What a tuning has found so far.
#[derive(Clone)]
pub(crate) struct TuneResult {
    pub candidates: Vec<Candidate>,
    pub not_tried: Vec<NotTried>,
    pub warnings: Vec<Warning>,
    pub screening: Option<Screening>,
    pub searched: Option<Searched>,
    pub checks: Vec<FinalCheck>,
    /// Of a capture: whether the final variant answers it as the start does.
    pub answers: Option<SameAnswers>,
    pub rungs: Vec<Rung>,
    pub total: Option<Comparison>,
    /// Seconds of a slice of its duels, where they are not the study's.
    pub total_slice_seconds: Option<f64>,
    /// Why there is none, where the final variant could not be measured.
    pub total_failure: Option<Failure>,
    /// The duels of the total, where they are not those of its phase.
    pub total_of: Option<DuelsOf>,
    /// The start over the Unix socket against the final variant, where the socket is one of its levers.
    pub over_socket: Option<Comparison>,
    /// The start against everything that was promoted.
    pub whole: Option<Comparison>,
    /// Levers that were asked about alone, by index of the candidate, with what fresh duels say.
    pub claims: Vec<(usize, Comparison)>,
    /// Groups that were shown to help, the whole before its halves.
    pub helpful_groups: Vec<HelpfulGroup>,
    /// Promising levers that did not earn their place.
    pub dropped: Vec<DroppedLever>,
    /// Those of them that no duels decided, by index of the candidate.
    pub undecided: Vec<usize>,
    /// Variants that were measured against the start and are not recommended.
    pub alternatives: Vec<Alternative>,
    /// Of a final variant that was given up for its tail: its gain, and the percentile that is worse.
    pub tail: Option<(Estimate, Estimate, Goal)>,
    /// How it came to its end.
    pub ending: Option<Final>,
    pub complete: bool,
    /// Where it starts.
    base: Variant,
    /// The final variant, as far as it is known.
    pub last: Variant,
}

impl TuneResult {
    /// Nothing yet.
    pub(crate) fn new(options: &TuneOptions) -> Self {
        Self {
            candidates: options.candidates.clone(),
            not_tried: options.not_applicable.clone(),
            warnings: Vec::new(),
            screening: None,
            searched: None,
            checks: Vec::new(),
            answers: None,
            rungs: Vec::new(),
            total: None,
            total_slice_seconds: None,
            total_failure: None,
            total_of: None,
            over_socket: None,
            whole: None,
            claims: Vec::new(),
            helpful_groups: Vec::new(),
            dropped: Vec::new(),
            undecided: Vec::new(),
            alternatives: Vec::new(),
            tail: None,
            ending: None,
            complete: false,
            base: options.base.clone(),
            last: options.base.clone(),
        }
    }

    /// These levers make the final variant, each with its own duels where it had any.
    pub(crate) fn hand_over(&mut self, kept: &[usize]) {
        self.last = with_all(&self.base, &self.candidates, kept);
        self.set_rungs(kept);
        let ids = self.ids(kept);
        for (id, &index) in ids.iter().zip(kept) {
            let claim = self.claim_of(index).cloned();
            let mut rungs = self.rungs.iter_mut();
            if let Some(rung) = rungs.find(|rung| rung.screened.lever == *id) {
                rung.claim = claim;
            }
        }
    }

    /// What the duels of a lever alone say.
    pub(crate) fn claim_of(&self, index: usize) -> Option<&Comparison> {
        let mut claims = self.claims.iter();
        claims.find(|(of, _)| *of == index).map(|(_, claim)| claim)
    }

    /// A promising lever is not handed over.
    pub(crate) fn drop_lever(
        &mut self,
        index: usize,
        claim: Option<Comparison>,
        because: DropReason,
    ) {
        let Some(screened) = self.effect(index).cloned() else {
            return;
        };
        self.dropped
            .retain(|dropped| dropped.screened.lever != screened.lever);
        self.dropped.push(DroppedLever {
            screened,
            claim: claim.map(Box::new),
            because,
        });
    }

    /// Why a lever that no duels of its own decided is not handed over: the smallest group that it is in tells most of it.
    pub(crate) fn why_undecided(&self, index: usize) -> DropReason {
        let mut groups = self.helpful_groups.iter();
        match groups.rfind(|group| group.levers.contains(&index)) {
            Some(group) => DropReason::TimeEndedInGroup {
                effect: group.effect,
                levers: group.levers.len(),
                duels: group.duels,
            },
            None => DropReason::TimeEnded,
        }
    }

    /// What the duels of a lever alone say, in place of what earlier ones said.
    pub(crate) fn take_own_duels(&mut self, index: usize, claim: Comparison) {
        self.claims.retain(|(of, _)| *of != index);
        self.claims.push((index, claim));
    }

    /// Levers that were dropped because too little was known of them, best first by the screening.
    pub(crate) fn not_shown(&self) -> Vec<usize> {
        let is_open = |dropped: &&DroppedLever| {
            let is_unknown = matches!(
                dropped.because,
                DropReason::NotShown | DropReason::NotShownTogether { .. }
            );
            let claim = dropped.claim.as_deref().map(Comparison::judged);
            let verdict = claim.and_then(Judgement::verdict_by_all);
            is_unknown && !matches!(verdict, Some(Verdict::Slower | Verdict::NotWorthwhile))
        };
        let mut open: Vec<&DroppedLever> = self.dropped.iter().filter(is_open).collect();
        let gain = |dropped: &DroppedLever| dropped.screened.effect.ratio;
        open.sort_by(|x, y| gain(y).total_cmp(&gain(x)));
        let ids: Vec<String> = open.iter().map(|one| one.screened.lever.clone()).collect();
        self.places(&ids)
    }

    /// A dropped lever is handed over after all.
    pub(crate) fn take_back(&mut self, index: usize) {
        let ids = self.ids(&[index]);
        self.dropped
            .retain(|dropped| !ids.contains(&dropped.screened.lever));
    }

    /// The titles of these candidates.
    pub(crate) fn titles(&self, places: &[usize]) -> Vec<String> {
        let title = |&index: &usize| self.candidates[index].lever.title().to_owned();
        places.iter().map(title).collect()
    }

    /// Everything that was promoted is an alternative, where less is handed over.
    pub(crate) fn add_whole(&mut self, promoted: &[usize], guard: TailGuard) {
        let Some(whole) = self.whole.clone() else {
            return;
        };
        if self.rungs.len() < promoted.len() {
            let because = match guard.broken_by(&whole) {
                Some(_) => AlternativeReason::UnprovenLeversAndTail,
                None => AlternativeReason::UnprovenLevers,
            };
            self.alternatives.push(Alternative {
                levers: self.titles(promoted),
                comparison: Box::new(whole),
                because,
            });
        }
    }

    /// What the duels of a question say, where any counts.
    ///
    /// # Errors
    /// The results cannot be read.
    pub(crate) fn judged(
        &self,
        study: &Study,
        test: &SequentialTest<'_>,
        outcome: &TestOutcome,
    ) -> Result<Option<Comparison>> {
        let counts = outcome.duels.iter().any(|duel| duel.score.is_some());
        counts.then(|| comparison(study, test, outcome)).transpose()
    }

    /// What the screening came to, or came to so far.
    pub(crate) fn take_screening(&mut self, screening: Screening) {
        let set_aside = screening.set_aside.iter();
        self.not_tried
            .extend(set_aside.map(|(_, lever)| lever.clone()));
        let stopped = screening.stopped;
        if screening.strongest_only && screening.scored > 0 && !stopped {
            self.warnings.push(Finding::StrongestOnly.into());
        }
        if screening.failed > 0 {
            let duels = screening.failed;
            self.warnings
                .push(Finding::ScreeningFailures { duels }.into());
        }
        self.screening = Some(screening);
        if stopped {
            self.warnings.push(Finding::ScreeningStopped.into());
        } else {
            self.warnings.extend(self.missing_controls());
        }
    }

    /// What the search came to, or came to so far.
    pub(crate) fn take_search(&mut self, outcome: &SearchOutcome) {
        self.candidates.clone_from(&outcome.candidates);
        self.searched = Some(Searched {
            ranges: outcome.ranges.clone(),
            duels: outcome.duels,
            effect: outcome.effect,
        });
    }

    /// What the duels of the total say.
    ///
    /// # Errors
    /// The results cannot be read.
    pub(crate) fn take_total(
        &mut self,
        study: &Study,
        test: &SequentialTest<'_>,
        outcome: &TestOutcome,
    ) -> Result<()> {
        self.warn_of("total", outcome);
        if outcome.duels.iter().any(|duel| duel.score.is_some()) {
            let mut total = comparison(study, test, outcome)?;
            take_answers(&mut total, self.answers.as_ref());
            self.warnings
                .extend(total.caution.clone().map(Warning::from));
            self.total = Some(total);
            self.total_slice_seconds = test.shape.slice_seconds;
        } else {
            self.total_failure = outcome.failure.clone();
        }
        Ok(())
    }

    /// What the duels of a rung say, which people call `title`.
    ///
    /// # Errors
    /// The results cannot be read.
    pub(crate) fn take_claim(
        &mut self,
        rung: usize,
        title: &str,
        study: &Study,
        test: &SequentialTest<'_>,
        outcome: &TestOutcome,
    ) -> Result<()> {
        self.warn_of(title, outcome);
        if outcome.duels.iter().any(|duel| duel.score.is_some()) {
            self.rungs[rung].claim = Some(comparison(study, test, outcome)?);
        }
        Ok(())
    }

    /// Adds warnings on the duels that decide whether levers are kept. The table of dropped levers says where they were too few.
    pub(crate) fn warn_of_trial(&mut self, what: &str, outcome: &TestOutcome) {
        let before = self.warnings.len();
        self.warn_of(what, outcome);
        let mut place = 0;
        self.warnings.retain(|warning| {
            place += 1;
            let is_told_elsewhere = matches!(
                warning.finding,
                Finding::TooFewDuels { .. } | Finding::BeyondBudget { .. }
            );
            place <= before || !is_told_elsewhere
        });
    }

    /// What a reader must know of the duels of a question.
    pub(crate) fn warn_of(&mut self, what: &str, outcome: &TestOutcome) {
        self.warnings.extend(warnings(what, outcome, true));
    }

    pub(crate) fn screened(&self, role: Role) -> impl Iterator<Item = (usize, &Screened)> {
        self.candidates
            .iter()
            .enumerate()
            .filter(move |(_, candidate)| candidate.lever.role() == role)
            .filter_map(|(index, _)| Some((index, self.effect(index)?)))
    }

    pub(crate) fn effect(&self, index: usize) -> Option<&Screened> {
        self.screening.as_ref()?.effects.get(index)?.as_ref()
    }

    pub(crate) fn together(&self) -> &[([usize; 2], Together)] {
        self.screening
            .as_ref()
            .map_or(&[], |screening| &screening.together)
    }

    /// What the screening promotes of all candidates but these, best first: none with which the server stood still so much that over all
    /// time nothing of its gain is left.
    pub(crate) fn newly_promoted(&self, options: &TuneOptions, without: &[usize]) -> Vec<usize> {
        let mut without = without.to_vec();
        without.extend(self.standing_still(options).map(|(index, _)| index));
        self.promoted_of_the_rest(options, &without)
    }

    /// What would be promoted if medians were all, and stands still instead; with what is told of it.
    pub(crate) fn left_for_standing_still(&self, options: &TuneOptions) -> Vec<(usize, Finding)> {
        let by_median = self.promoted_of_the_rest(options, &[]);
        self.standing_still(options)
            .filter(|(index, _)| by_median.contains(index))
            .map(|(index, costs)| {
                let finding = Finding::StandsStill {
                    title: self.candidates[index].lever.title().to_owned(),
                    with: costs.with,
                    without: costs.without,
                    cost: -costs.log_cost.exp_m1(),
                };
                (index, finding)
            })
            .collect()
    }

    /// Candidates whose standstills cost what they gain.
    fn standing_still(&self, options: &TuneOptions) -> impl Iterator<Item = (usize, Unsteady)> {
        let unsteady = self.screening.iter().flat_map(|found| &found.unsteady);
        unsteady.copied().filter(|(index, costs)| {
            let effect = self.screened_effect(*index, options.goal);
            effect.is_some_and(|effect| costs.outweighs(&effect, options.rule.min_effect))
        })
    }

    /// What the screening and earlier measurements say of a candidate.
    fn screened_effect(&self, index: usize, goal: Goal) -> Option<ScreenedEffect> {
        let screened = self.effect(index)?;
        Some(ScreenedEffect {
            log_effect: screened.effect.ratio.ln(),
            std_err: screened.std_err,
            prior: self.candidates[index].prior_of(goal),
        })
    }

    /// Whether the screening, with earlier measurements, says that a candidate helps, far beyond chance.
    pub(crate) fn is_likely(&self, index: usize, goal: Goal) -> bool {
        let effect = self.screened_effect(index, goal);
        effect.is_some_and(|effect| effect.is_likely())
    }

    fn promoted_of_the_rest(&self, options: &TuneOptions, without: &[usize]) -> Vec<usize> {
        let factors = factors(&self.candidates);
        let candidates = &self.candidates;
        let excluded_by = |index: usize| -> Vec<usize> {
            let lever = &candidates[index].lever;
            let apart = |other: &usize| lever.is_apart_from(&candidates[*other].lever);
            (0..candidates.len()).filter(apart).collect()
        };
        let prospects: Vec<Prospect> = self
            .screened(Role::Lever)
            .filter(|(index, _)| !without.contains(index))
            .filter_map(|(index, _)| {
                Some(Prospect {
                    index,
                    factor: factors.iter().position(|f| f.levels.contains(&index))?,
                    effect: self.screened_effect(index, options.goal)?,
                    apart: excluded_by(index),
                })
            })
            .collect();
        let bonds: Vec<Bond> = self
            .together()
            .iter()
            .map(|(levers, together)| Bond {
                levers: *levers,
                log_effect: together.effect.ratio.ln(),
                std_err: together.std_err,
            })
            .collect();
        promote(&prospects, &bonds, options.rule.min_effect)
    }

    /// The candidates with these identifiers, in their order.
    pub(crate) fn places(&self, ids: &[String]) -> Vec<usize> {
        let place = |id: &String| {
            let mut candidates = self.candidates.iter();
            candidates.position(|candidate| candidate.lever.id() == id)
        };
        ids.iter().filter_map(place).collect()
    }

    /// The identifiers of these candidates.
    pub(crate) fn ids(&self, places: &[usize]) -> Vec<String> {
        let id = |&index: &usize| self.candidates[index].lever.id().to_owned();
        places.iter().map(id).collect()
    }

    /// Whether fresh duels proved the final variant faster, all of them together.
    pub(crate) fn is_proven(&self) -> bool {
        let judged = self.total.as_ref().map(Comparison::judged);
        judged.is_some_and(Judgement::shows_gain)
    }

    /// A tuning without one of its controls says so.
    pub(crate) fn missing_controls(&self) -> Vec<Warning> {
        [
            (Role::NegativeControl, Control::Negative),
            (Role::PositiveControl, Control::Positive),
        ]
        .into_iter()
        .filter(|(role, _)| self.screened(*role).next().is_none())
        .map(|(_, control)| {
            Warning::from(Finding::NoControl {
                control,
                part: None,
                reason: None,
            })
        })
        .collect()
    }

    /// Why nothing is known of a lever that was to be screened.
    pub(crate) fn unknown(&self) -> Reason {
        match &self.screening {
            Some(screening) if !screening.stopped => Reason::NotToldApart,
            _ => Reason::StoppedBefore,
        }
    }

    pub(crate) fn alarms(&self) -> Vec<Warning> {
        let mut alarms = Vec::new();
        let df = self
            .screening
            .as_ref()
            .map_or(f64::INFINITY, |screening| screening.residual_df);
        let alarm = student::quantile(1.0 - ALARM / 2.0, df);
        for (_, control) in self.screened(Role::NegativeControl) {
            if control.effect.ratio.ln().abs() > alarm * control.std_err {
                let finding = Finding::NegativeControlMoved {
                    part: None,
                    effect: control.effect,
                    one_in: ALARM.recip(),
                };
                alarms.push(finding.into());
            }
        }
        for (_, control) in self.screened(Role::PositiveControl) {
            if control.effect.high >= 1.0 {
                let finding = Finding::PositiveControlUnseen {
                    part: None,
                    effect: control.effect,
                    too_few: None,
                    least_cost: None,
                };
                alarms.push(finding.into());
            }
        }
        alarms
    }

    /// The levers that were promoted, best first, as the rungs of what will be the final variant; nothing of them is claimed yet.
    pub(crate) fn set_rungs(&mut self, promoted: &[usize]) {
        let rungs = promoted.iter().filter_map(|&index| {
            let Candidate { lever, change, .. } = &self.candidates[index];
            let screened = Screened {
                title: lever.title().to_owned(),
                ..self.effect(index)?.clone()
            };
            let now = change.one_line();
            Some(Rung {
                chosen: (now != screened.change).then_some(now),
                screened,
                claim: None,
                why: lever.why().to_owned(),
                risk: lever.risk().to_string(),
            })
        });
        self.rungs = rungs.collect();
    }

    /// What installing the final variant takes; `None` unless fresh duels proved it faster, and with the same answers, and
    /// it was checked: what was stopped before that is not handed over.
    pub(crate) fn deployment(
        &self,
        bench: &Workbench,
        options: &TuneOptions,
    ) -> Result<Option<Deployment>> {
        let total = self.total.as_ref();
        let is_good = self.is_proven() && total.is_some_and(Comparison::may_be_recommended);
        if !is_good || !FinalCheck::may_be_handed_over(&self.checks) {
            return Ok(None);
        }
        let installs = [
            bench.install_of(&self.last)?,
            bench.install_of(&options.base)?,
        ];
        let parts = Part::of_candidates(&self.last, &self.candidates);
        deployment(
            installs,
            &self.last,
            &parts,
            &options.machine,
            bench.start(&self.last.server),
        )
        .map(|found| {
            let used = self.last.levers.iter();
            let sizes = used.filter_map(|id| options.target_sizes.get(id)).flatten();
            let found = of_transport(found, &options.base);
            Some(with_sizes(found, sizes, options.cpus))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use niagara_load::WorkloadSpec;
    use niagara_model::{CheckOutcome, CheckPart};
    use niagara_model::{NextStep, QueriesFirst};
    use niagara_server::{Cache, Cancel, Catalog};
    use niagara_stats::Rule;
    use serde_json::json;

    use super::*;
    use crate::answering::tune::recommendation::next_step;
    use crate::asking::choose_levers::Keep;
    use crate::duels::inventory::MeasuredMachine;
    use crate::lever::{Change, load};
    use crate::plans::spec::Load;

    fn proven() -> Comparison {
        let judged = json!({
            "duels": 8, "verdict": "faster", "estimate": { "ratio": 1.4, "low": 1.3, "high": 1.5 },
            "w": 36.0, "critical": 36, "predictive_power": 1.0, "next_look": null, "alpha": 0.05,
        });
        let content = json!({
            "a": "a", "b": "b", "goal": "throughput", "throughput": judged,
            "cpu_per_transaction": null, "latency_p50": null, "latency_p95": null,
            "tps": [1.0, 1.4], "dropped": [0, 0], "couples": 1,
        });
        serde_json::from_value(content).expect("a comparison")
    }

    fn options(candidates: Vec<Candidate>) -> TuneOptions {
        TuneOptions {
            base: Variant::base("s"),
            candidates,
            not_applicable: Vec::new(),
            goal: Goal::Throughput,
            rate: None,
            alpha: 0.05,
            rule: Rule::default(),
            budget_seconds: 1.0,
            screen_couples: None,
            couples: None,
            slice_seconds: 0.1,
            seed: 1,
            machine: MeasuredMachine::default(),
            cpus: 2,
            profile: None,
            noise: None,
            keep: Keep::Proven,
            guard: TailGuard::default(),
            remote_application: false,
            next: None,
            target_sizes: BTreeMap::new(),
        }
    }

    /// A lever that is in force or not, as screened: × 1.06 [1.04, 1.08].
    fn screened(id: &str) -> (Candidate, Screened) {
        let mut levers = load(&[]).expect("the shipped levers").into_iter();
        let lever = levers
            .find(|lever| lever.id() == id)
            .expect("a shipped lever");
        let screened = Screened {
            lever: id.to_owned(),
            title: lever.title().to_owned(),
            change: String::new(),
            effect: Estimate::from_log_std_err(1.06f64.ln(), 0.01, 2.0),
            std_err: 0.01,
            expected: None,
            duels: 36,
            tail: None,
        };
        let candidate = Candidate {
            lever,
            change: Change::default(),
            span: None,
            prior: None,
        };
        (candidate, screened)
    }

    /// A screening to its end.
    fn screening(effects: Vec<Screened>) -> Screening {
        Screening {
            effects: effects.into_iter().map(Some).collect(),
            together: Vec::new(),
            unsteady: Vec::new(),
            set_aside: Vec::new(),
            residual_sd: Some(0.03),
            residual_df: 10.0,
            scored: 36,
            strongest_only: false,
            failed: 0,
            stopped: false,
        }
    }

    #[test]
    fn what_stands_still_is_promoted_only_where_its_gain_is_more_than_that_costs() {
        let (candidates, effects): (Vec<Candidate>, Vec<Screened>) =
            ["io-capacity-high", "log-spin", "native-aio-off"]
                .map(screened)
                .into_iter()
                .unzip();
        let options = options(candidates);
        let mut tuned = TuneResult::new(&options);
        let stands_still = |factor, log_cost| {
            let costs = Unsteady {
                factor,
                level: 1,
                with: 9,
                without: 1,
                log_cost,
            };
            (factor, costs)
        };
        tuned.screening = Some(Screening {
            unsteady: vec![stands_still(0, -0.2), stands_still(1, -0.02)],
            ..screening(effects)
        });
        let mut promoted = tuned.newly_promoted(&options, &[]);
        promoted.sort_unstable();
        assert_eq!(promoted, [1, 2]);
        let told = tuned.left_for_standing_still(&options);
        let [(0, finding)] = &told[..] else {
            panic!("{told:?}");
        };
        let text = finding.to_string();
        assert!(
            text.contains("in 9 of its duels") && text.contains("costs 18 %"),
            "{text}"
        );
    }

    #[test]
    fn the_negative_control_is_warned_of_as_the_documents_say() {
        let (candidate, screened) = screened("connect-errors-more");
        let options = options(vec![candidate]);
        let alarms = |std_errs: f64| {
            let mut tuned = TuneResult::new(&options);
            let effect = Estimate::from_log_std_err(-std_errs * screened.std_err, 0.01, 2.0);
            let control = Screened {
                effect,
                ..screened.clone()
            };
            tuned.screening = Some(Screening {
                residual_df: 20.0,
                ..screening(vec![control])
            });
            tuned.alarms().len()
        };
        // Of 20 degrees of freedom 95 % lie within 2.09 standard errors, 99 % within 2.85.
        assert_eq!([2.5, 2.8, 2.9].map(alarms), [0, 0, 1]);
        let once = format!("once in {:.0} tunings", ALARM.recip());
        let page = include_str!("../../../../../docs/methodology.md");
        assert!(page.contains(&once), "{once}");
    }

    #[test]
    fn the_next_tuning_tries_what_is_kept_and_what_is_open() {
        let ids = [
            "transport-unix",
            "log-spin",
            "native-aio-off",
            "scheduling-batch",
        ];
        let (candidates, effects): (Vec<Candidate>, Vec<Screened>) =
            ids.map(screened).into_iter().unzip();
        let options = options(candidates);
        let mut tuned = TuneResult::new(&options);
        tuned.screening = Some(screening(effects));
        tuned.hand_over(&[0]);
        tuned.drop_lever(1, None, DropReason::NotShown);
        tuned.drop_lever(2, None, DropReason::Unsound);
        tuned.drop_lever(3, None, DropReason::TimeEnded);
        tuned.undecided = vec![3];
        tuned.ending = Some(Final::TimeUsed);
        let next = next_step(&tuned, &options);
        let Some(NextStep::MoreTime { levers, ids }) = next else {
            panic!("{next:?}");
        };
        assert_eq!(ids, ["transport-unix", "scheduling-batch"]);
        assert_eq!(levers.len(), 1);
        // Statements come before the server.
        let first = QueriesFirst {
            share: 0.28,
            of_time: true,
            digests: 7,
            digest: "eed97cae8341bb68".to_owned(),
            rows_examined: 514.0,
            rows_returned: 10.0,
            indexes: Vec::new(),
            saved: 0.0,
        };
        tuned.warnings.push(Finding::QueriesFirst(first).into());
        let next = next_step(&tuned, &options);
        assert_eq!(next, Some(NextStep::Advise { indexes: 0 }));
    }

    #[test]
    fn what_is_not_recommended_says_whether_its_tail_is_worse() {
        let (candidate, effect) = screened("transport-unix");
        let because = |p99: f64| {
            let mut tuned = TuneResult::new(&options(vec![candidate.clone()]));
            tuned.screening = Some(screening(vec![effect.clone()]));
            tuned.whole = Some(Comparison {
                latency_p99: Some(Estimate::from_log_std_err(p99.ln(), 0.01, 2.0)),
                ..proven()
            });
            tuned.add_whole(&[0], TailGuard::default());
            tuned.alternatives.remove(0).because
        };
        assert_eq!(because(1.11), AlternativeReason::UnprovenLeversAndTail);
        assert_eq!(because(1.01), AlternativeReason::UnprovenLevers);
    }

    #[test]
    fn undecided_levers_are_told_with_the_smallest_group_that_helps() {
        let mut tuned = TuneResult::new(&options(Vec::new()));
        assert_eq!(tuned.why_undecided(1), DropReason::TimeEnded);
        let group = |levers: &[usize], duels| HelpfulGroup {
            levers: levers.to_vec(),
            effect: Estimate::from_log_std_err(1.06f64.ln(), 0.01, 2.0),
            duels,
        };
        tuned.helpful_groups = vec![group(&[1, 2, 3, 4], 5), group(&[3, 4], 7)];
        let told = |index| match tuned.why_undecided(index) {
            DropReason::TimeEndedInGroup { levers, duels, .. } => Some((levers, duels)),
            _ => None,
        };
        assert_eq!([0, 1, 3].map(told), [None, Some((4, 5)), Some((2, 7))]);
    }

    #[test]
    fn what_was_proven_is_handed_over_once_it_was_checked() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let load = Load {
            workload: WorkloadSpec::default(),
            engine: "InnoDB".to_owned(),
            threads: 1,
        };
        let cache = Cache::at(folder.path()).expect("a cache");
        let catalog = Catalog::load(&[]).expect("the built-in catalogue");
        let bench = Workbench::new(cache, catalog, load, Cancel::default());
        let options = options(Vec::new());
        let mut tuned = TuneResult::new(&options);
        tuned.total = Some(proven());
        let unchecked = tuned.deployment(&bench, &options);
        assert_eq!(unchecked.expect("nothing to make it from is needed"), None);
        tuned.checks = vec![FinalCheck {
            part: CheckPart::Answers,
            outcome: CheckOutcome::Broken {
                error: "no room".into(),
            },
            limits: Vec::new(),
        }];
        let broken = tuned.deployment(&bench, &options);
        assert_eq!(broken.expect("nothing to make it from is needed"), None);
        tuned.checks[0].outcome = CheckOutcome::Passed {
            figures: Vec::new(),
        };
        // From here on it asks for the server, which is not set up here.
        assert!(tuned.deployment(&bench, &options).is_err());
    }
}
