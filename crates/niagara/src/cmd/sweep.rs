//! `niagara sweep`: where does it stop scaling, and why? A study without a file.

use std::process::ExitCode;

use anyhow::Result;
use niagara_error::bail;
use niagara_lab::{
    MAX_SWEPT, Question, StudyDescription, VariantRecipe, answer, quantity, server_name,
    sweep_protocol,
};
use niagara_load::WorkloadSpec;

use crate::args::SweepArgs;
use crate::cmd::run::plan_of;
use crate::cmd::session::{OpenSession, known};
use crate::origin::origin;
use crate::progress::Terminal;

pub fn run(args: SweepArgs) -> Result<ExitCode> {
    let threads = match quantity::threads(&args.threads) {
        Ok(threads) if threads.last().is_some_and(|&most| most <= MAX_SWEPT) => threads,
        Ok(_) => bail!(
            "--threads {}: a sweep goes from 1 to {MAX_SWEPT}",
            args.threads
        ),
        Err(expected) => bail!("--threads {}: {expected}", args.threads),
    };
    let (levers, servers) = known(&args.study)?;
    let variants = args
        .variants
        .iter()
        .map(|text| {
            Ok(VariantRecipe {
                title: (args.variants.len() > 1).then(|| text.clone()),
                ..VariantRecipe::of_text(text, &levers, &servers)?
            })
        })
        .collect::<Result<Vec<_>>>()?;
    let base = args.workload.spec()?;
    check_has_threads(&base)?;
    let load = args.data.load_of(base, threads[0])?;
    let name = format!("{}-{}", args.variants.join("-"), load.workload.name());
    let study = StudyDescription {
        threads,
        protocol: sweep_protocol(variants.len()),
        alpha: args.alpha,
        seed: args.study.seed,
        budget: args.budget,
        duels: args.starts as usize,
        couples: args.duel_settings.couples,
        slice: args.duel_settings.slice,
        warm_up: args.duel_settings.warm_up,
        disturbance: args.duel_settings.disturbance,
        origin: origin(&args.origin)?,
        client_host: args.client.client_host.clone(),
        profile: !args.no_profile,
        ..StudyDescription::of(
            server_name(&args.server)?,
            load,
            Question::Sweep { variants },
        )
    };
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
    let plan = plan_of(&study, None, &inventory.cache, &inventory.catalog);
    terminal.line(&plan.text());
    let answered = answer(&study, &opened.session(), &mut terminal)?;
    drop(terminal);
    opened.show(&study, &answered, &args.study)
}

/// Refuses a workload whose number of connections is not free.
fn check_has_threads(workload: &WorkloadSpec) -> Result<()> {
    let what = if workload.capture().is_some() {
        "a capture, whose connections are those that were captured"
    } else if workload.is_job() {
        "a job, done on one connection"
    } else {
        return Ok(());
    };
    let spelling = workload.spelling();
    bail!(
        "{spelling} is {what}: there is nothing to sweep";
        remedy: "`niagara compare A B --workload {spelling}` compares two servers by it"
    )
}
