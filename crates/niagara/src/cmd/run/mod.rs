//! `niagara run FILE`: any study. What each kind asks is in the lab; here its parts are set up and put together.

mod matrix;
mod plan;

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use niagara_build::BuildStore;
use niagara_lab::study_file::{StudyDescription, StudyQuestion, StudySize, VariantRecipe};
use niagara_lab::{
    CompareOptions, History, LadderOptions, Lengths, Load, Observer, Study, SweepOptions, Variant,
    Workbench, climb_ladder, compare, fill_matrix, sweep, with_room,
};
use niagara_server::Cache;
use niagara_server::Cancel;
use niagara_stats::{ErrorBudget, Rule};
use niagara_store::Summary;

use crate::args::{ClientArgs, LengthArgs, RunArgs, SizeArg, StudyArgs};
use crate::client;
use crate::cmd::report::{Shown, print_result, write_files};
use crate::cmd::run::plan::RunPlan;
use crate::cmd::study::{read, server_names};
use crate::interrupt::{exit_code, on_ctrl_c};
use crate::progress::Terminal;
use crate::setting::{Opening, Setting, lengths, open_study, server_name};
use crate::symbols::symbols;
use crate::{machine, resolve, steps};

pub fn run(args: RunArgs) -> Result<ExitCode> {
    let levers = niagara_lab::lever::load(&args.study.levers)?;
    let servers = server_names(&niagara_server::Catalog::load(&args.study.servers)?);
    let file = match read(&args.file, &levers, &servers)? {
        Ok(file) => file,
        Err(mistakes) => {
            for mistake in mistakes {
                tell!("{mistake}");
            }
            return Ok(ExitCode::FAILURE);
        }
    };
    let size = match args.size {
        SizeArg::Small => StudySize::Small,
        SizeArg::Original => StudySize::Original,
    };
    let mut study = file.in_size(size).clone();
    study
        .keep_levels(&args.levels)
        .map_err(|cause| anyhow!("{}: {cause}", args.file.display()))?;
    study.budget = args.budget.unwrap_or(study.budget);
    study.disturbance = args.disturbance.unwrap_or(study.disturbance);
    study.client_host = args.client.client_host.clone().or(study.client_host);
    if args.plan {
        let plan = plan_of(&study, &Cache::open()?);
        if args.study.json {
            say!("{}", serde_json::to_string_pretty(&plan)?);
        } else {
            say!("{}", plan.text());
        }
        return Ok(ExitCode::SUCCESS);
    }
    let stem = args.file.file_stem().unwrap_or_default().to_string_lossy();
    execute(
        &study,
        &format!("{stem}-{size}"),
        args.study,
        args.client,
        !args.no_profile,
    )
}

fn plan_of(study: &StudyDescription, cache: &Cache) -> RunPlan {
    let builds = BuildStore::new(cache);
    plan::plan(study, &lengths_of(study), &|recipes| {
        builds.forecasts(&study.server, recipes)
    })
}

fn lengths_of(study: &StudyDescription) -> Lengths {
    let args = LengthArgs {
        slice: study.slice,
        couples: study.couples,
        disturbance: study.disturbance,
        warm_up: study.warm_up,
    };
    let writer = study
        .workloads
        .iter()
        .find(|workload| workload.load.workload.writes());
    // Of several loads the one that writes decides: its slices are the longer ones.
    let workload = writer.unwrap_or(&study.workloads[0]);
    let load = Load {
        threads: study.threads.iter().copied().max().unwrap_or(1),
        ..workload.load.clone()
    };
    lengths(&args, &load, study.protocol, study.goal)
}

