//! A ladder: steps in the order of the file, each tried on top of what was kept before, kept when proven.

use anyhow::Result;
use niagara_model::{
    About, BuildNote, Comparison, Deployment, FinalCheck, Finding, Goal, LadderRung, LadderSummary,
    MethodControl, Phase, Reason, RungOutcome, SameAnswers, StudyHeader, Summary, Warning,
};
use niagara_stats::{ErrorBudget, Rule};

use crate::answering::build_note::{Noted, build_notes, check_build, not_recommended};
use crate::answering::comparison::comparison;
use crate::answering::deployment::{Part, deployment, of_transport, rewrites};
use crate::answering::failure_summary::{warnings, why_unmeasured};
use crate::answering::final_check::{check_final, failed_checks, touches_recovery, undone_checks};
use crate::answering::measuring::{Found, Measuring};
use crate::answering::method_controls::{ControlOptions, alarms, measure_controls};
use crate::answering::same_answers::{AnswersBeside, are_compared, other_answers, take_answers};
use crate::answering::sequential_test::{
    RunningTest, SequentialTest, TestOutcome, first_look_seconds, open_seconds, share_seconds,
};
use crate::answering::target_sizes::{sizes_of_parts, with_sizes};
use crate::asking::question::RungRecipe;
use crate::duels::inventory::Inventory;
use crate::duels::lever_context::on_top_of;
use crate::duels::workbench::Workbench;
use crate::plans::observer::{Event, Observer};
use crate::plans::spec::{DuelSettings, Protocol};
use crate::studies::set_up::SetUp;
use crate::studies::study::Study;
use crate::studies::variant_set_up::resolve_or_reason;
use crate::variants::variant::Variant;
use crate::variants::with_max_connections::with_max_connections;
use niagara_server::Cancelled;
use niagara_stats::derive_seed;

/// How a ladder is climbed.
#[derive(Clone)]
struct LadderOptions {
    /// The study's words.
    about: Option<About>,
    /// What it starts from.
    start: Variant,
    /// The steps, in order.
    rungs: Vec<RungRecipe>,
    /// How variants meet.
    protocol: Protocol,
    /// Error probability of the total and, shared, of the rungs.
    alpha: f64,
    /// Smallest worthwhile gain, futility.
    rule: Rule,
    /// Most duels for one question.
    duels: usize,
    /// Couples of a duel.
    couples: u32,
    /// Whether the controls are measured.
    controls: bool,
    /// Seed.
    seed: u64,
    /// Seconds asked for.
    budget_seconds: f64,
}

/// The error probability of each of `rungs` that are tried, which share `alpha`: is it faster than what was kept before
/// it?
pub fn rung_errors(alpha: f64, rungs: usize, duels: usize) -> ErrorBudget {
    ErrorBudget::one_sided(alpha / rungs.max(1) as f64, duels)
}

/// A ladder that is set up.
pub(crate) struct LadderRun<'a> {
    bench: &'a mut Workbench,
    climb: LadderState<'a>,
}

impl<'a> LadderRun<'a> {
    pub(crate) fn new(
        set_up: &SetUp<'a>,
        bench: &'a mut Workbench,
        start: Variant,
        rungs: &[RungRecipe],
        duel_settings: &DuelSettings,
        seed: u64,
    ) -> Self {
        let study = set_up.study;
        Self {
            bench,
            climb: LadderState {
                inventory: set_up.inventory,
                best: start.clone(),
                rungs: Vec::new(),
                kept: Vec::new(),
                controls: Vec::new(),
                checks: Vec::new(),
                answers: None,
                total: None,
                warnings: Vec::new(),
                complete: false,
                options: LadderOptions {
                    about: study.words(),
                    start,
                    rungs: rungs.to_vec(),
                    protocol: study.protocol,
                    alpha: study.alpha,
                    rule: study.rule(),
                    duels: study.duels,
                    couples: duel_settings.couples,
                    controls: study.controls,
                    seed,
                    budget_seconds: study.budget.as_secs_f64(),
                },
            },
        }
    }
}

