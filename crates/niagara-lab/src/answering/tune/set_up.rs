//! The parts of a tuning: the levers that apply here, their servers, the symbols for the final variant's profile.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use niagara_build::{BuildStore, Forecast, Recipe, kept_as};
use niagara_error::{Explain as _, Explanation, bail};
use niagara_model::{NextStep, NotTried, Reason, TargetSize};
use niagara_server::{Cancelled, Install};
use niagara_stats::Components;

use crate::answering::opening::Opening;
use crate::answering::prepare_builds::{
    by_reason, keep_prepared, nothing_can_be_built, prepare_builds, recipes_for, without_tools,
};
use crate::answering::sequential_test::SPARE_TIME;
use crate::answering::target_sizes::target_sizes;
use crate::answering::tune::options::{TuneOptions, total_errors, two_rungs_errors};
use crate::answering::tune::plan::TuneTime;
use crate::asking::choose_builds::{BuildField, BuildTime};
use crate::asking::choose_levers::{Application, BUILDS, CountedLever, TuneQuestion};
use crate::asking::own_training::train_on_own;
use crate::duels::lever_context::lever_context;
use crate::duels::workbench::{Workbench, looks_like_path};
use crate::lever::{Change, Context, Lever};
use crate::plans::announced::TunePlan;
use crate::plans::observer::{Event, Observer};
use crate::plans::spec::DuelSettings;
use crate::profile::ShortProfile;
use crate::profile::debug_symbols::debug_symbols;
use crate::studies::checkpoint;
use crate::studies::history::History;
use crate::studies::set_up::SetUp;
use crate::variants::candidate::Candidate;
use crate::variants::variant::Variant;
use crate::variants::with_max_connections::with_max_connections;

/// Gain (a fraction) that has to be expected of a lever before it is named as the next thing to try.
const WORTH_TRYING: f64 = 0.01;

/// A tuning's parts.
pub(crate) struct TuneSetUp {
    candidates: Vec<Candidate>,
    not_applicable: Vec<NotTried>,
    profile: Option<ShortProfile>,
    /// What earlier comparisons on this machine tell of its noise.
    noise: Option<Components>,
    /// What to try after this tuning.
    next: Option<NextStep>,
    /// By lever: variables that follow the machine.
    target_sizes: BTreeMap<String, Vec<TargetSize>>,
}

impl TuneSetUp {
    /// Sets up the server, chooses its levers, and builds what they want built.
    pub(crate) fn new(
        set_up: &SetUp<'_>,
        bench: &mut Workbench,
        tune: &TuneQuestion,
        opening: &Opening<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let (inventory, base) = (set_up.inventory, &set_up.base);
        let mut tune = tune.clone().with_ids(&inventory.levers)?;
        let kept = opening.kept(&checkpoint::tune_plan())?;
        if let Some(plan) = &kept {
            // Counting spoke for some of them when the tuning was begun, and may not do so now.
            let begun_with = plan.levers.iter().map(|id| CountedLever {
                lever: id.clone(),
                saves: 0.0,
            });
            tune.counted.extend(begun_with);
        }
        if tune.with_builds && kept.is_none() {
            something_can_be_built(set_up, &tune)?;
        }
        bench.set_up_variant(base, observer)?;
        let mut context = lever_context(&inventory.fingerprint()?, bench, &base.server)?;
        let workload = bench.load().workload.name();
        let choose = |context: &Context| tune.choose(&inventory.levers, context.clone(), workload);
        let (mut candidates, mut not_applicable) = choose(&context);
        context.may_be_built = candidates.iter().any(Candidate::is_built);
        if context.may_be_built {
            (candidates, not_applicable) = choose(&context);
        }
        let target_sizes = target_sizes(&candidates, &tune.permitted(&inventory.levers, context));
        let has_client = inventory.client.is_some();
        let history = History::of_whole_host(&inventory.cache, has_client, tune.shares_host);
        let noise =
            history.and_then(|history| history.components(bench.load(), &opening.duel_settings));
        let mut parts = Self {
            candidates,
            not_applicable,
            profile: None,
            noise,
            next: None,
            target_sizes,
        };
        parts.build(set_up, bench, &tune, opening, kept.as_ref(), observer)?;
        parts.change_data(base, bench, observer)?;
        if let Some(plan) = &kept {
            parts.all_there(plan)?;
        }
        let family = bench.install(&base.server)?.family;
        let workload = bench.load().workload.name();
        let gain = |lever: &Lever| lever.expected_gain(&inventory.levers, family, workload);
        parts.next = untried(&parts.not_applicable, &inventory.levers, gain);
        if set_up.study.profile {
            parts.profile = Some(debug_symbols(inventory, bench, [base], observer)?);
        }
        Ok(parts)
    }

