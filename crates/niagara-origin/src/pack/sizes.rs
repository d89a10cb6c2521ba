//! How large the databases of a running server are.

use std::fmt::Display;

use anyhow::{Context, Error, Result};
use niagara_error::{anyhow, bail};
use niagara_load::{Admin, LoadError, Row, sql_text};

use crate::data::elsewhere::engines;

/// Databases that are the server's own.
const OWN: &str = "'mysql', 'information_schema', 'performance_schema', 'sys', 'ndbinfo'";

/// Whether a transaction holds the rows of a table still, and needs no lock for that.
const IS_STABLE: &str = "(ENGINE IN ('InnoDB', 'RocksDB', 'TokuDB'))";

/// A database of a running server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DatabaseSize {
    /// Its name.
    pub name: String,
    /// Bytes of its tables and indexes, by the server's estimate, without tables whose rows are elsewhere.
    pub bytes: u64,
    /// Tables whose engine has no transactions, without those whose rows are elsewhere: a dump keeps writers of each waiting while it reads
    /// that.
    pub unstable: u64,
    /// Bytes of the largest of these.
    pub largest_unstable: u64,
    /// The engines of these, as `Aria, MyISAM`.
    pub unstable_engines: String,
}

/// Longest time in which a server may answer a statement about the tables of a database, in seconds.
const LONGEST: u64 = 30;

/// A statement took longer than it may: MariaDB's ER_STATEMENT_TIMEOUT, MySQL's ER_QUERY_TIMEOUT.
const TOO_LONG: [u16; 2] = [1969, 3024];

/// The names of the databases of a server that are not its own, sorted.
///
/// # Errors
/// It refuses the statement.
pub fn databases(admin: &mut Admin) -> Result<Vec<String>> {
    let rows = admin.rows(&format!(
        "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME NOT IN ({OWN})"
    ))?;
    let names = rows.into_iter().filter_map(|row| row.into_iter().next()?);
    let mut names: Vec<String> = names.collect();
    names.sort();
    Ok(names)
}

