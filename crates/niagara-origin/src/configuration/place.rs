//! Where a setting stands in the user's files.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Where an option stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The file.
    pub file: PathBuf,
    /// From 1; 0 where only the file is known.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}", self.file.display()),
            line => write!(f, "{} line {line}", self.file.display()),
        }
    }
}
