//! `tune`: the main job. Try every lever that applies, keep what is proven, say what was found.

use anyhow::Result;
use niagara_model::{FinalCheck, Finding, NotTried, Phase, Reason, Summary, Warning};
use niagara_server::Cancelled;
use niagara_stats::{ErrorBudget, Verdict, derive_seed};

use crate::answering::build_note::check_build;
use crate::answering::final_check::{check_final, undone_checks};
use crate::answering::ladder::rung_errors;
use crate::answering::measuring::{Found, Measuring};
use crate::answering::rate::find_rate;
use crate::answering::sequential_test::{
    RunningTest, SPARE_TIME, SequentialTest, TestOutcome, first_look_seconds, seconds_of,
};
use crate::answering::tune::options::{TuneOptions, two_rungs_errors};
use crate::answering::tune::plan::TuneTime;
use crate::answering::tune::probe::probe;
use crate::answering::tune::screen::{RunningScreening, ScreenOptions, Screening};
use crate::answering::tune::search::{
    Outcome as SearchOutcome, RunningSearch, SearchOptions, Space, fewest_duels,
    search_duel_seconds, starting_values, worth_searching,
};
use crate::answering::tune::tuned::TuneResult;
use crate::asking::choose_levers::Keep;
use crate::asking::duel_defaults::DefaultCouples;
use crate::asking::question::MAX_DUELS;
use crate::duels::workbench::Workbench;
use crate::lever::Role;
use crate::plans::announced::{Announced, TunePlan};
use crate::plans::duel_plan::DuelShape;
use crate::plans::observer::{Event, Observer};
use crate::profile::look;
use crate::studies::checkpoint;
use crate::studies::study::Study;
use crate::variants::candidate::{Candidate, with_all};
use crate::variants::variant::Variant;

/// Share of the budget by which the profile may exceed it: duels end when they end, not when planned.
const PROFILE_OVERRUN: f64 = 0.1;
/// Share of the time that a search over ranges takes at most, of what the first looks of the proof leave.
const SEARCH_SHARE: f64 = 0.6;
/// Screening continues with further replicates of the design until every standard error is below this.
const EXACT_ENOUGH: f64 = 0.002;

/// Parts of a tuning before which the build of what was promoted is looked at.
const BEFORE_SEARCH: &str = "search";
const BEFORE_TOTAL: &str = "total";
const BEFORE_FINAL: &str = "final";
/// Half the width of an interval (a fraction) that a total is never made narrower than.
const LEAST_WIDTH: f64 = 0.002;

/// What the profile of a tuning is kept under.
const FINAL_VARIANT: &str = "the final variant";

/// A tuning that is set up.
pub(crate) struct TuneRun<'a> {
    bench: &'a Workbench,
    options: &'a TuneOptions,
    found: TuneResult,
    /// Couples of a duel that judges.
    couples: u32,
    /// A duel of the total: of longer slices than others where there is time for the tail of latency.
    total_shape: DuelShape,
    /// Candidates that were promoted and then left out.
    left_out: Vec<usize>,
}