/// How many tables and views these databases have; no server opens a table for that.
///
/// # Errors
/// It refuses a statement.
pub fn table_count(admin: &mut Admin, databases: &[String]) -> Result<u64> {
    let mut count = 0;
    for name in databases {
        let told = admin.value(&format!(
            "SELECT COUNT(*) FROM information_schema.TABLES WHERE {}",
            is_in(name)
        ))?;
        count += told.and_then(|told| told.parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(count)
}

/// How large these databases are. Some servers open each table for that: they get a limited time, where they have such a limit.
///
/// # Errors
/// It refuses a statement, or takes too long.
pub fn database_sizes(admin: &mut Admin, databases: &[String]) -> Result<Vec<DatabaseSize>> {
    within_limit(admin, |admin| {
        let sizes = databases.iter().map(|name| database_size(admin, name));
        sizes.collect()
    })
}

fn database_size(admin: &mut Admin, name: &str) -> Result<DatabaseSize> {
    let rows = admin
        .rows(&size_statement(name))
        .map_err(|error| too_long(error, &format!("how large the database {name} is")))?;
    let empty = DatabaseSize {
        name: name.to_owned(),
        ..DatabaseSize::default()
    };
    // One without tables has no row.
    rows.into_iter().next().map_or(Ok(empty), size_of)
}

/// Asks with a limit for each statement of the session, which has its own limit again afterwards.
///
/// # Errors
/// Those of `ask`; the server refuses a statement.
pub(super) fn within_limit<T>(
    admin: &mut Admin,
    ask: impl FnOnce(&mut Admin) -> Result<T>,
) -> Result<T> {
    let version = admin.value("SELECT VERSION()")?.unwrap_or_default();
    let (variable, longest) = limit(version.contains("MariaDB"));
    // Old ones have no such limit.
    let before = admin.value(&format!("SELECT @@SESSION.{variable}"));
    let Some(before) = before.ok().flatten() else {
        return ask(admin);
    };
    admin.rows(&set(variable, longest))?;
    let found = ask(admin);
    let is_back = admin.rows(&set(variable, before));
    // What came first tells more.
    let found = found?;
    is_back?;
    Ok(found)
}

/// The error of a statement about a database: where it met the limit, with what to do about that.
pub(super) fn too_long(error: LoadError, what: &str) -> Error {
    match error
        .server_code()
        .is_some_and(|code| TOO_LONG.contains(&code))
    {
        true => anyhow!(
            "the server takes longer than {LONGEST} s to say {what}";
            remedy: "--schema for another database, --data for a backup, or try again when the server is less busy"
        ),
        false => error.into(),
    }
}

/// The variable that limits a session's statements, of those that read, which these are; the limit in its unit.
fn limit(is_mariadb: bool) -> (&'static str, u64) {
    match is_mariadb {
        true => ("max_statement_time", LONGEST),
        false => ("max_execution_time", LONGEST * 1000),
    }
}

fn set(variable: &str, value: impl Display) -> String {
    format!("SET SESSION {variable} = {value}")
}

/// A condition by which servers whose tables are files look into this database alone: a list of databases would have them look into all.
pub(super) fn is_in(database: &str) -> String {
    format!("TABLE_SCHEMA = {}", sql_text(database))
}

fn size_statement(database: &str) -> String {
    format!(
        "SELECT TABLE_SCHEMA, CAST(COALESCE(SUM(DATA_LENGTH + INDEX_LENGTH), 0) AS UNSIGNED), \
         CAST(COALESCE(SUM(NOT {IS_STABLE}), 0) AS UNSIGNED), \
         CAST(COALESCE(MAX(CASE WHEN {IS_STABLE} THEN 0 ELSE DATA_LENGTH END), 0) AS UNSIGNED), \
         COALESCE(GROUP_CONCAT(DISTINCT CASE WHEN {IS_STABLE} THEN NULL ELSE ENGINE END SEPARATOR ', '), '') \
         FROM information_schema.TABLES WHERE {} AND TABLE_TYPE <> 'VIEW' \
         AND (ENGINE IS NULL OR ENGINE NOT IN ({})) GROUP BY 1",
        is_in(database),
        engines()
    )
}

fn size_of(row: Row) -> Result<DatabaseSize> {
    let cells: Vec<String> = row.into_iter().map(Option::unwrap_or_default).collect();
    let [name, bytes, unstable, largest, engines] = &cells[..] else {
        bail!("the server says {} values for a size", cells.len());
    };
    let number = |text: &str| {
        text.parse::<u64>()
            .with_context(|| format!("the server says {text} for a size"))
    };
    let mut engines: Vec<&str> = engines.split(", ").collect();
    engines.sort_unstable();
    Ok(DatabaseSize {
        name: name.clone(),
        bytes: number(bytes)?,
        unstable: number(unstable)?,
        largest_unstable: number(largest)?,
        unstable_engines: engines.join(", "),
    })
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::*;

    #[test]
    fn sizes_are_asked_of_one_database() {
        for sql in [size_statement("it's"), is_in("it's")] {
            assert!(sql.contains("TABLE_SCHEMA = 'it''s'"), "{sql}");
        }
        assert!(!size_statement("shop").contains("TABLE_SCHEMA NOT IN"));
    }

    #[test]
    fn limits_are_in_the_units_of_each_server() {
        let set_in = |is_mariadb: bool| {
            let (variable, longest) = limit(is_mariadb);
            set(variable, longest)
        };
        assert_eq!(set_in(true), "SET SESSION max_statement_time = 30");
        assert_eq!(set_in(false), "SET SESSION max_execution_time = 30000");
    }

    #[test]
    fn a_limit_that_is_met_has_a_remedy() {
        let told = |code: u16| {
            let error = LoadError::Query {
                code,
                message: "a message".to_owned(),
                statement: "SELECT".to_owned(),
            };
            too_long(error, "what the database shop has").explain()
        };
        for code in TOO_LONG {
            let told = told(code);
            assert_eq!(
                told.cause,
                "the server takes longer than 30 s to say what the database shop has"
            );
            assert!(told.remedies.concat().contains("--schema"), "{told}");
        }
        assert!(told(1146).cause.contains("server error 1146"));
    }
}
