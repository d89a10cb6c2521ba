//! Makes the tables and fills them.

use crate::endpoint::Endpoint;
use crate::error::LoadError;
use crate::session::Session;
use crate::workload::{Rng, Sampler, WorkloadSpec, schema, values};
use rand::SeedableRng;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

/// Bytes of one multi-row insert, as sysbench sends them; every server's max_allowed_packet has room for it.
const INSERT_BYTES: usize = 512 * 1024;
/// Bound on a single statement; building an index over many rows takes its time.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(3600);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Makes the database if it is missing, then the tables `sbtest1` to `sbtestN` with their rows and index, as
/// `sysbench prepare` does. The rows are the same every time. `progress` gets rows done and rows in total.
///
/// One connection fills one table, in the order of its ids, so that its pages are laid out the same every
/// time; several tables are filled at once. Tables that exist already are an error.
pub fn prepare(
    endpoint: &Endpoint,
    spec: &WorkloadSpec,
    engine: &str,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), LoadError> {
    spec.validate()?;
    let plain = |name: &str| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    if !plain(engine) {
        return Err(LoadError::Invalid(format!(
            "'{engine}' cannot be the name of a storage engine"
        )));
    }
    create_database(endpoint)?;

    let total = u64::from(spec.tables) * spec.table_size;
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = cpus.min(spec.tables as usize);
    let next_table = AtomicU32::new(1);
    let failed = AtomicBool::new(false);
    let (rows, rows_done) = mpsc::channel();
    progress(0, total);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers)
            .map(|_| {
                let rows = rows.clone();
                let (next_table, failed) = (&next_table, &failed);
                scope.spawn(move || {
                    let result = fill_tables(endpoint, spec, engine, next_table, failed, &rows);
                    if result.is_err() {
                        failed.store(true, Ordering::Relaxed);
                    }
                    result
                })
            })
            .collect();
        drop(rows);
        let mut done = 0;
        while let Ok(count) = rows_done.recv() {
            done += count;
            progress(done, total);
        }
        for worker in workers {
            worker
                .join()
                .map_err(|_| LoadError::Client("a thread that fills tables died".into()))??;
        }
        Ok(())
    })
}

fn create_database(endpoint: &Endpoint) -> Result<(), LoadError> {
    let mut session = connect(endpoint, None)?;
    let name = endpoint.database.replace('`', "``");
    execute(
        &mut session,
        format!("CREATE DATABASE IF NOT EXISTS `{name}`").as_bytes(),
    )?;
    session.quit();
    Ok(())
}

fn connect(endpoint: &Endpoint, database: Option<&str>) -> Result<Session, LoadError> {
    let failed = |error: crate::session::SessionError| LoadError::Connect {
        endpoint: endpoint.to_string(),
        cause: error.to_string(),
    };
    let session = Session::connect(endpoint, database, CONNECT_TIMEOUT).map_err(failed)?;
    session.set_timeout(STATEMENT_TIMEOUT).map_err(failed)?;
    Ok(session)
}

/// Runs a statement; its beginning is part of the error.
fn execute(session: &mut Session, sql: &[u8]) -> Result<(), LoadError> {
    session.execute(sql).map_err(|error| {
        let start = String::from_utf8_lossy(&sql[..sql.len().min(80)]);
        LoadError::Prepare(format!("{error} in: {start}"))
    })
}

fn fill_tables(
    endpoint: &Endpoint,
    spec: &WorkloadSpec,
    engine: &str,
    next_table: &AtomicU32,
    failed: &AtomicBool,
    rows: &Sender<u64>,
) -> Result<(), LoadError> {
    let mut session = connect(endpoint, Some(&endpoint.database))?;
    let mut insert = Vec::with_capacity(INSERT_BYTES + 1024);
    loop {
        let table = next_table.fetch_add(1, Ordering::Relaxed);
        if table > spec.tables || failed.load(Ordering::Relaxed) {
            session.quit();
            return Ok(());
        }
        execute(&mut session, schema::create_table(table, engine).as_bytes())?;
        fill_table(&mut session, spec, table, &mut insert, failed, rows)?;
        execute(&mut session, schema::create_index(table).as_bytes())?;
    }
}

fn fill_table(
    session: &mut Session,
    spec: &WorkloadSpec,
    table: u32,
    insert: &mut Vec<u8>,
    failed: &AtomicBool,
    rows: &Sender<u64>,
) -> Result<(), LoadError> {
    // Validation holds the size within i32.
    let sampler = Sampler::new(spec.distribution, spec.table_size as u32);
    let mut rng = Rng::seed_from_u64(u64::from(table));
    let head = schema::insert_into(table);
    let mut c = [0; values::C_LENGTH as usize];
    let mut pad = [0; values::PAD_LENGTH as usize];
    let mut left = spec.table_size;
    while left > 0 && !failed.load(Ordering::Relaxed) {
        insert.clear();
        insert.extend_from_slice(head.as_bytes());
        let mut count = 0;
        while count < left && insert.len() < INSERT_BYTES {
            if count > 0 {
                insert.push(b',');
            }
            values::fill_digits(&mut c, &mut rng);
            values::fill_digits(&mut pad, &mut rng);
            // Writing to memory does not fail.
            let _ = write!(insert, "({},'", sampler.draw(&mut rng));
            insert.extend_from_slice(&c);
            insert.extend_from_slice(b"','");
            insert.extend_from_slice(&pad);
            insert.extend_from_slice(b"')");
            count += 1;
        }
        execute(session, insert)?;
        left -= count;
        // The receiver is there as long as this thread is.
        let _ = rows.send(count);
    }
    Ok(())
}
