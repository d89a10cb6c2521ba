//! `niagara run FILE`: any study of a file.

mod plan;

pub(crate) use plan::RunPlan;

use std::collections::BTreeSet;
use std::process::ExitCode;

use anyhow::Result;
use niagara_build::{BuildStore, Forecast, Recipe, kept_as};
use niagara_error::{Explanation, anyhow, bail};
use niagara_lab::{
    History, PartsSoFar, Question, ServerRecipe, StudyDescription, StudySize, answer,
    looks_like_path, parts_so_far, server_name,
};
use niagara_server::{Cache, Catalog};

use crate::args::{RunArgs, SizeArg};
use crate::cmd::session::{OpenSession, known};
use crate::cmd::study::read;
use crate::json::{self, Document, Printed};
use crate::progress::Terminal;
use crate::shared_args::Where;

/// What to do about a level that the study does not have.
const LEVEL_REMEDY: &str = "name by --level an axis of a matrix and one of its levels beside the baseline, or leave it out";

impl Printed for RunPlan {
    const DOCUMENT: Document = Document::Plan;
}

pub fn run(args: RunArgs) -> Result<ExitCode> {
    let (levers, servers) = known(&args.study)?;
    let file = match read(&args.file, &levers, &servers)? {
        Ok(file) => file,
        Err(mistakes) => {
            for mistake in mistakes.0 {
                tell!("{}", Explanation::from(&mistake));
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
        .map_err(|cause| anyhow!("{}: {cause}", args.file.display(); remedy: "{LEVEL_REMEDY}"))?;
    if let Some(server) = &args.server {
        if !looks_like_path(server) {
            // A mistake would otherwise come out after the plan.
            Catalog::load(&args.study.servers)?.get(server)?;
        }
        study.server = server_name(server)?;
    }
    study.budget = args.budget.unwrap_or(study.budget);
    study.disturbance = args.disturbance.unwrap_or(study.disturbance);
    study.origin = args.origin.over(study.origin)?;
    study.client_host = args.client.client_host.clone().or(study.client_host);
    study.seed = args.study.seed.or(study.seed);
    study.profile = !args.no_profile;
    if let Some(budget) = args.build_budget {
        check_build_budget(&study, &args)?;
        study.build_budget = Some(budget);
    }
    let stem = args.file.file_stem().unwrap_or_default().to_string_lossy();
    let name = match &args.server {
        Some(server) => format!("{stem}-{server}-{size}"),
        None => format!("{stem}-{size}"),
    };
    let so_far = parts_so_far(&study, &name, args.study.out.as_deref())?;
    if args.plan {
        let catalog = Catalog::load(&args.study.servers)?;
        let plan = plan_of(&study, so_far.as_ref(), &Cache::open()?, &catalog);
        if args.study.json {
            json::print(&plan)?;
        } else {
            say!("{}", plan.text());
            plan.nodes_text()
                .into_iter()
                .for_each(|text| say!("{text}"));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut terminal = Terminal::new(study.budget);
    let opened = OpenSession::open(
        &study,
        &name,
        &args.study,
        &args.client,
        &args.fleet,
        &mut terminal,
    )?;
    let inventory = &opened.inventory;
    let plan = plan_of(
        &study,
        so_far.as_ref(),
        &inventory.cache,
        &inventory.catalog,
    );
    terminal.line(&plan.text());
    let answered = answer(&study, &opened.session(), &mut terminal)?;
    drop(terminal);
    opened.show(&study, &answered, &args.study)
}

/// That the time for building is a ladder's, on this machine: a comparison is nothing without its servers, a matrix has parts, and nodes build side by
/// side.
fn check_build_budget(study: &StudyDescription, args: &RunArgs) -> Result<()> {
    let file = args.file.display();
    if !matches!(study.question, Question::Ladder { .. }) {
        bail!(
            "--build-budget is for ladders, and {file} is a {}", study.question.kind();
            remedy: "leave it out; the part of a matrix that is built is chosen by --level"
        );
    }
    if args.fleet.on != Where::Local {
        bail!(
            "--build-budget is for this machine, and nodes build side by side";
            remedy: "leave it out, or leave out --on"
        );
    }
    Ok(())
}

pub fn plan_of(
    study: &StudyDescription,
    so_far: Option<&PartsSoFar>,
    cache: &Cache,
    catalog: &Catalog,
) -> RunPlan {
    let builds = BuildStore::new(cache);
    // The history is of loads that came from this host.
    let history = study.client_host.is_none().then(|| History::of(cache));
    plan::plan(study, history.as_ref(), so_far, &|made| {
        forecasts(&builds, catalog, made)
    })
}

/// What making each of these takes, one after the other: those of one server know of each other.
fn forecasts(builds: &BuildStore, catalog: &Catalog, made: &[ServerRecipe]) -> Vec<Forecast> {
    let mut all = vec![Forecast::Unknown; made.len()];
    let servers: BTreeSet<&str> = made.iter().map(|made| made.server.as_str()).collect();
    for server in servers {
        let of_it: Vec<usize> = (0..made.len())
            .filter(|&place| made[place].server == server)
            .collect();
        let recipes: Vec<&Recipe> = of_it.iter().map(|&place| &made[place].recipe).collect();
        let forecasts = builds.forecasts(catalog, kept_as(catalog, server), &recipes);
        for (place, forecast) in of_it.into_iter().zip(forecasts) {
            all[place] = forecast;
        }
    }
    all
}
