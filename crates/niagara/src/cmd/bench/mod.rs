//! `niagara bench WORKLOAD`: one workload against one server, private or already running.

pub mod args;
mod commits;
pub mod connect;
mod consistency;
mod cost;
mod dropping;
mod hdr_log;
mod job;
mod live;
mod measure;
pub mod naming;
mod openmetrics;
mod password;
mod replay;
mod result;
mod status;
mod table_names;
mod tables;
pub mod target;
mod text;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Result;
use niagara_error::bail;
use niagara_lab::Load;
use niagara_load::{
    Driver, DriverOptions, LoadError, Measure, Pacing, Retry, Schedule, give_up_after,
};
use niagara_server::{Cancel, Cancelled};

pub use args::BenchArgs;
pub(crate) use job::JobResult;
pub(crate) use result::BenchResult;

use self::args::{Action, RunArgs};
use self::hdr_log::HdrFile;
use self::measure::Bench;
use self::naming::Naming;
use self::result::Commits;
use self::result::{RunResult, ServerInfo, highest_sustained_rate};
use self::target::Target;
use crate::command_line::{VERSION, command_line};
use crate::interrupt::{exit_code, on_ctrl_c};
use crate::json;
use crate::pack;
use crate::progress::colour_on_stdout;

/// How long transactions in flight may take after Ctrl-C: less than the load itself waits for them at the end of a run (30 s), so that a
/// server that hangs is not told as lost.
const IN_FLIGHT: Duration = Duration::from_secs(25);

pub fn run(mut args: BenchArgs) -> Result<ExitCode> {
    if let Some(pack) = pack::adopt(&mut args.load, &mut args.origin)?
        && !args.connect.is_foreign()
    {
        let server = pack::server(args.private.server.as_deref(), Some(&pack))?;
        args.private.server = Some(server);
    }
    let load = args.load.load()?;
    replay::check(&args, &load)?;
    if !args.connect.is_foreign() {
        check_private(&args)?;
    }
    if load.workload.is_job() && args.output.openmetrics {
        bail!("a job has steps, not transactions a second"; remedy: "--json for --openmetrics");
    }
    if load.workload.is_job() && args.output.hdr_log.is_some() {
        bail!(
            "a job writes no HdrHistogram log: its steps are timed one by one";
            remedy: "leave out --hdr-log"
        );
    }
    // Before anything is started: a name that cannot be written is known at once.
    let file = args.output.hdr_log.as_deref().map(HdrFile::create);
    let mut file = file.transpose()?;
    if args.connect.is_foreign() {
        // The password is asked for before Ctrl-C has a meaning of its own.
        let mut target = Target::running(&args.connect, Naming::Load)?;
        let cancel = on_ctrl_c()?;
        match args.action {
            Action::Prepare => {
                let replace = args.connect.replace;
                let yes = args.connect.yes;
                let done = tables::prepare(&mut target, &load, replace, yes, &cancel)?;
                say!("{done}");
                Ok(ExitCode::SUCCESS)
            }
            Action::Cleanup => {
                say!("{}", tables::cleanup(&mut target, &load, args.connect.yes)?);
                Ok(ExitCode::SUCCESS)
            }
            Action::Check => consistency::report(&target, &load, args.output.json),
            Action::Run if load.workload.is_job() => {
                tables::check(&mut target, &load)?;
                job::measure(&args, &load, &mut target, &cancel)
            }
            Action::Run => {
                tables::check(&mut target, &load)?;
                measure(&args, &load, &mut target, &cancel, file.as_mut())
            }
        }
    } else {
        let cancel = on_ctrl_c()?;
        let mut target = Target::private(&args, &load, &cancel)?;
        if load.workload.is_job() {
            return job::measure(&args, &load, &mut target, &cancel);
        }
        measure(&args, &load, &mut target, &cancel, file.as_mut())
    }
}

/// Refuses what means nothing to a private server.
fn check_private(args: &BenchArgs) -> Result<()> {
    if let Some(option) = args.connect.stray() {
        bail!(
            "{option} speaks of a server that is already running";
            remedy: "name it with --socket or --host"
        );
    }
    if args.action != Action::Run {
        bail!(
            "a private server is filled and thrown away by itself";
            remedy: "leave out `prepare`, `cleanup` and `check` (tpcc is checked after every run), or name a running server \
             with --socket or --host"
        );
    }
    Ok(())
}