impl Measuring for TuneRun<'_> {
    fn prepare(&mut self, study: &mut Study, observer: &mut dyn Observer) -> Result<()> {
        self.keep_reasons(study)?;
        self.drop_misfits(study, observer)?;
        let plan = self.plan(study)?;
        self.keep_only(&plan);
        let candidates = self.found.candidates.iter();
        let controls = candidates.filter(|candidate| candidate.lever.role() != Role::Lever);
        observer.see(Event::Announced(Announced::Tune {
            server: &self.options.base.server,
            load: &self.bench.load().one_line(),
            budget_seconds: self.options.budget_seconds,
            plan: &plan,
            controls: controls.count(),
        }));
        if let Some(choice) = self.options.rate {
            let (base, goal) = (&self.options.base, self.options.goal);
            let found = find_rate(self.bench, study, base, choice, goal, observer)?;
            self.found.warnings.extend(found.warning.map(Warning::from));
            study.set_rate(found.rate);
        }
        Ok(())
    }

    fn measure(&mut self, study: &mut Study, observer: &mut dyn Observer) -> Result<()> {
        let plan = self.plan(study)?;
        self.screen(study, &plan, observer)?;
        let promoted = self.promoted(study, observer)?;
        let found = |tuning: &Self, without: &[usize]| match without.is_empty() {
            true => promoted.clone(),
            false => tuning.found.newly_promoted(tuning.options, without),
        };
        let promoted = self.keep_sound(study, BEFORE_SEARCH, &found, observer)?;
        let promoted = self.keep_what_starts(study, promoted, observer)?;
        // Stopped from here on, it says what it would have gone on with.
        self.found.set_rungs(&promoted);
        self.keep_summary(study)?;
        let promoted = self.search(study, &plan, promoted, observer)?;
        self.found.set_rungs(&promoted);
        let promoted = self.keep_answers(study, promoted, observer)?;
        // Other levers beside it make another build.
        let remaining = |_: &Self, without: &[usize]| {
            let stays = promoted.iter().filter(|index| !without.contains(index));
            stays.copied().collect()
        };
        let sound = self.keep_sound(study, BEFORE_TOTAL, &remaining, observer)?;
        // What was answered before was answered with what is left out now.
        let promoted = match sound.len() == promoted.len() {
            true => sound,
            false => self.keep_answers(study, sound, observer)?,
        };
        self.total_shape = self.shape_of_total(study, &promoted)?;
        match (promoted.as_slice(), self.options.keep) {
            ([], _) => self.found.hand_over(&[]),
            ([_], Keep::Proven) => {
                self.judge_kept(study, &promoted, promoted.clone(), observer)?;
                self.take_only_rung();
            }
            (_, Keep::Proven) => self.select(study, &promoted, observer)?,
            (_, Keep::Screened) => {
                self.judge_total(study, &promoted, observer)?;
                self.judge_rungs(study, &promoted, observer)?;
            }
        }
        self.conclude(study);
        self.look_at_last(study, observer)?;
        self.found.complete = self.check_final(study, observer)?;
        Ok(())
    }

    fn warn(&mut self, finding: Finding) {
        self.found.warnings.push(finding.into());
    }

    fn found(&self, study: &Study, _complete: bool) -> Result<Found> {
        Ok(Found::Summary(self.summary(study)?))
    }
}

impl<'a> TuneRun<'a> {
    pub(crate) fn new(bench: &'a Workbench, options: &'a TuneOptions) -> Self {
        Self {
            bench,
            options,
            found: TuneResult::new(options),
            // Until there is a plan.
            couples: DefaultCouples::LADDER.of(options.slice_seconds),
            total_shape: DefaultCouples::LADDER.of(options.slice_seconds).into(),
            left_out: Vec::new(),
        }
    }

    /// Checks the proven variant as a whole before it is handed over, and its build again where its record is gone. Returns whether
    /// all of that could be done.
    fn check_final(&mut self, study: &mut Study, observer: &mut dyn Observer) -> Result<bool> {
        if !self.found.is_proven() {
            return Ok(true);
        }
        let undone = study.aside(observer, |observer| {
            check_build(self.bench, &self.found.last, observer)
        })?;
        let is_build_checked = undone.is_none();
        self.found.warnings.extend(undone.map(Warning::from));
        let used = |candidate: &&Candidate| {
            self.found
                .last
                .levers
                .iter()
                .any(|id| id == candidate.lever.id())
        };
        let mut levers = self.found.candidates.iter().filter(used);
        let recovery = levers.any(|candidate| candidate.lever.touches_recovery());
        let sides = [&self.options.base, &self.found.last];
        self.found.checks = check_final(self.bench, study, sides, recovery, observer)?;
        self.found
            .warnings
            .extend(undone_checks(&self.found.checks).map(Warning::from));
        Ok(is_build_checked && FinalCheck::none_broken(&self.found.checks))
    }

    /// Why builds are not tried is decided when a tuning begins: a later sitting tells the same reasons.
    fn keep_reasons(&mut self, study: &Study) -> Result<()> {
        let at_first = study.recall_or(&checkpoint::not_applicable(), || {
            Ok(self.options.not_applicable.clone())
        })?;
        for told in &mut self.found.not_tried {
            let first = at_first.iter().find(|known| known.lever == told.lever);
            if told.reason == Reason::BegunWithout
                && let Some(first) = first
            {
                told.reason.clone_from(&first.reason);
            }
        }
        Ok(())
    }

    /// Starts the server with the levers and drops those that it refuses or that change nothing.
    fn drop_misfits(&mut self, study: &Study, observer: &mut dyn Observer) -> Result<()> {
        let misfits = study.recall_or(&checkpoint::misfits(), || {
            let probed = probe(
                self.bench,
                &self.options.base,
                &self.found.candidates,
                observer,
            )?;
            study.note(&niagara_model::Event::StartSettings {
                settings: probed.start,
            })?;
            Ok(probed.misfits)
        })?;
        self.found
            .candidates
            .retain(|candidate| !misfits.iter().any(|m| m.lever == candidate.lever.id()));
        self.found.not_tried.extend(misfits);
        Ok(())
    }

