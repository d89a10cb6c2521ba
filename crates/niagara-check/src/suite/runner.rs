//! The suite's own runner, watched: which tests it ran, how they ended, and from which binary its servers ran.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use niagara_error::anyhow;
use niagara_server::{
    Cache, EndServersNaming, Helper, Install, Suite, WorkFolder, processes_naming, share_folder,
};
use niagara_server::{NO_PROFILE, PRIVATE_LIB};

use super::logs::log_of;
use super::output::{ShutdownLine, TestLine, Verdict, shutdown_line, test_line, test_names};
use super::server_log::{Death, deaths_in};
use crate::room::Room;
use niagara_server::Cancel;

/// How often the servers' binaries are examined.
const LOOK: Duration = Duration::from_millis(100);
/// Minutes for one test.
const TEST_MINUTES: u32 = 4;
/// More tests at the same time than this want more memory than a check may take.
const MAX_PARALLEL: usize = 4;
/// Seconds that a server of MariaDB's gets to shut down, the first of them where a test has several: by default the runner kills one
/// after 10, which looks like a death.
const SHUTDOWN_SECONDS: u32 = 60;
/// Lines of output that an error shows.
const TAIL: usize = 15;

/// How tests are run.
#[derive(Clone, Copy)]
pub struct Runner<'a> {
    pub cache: &'a Cache,
    pub suite: &'a Suite,
    pub parallel: Option<usize>,
    pub cancel: &'a Cancel,
}

/// What a run came to.
pub struct Run {
    /// By test: the verdict, and the runner's words.
    pub tests: BTreeMap<String, (Verdict, String)>,
    /// Servers seen to run from the binary under test.
    pub servers: usize,
    /// Binaries of other servers that ran for these tests.
    pub strangers: BTreeSet<PathBuf>,
    /// Tests that have failed by this alone: a server did not shut down as it should after them.
    pub shutdown: BTreeSet<String>,
    /// Whether the runner said of any server that it did not shut down as it should.
    pub shutdown_failed: bool,
    /// How the runner ended.
    pub status: ExitStatus,
    /// Its last lines.
    pub tail: Vec<String>,
    /// All of its output.
    pub output: PathBuf,
}

impl Run {
    /// How many tests ended so.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.tests
            .values()
            .filter(|(known, _)| *known == verdict)
            .count()
    }

    /// The tests that ended so.
    pub fn with(&self, verdict: Verdict) -> Vec<String> {
        let tests = self
            .tests
            .iter()
            .filter(|(_, (known, _))| *known == verdict);
        tests.map(|(test, _)| test.clone()).collect()
    }

    /// Those of `tests` that the runner came to no verdict about.
    pub fn unheard(&self, tests: &[String]) -> Vec<String> {
        let unheard = tests.iter();
        let unheard = unheard.filter(|test| !self.tests.contains_key(*test));
        unheard.cloned().collect()
    }

    /// Whether the runner ended with an error, or a server did not shut down as it should, and none of `tests` explains it: none
    /// has failed by it, and about each of them there is a verdict.
    pub fn is_unexplained(&self, tests: &[String]) -> bool {
        let has_failed = self.count(Verdict::Failed) > 0;
        let is_error = !self.status.success() && !has_failed && self.unheard(tests).is_empty();
        is_error || (self.shutdown_failed && !has_failed)
    }

    /// Takes in what was said of shutdowns. For the runner no test fails by them; here those fail that passed before a server
    /// ended so: which of them is the cause nobody knows.
    fn take_shutdowns(&mut self, transcript: &Transcript) {
        self.shutdown_failed = transcript.shutdown_failed;
        for test in &transcript.shutdown {
            let Some((verdict, said)) = self.tests.get_mut(test) else {
                continue;
            };
            if *verdict == Verdict::Passed {
                *verdict = Verdict::Failed;
                *said = "a server did not shut down as it should after it".to_owned();
                self.shutdown.insert(test.clone());
            }
        }
    }

    /// The tests that were skipped, each with the reason.
    pub fn skips(&self) -> BTreeMap<String, String> {
        let skipped = self
            .tests
            .iter()
            .filter(|(_, (v, _))| *v == Verdict::Skipped);
        skipped
            .map(|(test, (_, why))| (test.clone(), why.clone()))
            .collect()
    }
}

