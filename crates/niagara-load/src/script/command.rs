//! A command of a script other than `run`: `prepare`, `cleanup`, or one of its own.

use super::options::{general_options, own_options};
use super::runtime::{ScriptRun, runtime};
use super::wires::{Wires, run_on};
use crate::engine::options::IgnoredErrors;
use crate::error::LoadError;
use crate::net::endpoint::Endpoint;
use crate::script::program::{Program, Reply};
use crate::workload::plan::Plan;
use crate::workload::script::ScriptInfo;
use crate::workload::{Workload, WorkloadSpec};
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
        unique_seed: seed,
        endpoint: endpoint.clone(),
    })
}

/// The connections of a program that is waited for, from one of its tasks to the next.
pub struct ScriptHost {
    wires: Wires,
}

impl ScriptHost {
    /// Connections to these servers in turn, the first one to server `number`.
    pub fn new(servers: &[Endpoint], ignored: &IgnoredErrors, number: usize) -> Self {
        let mut wires = Wires::new(
            servers.to_vec(),
            Arc::new(Plan::empty()),
            CONNECT_TIMEOUT,
            STATEMENT_TIMEOUT,
            ignored.clone(),
        );
        wires.start_with(number);
        ScriptHost { wires }
    }

    /// Runs a program until it wants nothing for now, waiting for whatever it asks of the server.
    ///
    /// # Errors
    /// The script fails.
    pub fn run(&mut self, program: &mut dyn Program, reply: Reply) -> Result<(), LoadError> {
        run_on(program, reply, &mut self.wires).map(|_| ())
    }
}

impl Drop for ScriptHost {
    fn drop(&mut self) {
        for number in 0..self.wires.len() {
            if let Some(mut link) = self.wires.take(number) {
                link.quit();
            }
        }
    }
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
        let mut host = ScriptHost::new(servers, &run.ignored, number as usize);
        host.run(program.as_mut(), Reply::Go)
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
