//! `tune`: the main job. Try every lever that applies, keep what is proven, say what was found.

use anyhow::Result;
use niagara_stats::{Bond, Components, ErrorBudget, Prior, Prospect, Rule, Verdict, promote};
use niagara_store::{
    Comparison, Deployment, FinalCheck, Goal, NotTried, Phase, Rung, START_SETTINGS, Screened,
    Searched, Summary, Together, TuneSummary,
};

use crate::asking::duel_defaults::DefaultCouples;
use crate::asking::question::MAX_DUELS;
use crate::client_host::ClientHost;
use crate::duels::workbench::Workbench;
use crate::lever::Role;
use crate::profile::{NO_TIME_FOR_A_PROFILE, ShortProfile, look, seconds_each};
use crate::questions::build_note::{FINAL, build_notes, check_build, not_recommended};
use crate::questions::deployment::{Part, deployment};
use crate::questions::final_check::{check_final, failed_checks, undone_checks};
use crate::questions::ladder::rung_errors;
use crate::questions::probe::probe;
use crate::questions::rate::{RateChoice, find_rate};
use crate::questions::screen::{ScreenOptions, ScreenTime, Screening, screen};
use crate::questions::search::{
    SearchOptions, Space, fewest_duels, search, starting_values, worth_searching,
};
use crate::questions::sequential_test::{
    SPARE_TIME, SequentialTest, TestOutcome, comparison, first_look_seconds, run_test,
};
use crate::questions::tune_plan::{MAX_SCREENING, TOTAL_DUELS, TuneTime};
use crate::studies::announced::{Announced, TunePlan};
use crate::studies::checkpoint;
use crate::studies::measuring::{Found, Measuring};
use crate::studies::observer::{Event, Observer};
use crate::studies::study::Study;
use crate::variants::candidate::{Candidate, factors, with_all};
use crate::variants::variant::Variant;
use niagara_server::Cancelled;
use niagara_stats::derive_seed;

/// Share of the budget by which the profile may exceed it: duels end when they end, not when planned.
const PROFILE_OVERRUN: f64 = 0.1;
/// Share of the time between the screening and the total that a search over ranges takes at most: rungs want some of it.
const SEARCH_SHARE: f64 = 0.6;
/// A control is believed to differ from nothing beyond this many standard errors (1 % two-sided).
const ALARM_STD_ERRS: f64 = 2.6;
/// Screening continues with further replicates of the design until every standard error is below this.
const EXACT_ENOUGH: f64 = 0.002;

/// How a server is tuned.
#[derive(Debug, Clone)]
pub(crate) struct TuneOptions {
    /// Where the ladder starts.
    pub base: Variant,
    /// Levers that apply here, the controls among them.
    pub candidates: Vec<Candidate>,
    /// Levers that do not apply here, each with the reason.
    pub not_applicable: Vec<NotTried>,
    /// What is tuned for.
    pub goal: Goal,
    /// The rate at which latencies are compared, where they are the goal.
    pub rate: Option<RateChoice>,
    /// Error probability of the total and, shared, of the claims.
    pub alpha: f64,
    /// Smallest worthwhile gain, futility.
    pub rule: Rule,
    /// Seconds for all of it, excluding setup.
    pub budget_seconds: f64,
    /// Couples of a screening duel, where asked for.
    pub screen_couples: Option<u32>,
    /// Couples of a duel that judges, where asked for.
    pub couples: Option<u32>,
    /// Counted time of a slice.
    pub slice_seconds: f64,
    /// Seed.
    pub seed: u64,
    /// The machine in one line, for the person who deploys what was found.
    pub machine: String,
    /// How the final variant is profiled; `None` leaves it out.
    pub profile: Option<ShortProfile>,
    /// What earlier comparisons on this machine tell of its noise; `None` before there are enough.
    pub noise: Option<Components>,
}

impl TuneOptions {
    /// The total: is the final variant faster than the start? A tuning that loses hands nothing over, so only a gain is
    /// claimed.
    fn total_errors(&self) -> ErrorBudget {
        ErrorBudget::one_sided(self.alpha, MAX_DUELS)
    }

