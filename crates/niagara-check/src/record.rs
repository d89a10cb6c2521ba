//! What checks found, kept for exactly the binary that was checked.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use niagara_model::PartFault;
use niagara_server::{Cache, Catalog, Install, Version, file_digest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::outcome::{Outcome, Part, PartReport};
use super::trust::packaged;

/// What checks examine, and judge by. Raised when that changes: what was found in an older form has to be checked again.
const FORM: u32 = 10;

/// All that is known of one binary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckRecord {
    /// What checks examined, and judged by, when it was made.
    form: u32,
    /// SHA-256 of the server's binary, in hexadecimal.
    pub sha256: String,
    /// Where the binary was when it was last checked.
    pub binary: PathBuf,
    /// The server's name in the catalogue, or its path.
    pub server: String,
    /// Its version.
    pub version: Version,
    /// The version as the server prints it.
    pub version_string: String,
    /// What the last look compared it with: a name and the version as that server prints it.
    pub against: String,
    /// SHA-256 of the binary that the last look compared it with.
    pub against_sha256: String,
    /// When the last part ended.
    pub when: jiff::Timestamp,
    /// Niagara's version.
    pub niagara: String,
    /// The parts that were checked; a later check of a part replaces an earlier one.
    pub parts: BTreeMap<Part, PartReport>,
    /// Failures that a later check did not find again, of parts where that refutes nothing: a commit that is lost now and then
    /// is lost. They stand beside what was found later until they are forgotten ([`CheckOptions::forget`](super::CheckOptions)).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub earlier: BTreeMap<Part, PartReport>,
}

/// What is known of a binary.
#[derive(Debug, Clone, PartialEq)]
pub enum Standing {
    /// Every part was checked and nothing wrong was found.
    Passed(Box<CheckRecord>),
    /// A part failed, now or in an earlier check that no later one refutes.
    Failed(PartFault),
    /// Not every part was checked yet; what is known so far, if anything.
    Unknown(Option<Box<CheckRecord>>),
}

/// Whether this binary, exactly as it is now, passed every part of a check.
///
/// # Errors
/// The binary cannot be read.
pub fn passed(cache: &Cache, binary: &Path) -> Result<bool> {
    Ok(matches!(standing(cache, binary)?, Standing::Passed(_)))
}

/// What is known of this binary, exactly as it is now.
///
/// # Errors
/// The binary cannot be read.
pub fn standing(cache: &Cache, binary: &Path) -> Result<Standing> {
    let record = CheckRecord::load(cache, &file_digest(binary)?).map(Box::new);
    if let Some(fault) = record.as_deref().and_then(CheckRecord::first_fault) {
        return Ok(Standing::Failed(fault));
    }
    Ok(match record {
        Some(record) if record.complete() => Standing::Passed(record),
        record => Standing::Unknown(record),
    })
}

/// The first fault of the binary with this digest (SHA-256, in hexadecimal), where a check of it failed and no later one refutes
/// that; the binary itself need not be here any more.
pub fn fault_of(cache: &Cache, sha256: &str) -> Option<PartFault> {
    CheckRecord::load(cache, sha256)?.first_fault()
}

impl CheckRecord {
    /// Of this server, whose binary has this digest: nothing is known yet.
    pub fn new(install: &Install, sha256: String) -> CheckRecord {
        CheckRecord {
            form: FORM,
            sha256,
            binary: install.server.clone(),
            server: install.name.clone(),
            version: install.version,
            version_string: install.version_string.clone(),
            against: String::new(),
            against_sha256: String::new(),
            when: jiff::Timestamp::now(),
            niagara: env!("CARGO_PKG_VERSION").to_owned(),
            parts: BTreeMap::new(),
            earlier: BTreeMap::new(),
        }
    }

    fn path(cache: &Cache, sha256: &str) -> PathBuf {
        cache.root().join("checks").join(format!("{sha256}.json"))
    }

    /// The record of this digest; a damaged one, or one of another form, is none.
    pub(super) fn load(cache: &Cache, sha256: &str) -> Option<CheckRecord> {
        let text = fs::read(Self::path(cache, sha256)).ok()?;
        let record: CheckRecord = serde_json::from_slice(&text).ok()?;
        // Of one that failed it is known why.
        let is_whole = record.faults().all(|report| !report.findings.is_empty());
        (record.form == FORM && record.sha256 == sha256 && is_whole).then_some(record)
    }

    /// Keeps the record, whole or not at all.
    ///
    /// # Errors
    /// The cache cannot be written.
    pub fn save(&self, cache: &Cache) -> Result<()> {
        let path = Self::path(cache, &self.sha256);
        let folder = path.parent().unwrap_or(Path::new("."));
        let write = || -> Result<()> {
            fs::create_dir_all(folder)?;
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(&serde_json::to_vec_pretty(self)?)?;
            // A machine that loses its power later has this one or the one before, and forgets no failure.
            file.as_file().sync_all()?;
            file.persist(&path)?;
            Ok(())
        };
        write().with_context(|| format!("cannot write {}", path.display()))
    }

