//! `niagara tune`: try every lever that applies, keep what is proven, report.

use std::process::ExitCode;

use anyhow::Result;
use niagara_lab::{Question, StudyDescription, TuneQuestion, judged_apart, lever, server_name};

use crate::args::{App, TuneArgs};
use crate::cmd::ask::{Asking, ask};
use crate::ordinary_user::what_root_would_add;
use crate::origin::origin;
use crate::setting::load;

pub fn run(args: TuneArgs) -> Result<ExitCode> {
    let question = question(&args)?;
    let workload = question.workloads[0].load.workload.name();
    let asking = Asking {
        name: &format!("{}-{workload}", question.server),
        study: &args.study,
        client: args.client.clone(),
        fleet: &args.fleet,
    };
    ask(&question, &asking, |inventory| {
        what_root_would_add(&inventory.fingerprint().ok()?)
    })
}

/// What the arguments ask.
///
/// # Errors
/// A lever that does not exist; a load that means nothing.
fn question(args: &TuneArgs) -> Result<StudyDescription> {
    let tune = TuneQuestion {
        allow: args.allow.clone(),
        app_local: args.app == App::Local,
        only: args.only.clone(),
        also: args.also.clone(),
        without: args.without.clone(),
        with_builds: args.with_builds,
        build_seconds: args.build_budget.as_secs_f64(),
        screen_couples: args.screen_couples,
    };
    tune.check_names(&lever::load(&args.study.levers)?)?;
    let mut load = load(&args.load)?;
    let named = args.only.iter().chain(&args.also);
    if args.with_builds || named.clone().any(|lever| lever.starts_with("build")) {
        load = judged_apart(load)?;
    }
    args.judge.check_job(&load)?;
    Ok(StudyDescription {
        goal: args.judge.goal,
        rate: args.judge.rate()?,
        alpha: args.judge.alpha,
        min_effect: args.judge.min_effect,
        seed: args.study.seed,
        budget: args.budget,
        couples: args.duel_settings.couples,
        slice: args.duel_settings.slice,
        warm_up: args.duel_settings.warm_up,
        disturbance: args.duel_settings.disturbance,
        origin: origin(&args.origin)?,
        client_host: args.client.client_host.clone(),
        profile: !args.no_profile,
        ..StudyDescription::of(server_name(&args.server)?, load, Question::Tune(tune))
    })
}