fn measure(
    args: &BenchArgs,
    load: &Load,
    target: &mut Target,
    cancel: &Cancel,
    file: Option<&mut HdrFile>,
) -> Result<ExitCode> {
    let title = format!("{} on {}", load.one_line(), target.title());
    if args.output.json || args.output.openmetrics {
        tell!("{title}");
    } else {
        say!("{title}");
    }
    let log = file.map(|file| file.begin(&title)).transpose()?;
    let mut driver = connect_load(args, load, target, cancel)?;
    let run_args = match load.workload.capture() {
        Some(capture) => replay::run_args(&args.run, capture)?,
        None => args.run.clone(),
    };
    let pacings = pacings(&run_args);
    let mut runs = Vec::new();
    let mut bench = Bench {
        args: &run_args,
        threads: load.threads,
        target,
        driver: &mut driver,
        cancel,
        log,
    };
    let mut broken = None;
    for pacing in &pacings {
        let run = match bench.run(pacing) {
            // What the runs before it measured is worth something all the same.
            Err(error) if !runs.is_empty() => {
                broken = Some(error);
                break;
            }
            run => run?,
        };
        if let Some(mut run) = run {
            match load.workload.measure() {
                Measure::Transactions => {}
                Measure::Commits => run.commits = Some(Commits::of(&run)),
                Measure::NewOrders => run.new_orders_per_minute = run.per_minute("new_order"),
            }
            runs.push(run);
        }
        if cancel.is_cancelled() {
            break;
        }
    }
    // What was measured is printed first, whatever comes of the check; it takes too long for somebody who wants to stop.
    let checked = if cancel.is_cancelled() || broken.is_some() {
        Ok(None)
    } else {
        consistency::after(bench.target, load)
    };
    let (consistency, failed) = match checked {
        Ok(findings) => (findings, None),
        Err(error) => (None, Some(error)),
    };
    let document = document(&run_args, load, bench.target, cancel, runs);
    let replay = replay::fidelity(load, &driver, &document.runs)?;
    let missing = replay
        .as_ref()
        .and_then(|fidelity| replay::missing_data(target, fidelity));
    if let Some(words) = missing {
        tell!("{words}");
    }
    let result = BenchResult {
        consistency,
        replay,
        ..document
    };
    driver.disconnect();
    if args.output.json {
        json::print(&result)?;
    } else if args.output.openmetrics {
        say_text!("{}", openmetrics::text(&result));
    } else {
        say_text!("{}", text::report(&result, colour_on_stdout()));
    }
    if let Some(error) = broken.or(failed) {
        return Err(error);
    }
    if let Some(findings) = &result.consistency {
        consistency::refuse(findings)?;
    }
    Ok(exit_code(cancel.is_cancelled(), true))
}

fn connect_load(args: &BenchArgs, load: &Load, target: &Target, cancel: &Cancel) -> Result<Driver> {
    let give_up = Arc::new(AtomicBool::new(false));
    let is_connected = Arc::new(AtomicBool::new(false));
    let connected = Arc::clone(&is_connected);
    // Before there are connections nothing is lost by an end at once.
    let patience = move || match connected.load(Ordering::Relaxed) {
        true => IN_FLIGHT,
        false => Duration::ZERO,
    };
    give_up_after(cancel.flag(), patience, Arc::clone(&give_up));
    let options = DriverOptions {
        cancel: give_up,
        connections: load.threads,
        seed: args.run.seed,
        io: args.run.io,
        coalescing: args.run.coalescing,
        // A private server that ends is not started again.
        retry: target.private.is_none().then(Retry::default),
        ..DriverOptions::default()
    };
    let sides = std::slice::from_ref(&target.endpoint);
    let driver = Driver::connect(sides, &load.workload, &options).map_err(|error| match error {
        LoadError::Cancelled => Cancelled.into(),
        error => target.explain(error),
    })?;
    is_connected.store(true, Ordering::Relaxed);
    Ok(driver)
}

/// One pacing for every run.
fn pacings(args: &RunArgs) -> Vec<Pacing> {
    if !args.rate_steps.is_empty() {
        let open = |rate: &f64| Pacing::Open(Schedule::constant(*rate));
        return args.rate_steps.iter().map(open).collect();
    }
    match &args.rate {
        Some(schedule) => vec![Pacing::Open(schedule.clone())],
        None => vec![Pacing::Closed],
    }
}

fn document(
    args: &RunArgs,
    load: &Load,
    target: &Target,
    cancel: &Cancel,
    runs: Vec<RunResult>,
) -> BenchResult {
    BenchResult {
        niagara: VERSION.to_owned(),
        command: command_line(),
        server: ServerInfo {
            version: target.version.clone(),
            address: target.endpoint.transport.to_string(),
            tls: target.endpoint.tls.mode.to_string(),
            private: target.private.clone(),
        },
        workload: load.workload.clone(),
        threads: load.threads,
        seed: args.seed,
        warm_up_seconds: args.warm_up.as_secs_f64(),
        interrupted: cancel.is_cancelled(),
        consistency: None,
        replay: None,
        highest_sustained_rate: highest_sustained_rate(&args.rate_steps, &runs),
        runs,
    }
}
