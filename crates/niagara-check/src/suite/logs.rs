//! Where the logs of tests are kept.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use niagara_server::{Cache, Install};

/// Where the logs of a binary's tests are kept: those of the newest run.
pub(super) struct LogFolder(pub PathBuf);

impl LogFolder {
    /// An empty folder for the binary of `install`.
    pub fn new(cache: &Cache, install: &Install) -> Result<LogFolder> {
        let digest = niagara_server::file_digest(&install.server)?;
        let path = cache.root().join("checks").join(format!("{digest}-suite"));
        if path.exists() {
            fs::remove_dir_all(&path)
                .with_context(|| format!("cannot remove {}", path.display()))?;
        }
        fs::create_dir_all(&path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(LogFolder(path))
    }

    /// A failed test's log.
    pub fn of(&self, test: &str) -> PathBuf {
        log_of(&self.0, test)
    }
}

/// A failed test's log in a run's folder.
pub(super) fn log_of(folder: &Path, test: &str) -> PathBuf {
    folder.join(format!("{test}.log"))
}
