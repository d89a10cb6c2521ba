//! `compare`: is B faster than A?

use anyhow::Result;
use niagara_error::bail;
use niagara_model::{
    About, ChangedPlan, CompareSummary, Comparison, Deployment, Finding, Goal, IdenticalDuels,
    Phase, Reason, SameAnswers, SeriesOfRuns, StudyHeader, Summary, Upgrade, Warning, number,
};
use niagara_server::Cancelled;
use niagara_stats::{ErrorBudget, Rule, detectable_by};

use crate::answering::build_note::{Noted, build_notes, wrong_build};
use crate::answering::compare::changed_plans::changed_plans;
use crate::answering::compare::couples::recalled_couples;
use crate::answering::compare::identical_first::identical_duels;
use crate::answering::compare::mistyped::refuse_mistyped;
use crate::answering::compare::upgrade::{releases, upgrade};
use crate::answering::comparison::comparison;
use crate::answering::deployment::{Part, deployment, of_transport, rewrites};
use crate::answering::failure_summary::why_unmeasured;
use crate::answering::measuring::{Found, Measuring};
use crate::answering::rate::find_rate;
use crate::answering::same_answers::{AnswersBeside, are_compared, take_answers};
use crate::answering::sequential_test::{RunningTest, SequentialTest, TestOutcome};
use crate::asking::question::StudyDescription;
use crate::asking::rate_choice::RateChoice;
use crate::client_host::ClientHost;
use crate::duels::inventory::Inventory;
use crate::duels::score::throughput;
use crate::duels::workbench::Workbench;
use crate::plans::announced::{Announced, ComparePlan};
use crate::plans::duel_plan::{expected_sd, unit_seconds};
use crate::plans::observer::{Event, Observer};
use crate::plans::spec::Protocol;
use crate::studies::history::History;
use crate::studies::set_up::SetUp;
use crate::studies::study::Study;
use crate::variants::variant::Variant;

mod changed_plans;
pub(crate) mod couples;
mod identical_first;
mod mistyped;
mod upgrade;

/// How a comparison is decided.
#[derive(Debug, Clone)]
pub(crate) struct CompareOptions {
    /// A, the baseline.
    pub a: Variant,
    /// B, the candidate.
    pub b: Variant,
    /// What decides.
    pub goal: Goal,
    /// The rate at which latencies are compared, where they are the goal.
    pub rate: Option<RateChoice>,
    /// How they meet.
    pub protocol: Protocol,
    /// Error probability, most duels.
    pub errors: ErrorBudget,
    /// Smallest worthwhile gain, futility, whether all duels are run.
    pub rule: Rule,
    /// Couples in a duel.
    pub couples: u32,
    /// Seed.
    pub seed: u64,
}

/// A comparison that is set up.
pub(crate) struct CompareRun<'a> {
    bench: &'a Workbench,
    inventory: &'a Inventory,
    history: History,
    options: CompareOptions,
    plan: ComparePlan,
    about: Option<About>,
    outcome: Option<TestOutcome>,
    /// Of a capture: what A shows against itself.
    identical: Option<IdenticalDuels>,
    /// Of a capture: whether B answers it as A does.
    answers: Option<SameAnswers>,
    /// Of a capture on two releases: the statements that B plans otherwise.
    changed_plans: Vec<ChangedPlan>,
    warnings: Vec<Warning>,
}

impl<'a> CompareRun<'a> {
    pub(crate) fn new(
        set_up: &SetUp<'a>,
        bench: &'a Workbench,
        [a, b]: [Variant; 2],
        study: &Study,
    ) -> Result<Self> {
        let question = set_up.study;
        let history = History::of(&set_up.inventory.cache);
        // The history is of loads that came from this host.
        let known = bench.client().is_none().then_some(&history);
        let couples = recalled_couples(study, question, known)?;
        let plan = compare_plan(question, [a.label(), b.label()], couples, known);
        Ok(Self {
            bench,
            inventory: set_up.inventory,
            options: CompareOptions {
                a,
                b,
                goal: question.goal,
                rate: question.rate,
                protocol: question.protocol,
                errors: ErrorBudget::two_sided(question.alpha, question.duels),
                rule: question.rule(),
                couples,
                seed: study.seed(),
            },
            history,
            plan,
            about: question.words(),
            outcome: None,
            identical: None,
            answers: None,
            changed_plans: Vec::new(),
            warnings: Vec::new(),
        })
    }