/// Runs `study` to its end, its budget's end, or Ctrl-C; `name` is what its folder is called by. The variants of a sweep
/// are looked at where they stop scaling if `profile` says so. `client` says how the study's client host is reached.
pub fn execute(
    study: &StudyDescription,
    name: &str,
    mut args: StudyArgs,
    client: ClientArgs,
    profile: bool,
) -> Result<ExitCode> {
    let cancel = on_ctrl_c()?;
    let mut setting = Setting::open(&args.servers, &args.levers)?;
    let fingerprint = machine::fingerprint(&setting.cache)?;
    let lengths = lengths_of(study);
    args.seed = args.seed.or(study.seed);
    let mut terminal = Terminal::new(study.budget);
    let client = ClientArgs {
        client_host: study.client_host.clone(),
        ..client
    };
    setting.client = client::open(&client, &cancel, &mut terminal)?;
    let (mut results, seed) = open_study(&Opening {
        kind: &study.question.kind().to_string(),
        name,
        plan: study,
        lengths,
        protocol: study.protocol,
        budget: study.budget,
        args: &args,
        machine: &fingerprint,
        client: setting.client.as_deref(),
    })?;
    terminal.resumed(&results);
    terminal.line(&plan_of(study, &setting.cache).text());
    let runner = Runner {
        study,
        setting: &setting,
        cancel: cancel.clone(),
        couples: lengths.couples,
        seed,
        base: Variant::base(&server_name(&study.server)?),
        profile,
    };
    let ran = runner.run(&mut results, &mut terminal);
    terminal.finish();
    let summary = ran?;
    results.store().set_summary(&summary)?;
    write_files(results.folder(), results.store())?;
    print_result(
        &summary,
        results.store(),
        results.folder(),
        Shown::asked(&args),
    )?;
    let is_job = study.workloads[0].load.workload.is_job();
    if is_job && matches!(summary, Summary::Compare(_)) {
        steps::hand_over(&results, study.alpha, args.json)?;
    }
    Ok(exit_code(cancel.is_cancelled(), summary.is_complete()))
}

/// What every kind of study needs.
struct Runner<'a> {
    study: &'a StudyDescription,
    setting: &'a Setting,
    cancel: Cancel,
    couples: u32,
    seed: u64,
    base: Variant,
    /// Whether the variants of a sweep are looked at.
    profile: bool,
}

