//! A whole check: every part that was asked for, kept in the binary's record as it ends.

use anyhow::{Context, Result, bail};
use niagara_server::{Cache, Catalog, Install, get_suite};

use super::answers::{AnswersOptions, compare_answers};
use super::crash::{CrashOptions, crash_recovery};
use super::outcome::{Outcome, Part, PartReport};
use super::progress::Progress;
use super::record::CheckRecord;
use super::room::Room;
use super::suite::{SuiteOptions, TestList, regression_suite, sweep_logs};
use niagara_server::Cancel;

/// What is checked, and beside what.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The server under test.
    pub ours: Install,
    /// The server it is compared with, usually the packaged one of its series.
    pub theirs: Install,
    /// The server of the catalogue whose regression tests fit `ours`: one of the same family and series.
    pub suite: Option<String>,
}

impl Subject {
    /// `ours` beside the catalogue's server of its family and series, or beside `against` where that is given; what is not
    /// here yet is fetched.
    ///
    /// # Errors
    /// The catalogue has no such server and none is given; it cannot be fetched.
    pub fn new(
        cache: &Cache,
        catalog: &Catalog,
        ours: Install,
        against: Option<Install>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Subject> {
        let packaged = catalog
            .iter()
            .find(|known| known.family == ours.family && known.series == ours.version.series());
        let theirs = match (against, packaged) {
            (Some(against), _) => against,
            (None, Some(packaged)) => niagara_server::get(cache, packaged, progress)?,
            (None, None) => bail!(
                "no server of the catalogue is {} {}, so there is nothing to compare {} with\n\
                 remedy: name one with --against (a name or a path)",
                ours.family,
                ours.version.series(),
                ours.name
            ),
        };
        Ok(Subject {
            ours,
            theirs,
            suite: packaged.map(|packaged| packaged.name.clone()),
        })
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
            Part::Answers => compare_answers(
                cache,
                &subject.ours,
                &subject.theirs,
                &options.answers,
                cancel,
                watch,
            ),
            Part::Suite => suite(cache, catalog, subject, &options.suite, cancel, watch),
        };
        let report =
            report.with_context(|| format!("the part `{which}` of the check could not be done"))?;
        if report.outcome == Outcome::Failed {
            let room = Room::of(cache).check();
            room.with_context(|| format!("what the part `{which}` found is not kept"))?;
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
    theirs: String,
}

impl Binaries {
    fn of(subject: &Subject) -> Result<Binaries> {
        Ok(Binaries {
            ours: niagara_server::file_digest(&subject.ours.server)?,
            theirs: niagara_server::file_digest(&subject.theirs.server)?,
        })
    }

    /// What is known of the server under check, from now on beside the other.
    fn record(&self, cache: &Cache, subject: &Subject) -> CheckRecord {
        let mut record = CheckRecord::load(cache, &self.ours)
            .unwrap_or_else(|| CheckRecord::new(&subject.ours, self.ours.clone()));
        record.binary.clone_from(&subject.ours.server);
        record.against = format!("{} {}", subject.theirs.name, subject.theirs.version_string);
        record.against_sha256.clone_from(&self.theirs);
        record
    }

    /// Nothing is certified that was built anew while it was checked.
    fn are_still(&self, subject: &Subject) -> Result<()> {
        let now = Binaries::of(subject)?;
        for (was, is, install) in [
            (&self.ours, &now.ours, &subject.ours),
            (&self.theirs, &now.theirs, &subject.theirs),
        ] {
            if was != is {
                bail!(
                    "{} was changed while it was checked, so that nothing is known of what is there now\n\
                     remedy: check again when nothing builds or installs it",
                    install.server.display()
                );
            }
        }
        Ok(())
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
    let Some(name) = &subject.suite else {
        return Ok(PartReport::skipped(
            Part::Suite,
            "no server of its family and series is in the catalogue, whose tests could be run",
        ));
    };
    let Some(list) = TestList::built_in(name)? else {
        let why = format!("there is no list of tests for it (checks/{name}.tests)");
        return Ok(PartReport::skipped(Part::Suite, &why));
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
        let why = format!("servers/{name}.toml names no packages with tests ([suite])");
        return Ok(PartReport::skipped(Part::Suite, &why));
    };
    regression_suite(
        cache,
        &subject.ours,
        &subject.theirs,
        &tests,
        &list,
        options,
        cancel,
        watch,
    )
}