    fn test(&self) -> SequentialTest<'_> {
        let options = &self.options;
        SequentialTest {
            phase: Phase::Compare,
            subject: "",
            goal: options.goal,
            a: &options.a,
            b: &options.b,
            errors: match options.protocol {
                // One series of five and five: there is nothing to test twice.
                Protocol::Trimmed => ErrorBudget {
                    max_duels: 1,
                    ..options.errors
                },
                Protocol::Duel | Protocol::Pair | Protocol::Solo => options.errors,
            },
            rule: options.rule,
            shape: options.couples.into(),
            seed: options.seed,
            reserve_seconds: 0.0,
            must_answer: true,
            narrow_to: None,
            continues: None,
            best_part: None,
        }
    }

    /// What installing B takes; `None` unless it was proven better, with the same answers, and its own build is not known to be
    /// wrong.
    fn deployment(&self, found: &Comparison, is_wrong: bool) -> Result<Option<Deployment>> {
        let is_faster = found.judged().shows_gain();
        // They are compared behind the last duel: a process that is killed before has kept no recommendation.
        let is_asked = are_compared(self.bench, self.answers.as_ref());
        if !is_faster || !is_asked || !found.may_be_recommended() || is_wrong {
            return Ok(None);
        }
        let CompareOptions { a, b, .. } = &self.options;
        let part = Part::between(&b.label(), a, b, &self.inventory.levers);
        let told = deployment(
            [self.bench.install_of(b)?, self.bench.install_of(a)?],
            b,
            &[part],
            &self.inventory.machine()?,
            self.bench.start(&b.server),
        )?;
        Ok(Some(Deployment {
            instead_of: (a.server != b.server).then(|| a.server.clone()),
            rewrites: rewrites(self.bench, b)?,
            cpus: u32::try_from(self.inventory.fingerprint()?.usable_cpus()).ok(),
            ..of_transport(told, a)
        }))
    }

    /// What moving from A's server to B's would break, where they are two releases and the load is captured.
    fn upgrade(&self, comparison: &Comparison) -> Result<Option<Upgrade>> {
        upgrade(
            self.bench,
            [&self.options.a, &self.options.b],
            self.answers.as_ref(),
            comparison.replay.as_ref(),
            &self.changed_plans,
        )
    }

    fn warnings(&self, outcome: &TestOutcome, caution: Option<&Finding>) -> Vec<Warning> {
        let options = &self.options;
        let mut findings = outcome.findings.clone();
        let failure = outcome.failure.clone();
        findings.extend(failure.map(Finding::CouldNotMeasure));
        findings.extend(caution.cloned());
        findings.extend(self.bench.client().map(ClientHost::remark));
        let errors = self.test().errors;
        if errors.fewest_duels().is_none() && options.protocol != Protocol::Trimmed {
            findings.push(Finding::DuelLimitTooLow {
                duels: errors.max_duels,
                alpha: errors.alpha,
                rungs: None,
            });
        }
        if options.protocol == Protocol::Trimmed {
            // It never has an interval, whatever the time.
            findings.retain(|finding| !matches!(finding, Finding::TooFewDuels { .. }));
            findings.push(Finding::TrimmedProtocol);
        }
        let own = self.warnings.iter().cloned();
        findings.into_iter().map(Warning::from).chain(own).collect()
    }

    /// By the protocol of 2008 its runs, once all of them were made.
    fn runs(&self, study: &Study, outcome: &TestOutcome) -> Result<Option<SeriesOfRuns>> {
        let mut scored = outcome.duels.iter().filter(|duel| duel.score.is_some());
        let series = scored.next();
        let Some(series) = series.filter(|_| self.options.protocol == Protocol::Trimmed) else {
            return Ok(None);
        };
        let slices = study.store().slices(None)?;
        let of = |side: u8| {
            let own = slices
                .iter()
                .filter(|slice| (slice.duel, slice.side) == (series.seq, side));
            own.map(throughput).collect()
        };
        Ok(Some(SeriesOfRuns {
            tps: [of(0), of(1)],
        }))
    }

    /// What `outcome` comes to, as it is kept and reported.
    fn summary(&self, study: &Study, outcome: &TestOutcome, complete: bool) -> Result<Summary> {
        let (options, bench) = (&self.options, self.bench);
        let mut comparison = comparison(study, &self.test(), outcome)?;
        take_answers(&mut comparison, self.answers.as_ref());
        if options.protocol == Protocol::Trimmed {
            niagara_stats::hold_without_interval(&mut comparison.throughput);
        }
        if let (Some(replay), Some(identical)) = (&mut comparison.replay, &self.identical) {
            replay.take_identical(identical);
        }
        let scores: Vec<f64> = outcome
            .duels
            .iter()
            .filter_map(|duel| options.goal.gain(duel))
            .collect();
        let (a, b) = (&options.a, &options.b);
        let sides = [("A", a, b), ("B", b, a)].map(|(of, variant, beside)| Noted {
            of,
            variant,
            beside: Some(beside),
        });
        let builds = build_notes(bench, &sides)?;
        let wrong = wrong_build(&builds, "B");
        let mut warnings = self.warnings(outcome, comparison.caution.as_ref());
        warnings.extend(wrong.clone().map(Warning::from));
        Ok(Summary::Compare(Box::new(CompareSummary {
            header: StudyHeader {
                about: self.about.clone(),
                server: a.server.clone(),
                server_version: bench.install_of(a)?.version_string.clone(),
                workload: bench.load().one_line(),
                goal: options.goal,
                rate: study.rate(),
                protocol: options.protocol.to_string(),
                seed: options.seed,
                alpha: self.test().errors.alpha,
                budget_seconds: None,
                elapsed_seconds: study.used_seconds(),
                load_seconds: study.load_seconds(),
                complete: complete && outcome.failure.is_none(),
                sd_duel: niagara_stats::standard_deviation(&scores),
                builds,
                checks: Vec::new(),
                deployment: self.deployment(&comparison, wrong.is_some())?,
                warnings,
            },
            threads: bench.load().threads,
            upgrade: self.upgrade(&comparison)?,
            runs: self.runs(study, outcome)?,
            comparison,
        })))
    }
}

