//! `niagara doctor`: is this machine fit to measure on, and what can be seen in 10 minutes?

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use niagara_lab::{
    DefaultCouples, Found, Inventory, Noise, Question, Session, StudyDescription, answer,
    server_name,
};
use niagara_report::number;
use niagara_server::machine::{MachineState, Tools};

use crate::args::DoctorArgs;
use crate::command_line::{VERSION, command_line, command_of_part};
use crate::doctor::{Checklist, Prospect};
use crate::interrupt::{exit_code, on_ctrl_c};
use crate::json;
use crate::progress::{Terminal, colour_on_stdout};

/// Couples of a duel here: a minute should hold several duels.
const NOISE_COUPLES: u32 = 20;

/// How long the machine is watched for what else it does.
const WATCH: Duration = Duration::from_millis(500);

pub fn run(args: DoctorArgs) -> Result<ExitCode> {
    let inventory = Inventory::open(&[], &[])?;
    let fingerprint = inventory.fingerprint()?;
    let now = MachineState::watch(&inventory.cache.work()?, WATCH)?;
    let tools = Tools::find();
    let mut checks = Checklist::of(&fingerprint, &now, &tools);
    if !args.json {
        say_text!("{}", checks.text(colour_on_stdout()));
    }
    if !args.noise {
        match args.json {
            true => json::print(&checks)?,
            false => say!("\nwhat can be seen here: niagara doctor --noise (takes a minute)"),
        }
        return Ok(ExitCode::SUCCESS);
    }
    let (found, interrupted) = measure(&args, &inventory)?;
    let couples = DefaultCouples::JUDGING.of(found.duel_settings.slice_seconds);
    let prospect = found.sd(couples).map(|sd_duel| Prospect {
        duels: found.duels.len(),
        sd_duel,
        couples,
        detectable_10_minutes: found.detectable(600.0),
        detectable_1_hour: found.detectable(3600.0),
    });
    let is_known = prospect.is_some();
    if args.json {
        checks.noise = Some(prospect);
        json::print(&checks)?;
    } else {
        match &prospect {
            Some(prospect) => say!("\n{}", words(prospect, &args)),
            None => say!("\n{}", why_nothing(&found, interrupted)),
        }
    }
    Ok(exit_code(interrupted, is_known))
}

/// Why no duel could be scored.
fn why_nothing(found: &Noise, interrupted: bool) -> &'static str {
    match (found.run, found.duels.len()) {
        (0, _) if interrupted => "stopped before the first duel had ended",
        (0, _) => "the time ended before the first duel had: give more with --budget",
        (_, 0) => "no duel could be scored: something else keeps this machine busy",
        _ if interrupted => "stopped too early: one duel alone says nothing of noise",
        _ => "one duel alone says nothing of noise: give more with --budget",
    }
}

fn measure(args: &DoctorArgs, inventory: &Inventory) -> Result<(Noise, bool)> {
    let cancel = on_ctrl_c()?;
    let server = server_name(&args.server)?;
    // Slices as comparisons have them: what is found out here serves them.
    let question = StudyDescription {
        budget: args.budget,
        couples: Some(NOISE_COUPLES),
        warm_up: Duration::from_secs(1),
        ..StudyDescription::of(server, args.load.load()?, Question::Noise)
    };
    // Nobody wants to keep these: the machine's history remembers what counts.
    let folder = inventory.cache.work_folder("noise")?;
    let session = Session {
        fleet: None,
        inventory,
        cancel: &cancel,
        name: &question.server,
        folder: Some(folder.path()),
        command: &command_line(),
        version: VERSION,
        command_of_part,
    };
    let mut terminal = Terminal::new(args.budget);
    let answered = answer(&question, &session, &mut terminal);
    terminal.finish();
    match answered?.found {
        Found::Noise(noise) => Ok((noise, cancel.is_cancelled())),
        Found::Summary(_) => bail!("the noise of this machine was not measured"),
    }
}

fn words(prospect: &Prospect, args: &DoctorArgs) -> String {
    let percent = |effect: Option<f64>| match effect {
        Some(effect) => format!("{:.1} %", effect * 100.0),
        None => "nothing: too few duels fit in".to_owned(),
    };
    format!(
        "identical servers against each other, {} ({}, {}):\n  \
         one duel of {} has a standard deviation of {:.2} %\n  \
         a difference that is found with 80 % probability: in 10 minutes {}, in an hour {}",
        number::count(prospect.duels, "duel"),
        args.load.workload(),
        number::count(args.load.threads as usize, "thread"),
        number::count(prospect.couples as usize, "couple"),
        prospect.sd_duel * 100.0,
        percent(prospect.detectable_10_minutes),
        percent(prospect.detectable_1_hour),
    )
}
