//! `niagara compare A B`: is B faster than A?

use std::process::ExitCode;

use anyhow::{Result, bail};
use niagara_lab::lever::Lever;
use niagara_lab::{Protocol, Question, StudyDescription, VariantRecipe, server_name};

use crate::args::CompareArgs;
use crate::cmd::ask::{Asking, ask, known};
use crate::setting::load;

pub fn run(args: CompareArgs) -> Result<ExitCode> {
    let (levers, servers) = known(&args.study)?;
    let question = question(&args, &levers, &servers)?;
    let asking = Asking {
        name: &format!("{}-vs-{}", args.a, args.b),
        study: &args.study,
        client: args.client.clone(),
    };
    ask(&question, &asking, |_| None)
}

/// What the arguments ask.
///
/// # Errors
/// A variant or a load that means nothing; a protocol that the load cannot have.
fn question(args: &CompareArgs, levers: &[Lever], servers: &[String]) -> Result<StudyDescription> {
    let load = load(&args.load)?;
    let is_job = load.workload.is_job();
    // A single long job cannot be sliced: its runs meet in pairs.
    let protocol = match Protocol::from(args.protocol) {
        Protocol::Duel if is_job => Protocol::Pair,
        Protocol::Trimmed if is_job => bail!(
            "{} is a job, and jobs are compared by pairs\nremedy: leave out --protocol",
            load.workload.name()
        ),
        protocol => protocol,
    };
    if is_job && args.judge.goal.is_latency() {
        bail!(
            "{} is a job: its time is its throughput, and nothing arrives at a rate\n\
             remedy: --goal throughput, or --goal cpu",
            load.workload.name()
        );
    }
    let sides = [
        VariantRecipe::of_text(&args.a, levers, servers)?,
        VariantRecipe::of_text(&args.b, levers, servers)?,
    ];
    let asked = Question::Compare {
        sides: Box::new(sides),
        to_the_end: args.to_the_end,
    };
    Ok(StudyDescription {
        protocol,
        goal: args.judge.goal,
        rate: args.judge.rate()?,
        alpha: args.judge.alpha,
        min_effect: args.judge.min_effect,
        seed: args.study.seed,
        budget: args.budget,
        duels: args.max_duels,
        couples: args.lengths.couples,
        slice: args.lengths.slice,
        warm_up: args.lengths.warm_up,
        disturbance: args.lengths.disturbance,
        client_host: args.client.client_host.clone(),
        ..StudyDescription::of(server_name(&args.server)?, load, asked)
    })
}
