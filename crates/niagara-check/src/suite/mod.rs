//! The server's own regression suite: its own runner, a listed part of its tests, against the very binary to be checked.
//!
//! A test that fails, or that the runner comes to no verdict about, is repeated; one that fails again is put to the
//! server compared with, and a second time where it fails there. What fails there both times says something of the
//! tests or the machine, not of the build, and does not count. A test with the files of the server's own release, run
//! by the programs of another one, may fail for those: it has passed where it passes as the suite has it.
//!
//! A server that crashes while it is shut down, or logs errors then, fails no test for the runner: here the tests have failed
//! that it ran. One that dies then without a word MariaDB's runner does not see at all: its log tells.

mod list;
mod logs;
mod output;
mod own_tests;
mod runner;
mod server_log;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Result;
use niagara_error::bail;
use niagara_server::{Cache, Cancel, Install, Suite};

pub use self::list::TestList;
use self::logs::LogFolder;
pub(crate) use self::logs::sweep_logs;
use self::output::Verdict;
use self::own_tests::{OwnTests, own_tests};
use self::runner::{Run, Runner};
use super::outcome::{
    CheckCount, CheckFinding, CheckItem, CheckNote, LeftOut, Part, PartReport, SkipReason,
};
use super::progress::{Progress, Reporter};
use super::trust::{objection, recommends_nothing};

/// The lists that are built in, by the server's name in the catalogue.
static LISTS: include_dir::Dir<'_> =
    include_dir::include_dir!("$CARGO_MANIFEST_DIR/../../data/checks");

/// Which tests are run, and how.
#[derive(Debug, Clone, Default)]
pub struct SuiteOptions {
    /// Only these tests; none is all that are listed.
    pub only: Vec<String>,
    /// Tests at the same time; none is as many as CPUs, at most 4.
    pub parallel: Option<usize>,
    /// The source that the server under test was built from: where the suite is of another version, tests whose files are
    /// otherwise there are taken from it.
    pub tree: Option<PathBuf>,
    /// Arguments of the runner while it runs against the server under test: a fault planted to see that it is found.
    pub planted: Vec<String>,
}

impl TestList {
    /// The built-in list for a server of the catalogue; none where there is no list for it.
    ///
    /// # Errors
    /// The list is wrong.
    pub(crate) fn built_in(server: &str) -> Result<Option<TestList>> {
        let name = format!("{server}.tests");
        let text = LISTS.get_file(&name).and_then(|file| file.contents_utf8());
        text.map(|text| TestList::parse(&format!("data/checks/{name} (built in)"), text))
            .transpose()
    }
}

