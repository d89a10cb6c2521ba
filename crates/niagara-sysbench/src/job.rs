//! What a command of a test works with.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use niagara_load::{Endpoint, IgnoredErrors, WorkloadSpec};

use crate::failure::Failure;
use crate::log::Log;
use crate::settings::Settings;

/// Arranges for a flag to be set on Ctrl-C; why it cannot be, where it cannot.
pub type OnInterrupt<'a> = &'a dyn Fn() -> Result<Arc<AtomicBool>, String>;

/// Everything that a command of a test needs.
pub struct Job {
    pub spec: WorkloadSpec,
    /// At least one.
    pub endpoints: Vec<Endpoint>,
    pub ignored_errors: IgnoredErrors,
    pub settings: Settings,
    pub log: Log,
}

impl Job {
    /// Where tables are made and dropped.
    pub fn first(&self) -> Result<&Endpoint, Failure> {
        self.endpoints
            .first()
            .ok_or_else(|| Failure::fatal("No MySQL hosts specified, aborting"))
    }
}
