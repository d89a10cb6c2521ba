//! Whether the disks that a check writes to have room: on a full one every server fails, and the failure is not its own.

use anyhow::Result;
use niagara_server::{Cache, FULL_BELOW};

use super::outcome::{CheckFinding, PartReport};

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
    /// [`DiskFull`](niagara_server::DiskFull); the free space cannot be told.
    pub fn check(&self) -> Result<()> {
        self.cache.work_disk_has(self.full_below)?;
        self.cache.kept_disk_has(self.full_below)
    }

    /// Notes what is wrong with the server. It is asked at this moment whether there is room: later the data that filled the
    /// disk may be gone.
    ///
    /// # Errors
    /// As [`check`](Self::check): nothing is noted then.
    pub fn fault(&self, report: &mut PartReport, finding: CheckFinding) -> Result<()> {
        self.check()?;
        report.fail(finding);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;
    use niagara_server::DiskFull;

    use super::super::outcome::{Outcome, Part};
    use super::*;

    #[test]
    fn what_fails_on_a_full_disk_is_no_finding() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let cache = Cache::at(folder.path()).expect("a cache");
        let mut report = PartReport::new(Part::Crash, 1);
        let error = Room::none(&cache)
            .fault(&mut report, CheckFinding::NothingAcknowledged)
            .expect_err("the disk is full");
        let told = error.explain().to_string();
        assert!(
            told.contains("no space left") && told.contains("remedy"),
            "{told}"
        );
        // As it is told of a part of a check.
        assert!(
            error
                .context("the part could not be done")
                .has::<DiskFull>()
        );
        assert_eq!(report.outcome, Outcome::Passed);
        Room::of(&cache)
            .fault(&mut report, CheckFinding::NothingAcknowledged)
            .expect("there is room");
        assert_eq!(report.findings, [CheckFinding::NothingAcknowledged]);
    }
}
