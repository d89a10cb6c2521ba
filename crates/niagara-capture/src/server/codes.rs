//! What is known of a capture before it begins: codes with fields.

use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

/// A code with its fields, and the same in words.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct InWords<T> {
    /// The code and its fields.
    #[serde(flatten)]
    pub what: T,
    /// For people.
    pub text: String,
}

impl<T: Display> From<T> for InWords<T> {
    fn from(what: T) -> Self {
        Self {
            text: what.to_string(),
            what,
        }
    }
}

impl<T> Display for InWords<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// What a capture misses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Miss {
    /// Sessions that are connected already.
    ConnectedSessions,
    /// Logins, and ends of sessions.
    Logins,
    /// Statements with a syntax error, and which were prepared.
    SyntaxErrors,
}

/// What should be known of a server before a capture.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Note {
    /// Sessions that are connected.
    Sessions {
        /// How many, this one among them.
        connected: u64,
    },
    /// What a second of the log would be.
    Rate {
        /// Statements a second that the server has answered in the mean since its start.
        statements: f64,
    },
    /// The space that is free where the log goes, as this machine sees it.
    FreeSpace {
        /// Bytes.
        bytes: u64,
        /// The folder.
        folder: PathBuf,
    },
    /// The slow log is on already.
    SlowLogOn {
        /// Where it goes.
        goes_to: String,
    },
    /// The general log is on.
    GeneralLogOn,
}

/// What a capture does to the user's own logs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Agreement {
    /// Connections that are opened during it go on filling the slow log after its end.
    ConnectionsKeep {
        /// The settings that they keep.
        settings: String,
        /// Where the slow log goes.
        goes_to: String,
    },
    /// The general log goes to a file alone meanwhile, and to no table.
    GeneralLogToFile {
        /// `log_output` before.
        log_output: String,
        /// The file, which stays.
        file: PathBuf,
    },
    /// The slow log does not go to its table meanwhile.
    SlowTablePauses {
        /// `log_output` before.
        log_output: String,
    },
}
