//! Makes the tables and fills them, reads them into memory, drops them.

mod before;

pub use before::replay_before;

use crate::error::LoadError;
use crate::net::endpoint::Endpoint;
use crate::net::session;
use crate::script::command::{run_command, script_run};
use crate::workload::filling::{JobWork, TableEvent, Work, failed};
use crate::workload::spec::quoted;
use crate::workload::{Workload, WorkloadSpec};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

/// Bound on a single statement; building an index over many rows takes its time.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(3600);

/// What a script draws for its tables is the same every time.
const SCRIPT_SEED: u64 = 1;

/// How the tables are worked on.
#[derive(Debug, Clone)]
pub struct TableOptions {
    /// Connections of the load that the tables are for: `bulk_insert` has a table for each. Default 1.
    pub threads: u32,
    /// Connections that work on tables, each on one at a time. Default: as many as CPUs.
    pub connections: Option<u32>,
    /// Make the database if it is missing. Default true; sysbench does not.
    pub create_database: bool,
    /// Setting it ends the work after the statements in flight; tables that are half done stay.
    pub cancel: Arc<AtomicBool>,
}

impl Default for TableOptions {
    fn default() -> Self {
        TableOptions {
            threads: 1,
            connections: None,
            create_database: true,
            cancel: Arc::default(),
        }
    }
}

/// [`prepare_tables`] with default options and the storage engine `engine`; `progress` gets rows done and rows in
/// total.
///
/// # Errors
/// As [`prepare_tables`].
pub fn prepare(
    endpoint: &Endpoint,
    spec: &WorkloadSpec,
    engine: &str,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), LoadError> {
    let mut spec = spec.clone();
    spec.common.mysql_storage_engine = engine.to_owned();
    prepare_tables(endpoint, &spec, &TableOptions::default(), &mut |event| {
        if let TableEvent::Rows(done, total) = event {
            progress(done, total);
        }
    })
}

/// Makes the tables `sbtest1` to `sbtestN` with their rows and indexes, as `sysbench prepare` does. The rows are the
/// same every time.
///
/// One connection fills one table, in the order of its ids, so that its pages are laid out the same every
/// time; several tables are filled at once. Tables that exist already are an error (but for `bulk_insert`, as in
/// sysbench).
///
/// # Errors
/// A spec that is not valid, a server that cannot be reached or refuses a statement, or cancelled.
pub fn prepare_tables(
    endpoint: &Endpoint,
    spec: &WorkloadSpec,
    options: &TableOptions,
    on_event: &mut dyn FnMut(TableEvent),
) -> Result<(), LoadError> {
    spec.validate()?;
    if options.create_database {
        create_database(endpoint)?;
    }
    if let Workload::Script(_) = &spec.workload {
        on_event(TableEvent::Step("the script's prepare"));
        return script_command("prepare", endpoint, spec, options);
    }
    let expected = spec.workload.family().expected_rows(options.threads);
    let mut done = 0;
    on_event(TableEvent::Rows(0, expected));
    let mut each = |jobs: u32, work: &JobWork<'_>| {
        for_each(
            endpoint,
            jobs,
            options,
            &mut |event| {
                // A connection only knows of its own rows.
                on_event(match event {
                    TableEvent::Rows(count, _) => {
                        done += count;
                        TableEvent::Rows(done, expected.max(done))
                    }
                    other => other,
                });
            },
            work,
        )
    };
    spec.workload
        .family()
        .fill(&spec.common, options.threads, &mut each)?;
    replay_before(endpoint, spec, &options.cancel, &mut |_, _| {
        on_event(TableEvent::Step(
            "replaying what is before this part of the capture",
        ));
    })
}

/// Drops the tables, as `sysbench cleanup` does: those of `spec`, where they exist.
///
/// # Errors
/// As [`prepare_tables`].
pub fn cleanup(
    endpoint: &Endpoint,
    spec: &WorkloadSpec,
    options: &TableOptions,
    on_event: &mut dyn FnMut(TableEvent),
) -> Result<(), LoadError> {
    spec.validate()?;
    if let Workload::Script(_) = &spec.workload {
        on_event(TableEvent::Step("the script's cleanup"));
        return script_command("cleanup", endpoint, spec, options);
    }
    spec.workload
        .family()
        .drop_tables(options.threads, &mut |jobs, work| {
            for_each(endpoint, jobs, options, on_event, work)
        })
}

/// Reads the tables and the index on k into the server's memory, as `sysbench warmup` does.
///
/// # Errors
/// As [`prepare_tables`]; `bulk_insert` has nothing to read.
pub fn warm_up(
    endpoint: &Endpoint,
    spec: &WorkloadSpec,
    options: &TableOptions,
    on_event: &mut dyn FnMut(TableEvent),
) -> Result<(), LoadError> {
    spec.validate()?;
    let database = quoted(&endpoint.database);
    spec.workload
        .family()
        .preload(&database, options.threads, &mut |jobs, work| {
            for_each(endpoint, jobs, options, on_event, work)
        })
}

