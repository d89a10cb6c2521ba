//! The tables of a server that is already running: made, looked for, dropped. Nothing else of it is touched.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Result, bail};
use niagara_lab::{Cancel, Cancelled, Event, Load, Observer};
use niagara_load::{TableEvent, TableOptions, WorkloadKind};

use super::target::Target;
use crate::progress::Terminal;

/// Dropping or looking at a large table takes its time.
const TABLE_TIMEOUT: Duration = Duration::from_secs(3600);

/// Makes the tables and fills them; what was done, in words. Ctrl-C drops what was made until then.
///
/// # Errors
/// Tables of these names are there and `replace` was not asked for; the server refuses a statement; Ctrl-C.
pub fn prepare(target: &mut Target, load: &Load, replace: bool, cancel: &Cancel) -> Result<String> {
    let there = existing(target, load)?;
    let database = target.endpoint.database.clone();
    if !there.is_empty() && !replace {
        bail!(
            "database {database} has {} already\n\
             remedy: `cleanup` drops what is there, `prepare --replace` makes it anew, --database names another place",
            listed(&there)
        );
    }
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
    let made = expected(load);
    Ok(format!("database {database} has {} now", listed(&made)))
}

/// Drops the tables; what was done, in words.
///
/// # Errors
/// The server refuses it.
pub fn cleanup(target: &mut Target, load: &Load) -> Result<String> {
    let there = existing(target, load)?;
    drop_tables(target, &there)?;
    let database = &target.endpoint.database;
    Ok(if there.is_empty() {
        format!("database {database} has no tables of this workload: nothing to drop")
    } else {
        format!("dropped {} from database {database}", listed(&there))
    })
}

/// Checks that the tables are there and hold the rows that the workload will ask for.
///
/// # Errors
/// Some are missing or have fewer rows.
pub fn check(target: &mut Target, load: &Load) -> Result<()> {
    let there = existing(target, load)?;
    let missing: Vec<u32> = expected(load)
        .into_iter()
        .filter(|number| !there.contains(number))
        .collect();
    let database = target.endpoint.database.clone();
    let kind = load.workload.kind;
    if !missing.is_empty() {
        bail!(
            "database {database} has no {}\n\
             remedy: `niagara bench {kind} prepare` with the same options makes what is missing after `cleanup`",
            listed(&missing)
        );
    }
    if !asks_for_rows(kind) {
        return Ok(());
    }
    let wanted = load.workload.table_size;
    for number in there {
        let last = target
            .admin
            .value(&format!("SELECT MAX(id) FROM {}", table(&database, number)))
            .map_err(|error| target.explain(error))?
            .and_then(|text| text.parse::<u64>().ok())
            .unwrap_or(0);
        if last < wanted {
            bail!(
                "table sbtest{number} of database {database} ends at row {last}, the workload asks for rows up to {wanted}\n\
                 remedy: --table-size as it was prepared with, or `prepare --replace`"
            );
        }
    }
    Ok(())
}

/// Whether its statements look for rows that `prepare` made and the load itself keeps.
fn asks_for_rows(kind: WorkloadKind) -> bool {
    !matches!(
        kind,
        WorkloadKind::OltpInsert | WorkloadKind::OltpDelete | WorkloadKind::BulkInsert
    )
}

fn expected(load: &Load) -> Vec<u32> {
    (1..=load.workload.table_count(load.threads)).collect()
}

/// Numbers of the workload's tables that are there.
fn existing(target: &mut Target, load: &Load) -> Result<Vec<u32>> {
    target.admin.set_timeout(TABLE_TIMEOUT);
    let database = target
        .endpoint
        .database
        .replace('\\', "\\\\")
        .replace('\'', "''");
    let names: BTreeSet<String> = target
        .admin
        .rows(&format!(
            "SELECT table_name FROM information_schema.tables \
             WHERE table_schema = '{database}' AND table_name LIKE 'sbtest%'"
        ))
        .map_err(|error| target.explain(error))?
        .into_iter()
        .filter_map(|row| row.into_iter().next().flatten())
        .collect();
    Ok(expected(load)
        .into_iter()
        .filter(|number| names.contains(&format!("sbtest{number}")))
        .collect())
}

fn drop_tables(target: &mut Target, numbers: &[u32]) -> Result<()> {
    for number in numbers {
        let sql = format!("DROP TABLE {}", table(&target.endpoint.database, *number));
        let dropped = target.admin.rows(&sql);
        dropped.map_err(|error| target.explain(error))?;
    }
    Ok(())
}

fn table(database: &str, number: u32) -> String {
    format!("`{}`.sbtest{number}", database.replace('`', "``"))
}

/// `table sbtest3`, `tables sbtest1 to sbtest8`, `tables sbtest1, sbtest4 and 3 more`.
fn listed(numbers: &[u32]) -> String {
    match numbers {
        [] => "no tables".to_owned(),
        [one] => format!("table sbtest{one}"),
        [first, .., last] if (last - first) as usize + 1 == numbers.len() => {
            format!("tables sbtest{first} to sbtest{last}")
        }
        [first, second] => format!("tables sbtest{first} and sbtest{second}"),
        [first, second, rest @ ..] => {
            format!(
                "tables sbtest{first}, sbtest{second} and {} more",
                rest.len()
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_listed_as_people_say_it() {
        assert_eq!(listed(&[3]), "table sbtest3");
        assert_eq!(listed(&[1, 2, 3]), "tables sbtest1 to sbtest3");
        assert_eq!(listed(&[1, 3]), "tables sbtest1 and sbtest3");
        assert_eq!(listed(&[1, 3, 4, 9]), "tables sbtest1, sbtest3 and 2 more");
        assert_eq!(table("a`b", 2), "`a``b`.sbtest2");
    }
}