impl Runner<'_> {
    /// Runs `tests` against `install`, `more` being further arguments for the runner; `logs` gets the runner's output and the logs of what failed. `heard` is called
    /// once without a line, then with the line of every test that ended.
    ///
    /// # Errors
    /// Stopped on request; the runner cannot be started or watched; a disk was full, and not every test passed.
    pub fn run(
        &self,
        install: &Install,
        more: &[String],
        tests: &[String],
        logs: &Path,
        heard: &mut dyn FnMut(Option<&TestLine>),
    ) -> Result<Run> {
        fs::create_dir_all(logs).with_context(|| format!("cannot create {}", logs.display()))?;
        let work = self.cache.work_folder("suite")?;
        // Sockets' paths are short, and the cache's may be long.
        let short = self.cache.short_work_folder("suite")?;
        self.arrange(install, &work)?;
        let binary = fs::canonicalize(&install.server)?;
        let mut run = Run {
            tests: BTreeMap::new(),
            servers: 0,
            strangers: BTreeSet::new(),
            shutdown: BTreeSet::new(),
            shutdown_failed: false,
            status: ExitStatus::default(),
            tail: Vec::new(),
            output: logs.join("output.txt"),
        };
        let room = Room::of(self.cache);
        let mut full = None;
        let mut transcript = Transcript::create(&run.output)?;
        heard(None);
        let mut command = self.command(install, &work, short.path(), more, tests);
        let shown = format!("{command:?}");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        // Behind the runner, in the order of their ends: a server that it leaves behind would continue without its files.
        let _servers = EndServersNaming(work.path());
        let mut runner = Helper::spawn(command).map_err(|error| {
            anyhow!(
                "cannot start the test runner: {error}\ncommand: {shown}";
                remedy: "it is a Perl script; install perl"
            )
        })?;
        let lines = lines_of(runner.child());
        let mut seen = BTreeSet::new();
        let mut looked = Instant::now();
        loop {
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                look(work.path(), &binary, &mut seen, &mut run.strangers);
                // What filled the disk may be gone when the test that fails by it has ended.
                full = full.or_else(|| room.check().err());
            }
            let line = match lines.recv_timeout(LOOK) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) if self.cancel.is_cancelled() => break,
                Err(RecvTimeoutError::Timeout) => {
                    // A grandchild may hold the pipe open after the runner has ended.
                    match runner.has_ended()? {
                        true => break,
                        false => continue,
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break,
            };
            if self.cancel.is_cancelled() {
                break;
            }
            if let Some(test) = transcript.take(line)? {
                heard(Some(&test));
                note(&mut run.tests, test);
            }
        }
        // Its servers end with the runner: their watchers see it go.
        self.cancel.check()?;
        run.status = runner.wait()?;
        run.servers = seen.len();
        // MySQL's runner asks how its servers ended.
        if install.family.is_mariadb() {
            transcript.take_deaths(&run, deaths_in(&work.path().join("var")));
        }
        run.take_shutdowns(&transcript);
        let passes = run.count(Verdict::Failed) == 0 && run.unheard(tests).is_empty();
        if let Some(full) = full.filter(|_| !passes || run.is_unexplained(tests)) {
            return Err(full);
        }
        keep_logs(&transcript.said, logs)?;
        run.tail = transcript.tail;
        Ok(run)
    }

    /// The folder in which the runner looks for the server: the binary under test, and the suite's own programs.
    fn arrange(&self, install: &Install, work: &WorkFolder) -> Result<()> {
        let root = work.path().join("base");
        let link = |from: &Path, to: PathBuf| -> Result<()> {
            symlink(from, &to).with_context(|| format!("cannot link {}", to.display()))
        };
        fs::create_dir_all(root.join("sbin"))?;
        fs::create_dir_all(root.join("share"))?;
        // The runner wants this name; the link is resolved when the server starts, so its own is what /proc shows.
        let name = if install.family.is_mariadb() {
            "mariadbd"
        } else {
            "mysqld"
        };
        link(
            &fs::canonicalize(&install.server)?,
            root.join("sbin").join(name),
        )?;
        // Clients; MySQL's packages have the runner's own programs in a folder beside the tests.
        fs::create_dir(root.join("bin"))?;
        let beside = self.suite.runner.parent().map(|tests| tests.join("bin"));
        for folder in [self.suite.basedir.join("bin")].into_iter().chain(beside) {
            for program in fs::read_dir(folder).into_iter().flatten().flatten() {
                let place = root.join("bin").join(program.file_name());
                if !place.exists() {
                    link(&program.path(), place)?;
                }
            }
        }
        // The programs that watch MariaDB's servers lie beside the tests.
        if let Some(tests) = self.suite.runner.parent() {
            link(tests, root.join("mysql-test"))?;
            link(tests, root.join("mariadb-test"))?;
        }
        // Data of libraries that were built with the server.
        let private = install.basedir.join(PRIVATE_LIB);
        if private.is_dir() {
            fs::create_dir(root.join("lib"))?;
            link(&private, root.join(PRIVATE_LIB))?;
        }
        let share = share_folder(&install.basedir).or_else(|| share_folder(&self.suite.basedir));
        let share = share.with_context(|| {
            format!(
                "no messages (english/errmsg.sys) below {}",
                install.basedir.display()
            )
        })?;
        link(&share, root.join("share/mysql"))?;
        // A server looks where its own layout has them: in the distributions' share/mysql, or in share itself, as a tree of
        // MySQL is built by default.
        for entry in
            fs::read_dir(&share).with_context(|| format!("cannot read {}", share.display()))?
        {
            let entry = entry?;
            // One that is called `mysql` lies there already.
            if entry.file_name() != "mysql" {
                link(&entry.path(), root.join("share").join(entry.file_name()))?;
            }
        }
        Ok(())
    }

    fn command(
        &self,
        install: &Install,
        work: &WorkFolder,
        short: &Path,
        more: &[String],
        tests: &[String],
    ) -> Command {
        let cpus = thread::available_parallelism().map_or(1, usize::from);
        let parallel = self
            .parallel
            .unwrap_or(cpus.min(MAX_PARALLEL))
            .min(tests.len())
            .max(1);
        let is_mariadb = install.family.is_mariadb();
        let shutdown_timeout = is_mariadb.then(|| format!("--shutdown-timeout={SHUTDOWN_SECONDS}"));
        let mut command = Command::new("perl");
        command
            .arg(&self.suite.runner)
            .arg(format!("--vardir={}", work.path().join("var").display()))
            .arg(format!("--tmpdir={}", short.display()))
            .arg(format!("--parallel={parallel}"))
            .arg(format!("--testcase-timeout={TEST_MINUTES}"))
            .args([
                "--force",
                "--retry=0",
                "--max-test-fail=0",
                "--nocheck-testcases",
                "--suite-timeout=60",
            ])
            .args(shutdown_timeout)
            .args(more)
            .args(tests)
            .env_clear()
            .envs(NO_PROFILE)
            .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
            .env("LC_ALL", "C")
            .env("HOME", work.path())
            .env("USER", "niagara")
            .env("MTR_BINDIR", work.path().join("base"))
            .current_dir(self.suite.runner.parent().unwrap_or(Path::new("/")))
            .stdin(Stdio::null());
        command
    }
}