    /// Duels without which the total has no interval.
    fn fewest_total_duels(&self) -> usize {
        self.total_errors().fewest_duels().unwrap_or(TOTAL_DUELS)
    }

    /// Couples of a study that was begun before its budget decided them.
    fn usual_couples(&self, usual: DefaultCouples, asked: Option<u32>) -> u32 {
        asked.unwrap_or_else(|| usual.of(self.slice_seconds))
    }

    fn screen_time(&self, couples: u32) -> ScreenTime {
        ScreenTime {
            budget_seconds: self.budget_seconds,
            share: MAX_SCREENING,
            judging_couples: couples,
            total_duels: [
                TOTAL_DUELS.max(self.fewest_total_duels()),
                self.fewest_total_duels(),
            ],
            spare: SPARE_TIME,
        }
    }

    /// Seconds of the budget that the profile of the final variant takes.
    fn profile_seconds(&self) -> f64 {
        let seconds = self
            .profile
            .as_ref()
            .and_then(|_| seconds_each(self.budget_seconds, 1));
        seconds.unwrap_or(0.0)
    }
}

/// What the profile of a tuning is kept under.
const FINAL_VARIANT: &str = "the final variant";

/// A tuning that is set up.
pub(crate) struct Ladder<'a> {
    bench: &'a Workbench,
    options: &'a TuneOptions,
    candidates: Vec<Candidate>,
    not_tried: Vec<NotTried>,
    warnings: Vec<String>,
    screening: Option<Screening>,
    searched: Option<Searched>,
    checks: Vec<FinalCheck>,
    rungs: Vec<Rung>,
    total: Option<Comparison>,
    complete: bool,
    last: Variant,
    /// Couples of a duel that judges.
    couples: u32,
}

impl Measuring for Ladder<'_> {
    fn prepare(&mut self, study: &mut Study, observer: &mut dyn Observer) -> Result<()> {
        self.drop_misfits(study, observer)?;
        let plan = self.plan(study)?;
        self.keep_only(&plan);
        observer.see(Event::Announced(Announced::Tune {
            server: &self.options.base.server,
            load: &self.bench.load().one_line(),
            budget_seconds: self.options.budget_seconds,
            plan: &plan,
        }));
        if let Some(choice) = self.options.rate {
            let rate = find_rate(self.bench, study, &self.options.base, choice, observer)?;
            study.set_rate(rate);
        }
        Ok(())
    }

    fn measure(&mut self, study: &mut Study, observer: &mut dyn Observer) -> Result<()> {
        let plan = self.plan(study)?;
        self.screen(study, &plan, observer)?;
        let promoted = self.promoted(study)?;
        let promoted = self.search(study, &plan, promoted, observer)?;
        self.judge_total(study, &promoted, observer)?;
        self.judge_rungs(study, &promoted, observer)?;
        self.look_at_last(study, observer)?;
        self.check_final(study, observer)?;
        self.complete = true;
        Ok(())
    }

    fn warn(&mut self, text: &str) {
        self.warnings.push(text.to_owned());
    }

    /// With all that the report and deploy/ are made from: whatever happens from here on, they can be made again.
    fn found(&self, study: &Study, _complete: bool) -> Result<Found> {
        let summary = self.summary(study)?;
        Ok(Found::Summary(Summary::Tune(Box::new(summary))))
    }
}

impl<'a> Ladder<'a> {
    pub(crate) fn new(bench: &'a Workbench, options: &'a TuneOptions) -> Self {
        Self {
            bench,
            options,
            candidates: options.candidates.clone(),
            not_tried: options.not_applicable.clone(),
            warnings: Vec::new(),
            screening: None,
            searched: None,
            checks: Vec::new(),
            rungs: Vec::new(),
            total: None,
            complete: false,
            last: options.base.clone(),
            couples: options.usual_couples(DefaultCouples::LADDER, options.couples),
        }
    }

