//! `niagara doctor`: is this machine fit to measure on, and what can be seen in 10 minutes?

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use niagara_lab::{History, Noise, Protocol, Variant, noise};
use niagara_server::machine::{Fingerprint, MachineState, Tools};
use niagara_store::Goal;
use serde::Serialize;

use crate::args::{DoctorArgs, LengthArgs, StudyArgs};
use crate::interrupt::{exit_code, on_ctrl_c};
use crate::progress::{Terminal, colour_on_stdout};
use crate::setting::{DefaultCouples, Opening, Setting, lengths, load, open_study, server_name};
use crate::{doctor, machine};

/// Couples of a duel here: a minute should hold several duels.
const NOISE_COUPLES: u32 = 20;

/// How long the machine is watched for what else it does.
const WATCH: Duration = Duration::from_millis(500);

/// What identical servers showed, and what follows.
#[derive(Serialize)]
struct Prospect {
    duels: usize,
    sd_duel: f64,
    couples: u32,
    detectable_10_minutes: Option<f64>,
    detectable_1_hour: Option<f64>,
}

pub fn run(args: DoctorArgs) -> Result<ExitCode> {
    let setting = Setting::open(&[], &[])?;
    let fingerprint = machine::fingerprint(&setting.cache)?;
    let now = MachineState::watch(&setting.cache.work()?, WATCH)?;
    let checks = doctor::doctor(
        &fingerprint,
        &now,
        &Tools::find(),
        args.json,
        colour_on_stdout(),
    );
    if !args.noise {
        say_text!("{checks}");
        if !args.json {
            say!("\nwhat can be seen here: niagara doctor --noise (takes a minute)");
        }
        return Ok(ExitCode::SUCCESS);
    }
    if !args.json {
        say_text!("{checks}");
    }
    let (found, interrupted) = measure(&args, &setting, &fingerprint)?;
    let couples = DefaultCouples::JUDGING.of(found.lengths.slice_seconds);
    let Some(sd_duel) = found.sd(couples) else {
        say!("\nno duel could be scored: something else keeps this machine busy");
        return Ok(ExitCode::FAILURE);
    };
    let prospect = Prospect {
        duels: found.duels.len(),
        sd_duel,
        couples,
        detectable_10_minutes: found.detectable(600.0),
        detectable_1_hour: found.detectable(3600.0),
    };
    if args.json {
        let mut all: serde_json::Value = serde_json::from_str(&checks)?;
        all["noise"] = serde_json::to_value(&prospect)?;
        say!("{all:#}");
    } else {
        say!("\n{}", words(&prospect, &args));
    }
    Ok(exit_code(interrupted, true))
}

fn measure(
    args: &DoctorArgs,
    setting: &Setting,
    fingerprint: &Fingerprint,
) -> Result<(Noise, bool)> {
    let cancel = on_ctrl_c()?;
    let load = load(&args.load)?;
    // As comparisons have them: what is found out here serves them.
    let lengths = lengths(
        &LengthArgs {
            slice: None,
            couples: Some(NOISE_COUPLES),
            disturbance: 0.05,
            warm_up: Duration::from_secs(1),
        },
        &load,
        Protocol::Duel,
        Goal::Throughput,
    );
    let mut terminal = Terminal::new(args.budget);
    let mut bench = setting.workbench(load.clone(), cancel.clone());
    let server = server_name(&args.server)?;
    bench.set_up(&server, &mut terminal)?;
    // Nobody wants to keep these: the machine's history remembers what counts.
    let folder = setting.cache.work_folder("noise")?;
    let variant = Variant::base(&server);
    let (mut study, seed) = open_study(&Opening {
        kind: "noise",
        name: &server,
        plan: &variant,
        lengths,
        protocol: Protocol::Duel,
        budget: args.budget,
        args: &StudyArgs {
            out: Some(folder.path().to_owned()),
            seed: None,
            levers: Vec::new(),
            servers: Vec::new(),
            json: args.json,
            verbose: false,
        },
        machine: fingerprint,
        client: setting.client.as_deref(),
    })?;
    study.start_clock();
    let found = noise(
        &bench,
        &mut study,
        &History::of(&setting.cache),
        &variant,
        NOISE_COUPLES,
        seed,
        &mut terminal,
    );
    terminal.finish();
    Ok((found?, cancel.is_cancelled()))
}

fn words(prospect: &Prospect, args: &DoctorArgs) -> String {
    let percent = |effect: Option<f64>| match effect {
        Some(effect) => format!("{:.1} %", effect * 100.0),
        None => "nothing: too few duels fit in".to_owned(),
    };
    format!(
        "identical servers against each other, {} duels ({}, {} threads):\n  \
         one duel of {} couples has a standard deviation of {:.2} %\n  \
         a difference that is seen 4 times in 5: in 10 minutes {}, in an hour {}",
        prospect.duels,
        args.load.workload,
        args.load.threads,
        prospect.couples,
        prospect.sd_duel * 100.0,
        percent(prospect.detectable_10_minutes),
        percent(prospect.detectable_1_hour),
    )
}