    /// That a tuning that is continued has all levers that it was begun with: its duels had them.
    fn all_there(&self, plan: &TunePlan) -> Result<()> {
        let is_there = |id: &String| {
            let mut candidates = self.candidates.iter();
            candidates.any(|candidate| candidate.lever.id() == id)
        };
        let Some(missing) = plan.levers.iter().find(|id| !is_there(id)) else {
            return Ok(());
        };
        let mut reasons = self.not_applicable.iter();
        let reason = reasons.find(|known| known.lever == *missing);
        bail!(
            "the tuning that is continued was begun with {missing}, which is not to be had now: {}",
            reason.map_or("there is no such lever".to_owned(), |known| known
                .reason
                .to_string());
            remedy: "see to that and give the same command, or begin a new one with another --out"
        );
    }

    /// Builds the servers that levers want: those of the plan that is continued, else those that there are tools, time and
    /// duels for.
    fn build(
        &mut self,
        set_up: &SetUp<'_>,
        bench: &mut Workbench,
        tune: &TuneQuestion,
        opening: &Opening<'_>,
        kept: Option<&TunePlan>,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        if let Some(plan) = kept {
            // What the server refused is told with the reason of then.
            let misfits = opening.kept(&checkpoint::misfits())?.unwrap_or_default();
            self.candidates.retain(|candidate| {
                let is_it = |known: &NotTried| known.lever == candidate.lever.id();
                !candidate.is_built() || !misfits.iter().any(is_it)
            });
            self.leave_out(|candidate| begun_without(plan, candidate));
        }
        if !self.candidates.iter().any(Candidate::is_built) {
            return Ok(());
        }
        if let Some(said) = train_on_own(&mut self.candidates, bench.load(), bench.origin()) {
            observer.see(Event::Note(&said));
        }
        self.leave_out_without_tools(set_up, tune.with_builds && kept.is_none(), observer)?;
        if !self.candidates.iter().any(Candidate::is_built) {
            return Ok(());
        }
        let (inventory, base) = (set_up.inventory, &set_up.base);
        let beside = kept_as(&inventory.catalog, &base.server);
        let store = BuildStore::new(&inventory.cache);
        let family = bench.install(&base.server)?.family;
        let workload = bench.load().workload.name().to_owned();
        let budget = kept.is_none().then_some(tune.build_seconds);
        let field = BuildField {
            base,
            candidates: &self.candidates,
            gain: &|lever: &Lever| lever.expected_gain(&inventory.levers, family, &workload),
            forecasts: &|recipes: &[&Recipe]| store.forecasts(&inventory.catalog, beside, recipes),
            room: match kept {
                Some(_) => usize::MAX,
                None => self.room(set_up, tune, opening.duel_settings)?,
            },
        };
        let time = budget.map(|budget| BuildTime { budget, used: 0.0 });
        let plan = field.plan(&[], &[], time);
        let told = field.told(&plan);
        // A tuning that is continued mostly finds its builds.
        let all_there = told.iter().all(|build| build.forecast == Forecast::There);
        if !(told.is_empty() || kept.is_some() && all_there) {
            observer.see(Event::ToBuild {
                builds: &told,
                seconds: budget,
            });
        }
        if let (true, Some(first)) = (told.is_empty(), field.plan(&[], &[], None).chosen.first())
            && let Some((index, reason)) = plan.left_out.iter().find(|(it, _)| *it == first.index)
        {
            observer.see(Event::Note(&format!(
                "no server is built; {}: {reason}",
                self.candidates[*index].lever.id()
            )));
        }
        set_up.build_ahead(&recipes_for(&field, &plan, beside), observer)?;
        // What nodes have built is here now and takes no more time: that is no reason to build others on this machine.
        let nothing_else = set_up.has_nodes();
        let continued = kept.is_some();
        let prepared = prepare_builds(
            bench,
            &field,
            &plan,
            nothing_else,
            continued,
            budget,
            observer,
        )?;
        let by_worth = field.by_worth(&prepared.made);
        let left_out = keep_prepared(&mut self.candidates, &by_worth, &prepared.left_out);
        self.not_applicable.extend(left_out);
        Ok(())
    }