/// Runs the listed tests of `suite` against `ours`; `theirs` is the baseline for tests that fail.
///
/// # Errors
/// Stopped on request; the runner cannot be started or runs none of the tests, or it ends with an error that no test explains; a
/// disk is full. A test that fails is a finding.
#[allow(
    clippy::too_many_arguments,
    reason = "each names one thing, and all are needed"
)]
pub fn regression_suite(
    cache: &Cache,
    ours: &Install,
    theirs: &Install,
    suite: &Suite,
    list: &TestList,
    options: &SuiteOptions,
    cancel: &Cancel,
    watch: &mut dyn FnMut(&Progress),
) -> Result<PartReport> {
    let began = Instant::now();
    let mut report = PartReport::new(Part::Suite, 0);
    let mut reporter = Reporter::new(Part::Suite, watch);
    report.whole = options.only.is_empty() && options.planted.is_empty();
    let tests = tests_to_run(suite, list, options, &mut report)?;
    let mirrored = cache.work_folder("tests")?;
    let own = of_its_version(suite, ours, tests, options, mirrored.path(), &mut report)?;
    let tests = &own.tests;
    let logs = LogFolder::new(cache, ours)?;
    let runner = Runner {
        cache,
        suite: &own.suite,
        parallel: options.parallel,
        cancel,
    };
    let planted = &options.planted;
    let total = tests.len();
    let mut done = 0;
    let run = runner.run(ours, planted, tests, &logs.0, &mut |line| {
        if let Some(line) = line {
            done += 1;
            reporter.step(done.min(total), total, &line.test);
        } else {
            reporter.step(0, total, "preparing the tests' own data directories");
        }
    })?;
    let unheard = judge_run(&run, ours, tests, &mut report)?;
    let mut failed: Vec<String> = run.with(Verdict::Failed);
    failed.extend(unheard.iter().cloned());
    let has_failed = !failed.is_empty();
    let (mut all_failed, mut faults) = (failed.len(), 0);
    // Runs what failed again, in a folder of its own, and takes out what passes then.
    let again = |failed: &mut Vec<String>, tests: &[String], runner: &Runner<'_>, folder: &str| {
        let folder = logs.0.join(folder);
        let run = runner.run(ours, planted, tests, &folder, &mut |_| {})?;
        explained(&run, tests)?;
        let passed = run.with(Verdict::Passed);
        let is_passed = |test: &mut String| passed.contains(test);
        let passed = failed.extract_if(.., is_passed).collect::<Vec<String>>();
        anyhow::Ok((passed, run.skips()))
    };
    let mut skipped = run.skips();
    if !failed.is_empty() {
        reporter.step(total, total, "repeating the tests that failed");
        let tests = failed.clone();
        let (passed, skips) = again(&mut failed, &tests, &runner, "repeated")?;
        let is_of_shutdown = |test: &String| run.shutdown.contains(test);
        let (before_shutdown, passed): (Vec<String>, Vec<String>) =
            passed.into_iter().partition(is_of_shutdown);
        report
            .notes
            .extend(shut_down_when_repeated(before_shutdown, &logs));
        report.notes.extend(passed.into_iter().map(|test| {
            let log = logs.of(&test).display().to_string();
            match unheard.contains(&test) {
                true => CheckNote::VerdictWhenRepeated { test },
                false => CheckNote::PassedWhenRepeated { test, log },
            }
        }));
        // The runner had not come to them at first.
        let skips = skips.into_iter().filter(|(test, _)| unheard.contains(test));
        let skips: BTreeMap<String, String> = skips.collect();
        failed.retain(|test| !skips.contains_key(test));
        all_failed -= skips.len();
        skipped.extend(skips);
    }
    let as_is = Runner { suite, ..runner };
    let of_the_tree: Vec<String> = own.taken_among(&failed);
    if !of_the_tree.is_empty() {
        let doing = format!("what failed, as version {} has it", suite.version);
        reporter.step(total, total, &doing);
        let (passed, _) = again(&mut failed, &of_the_tree, &as_is, "as-the-suite-has-it")?;
        report.notes.extend(
            passed
                .into_iter()
                .map(|test| passed_as_it_is(test, suite, ours, &logs)),
        );
    }
    let again = all_failed - failed.len();
    if !failed.is_empty() {
        let doing = format!("putting what failed to {}", theirs.name);
        reporter.step(total, total, &doing);
        // The other server is put to the suite as it is: a test of another version than its own would excuse anything.
        let shutdown = &run.shutdown;
        faults = put_to_the_other(&as_is, [ours, theirs], failed, shutdown, &logs, &mut report)?;
    }
    let passed = run.count(Verdict::Passed) + again;
    if report.findings.is_empty() && 2 * passed < total {
        bail!(
            "only {passed} of {total} tests passed; the others are skipped, or fail on {} {} as well: the suite cannot judge \
             here\nthe runner's output: {}",
            theirs.name,
            theirs.version_string,
            run.output.display()
        );
    }
    report.figure(CheckCount::TestsPassed, passed as u64);
    report.figure(CheckCount::TestsFailed, faults);
    report.figure(CheckCount::TestsSkipped, skipped.len() as u64);
    report.figure(CheckCount::ServersStarted, run.servers as u64);
    let skipped = skipped.into_iter().map(|(test, because)| LeftOut {
        what: CheckItem::Test { test },
        reason: SkipReason::SkippedByRunner { because },
    });
    report.left_out.extend(skipped);
    let is_silent = !has_failed && report.findings.is_empty() && report.notes.is_empty();
    report.logs = (!is_silent).then_some(logs.0);
    report.seconds = began.elapsed().as_secs_f64();
    Ok(report)
}