impl Measuring for LadderRun<'_> {
    fn measure(&mut self, study: &mut Study, observer: &mut dyn Observer) -> Result<()> {
        self.climb.climb(self.bench, study, observer)
    }

    fn warn(&mut self, finding: Finding) {
        self.climb.warnings.push(finding.into());
    }

    fn found(&self, study: &Study, _complete: bool) -> Result<Found> {
        let summary = self.climb.summary(self.bench, study)?;
        Ok(Found::Summary(Summary::Ladder(Box::new(summary))))
    }
}

#[derive(Clone)]
struct LadderState<'a> {
    inventory: &'a Inventory,
    options: LadderOptions,
    best: Variant,
    rungs: Vec<LadderRung>,
    /// The rungs that were kept: title, what they started from, what they made of it.
    kept: Vec<(String, Variant, Variant)>,
    controls: Vec<MethodControl>,
    checks: Vec<FinalCheck>,
    /// Of a capture: whether the final variant answers it as the start does.
    answers: Option<SameAnswers>,
    total: Option<niagara_model::Comparison>,
    warnings: Vec<Warning>,
    complete: bool,
}

impl LadderState<'_> {
    fn climb(
        &mut self,
        bench: &mut Workbench,
        study: &mut Study,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let rungs = self.options.rungs.clone();
        let options = &self.options;
        let to_try = options
            .rungs
            .iter()
            .filter(|rung| rung.cannot.is_none())
            .count();
        let errors = rung_errors(options.alpha, to_try, options.duels);
        if errors.fewest_duels().is_none() {
            let finding = Finding::DuelLimitTooLow {
                duels: options.duels,
                alpha: options.alpha,
                rungs: Some(to_try),
            };
            self.warnings.push(finding.into());
        }
        self.measure_controls(bench, study, to_try, observer)?;
        let mut left = to_try;
        for rung in &rungs {
            let outcome = match &rung.cannot {
                Some(because) => Trial::not_tried(Reason::NotToday {
                    because: because.clone(),
                }),
                None => {
                    left -= 1;
                    self.try_rung(bench, study, rung, left, errors, observer)?
                }
            };
            self.take_rung(rung, &outcome.change, outcome.outcome);
            self.keep(bench, study)?;
            if outcome.interrupted {
                return Err(Cancelled.into());
            }
        }
        self.judge_total(bench, study, observer)?;
        self.complete = self.check_final(bench, study, observer)?;
        Ok(())
    }

    fn measure_controls(
        &mut self,
        bench: &Workbench,
        study: &mut Study,
        questions: usize,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let options = &self.options;
        let measured = measure_controls(
            bench,
            study,
            self.inventory,
            &ControlOptions {
                wanted: options.controls,
                start: &options.start,
                errors: self.total_errors(),
                rule: options.rule,
                couples: options.couples,
                seed: options.seed,
                // The total is one of them.
                questions: questions + 1,
                part: None,
                tell: &|study, controls| {
                    self.told(bench, study, |climb| {
                        climb.controls = controls.to_vec();
                        Ok(())
                    })
                },
            },
            observer,
        )?;
        self.controls = measured.controls;
        self.keep(bench, study)?;
        if measured.interrupted {
            return Err(Cancelled.into());
        }
        Ok(())
    }

    /// What was kept is recommended only when its build is known to be correct, and, by a capture, when it answers that as the start
    /// does. Whether all of that could be found out; what could not is tried again by the same command.
    fn check_final(
        &mut self,
        bench: &Workbench,
        study: &mut Study,
        observer: &mut dyn Observer,
    ) -> Result<bool> {
        if self.best.id() == self.options.start.id() {
            return Ok(true);
        }
        let undone = study.aside(observer, |observer| {
            check_build(bench, &self.best, observer)
        })?;
        let is_build_checked = undone.is_none();
        self.warnings.extend(undone.map(Warning::from));
        if !self.is_proven() {
            return Ok(is_build_checked);
        }
        let sides = [&self.options.start, &self.best];
        self.answers = AnswersBeside::of_last().compare(bench, study, sides, observer)?;
        if let Some(total) = &mut self.total {
            take_answers(total, self.answers.as_ref());
        }
        if other_answers(self.answers.as_ref()).is_some() {
            return Ok(is_build_checked && are_compared(bench, self.answers.as_ref()));
        }
        let recovery = touches_recovery(&self.best, &self.inventory.levers);
        self.checks = check_final(bench, study, sides, recovery, observer)?;
        self.warnings
            .extend(undone_checks(&self.checks).map(Warning::from));
        Ok(is_build_checked && FinalCheck::none_broken(&self.checks))
    }

    fn try_rung(
        &mut self,
        bench: &mut Workbench,
        study: &mut Study,
        rung: &RungRecipe,
        rungs_after: usize,
        errors: ErrorBudget,
        observer: &mut dyn Observer,
    ) -> Result<Trial> {
        let options = self.options.clone();
        let made = study.made_or_missing(&rung.title, |study| {
            study.aside(observer, |observer| {
                resolve_or_reason(&rung.recipe, &self.best, self.inventory, bench, observer)
            })
        })?;
        let (candidate, change) = match made {
            Ok(made) => (
                with_max_connections(&made, bench.load().threads),
                added(&self.best, &made),
            ),
            Err(reason) => return Ok(Trial::not_tried(reason)),
        };
        if candidate.id() == self.best.id() {
            return Ok(Trial::not_tried(Reason::ChangesNothing));
        }
        observer.see(Event::Stage {
            name: &format!("rung: {}", rung.title),
            seconds: study.left_seconds(),
        });
        // Every rung still to come has the same share of what is left, the total's aside.
        let first_look = first_look_seconds(study, errors, options.couples);
        let reserve = first_look_seconds(study, self.total_errors(), options.couples);
        let is_kept = self.best.id() != options.start.id();
        let open = open_seconds(study.left_seconds(), reserve, first_look, is_kept);
        let share = share_seconds(open, rungs_after + 1, first_look);
        let best = self.best.clone();
        let bench = &*bench;
        let test = SequentialTest {
            phase: Phase::Claim,
            subject: &rung.title,
            goal: Goal::Throughput,
            a: &best,
            b: &candidate,
            errors,
            rule: options.rule,
            shape: options.couples.into(),
            seed: derive_seed(options.seed, "rung", Phase::Claim as u64),
            reserve_seconds: (study.left_seconds() - share).max(0.0),
            must_answer: false,
            narrow_to: None,
            continues: None,
            best_part: None,
        };
        let tested = study.run(
            bench,
            RunningTest::begin(study, &test)?,
            Some(&|study, so_far| {
                self.told(bench, study, |climb| {
                    climb.warn(&rung.title, so_far);
                    let outcome = outcome_of(study, &test, so_far)?;
                    if let RungOutcome::Kept { .. } = outcome {
                        climb.stand_on(rung, candidate.clone());
                    }
                    climb.take_rung(rung, &change, outcome);
                    Ok(())
                })
            }),
            observer,
        )?;
        self.warn(&rung.title, &tested);
        let outcome = outcome_of(study, &test, &tested)?;
        if let RungOutcome::Kept { .. } = outcome {
            self.stand_on(rung, candidate);
        }
        Ok(Trial {
            change,
            outcome,
            interrupted: tested.interrupted,
        })
    }

    /// The total is asked once, either way: a ladder keeps rungs that its author put in order, good or bad.
    fn total_errors(&self) -> ErrorBudget {
        ErrorBudget::two_sided(self.options.alpha, self.options.duels)
    }

    fn judge_total(
        &mut self,
        bench: &Workbench,
        study: &mut Study,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let options = self.options.clone();
        if self.best.id() == options.start.id() {
            return Ok(());
        }
        observer.see(Event::Stage {
            name: "total",
            seconds: study.left_seconds(),
        });
        let best = self.best.clone();
        let test = SequentialTest {
            phase: Phase::Total,
            subject: "",
            goal: Goal::Throughput,
            a: &options.start,
            b: &best,
            errors: self.total_errors(),
            rule: options.rule,
            shape: options.couples.into(),
            seed: derive_seed(options.seed, "rung", Phase::Total as u64),
            reserve_seconds: 0.0,
            must_answer: true,
            narrow_to: None,
            continues: None,
            best_part: None,
        };
        let outcome = study.run(
            bench,
            RunningTest::begin(study, &test)?,
            Some(&|study, so_far| {
                self.told(bench, study, |climb| climb.take_total(study, &test, so_far))
            }),
            observer,
        )?;
        self.take_total(study, &test, &outcome)?;
        self.keep(bench, study)?;
        if outcome.interrupted {
            return Err(Cancelled.into());
        }
        Ok(())
    }

    /// What is climbed from here on.
    fn stand_on(&mut self, rung: &RungRecipe, candidate: Variant) {
        let before = std::mem::replace(&mut self.best, candidate);
        self.kept
            .push((rung.title.clone(), before, self.best.clone()));
    }

    /// What came of trying a rung is part of what is told.
    fn take_rung(&mut self, rung: &RungRecipe, change: &str, outcome: RungOutcome) {
        self.rungs.push(LadderRung {
            title: rung.title.clone(),
            change: change.to_owned(),
            published: rung.published.clone(),
            why: rung.why.clone(),
            outcome,
        });
    }

    /// So is what the duels of the total say.
    fn take_total(
        &mut self,
        study: &Study,
        test: &SequentialTest<'_>,
        outcome: &TestOutcome,
    ) -> Result<()> {
        self.warn("total", outcome);
        if outcome.duels.iter().any(|duel| duel.score.is_some()) {
            let total = comparison(study, test, outcome)?;
            self.warnings
                .extend(total.caution.clone().map(Warning::from));
            self.total = Some(total);
        }
        Ok(())
    }

    fn warn(&mut self, what: &str, outcome: &TestOutcome) {
        // A rung without any duel says itself why.
        let tells_failure = !outcome.duels.is_empty() || what == "total";
        self.warnings.extend(warnings(what, outcome, tells_failure));
    }

    /// Stores how far it came, so that a report can be made whatever happens next.
    fn keep(&self, bench: &Workbench, study: &Study) -> Result<()> {
        study.keep_unfinished(self.told(bench, study, |_| Ok(()))?)
    }

    /// How far it came, with what `take` adds of what is being measured.
    fn told(
        &self,
        bench: &Workbench,
        study: &Study,
        take: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<Summary> {
        let mut so_far = self.clone();
        take(&mut so_far)?;
        let summary = so_far.summary(bench, study)?;
        Ok(Summary::Ladder(Box::new(summary)))
    }

    fn summary(&self, bench: &Workbench, study: &Study) -> Result<LadderSummary> {
        let options = &self.options;
        let install = bench.install_of(&options.start)?;
        let mut rungs = self.rungs.clone();
        for rung in &options.rungs[rungs.len()..] {
            rungs.push(LadderRung {
                title: rung.title.clone(),
                change: String::new(),
                published: rung.published.clone(),
                why: rung.why.clone(),
                outcome: RungOutcome::NotTried {
                    reason: match &rung.cannot {
                        Some(because) => Reason::NotToday {
                            because: because.clone(),
                        },
                        None => Reason::StoppedBefore,
                    },
                },
            });
        }
        let noted = [
            Noted {
                of: "start",
                variant: &options.start,
                beside: None,
            },
            Noted {
                of: BuildNote::FINAL,
                variant: &self.best,
                beside: Some(&options.start),
            },
        ];
        let builds = build_notes(bench, &noted)?;
        let mut warnings = Vec::new();
        let not_recommended = not_recommended(&builds)
            .or_else(|| failed_checks(&self.checks))
            .or_else(|| other_answers(self.answers.as_ref()));
        let deployment = match &not_recommended {
            None => self.deployment(bench)?,
            Some(_) => None,
        };
        if self.best.id() != options.start.id() {
            warnings.extend(not_recommended.map(Warning::from));
        }
        warnings.extend(alarms(&self.controls).into_iter().map(Warning::from));
        warnings.extend(self.warnings.clone());
        warnings.extend(bench.client().map(|host| Warning::from(host.remark())));
        Ok(LadderSummary {
            header: StudyHeader {
                about: options.about.clone(),
                server: options.start.server.clone(),
                server_version: install.version_string.clone(),
                workload: bench.load().one_line(),
                goal: Goal::Throughput,
                rate: None,
                protocol: options.protocol.to_string(),
                seed: options.seed,
                alpha: options.alpha,
                budget_seconds: Some(options.budget_seconds),
                elapsed_seconds: study.used_seconds(),
                load_seconds: study.load_seconds(),
                complete: self.complete,
                sd_duel: pooled_sd(study),
                builds,
                checks: self.checks.clone(),
                deployment,
                warnings,
            },
            threads: bench.load().threads,
            start: options.start.label(),
            rungs,
            controls: self.controls.clone(),
            total: self.total.clone(),
        })
    }
}