    /// Takes out the levers whose servers this machine has no tools for, and says what would make them.
    ///
    /// # Errors
    /// None is left, and `must` there be one.
    fn leave_out_without_tools(
        &mut self,
        set_up: &SetUp<'_>,
        must: bool,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let builds = self
            .candidates
            .iter()
            .filter(|candidate| candidate.is_built());
        let recipes: Vec<(&str, Recipe)> = builds
            .map(|candidate| (candidate.lever.id(), recipe(set_up, &candidate.change)))
            .collect();
        let refused = refused(set_up, &recipes);
        if must && refused.len() == recipes.len() {
            return Err(nothing_can_be_built(&refused));
        }
        for line in by_reason(&refused) {
            observer.see(Event::Note(&format!("cannot be built here: {line}")));
        }
        self.leave_out(|candidate| {
            let is_it = |(id, _): &&(String, Explanation)| id == candidate.lever.id();
            let (_, error) = refused.iter().find(is_it)?;
            Some(Reason::CannotBuild {
                error: error.clone().into(),
                together: Vec::new(),
            })
        });
        Ok(())
    }

    /// Makes the data of levers that change them, for the start and for every build; what cannot be made is left out.
    fn change_data(
        &mut self,
        base: &Variant,
        bench: &mut Workbench,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let changes = |candidate: &&Candidate| !candidate.change.sql.is_empty();
        let changing: Vec<Candidate> = self.candidates.iter().filter(changes).cloned().collect();
        // Levers are combined in their order: all their combinations are data of their own.
        let mut starts = vec![base.clone()];
        for candidate in self.candidates.iter().filter(|one| one.is_built()) {
            starts.push(base.with(candidate.lever.id(), &candidate.change));
        }
        for candidate in changing {
            let id = candidate.lever.id();
            let changed: Vec<Variant> = starts
                .iter()
                .map(|start| start.with(id, &candidate.change))
                .collect();
            let made = changed
                .iter()
                .try_for_each(|variant| bench.set_up_variant(variant, observer));
            match made {
                Ok(()) => starts.extend(changed),
                Err(error) if error.has::<Cancelled>() || bench.cancel().is_cancelled() => {
                    return Err(Cancelled.into());
                }
                Err(error) => self.leave_out(|one| {
                    (one.lever.id() == id).then(|| Reason::NotAvailable {
                        error: error.explain().into(),
                    })
                }),
            }
        }
        Ok(())
    }

    /// Takes out the candidates that there is a reason for.
    fn leave_out(&mut self, why: impl Fn(&Candidate) -> Option<Reason>) {
        let not_applicable = &mut self.not_applicable;
        self.candidates.retain(|candidate| {
            let Some(reason) = why(candidate) else {
                return true;
            };
            not_applicable.push(candidate.not_tried(reason));
            false
        });
    }

