//! What study files may speak of.

use std::path::Path;

use crate::lever::Lever;

/// What names in a study file may mean.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// Levers.
    pub levers: &'a [Lever],
    /// Servers of the catalogue.
    pub servers: &'a [String],
    /// Where the paths of workload files begin: the folder of the study file.
    pub folder: &'a Path,
}
