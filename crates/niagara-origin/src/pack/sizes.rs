//! How large the databases of a running server are.

use anyhow::{Context, Result};
use niagara_error::{anyhow, bail};
use niagara_load::{Admin, Row, sql_text};

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

/// Longest time in which a server may say how large a database is, in seconds.
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

/// How large these databases are. Some servers open each table for that: the session gets a limit for its statements, where the server has
/// one.
///
/// # Errors
/// It refuses a statement, or takes too long.
pub fn database_sizes(admin: &mut Admin, databases: &[String]) -> Result<Vec<DatabaseSize>> {
    let version = admin.value("SELECT VERSION()")?.unwrap_or_default();
    // Old ones have no such limit.
    let _ = admin.rows(&limit(version.contains("MariaDB")));
    let sizes = databases.iter().map(|name| database_size(admin, name));
    sizes.collect()
}

fn database_size(admin: &mut Admin, name: &str) -> Result<DatabaseSize> {
    let rows = admin.rows(&size_statement(name)).map_err(|error| {
        match error.server_code().is_some_and(|code| TOO_LONG.contains(&code)) {
            true => anyhow!(
                "the server takes longer than {LONGEST} s to say how large the database {name} is";
                remedy: "--schema for another database, --data for a backup, or try again when the server is less busy"
            ),
            false => error.into(),
        }
    })?;
    let empty = DatabaseSize {
        name: name.to_owned(),
        ..DatabaseSize::default()
    };
    // One without tables has no row.
    rows.into_iter().next().map_or(Ok(empty), size_of)
}

/// The limit of a session's statements: of those that read, which these are.
fn limit(is_mariadb: bool) -> String {
    match is_mariadb {
        true => format!("SET SESSION max_statement_time = {LONGEST}"),
        false => format!("SET SESSION max_execution_time = {}", LONGEST * 1000),
    }
}

/// A condition by which servers whose tables are files look into this database alone: a list of databases would have them look into all.
fn is_in(database: &str) -> String {
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
        assert_eq!(limit(true), "SET SESSION max_statement_time = 30");
        assert_eq!(limit(false), "SET SESSION max_execution_time = 30000");
    }
}