    /// Levels of one choice that the screening will tell apart.
    fn room(
        &self,
        set_up: &SetUp<'_>,
        tune: &TuneQuestion,
        duel_settings: DuelSettings,
    ) -> Result<usize> {
        let study = set_up.study;
        let others: Vec<Candidate> = self
            .candidates
            .iter()
            .filter(|candidate| !candidate.is_built())
            .cloned()
            .collect();
        let time = TuneTime {
            duel_settings,
            budget_seconds: study.budget.as_secs_f64(),
            goal: study.goal,
            candidates: &others,
            screen_couples: tune.screen_couples,
            couples: study.couples,
            noise: self.noise,
            total_errors: total_errors(study.alpha),
            rung_errors: two_rungs_errors(study.alpha),
            spare: SPARE_TIME,
        };
        time.levels_of_a_choice()
    }

    /// How it is tuned.
    pub(crate) fn options(
        &self,
        set_up: &SetUp<'_>,
        tune: &TuneQuestion,
        duel_settings: &DuelSettings,
        threads: u32,
        seed: u64,
    ) -> Result<TuneOptions> {
        let (study, inventory) = (set_up.study, set_up.inventory);
        Ok(TuneOptions {
            base: with_max_connections(&set_up.base, threads),
            candidates: self.candidates.clone(),
            not_applicable: self.not_applicable.clone(),
            goal: study.goal,
            rate: study.rate,
            alpha: study.alpha,
            rule: study.rule(),
            budget_seconds: study.budget.as_secs_f64(),
            screen_couples: tune.screen_couples,
            couples: study.couples,
            slice_seconds: duel_settings.slice_seconds,
            seed,
            machine: inventory.machine()?,
            cpus: inventory.fingerprint()?.usable_cpus(),
            profile: self.profile.clone(),
            noise: self.noise,
            keep: tune.keep,
            guard: tune.guard,
            remote_application: tune.app == Application::Remote || inventory.client.is_some(),
            next: self.next.clone(),
            target_sizes: self.target_sizes.clone(),
        })
    }
}

/// Whether this machine can build any of the servers that `tune` is to try: asked first of all, before a server is fetched.
///
/// # Errors
/// It can build none: what is missing, and the command that installs it.
fn something_can_be_built(set_up: &SetUp<'_>, tune: &TuneQuestion) -> Result<()> {
    let server = set_up.base.server.as_str();
    // A server that is not there has a remedy of its own.
    if looks_like_path(server) {
        Install::from_path(Path::new(server))?;
    } else {
        set_up.inventory.catalog.get(server)?;
    }
    let wanted = set_up
        .inventory
        .levers
        .iter()
        .filter(|lever| lever.factor() == BUILDS && !tune.leaves_out(lever));
    let recipes: Vec<(&str, Recipe)> = wanted
        .map(|lever| {
            let change = Change {
                build: lever.build().clone(),
                ..Change::default()
            };
            (lever.id(), recipe(set_up, &change))
        })
        .collect();
    let refused = refused(set_up, &recipes);
    match !recipes.is_empty() && refused.len() == recipes.len() {
        true => Err(nothing_can_be_built(&refused)),
        false => Ok(()),
    }
}

/// The lever that most is expected of, among those that an option would have tried; `None` where none is expected to be worth it.
fn untried(
    not_applicable: &[NotTried],
    levers: &[Lever],
    gain: impl Fn(&Lever) -> f64,
) -> Option<NextStep> {
    let options = not_applicable.iter().filter_map(|left| {
        let lever = levers.iter().find(|lever| lever.id() == left.lever)?;
        let option = match &left.reason {
            Reason::RiskNotAllowed { risk } => format!("--allow {risk}"),
            Reason::OnlyByName { lever, .. } => format!("--also {lever}"),
            Reason::BuildBudget { .. } => "a longer --build-budget".to_owned(),
            Reason::NotRequested => "without --only or --without".to_owned(),
            _ => return None,
        };
        Some((lever, option, gain(lever)))
    });
    let worth = options.filter(|(.., gain)| *gain >= WORTH_TRYING.ln_1p());
    let (lever, option, gain) = worth.max_by(|x, y| x.2.total_cmp(&y.2))?;
    Some(NextStep::TryLever {
        title: lever.title().to_owned(),
        option,
        elsewhere: gain.exp(),
    })
}