impl LadderState<'_> {
    /// Whether fresh duels proved the final variant faster.
    fn is_proven(&self) -> bool {
        let total = self.total.as_ref();
        total.is_some_and(|total| total.judged().shows_gain())
    }

    /// What installing the final variant takes; `None` unless fresh duels proved it faster and it was checked.
    fn deployment(&self, bench: &Workbench) -> Result<Option<Deployment>> {
        let may_be = self
            .total
            .as_ref()
            .is_some_and(Comparison::may_be_recommended);
        let is_checked = are_compared(bench, self.answers.as_ref())
            && FinalCheck::may_be_handed_over(&self.checks);
        if !self.is_proven() || !may_be || !is_checked {
            return Ok(None);
        }
        let levers = &self.inventory.levers;
        let parts: Vec<Part<'_>> = self
            .kept
            .iter()
            .map(|(title, before, after)| Part::between(title, before, after, levers))
            .collect();
        let machine = self.inventory.machine()?;
        let start = bench.start(&self.best.server);
        let found = deployment(
            [
                bench.install_of(&self.best)?,
                bench.install_of(&self.options.start)?,
            ],
            &self.best,
            &parts,
            &machine,
            start,
        )?;
        let here = self.inventory.fingerprint()?;
        let sizes = sizes_of_parts(&parts, &on_top_of(&self.best, &here, bench)?);
        let found = with_sizes(found, sizes.iter(), here.usable_cpus());
        Ok(Some(Deployment {
            rewrites: rewrites(bench, &self.best)?,
            ..of_transport(found, &self.options.start)
        }))
    }
}