/// What is to be said of tests before a bad shutdown that passed when they were repeated, the shutdown with them; nothing of none.
fn shut_down_when_repeated(tests: Vec<String>, logs: &LogFolder) -> Option<CheckNote> {
    let log = logs.of(tests.first()?).display().to_string();
    Some(CheckNote::ShutdownWhenRepeated { tests, log })
}

fn passed_as_it_is(test: String, suite: &Suite, ours: &Install, logs: &LogFolder) -> CheckNote {
    CheckNote::PassedWithFilesOfSuite {
        server: ours.version.to_string(),
        suite: suite.version.to_string(),
        log: logs.of(&test).display().to_string(),
        test,
    }
}

/// The tests that are there, of those listed; the others are left out of the report, with what is to be known of the version.
fn tests_to_run(
    suite: &Suite,
    list: &TestList,
    options: &SuiteOptions,
    report: &mut PartReport,
) -> Result<Vec<String>> {
    let (tests, missing): (Vec<String>, Vec<String>) = chosen(list, options)?
        .into_iter()
        .partition(|test| is_there(suite, test));
    if tests.is_empty() {
        bail!(
            "none of the tests {} is among those of version {}", missing.join(", "), suite.version;
            remedy: "name others with --test"
        );
    }
    report
        .left_out
        .extend(missing.into_iter().map(|test| LeftOut {
            what: CheckItem::Test { test },
            reason: SkipReason::NotInSuite {
                suite: suite.version.to_string(),
            },
        }));
    report.left_out.extend(list.left_out.iter().cloned());
    Ok(tests)
}

/// Where the suite is of another version than the server: the tests with the files of the server's own source, as far as that
/// is known, and what there is to say of it.
fn of_its_version(
    suite: &Suite,
    ours: &Install,
    tests: Vec<String>,
    options: &SuiteOptions,
    into: &Path,
    report: &mut PartReport,
) -> Result<OwnTests> {
    let is_own = suite.version == ours.version;
    if let Some(tree) = options.tree.as_ref().filter(|_| !is_own) {
        let own = own_tests(suite, tree, tests, into)?;
        report.notes.push(CheckNote::TestsOfSource {
            suite: suite.version.to_string(),
            server: ours.version.to_string(),
            tests: own.taken.clone(),
        });
        report.left_out.extend(own.left_out.iter().cloned());
        return Ok(own);
    }
    if !is_own {
        report.notes.push(CheckNote::SuiteOfOtherVersion {
            suite: suite.version.to_string(),
            server: ours.version.to_string(),
        });
    }
    Ok(OwnTests {
        suite: suite.clone(),
        tests,
        taken: Vec::new(),
        left_out: Vec::new(),
    })
}

/// With more tests that the runner did not come to, the run was none.
const MOST_UNHEARD: usize = 50;

/// Runs against `theirs` what failed twice on `ours`: what fails there twice too is left out, the rest are faults of `ours`,
/// whose number is returned. `shutdown`: the tests before a bad shutdown.
fn put_to_the_other(
    runner: &Runner<'_>,
    [ours, theirs]: [&Install; 2],
    failed: Vec<String>,
    shutdown: &BTreeSet<String>,
    logs: &LogFolder,
    report: &mut PartReport,
) -> Result<u64> {
    // What it excuses is excused by a judge only.
    if let Some(why) = objection(runner.cache, ours, theirs)? {
        report.whole = false;
        report.notes.push(recommends_nothing(why));
    }
    let reference = logs.0.join("reference");
    // One that hangs there as well excuses as much as one that fails.
    let fails_there = |tests: &[String], folder: &Path| {
        let run = runner.run(theirs, &[], tests, folder, &mut |_| {})?;
        if run.tests.is_empty() {
            bail!(
                "the runner came to no verdict on {} about any of {} tests ({}); its output: {}",
                theirs.name,
                tests.len(),
                run.status,
                run.output.display()
            );
        }
        let failed = run.with(Verdict::Failed).into_iter();
        let failed = failed.chain(run.unheard(tests));
        // A shutdown there excuses no failure of a test's own here, nor the other way round.
        let is_alike = |test: &String| run.shutdown.contains(test) == shutdown.contains(test);
        anyhow::Ok(failed.filter(is_alike).collect::<Vec<String>>())
    };
    let mut there = fails_there(&failed, &reference)?;
    // Once may be chance there as it may be here.
    if !there.is_empty() {
        there = fails_there(&there, &reference.join("repeated"))?;
    }
    let mut faults = 0;
    for test in failed {
        let log = logs.of(&test);
        if there.contains(&test) {
            report.left_out.push(LeftOut {
                what: CheckItem::Test { test },
                reason: SkipReason::FailsThere {
                    server: theirs.name.clone(),
                    version: theirs.version_string.clone(),
                    log: log.display().to_string(),
                },
            });
        } else {
            faults += 1;
            report.fail(match log.exists() {
                true => CheckFinding::TestFailed {
                    at_shutdown: shutdown.contains(&test),
                    log: log.display().to_string(),
                    test,
                },
                false => CheckFinding::TestWithoutVerdict { test },
            });
        }
    }
    Ok(faults)
}

