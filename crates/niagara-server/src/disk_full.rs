//! A disk that is as good as full: on one every server fails, and the failure is not its own.

use std::path::PathBuf;

use anyhow::Result;
use niagara_error::Explanation;

use crate::cache::Cache;

/// A disk with fewer bytes free is called full: servers extend their files by up to 64 MB at a time.
pub const FULL_BELOW: u64 = 64 << 20;

/// A disk is full: whatever failed meanwhile says nothing of a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no space left on the disk of {} ({} MB free): what failed says nothing of the server",
    .folder.display(),
    .free >> 20
)]
pub struct DiskFull {
    folder: PathBuf,
    /// Bytes.
    free: u64,
    free_some: &'static str,
    /// What names another folder.
    variable: &'static str,
}

niagara_error::remedied!(DiskFull, |full| Explanation::new(full.to_string()).remedy(
    format!(
        "{}, or name a folder on another disk in {}; then give the same command again",
        full.free_some, full.variable
    )
));

impl Cache {
    /// That the disk of clones and run folders has so many `bytes` free.
    ///
    /// # Errors
    /// [`DiskFull`]; the free space cannot be told.
    pub fn work_disk_has(&self, bytes: u64) -> Result<()> {
        let free = self.free_bytes()?;
        if free >= bytes {
            return Ok(());
        }
        Err(DiskFull {
            folder: self.work()?,
            free,
            free_some: "free some",
            variable: "NIAGARA_WORK",
        }
        .into())
    }

    /// That the disk of servers, images and builds has so many `bytes` free.
    ///
    /// # Errors
    /// [`DiskFull`]; the free space cannot be told.
    pub fn kept_disk_has(&self, bytes: u64) -> Result<()> {
        let free = self.kept_free_bytes()?;
        if free >= bytes {
            return Ok(());
        }
        Err(DiskFull {
            folder: self.root().to_owned(),
            free,
            free_some: "free some (niagara server build gc)",
            variable: "NIAGARA_CACHE",
        }
        .into())
    }
}
