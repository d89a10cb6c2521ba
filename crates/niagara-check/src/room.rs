//! Whether the disks that a check writes to have room: on a full one every server fails, and the failure is not its own.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Result;
use niagara_server::Cache;

use super::outcome::PartReport;

/// A disk with fewer bytes free is called full: servers extend their files by up to 64 MB at a time.
const FULL_BELOW: u64 = 64 << 20;

/// A disk is full: whatever failed meanwhile says nothing of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskFull {
    folder: PathBuf,
    /// Bytes.
    free: u64,
    /// The variable that names another folder.
    variable: &'static str,
}

impl fmt::Display for DiskFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no space left on the disk of {} ({} MB free): what failed says nothing of the server\n\
             remedy: free some, or name a folder on another disk in {}; the same command checks again",
            self.folder.display(),
            self.free >> 20,
            self.variable
        )
    }
}

impl std::error::Error for DiskFull {}

/// The disks that a check writes to: that of the clones, and that of the cache.
#[derive(Debug, Clone)]
pub(crate) struct Room {
    cache: Cache,
    full_below: u64,
}

impl Room {
    /// Of the disks of this cache.
    pub fn of(cache: &Cache) -> Room {
        Room {
            cache: cache.clone(),
            full_below: FULL_BELOW,
        }
    }

    /// As on disks that are full.
    #[cfg(test)]
    pub fn none(cache: &Cache) -> Room {
        Room {
            cache: cache.clone(),
            full_below: u64::MAX,
        }
    }

    /// That there is room.
    ///
    /// # Errors
    /// [`DiskFull`]; the free space cannot be told.
    pub fn check(&self) -> Result<()> {
        let work = self.cache.work()?;
        self.not_full(&work, self.cache.free_bytes()?, "NIAGARA_WORK")?;
        let kept = self.cache.kept_free_bytes()?;
        self.not_full(self.cache.root(), kept, "NIAGARA_CACHE")?;
        Ok(())
    }

    /// Notes what is wrong with the server. It is asked at this moment whether there is room: later the data that filled the
    /// disk may be gone.
    ///
    /// # Errors
    /// As [`check`](Self::check): nothing is noted then.
    pub fn fault(&self, report: &mut PartReport, finding: String) -> Result<()> {
        self.check()?;
        report.fail(finding);
        Ok(())
    }

    fn not_full(&self, folder: &Path, free: u64, variable: &'static str) -> Result<(), DiskFull> {
        if free >= self.full_below {
            return Ok(());
        }
        Err(DiskFull {
            folder: folder.to_owned(),
            free,
            variable,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::outcome::{Outcome, Part};
    use super::*;

    #[test]
    fn what_fails_on_a_full_disk_is_no_finding() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let cache = Cache::at(folder.path()).expect("a cache");
        let mut report = PartReport::new(Part::Crash, 1);
        let error = Room::none(&cache)
            .fault(&mut report, "a refused INSERT".to_owned())
            .expect_err("the disk is full");
        let told = error.to_string();
        assert!(
            told.contains("no space left") && told.contains("remedy"),
            "{told}"
        );
        // As it is told of a part of a check.
        assert!(error.context("the part could not be done").is::<DiskFull>());
        assert_eq!(report.outcome, Outcome::Passed);
        Room::of(&cache)
            .fault(&mut report, "a lost commit".to_owned())
            .expect("there is room");
        assert_eq!(report.findings, ["a lost commit"]);
    }
}