/// Why a candidate that builds is not tried by the tuning of this plan, which is continued: it was begun without it.
fn begun_without(plan: &TunePlan, candidate: &Candidate) -> Option<Reason> {
    let is_late = candidate.is_built() && !plan.levers.iter().any(|id| id == candidate.lever.id());
    let had_no_room = plan.left_out.iter().any(|id| id == candidate.lever.id());
    is_late.then_some(match had_no_room {
        true => Reason::BudgetTooShort,
        false => Reason::BegunWithout,
    })
}

/// How the server with a change is made.
fn recipe(set_up: &SetUp<'_>, change: &Change) -> Recipe {
    set_up.base.with("", change).build.unwrap_or_default()
}

/// Those of `recipes` that this machine cannot build, with the reasons.
fn refused(set_up: &SetUp<'_>, recipes: &[(&str, Recipe)]) -> Vec<(String, Explanation)> {
    let inventory = set_up.inventory;
    let store = BuildStore::new(&inventory.cache);
    without_tools(&inventory.catalog, &store, &set_up.base.server, recipes)
}

#[cfg(test)]
mod tests {
    use niagara_store::Store;
    use serde_json::json;

    use super::*;
    use crate::studies::results_folder::RESULTS_FILE;
    use crate::studies::study::Study;

    #[test]
    fn a_tuning_that_is_continued_has_the_builds_that_it_was_begun_with() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(RESULTS_FILE);
        let duel_settings = DuelSettings {
            couples: 4,
            slice_seconds: 0.5,
            ramp_seconds: 0.05,
            warm_up_seconds: 4.0,
            disturbance: 0.05,
        };
        let study = Study::for_tests(folder.path(), 600.0, duel_settings).expect("a study");
        let kept = || {
            let store = Store::open_read_only(&file).expect("readable");
            let plan = checkpoint::tune_plan().kept_in(&store, &file);
            plan.expect("readable")
        };
        assert_eq!(kept(), None);
        let plan: TunePlan = serde_json::from_value(json!({
            "levers": ["build-clang-pgo-lto", "malloc-jemalloc"], "left_out": [], "screening_duels": 40,
            "slice_seconds": 0.5, "screening_duel_seconds": 5.0, "duel_seconds": 9.0, "screening_until": 300.0,
            "detectable_lever": null, "detectable_total": null, "noise": "assumed", "screen_couples": 4, "couples": 8,
        }))
        .expect("a plan");
        study
            .keep(&checkpoint::tune_plan(), &plan)
            .expect("writable");
        assert_eq!(kept().as_ref(), Some(&plan));
        let levers = crate::lever::load(&[]).expect("the shipped levers");
        let late: Vec<&str> = ["build-clang-pgo-lto", "build-pgo-lto", "malloc-tcmalloc"]
            .into_iter()
            .filter(|id| {
                let lever = levers.iter().find(|lever| lever.id() == *id);
                let lever = lever.expect("shipped").clone();
                let candidate = Candidate {
                    change: Change {
                        build: lever.build().clone(),
                        ..Change::default()
                    },
                    lever,
                    span: None,
                    prior: None,
                };
                begun_without(&plan, &candidate).is_some()
            })
            .collect();
        // The malloc is left to the plan, which every lever is held against.
        assert_eq!(late, ["build-pgo-lto"]);
    }
}