    /// Takes in a part's report. What a whole look found, and every fault, stands until another whole look; a fault that a
    /// smaller look finds counts at once. A fault that may show by chance stands beside what passes later. That a part could not be
    /// done takes the place of no look.
    pub fn note(&mut self, report: PartReport) {
        let part = report.part;
        let known = self.parts.get(&part);
        let was_looked_at = |known: &PartReport| known.outcome != Outcome::Skipped;
        if report.outcome == Outcome::Skipped && known.is_some_and(was_looked_at) {
            return;
        }
        let stands = |known: &PartReport| known.whole || known.outcome == Outcome::Failed;
        let has_failed = report.outcome == Outcome::Failed;
        if !report.whole && !has_failed && known.is_some_and(stands) {
            return;
        }
        let replaced = self.parts.insert(part, report);
        let failed = replaced.filter(|replaced| replaced.outcome == Outcome::Failed);
        if let Some(failed) = failed
            && !has_failed
            && !is_refuted_by_a_pass(part)
        {
            self.earlier.insert(part, failed);
        }
    }

    /// Forgets that this part failed.
    pub(super) fn forget(&mut self, part: Part) {
        self.earlier.remove(&part);
        let has_failed = |report: &PartReport| report.outcome == Outcome::Failed;
        if self.parts.get(&part).is_some_and(has_failed) {
            self.parts.remove(&part);
        }
    }

    /// The reports of parts that failed: the newest, then those of earlier checks that stand beside a pass.
    pub(crate) fn faults(&self) -> impl Iterator<Item = &PartReport> {
        let has_failed = |report: &&PartReport| report.outcome == Outcome::Failed;
        let newest = self.parts.values().filter(has_failed);
        newest.chain(self.earlier.values())
    }

    /// What the first part that failed found; `None` where none failed.
    pub(crate) fn first_fault(&self) -> Option<PartFault> {
        self.faults().find_map(|report| {
            Some(PartFault {
                part: report.part,
                finding: Box::new(report.findings.first()?.clone()),
            })
        })
    }

    /// Whether a part failed, and no later check refutes it.
    pub fn failed(&self) -> bool {
        self.faults().next().is_some()
    }

    /// Whether every part was checked, wholly.
    pub(crate) fn complete(&self) -> bool {
        self.missing().is_empty()
    }

    /// Parts that were not checked yet, or not wholly.
    pub fn missing(&self) -> Vec<Part> {
        let known = |part: &Part| {
            self.parts
                .get(part)
                .is_some_and(|report| report.whole && report.outcome != Outcome::Skipped)
        };
        Part::ALL.into_iter().filter(|part| !known(part)).collect()
    }

    /// The missing parts that a check of this server, `install`, can do something about. All but crash recovery take a packaged
    /// server of its series: what was tried without one can be done no better as long as the catalogue has none. It stays missing,
    /// and the server is not recommended, but nobody needs to try it again.
    pub fn to_do(&self, catalog: &Catalog, install: &Install) -> Vec<Part> {
        let mut parts = self.missing();
        if packaged(catalog, install).is_none() {
            parts.retain(|part| *part == Part::Crash || !self.parts.contains_key(part));
        }
        parts
    }
}