    fn plan(&self, study: &Study) -> Result<TunePlan> {
        study.recall_or(&checkpoint::tune_plan(), || self.new_plan(study))
    }

    fn new_plan(&self, study: &Study) -> Result<TunePlan> {
        let options = self.options;
        let time = TuneTime {
            duel_settings: study.duel_settings(),
            budget_seconds: options.budget_seconds,
            goal: options.goal,
            candidates: &self.found.candidates,
            screen_couples: options.screen_couples,
            couples: options.couples,
            noise: options.noise,
            total_errors: options.total_errors(),
            rung_errors: two_rungs_errors(options.alpha),
            spare: SPARE_TIME,
        };
        time.plan()
    }

    /// The levers of the plan, in its order: what is known of them may order them otherwise in a later sitting.
    fn keep_only(&mut self, plan: &TunePlan) {
        let place = |candidate: &Candidate| {
            let mut ids = plan.levers.iter();
            ids.position(|id| id == candidate.lever.id())
        };
        let (mut kept, left_out): (Vec<Candidate>, Vec<Candidate>) =
            std::mem::take(&mut self.found.candidates)
                .into_iter()
                .partition(|candidate| place(candidate).is_some());
        kept.sort_by_key(place);
        self.found.candidates = kept;
        self.couples = plan.couples;
        self.total_shape = plan.couples.into();
        self.found
            .not_tried
            .extend(left_out.into_iter().map(|candidate| {
                NotTried {
                    lever: candidate.lever.id().to_owned(),
                    title: candidate.lever.title().to_owned(),
                    reason: match plan.left_out.iter().any(|id| id == candidate.lever.id()) {
                        true => Reason::BudgetTooShort,
                        // It became available while the tuning was stopped.
                        false => Reason::BegunWithout,
                    },
                }
            }));
    }

    fn screen(
        &mut self,
        study: &mut Study,
        plan: &TunePlan,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let options = self.options;
        let screen_options = ScreenOptions {
            duels: plan.screening_duels,
            couples: plan.screen_couples,
            goal: options.goal,
            time: options.screen_time(self.couples),
            worthwhile: options.rule.min_effect,
            enough: EXACT_ENOUGH,
            seed: options.seed,
        };
        observer.see(Event::Stage {
            name: "screening",
            seconds: screen_options.time.ends(study)[0] - study.used_seconds(),
        });
        let candidates = &self.found.candidates;
        let screening =
            RunningScreening::begin(self.bench, &options.base, candidates, screen_options);
        let tell = |study: &Study, so_far: &Screening| {
            self.told(study, |found| {
                found.take_screening(so_far.clone());
                Ok(())
            })
        };
        let screening = study.run(self.bench, screening, Some(&tell), observer)?;
        let stopped = screening.stopped;
        self.found.take_screening(screening);
        self.keep_summary(study)?;
        if stopped {
            Err(Cancelled.into())
        } else {
            Ok(())
        }
    }

    /// Stores how far the ladder came, so that a report can be made whatever happens next.
    fn keep_summary(&self, study: &Study) -> Result<()> {
        study.keep_unfinished(self.summary(study)?)
    }

    fn summary(&self, study: &Study) -> Result<Summary> {
        self.told(study, |_| Ok(()))
    }

    /// What was found so far, with what `take` adds of what is being measured.
    fn told(
        &self,
        study: &Study,
        take: impl FnOnce(&mut TuneResult) -> Result<()>,
    ) -> Result<Summary> {
        let mut found = self.found.clone();
        take(&mut found)?;
        let summary = found.summary(self.bench, study, self.options)?;
        Ok(Summary::Tune(Box::new(summary)))
    }

    /// The levers that continue, best first; of an exclusive choice only the best.
    fn promoted(&mut self, study: &Study, observer: &mut dyn Observer) -> Result<Vec<usize>> {
        let ids = study.recall_or(&checkpoint::promoted(), || {
            let promoted = self.found.newly_promoted(self.options, &[]);
            Ok(self.found.ids(&promoted))
        })?;
        let promoted = self.found.places(&ids);
        for (_, finding) in self.found.left_for_standing_still(self.options) {
            observer.see(Event::Note(&finding.to_string()));
            self.found.warnings.push(finding.into());
        }
        Ok(promoted)
    }

