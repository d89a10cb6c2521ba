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

use anyhow::{Context, Result, anyhow};
use niagara_server::{
    Cache, EndServersNaming, Helper, Install, Suite, WorkFolder, processes_naming, share_folder,
};
use niagara_server::{NO_PROFILE, PRIVATE_LIB};

use super::logs::log_of;
use super::output::{TestLine, Verdict, test_line};
use niagara_server::Cancel;

/// How often the servers' binaries are examined.
const LOOK: Duration = Duration::from_millis(100);
/// Minutes for one test.
const TEST_MINUTES: u32 = 4;
/// More tests at the same time than this want more memory than a check may take.
const MAX_PARALLEL: usize = 4;
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

    /// The tests that were skipped, each with the reason.
    pub fn skips(&self) -> BTreeMap<String, String> {
        let skipped = self
            .tests
            .iter()
            .filter(|(_, (v, _))| *v == Verdict::Skipped);
        skipped
            .map(|(test, (_, why))| (test.clone(), format!("the runner skips it: {why}")))
            .collect()
    }
}

impl Runner<'_> {
    /// Runs `tests` against `install`, `more` being further arguments for the runner; `logs` gets the runner's output and the logs of what failed. `heard` is called
    /// once without a line, then with the line of every test that ended.
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
        let short = tempfile::Builder::new()
            .prefix("niagara-suite-")
            .tempdir_in("/tmp")
            .context("cannot make a folder in /tmp")?;
        self.arrange(install, &work)?;
        let binary = fs::canonicalize(&install.server)?;
        let mut run = Run {
            tests: BTreeMap::new(),
            servers: 0,
            strangers: BTreeSet::new(),
            status: ExitStatus::default(),
            tail: Vec::new(),
            output: logs.join("output.txt"),
        };
        let mut transcript = Transcript::create(&run.output)?;
        heard(None);
        let mut command = self.command(&work, short.path(), more, tests);
        let shown = format!("{command:?}");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        // Behind the runner, in the order of their ends: a server that it leaves behind would continue without its files.
        let _servers = EndServersNaming(work.path());
        let mut runner = Helper::spawn(command).map_err(|error| {
            anyhow!("cannot start the test runner: {error}\ncommand: {shown}\nremedy: it is a Perl script; install perl")
        })?;
        let lines = lines_of(runner.child());
        let mut seen = BTreeSet::new();
        let mut looked = Instant::now();
        loop {
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                look(work.path(), &binary, &mut seen, &mut run.strangers);
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
    /// Behind the line of a test that failed comes what is to be said of it, up to the next test.
    said: BTreeMap<String, String>,
    failing: Option<String>,
}

impl Transcript {
    fn create(path: &Path) -> Result<Transcript> {
        let file =
            File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Transcript {
            file,
            tail: Vec::new(),
            said: BTreeMap::new(),
            failing: None,
        })
    }

    /// Keeps a line; the test that it tells the end of.
    fn take(&mut self, line: String) -> Result<Option<TestLine>> {
        writeln!(self.file, "{line}")?;
        let test = test_line(&line);
        if let Some(test) = &test {
            self.failing = (test.verdict == Verdict::Failed).then(|| test.test.clone());
        }
        if let Some(failing) = &self.failing {
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
}