/// What a runner writes, kept as it comes.
struct Transcript {
    file: File,
    /// The last lines.
    tail: Vec<String>,
    /// Behind the line of a test that failed comes what is to be said of it, up to the next test; behind the tests before a bad
    /// shutdown what is to be said of that.
    said: BTreeMap<String, String>,
    /// The tests that the lines are said of which come now.
    failing: Vec<String>,
    /// The tests before shutdowns that were not as they should be.
    shutdown: BTreeSet<String>,
    /// Whether a server did not shut down as it should.
    shutdown_failed: bool,
    /// Whether the tests before a bad shutdown are yet to be named, in a line that holds nothing else.
    tests_follow: bool,
}

impl Transcript {
    fn create(path: &Path) -> Result<Transcript> {
        let file =
            File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Transcript {
            file,
            tail: Vec::new(),
            said: BTreeMap::new(),
            failing: Vec::new(),
            shutdown: BTreeSet::new(),
            shutdown_failed: false,
            tests_follow: false,
        })
    }

    /// Keeps a line; the test that it tells the end of.
    fn take(&mut self, line: String) -> Result<Option<TestLine>> {
        writeln!(self.file, "{line}")?;
        let test = test_line(&line);
        if let Some(test) = &test {
            let is_failed = test.verdict == Verdict::Failed;
            self.failing = is_failed.then(|| test.test.clone()).into_iter().collect();
        }
        let shut_down = self.before_shutdown(&line);
        if !shut_down.is_empty() {
            self.shutdown.extend(shut_down.iter().cloned());
            self.failing = shut_down;
        }
        for failing in &self.failing {
            let text = self.said.entry(failing.clone()).or_default();
            text.push_str(&line);
            text.push('\n');
        }
        self.tail.push(line);
        if self.tail.len() > TAIL {
            self.tail.remove(0);
        }
        Ok(test)
    }

    /// Takes in the servers that died while they were shut down, of which the runner said nothing.
    fn take_deaths(&mut self, run: &Run, deaths: Vec<Death>) {
        let ended = |test: &str, as_this: Verdict| {
            let known = run.tests.get(test);
            known.is_some_and(|(verdict, _)| *verdict == as_this)
        };
        for Death { tests, log } in deaths {
            // After a failure the runner may have killed it. Where no test passed, none could be repeated to see it again.
            let was_failed = tests
                .last()
                .is_some_and(|test| ended(test, Verdict::Failed));
            if was_failed || !tests.iter().any(|test| ended(test, Verdict::Passed)) {
                continue;
            }
            self.shutdown_failed = true;
            for test in tests {
                let text = self.said.entry(test.clone()).or_default();
                text.push_str(&format!(
                    "its server died while it was shut down; the end of the server's log:\n{log}\n"
                ));
                self.shutdown.insert(test);
            }
        }
    }

    /// The tests that this line names as those before a bad shutdown.
    fn before_shutdown(&mut self, line: &str) -> Vec<String> {
        match shutdown_line(line) {
            Some(ShutdownLine::After(tests)) => {
                self.shutdown_failed = true;
                tests
            }
            Some(ShutdownLine::TestsFollow) => {
                self.tests_follow = true;
                Vec::new()
            }
            Some(ShutdownLine::Failed) => {
                self.shutdown_failed = true;
                Vec::new()
            }
            None if self.tests_follow => {
                let tests = test_names(line);
                // Another worker's line may come in between.
                self.tests_follow = tests.is_empty();
                tests
            }
            None => Vec::new(),
        }
    }
}

