//! How large the databases of a running server are.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use niagara_load::{Admin, Row};

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

/// The databases of a server that are not its own, by name.
///
/// # Errors
/// It refuses a statement.
pub fn database_sizes(admin: &mut Admin) -> Result<Vec<DatabaseSize>> {
    let names = admin.rows(&format!(
        "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME NOT IN ({OWN})"
    ))?;
    let tables = admin.rows(&format!(
        "SELECT TABLE_SCHEMA, CAST(COALESCE(SUM(DATA_LENGTH + INDEX_LENGTH), 0) AS UNSIGNED), \
         CAST(COALESCE(SUM(NOT {IS_STABLE}), 0) AS UNSIGNED), \
         CAST(COALESCE(MAX(CASE WHEN {IS_STABLE} THEN 0 ELSE DATA_LENGTH END), 0) AS UNSIGNED), \
         COALESCE(GROUP_CONCAT(DISTINCT CASE WHEN {IS_STABLE} THEN NULL ELSE ENGINE END SEPARATOR ', '), '') \
         FROM information_schema.TABLES WHERE TABLE_SCHEMA NOT IN ({OWN}) AND TABLE_TYPE <> 'VIEW' \
         AND (ENGINE IS NULL OR ENGINE NOT IN ({})) GROUP BY 1",
        engines()
    ))?;
    let mut sizes: BTreeMap<String, DatabaseSize> = names
        .into_iter()
        .filter_map(|row| {
            let name = row.into_iter().next()??;
            let size = DatabaseSize {
                name: name.clone(),
                ..DatabaseSize::default()
            };
            Some((name, size))
        })
        .collect();
    for row in tables {
        let size = size_of(row)?;
        sizes.insert(size.name.clone(), size);
    }
    Ok(sizes.into_values().collect())
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