/// Has a script do a command, if it knows it.
fn script_command(
    command: &str,
    endpoint: &Endpoint,
    spec: &WorkloadSpec,
    options: &TableOptions,
) -> Result<(), LoadError> {
    let Workload::Script(script) = &spec.workload else {
        return Ok(());
    };
    if !script.info().has(command) {
        return Ok(());
    }
    let servers = std::slice::from_ref(endpoint);
    let run = script_run(spec, servers, command, options.threads, SCRIPT_SEED)?;
    run_command(&run, script.info(), servers, &options.cancel)
}

/// Connections that load tables at once, where nobody says.
const MOST_AT_ONCE: usize = 64;

/// Does `work` for every number from 1 to `jobs`, several at once, each connection taking the next one that nobody has.
fn for_each(
    endpoint: &Endpoint,
    jobs: u32,
    options: &TableOptions,
    on_event: &mut dyn FnMut(TableEvent),
    work: &JobWork<'_>,
) -> Result<(), LoadError> {
    let connections = match options.connections {
        Some(count) => count as usize,
        // A server takes 151 connections by default.
        None => std::thread::available_parallelism()
            .map_or(1, usize::from)
            .min(MOST_AT_ONCE),
    };
    let next_job = AtomicU32::new(1);
    let failed = AtomicBool::new(false);
    let (events, received) = mpsc::channel();
    let workers: Vec<_> = (0..connections.clamp(1, jobs.max(1) as usize))
        .map(|_| {
            let events = events.clone();
            let (next_job, failed) = (&next_job, &failed);
            move || -> Result<(), LoadError> {
                let mut at_work = Work::new(
                    session::connect_for_bulk(
                        endpoint,
                        Some(&endpoint.database),
                        STATEMENT_TIMEOUT,
                    )?,
                    events,
                    failed,
                    &options.cancel,
                );
                loop {
                    let job = next_job.fetch_add(1, Ordering::Relaxed);
                    if job > jobs || at_work.stopped() {
                        at_work.quit();
                        return Ok(());
                    }
                    work(&mut at_work, job)?;
                }
            }
        })
        .collect();
    drop(events);
    at_once(workers, &failed, || {
        while let Ok(event) = received.recv() {
            on_event(event);
        }
    })?;
    if options.cancel.load(Ordering::Relaxed) {
        return Err(LoadError::Cancelled);
    }
    Ok(())
}

/// Runs all `workers`, each on a thread, and `meanwhile` on this one. The first that fails has the others told by `failed`.
///
/// # Errors
/// The first one in time: what others meet while they stop (a deadlock, say) follows from it.
fn at_once<W>(
    workers: Vec<W>,
    failed: &AtomicBool,
    meanwhile: impl FnOnce(),
) -> Result<(), LoadError>
where
    W: FnOnce() -> Result<(), LoadError> + Send,
{
    let cause = OnceLock::new();
    std::thread::scope(|scope| {
        let cause = &cause;
        let threads: Vec<_> = workers
            .into_iter()
            .map(|work| {
                scope.spawn(move || {
                    if let Err(error) = work() {
                        // Another one may have been first.
                        let _ = cause.set(error);
                        failed.store(true, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        meanwhile();
        for thread in threads {
            if thread.join().is_err() {
                let died = LoadError::Client("a thread that fills tables died".into());
                // As above.
                let _ = cause.set(died);
            }
        }
    });
    cause.into_inner().map_or(Ok(()), Err)
}

fn create_database(endpoint: &Endpoint) -> Result<(), LoadError> {
    let mut session = session::connect(endpoint, None, STATEMENT_TIMEOUT)?;
    let sql = format!(
        "CREATE DATABASE IF NOT EXISTS {}",
        quoted(&endpoint.database)
    );
    session
        .execute(sql.as_bytes())
        .map_err(|error| failed(&error, sql.as_bytes()))?;
    session.quit();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_is_the_first_one_in_time() {
        let failed = AtomicBool::new(false);
        let run = |is_cause: bool| {
            let failed = &failed;
            move || -> Result<(), LoadError> {
                if is_cause {
                    return Err(LoadError::prepare("the table is full"));
                }
                while !failed.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
                Err(LoadError::prepare("deadlock"))
            }
        };
        let ended = at_once(vec![run(false), run(true), run(false)], &failed, || {});
        assert_eq!(ended, Err(LoadError::prepare("the table is full")));
    }

    #[test]
    fn a_worker_that_dies_is_an_error() {
        let failed = AtomicBool::new(false);
        let dying = || -> Result<(), LoadError> { panic!("as wanted") };
        let ended = at_once(vec![dying], &failed, || {});
        assert!(matches!(ended, Err(LoadError::Client(_))), "{ended:?}");
    }
}
