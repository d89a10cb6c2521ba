//! A job: its steps timed one by one, from a cold start where the server is a private one.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use niagara_lab::{Event, Load, Observer};
use niagara_load::{StepTime, run_job};
use niagara_server::Cancel;
use schemars::JsonSchema;
use serde::Serialize;

use super::args::BenchArgs;
use super::target::Target;
use crate::command_line::{VERSION, command_line};
use crate::interrupt::exit_code;
use crate::json::{self, Document, Printed};
use crate::progress::Terminal;
use crate::steps;

/// What is printed with `--json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct JobResult<'a> {
    /// Niagara's version.
    niagara: &'static str,
    /// The command as typed.
    command: String,
    /// The server as it calls itself.
    server: &'a str,
    /// The workload with all its numbers.
    workload: &'a niagara_load::WorkloadSpec,
    /// Bytes of the tables, where the server says them.
    table_bytes: Option<u64>,
    /// Bytes of the buffer pool, where the server says them.
    buffer_pool_bytes: Option<u64>,
    /// Whether nothing of the data was in memory when it began.
    cold: bool,
    /// Whether it came to its end: else the steps before Ctrl-C are there.
    complete: bool,
    /// What all steps took.
    seconds: f64,
    /// Each of them.
    steps: &'a [StepTime],
}

impl Printed for JobResult<'_> {
    const DOCUMENT: Document = Document::Job;
}

/// Does the job and prints its steps, after Ctrl-C those that came to their end.
///
/// # Errors
/// The server is lost or refuses a statement.
pub fn measure(
    args: &BenchArgs,
    load: &Load,
    target: &mut Target,
    cancel: &Cancel,
) -> Result<ExitCode> {
    let title = format!("{} on {}", load.one_line(), target.title());
    let database = target.endpoint.database.replace('\'', "''");
    let table_bytes = number(
        target,
        &format!(
            "SELECT CAST(SUM(data_length + index_length) AS UNSIGNED) FROM information_schema.tables \
             WHERE table_schema = '{database}'"
        ),
    );
    let buffer_pool_bytes = number(target, "SELECT @@innodb_buffer_pool_size");
    let cold = target.private.is_some();
    let mut terminal = Terminal::new(Duration::ZERO);
    let done = run_job(
        &target.endpoint,
        &load.workload,
        &cancel.flag(),
        &mut |name, step, of| {
            terminal.see(Event::SettingUp(&format!("step {step} of {of}: {name}")));
        },
    );
    terminal.finish();
    let done = done.map_err(|error| target.explain(error))?;
    let code = exit_code(!done.complete, done.complete);
    if args.output.json {
        let result = JobResult {
            niagara: VERSION,
            command: command_line(),
            server: &target.version,
            workload: &load.workload,
            table_bytes,
            buffer_pool_bytes,
            cold,
            complete: done.complete,
            seconds: done.steps.iter().map(|step| step.seconds).sum(),
            steps: &done.steps,
        };
        json::print(&result)?;
        return Ok(code);
    }
    say!("{title}");
    if let (Some(tables), Some(pool)) = (table_bytes, buffer_pool_bytes) {
        say!(
            "tables of {} MB, {:.1} times the buffer pool of {} MB",
            tables >> 20,
            tables as f64 / pool as f64,
            pool >> 20
        );
    }
    say!(
        "{}\n",
        if cold {
            "cold: a fresh server, its files out of the page cache"
        } else {
            "not known to be cold: the server was running before, and what it holds in memory is its own"
        }
    );
    if done.steps.is_empty() {
        say!("stopped in its first step: nothing was measured");
        return Ok(code);
    }
    say_text!("{}", steps::one(&done.steps));
    if !done.complete {
        say!("\nstopped in the step after these: the job is not complete");
    }
    Ok(code)
}

/// A number that the server says, if it does.
fn number(target: &mut Target, sql: &str) -> Option<u64> {
    target.admin.value(sql).ok().flatten()?.parse().ok()
}
