//! What levers cost beside speed.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a lever costs beside speed. Only `none` and `memory` are tried unless allowed.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    /// Nothing.
    None,
    /// Takes more memory.
    Memory,
    /// A crash can lose committed transactions or leave a torn page, or recovery has less to go by.
    Durability,
    /// Weakens protection against an attacker.
    Security,
    /// Changes the host, not just the server.
    System,
    /// Changes tables or their indexes.
    Schema,
}

impl fmt::Display for Risk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Memory => "memory",
            Self::Durability => "durability",
            Self::Security => "security",
            Self::System => "system",
            Self::Schema => "schema",
        })
    }
}

impl std::str::FromStr for Risk {
    type Err = String;

    /// Reads a risk's name, as in `--allow durability`.
    fn from_str(text: &str) -> Result<Self, String> {
        [
            Self::None,
            Self::Memory,
            Self::Durability,
            Self::Security,
            Self::System,
            Self::Schema,
        ]
        .into_iter()
        .find(|risk| risk.to_string() == text)
        .ok_or_else(|| {
            format!(
                "`{text}` is not a risk; known: none, memory, durability, security, system, schema"
            )
        })
    }
}
