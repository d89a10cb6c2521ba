//! Options that a data directory keeps with it: every server on it, and on its clones, is started with them. For data of
//! the user's: what it is laid out by, and what is to sleep in a copy.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::cache::write_private;
use crate::config::Config;

const FILE: &str = "niagara-options.json";

/// Keeps `options` with the data directory.
///
/// # Errors
/// It cannot be written to.
pub fn keep_options(datadir: &Path, options: &Config) -> Result<()> {
    write_private(&datadir.join(FILE), &serde_json::to_vec(options)?)
}

/// The options that a data directory keeps; none for most.
pub(super) fn kept_options(datadir: &Path) -> Result<Config> {
    let path = datadir.join(FILE);
    match fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .with_context(|| format!("{} is damaged; remove its image", path.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Config::new()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}
