//! A workload from a file: tables with generated rows, and weighted transactions of SQL with drawn parameters.
//! docs/own-workload.md shows the format by example.

mod definition;
mod generator;
mod load;
mod read;
mod sql;
mod transaction;

use serde::{Deserialize, Serialize};

pub use definition::{Definition, Step};
pub use load::load;
pub use read::read;
pub use transaction::{OwnPlan, OwnTransaction};

/// The file of a workload, whole: what a study keeps must not depend on a file that may change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnFile {
    /// The file as the user named it, for messages.
    pub path: String,
    /// Its text.
    pub text: String,
}

impl OwnFile {
    /// The file's name without folder and ending.
    pub fn stem(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        name.strip_suffix(".toml").unwrap_or(name)
    }

    /// `report`, which is built into the program.
    pub fn report() -> OwnFile {
        OwnFile {
            path: "workloads/report.toml".into(),
            text: include_str!("../../../../../workloads/report.toml").into(),
        }
    }

    /// `commit`, which is built into the program.
    pub fn commit() -> OwnFile {
        OwnFile {
            path: "workloads/commit.toml".into(),
            text: include_str!("../../../../../workloads/commit.toml").into(),
        }
    }
}
