//! `niagara sweep`: where does it stop scaling, and why? A study without a file.

use std::process::ExitCode;

use anyhow::{Result, bail};
use niagara_lab::study_file::{
    StudyDescription, StudyQuestion, StudyWorkload, VariantRecipe, load_of,
};
use niagara_lab::{MOST_SWEPT, lever, quantity, sweep_protocol};
use niagara_load::WorkloadOption;
use niagara_server::Catalog;
use niagara_store::About;
use niagara_store::Goal;

use crate::args::SweepArgs;
use crate::cmd::run::execute;
use crate::cmd::study::server_names;
use crate::setting::workload;

pub fn run(args: SweepArgs) -> Result<ExitCode> {
    let threads = match quantity::threads(&args.threads) {
        Ok(threads) if threads.last().is_some_and(|&most| most <= MOST_SWEPT) => threads,
        Ok(_) => bail!(
            "--threads {}: a sweep goes from 1 to {MOST_SWEPT}",
            args.threads
        ),
        Err(expected) => bail!("--threads {}: {expected}", args.threads),
    };
    let levers = lever::load(&args.study.levers)?;
    let servers = server_names(&Catalog::load(&args.study.servers)?);
    let variants = args
        .variants
        .iter()
        .map(|text| {
            let expression = lever::parse_variant(text, &levers, &servers)?;
            Ok(VariantRecipe {
                title: (args.variants.len() > 1).then(|| text.clone()),
                server: expression.server,
                items: expression.items,
                ..VariantRecipe::default()
            })
        })
        .collect::<Result<Vec<_>>>()?;
    let base = workload(&args.workload)?;
    if base.is_job() {
        bail!(
            "{} is a job, done on one connection: there is nothing to sweep\n\
             remedy: `niagara compare A B --workload {0}` compares two servers by it",
            base.spelling()
        );
    }
    let sizes = [
        ("tables", args.tables.to_string()),
        ("table_size", args.table_size.to_string()),
    ];
    // Options set by name have the last word.
    let options = sizes
        .iter()
        .filter(|(name, _)| {
            WorkloadOption::find(name).is_some_and(|option| base.takes(option))
                && !args.set.iter().any(|(set, _)| set == name)
        })
        .map(|(name, value)| (*name, value.as_str()))
        .chain(
            args.set
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str())),
        );
    let load = load_of(base.clone(), options, &args.engine, threads[0])?;
    let workload = load.workload.name().to_owned();
    let study = StudyDescription {
        about: About::default(),
        server: args.server.clone(),
        engine: args.engine.clone(),
        workloads: vec![StudyWorkload {
            name: workload.clone(),
            trained: false,
            load,
        }],
        threads,
        protocol: sweep_protocol(variants.len()),
        goal: Goal::Throughput,
        rate: None,
        alpha: args.alpha,
        min_effect: 0.005,
        seed: args.study.seed,
        budget: args.budget,
        duels: args.starts as usize,
        couples: args.lengths.couples,
        slice: args.lengths.slice,
        warm_up: args.lengths.warm_up,
        disturbance: args.lengths.disturbance,
        client_host: args.client.client_host.clone(),
        question: StudyQuestion::Sweep { variants },
    };
    let name = format!("{}-{workload}", args.variants.join("-"));
    execute(&study, &name, args.study, args.client, !args.no_profile)
}
