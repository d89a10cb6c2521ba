//! The tables of a server that is already running: made, looked for, dropped. Nothing else of it is touched.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Result;
use niagara_error::bail;
use niagara_lab::{Event, Load, Observer};
use niagara_load::{TableEvent, TableOptions, Workload, sql_text};
use niagara_server::{Cancel, Cancelled};

use super::dropping::{agree, agree_to_script};
use super::table_names::{listed, number, table};
use super::target::Target;
use crate::progress::Terminal;

/// Dropping or checking a large table takes its time.
const TABLE_TIMEOUT: Duration = Duration::from_secs(3600);

/// Makes the tables and fills them; what was done, in words. Ctrl-C drops what was made until then.
///
/// # Errors
/// Tables of these names are there and `replace` was not asked for, nobody agreed to it, or they are not the workload's; the server refuses a statement; Ctrl-C.
pub fn prepare(
    target: &mut Target,
    load: &Load,
    replace: bool,
    yes: bool,
    cancel: &Cancel,
) -> Result<String> {
    let there = existing(target, load)?;
    let database = target.endpoint.database.clone();
    if !there.is_empty() && !replace {
        bail!(
            "database {database} has {} already", listed(&there);
            remedy: "`cleanup` drops what is there, `prepare --replace` makes it again, --database names another place"
        );
    }
    agree(target, load, &there, yes)?;
    drop_tables(target, &there)?;
    let mut terminal = Terminal::new(Duration::ZERO);
    let options = TableOptions {
        threads: load.threads,
        cancel: cancel.flag(),
        ..TableOptions::default()
    };
    let prepared =
        niagara_load::prepare_tables(&target.endpoint, &load.workload, &options, &mut |event| {
            match event {
                TableEvent::Rows(done, total) => {
                    let percent = done * 100 / total.max(1);
                    terminal.see(Event::SettingUp(&format!(
                        "loading {done} of {total} rows ({percent} %)"
                    )));
                }
                TableEvent::Step(what) => terminal.see(Event::SettingUp(what)),
                TableEvent::Indexing(number) => terminal.see(Event::SettingUp(&format!(
                    "making the index of table sbtest{number}"
                ))),
                _ => {}
            }
        });
    terminal.finish();
    if cancel.is_cancelled() {
        let made = existing(target, load)?;
        drop_tables(target, &made)?;
        return Err(Cancelled.into());
    }
    prepared.map_err(|error| target.explain(error))?;
    if let Workload::Script(_) = &load.workload.workload {
        let script = load.workload.spelling();
        return Ok(format!(
            "database {database} has what `prepare` of {script} makes"
        ));
    }
    let made = expected(load);
    Ok(format!("database {database} has {} now", listed(&made)))
}

/// Drops the tables, once somebody agreed; what was done, in words.
///
/// # Errors
/// Nobody agreed, a table is not the workload's, the server refuses it.
pub fn cleanup(target: &mut Target, load: &Load, yes: bool) -> Result<String> {
    if let Workload::Script(_) = &load.workload.workload {
        agree_to_script(load, yes)?;
        let options = TableOptions {
            threads: load.threads,
            ..TableOptions::default()
        };
        let done = niagara_load::cleanup(&target.endpoint, &load.workload, &options, &mut |_| {});
        done.map_err(|error| target.explain(error))?;
        let (script, database) = (load.workload.spelling(), &target.endpoint.database);
        return Ok(format!(
            "`cleanup` of {script} is done in database {database}"
        ));
    }
    let there = existing(target, load)?;
    agree(target, load, &there, yes)?;
    drop_tables(target, &there)?;
    let database = target.endpoint.database.clone();
    if there.is_empty() {
        return Ok(format!(
            "database {database} has no tables of this workload: nothing to drop"
        ));
    }
    // Whoever made the database may want it, and the account may not make another.
    let rest = match is_empty(target, &database)? {
        true => format!(
            ", which is empty now; DROP DATABASE `{}` removes it, too",
            database.replace('`', "``")
        ),
        false => String::new(),
    };
    Ok(format!(
        "dropped {} from database {database}{rest}",
        listed(&there)
    ))
}

/// Whether a database has nothing at all.
fn is_empty(target: &mut Target, database: &str) -> Result<bool> {
    let name = sql_text(database);
    let sql = format!(
        "SELECT (SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = {name}) \
         + (SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = {name}) \
         + (SELECT COUNT(*) FROM information_schema.EVENTS WHERE EVENT_SCHEMA = {name})"
    );
    Ok(number(target, &sql)? == 0)
}

/// Checks that the tables are there and hold the rows that the workload will ask for.
///
/// # Errors
/// Some are missing or have fewer rows.
pub fn check(target: &mut Target, load: &Load) -> Result<()> {
    let there = existing(target, load)?;
    let missing: Vec<String> = expected(load)
        .into_iter()
        .filter(|name| !there.contains(name))
        .collect();
    let database = target.endpoint.database.clone();
    if !missing.is_empty() {
        bail!(
            "database {database} has no {}", listed(&missing);
            remedy: "`niagara bench {} prepare` with the same options makes what is missing after `cleanup`",
            load.workload.spelling()
        );
    }
    let wanted = match &load.workload.workload {
        Workload::Sysbench(sysbench) if sysbench.test.asks_for_rows() => sysbench.table_size,
        Workload::Tpcc(tpcc) => return check_warehouses(target, tpcc.warehouses),
        // Of a capture nobody knows what it asks for before it does.
        Workload::Sysbench(_) | Workload::File(_) | Workload::Script(_) | Workload::Capture(_) => {
            return Ok(());
        }
    };
    for name in there {
        let sql = format!("SELECT MAX(id) FROM {}", table(&database, &name));
        let last = number(target, &sql)?;
        if last < wanted {
            bail!(
                "table {name} of database {database} ends at row {last}, the workload asks for rows up to {wanted}";
                remedy: "--table-size as it was prepared with, or `prepare --replace`"
            );
        }
    }
    Ok(())
}

fn check_warehouses(target: &mut Target, wanted: u32) -> Result<()> {
    let database = target.endpoint.database.clone();
    let sql = format!("SELECT COUNT(*) FROM {}", table(&database, "warehouse"));
    let found = number(target, &sql)?;
    if found != u64::from(wanted) {
        bail!(
            "database {database} has {found} warehouses, the workload asks for {wanted}";
            remedy: "--warehouses as it was prepared with, or `prepare --replace`"
        );
    }
    Ok(())
}

fn expected(load: &Load) -> Vec<String> {
    load.workload.table_names(load.threads)
}

/// The workload's tables that are there.
fn existing(target: &mut Target, load: &Load) -> Result<Vec<String>> {
    target.admin.set_timeout(TABLE_TIMEOUT);
    let database = target
        .endpoint
        .database
        .replace('\\', "\\\\")
        .replace('\'', "''");
    let names: BTreeSet<String> = target
        .admin
        .rows(&format!(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = '{database}'"
        ))
        .map_err(|error| target.explain(error))?
        .into_iter()
        .filter_map(|row| row.into_iter().next().flatten())
        .collect();
    Ok(expected(load)
        .into_iter()
        .filter(|name| names.contains(name))
        .collect())
}

fn drop_tables(target: &mut Target, names: &[String]) -> Result<()> {
    for name in names {
        let sql = format!("DROP TABLE {}", table(&target.endpoint.database, name));
        let dropped = target.admin.rows(&sql);
        dropped.map_err(|error| target.explain(error))?;
    }
    Ok(())
}