    /// The time that is left before the total goes into a search over the ranges that matter; the levers that remain after
    /// it, with the values that it chose.
    fn search(
        &mut self,
        study: &mut Study,
        plan: &TunePlan,
        promoted: Vec<usize>,
        observer: &mut dyn Observer,
    ) -> Result<Vec<usize>> {
        let options = self.options;
        let couples = plan.screen_couples;
        let until_seconds = study.recall_or(&checkpoint::search_until(), || {
            Ok(self.search_until(study, &promoted))
        })?;
        let ranges = study.recall_or(&checkpoint::searching(), || {
            let seconds = fewest_duels() as f64 * search_duel_seconds(study, couples);
            if study.used_seconds() + seconds > until_seconds {
                return Ok(Vec::new());
            }
            let chosen =
                worth_searching(&self.found.candidates, &promoted, options.goal, |index| {
                    self.found.effect(index)
                });
            let start = with_all(&options.base, &self.found.candidates, &promoted);
            starting_values(self.bench, &start, &self.found.candidates, &chosen)
        })?;
        if ranges.is_empty() {
            return Ok(promoted);
        }
        let names: Vec<String> = ranges.iter().map(|range| range.span.one_line()).collect();
        observer.see(Event::Stage {
            name: "search",
            seconds: until_seconds - study.used_seconds(),
        });
        observer.see(Event::Note(&format!("searching {}", names.join("; "))));
        let space = Space {
            base: &options.base,
            candidates: &self.found.candidates,
            promoted: &promoted,
            ranges: &ranges,
        };
        let search_options = SearchOptions {
            couples,
            goal: options.goal,
            until_seconds,
            seed: options.seed,
        };
        let search = RunningSearch::begin(space, search_options);
        let tell = |study: &Study, so_far: &SearchOutcome| {
            self.told(study, |found| {
                found.take_search(so_far);
                Ok(())
            })
        };
        let outcome = study.run(self.bench, search, Some(&tell), observer)?;
        self.found.take_search(&outcome);
        self.keep_summary(study)?;
        if outcome.stopped {
            return Err(Cancelled.into());
        }
        if let Some(searched) = &self.found.searched {
            observer.see(Event::Note(&searched.lines(false).join("; ")));
        }
        Ok(outcome.promoted)
    }

    /// Seconds of the budget at which a search ends: it may take [`SEARCH_SHARE`] of what the first looks of the proof and the
    /// profile leave, and the proof has the rest.
    fn search_until(&self, study: &Study, promoted: &[usize]) -> f64 {
        let proof = match self.options.keep {
            Keep::Proven => self.first_looks_seconds(study, promoted),
            Keep::Screened => 0.0,
        };
        let kept = proof + self.total_seconds(study) + self.options.profile_seconds();
        study.used_seconds() + SEARCH_SHARE * (study.left_seconds() - kept).max(0.0)
    }

    /// Seconds that the first looks at the total take.
    fn total_seconds(&self, study: &Study) -> f64 {
        let duels = self.options.screen_time(self.couples).total_duels[0];
        seconds_of(study, duels, self.couples)
    }

    fn judge_total(
        &mut self,
        study: &mut Study,
        promoted: &[usize],
        observer: &mut dyn Observer,
    ) -> Result<()> {
        self.found.last = with_all(&self.options.base, &self.found.candidates, promoted);
        self.found.set_rungs(promoted);
        if promoted.is_empty() {
            return Ok(());
        }
        observer.see(Event::Stage {
            name: "total",
            seconds: study.left_seconds(),
        });
        let options = self.options;
        let last = self.found.last.clone();
        let test = self.test(
            Phase::Total,
            "",
            &options.base,
            &last,
            options.total_errors(),
        );
        let tell = |study: &Study, so_far: &TestOutcome| {
            self.told(study, |found| found.take_total(study, &test, so_far))
        };
        let running = RunningTest::begin(study, &test)?;
        let outcome = study.run(self.bench, running, Some(&tell), observer)?;
        self.found.take_total(study, &test, &outcome)?;
        self.keep_summary(study)?;
        stop_if_interrupted(&outcome)
    }

    /// One rung is the total.
    fn take_only_rung(&mut self) {
        if let (Some(rung), Some(total)) = (self.found.rungs.first_mut(), &self.found.total) {
            rung.claim = Some(total.clone());
        }
    }

