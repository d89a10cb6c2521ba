//! A whole check: every part that was asked for, kept in the binary's record as it ends.

use anyhow::{Context, Result};
use niagara_error::bail;
use niagara_server::{Cache, Catalog, Install, get_suite};

use super::answers::{AnswersOptions, compare_answers};
use super::crash::{CrashOptions, crash_recovery};
use super::outcome::{Outcome, Part, PartReport, SkipReason};
use super::progress::Progress;
use super::record::CheckRecord;
use super::room::Room;
use super::suite::{SuiteOptions, TestList, regression_suite, sweep_logs};
use super::trust::{no_packaged, packaged};
use niagara_server::Cancel;

/// What is checked, and beside what.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The server under test.
    pub ours: Install,
    /// The server it is compared with, usually the packaged one of its series; none where the catalogue has none of it.
    pub theirs: Option<Install>,
    /// The server of the catalogue whose regression tests fit `ours`: one of the same family and series.
    pub suite: Option<String>,
}

impl Subject {
    /// `ours` beside the catalogue's server of its family and series, or beside `against` where that is given; what is not
    /// here yet is fetched. Where there is neither, answers are not compared and tests not run.
    ///
    /// # Errors
    /// It cannot be fetched.
    pub fn new(
        cache: &Cache,
        catalog: &Catalog,
        ours: Install,
        against: Option<Install>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Subject> {
        let packaged = packaged(catalog, &ours);
        let theirs = match (against, packaged) {
            (Some(against), _) => Some(against),
            (None, Some(packaged)) => Some(niagara_server::get(cache, packaged, progress)?),
            (None, None) => None,
        };
        Ok(Subject {
            ours,
            theirs,
            suite: packaged.map(|packaged| packaged.name.clone()),
        })
    }

    /// What it is compared with, in words.
    pub fn against(&self) -> String {
        match &self.theirs {
            Some(theirs) => format!("{} {}", theirs.name, theirs.version_string),
            None => "no server: none of its series is in the catalogue".to_owned(),
        }
    }

    /// That there is nothing to compare answers with. It stays so as long as the catalogue does, so it is kept like what was
    /// found: whoever asks again is not kept waiting for the rest.
    fn not_compared(&self) -> PartReport {
        PartReport::skipped(Part::Answers, no_packaged(&self.ours))
    }
}

/// What a check examines.
#[derive(Debug, Clone)]
pub struct CheckOptions {
    /// The parts, in their own order.
    pub parts: Vec<Part>,
    /// How the server is killed.
    pub crash: CrashOptions,
    /// How answers are compared.
    pub answers: AnswersOptions,
    /// Which tests are run.
    pub suite: SuiteOptions,
    /// Whether what earlier checks of these parts found wrong is forgotten, each once the part was checked again.
    pub forget: bool,
}

impl Default for CheckOptions {
    fn default() -> CheckOptions {
        CheckOptions {
            parts: Part::ALL.to_vec(),
            crash: CrashOptions::default(),
            answers: AnswersOptions::default(),
            suite: SuiteOptions::default(),
            forget: false,
        }
    }
}

/// Checks a server; `part` is called with the report of each part as it ends. What came of it is kept, so that
/// [`passed`](super::passed) knows.
///
/// # Errors
/// Stopped on request (parts that ended are kept); something of the machine or of the server compared with fails, a full disk for
/// one. What is wrong with the server itself is in the record.
pub fn check(
    cache: &Cache,
    catalog: &Catalog,
    subject: &Subject,
    options: &CheckOptions,
    cancel: &Cancel,
    watch: &mut dyn FnMut(&Progress),
    part: &mut dyn FnMut(&PartReport),
) -> Result<CheckRecord> {
    let binaries = Binaries::of(subject)?;
    let mut record = binaries.record(cache, subject);
    for which in Part::ALL {
        if !options.parts.contains(&which) {
            continue;
        }
        cancel.check()?;
        // Two runs of one binary's tests would take each other's logs away. Held until the record names this one's.
        let _alone = match which {
            Part::Suite => {
                let name = format!("check-suite-{}", binaries.ours);
                let alone = cache.lock_or_cancelled(&name, cancel, &mut || {
                    watch(&Progress {
                        part: Some(which),
                        text: "waiting: somebody else runs the tests of this server".to_owned(),
                        done: 0.0,
                    });
                })?;
                sweep_logs(cache, &binaries.record(cache, subject))?;
                Some(alone)
            }
            Part::Crash | Part::Answers => None,
        };
        let report = match which {
            Part::Crash => crash_recovery(cache, &subject.ours, &options.crash, cancel, watch),
            Part::Answers => match &subject.theirs {
                Some(theirs) => compare_answers(
                    cache,
                    &subject.ours,
                    theirs,
                    &options.answers,
                    cancel,
                    watch,
                ),
                None => Ok(subject.not_compared()),
            },
            Part::Suite => suite(cache, catalog, subject, &options.suite, cancel, watch),
        };
        let report = report.with_context(|| {
            format!("the part `{}` of the check could not be done", which.name())
        })?;
        if report.outcome == Outcome::Failed {
            let room = Room::of(cache).check();
            room.with_context(|| format!("what the part `{}` found is not kept", which.name()))?;
        }
        binaries.are_still(subject)?;
        part(&report);
        // Another check of the same binary may have ended a part meanwhile: what it found stays.
        let name = format!("check-record-{}", binaries.ours);
        let _held = cache.lock_or_cancelled(&name, cancel, &mut || {})?;
        record = binaries.record(cache, subject);
        if options.forget && report.outcome != Outcome::Skipped {
            record.forget(which);
        }
        record.note(report);
        record.when = jiff::Timestamp::now();
        record.save(cache)?;
    }
    Ok(record)
}

/// Digests of the two binaries when a check began: what it finds holds for these.
struct Binaries {
    ours: String,
    /// None where there is no other one.
    theirs: Option<String>,
}

impl Binaries {
    fn of(subject: &Subject) -> Result<Binaries> {
        let theirs = subject.theirs.as_ref();
        let theirs = theirs.map(|theirs| niagara_server::file_digest(&theirs.server));
        Ok(Binaries {
            ours: niagara_server::file_digest(&subject.ours.server)?,
            theirs: theirs.transpose()?,
        })
    }

