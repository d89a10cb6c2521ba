//! The locks of a live server, as far as it counts and times waits for them anyway: it is only read, and nothing is switched on in it.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use niagara_load::Admin;
use niagara_profile::locks::{COUNTING, RECORDS_METADATA, WAITS_OF_ACCOUNTS, grown, named};
use niagara_profile::result::Locks;
use niagara_profile::{LiveGap, LockGap};
use niagara_server::Cancel;

use super::locks::{Asker, LOOK, RowWaits, texts};
use super::statement_counter::StatementCounter;
use super::work::per_query;

/// What the server tells of its locks in so long a time, and what it does not.
pub(super) fn live_locks(
    counter: &mut StatementCounter,
    length: Duration,
    cancel: &Cancel,
) -> Result<(Locks, Option<LiveGap>)> {
    let statements_before = counter.statements();
    let connection = counter.connection().context("the connection was lost")?;
    let gap = uncounted(connection)?;
    let records_metadata =
        gap != Some(LockGap::SchemaOff) && is_some(connection, RECORDS_METADATA)?;
    let before = Counts::read(connection, gap)?;
    let began = Instant::now();
    let mut asker = Asker::new(connection, records_metadata)?;
    while began.elapsed() < length && !cancel.is_cancelled() {
        asker.look()?;
        std::thread::sleep(LOOK.min(length.saturating_sub(began.elapsed())));
    }
    let objects = asker.objects.finish();
    let seconds = began.elapsed().as_secs_f64();
    let after = Counts::read(connection, gap)?;
    let queries = counter.statements().zip(statements_before);
    let queries = queries.map(|(now, then)| now - then);
    let connections = (before.connections + after.connections) / 2.0;
    let row_waits = RowWaits::between(before.row_waits, after.row_waits);
    let all = connections.round() as usize;
    let locks = Locks {
        named: named(
            &grown(&before.waits, &after.waits),
            seconds * connections,
            queries.unwrap_or(0.0),
        ),
        threads: (if gap.is_none() { all } else { 0 }, all),
        objects,
        row_waits_per_query: per_query(row_waits.count, queries),
        row_wait_us: row_waits.average_us(),
    };
    Ok((locks, gap.map(|cause| LiveGap::Locks { cause })))
}

/// Why the server does not count waits for its locks; none where it does.
fn uncounted(connection: &mut Admin) -> Result<Option<LockGap>> {
    let is_on = connection.value("SELECT @@GLOBAL.performance_schema")?;
    if is_on.as_deref() != Some("1") {
        return Ok(Some(LockGap::SchemaOff));
    }
    let is_counting = is_some(connection, COUNTING)?;
    Ok((!is_counting).then_some(LockGap::InstrumentsOff))
}

/// Whether a statement counts any.
fn is_some(connection: &mut Admin, statement: &str) -> Result<bool> {
    let count = connection.value(statement)?;
    Ok(count.is_some_and(|count| count != "0"))
}

/// Counters at one moment.
struct Counts {
    waits: Vec<Vec<String>>,
    row_waits: RowWaits,
    /// Connections but for the own one.
    connections: f64,
}

impl Counts {
    fn read(connection: &mut Admin, gap: Option<LockGap>) -> Result<Counts> {
        let waits = match gap {
            None => texts(connection.rows(WAITS_OF_ACCOUNTS)?),
            Some(_) => Vec::new(),
        };
        let rows = texts(connection.rows(
            "SHOW GLOBAL STATUS WHERE Variable_name IN ('Innodb_row_lock_waits', 'Innodb_row_lock_time', 'Threads_connected')",
        )?);
        let counter = |name: &str| {
            let row = rows
                .iter()
                .find(|row| row.first().is_some_and(|one| one == name))?;
            row.get(1)?.parse::<f64>().ok()
        };
        Ok(Counts {
            waits,
            row_waits: RowWaits::of(counter),
            connections: (counter("Threads_connected").unwrap_or(1.0) - 1.0).max(0.0),
        })
    }
}
