//! This program's own file, which the agent must be too.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};
use niagara_server::file_digest;

/// The kernel's name for it, which holds also when the file was replaced since.
const OWN: &str = "/proc/self/exe";

/// This program's file.
///
/// # Errors
/// `/proc` is not there.
pub(crate) fn open_own() -> Result<File> {
    File::open(OWN).with_context(|| format!("cannot read {OWN}"))
}

/// SHA-256 of this program's file, in hexadecimal digits.
///
/// # Errors
/// It cannot be read.
pub fn own_hash() -> Result<String> {
    file_digest(Path::new(OWN))
}