    /// What is known of the server under check, from now on beside the other.
    fn record(&self, cache: &Cache, subject: &Subject) -> CheckRecord {
        let mut record = CheckRecord::load(cache, &self.ours)
            .unwrap_or_else(|| CheckRecord::new(&subject.ours, self.ours.clone()));
        record.binary.clone_from(&subject.ours.server);
        record.against = subject.against();
        record.against_sha256 = self.theirs.clone().unwrap_or_default();
        record
    }

    /// Nothing is certified that was built anew while it was checked.
    fn are_still(&self, subject: &Subject) -> Result<()> {
        let now = Binaries::of(subject)?;
        let changed = match &subject.theirs {
            _ if self.ours != now.ours => &subject.ours,
            Some(theirs) if self.theirs != now.theirs => theirs,
            _ => return Ok(()),
        };
        bail!(
            "{} was changed while it was checked, so that nothing is known of what is there now",
            changed.server.display();
            remedy: "check again when nothing builds or installs it"
        );
    }
}

fn suite(
    cache: &Cache,
    catalog: &Catalog,
    subject: &Subject,
    options: &SuiteOptions,
    cancel: &Cancel,
    watch: &mut dyn FnMut(&Progress),
) -> Result<PartReport> {
    let (Some(name), Some(theirs)) = (&subject.suite, &subject.theirs) else {
        return Ok(PartReport::skipped(Part::Suite, SkipReason::NoSuite));
    };
    let Some(list) = TestList::built_in(name)? else {
        let server = name.clone();
        return Ok(PartReport::skipped(
            Part::Suite,
            SkipReason::NoTestList { server },
        ));
    };
    let tests = get_suite(
        cache,
        catalog.get(name)?,
        subject.ours.version,
        &mut |text| {
            watch(&Progress {
                part: Some(Part::Suite),
                text: text.to_owned(),
                done: 0.0,
            });
        },
    )?;
    let Some(tests) = tests else {
        let server = name.clone();
        return Ok(PartReport::skipped(
            Part::Suite,
            SkipReason::NoTestPackages { server },
        ));
    };
    regression_suite(
        cache,
        &subject.ours,
        theirs,
        &tests,
        &list,
        options,
        cancel,
        watch,
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use niagara_server::Family;

    use super::super::record::{Standing, standing};
    use super::*;

    /// A build of a series that no package is of: most of a check cannot be done, and never can as long as that is so.
    #[test]
    fn what_can_never_be_compared_is_told_and_not_tried_again() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let cache = Cache::at(&folder.path().join("cache")).expect("a cache");
        let catalog = Catalog::load(&[]).expect("the built-in catalogue");
        let server = folder.path().join("mariadbd");
        fs::write(&server, "a build").expect("written");
        let install = |version: &str| Install {
            name: "mine".into(),
            family: Family::Mariadb,
            version: version.parse().expect("a version"),
            version_string: format!("{version}-MariaDB"),
            basedir: "/opt/mine".into(),
            server: server.clone(),
            mallocs: BTreeMap::new(),
            own_malloc: "glibc".into(),
            packages: BTreeMap::new(),
            plugins: Vec::new(),
            libraries: None,
        };
        let ours = install("99.1.2");
        let mut fetched = |text: &str| panic!("nothing is to be fetched: {text}");
        let subject = Subject::new(&cache, &catalog, ours.clone(), None, &mut fetched)
            .expect("it can be checked as far as that goes");
        assert_eq!(
            subject.against(),
            "no server: none of its series is in the catalogue"
        );
        let check_parts = |parts: &[Part]| {
            let options = CheckOptions {
                parts: parts.to_vec(),
                ..CheckOptions::default()
            };
            let stop = Cancel::default();
            let mut told = Vec::new();
            let mut part = |report: &PartReport| told.push(report.part);
            let record = check(
                &cache,
                &catalog,
                &subject,
                &options,
                &stop,
                &mut |_| {},
                &mut part,
            );
            (record.expect("done"), told)
        };
        // Killing it takes a server: that part is taken as passed.
        let mut record = CheckRecord::new(&ours, Binaries::of(&subject).expect("read").ours);
        record.note(PartReport::new(Part::Crash, 1));
        record.save(&cache).expect("saved");
        assert_eq!(record.to_do(&catalog, &ours), [Part::Answers, Part::Suite]);
        let (record, told) = check_parts(&[Part::Answers, Part::Suite]);
        assert_eq!(told, [Part::Answers, Part::Suite]);
        let answers = &record.parts[&Part::Answers];
        assert_eq!(answers.outcome, Outcome::Skipped);
        assert!(
            answers.left_out[0].reason.to_string().starts_with(
                "not compared: no packaged server of MariaDB 99.1 is in the catalogue"
            ),
            "{answers:?}"
        );
        // Kept for the binary, no pass, and nothing is left to do about it.
        match standing(&cache, &ours.server).expect("read") {
            Standing::Unknown(Some(kept)) => {
                assert_eq!(*kept, record);
                assert_eq!(kept.missing(), [Part::Answers, Part::Suite]);
                assert!(kept.to_do(&catalog, &ours).is_empty());
            }
            other => panic!("{other:?}"),
        }
        // As in a catalogue that has come to know the series.
        let known = install("10.11.18");
        assert_eq!(record.to_do(&catalog, &known), [Part::Answers, Part::Suite]);
        // Nothing is done that was not asked for.
        assert_eq!(check_parts(&[]).1, []);
    }
}