/// Whether a failure was one of chance where a later check passes. Tests of the suite are repeated and put to another server
/// before they count; of a commit that was lost once, or an answer that differed once, a check that meets none says nothing.
fn is_refuted_by_a_pass(part: Part) -> bool {
    part == Part::Suite
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{CheckFinding, SkipReason};
    use niagara_server::Family;

    fn install(binary: &Path) -> Install {
        Install {
            name: "mine".into(),
            family: Family::Mariadb,
            version: "10.11.18".parse().expect("a version"),
            version_string: "10.11.18-MariaDB".into(),
            basedir: "/opt/mine".into(),
            server: binary.to_path_buf(),
            mallocs: BTreeMap::new(),
            own_malloc: "glibc".into(),
            packages: BTreeMap::new(),
            plugins: Vec::new(),
            libraries: None,
        }
    }

    #[test]
    fn a_binary_has_passed_when_all_its_parts_have_and_until_it_changes() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let cache = Cache::at(&folder.path().join("cache")).expect("a cache");
        let binary = folder.path().join("mariadbd");
        fs::write(&binary, "one").expect("written");
        assert_eq!(
            standing(&cache, &binary).expect("read"),
            Standing::Unknown(None)
        );

        let digest = file_digest(&binary).expect("read");
        let mut record = CheckRecord::new(&install(&binary), digest);
        for part in [Part::Crash, Part::Answers] {
            record.parts.insert(part, PartReport::new(part, 1));
        }
        record.parts.insert(
            Part::Suite,
            PartReport::skipped(Part::Suite, SkipReason::NoSuite),
        );
        record.save(&cache).expect("saved");
        assert!(!passed(&cache, &binary).expect("read"));
        assert_eq!(record.missing(), [Part::Suite]);

        record
            .parts
            .insert(Part::Suite, PartReport::new(Part::Suite, 0));
        record.save(&cache).expect("saved");
        assert!(passed(&cache, &binary).expect("read"));

        let mut smaller = record.clone();
        if let Some(report) = smaller.parts.get_mut(&Part::Crash) {
            report.whole = false;
        }
        smaller.save(&cache).expect("saved");
        assert!(!passed(&cache, &binary).expect("read"));
        assert_eq!(smaller.missing(), [Part::Crash]);

        // What could not be done takes the place of no look.
        let mut looked = smaller.clone();
        looked.note(PartReport::skipped(Part::Crash, SkipReason::NoSuite));
        assert_eq!(looked, smaller);

        // A smaller look takes nothing away from a whole one, unless it finds something.
        let mut small = PartReport::new(Part::Crash, 2);
        small.whole = false;
        let mut noted = record.clone();
        noted.note(small.clone());
        assert_eq!(noted, record);
        small.fail(CheckFinding::NothingAcknowledged);
        noted.note(small.clone());
        assert!(noted.failed());
        small.outcome = Outcome::Passed;
        noted.note(small);
        assert!(noted.failed(), "a smaller look takes the place of no fault");
        noted.note(PartReport::new(Part::Crash, 3));
        assert!(noted.complete() && noted.failed(), "a pass refutes nothing");
        noted.save(&cache).expect("saved");
        assert!(matches!(
            standing(&cache, &binary).expect("read"),
            Standing::Failed(_)
        ));
        noted.forget(Part::Crash);
        assert_eq!(noted.parts[&Part::Crash].seed, 3);
        assert!(noted.complete() && !noted.failed());

        let mut failed = record.clone();
        if let Some(report) = failed.parts.get_mut(&Part::Answers) {
            report.fail(CheckFinding::NothingAcknowledged);
        }
        failed.save(&cache).expect("saved");
        assert!(matches!(
            standing(&cache, &binary).expect("read"),
            Standing::Failed(_)
        ));
        let fault = fault_of(&cache, &failed.sha256).expect("it failed");
        assert_eq!(
            fault.to_string(),
            "same answers: no commit was ever acknowledged, so nothing was checked"
        );

        record.save(&cache).expect("saved");
        assert_eq!(fault_of(&cache, &record.sha256), None);
        fs::write(&binary, "two").expect("written");
        assert!(!passed(&cache, &binary).expect("read"));
        assert!(passed(&cache, &folder.path().join("none")).is_err());
    }

    #[test]
    fn a_fault_that_may_show_by_chance_stands_beside_a_later_pass() {
        let mut record = CheckRecord::new(&install(Path::new("/opt/mariadbd")), "00".into());
        let report = |part: Part, test: Option<&str>| {
            let mut report = PartReport::new(part, 1);
            if let Some(test) = test {
                report.fail(CheckFinding::TestWithoutVerdict {
                    test: test.to_owned(),
                });
            }
            report
        };
        for part in Part::ALL {
            record.note(report(part, Some("something")));
        }
        assert_eq!(record.faults().count(), 3);
        // Forgetting before anything else was found leaves nothing known.
        let mut forgotten = record.clone();
        for part in Part::ALL {
            forgotten.forget(part);
            assert!(!forgotten.parts.contains_key(&part));
        }
        assert!(!forgotten.failed());

        for part in Part::ALL {
            record.note(report(part, None));
            record.note(report(part, None));
        }
        let standing: Vec<Part> = record.faults().map(|report| report.part).collect();
        // The tests of the suite were repeated and put to another server before they failed.
        assert_eq!(standing, [Part::Crash, Part::Answers]);
        assert!(record.failed() && record.complete());
        record.note(report(Part::Crash, Some("another thing")));
        let told: Vec<String> = record
            .faults()
            .map(|report| report.findings[0].to_string())
            .collect();
        let begins = ["another thing", "something", "something"];
        assert!(
            told.len() == 3
                && told
                    .iter()
                    .zip(begins)
                    .all(|(told, it)| told.starts_with(it)),
            "{told:?}"
        );

        let text = serde_json::to_string(&record).expect("plain data");
        assert_eq!(
            serde_json::from_str::<CheckRecord>(&text).expect("read"),
            record
        );
        // As records were kept before: nothing stands beside the newest reports.
        let older = CheckRecord::new(&install(Path::new("/opt/mariadbd")), "00".into());
        let text = serde_json::to_string(&older).expect("plain data");
        assert!(!text.contains("earlier"), "{text}");
        assert_eq!(
            serde_json::from_str::<CheckRecord>(&text).expect("read"),
            older
        );
    }

    #[test]
    fn a_damaged_record_is_none() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let cache = Cache::at(&folder.path().join("cache")).expect("a cache");
        let binary = folder.path().join("mariadbd");
        fs::write(&binary, "one").expect("written");
        let digest = file_digest(&binary).expect("read");
        let record = CheckRecord::new(&install(&binary), digest.clone());
        record.save(&cache).expect("saved");
        fs::write(CheckRecord::path(&cache, &digest), "{").expect("written");
        assert_eq!(CheckRecord::load(&cache, &digest), None);
    }
}
