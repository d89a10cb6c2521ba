//! A command of a script other than `run`: `prepare`, `cleanup`, or one of its own.

use super::dry_run::Pretender;
use super::options::{general_options, own_options};
use super::runtime::{ScriptOutput, ScriptRun, runtime};
use super::wires::{Wires, run_on};
use crate::engine::options::IgnoredErrors;
use crate::engine::script_watch::{Watch, Watched};
use crate::error::LoadError;
use crate::net::endpoint::Endpoint;
use crate::script::program::{Program, Reply, Want};
use crate::workload::plan::Plan;
use crate::workload::script::ScriptInfo;
use crate::workload::{Workload, WorkloadSpec};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
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
        return Err(LoadError::invalid("no server, or no script"));
    };
    let mut options = general_options(&spec.common, endpoint, threads);
    options.extend(own_options(script.info(), script.options())?);
    Ok(ScriptRun {
        source: script.source().clone(),
        options,
        global_options: script.info().options.is_none(),
        words: Vec::new(),
        ignored: IgnoredErrors::default(),
        output: ScriptOutput::Error,
        dry_run: false,
        command: command.to_owned(),
        threads,
        seed,
        unique_seed: seed,
        endpoint: endpoint.clone(),
    })
}

/// What answers a program that is waited for, from one of its tasks to the next.
pub struct ScriptHost(Host);

enum Host {
    /// Servers, over these connections.
    Servers(Wires),
    /// Nobody: whatever is asked succeeds.
    Nobody(Pretender),
}

impl ScriptHost {
    /// For a script that is run for something, connections to these servers in turn, the first one to server `number`.
    pub fn new(run: &ScriptRun, servers: &[Endpoint], number: usize) -> Self {
        Self::ended_by(run, servers, number, &Arc::default())
    }

    fn ended_by(
        run: &ScriptRun,
        servers: &[Endpoint],
        number: usize,
        cancel: &Arc<AtomicBool>,
    ) -> Self {
        if run.dry_run {
            return ScriptHost(Host::Nobody(Pretender::default()));
        }
        let mut wires = Wires::new(
            servers.to_vec(),
            Arc::new(Plan::empty()),
            CONNECT_TIMEOUT,
            STATEMENT_TIMEOUT,
            run.ignored.clone(),
        );
        wires.start_with(number);
        wires.end_by(cancel);
        ScriptHost(Host::Servers(wires))
    }

    /// Runs a program until it wants nothing for now, waiting for whatever it asks of the server.
    ///
    /// # Errors
    /// The script fails.
    pub fn run(&mut self, program: &mut dyn Program, mut reply: Reply) -> Result<(), LoadError> {
        let pretender = match &mut self.0 {
            Host::Servers(wires) => return run_on(program, reply, wires).map(|_| ()),
            Host::Nobody(pretender) => pretender,
        };
        loop {
            match pretender.run(program, reply).map_err(LoadError::Script)?.0 {
                Want::Sleep(time) => std::thread::sleep(time),
                _ => return Ok(()),
            }
            reply = Reply::Go;
        }
    }
}

impl Drop for ScriptHost {
    fn drop(&mut self) {
        if let Host::Servers(wires) = &mut self.0 {
            wires.quit();
        }
    }
}

/// Has a script do a command; its threads share the work where it says so. Setting `cancel` ends it after the statements in
/// flight, and interrupts a loop that asks for nothing.
///
/// # Errors
/// The script fails, or is cancelled.
pub fn run_command(
    run: &ScriptRun,
    info: &ScriptInfo,
    servers: &[Endpoint],
    cancel: &Arc<AtomicBool>,
) -> Result<(), LoadError> {
    let running = runtime()?.run(run)?;
    let work = |number: u32| -> Result<(), LoadError> {
        let watch = Watch::new(cancel)?;
        let mut program = Watched::new(running.command(number, info)?, &watch);
        let mut host = ScriptHost::ended_by(run, servers, number as usize, cancel);
        host.run(&mut program, Reply::Go)
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