impl Measuring for CompareRun<'_> {
    fn prepare(&mut self, study: &mut Study, observer: &mut dyn Observer) -> Result<()> {
        for side in [&self.options.a, &self.options.b] {
            refuse_mistyped(self.bench, side)?;
        }
        observer.see(Event::Announced(Announced::Compare(&self.plan)));
        if let Some(choice) = self.options.rate {
            let (a, goal) = (&self.options.a, self.options.goal);
            let found = find_rate(self.bench, study, a, choice, goal, observer)?;
            self.warnings.extend(found.warning.map(Warning::from));
            study.set_rate(found.rate);
        }
        Ok(())
    }

    fn measure(&mut self, study: &mut Study, observer: &mut dyn Observer) -> Result<()> {
        observer.see(Event::Stage {
            name: "compare",
            seconds: study.left_seconds(),
        });
        if self.options.protocol == Protocol::Duel {
            let of = (&self.options.a, self.options.goal);
            let settings = (self.options.couples, self.options.seed);
            self.identical = identical_duels(self.bench, study, of, settings, observer)?;
        }
        let outcome = study.run(
            self.bench,
            RunningTest::begin(study, &self.test())?,
            Some(&|study, so_far| self.summary(study, so_far, false)),
            observer,
        )?;
        if let (Some(failure), true) = (&outcome.failure, outcome.duels.is_empty()) {
            bail!("{failure}");
        }
        let goal = self.options.goal;
        let is_measured = outcome.duels.iter().any(|duel| goal.gain(duel).is_some());
        if !is_measured && !outcome.interrupted {
            let reason = why_unmeasured(&outcome).unwrap_or(Reason::TimeEnded);
            bail!(
                "no duel was measured, so there is no verdict: {reason}";
                remedy: "a longer --budget, or shorter duels (--couples, --slice)"
            );
        }
        // The history is of duels whose load came from this host.
        let from_here = self.bench.client().is_none();
        if self.options.protocol == Protocol::Duel
            && !study.is_resumed()
            && from_here
            && !study.is_elsewhere()
            && study.rate().is_none()
        {
            let duels = &outcome.duels;
            self.history
                .learn(self.bench.load(), study, duels, observer)?;
        }
        let interrupted = outcome.interrupted;
        self.outcome = Some(outcome);
        if interrupted {
            return Err(Cancelled.into());
        }
        let sides = [&self.options.a, &self.options.b];
        self.answers = AnswersBeside::default().compare(self.bench, study, sides, observer)?;
        if self.answers.is_some() && releases(self.bench, sides)?.is_some() {
            self.changed_plans = changed_plans(self.bench, study, sides, observer)?;
        }
        Ok(())
    }

    fn warn(&mut self, finding: Finding) {
        self.warnings.push(finding.into());
    }

    fn found(&self, study: &Study, complete: bool) -> Result<Found> {
        let outcome = self.outcome.as_ref().ok_or(Cancelled)?;
        self.summary(study, outcome, complete).map(Found::Summary)
    }
}

