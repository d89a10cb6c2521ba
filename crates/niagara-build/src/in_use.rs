//! What says that a build or a source is used, so that nobody removes it.

use std::fs::File;
use std::sync::Arc;

use anyhow::Result;
use niagara_server::Cache;
use nix::fcntl::Flock;

/// Says that a build is used: as long as one is held, in whatever process, it is not removed.
#[derive(Debug, Clone)]
pub struct InUse {
    _lock: Arc<Flock<File>>,
}

impl InUse {
    /// What has this key is used from here on.
    ///
    /// # Errors
    /// The lock that says so cannot be had.
    pub(crate) fn of(cache: &Cache, key: &str) -> Result<Self> {
        Ok(Self {
            _lock: Arc::new(cache.share_lock(&use_name(key))?),
        })
    }
}

/// The lock that is shared by those who use a build or a source.
pub(crate) fn use_name(key: &str) -> String {
    format!("use-{key}")
}
