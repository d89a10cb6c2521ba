//! What the logs of the tests' servers say of ends that MariaDB's runner does not see.
//!
//! It looks for errors in a server's log once that has shut down, and asks nobody how the process ended: one that dies without a
//! word in the middle of its shutdown is a good one to it. Whoever shuts down says so at the beginning and at the end, and what is
//! missing is the second.
//!
//! Many tests end servers on purpose, and a false alarm costs repetitions, so a death counts where nothing else can explain it:
//! - The server had begun to shut down. One that is killed by a test (`shutdown_server 0`, an `.expect` file, a crash of a debug
//!   build) says nothing of a shutdown, and one that dies while a test runs is what the runner does look for.
//! - The next thing in the log is the runner's next test, or nothing. Where the server is started again within a test, that test
//!   had it ended and may have had it killed.
//! - Its last test has not failed: after a failure the runner sends signals, and kills what has not ended ten seconds later.
//! - It was the first to be shut down. Of several servers of one test (a source and its replica) the runner gives the last one all
//!   of its time, and the others ten seconds.
//!
//! Not seen by that: a server that dies before it says that it shuts down, or after it has said that it has.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// How the runner marks a test in the log, before the test's server starts where it has to.
const TEST: &str = "CURRENT_TEST: ";
/// How the runner marks a start: by the command line.
const START: &str = "$ ";
/// What a server says when it begins to shut down. In other languages it is not understood, and its end is not either.
const BEGINS: &str = "): Normal shutdown";
/// The last that it says. InnoDB has a line of its own that goes on behind these words.
const ENDS: &str = ": Shutdown complete";
/// What it says, or is said of it, where it crashes. The runner sees most of it, and forgives some.
const CRASHES: [&str; 3] = ["got signal ", "Assertion ", "Sanitizer"];
/// Lines of a log that are kept.
const KEPT: usize = 40;

/// A server that died while it was shut down by the runner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Death {
    /// The tests that it ran, in their order.
    pub tests: Vec<String>,
    /// The end of its log, in which it began to shut down.
    pub log: String,
}

/// Reads the log of one server of the runner's, started again and again.
pub(super) fn deaths(log: &str) -> Vec<Death> {
    let mut deaths = Vec::new();
    let mut life = Life::default();
    for line in log.lines() {
        if let Some(test) = line.strip_prefix(TEST) {
            if life.is_ending {
                deaths.extend(life.death());
                life = Life::default();
            }
            life.tests.push(test.trim().to_owned());
        } else if line.starts_with(START) {
            // It runs the test that was marked last; the others were those of the server before it.
            let tests = life.tests.pop().into_iter().collect();
            life = Life {
                tests,
                ..Life::default()
            };
        } else {
            life.take(line);
        }
    }
    deaths.extend(life.death());
    deaths
}

/// A server between its start and its end.
#[derive(Default)]
struct Life<'a> {
    tests: Vec<String>,
    is_ending: bool,
    has_ended: bool,
    has_crashed: bool,
    /// What it said from where it began to shut down.
    said: Vec<&'a str>,
}

impl<'a> Life<'a> {
    fn take(&mut self, line: &'a str) {
        self.is_ending |= line.trim_end().ends_with(BEGINS);
        if self.is_ending {
            self.has_ended |= line.trim_end().ends_with(ENDS);
            self.has_crashed |= CRASHES.iter().any(|words| line.contains(words));
            self.said.push(line);
        }
    }

    fn death(self) -> Option<Death> {
        let has_died = self.is_ending && (self.has_crashed || !self.has_ended);
        let said = &self.said[..self.said.len().min(KEPT)];
        has_died.then(|| Death {
            tests: self.tests,
            log: said.join("\n"),
        })
    }
}

/// The deaths in all logs of a runner's folder: its workers have a folder each where there are several.
pub(super) fn deaths_in(var: &Path) -> Vec<Death> {
    let workers = fs::read_dir(var).into_iter().flatten().flatten();
    let folders = workers.map(|entry| entry.path()).chain([var.to_owned()]);
    let mut folders: Vec<PathBuf> = folders.map(|folder| folder.join("log")).collect();
    folders.sort();
    folders
        .iter()
        .flat_map(|folder| deaths_of(folder))
        .collect()
}

/// The deaths in the logs of one worker's servers, the last of which is shut down first.
fn deaths_of(folder: &Path) -> Vec<Death> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| is_log(path));
    paths.sort();
    let mut found = Vec::new();
    let mut with_another = BTreeSet::new();
    for path in paths.iter().rev() {
        let bytes = fs::read(path).unwrap_or_default();
        let log = String::from_utf8_lossy(&bytes);
        let mut deaths = deaths(&log);
        deaths.retain(|death| {
            let last = death.tests.last();
            last.is_none_or(|test| !with_another.contains(test))
        });
        found.extend(deaths);
        let tests = log.lines().filter_map(|line| line.strip_prefix(TEST));
        with_another.extend(tests.map(|test| test.trim().to_owned()));
    }
    found
}

/// `mysqld.1.err`, as the runner calls the servers of either name.
fn is_log(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_servers = ["mysqld.", "mariadbd."]
        .iter()
        .any(|of| name.starts_with(of));
    is_servers && name.ends_with(".err")
}