impl Runner<'_> {
    fn run(&self, results: &mut Study, observer: &mut dyn Observer) -> Result<Summary> {
        match &self.study.question {
            StudyQuestion::Compare { sides } => self.compare(sides, results, observer),
            StudyQuestion::Ladder { start, rungs } => {
                let mut bench = self.bench(0, self.study.threads[0]);
                let start = self.variant(start, &mut bench, observer)?;
                let options = LadderOptions {
                    about: Some(self.study.about.clone()),
                    start,
                    rungs: rungs.clone(),
                    protocol: self.study.protocol,
                    alpha: self.study.alpha,
                    rule: self.rule(),
                    duels: self.study.duels,
                    couples: self.couples,
                    seed: self.seed,
                    budget_seconds: self.study.budget.as_secs_f64(),
                };
                let setting = self.setting;
                let threads = self.study.threads[0];
                results.start_clock();
                let climbed = climb_ladder(
                    &mut bench,
                    results,
                    &options,
                    &mut |rung, best, bench, observer| {
                        let made = resolve::variant(&rung.recipe, best, setting, bench, observer)?;
                        Ok(made.map(|variant| {
                            let change = added(best, &variant);
                            (with_room(&variant, threads), change)
                        }))
                    },
                    observer,
                )?;
                Ok(Summary::Ladder(Box::new(climbed)))
            }
            StudyQuestion::Matrix { start, axes, all } => {
                let parts = matrix::parts(self, start, axes, *all, observer)?;
                results.fix_warm_up();
                results.start_clock();
                let filled = fill_matrix(results, &parts.options(self), observer)?;
                Ok(Summary::Matrix(Box::new(filled)))
            }
            StudyQuestion::Sweep { variants } => self.sweep(variants, results, observer),
        }
    }

    fn compare(
        &self,
        sides: &[VariantRecipe; 2],
        results: &mut Study,
        observer: &mut dyn Observer,
    ) -> Result<Summary> {
        let study = self.study;
        let mut bench = self.bench(0, study.threads[0]);
        let a = self.variant(&sides[0], &mut bench, observer)?;
        let b = self.variant(&sides[1], &mut bench, observer)?;
        let options = CompareOptions {
            a,
            b,
            goal: study.goal,
            rate: study.rate,
            protocol: study.protocol,
            errors: ErrorBudget::two_sided(study.alpha, study.duels),
            rule: self.rule(),
            couples: self.couples,
            seed: self.seed,
        };
        results.start_clock();
        let history = History::of(&self.setting.cache);
        let mut compared = compare(&bench, results, &history, &options, observer)?;
        compared.about = Some(study.about.clone());
        Ok(Summary::Compare(Box::new(compared)))
    }

    fn sweep(
        &self,
        recipes: &[VariantRecipe],
        results: &mut Study,
        observer: &mut dyn Observer,
    ) -> Result<Summary> {
        let study = self.study;
        let mut benches = BTreeMap::new();
        let mut variants: Vec<(String, Variant)> = Vec::new();
        for &threads in &study.threads {
            let mut bench = self.bench(0, threads);
            for (index, recipe) in recipes.iter().enumerate() {
                match variants.get(index) {
                    Some((_, variant)) => bench.set_up_variant(variant, observer)?,
                    None => {
                        let variant = self.variant_unroomed(recipe, &mut bench, observer)?;
                        let title = recipe.title.clone().unwrap_or_else(|| variant.label());
                        variants.push((title, variant));
                    }
                }
            }
            benches.insert(threads, bench);
        }
        let profile = match (self.profile, benches.values().next()) {
            (true, Some(bench)) => {
                let variants = variants.iter().map(|(_, variant)| variant);
                Some(symbols(self.setting, bench, variants, observer)?)
            }
            _ => None,
        };
        let options = SweepOptions {
            about: (!study.about.asked.is_empty()).then(|| study.about.clone()),
            variants,
            benches: &benches,
            rounds: study.duels as u32,
            couples: self.couples,
            alpha: study.alpha,
            seed: self.seed,
            budget_seconds: study.budget.as_secs_f64(),
            workload: without_threads(&study.workloads[0].load),
            profile,
        };
        results.fix_warm_up();
        results.start_clock();
        let swept = sweep(results, &options, observer)?;
        Ok(Summary::Sweep(Box::new(swept)))
    }

    fn rule(&self) -> Rule {
        Rule {
            min_effect: self.study.min_effect,
            ..Rule::default()
        }
    }

    /// A workbench for one of the study's loads.
    fn bench(&self, workload: usize, threads: u32) -> Workbench {
        let load = Load {
            threads,
            ..self.study.workloads[workload].load.clone()
        };
        self.setting.workbench(load, self.cancel.clone())
    }

    /// A variant without which there is no study.
    fn variant(
        &self,
        recipe: &VariantRecipe,
        bench: &mut Workbench,
        observer: &mut dyn Observer,
    ) -> Result<Variant> {
        let threads = bench.load().threads;
        let variant = self.variant_unroomed(recipe, bench, observer)?;
        Ok(with_room(&variant, threads))
    }

    fn variant_unroomed(
        &self,
        recipe: &VariantRecipe,
        bench: &mut Workbench,
        observer: &mut dyn Observer,
    ) -> Result<Variant> {
        resolve::variant(recipe, &self.base, self.setting, bench, observer)?
            .map_err(|reason| anyhow!(reason))
            .with_context(|| {
                recipe
                    .title
                    .clone()
                    .unwrap_or_else(|| "a variant of this study".to_owned())
            })
    }
}

/// What `after` has beyond `before`, in words.
fn added(before: &Variant, after: &Variant) -> String {
    after
        .levers
        .iter()
        .skip(before.levers.len())
        .cloned()
        .collect::<Vec<_>>()
        .join(", ")
}

/// A load in one line, its threads aside.
fn without_threads(load: &Load) -> String {
    let line = load.one_line();
    line.rsplit_once(", ")
        .map_or(line.clone(), |(rest, _)| rest.to_owned())
}
