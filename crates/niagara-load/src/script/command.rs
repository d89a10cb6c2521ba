//! A command of a script other than `run`: `prepare`, `cleanup`, or one of its own.

use super::options::{general_options, own_options};
use super::runtime::{ScriptRun, runtime};
use super::wires::{Wires, run_on};
use crate::engine::options::IgnoredErrors;
use crate::error::LoadError;
use crate::net::endpoint::Endpoint;
use crate::script::program::Reply;
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

/// Has a script do a command; its threads share the work where it says so.
///
/// # Errors
/// The script fails.
pub fn run_command(
    run: &ScriptRun,
    spec: &WorkloadSpec,
    servers: &[Endpoint],
    ignored: &IgnoredErrors,
) -> Result<(), LoadError> {
    let running = runtime()?.run(run)?;
    let plan = Arc::new(Plan::new(spec, 1, run.seed));
    let work = |number: u32| -> Result<(), LoadError> {
        let mut wires = Wires::new(
            servers.to_vec(),
            Arc::clone(&plan),
            CONNECT_TIMEOUT,
            STATEMENT_TIMEOUT,
            ignored.clone(),
        );
        wires.start_with(number as usize);
        let mut program = running.command(number)?;
        run_on(program.as_mut(), Reply::Go, &mut wires)?;
        for number in 0..wires.len() {
            if let Some(mut link) = wires.take(number) {
                link.quit();
            }
        }
        Ok(())
    };
    let workers = running.workers();
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
