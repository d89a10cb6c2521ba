//! `prepare`, `prewarm` and `cleanup`.

use crate::failure::Failure;
use crate::job::Job;
use crate::log::print;
use crate::servers;
use niagara_load::{LoadError, TableEvent, TableOptions, cleanup, prepare_tables, warm_up};
use std::process::ExitCode;

/// Makes the tables and fills them; of several servers on the first, the others having its data.
pub fn prepare(job: &Job) -> Result<ExitCode, Failure> {
    say_threads(job);
    let options = TableOptions {
        // The database is the user's to make, as with sysbench.
        create_database: false,
        ..options(job)
    };
    ended(
        job,
        prepare_tables(job.first()?, &job.spec, &options, &mut say),
    )
}

/// Reads the tables into the server's memory.
pub fn prewarm(job: &Job) -> Result<ExitCode, Failure> {
    say_threads(job);
    ended(
        job,
        warm_up(job.first()?, &job.spec, &options(job), &mut say),
    )
}

/// Drops the tables.
pub(crate) fn clean_up(job: &Job) -> Result<ExitCode, Failure> {
    let options = TableOptions {
        connections: Some(1),
        ..options(job)
    };
    ended(job, cleanup(job.first()?, &job.spec, &options, &mut say))
}

fn say_threads(job: &Job) {
    if job.settings.threads > 1 {
        job.log.notice("Initializing worker threads...\n");
    }
}

fn options(job: &Job) -> TableOptions {
    TableOptions {
        threads: job.settings.threads,
        connections: Some(job.settings.threads),
        ..TableOptions::default()
    }
}

/// What sysbench's scripts print, whatever the verbosity.
fn say(event: TableEvent) {
    print(&match event {
        TableEvent::Creating(table) => format!("Creating table 'sbtest{table}'...\n"),
        TableEvent::Inserting(table, rows) => {
            format!("Inserting {rows} records into 'sbtest{table}'\n")
        }
        TableEvent::Indexing(table) => {
            format!("Creating a secondary index on 'sbtest{table}'...\n")
        }
        TableEvent::Preloading(table) => format!("Prewarming table sbtest{table}\n"),
        TableEvent::Dropping(table) => format!("Dropping table 'sbtest{table}'...\n"),
        TableEvent::Rows(..) | TableEvent::Step(_) => return,
    });
}

fn ended(job: &Job, result: Result<(), LoadError>) -> Result<ExitCode, Failure> {
    result
        .map(|()| ExitCode::SUCCESS)
        .map_err(|error| servers::not_started(&error, &job.endpoints))
}