/// The lines of a child's two streams as they come, each stream read by a thread of its own.
fn lines_of(child: &mut Child) -> Receiver<String> {
    let (sender, lines) = channel();
    let errors = child
        .stderr
        .take()
        .map(|stream| Box::new(stream) as Box<dyn std::io::Read + Send>);
    let answers = child
        .stdout
        .take()
        .map(|stream| Box::new(stream) as Box<dyn std::io::Read + Send>);
    for stream in [answers, errors].into_iter().flatten() {
        let sender = sender.clone();
        thread::spawn(move || {
            for line in BufReader::new(stream).split(b'\n').map_while(Result::ok) {
                let text = String::from_utf8_lossy(&line).into_owned();
                if sender.send(text).is_err() {
                    break;
                }
            }
        });
    }
    lines
}

/// A test with several combinations fails when one of them does, and is skipped when all of them are.
fn note(tests: &mut BTreeMap<String, (Verdict, String)>, line: TestLine) {
    let known = tests
        .entry(line.test)
        .or_insert_with(|| (line.verdict, line.rest.clone()));
    let rank = |verdict: Verdict| match verdict {
        Verdict::Failed => 2,
        Verdict::Passed => 1,
        Verdict::Skipped => 0,
    };
    if rank(line.verdict) > rank(known.0) {
        *known = (line.verdict, line.rest);
    }
}