    /// Rung by rung, best first, each against the best so far, as far as the time goes.
    fn judge_rungs(
        &mut self,
        study: &mut Study,
        promoted: &[usize],
        observer: &mut dyn Observer,
    ) -> Result<()> {
        if promoted.len() < 2 {
            self.take_only_rung();
            return Ok(());
        }
        let errors = rung_errors(self.options.alpha, promoted.len(), MAX_DUELS);
        let mut best = self.options.base.clone();
        for (rung, &index) in promoted.iter().enumerate() {
            let candidate = self.found.candidates[index].clone();
            let with = best.with(candidate.lever.id(), &candidate.change);
            let needed =
                first_look_seconds(study, errors, self.couples) + self.options.profile_seconds();
            if !study.has_recalled() && study.left_seconds() < needed {
                break;
            }
            let name = format!("claim: {}", candidate.lever.title());
            observer.see(Event::Stage {
                name: &name,
                seconds: study.left_seconds(),
            });
            let test = self.test(Phase::Claim, candidate.lever.id(), &best, &with, errors);
            let title = candidate.lever.title();
            let tell = |study: &Study, so_far: &TestOutcome| {
                self.told(study, |found| {
                    found.take_claim(rung, title, study, &test, so_far)
                })
            };
            let running = RunningTest::begin(study, &test)?;
            let outcome = study.run(self.bench, running, Some(&tell), observer)?;
            self.found.take_claim(rung, title, study, &test, &outcome)?;
            self.keep_summary(study)?;
            stop_if_interrupted(&outcome)?;
            let claim = self.found.rungs[rung].claim.as_ref();
            let title = title.to_owned();
            let finding = if claim.is_some_and(|claim| !claim.may_be_recommended()) {
                Finding::RungLeftOut {
                    title,
                    failed: false,
                }
            } else if outcome.failure.is_some() {
                Finding::RungLeftOut {
                    title,
                    failed: true,
                }
            } else if outcome.judgement.verdict == Some(Verdict::Slower) {
                Finding::RungWorse {
                    title,
                    lever: candidate.lever.id().to_owned(),
                }
            } else {
                best = with;
                continue;
            };
            self.found.warnings.push(finding.into());
        }
        Ok(())
    }

    fn test<'q>(
        &self,
        phase: Phase,
        subject: &'q str,
        a: &'q Variant,
        b: &'q Variant,
        errors: ErrorBudget,
    ) -> SequentialTest<'q> {
        SequentialTest {
            phase,
            subject,
            goal: self.options.goal,
            a,
            b,
            errors,
            rule: self.options.rule,
            shape: match phase {
                Phase::Total => self.total_shape,
                _ => self.couples.into(),
            },
            seed: derive_seed(self.options.seed, "question", phase as u64),
            reserve_seconds: self.options.profile_seconds(),
            must_answer: phase == Phase::Total,
            // Time that is left after the last question goes into its figure.
            narrow_to: (phase == Phase::Total && self.options.keep == Keep::Proven)
                .then(|| 2.0 * self.options.rule.min_effect.max(LEAST_WIDTH).ln_1p()),
            continues: None,
            best_part: None,
        }
    }

    /// What limits the server now that the levers are in.
    fn look_at_last(&mut self, study: &mut Study, observer: &mut dyn Observer) -> Result<()> {
        let Some(short) = &self.options.profile else {
            return Ok(());
        };
        let planned = self.options.profile_seconds();
        let allowed = self.options.budget_seconds * (1.0 + PROFILE_OVERRUN);
        let seconds = if study.used_seconds() + planned <= allowed {
            planned
        } else {
            0.0
        };
        let warning = look(
            study,
            self.bench,
            FINAL_VARIANT,
            &self.found.last,
            short,
            seconds,
            observer,
        )?;
        self.found.warnings.extend(warning.map(Warning::from));
        Ok(())
    }
}

fn stop_if_interrupted(outcome: &TestOutcome) -> Result<()> {
    if outcome.interrupted {
        Err(Cancelled.into())
    } else {
        Ok(())
    }
}

mod answers;
mod builds;
mod options;
mod plan;
mod probe;
mod recommendation;
mod ruinous_lever;
mod screen;
mod search;
mod selection;
pub(crate) mod set_up;
mod sound_build;
mod summary;
mod suspects;
#[cfg(test)]
mod tests;
mod together;
mod tuned;
