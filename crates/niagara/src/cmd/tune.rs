//! `niagara tune`: try every lever that applies, keep what is proven, report.

use std::process::ExitCode;

use anyhow::{Result, bail};
use niagara_build::{BuildStore, Recipe};
use niagara_lab::lever::{Context as LeverContext, Lever, Risk, Role};
use niagara_lab::{
    Candidate, History, Protocol, TuneOptions, TunePlan, Variant, prepare_builds, tune,
};
use niagara_stats::Rule;
use niagara_store::{NotTried, Summary};
use serde::Serialize;

use crate::args::{App, TuneArgs};
use crate::client;
use crate::cmd::build::words;
use crate::cmd::report::{Shown, print_result, write_files};
use crate::interrupt::{exit_code, on_ctrl_c};
use crate::machine;
use crate::progress::{Terminal, clock};
use crate::setting::{
    Aim, DefaultCouples, Opening, Setting, lengths, load, open_study, server_name,
};
use crate::symbols::symbols;

/// What decides what a tuning measures.
#[derive(Serialize)]
struct Plan<'a> {
    server: &'a str,
    load: &'a niagara_lab::Load,
    allow: &'a [Risk],
    app: App,
    only: &'a [String],
    also: &'a [String],
    without: &'a [String],
    alpha: f64,
    min_effect: f64,
    #[serde(flatten)]
    aim: Aim,
    screen_couples: u32,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    with_builds: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_host: Option<&'a str>,
}

pub fn run(args: TuneArgs) -> Result<ExitCode> {
    let cancel = on_ctrl_c()?;
    let mut setting = Setting::open(&args.study.servers, &args.study.levers)?;
    let load = load(&args.load)?;
    let lengths = lengths(&args.lengths, &load, Protocol::Duel, args.judge.goal);
    let rate = args.judge.rate()?;
    let screen_couples = args
        .screen_couples
        .unwrap_or_else(|| DefaultCouples::SCREENING.of(lengths.slice_seconds));
    check_names(&setting.levers, [&args.only, &args.also, &args.without])?;
    let mut terminal = Terminal::new(args.budget);

    let server = server_name(&args.server)?;
    setting.client = client::open(&args.client, &cancel, &mut terminal)?;
    let mut bench = setting.workbench(load.clone(), cancel.clone());
    bench.set_up(&server, &mut terminal)?;
    let fingerprint = machine::fingerprint(&setting.cache)?;
    let mut context = machine::lever_context(&fingerprint, &bench, &server)?;
    context.app_local &= args.app == App::Local;
    context.allowed = args.allow.iter().copied().collect();
    context.named = args.only.iter().chain(&args.also).cloned().collect();
    if args.with_builds {
        let builds = setting
            .levers
            .iter()
            .filter(|lever| lever.factor() == "build");
        context
            .named
            .extend(builds.map(|lever| lever.id().to_owned()));
    }
    let (mut candidates, mut not_applicable) = choose(&setting.levers, &context, &args);
    let base = Variant::base(&server);
    let builds = forecasts(&setting, &base, &candidates);
    if !builds.is_empty() {
        terminal.line(&format!("servers to build first: {}", builds.join(", ")));
        let left_out = prepare_builds(&mut bench, &base, &mut candidates, &mut terminal)?;
        not_applicable.extend(left_out);
    }

    let (mut study, seed) = open_study(&Opening {
        kind: "tune",
        name: &format!("{server}-{}", load.workload.name()),
        plan: &Plan {
            server: &server,
            load: &load,
            allow: &args.allow,
            app: args.app,
            only: &args.only,
            also: &args.also,
            without: &args.without,
            alpha: args.judge.alpha,
            min_effect: args.judge.min_effect,
            aim: Aim::of(&args.judge),
            screen_couples,
            with_builds: args.with_builds,
            client_host: args.client.client_host.as_deref(),
        },
        lengths,
        protocol: Protocol::Duel,
        budget: args.budget,
        args: &args.study,
        machine: &fingerprint,
        client: setting.client.as_deref(),
    })?;
    terminal.resumed(&study);
    let profile = match args.no_profile {
        true => None,
        false => Some(symbols(&setting, &bench, [&base], &mut terminal)?),
    };
    let options = TuneOptions {
        base,
        candidates,
        not_applicable,
        goal: args.judge.goal,
        rate,
        alpha: args.judge.alpha,
        rule: Rule {
            min_effect: args.judge.min_effect,
            ..Rule::default()
        },
        budget_seconds: args.budget.as_secs_f64(),
        screen_couples,
        couples: args
            .lengths
            .couples
            .unwrap_or_else(|| DefaultCouples::LADDER.of(lengths.slice_seconds)),
        seed,
        machine: match &setting.client {
            Some(client) => format!("{}, loaded from {}", fingerprint.one_line(), client.name()),
            None => fingerprint.one_line(),
        },
        profile,
        // The history is of loads that came from this host.
        noise: match &setting.client {
            Some(_) => None,
            None => History::of(&setting.cache).components(&load, &lengths),
        },
    };
    let one_line = load.one_line();
    let mut announced = None;
    let tuned = tune(
        &bench,
        &mut study,
        &options,
        &mut |plan| announced = Some(announcement(plan, &server, &args, &one_line)),
        &mut terminal,
    );
    terminal.finish();
    let tuned = tuned?;
    let folder = study.folder().to_owned();
    write_files(&folder, study.store())?;
    let complete = tuned.complete;
    print_result(
        &Summary::Tune(Box::new(tuned)),
        study.store(),
        &folder,
        Shown::asked(&args.study),
    )?;
    Ok(exit_code(cancel.is_cancelled(), complete))
}

