//! The optimizer's statistics of a live server, in a file next to a dump of its data.
//!
//! A dump has none, and a copy that gathers its own may execute a statement otherwise than the server does: where the server's are
//! stale, where their sample of pages was another one, where it has histograms. Files of a data directory have them inside.

mod bring;
mod read;
mod table;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use niagara_error::Remedy as _;
use serde::{Deserialize, Serialize};

pub(crate) use bring::bring;
pub use read::statistics_of;
use table::StatisticsTable;

/// How the name of a file with statistics ends; before that stands the whole name of the dump that they belong to.
pub const ENDING: &str = ".statistics.json";

/// What a server's optimizer knows of the tables of some databases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptimizerStatistics {
    /// The version of the server, as it says it.
    pub version: String,
    /// What its tables of statistics have, those that have something.
    pub tables: Vec<StatisticsRows>,
}

/// Rows of one table of statistics.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatisticsRows {
    /// The table.
    pub table: StatisticsTable,
    /// Its rows, a value for each of its columns; binary ones in hexadecimal digits.
    pub rows: Vec<Vec<Option<String>>>,
}

impl OptimizerStatistics {
    /// Whether they are MariaDB's.
    fn is_mariadb(&self) -> bool {
        self.version.contains("MariaDB")
    }

    /// Those that lie beside the dump at `dump`, if there are any.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn beside(dump: &Path) -> Result<Option<Self>> {
        let path = place(dump);
        if !path.is_file() {
            return Ok(None);
        }
        let cannot = || format!("cannot read the statistics {}", path.display());
        let text = std::fs::read(&path).with_context(cannot)?;
        let statistics = serde_json::from_slice(&text);
        statistics
            .with_context(cannot)
            .remedy("unpack or copy it again, or remove it: the copy then gathers its own")
    }
}

/// Where the statistics of the dump at `dump` lie.
pub(crate) fn place(dump: &Path) -> PathBuf {
    let mut path = dump.as_os_str().to_owned();
    path.push(ENDING);
    PathBuf::from(path)
}
