//! What a pack says of itself.

use std::fmt;

use anyhow::Result;
use niagara_server::Version;
use serde::{Deserialize, Serialize};

use super::elsewhere::TablesElsewhere;
use crate::configuration::{RunningConfig, is_hidden};

/// The format that is written and read.
pub const MANIFEST_FORMAT: u32 = 1;

/// What a pack holds, of which server and machine, and what it lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`MANIFEST_FORMAT`].
    pub format: u32,
    /// The version of Niagara that made it.
    pub niagara: String,
    /// When it was begun, in seconds since 1970.
    pub began: i64,
    /// The server.
    pub server: ServerFacts,
    /// Its machine.
    pub machine: MachineFacts,
    /// The database of the load, where one is known.
    pub schema: Option<String>,
    /// Its databases; none where the data were there already.
    pub databases: Vec<PackedDatabase>,
    /// What is not in it.
    pub left_out: Vec<LeftOut>,
    /// The other members.
    pub members: Vec<Member>,
}

/// A server as it calls itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerFacts {
    /// `10.11.19-MariaDB`.
    pub version: String,
    /// `Debian 12`.
    pub comment: String,
}

impl ServerFacts {
    /// What the catalogue calls a server of this family and series, whether or not it has one.
    ///
    /// # Errors
    /// The version is none.
    pub fn name_in_catalog(&self) -> Result<String> {
        let version: Version = self.version.parse()?;
        let family = match self.version.contains("MariaDB") {
            true => "mariadb",
            false => "mysql",
        };
        Ok(format!("{family}-{}", version.series()))
    }
}

/// The machine of the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineFacts {
    /// The model of its processor.
    pub cpu: String,
    /// CPUs that can be kept busy.
    pub cpus: u32,
    /// Bytes of memory that can be used.
    pub memory: u64,
}

/// A database in a pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedDatabase {
    /// Its name.
    pub name: String,
    /// Bytes of its tables and indexes, by the server's estimate.
    pub bytes: u64,
}

/// A file within a pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// The SHA-256 of its content, in hexadecimal.
    pub sha256: String,
}

/// Something of the server that a pack lacks, or has only in part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum LeftOut {
    /// A database.
    Database {
        /// Its name.
        name: String,
    },
    /// Accounts and their passwords.
    Accounts,
    /// The statistics that the optimizer goes by: the account may not read them.
    Statistics,
    /// The value of a setting that is a secret or an address.
    SecretSetting {
        /// The setting.
        name: String,
    },
    /// Tables that a transaction does not hold still, so that their rows may be of different moments.
    UnstableTables {
        /// Their database.
        database: String,
        /// Their number.
        tables: u64,
    },
    /// Tables whose rows are on other servers or in files outside of the data, and views that read what the pack lacks.
    TablesElsewhere(TablesElsewhere),
}

impl LeftOut {
    /// The settings of `config` whose values are not in it.
    pub fn secrets(config: &RunningConfig) -> Vec<LeftOut> {
        let hidden = config.settings.iter().filter(|one| is_hidden(&one.value));
        hidden
            .map(|one| LeftOut::SecretSetting {
                name: one.name.clone(),
            })
            .collect()
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database { name } => write!(f, "database {name}"),
            Self::Accounts => f.write_str("accounts and their passwords"),
            Self::Statistics => f.write_str(
                "statistics of the optimizer, for which the account needs SELECT on the database mysql: copies gather their own",
            ),
            Self::SecretSetting { name } => write!(f, "the value of {name}"),
            Self::TablesElsewhere(found) => f.write_str(&found.words()),
            Self::UnstableTables { database, tables } => {
                let s = if *tables == 1 { "" } else { "s" };
                write!(
                    f,
                    "one moment for all rows: {tables} table{s} of {database} in engines without transactions"
                )
            }
        }
    }
}