/// Notes the servers that run for the tests in this folder: their process numbers, or whose binary it is instead.
fn look(folder: &Path, binary: &Path, seen: &mut BTreeSet<u32>, strangers: &mut BTreeSet<PathBuf>) {
    for process in processes_naming(folder, &|pid| seen.contains(&pid)) {
        if process.program == binary {
            seen.insert(process.pid);
        } else if process.is_server() {
            strangers.insert(process.program);
        }
    }
}

/// Writes what the runner said of each test that failed: the difference, the last results, the server's log.
fn keep_logs(said: &BTreeMap<String, String>, logs: &Path) -> Result<()> {
    for (test, text) in said {
        let path = log_of(logs, test);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_fails_with_its_worst_combination() {
        let mut tests = BTreeMap::new();
        for line in [
            "main.a 'x' w1 [ pass ] 3",
            "main.a 'y' w1 [ fail ]",
            "main.a 'z' w1 [ skipped ] no",
            "main.b w1 [ skipped ] no",
            "main.b w1 [ pass ] 1",
        ] {
            note(&mut tests, test_line(line).expect("a test"));
        }
        assert_eq!(tests["main.a"].0, Verdict::Failed);
        assert_eq!(tests["main.b"].0, Verdict::Passed);
    }

    /// What comes of a run of `tests` whose runner wrote `output` and ended with this code; the text kept of each test.
    fn judged(tests: &[&str], output: &str, code: i32) -> (Run, BTreeMap<String, String>, bool) {
        judged_with(tests, output, code, Vec::new())
    }

    /// The same with what the servers' logs tell.
    fn judged_with(
        tests: &[&str],
        output: &str,
        code: i32,
        deaths: Vec<Death>,
    ) -> (Run, BTreeMap<String, String>, bool) {
        use std::os::unix::process::ExitStatusExt;

        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("output.txt");
        let mut transcript = Transcript::create(&path).expect("written");
        let mut run = Run {
            tests: BTreeMap::new(),
            servers: 1,
            strangers: BTreeSet::new(),
            shutdown: BTreeSet::new(),
            shutdown_failed: false,
            status: ExitStatus::from_raw(code << 8),
            tail: Vec::new(),
            output: path,
        };
        for line in output.lines() {
            if let Some(test) = transcript.take(line.to_owned()).expect("written") {
                note(&mut run.tests, test);
            }
        }
        transcript.take_deaths(&run, deaths);
        run.take_shutdowns(&transcript);
        let tests: Vec<String> = tests.iter().map(|test| (*test).to_owned()).collect();
        let is_unexplained = run.is_unexplained(&tests);
        (run, transcript.said, is_unexplained)
    }

    const MARIADB: &str = "\
main.alias                               w1 [ pass ]     66
main.skipped                             w1 [ skipped ]  Need windows
***Warnings generated in error logs during shutdown after running tests: main.alias main.skipped main.bigint

2026-01-01  0:00:00 0 [ERROR] mariadbd got signal 11 ;
Attempting backtrace. Include this in the bug report.

main.bigint                              w2 [ pass ]     22
main.case                                w2 [ pass ]      3
--------------------------------------------------------------------------
The servers were restarted 1 times
Completed: All 3 tests were successful.

Errors/warnings were found in logfiles during server shutdown after running the
following sequence(s) of tests:
    main.alias main.skipped main.bigint
mysql-test-run: *** ERROR: There where errors/warnings in server logs after running test cases.
";

    #[test]
    fn tests_before_a_crash_while_shutting_down_have_failed_with_mariadb() {
        let tests = ["main.alias", "main.skipped", "main.bigint", "main.case"];
        let (run, said, is_unexplained) = judged(&tests, MARIADB, 1);
        assert_eq!(run.with(Verdict::Failed), ["main.alias", "main.bigint"]);
        assert_eq!(run.with(Verdict::Skipped), ["main.skipped"]);
        assert_eq!(run.with(Verdict::Passed), ["main.case"]);
        assert!(run.shutdown.contains("main.alias") && !is_unexplained);
        assert!(said["main.alias"].contains("got signal 11"), "{said:?}");
    }

    /// Nothing of it is in the output of MariaDB's runner, which ends well.
    #[test]
    fn tests_before_a_silent_death_have_failed_with_mariadb() {
        let death = |tests: &[&str]| Death {
            tests: tests.iter().map(|test| (*test).to_owned()).collect(),
            log: "mariadbd (initiated by: root[root] @ localhost []): Normal shutdown".to_owned(),
        };
        let output = "\
main.alias  w1 [ pass ] 66
main.skipped  w1 [ skipped ]  Need windows
main.bigint  w2 [ pass ] 22
main.case  w2 [ fail ]
main.xml  w2 [ pass ] 3
";
        let tests = [
            "main.alias",
            "main.skipped",
            "main.bigint",
            "main.case",
            "main.xml",
        ];
        let deaths = vec![
            death(&["main.alias", "main.skipped"]),
            // The runner killed it, for its test had failed.
            death(&["main.bigint", "main.case"]),
            death(&["main.skipped"]),
            death(&[]),
        ];
        let (run, said, is_unexplained) = judged_with(&tests, output, 0, deaths);
        assert_eq!(run.with(Verdict::Failed), ["main.alias", "main.case"]);
        assert_eq!(run.with(Verdict::Passed), ["main.bigint", "main.xml"]);
        assert_eq!(run.shutdown, BTreeSet::from(["main.alias".to_owned()]));
        assert!(run.shutdown_failed && !is_unexplained);
        assert!(said["main.alias"].contains("Normal shutdown"), "{said:?}");
        // Without one the run is as good as the runner says.
        let (run, _, _) = judged_with(&tests, output, 0, Vec::new());
        assert!(!run.shutdown_failed && run.shutdown.is_empty());
    }

    const MYSQL: &str = "\
[ 33%] main.alias                              w1  [ pass ]     66
worker[01] Shutdown report from /v/1/log/mysqld.1.err after tests:
[ 50%] main.case                               w2  [ pass ]     12
 main.alias
------------------------------------------------------------------------------
2026-01-01T00:00:00Z UTC - mysqld got signal 11 ;
[ 66%] main.bigint                             w2  [ pass ]     22
[100%] shutdown_report                         w0  [ fail ]
        Test ended at 2026-01-01 00:00:00

Mysqld reported failures at shutdown, see above

";

    #[test]
    fn tests_before_a_crash_while_shutting_down_have_failed_with_mysql() {
        let tests = ["main.alias", "main.bigint", "main.case"];
        let (run, said, is_unexplained) = judged(&tests, MYSQL, 1);
        assert_eq!(run.with(Verdict::Failed), ["main.alias"]);
        assert!(run.shutdown_failed && !is_unexplained);
        assert!(said["main.alias"].contains("got signal 11"), "{said:?}");
        // Where no test is named, none can be repeated.
        let nameless = MYSQL.replace(" main.alias\n", "\n");
        let (run, _, is_unexplained) = judged(&tests, &nameless, 1);
        assert_eq!(run.count(Verdict::Failed), 0);
        assert!(is_unexplained);
    }

    #[test]
    fn an_error_of_the_runners_has_to_be_explained_by_a_test() {
        let output = "main.alias  w1 [ pass ] 66\nmain.case  w1 [ fail ]\n";
        let passed = "main.alias  w1 [ pass ] 66\n";
        for (output, code, expected) in [
            (passed, 0, false),
            (passed, 1, true),
            (passed, 28, true),
            (output, 1, false),
        ] {
            let (_, _, is_unexplained) = judged(&["main.alias"], output, code);
            assert_eq!(is_unexplained, expected, "{output}{code}");
        }
        // It did not come to the other one.
        let (_, _, is_unexplained) = judged(&["main.alias", "main.case"], passed, 1);
        assert!(!is_unexplained);
    }
}