fn check_names(levers: &[Lever], lists: [&Vec<String>; 3]) -> Result<()> {
    for name in lists.into_iter().flatten() {
        if !levers.iter().any(|lever| lever.id() == name) {
            bail!("there is no lever {name}: `niagara levers` lists them");
        }
    }
    Ok(())
}

/// The levers that build a server, each with what that takes.
fn forecasts(setting: &Setting, base: &Variant, candidates: &[Candidate]) -> Vec<String> {
    let store = BuildStore::new(&setting.cache);
    let (levers, recipes): (Vec<&str>, Vec<Recipe>) = candidates
        .iter()
        .filter_map(|candidate| {
            let variant = base.with(candidate.lever.id(), &candidate.change);
            Some((candidate.lever.id(), variant.build?))
        })
        .unzip();
    let forecasts = store.forecasts(&base.server, &recipes.iter().collect::<Vec<_>>());
    levers
        .iter()
        .zip(forecasts)
        .map(|(lever, forecast)| format!("{lever} ({})", words(forecast)))
        .collect()
}

/// The levers that apply here with their changes, and the others with the reasons.
fn choose(
    levers: &[Lever],
    context: &LeverContext,
    args: &TuneArgs,
) -> (Vec<Candidate>, Vec<NotTried>) {
    let mut candidates = Vec::new();
    let mut not_applicable = Vec::new();
    for lever in levers {
        let named = args.only.iter().any(|id| id == lever.id());
        let unwanted = args.without.iter().any(|id| id == lever.id())
            || (!args.only.is_empty() && !named && lever.role() == Role::Lever);
        let applies = if unwanted {
            Err("left out on request (--only, --without)".to_owned())
        } else {
            lever.applicability(context)
        };
        match applies {
            Ok(change) => candidates.push(Candidate {
                lever: lever.clone(),
                change,
            }),
            Err(reason) => not_applicable.push(NotTried {
                lever: lever.id().to_owned(),
                title: lever.title().to_owned(),
                reason,
            }),
        }
    }
    (candidates, not_applicable)
}

fn announcement(plan: &TunePlan, server: &str, args: &TuneArgs, load: &str) -> String {
    let mut text = format!(
        "tuning {server} for {load}\n  \
         first {} levers, all at once, in {} screening duels of about {:.0} s: a lever that changes throughput by {:.1} % or more shows\n  \
         then those that help together, against the start, in fresh duels of about {:.0} s: {:.1} % or more shows\n  \
         time: {}, excluding set-up",
        plan.levers.len(),
        plan.screening_duels,
        plan.screening_duel_seconds,
        plan.detectable_lever * 100.0,
        plan.duel_seconds,
        plan.detectable_total * 100.0,
        clock(args.budget),
    );
    if !plan.left_out.is_empty() {
        text += &format!(
            "\n  left out, the budget being too short for them: {}",
            plan.left_out.join(", ")
        );
    }
    text
}
