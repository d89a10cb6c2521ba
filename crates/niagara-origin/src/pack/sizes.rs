//! How large the databases of a running server are.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use niagara_load::Admin;

use crate::data::elsewhere::engines;

/// Databases that are the server's own.
const OWN: &str = "'mysql', 'information_schema', 'performance_schema', 'sys', 'ndbinfo'";

/// A database of a running server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseSize {
    /// Its name.
    pub name: String,
    /// Bytes of its tables and indexes, by the server's estimate, without tables whose rows are elsewhere.
    pub bytes: u64,
    /// Tables whose engine has no transactions, without those whose rows are elsewhere.
    pub unstable: u64,
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
         CAST(COALESCE(SUM(ENGINE NOT IN ('InnoDB', 'RocksDB', 'TokuDB')), 0) AS UNSIGNED) \
         FROM information_schema.TABLES WHERE TABLE_SCHEMA NOT IN ({OWN}) AND TABLE_TYPE <> 'VIEW' \
         AND (ENGINE IS NULL OR ENGINE NOT IN ({})) GROUP BY 1",
        engines()
    ))?;
    let mut sizes: BTreeMap<String, (u64, u64)> = names
        .into_iter()
        .filter_map(|row| Some((row.into_iter().next()??, (0, 0))))
        .collect();
    for row in tables {
        let mut cells = row.into_iter().flatten();
        let (Some(name), Some(bytes), Some(unstable)) = (cells.next(), cells.next(), cells.next())
        else {
            continue;
        };
        let number = |text: &str| {
            text.parse::<u64>()
                .with_context(|| format!("the server says {text} for a size"))
        };
        sizes.insert(name, (number(&bytes)?, number(&unstable)?));
    }
    let sizes = sizes.into_iter();
    Ok(sizes
        .map(|(name, (bytes, unstable))| DatabaseSize {
            name,
            bytes,
            unstable,
        })
        .collect())
}
