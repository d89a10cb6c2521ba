//! A command of a script other than `run`: `prepare`, `cleanup`, or one of its own.

use super::options::{general_options, own_options};
use super::runtime::{ScriptRun, runtime};
use super::wires::{Wires, run_on};
use crate::engine::options::IgnoredErrors;
use crate::error::LoadError;
use crate::net::endpoint::Endpoint;
use crate::script::program::{Program, Reply};
use crate::workload::script::ScriptInfo;
use crate::workload::{Workload, WorkloadSpec};
use crate::workload::plan::Plan;
use std::sync::Arc;
use std::time::Duration;

/// Bound on a single statement: an index over many rows takes its time.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(24 * 3600);
/// Bound on a login.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// What the script of a workload is run for.
///
/// # Errors
/// There is no server, or the workload is no script.
pub(crate) fn script_run(
    spec: &WorkloadSpec,
    servers: &[Endpoint],
    command: &str,
    threads: u32,
    seed: u64,
) -> Result<ScriptRun, LoadError> {
    let (Workload::Script(script), Some(endpoint)) = (&spec.workload, servers.first()) else {
        return Err(LoadError::Invalid("no server, or no script".into()));
    };
    let mut options = general_options(spec, endpoint, threads);
    options.extend(own_options(script.info(), script.options())?);
    Ok(ScriptRun {
        source: script.source().clone(),
        options,
        global_options: script.info().options.is_none(),
        words: Vec::new(),
        ignored: IgnoredErrors::default(),
        quiet: true,
        command: command.to_owned(),
        threads,
        seed,
        endpoint: endpoint.clone(),
    })
}

/// Runs a program until it wants nothing for now, waiting for whatever it asks of the server.
///
/// # Errors
/// The script fails.
pub fn run_program(
    program: &mut dyn Program,
    reply: Reply,
    run: &ScriptRun,
) -> Result<(), LoadError> {
    let servers = [run.endpoint.clone()];
    run_among(program, reply, run, &servers, 0)
}

fn run_among(
    program: &mut dyn Program,
    reply: Reply,
    run: &ScriptRun,
    servers: &[Endpoint],
    number: u32,
) -> Result<(), LoadError> {
    let mut wires = Wires::new(
        servers.to_vec(),
        Arc::new(Plan::empty()),
        CONNECT_TIMEOUT,
        STATEMENT_TIMEOUT,
        run.ignored.clone(),
    );
    wires.start_with(number as usize);
    run_on(program, reply, &mut wires)?;
    for number in 0..wires.len() {
        if let Some(mut link) = wires.take(number) {
            link.quit();
        }
    }
    Ok(())
}

/// Has a script do a command; its threads share the work where it says so.
///
/// # Errors
/// The script fails.
pub fn run_command(
    run: &ScriptRun,
    info: &ScriptInfo,
    servers: &[Endpoint],
) -> Result<(), LoadError> {
    let running = runtime()?.run(run)?;
    let work = |number: u32| -> Result<(), LoadError> {
        let mut program = running.command(number, info)?;
        run_among(program.as_mut(), Reply::Go, run, servers, number)
    };
    let workers = running.workers(info);
    if workers == 1 {
        return work(0);
    }
    std::thread::scope(|scope| {
        let work = &work;
        let workers: Vec<_> = (0..workers)
            .map(|number| scope.spawn(move || work(number)))
            .collect();
        let mut result = Ok(());
        for worker in workers {
            let done = worker
                .join()
                .unwrap_or_else(|_| Err(LoadError::Client("a thread of the script died".into())));
            result = result.and(done);
        }
        result
    })
}
