//! Settings of a configuration that a server goes without: codes and fields. Their English is in `words/setting.rs`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A setting of a configuration that a server goes without.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LostSetting {
    /// The setting as it stands there.
    pub setting: String,
    /// Where it stands.
    pub place: String,
    /// Why.
    pub reason: SettingReason,
}

/// Why a server goes without a setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum SettingReason {
    /// A path that the copy has one of its own for.
    OwnPath,
    /// A path that may not be here.
    ForeignPath,
    /// A secret, which stays where it is.
    Secret,
    /// The copy has addresses of its own.
    OwnAddress,
    /// Connections to the copy are not encrypted by the original's keys.
    Unencrypted,
    /// The copy takes no part in replication.
    Replication,
    /// The copy's audit log stays with its data.
    AuditLog,
    /// Events are disabled in the copy.
    Events,
    /// Nothing is encrypted in the copy.
    Encryption,
    /// How the process runs is up to Niagara.
    Process,
    /// The tables are on other servers, or in files outside of the data.
    TablesElsewhere,
    /// It would take the memory of one of two servers.
    Memory,
    /// Huge pages are not there for two servers.
    HugePages,
    /// It is for a server in distress.
    Distress,
    /// A plugin is not here.
    PluginMissing {
        /// Its library.
        library: String,
    },
    /// The server passes over it.
    PassedOver {
        /// The server.
        server: String,
    },
    /// The server has no such option.
    NoSuchOption {
        /// `MySQL 9.7.4`.
        release: String,
        /// What it has in its place.
        successor: Option<Successor>,
    },
    /// No option sets this variable.
    NoOptionForVariable {
        /// `MySQL 9.7.4`.
        release: String,
    },
    /// It has no value, and takes one.
    NoValue,
    /// Its value is empty.
    EmptyValue,
    /// A time zone that is known by its name alone.
    NamedTimeZone,
    /// The server refuses it.
    Refused {
        /// `MySQL 9.7.4`.
        release: String,
        /// What the server says; `None` of a secret.
        said: Option<String>,
        /// Whether the rest of the value is kept.
        is_part: bool,
    },
}

/// The option that a release has in place of another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Successor {
    /// Its name.
    pub name: String,
    /// How its value follows from the other's; `None` where it is the same.
    pub how: Option<String>,
}