    /// A build is handed over only when it is known to be correct; that is checked once it is known to be faster.
    fn check_final(&mut self, study: &mut Study, observer: &mut dyn Observer) -> Result<()> {
        if !self.is_proven() {
            return Ok(());
        }
        let checked = study.aside(|| check_build(self.bench, &self.last, observer));
        self.warnings.extend(checked?);
        let used =
            |candidate: &&Candidate| self.last.levers.iter().any(|id| id == candidate.lever.id());
        let mut levers = self.candidates.iter().filter(used);
        let recovery = levers.any(|candidate| candidate.lever.touches_recovery());
        let sides = [&self.options.base, &self.last];
        self.checks = check_final(self.bench, study, sides, recovery, observer)?;
        self.warnings.extend(undone_checks(&self.checks));
        Ok(())
    }

    /// Whether fresh duels proved the final variant faster.
    fn is_proven(&self) -> bool {
        self.total
            .as_ref()
            .is_some_and(|total| total.judged().verdict == Some(Verdict::Faster))
    }

    /// Starts the server with the levers and drops those that it refuses or that change nothing.
    fn drop_misfits(&mut self, study: &Study, observer: &mut dyn Observer) -> Result<()> {
        let misfits = study.recall_or(&checkpoint::misfits(), || {
            let probed = probe(self.bench, &self.options.base, &self.candidates, observer)?;
            study.note(START_SETTINGS, &probed.start)?;
            Ok(probed.misfits)
        })?;
        self.candidates
            .retain(|candidate| !misfits.iter().any(|m| m.lever == candidate.lever.id()));
        self.not_tried.extend(misfits);
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
            candidates: &self.candidates,
            screen_couples: options.screen_couples,
            couples: options.couples,
            noise: options.noise,
            fewest_total_duels: options.fewest_total_duels(),
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
            std::mem::take(&mut self.candidates)
                .into_iter()
                .partition(|candidate| place(candidate).is_some());
        kept.sort_by_key(place);
        self.candidates = kept;
        self.couples = plan.couples.unwrap_or(self.couples);
        self.not_tried
            .extend(left_out.into_iter().map(|candidate| {
                NotTried {
                    lever: candidate.lever.id().to_owned(),
                    title: candidate.lever.title().to_owned(),
                    reason: "the budget is too short for this many levers: give a longer --budget"
                        .to_owned(),
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
        let screening = screen(
            self.bench,
            study,
            &options.base,
            &self.candidates,
            &ScreenOptions {
                duels: plan.screening_duels,
                couples: self.screen_couples(plan),
                goal: options.goal,
                time: options.screen_time(self.couples),
                worthwhile: options.rule.min_effect,
                enough: EXACT_ENOUGH,
                seed: options.seed,
            },
            observer,
        )?;
        self.not_tried
            .extend(screening.set_aside.iter().map(|(_, lever)| lever.clone()));
        let stopped = screening.stopped;
        if screening.strongest_only && !stopped {
            self.warnings.push(
                "the time was too short to tell all levers apart: their screened effects are rough, and only the strongest \
                 were chosen; a longer --budget finds more"
                    .to_owned(),
            );
        }
        if screening.failed > 0 {
            self.warnings.push(format!(
                "{} screening duels had a side that did not start or did not last; no lever was to blame unless it is \
                 named below",
                screening.failed
            ));
        }
        self.screening = Some(screening);
        if stopped {
            self.warnings.push(
                "stopped during the screening: nothing was promoted yet, the effects are as far as they were known"
                    .to_owned(),
            );
        } else {
            self.warnings.extend(self.missing_controls());
        }
        self.keep_summary(study)?;
        if stopped {
            Err(Cancelled.into())
        } else {
            Ok(())
        }
    }

    /// Stores how far the ladder came, so that a report can be made whatever happens next.
    fn keep_summary(&self, study: &Study) -> Result<()> {
        let summary = Summary::Tune(Box::new(self.summary(study)?));
        Ok(study.store().set_summary(&summary)?)
    }

    fn screened(&self, role: Role) -> impl Iterator<Item = (usize, &Screened)> {
        self.candidates
            .iter()
            .enumerate()
            .filter(move |(_, candidate)| candidate.lever.role() == role)
            .filter_map(|(index, _)| Some((index, self.effect(index)?)))
    }

    fn effect(&self, index: usize) -> Option<&Screened> {
        self.screening.as_ref()?.effects.get(index)?.as_ref()
    }

    fn together(&self) -> &[([usize; 2], Together)] {
        self.screening
            .as_ref()
            .map_or(&[], |screening| &screening.together)
    }

    /// What is known of a lever from elsewhere; it speaks of throughput.
    fn prior(&self, index: usize) -> Option<Prior> {
        match self.options.goal {
            Goal::Throughput => self.candidates[index].prior,
            Goal::Cpu | Goal::P95 | Goal::P99 => None,
        }
    }

    /// What the screening promotes, by identifiers.
    fn newly_promoted(&self) -> Vec<String> {
        let factors = factors(&self.candidates);
        let prospects: Vec<Prospect> = self
            .screened(Role::Lever)
            .filter_map(|(index, screened)| {
                Some(Prospect {
                    index,
                    factor: factors.iter().position(|f| f.levels.contains(&index))?,
                    log_effect: screened.effect.ratio.ln(),
                    std_err: screened.std_err,
                    prior: self.prior(index),
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
        promote(&prospects, &bonds, self.options.rule.min_effect)
            .into_iter()
            .map(|index| self.candidates[index].lever.id().to_owned())
            .collect()
    }

    /// The levers that continue, best first; of an exclusive choice only the best.
    fn promoted(&self, study: &Study) -> Result<Vec<usize>> {
        let ids = study.recall_or(&checkpoint::promoted(), || Ok(self.newly_promoted()))?;
        Ok(ids
            .iter()
            .filter_map(|id| {
                self.candidates
                    .iter()
                    .position(|candidate| candidate.lever.id() == id)
            })
            .collect())
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
        let couples = self.screen_couples(plan);
        let until_seconds = self.search_until(study);
        let ranges = study.recall_or(&checkpoint::searching(), || {
            let seconds = fewest_duels() as f64 * study.duel_seconds(couples);
            // A study that was begun before there was a search has none: its results have no word for its duels.
            let older = study.has_recalled() || plan.couples.is_none();
            if older || study.used_seconds() + seconds > until_seconds {
                return Ok(Vec::new());
            }
            let chosen = worth_searching(&self.candidates, &promoted, options.goal, |index| {
                self.effect(index)
            });
            let start = with_all(&options.base, &self.candidates, &promoted);
            starting_values(self.bench, &start, &self.candidates, &chosen)
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
            candidates: &self.candidates,
            promoted: &promoted,
            ranges: &ranges,
        };
        let search_options = SearchOptions {
            couples,
            goal: options.goal,
            until_seconds,
            seed: options.seed,
        };
        let outcome = search(self.bench, study, &space, &search_options, observer)?;
        self.candidates = outcome.candidates;
        self.searched = Some(Searched {
            ranges: outcome.ranges,
            duels: outcome.duels,
            effect: outcome.effect,
        });
        self.keep_summary(study)?;
        if outcome.stopped {
            return Err(Cancelled.into());
        }
        Ok(outcome.promoted)
    }

    /// Seconds of the budget at which a search ends: half of what the total's first looks and the profile leave is for the
    /// rungs.
    fn search_until(&self, study: &Study) -> f64 {
        let total = self.options.screen_time(self.couples).total_duels[0] as f64
            * study.duel_seconds(self.couples)
            * SPARE_TIME;
        let free = study.left_seconds() - total - self.options.profile_seconds();
        study.used_seconds() + SEARCH_SHARE * free.max(0.0)
    }

    fn screen_couples(&self, plan: &TunePlan) -> u32 {
        let options = self.options;
        plan.screen_couples.unwrap_or_else(|| {
            options.usual_couples(DefaultCouples::SCREENING, options.screen_couples)
        })
    }

    fn judge_total(
        &mut self,
        study: &mut Study,
        promoted: &[usize],
        observer: &mut dyn Observer,
    ) -> Result<()> {
        self.last = with_all(&self.options.base, &self.candidates, promoted);
        self.rungs = promoted
            .iter()
            .filter_map(|&index| {
                let lever = &self.candidates[index].lever;
                Some(Rung {
                    screened: Screened {
                        // With the value that the search chose.
                        change: self.candidates[index].change.one_line(),
                        ..self.effect(index)?.clone()
                    },
                    claim: None,
                    why: lever.why().to_owned(),
                    risk: lever.risk().to_string(),
                })
            })
            .collect();
        if promoted.is_empty() {
            return Ok(());
        }
        observer.see(Event::Stage {
            name: "total",
            seconds: study.left_seconds(),
        });
        let options = self.options;
        let last = self.last.clone();
        let test = self.test(
            Phase::Total,
            "",
            &options.base,
            &last,
            options.total_errors(),
        );
        let outcome = run_test(self.bench, study, &test, observer)?;
        self.warn("total", &outcome);
        if outcome.duels.iter().any(|duel| duel.score.is_some()) {
            let total = comparison(study, &test, &outcome)?;
            self.warnings.extend(total.caution.clone());
            self.total = Some(total);
        }
        self.keep_summary(study)?;
        stop_if_interrupted(&outcome)
    }

    /// Rung by rung, best first, each against the best so far, as far as the time goes.
    fn judge_rungs(
        &mut self,
        study: &mut Study,
        promoted: &[usize],
        observer: &mut dyn Observer,
    ) -> Result<()> {
        if promoted.len() < 2 {
            // One rung is the total.
            if let (Some(rung), Some(total)) = (self.rungs.first_mut(), &self.total) {
                rung.claim = Some(total.clone());
            }
            return Ok(());
        }
        let errors = rung_errors(self.options.alpha, promoted.len(), MAX_DUELS);
        let mut best = self.options.base.clone();
        for (rung, &index) in promoted.iter().enumerate() {
            let candidate = self.candidates[index].clone();
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
            let outcome = run_test(self.bench, study, &test, observer)?;
            self.warn(candidate.lever.title(), &outcome);
            if outcome.duels.iter().any(|duel| duel.score.is_some()) {
                self.rungs[rung].claim = Some(comparison(study, &test, &outcome)?);
            }
            self.keep_summary(study)?;
            stop_if_interrupted(&outcome)?;
            let claim = self.rungs[rung].claim.as_ref();
            if claim.is_some_and(|claim| !claim.may_be_recommended()) {
                self.warnings.push(format!(
                    "{} was left out of what follows: its replay gave other answers, or was not that of the capture",
                    candidate.lever.title()
                ));
            } else if outcome.judgement.verdict == Some(Verdict::Slower) {
                self.warnings.push(format!(
                    "{} made it worse in its fresh duels: the total was judged with it, a \
                     ladder without it may do better (--without {})",
                    candidate.lever.title(),
                    candidate.lever.id()
                ));
            } else {
                best = with;
            }
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
            couples: self.couples,
            seed: derive_seed(self.options.seed, "question", phase as u64),
            reserve_seconds: self.options.profile_seconds(),
            must_answer: phase == Phase::Total,
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
        let warning = match seconds > 0.0 {
            true => look(
                study,
                self.bench,
                FINAL_VARIANT,
                &self.last,
                short,
                seconds,
                observer,
            )?,
            false => Some(NO_TIME_FOR_A_PROFILE.to_owned()),
        };
        self.warnings.extend(warning);
        Ok(())
    }

    fn warn(&mut self, what: &str, outcome: &TestOutcome) {
        let all = outcome.warnings.iter().chain(&outcome.failure);
        self.warnings
            .extend(all.map(|text| format!("{what}: {text}")));
    }

    /// A tuning without one of its controls says so.
    fn missing_controls(&self) -> Vec<String> {
        [(Role::NegativeControl, "negative control"), (Role::PositiveControl, "positive control")]
            .into_iter()
            .filter(|(role, _)| self.screened(*role).next().is_none())
            .map(|(_, name)| {
                format!("this tuning has no {name}: it could not be measured here, so nothing checks the method")
            })
            .collect()
    }

    fn alarms(&self) -> Vec<String> {
        let mut alarms = Vec::new();
        for (_, control) in self.screened(Role::NegativeControl) {
            if control.effect.ratio.ln().abs() > ALARM_STD_ERRS * control.std_err {
                alarms.push(format!(
                    "the negative control, which changes nothing, shows × {:.3} [{:.3}, {:.3}]: something \
                     else moves these figures, distrust the small ones",
                    control.effect.ratio, control.effect.low, control.effect.high
                ));
            }
        }
        for (_, control) in self.screened(Role::PositiveControl) {
            if control.effect.high >= 1.0 {
                alarms.push(format!(
                    "the positive control, known to slow the server, shows × {:.3} [{:.3}, {:.3}]: a \
                     slowdown that is there was not seen, so gains may have been missed as well (too much noise, or too little time)",
                    control.effect.ratio, control.effect.low, control.effect.high
                ));
            }
        }
        alarms
    }

    fn summary(&self, study: &Study) -> Result<TuneSummary> {
        let options = self.options;
        let install = self.bench.install_of(&options.base)?;
        let in_ladder = |lever: &str| self.rungs.iter().any(|rung| rung.screened.lever == lever);
        let mut not_helped: Vec<Screened> = self
            .screened(Role::Lever)
            .filter(|(_, screened)| !in_ladder(&screened.lever))
            .map(|(_, screened)| screened.clone())
            .collect();
        not_helped.sort_by(|x, y| y.effect.ratio.total_cmp(&x.effect.ratio));
        let mut not_tried = self.not_tried.clone();
        for (index, candidate) in self.candidates.iter().enumerate() {
            let lever = &candidate.lever;
            let known = self.effect(index).is_some()
                || not_tried.iter().any(|other| other.lever == lever.id());
            if !known && lever.role() == Role::Lever {
                not_tried.push(NotTried {
                    lever: lever.id().to_owned(),
                    title: lever.title().to_owned(),
                    reason: "the time ended before the screening could tell it apart".to_owned(),
                });
            }
        }
        let mut warnings = self.alarms();
        let builds = build_notes(self.bench, &[(FINAL, &self.last)])?;
        let not_recommended = not_recommended(&builds).or_else(|| failed_checks(&self.checks));
        let deployment = match &not_recommended {
            None => self.deployment()?,
            Some(_) => None,
        };
        if self.is_proven() {
            warnings.extend(not_recommended);
        }
        warnings.extend(self.warnings.clone());
        warnings.extend(self.bench.client().map(ClientHost::remark));
        Ok(TuneSummary {
            server: options.base.server.clone(),
            server_version: install.version_string.clone(),
            workload: self.bench.load().one_line(),
            threads: self.bench.load().threads,
            seed: options.seed,
            goal: options.goal,
            rate: study.rate(),
            alpha: options.alpha,
            budget_seconds: options.budget_seconds,
            elapsed_seconds: study.used_seconds(),
            load_seconds: study.load_seconds(),
            complete: self.complete,
            total: self.total.clone(),
            negative_control: self
                .screened(Role::NegativeControl)
                .next()
                .map(|(_, s)| s.clone()),
            positive_control: self
                .screened(Role::PositiveControl)
                .next()
                .map(|(_, s)| s.clone()),
            sd_duel: self.screening.as_ref().and_then(|s| s.residual_sd),
            rungs: self.rungs.clone(),
            not_helped,
            together: self.together().iter().map(|(_, t)| t.clone()).collect(),
            searched: self.searched.clone(),
            not_tried,
            builds,
            checks: self.checks.clone(),
            deployment,
            warnings,
        })
    }

    /// What installing the final variant takes; `None` unless fresh duels proved it faster, and with the same answers.
    fn deployment(&self) -> Result<Option<Deployment>> {
        let total = self.total.as_ref();
        if !self.is_proven() || !total.is_some_and(Comparison::may_be_recommended) {
            return Ok(None);
        }
        let install = self.bench.install_of(&self.last)?;
        let parts = Part::of_candidates(&self.last, &self.candidates);
        deployment(
            install,
            &self.last,
            &parts,
            &self.options.machine,
            self.bench.start(&self.last.server),
        )
        .map(Some)
    }
}

fn stop_if_interrupted(outcome: &TestOutcome) -> Result<()> {
    if outcome.interrupted {
        Err(Cancelled.into())
    } else {
        Ok(())
    }
}
