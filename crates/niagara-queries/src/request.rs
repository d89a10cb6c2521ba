//! What is asked of a capture's statements.

use std::path::Path;
use std::time::Duration;

use crate::setting::PlanSetting;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Request<'r> {
    /// The capture.
    pub capture: &'r Path,
    /// The database of statements for which the capture names none.
    pub database: &'r str,
    /// How long all may take.
    pub budget: Duration,
    /// How long it may take while no index is found that pays; not below `budget`.
    pub none_pays: Duration,
    /// What the set may be.
    pub limits: Limits,
    /// Settings of the optimizer to count with.
    pub settings: &'r [PlanSetting],
    /// Whether they are counted with the set of indexes there; else without any new index.
    pub settings_with_set: bool,
}

/// What the set may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Indexes at most.
    pub indexes: usize,
    /// Bytes at most, of all of them.
    pub bytes: Option<u64>,
}
