//! The machine that what is found is for, where it is not the one that measures.

use serde::Serialize;

/// Its size: it bounds the sizes that are tried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ProductionMachine {
    /// Bytes of memory; this machine's where not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// CPUs; this machine's where not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
}

impl ProductionMachine {
    /// Whether it is taken to be this one.
    pub(crate) fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}