fn chosen(list: &TestList, options: &SuiteOptions) -> Result<Vec<String>> {
    if options.only.is_empty() {
        return Ok(list.tests.clone());
    }
    if let Some(unknown) = options.only.iter().find(|name| !list.tests.contains(name)) {
        bail!(
            "the test {unknown} is not listed";
            remedy: "name listed ones; checks/ holds the lists"
        );
    }
    Ok(options.only.clone())
}

/// Whether a test is among a version's: the runner stops at a name that it does not know.
fn is_there(suite: &Suite, test: &str) -> bool {
    let Some((folder, name)) = test.split_once('.') else {
        return false;
    };
    let tests = suite.runner.parent().unwrap_or(Path::new("/"));
    [
        format!("{folder}/{name}.test"),
        format!("t/{name}.test"),
        format!("suite/{folder}/t/{name}.test"),
        format!("suite/{folder}/{name}.test"),
    ]
    .iter()
    .any(|place| tests.join(place).is_file())
}

/// Whether the run was one at all, and of this binary; the tests that the runner came to no verdict about, as where its own
/// time was over.
fn judge_run(
    run: &Run,
    ours: &Install,
    tests: &[String],
    report: &mut PartReport,
) -> Result<Vec<String>> {
    if run.count(Verdict::Passed) + run.count(Verdict::Failed) == 0 {
        bail!(
            "the runner ran none of {} tests ({})\nits last lines:\n{}\nits output: {}",
            tests.len(),
            run.status,
            run.tail.join("\n"),
            run.output.display()
        );
    }
    if run.servers == 0 {
        report.fail(CheckFinding::SuiteWithoutServer {
            server: ours.server.display().to_string(),
        });
    }
    for stranger in &run.strangers {
        report.fail(CheckFinding::SuiteOfOtherServer {
            other: stranger.display().to_string(),
            server: ours.server.display().to_string(),
        });
    }
    let unheard = run.unheard(tests);
    if unheard.len() > MOST_UNHEARD {
        bail!(
            "the runner came to no verdict about {} of {} tests ({}): its time of an hour was over, or the disk is full\n\
             its output: {}", unheard.len(), tests.len(), run.status, run.output.display();
            remedy: "a quieter machine, or fewer tests at a time with --test"
        );
    }
    explained(run, tests)?;
    report.notes.push(CheckNote::RunnerOutput {
        file: run.output.display().to_string(),
    });
    Ok(unheard)
}

/// An error where the runner ended with one that no test explains: what it was nobody can repeat or put to another server.
fn explained(run: &Run, tests: &[String]) -> Result<()> {
    if run.is_unexplained(tests) {
        bail!(
            "no test failed, but the runner ended with {}{}\nits last lines:\n{}\nits output: {}",
            run.status,
            match run.shutdown_failed {
                true => ", and a server did not shut down as it should",
                false => "",
            },
            run.tail.join("\n"),
            run.output.display();
            remedy: "its output tells why; then check again"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_lists_are_valid() {
        let mut lists = 0;
        for file in LISTS.files() {
            let name = file.path().to_string_lossy();
            if let Some(server) = name.strip_suffix(".tests") {
                let list = TestList::built_in(server).expect("valid").expect("there");
                assert!(list.tests.len() >= 50, "{name}: {}", list.tests.len());
                lists += 1;
            }
        }
        assert!(lists > 0);
        assert_eq!(TestList::built_in("nothing").expect("no error"), None);
    }
}
