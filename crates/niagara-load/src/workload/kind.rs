//! The names of the workloads.

use serde::Serialize;
use std::fmt;

/// A workload that is built in, by the name that users write: sysbench's, or one of Niagara's own. There is none that
/// [the registry](super::registry) does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct WorkloadKind(&'static str);

impl WorkloadKind {
    /// For a name that a family has.
    pub(super) const fn new(name: &'static str) -> Self {
        WorkloadKind(name)
    }

    /// The name that users write.
    pub fn name(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for WorkloadKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}