/// What `after` has beyond `before`, in words.
fn added(before: &Variant, after: &Variant) -> String {
    let new = after.levers.iter().skip(before.levers.len());
    new.cloned().collect::<Vec<_>>().join(", ")
}

/// What its duels say of a rung.
fn outcome_of(
    study: &Study,
    test: &SequentialTest<'_>,
    tested: &TestOutcome,
) -> Result<RungOutcome> {
    if !tested.duels.iter().any(|duel| duel.score.is_some()) {
        return Ok(RungOutcome::NotTried {
            reason: match why_unmeasured(tested) {
                Some(reason) => reason,
                None if tested.interrupted => Reason::StoppedWithin,
                None => Reason::TimeEnded,
            },
        });
    }
    let claim = Box::new(comparison(study, test, tested)?);
    let is_faster = tested.judgement.shows_gain();
    Ok(match is_faster && claim.may_be_recommended() {
        true => RungOutcome::Kept { claim },
        false => RungOutcome::NotKept { claim },
    })
}

/// What came of trying one rung.
struct Trial {
    change: String,
    outcome: RungOutcome,
    interrupted: bool,
}

impl Trial {
    fn not_tried(reason: Reason) -> Self {
        Self {
            change: String::new(),
            outcome: RungOutcome::NotTried { reason },
            interrupted: false,
        }
    }
}

/// Standard deviation of a duel's score around the mean of its own question, pooled over all questions of all parts.
pub(crate) fn pooled_sd(study: &Study) -> Option<f64> {
    let mut groups: std::collections::BTreeMap<(String, &str), Vec<f64>> = Default::default();
    for duel in study.earlier_parts().iter().chain(study.done()) {
        if let Some(score) = duel.score {
            let key = (format!("{:?}", duel.phase), duel.subject.as_str());
            groups.entry(key).or_default().push(score);
        }
    }
    let (mut squares, mut df) = (0.0, 0.0);
    for scores in groups.values() {
        if let Some(sd) = niagara_stats::standard_deviation(scores) {
            let n = scores.len() as f64 - 1.0;
            squares += sd * sd * n;
            df += n;
        }
    }
    (df > 0.0).then(|| (squares / df).sqrt())
}
