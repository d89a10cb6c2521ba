//! `tune`: the main job. Try every lever that applies, keep what is proven, say what was found.

use anyhow::{Result, bail};
use niagara_stats::{Components, ErrorBudget, Rule, Verdict};
use niagara_store::{
    Comparison, Deployment, Goal, NotTried, Phase, Rung, START_SETTINGS, Screened, Summary,
    Together, TuneSummary,
};

use crate::asking::question::MAX_DUELS;
use crate::client_host::ClientHost;
use crate::duels::duel_plan::{assumed_sd, duel_seconds};
use crate::duels::workbench::Workbench;
use crate::lever::Role;
use crate::profile::{NO_TIME_FOR_A_PROFILE, ShortProfile, look, seconds_each};
use crate::questions::build_note::{FINAL, build_notes, check_build, not_recommended};
use crate::questions::deployment::deployment;
use crate::questions::judged::{Answer, Question, SPARE_TIME, ask, comparison, first_look_seconds};
use crate::questions::ladder::rung_errors;
use crate::questions::probe::probe;
use crate::questions::promotion::{Bond, Prospect, promote};
use crate::questions::rate::{RateChoice, find_rate};
use crate::questions::screen::{ScreenOptions, ScreenTime, Screening, screen};
use crate::studies::announced::{Announced, TunePlan};
use crate::studies::checkpoint;
use crate::studies::measuring::{Found, Measuring};
use crate::studies::observer::{Event, Observer};
use crate::studies::study::Study;
use crate::variants::candidate::{Candidate, crowded_out, factors, with_all};
use crate::variants::variant::Variant;
use niagara_server::Cancelled;
use niagara_stats::derive_seed;

/// Duels of the total that are to fit behind the screening; those of its first look must.
const TOTAL_DUELS: usize = 8;
/// Share of the budget by which the profile may exceed it: duels end when they end, not when planned.
const PROFILE_OVERRUN: f64 = 0.1;
/// Share of the budget that the screening gets at least, or there is no point in it.
const MIN_SCREENING: f64 = 0.25;
/// Share of the budget that the screening takes at most: rungs want claims of their own.
const MAX_SCREENING: f64 = 0.6;
/// Design rows beyond the number of effects, so that the residual has degrees of freedom.
const SPARE_ROWS: usize = 10;
/// A decoy or control is believed to differ from nothing beyond this many standard errors (1 % two-sided).
const ALARM_STD_ERRS: f64 = 2.6;
/// Screening goes on with further replicates of the design until every standard error is below this.
const EXACT_ENOUGH: f64 = 0.002;

/// How a server is tuned.
#[derive(Debug, Clone)]
pub(crate) struct TuneOptions {
    /// Where the ladder starts.
    pub base: Variant,
    /// Levers that apply here, decoy and control among them.
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
    /// Seconds for all of it, set-up aside.
    pub budget_seconds: f64,
    /// Couples of a screening duel.
    pub screen_couples: u32,
    /// Couples of a duel that judges.
    pub couples: u32,
    /// Seed.
    pub seed: u64,
    /// The machine in one line, for the person who deploys what was found.
    pub machine: String,
    /// How the final variant is looked at; `None` leaves it out.
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

    /// Standard deviation of a duel's score: by this machine's own history, where there is one.
    fn sd_duel(&self, couples: u32) -> f64 {
        let known = self.noise.map(|noise| noise.duel_sd(couples));
        known.unwrap_or_else(|| assumed_sd(couples))
    }

    fn screen_time(&self) -> ScreenTime {
        ScreenTime {
            budget_seconds: self.budget_seconds,
            share: MAX_SCREENING,
            judging_couples: self.couples,
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
    rungs: Vec<Rung>,
    total: Option<Comparison>,
    complete: bool,
    last: Variant,
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
            rungs: Vec::new(),
            total: None,
            complete: false,
            last: options.base.clone(),
        }
    }