/// Whether the protocol of 2008 can answer `question`, where it is asked for: its ten runs make one figure, or none.
///
/// # Errors
/// The time does not hold them, or another figure than throughput decides.
pub(crate) fn check_trimmed(question: &StudyDescription) -> Result<()> {
    if question.protocol != Protocol::Trimmed {
        return Ok(());
    }
    if question.goal != Goal::Throughput {
        bail!(
            "goal {}: the protocol `trimmed` compares throughput alone", question.goal;
            remedy: "leave out the goal, or the protocol: duels judge any"
        );
    }
    let settings = question.duel_settings();
    let needed = unit_seconds(Protocol::Trimmed, &settings, settings.couples);
    let budget = question.budget.as_secs_f64();
    if budget < needed {
        bail!(
            "a budget of {} is too short for the protocol `trimmed`: its ten runs take about {}",
            number::duration(budget),
            number::duration(needed);
            remedy: "--budget {}m (`budget` in a study file), or shorter runs (--slice, --warm-up)",
            (needed / 60.0).ceil()
        );
    }
    Ok(())
}

/// What the comparison of `question` is about to do with duels of this many couples.
pub fn compare_plan(
    question: &StudyDescription,
    [a, b]: [String; 2],
    couples: u32,
    history: Option<&History>,
) -> ComparePlan {
    let duel_settings = question.duel_settings();
    let load = question.first_load();
    let seconds = question.budget.as_secs_f64();
    let is_job = load.workload.is_job();
    let duel_seconds = (!is_job).then(|| unit_seconds(question.protocol, &duel_settings, couples));
    let duels = match duel_seconds {
        Some(one) => ((seconds / one) as usize).min(question.duels),
        None => question.duels,
    };
    let known = history.and_then(|history| history.components(&load, &duel_settings));
    let (sd, noise) = expected_sd(known, &duel_settings, couples);
    let is_known = question.protocol == Protocol::Duel && question.goal == Goal::Throughput;
    let errors = ErrorBudget::two_sided(question.alpha, question.duels);
    let detectable = is_known
        .then(|| detectable_by(duels, sd, &errors))
        .flatten();
    ComparePlan {
        a,
        b,
        load: load.one_line(),
        protocol: question.protocol,
        couples,
        slice_seconds: duel_settings.slice_seconds,
        duel_seconds,
        budget_seconds: seconds,
        duels,
        detectable,
        noise,
        min_effect: question.min_effect,
    }
}
