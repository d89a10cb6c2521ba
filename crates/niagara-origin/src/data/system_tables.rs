//! System tables of an older MariaDB, made as the server that runs on the copy has them: it reads routines and events of no others, and
//! its own upgrade program is in another package. The definitions are those of the server's own folder.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use niagara_error::Remedy as _;
use niagara_load::{Admin, counted};
use niagara_server::{Install, RunningServer, sql_file};

use super::code::Code;
use super::split::Statements;

/// The script of the server's folder that makes the tables; older series name it after MySQL.
const SCRIPTS: [&str; 2] = ["mariadb_system_tables.sql", "mysql_system_tables.sql"];
/// The database in which the new tables are made; the copy has it no more in the end.
const WORK: &str = "niagara_system_tables";
/// Bound on a statement: the tables have a row for each routine, account and statistic.
const TIMEOUT: Duration = Duration::from_secs(600);

/// Upgrades the system tables of a copy, where `data` are of an older series; what was done, in words.
///
/// # Errors
/// The server's folder has no definitions; the server refuses a statement.
pub(crate) fn upgrade(server: &RunningServer, install: &Install) -> Result<Vec<String>> {
    let definitions = definitions(install)?;
    let mut admin = Admin::connect(&server.over_socket(""), TIMEOUT)?;
    for statement in [
        "SET SESSION sql_log_bin = 0, sql_mode = '', foreign_key_checks = 0, default_storage_engine = Aria",
        "SET NAMES utf8mb4",
    ] {
        admin.run(statement.as_bytes())?;
    }
    admin.run(format!("DROP DATABASE IF EXISTS {WORK}").as_bytes())?;
    admin.run(format!("CREATE DATABASE {WORK}").as_bytes())?;
    admin.run(format!("USE {WORK}").as_bytes())?;
    let mut changed = Vec::new();
    for (table, statement) in definitions {
        admin
            .run(statement.as_bytes())
            .with_context(|| format!("cannot make the system table {table}"))?;
        let (old, new) = (
            columns(&mut admin, "mysql", &table)?,
            columns(&mut admin, WORK, &table)?,
        );
        if old == new {
            continue;
        }
        replace(&mut admin, &table, &old, &new)
            .with_context(|| format!("cannot upgrade the system table mysql.{table}"))?;
        changed.push(table);
    }
    admin.run(format!("DROP DATABASE {WORK}").as_bytes())?;
    if changed.is_empty() {
        return Ok(Vec::new());
    }
    admin.run(b"FLUSH PRIVILEGES")?;
    Ok(vec![format!(
        "{} of the copy were upgraded for {} {}: {}",
        counted(changed.len() as u64, "system table"),
        install.family,
        install.version,
        changed.join(", ")
    )])
}

/// A column: its name and its type.
type Column = (String, String);

/// The columns of a table, in order; none of one that is not there.
fn columns(admin: &mut Admin, database: &str, table: &str) -> Result<Vec<Column>> {
    let rows = admin.rows(&format!(
        "SELECT column_name, column_type FROM information_schema.columns \
         WHERE table_schema = '{database}' AND table_name = '{table}' ORDER BY ordinal_position"
    ))?;
    let columns = rows.into_iter().filter_map(|row| {
        let mut cells = row.into_iter();
        Some((cells.next()??, cells.next()??))
    });
    Ok(columns.collect())
}

/// Puts the new table in the place of the old one, with its rows.
fn replace(admin: &mut Admin, table: &str, old: &[Column], new: &[Column]) -> Result<()> {
    if old.is_empty() {
        admin.run(format!("RENAME TABLE {WORK}.`{table}` TO mysql.`{table}`").as_bytes())?;
        return Ok(());
    }
    let common: Vec<String> = new
        .iter()
        .filter(|(name, _)| old.iter().any(|(other, _)| other == name))
        .map(|(name, _)| format!("`{name}`"))
        .collect();
    let common = common.join(", ");
    for statement in [
        format!("INSERT INTO {WORK}.`{table}` ({common}) SELECT {common} FROM mysql.`{table}`"),
        format!(
            "RENAME TABLE mysql.`{table}` TO {WORK}.`{table}_old`, {WORK}.`{table}` TO mysql.`{table}`"
        ),
    ] {
        admin.run(statement.as_bytes())?;
    }
    Ok(())
}

/// The tables that the server's script makes by a plain statement, each with it. Others it makes where an engine is there, and they
/// are logs and statistics of InnoDB.
fn definitions(install: &Install) -> Result<Vec<(String, String)>> {
    let path = script(install)?;
    let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    tables_of(&text).with_context(|| format!("cannot read {}", path.display()))
}

fn script(install: &Install) -> Result<PathBuf> {
    sql_file(&install.basedir, &SCRIPTS)
        .with_context(|| {
            format!(
                "no {} below {}: the system tables of an older series cannot be upgraded",
                SCRIPTS.join(" or "),
                install.basedir.display()
            )
        })
        .remedy("run mariadb-upgrade on the original's server first, or take a dump")
}

fn tables_of(text: &[u8]) -> Result<Vec<(String, String)>> {
    let mut statements = Statements::of(text);
    let mut found = Vec::new();
    while let Some(statement) = statements.next()? {
        let mut code = Code::of(statement);
        let makes = ["CREATE", "TABLE", "IF", "NOT", "EXISTS"];
        if makes.iter().all(|word| code.takes(word))
            && let Some(table) = code.name()
        {
            found.push((table, String::from_utf8_lossy(statement).into_owned()));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_those_of_plain_statements() -> Result<()> {
        let script = b"-- x\nset sql_mode='';\nCREATE TABLE IF NOT EXISTS db (\n  Host char(60) comment 'a;b'\n) engine=Aria;\n\
            CREATE TEMPORARY TABLE tmp LIKE db;\nSET @str = 'CREATE TABLE IF NOT EXISTS slow_log (a int)';\nPREPARE stmt FROM @str;\n\
            CREATE TABLE IF NOT EXISTS `proc` (a int);";
        let tables: Vec<String> = tables_of(script)?
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(tables, ["db", "proc"]);
        Ok(())
    }
}