    /// A build is handed over only when it is known to be correct; that is looked at once it is known to be faster.
    fn check_final(&mut self, study: &mut Study, observer: &mut dyn Observer) -> Result<()> {
        if !self.is_proven() {
            return Ok(());
        }
        let checked = study.aside(|| check_build(self.bench, &self.last, observer));
        self.warnings.extend(checked?);
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

    /// What there is time for: levers and duels of the screening, with the total behind it.
    fn new_plan(&self, study: &Study) -> Result<TunePlan> {
        let options = self.options;
        let screening_duel_seconds = duel_seconds(&study.lengths(), options.screen_couples);
        let judging_duel_seconds = duel_seconds(&study.lengths(), options.couples);
        // What has to fit behind the screening. The profile gives way.
        let total_duels = options.screen_time().total_duels;
        let total_seconds = total_duels[0] as f64 * judging_duel_seconds * SPARE_TIME;
        let screening_until =
            (options.budget_seconds - total_seconds).min(options.budget_seconds * MAX_SCREENING);
        let affordable = (screening_until / screening_duel_seconds).max(0.0) as usize;
        if screening_until < options.budget_seconds * MIN_SCREENING || affordable < SPARE_ROWS + 3 {
            let least = (total_seconds / (1.0 - MIN_SCREENING))
                .max(total_seconds + (SPARE_ROWS + 4) as f64 * screening_duel_seconds);
            bail!(
                "a budget of {:.0} s is too short: a duel that judges takes about {judging_duel_seconds:.0} s \
                 here, and the total wants {} of them behind the screening\n\
                 remedy: --budget {:.0}m, or shorter duels (--slice, --couples)",
                options.budget_seconds,
                total_duels[0],
                (least / 60.0).ceil()
            );
        }
        let mut kept: Vec<usize> = (0..self.candidates.len()).collect();
        let mut left_out = Vec::new();
        let crowded = crowded_out(&factors(&self.candidates), affordable);
        // Levers alone: a control that is a level of a choice stays.
        let is_lever = |index: &usize| self.candidates[*index].lever.role() == Role::Lever;
        for index in crowded.into_iter().filter(is_lever) {
            kept.retain(|&other| other != index);
            left_out.push(self.candidates[index].lever.id().to_owned());
        }
        // Levers drop out from the end of the list, decoy and control never.
        while kept.len() + SPARE_ROWS > affordable {
            let Some(place) = kept
                .iter()
                .rposition(|&index| self.candidates[index].lever.role() == Role::Lever)
            else {
                break;
            };
            left_out.push(self.candidates[kept.remove(place)].lever.id().to_owned());
        }
        let screening_duels = niagara_stats::design_order(kept.len() + SPARE_ROWS);
        let fought = screening_duels.min(affordable) as f64;
        let plan = TunePlan {
            levers: kept
                .iter()
                .map(|&index| self.candidates[index].lever.id().to_owned())
                .collect(),
            left_out,
            screening_duels,
            screening_duel_seconds,
            duel_seconds: judging_duel_seconds,
            screening_until,
            detectable_lever: niagara_stats::detectable(
                options.sd_duel(options.screen_couples),
                fought as usize,
            ),
            detectable_total: niagara_stats::detectable(
                options.sd_duel(options.couples),
                total_duels[0],
            ),
        };
        Ok(plan)
    }

    fn keep_only(&mut self, plan: &TunePlan) {
        let (kept, left_out) = std::mem::take(&mut self.candidates)
            .into_iter()
            .partition(|candidate| plan.levers.iter().any(|id| id == candidate.lever.id()));
        self.candidates = kept;
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
                couples: options.screen_couples,
                goal: options.goal,
                time: options.screen_time(),
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
            self.warnings.extend(self.missing_guards());
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

    /// The levers that go on, best first; of an exclusive choice only the best.
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
                    screened: self.effect(index)?.clone(),
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
        let question = self.question(
            Phase::Total,
            "",
            &options.base,
            &last,
            options.total_errors(),
        );
        let answer = ask(self.bench, study, &question, observer)?;
        self.warn("total", &answer);
        if answer.duels.iter().any(|duel| duel.score.is_some()) {
            let total = comparison(study, &question, &answer)?;
            self.warnings.extend(total.caution.clone());
            self.total = Some(total);
        }
        self.keep_summary(study)?;
        stop_if_interrupted(&answer)
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
            let needed = first_look_seconds(study, errors, self.options.couples)
                + self.options.profile_seconds();
            if !study.has_recalled() && study.left_seconds() < needed {
                break;
            }
            let name = format!("claim: {}", candidate.lever.title());
            observer.see(Event::Stage {
                name: &name,
                seconds: study.left_seconds(),
            });
            let question = self.question(Phase::Claim, candidate.lever.id(), &best, &with, errors);
            let answer = ask(self.bench, study, &question, observer)?;
            self.warn(candidate.lever.title(), &answer);
            if answer.duels.iter().any(|duel| duel.score.is_some()) {
                self.rungs[rung].claim = Some(comparison(study, &question, &answer)?);
            }
            self.keep_summary(study)?;
            stop_if_interrupted(&answer)?;
            let claim = self.rungs[rung].claim.as_ref();
            if claim.is_some_and(|claim| !claim.may_be_recommended()) {
                self.warnings.push(format!(
                    "{} was left out of what follows: its replay gave other answers, or was not that of the capture",
                    candidate.lever.title()
                ));
            } else if answer.judgement.verdict == Some(Verdict::Slower) {
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

    fn question<'q>(
        &self,
        phase: Phase,
        subject: &'q str,
        a: &'q Variant,
        b: &'q Variant,
        errors: ErrorBudget,
    ) -> Question<'q> {
        Question {
            phase,
            subject,
            goal: self.options.goal,
            a,
            b,
            errors,
            rule: self.options.rule,
            couples: self.options.couples,
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

    fn warn(&mut self, what: &str, answer: &Answer) {
        let all = answer.warnings.iter().chain(&answer.failure);
        self.warnings
            .extend(all.map(|text| format!("{what}: {text}")));
    }

    /// A ladder without its guards says so.
    fn missing_guards(&self) -> Vec<String> {
        [(Role::Decoy, "decoy"), (Role::Control, "control")]
            .into_iter()
            .filter(|(role, _)| self.screened(*role).next().is_none())
            .map(|(_, name)| {
                format!("this ladder has no {name}: it could not be measured here, so nothing checks the method")
            })
            .collect()
    }

    fn alarms(&self) -> Vec<String> {
        let mut alarms = Vec::new();
        for (_, decoy) in self.screened(Role::Decoy) {
            if decoy.effect.ratio.ln().abs() > ALARM_STD_ERRS * decoy.std_err {
                alarms.push(format!(
                    "the decoy, which changes nothing, shows × {:.3} [{:.3}, {:.3}]: something \
                     else moves these figures, distrust the small ones",
                    decoy.effect.ratio, decoy.effect.low, decoy.effect.high
                ));
            }
        }
        for (_, control) in self.screened(Role::Control) {
            if control.effect.high >= 1.0 {
                alarms.push(format!(
                    "the control, known to slow the server, shows × {:.3} [{:.3}, {:.3}]: this \
                     study does not see what it should see",
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
        let not_recommended = not_recommended(&builds);
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
            decoy: self.screened(Role::Decoy).next().map(|(_, s)| s.clone()),
            control: self.screened(Role::Control).next().map(|(_, s)| s.clone()),
            sd_duel: self.screening.as_ref().and_then(|s| s.residual_sd),
            rungs: self.rungs.clone(),
            not_helped,
            together: self.together().iter().map(|(_, t)| t.clone()).collect(),
            not_tried,
            builds,
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
        deployment(install, &self.last, &self.candidates, &self.options.machine).map(Some)
    }
}

fn stop_if_interrupted(answer: &Answer) -> Result<()> {
    if answer.interrupted {
        Err(Cancelled.into())
    } else {
        Ok(())
    }
}
