//! The file of a workload, whole: what a study keeps must not depend on a file that may change.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The file of a workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadFile {
    /// The file as the user named it, for messages.
    pub path: String,
    /// Its text.
    pub text: String,
}

impl WorkloadFile {
    /// The file's name without folder and ending.
    pub(super) fn stem(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        name.strip_suffix(".toml").unwrap_or(name)
    }
}
