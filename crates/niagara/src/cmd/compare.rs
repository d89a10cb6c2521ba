//! `niagara compare A B`: is B faster than A?

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use niagara_lab::lever;
use niagara_lab::study_file::VariantRecipe;
use niagara_lab::{
    CompareOptions, History, Observer, Protocol, Variant, Workbench, assumed_sd, compare,
    couples_for,
};
use niagara_stats::{ErrorBudget, Rule, detectable};
use niagara_store::Summary;
use serde::Serialize;

use crate::args::CompareArgs;
use crate::client;
use crate::cmd::report::{Shown, print_result, write_files};
use crate::interrupt::{exit_code, on_ctrl_c};
use crate::machine;
use crate::progress::{Terminal, clock};
use crate::resolve;
use crate::setting::{Aim, Opening, Setting, lengths, load, open_study, server_name};
use crate::steps;

/// What decides what a comparison measures.
#[derive(Serialize)]
struct Plan<'a> {
    a: &'a Variant,
    b: &'a Variant,
    load: &'a niagara_lab::Load,
    alpha: f64,
    min_effect: f64,
    #[serde(flatten)]
    aim: Aim,
    max_duels: usize,
    to_the_end: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_host: Option<&'a str>,
}

pub fn run(args: CompareArgs) -> Result<ExitCode> {
    let cancel = on_ctrl_c()?;
    let mut setting = Setting::open(&args.study.servers, &args.study.levers)?;
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
    let lengths = lengths(&args.lengths, &load, protocol, args.judge.goal);
    let rate = args.judge.rate()?;
    if is_job && args.judge.goal.is_latency() {
        bail!(
            "{} is a job: its time is its throughput, and nothing arrives at a rate\nremedy: --goal throughput, or --goal cpu",
            load.workload.name()
        );
    }
    let mut terminal = Terminal::new(args.budget);
    setting.client = client::open(&args.client, &cancel, &mut terminal)?;
    let mut bench = setting.workbench(load.clone(), cancel.clone());
    let a = variant(&args.a, &args.server, &setting, &mut bench, &mut terminal)?;
    let b = variant(&args.b, &args.server, &setting, &mut bench, &mut terminal)?;
    let fingerprint = machine::fingerprint(&setting.cache)?;

    let (mut study, seed) = open_study(&Opening {
        kind: "compare",
        name: &format!("{}-vs-{}", args.a, args.b),
        plan: &Plan {
            a: &a,
            b: &b,
            load: &load,
            alpha: args.judge.alpha,
            min_effect: args.judge.min_effect,
            aim: Aim::of(&args.judge),
            max_duels: args.max_duels,
            to_the_end: args.to_the_end,
            client_host: args.client.client_host.as_deref(),
        },
        lengths,
        protocol,
        budget: args.budget,
        args: &args.study,
        machine: &fingerprint,
        client: setting.client.as_deref(),
    })?;
    terminal.resumed(&study);
    // How many couples pay best is known from earlier comparisons here; a study keeps to its choice.
    let history = History::of(&setting.cache);
    // It is of loads that came from this host.
    let has_history = setting.client.is_none();
    let couples = match study.decision("couples")? {
        Some(text) => text.parse().unwrap_or(lengths.couples),
        None => {
            let couples = if args.lengths.couples.is_none() && protocol == Protocol::Duel {
                let best = has_history
                    .then(|| history.best_couples(&load, &lengths))
                    .flatten()
                    .unwrap_or(lengths.couples);
                let seconds = args.budget.as_secs_f64();
                couples_for(&lengths, best, seconds, args.max_duels)
            } else {
                lengths.couples
            };
            study.decide("couples", &couples.to_string())?;
            couples
        }
    };
    let seconds = niagara_lab::duel_seconds(&study.lengths(), couples);
    let fitting = ((args.budget.as_secs_f64() / seconds) as usize).min(args.max_duels);
    terminal.line(&format!(
        "A: {}\nB: {}\n{}; {protocol}s of about {seconds:.0} s for {} at most",
        a.label(),
        b.label(),
        load.one_line(),
        clock(args.budget),
    ));
    if protocol == Protocol::Duel {
        let sd = has_history
            .then(|| history.components(&load, &lengths))
            .flatten()
            .map_or_else(|| assumed_sd(couples), |known| known.duel_sd(couples));
        let visible = detectable(sd, fitting);
        terminal.line(&format!(
            "what {fitting} duels show, 4 times in 5: a difference of {:.1} % or more",
            visible * 100.0
        ));
        if visible > args.judge.min_effect {
            terminal.line(&format!(
                "  a gain of {:.1} % (--min-effect) may go unseen in this time: a longer --budget sees more",
                args.judge.min_effect * 100.0
            ));
        }
    }
    let options = CompareOptions {
        a,
        b,
        goal: args.judge.goal,
        rate,
        protocol,
        errors: ErrorBudget::two_sided(args.judge.alpha, args.max_duels),
        rule: Rule {
            min_effect: args.judge.min_effect,
            to_the_end: args.to_the_end,
            ..Rule::default()
        },
        couples,
        seed,
    };
    study.start_clock();
    let compared = compare(&bench, &mut study, &history, &options, &mut terminal);
    terminal.finish();
    let compared = compared?;
    let complete = compared.complete;
    let summary = Summary::Compare(Box::new(compared));
    study.store().set_summary(&summary)?;
    write_files(study.folder(), study.store())?;
    print_result(
        &summary,
        study.store(),
        study.folder(),
        Shown::asked(&args.study),
    )?;
    if is_job {
        steps::hand_over(&study, args.judge.alpha, args.study.json)?;
    }
    Ok(exit_code(cancel.is_cancelled(), complete))
}

/// The variant that `text` speaks of; its server is set up on the way, since a lever's change
/// depends on it.
pub fn variant(
    text: &str,
    default_server: &str,
    setting: &Setting,
    bench: &mut Workbench,
    observer: &mut dyn Observer,
) -> Result<Variant> {
    let names: Vec<&str> = setting
        .catalog
        .iter()
        .map(|server| server.name.as_str())
        .collect();
    let expression = lever::parse_variant(text, &setting.levers, &names)?;
    let server = server_name(expression.server.as_deref().unwrap_or(default_server))?;
    let recipe = VariantRecipe {
        items: expression.items,
        ..VariantRecipe::default()
    };
    resolve::make(&recipe, &Variant::base(&server), setting, bench, observer)
        .with_context(|| text.to_owned())
}
