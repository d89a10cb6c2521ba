//! Where the logs of tests are kept: a folder for each run, as long as the binary's record names it.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use niagara_server::{Cache, Install};

use crate::record::CheckRecord;

/// Where the logs of one run of a binary's tests are kept.
pub(super) struct LogFolder(pub PathBuf);

impl LogFolder {
    /// A new folder for the binary of `install`.
    pub fn new(cache: &Cache, install: &Install) -> Result<LogFolder> {
        let digest = niagara_server::file_digest(&install.server)?;
        let checks = checks(cache);
        fs::create_dir_all(&checks)
            .with_context(|| format!("cannot create {}", checks.display()))?;
        let mut number = 0_u32;
        loop {
            number += 1;
            let path = checks.join(format!("{digest}{SUITE}-{number}"));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(LogFolder(path)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(error).with_context(|| format!("cannot create {}", path.display()));
                }
            }
        }
    }

    /// A failed test's log.
    pub fn of(&self, test: &str) -> PathBuf {
        log_of(&self.0, test)
    }
}

/// How the name of a run's folder goes on behind the binary's digest.
const SUITE: &str = "-suite";

fn checks(cache: &Cache) -> PathBuf {
    cache.root().join("checks")
}

/// Removes what earlier runs of the binary's tests left, but for what its record names: a smaller run, of which the record
/// takes nothing in, leaves what it refers to in place. Nobody else may run its tests meanwhile.
///
/// # Errors
/// A folder cannot be removed.
pub(crate) fn sweep_logs(cache: &Cache, record: &CheckRecord) -> Result<()> {
    let is_of_it = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str());
        let rest = name.and_then(|name| name.strip_prefix(&record.sha256));
        rest.is_some_and(|rest| rest.starts_with(SUITE))
    };
    let entries = fs::read_dir(checks(cache)).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let mut reports = record.parts.values();
        let is_kept = reports.any(|report| report.logs.as_deref() == Some(path.as_path()));
        if is_of_it(&path) && !is_kept {
            fs::remove_dir_all(&path)
                .with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    Ok(())
}

/// A failed test's log in a run's folder.
pub(super) fn log_of(folder: &Path, test: &str) -> PathBuf {
    folder.join(format!("{test}.log"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use niagara_server::Family;

    use super::*;
    use crate::outcome::{CheckFinding, Part, PartReport};

    #[test]
    fn logs_stay_as_long_as_the_record_names_them() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let cache = Cache::at(&folder.path().join("cache")).expect("a cache");
        let server = folder.path().join("mariadbd");
        fs::write(&server, "one").expect("written");
        let install = Install {
            name: "mine".into(),
            family: Family::Mariadb,
            version: "10.11.18".parse().expect("a version"),
            version_string: "10.11.18-MariaDB".into(),
            basedir: "/opt/mine".into(),
            server: server.clone(),
            mallocs: BTreeMap::new(),
            own_malloc: "glibc".into(),
            packages: BTreeMap::new(),
            plugins: Vec::new(),
            libraries: None,
        };
        let digest = niagara_server::file_digest(&server).expect("read");
        let mut record = CheckRecord::new(&install, digest);
        let run = || LogFolder::new(&cache, &install).expect("made");
        let (one, two) = (run(), run());
        assert_ne!(one.0, two.0);
        // Those of another binary.
        let other = checks(&cache).join("00-suite-1");
        fs::create_dir(&other).expect("made");
        let mut report = PartReport::new(Part::Suite, 0);
        report.fail(CheckFinding::TestWithoutVerdict {
            test: "main.alias".to_owned(),
        });
        report.logs = Some(one.0.clone());
        record.note(report);
        sweep_logs(&cache, &record).expect("swept");
        assert!(one.0.exists() && other.exists());
        assert!(!two.0.exists());

        // A smaller run finds nothing, and the record stays.
        let smaller = run();
        assert!(one.0.exists() && smaller.0.exists());
        // A whole run takes its place.
        let whole = run();
        let mut report = PartReport::new(Part::Suite, 0);
        report.logs = Some(whole.0.clone());
        record.note(report);
        sweep_logs(&cache, &record).expect("swept");
        assert!(whole.0.exists());
        assert!(!one.0.exists() && !smaller.0.exists());
    }
}
