//! Part of a matrix: some of the levels of some of its axes. Builds take minutes to hours each, and a matrix multiplies
//! them: what there is no time for now can be left for later, since builds are kept.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A level that is wanted, as `AXIS=LEVEL`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WantedLevel {
    /// The axis, by its name.
    pub axis: String,
    /// The level, by its name.
    pub level: String,
}

impl std::fmt::Display for WantedLevel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.axis, self.level)
    }
}

impl FromStr for WantedLevel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((axis, level)) if !axis.trim().is_empty() && !level.trim().is_empty() => {
                Ok(Self {
                    axis: axis.trim().to_owned(),
                    level: level.trim().to_owned(),
                })
            }
            _ => Err("write AXIS=LEVEL, as in \"options=PGO + LTO\"".to_owned()),
        }
    }
}