#[cfg(test)]
mod tests {
    use super::*;

    const START_LINES: &str = "\
$ /v/base/sbin/mariadbd --defaults-group-suffix=.1 --defaults-file=/v/var/my.cnf
2026-01-01  0:00:00 0 [Note] Starting MariaDB 10.11.18-MariaDB source revision  as process 7
2026-01-01  0:00:00 0 [Note] /v/base/sbin/mariadbd: ready for connections.
";
    const BEGINNING: &str = "\
2026-01-01  0:00:01 0 [Note] /v/base/sbin/mariadbd (initiated by: root[root] @ localhost []): Normal shutdown
2026-01-01  0:00:01 0 [Note] InnoDB: FTS optimize thread exiting.
2026-01-01  0:00:01 0 [Note] InnoDB: Shutdown completed; log sequence number 42
";
    const END: &str = "2026-01-01  0:00:01 0 [Note] /v/base/sbin/mariadbd: Shutdown complete\n\n";

    /// The tests of the servers that died in a log made of these pieces.
    fn died(log: &[&str]) -> Vec<Vec<String>> {
        let deaths = deaths(&log.concat());
        deaths.into_iter().map(|death| death.tests).collect()
    }

    #[test]
    fn a_server_that_ends_without_its_last_word_has_died_after_its_tests() {
        let [one, two, three] =
            ["main.alias", "main.case", "main.bigint"].map(|test| format!("{TEST}{test}\n"));
        let whole = [BEGINNING, END].concat();
        assert_eq!(
            died(&[&one, START_LINES, &two, &whole, &three, START_LINES, &whole]),
            Vec::<Vec<String>>::new()
        );
        // In the middle of the run, and at its end.
        assert_eq!(
            died(&[
                &one,
                START_LINES,
                &two,
                BEGINNING,
                &three,
                START_LINES,
                &whole
            ]),
            [["main.alias", "main.case"]]
        );
        assert_eq!(
            died(&[&one, START_LINES, &whole, &three, START_LINES, BEGINNING]),
            [["main.bigint"]]
        );
        // What crashes behind its last word has crashed.
        let late = "2026-01-01  0:00:01 0 [ERROR] mysqld got signal 6 ;\n";
        assert_eq!(died(&[&one, START_LINES, &whole, late]), [["main.alias"]]);
        let found = deaths(&[&*one, START_LINES, BEGINNING].concat());
        assert!(found[0].log.contains("FTS optimize"), "{found:?}");
    }

    #[test]
    fn a_server_that_a_test_ends_on_purpose_has_not_died() {
        let [one, two] = ["innodb.scrub", "main.case"].map(|test| format!("{TEST}{test}\n"));
        let whole = [BEGINNING, END].concat();
        for (what, log) in [
            // `shutdown_server 0` kills; the runner starts it again, as the `.expect` file says.
            ("killed", vec![&*one, START_LINES, START_LINES, &whole]),
            (
                "killed in the middle of a shutdown",
                vec![&*one, START_LINES, BEGINNING, START_LINES, &whole],
            ),
            (
                "restarted",
                vec![&*one, START_LINES, &whole, START_LINES, &two, &whole],
            ),
            (
                "killed, and the next test has a server of its own",
                vec![&*one, START_LINES, &two, START_LINES, &whole],
            ),
            // In another language, and into another file.
            (
                "not understood",
                vec![
                    &*one,
                    START_LINES,
                    "mariadbd (root): Normal heruntergefahren\n",
                ],
            ),
            ("silent", vec![&*one, START_LINES]),
        ] {
            assert_eq!(died(&log), Vec::<Vec<String>>::new(), "{what}");
        }
    }

    #[test]
    fn all_workers_logs_are_read() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (place, test) in [
            ("log/mysqld.1.err", "main.a"),
            ("1/log/mysqld.1.err", "main.b"),
            ("2/log/mysqld.2.err", "main.c"),
            ("2/log/bootstrap.log", "main.d"),
        ] {
            let path = folder.path().join(place);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            let log = format!("{TEST}{test}\n{START_LINES}{BEGINNING}");
            fs::write(&path, log).expect("written");
        }
        let tests: Vec<String> = deaths_in(folder.path())
            .into_iter()
            .flat_map(|death| death.tests)
            .collect();
        assert_eq!(tests, ["main.b", "main.c", "main.a"]);
        assert!(deaths_in(&folder.path().join("none")).is_empty());
    }

    #[test]
    fn a_server_that_was_killed_for_want_of_time_beside_another_has_not_died() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let logs = folder.path().join("log");
        fs::create_dir_all(&logs).expect("made");
        let [both, alone] = ["main.replica", "main.alone"].map(|test| format!("{TEST}{test}\n"));
        let second = format!("{both}{START_LINES}{BEGINNING}{END}");
        fs::write(logs.join("mysqld.2.err"), second).expect("written");
        let first = format!("{both}{START_LINES}{BEGINNING}{alone}{START_LINES}{BEGINNING}");
        fs::write(logs.join("mysqld.1.err"), first).expect("written");
        let found = deaths_in(folder.path());
        let tests: Vec<&String> = found.iter().flat_map(|death| &death.tests).collect();
        assert_eq!(tests, ["main.alone"]);
    }
}
