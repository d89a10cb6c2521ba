//! Makes the tables and fills them, reads them into memory, drops them.

use crate::error::LoadError;
use crate::net::endpoint::Endpoint;
use crate::net::session;
use crate::workload::filling::{JobWork, TableEvent, Work, failed};
use crate::workload::sysbench::{fill_table, schema};
use crate::workload::{WorkloadKind, WorkloadSpec, custom as own, tpcc};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// Bound on a single statement; building an index over many rows takes its time.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(3600);

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
    let spec = WorkloadSpec {
        mysql_storage_engine: engine.to_owned(),
        ..spec.clone()
    };
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
    if spec.kind == WorkloadKind::Tpcc {
        let expected = tpcc::expected_rows(spec.warehouses);
        return fill_named(endpoint, options, expected, on_event, &mut |each| {
            tpcc::load(spec, each)
        });
    }
    if spec.kind.is_from_file() {
        let definition = spec.definition()?;
        let expected = definition.tables.iter().map(|table| table.rows).sum();
        return fill_named(endpoint, options, expected, on_event, &mut |each| {
            own::load(&definition, spec, each)
        });
    }
    let tables = spec.table_count(options.threads);
    let total = u64::from(tables) * spec.rows();
    let mut done = 0;
    on_event(TableEvent::Rows(0, total));
    for_each_table(
        endpoint,
        spec,
        options,
        &mut |event| {
            // A table only knows of its own.
            on_event(match event {
                TableEvent::Rows(count, _) => {
                    done += count;
                    TableEvent::Rows(done, total)
                }
                other => other,
            });
        },
        |work, table| {
            work.say(TableEvent::Creating(table));
            work.execute(schema::create_table(spec, table).as_bytes())?;
            if spec.rows() > 0 {
                work.say(TableEvent::Inserting(table, spec.rows()));
                fill_table(work, spec, table)?;
                if work.stopped() {
                    return Ok(());
                }
            }
            if let Some(create_index) = schema::create_index(spec, table) {
                work.say(TableEvent::Indexing(table));
                work.execute(create_index.as_bytes())?;
            }
            Ok(())
        },
    )
}

/// Does a number of jobs on several connections at once.
type Each<'e> = dyn FnMut(u32, &JobWork<'_>) -> Result<(), LoadError> + 'e;

/// Makes tables that have names rather than numbers; `load` says which jobs there are.
fn fill_named(
    endpoint: &Endpoint,
    options: &TableOptions,
    expected: u64,
    on_event: &mut dyn FnMut(TableEvent),
    load: &mut dyn FnMut(&mut Each<'_>) -> Result<(), LoadError>,
) -> Result<(), LoadError> {
    let mut done = 0;
    on_event(TableEvent::Rows(0, expected));
    load(&mut |jobs, work| {
        for_each(
            endpoint,
            jobs,
            options,
            &mut |event| {
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
    if !spec.kind.is_sysbench() {
        let tables = spec.table_names(options.threads);
        return for_each(endpoint, 1, options, on_event, &|work, _| {
            work.say(TableEvent::Step("dropping the tables"));
            for table in &tables {
                work.execute(format!("DROP TABLE IF EXISTS `{table}`").as_bytes())?;
            }
            Ok(())
        });
    }
    for_each_table(endpoint, spec, options, on_event, |work, table| {
        work.say(TableEvent::Dropping(table));
        work.execute(schema::drop_table(table).as_bytes())
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
    if spec.kind == WorkloadKind::BulkInsert {
        return Err(LoadError::Invalid(
            "bulk_insert has no rows to be read: leave out the warm-up".into(),
        ));
    }
    if !spec.kind.is_sysbench() {
        let statements = spec.read_all_statements(&endpoint.database, options.threads);
        return for_each(
            endpoint,
            statements.len() as u32,
            options,
            on_event,
            &|work, number| work.execute(statements[number as usize - 1].as_bytes()),
        );
    }
    for_each_table(endpoint, spec, options, on_event, |work, table| {
        work.say(TableEvent::Preloading(table));
        for statement in schema::warm_up(spec, table) {
            work.execute(statement.as_bytes())?;
        }
        Ok(())
    })
}

/// Does `work` on every table, several at once.
fn for_each_table(
    endpoint: &Endpoint,
    spec: &WorkloadSpec,
    options: &TableOptions,
    on_event: &mut dyn FnMut(TableEvent),
    work: impl Fn(&mut Work<'_>, u32) -> Result<(), LoadError> + Sync,
) -> Result<(), LoadError> {
    let tables = spec.table_count(options.threads);
    for_each(endpoint, tables, options, on_event, &work)
}

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
        None => std::thread::available_parallelism().map_or(1, usize::from),
    };
    let next_job = AtomicU32::new(1);
    let failed = AtomicBool::new(false);
    let (events, received) = mpsc::channel();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..connections.clamp(1, jobs.max(1) as usize))
            .map(|_| {
                let events = events.clone();
                let (next_job, failed) = (&next_job, &failed);
                scope.spawn(move || {
                    let result = (|| {
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
                    })();
                    if result.is_err() {
                        failed.store(true, Ordering::Relaxed);
                    }
                    result
                })
            })
            .collect();
        drop(events);
        while let Ok(event) = received.recv() {
            on_event(event);
        }
        for worker in workers {
            worker
                .join()
                .map_err(|_| LoadError::Client("a thread that fills tables died".into()))??;
        }
        if options.cancel.load(Ordering::Relaxed) {
            return Err(LoadError::Cancelled);
        }
        Ok(())
    })
}

fn create_database(endpoint: &Endpoint) -> Result<(), LoadError> {
    let mut session = session::connect(endpoint, None, STATEMENT_TIMEOUT)?;
    let name = endpoint.database.replace('`', "``");
    let sql = format!("CREATE DATABASE IF NOT EXISTS `{name}`");
    session
        .execute(sql.as_bytes())
        .map_err(|error| failed(&error, sql.as_bytes()))?;
    session.quit();
    Ok(())
}
