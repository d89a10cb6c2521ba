//! What the tests of the command share: running it, watching its servers, waiting with a bound.

#![allow(dead_code, reason = "each test file uses its part of this")]

pub mod document;
pub mod existing;
pub mod namespace;
pub mod shop;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use niagara_model::DuelRecord;
use niagara_store::Store;

/// What makes a tuning as short as a test needs it.
pub const SHORT_TUNING: [&str; 8] = [
    "--slice",
    "100ms",
    "--screen-couples",
    "2",
    "--couples",
    "2",
    "--warm-up",
    "200ms",
];

/// A place of its own for a test: clones and results, removed at its end.
pub struct Place {
    pub folder: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a temporary folder"),
        }
    }

    pub fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    pub fn out(&self) -> PathBuf {
        self.folder.path().join("study")
    }

    /// `niagara` with its clones in this place.
    pub fn niagara(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_niagara"));
        command
            .args(arguments)
            .env("NIAGARA_WORK", self.work())
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    /// A small comparison of a server with itself that ends by itself after 8 duels.
    pub fn small_compare(&self) -> Command {
        self.small_compare_of(8, "5m")
    }

    /// The same with another number of duels and another budget.
    pub fn small_compare_of(&self, duels: u32, budget: &str) -> Command {
        self.compare_of(duels, 3, budget)
    }

    /// The same with so many couples in a duel, of 300 ms each.
    pub fn compare_of(&self, duels: u32, couples: u32, budget: &str) -> Command {
        let mut command = self.niagara(&[
            "compare",
            "base",
            "base",
            "--threads",
            "4",
            "--table-size",
            "1000",
            "--slice",
            "150ms",
            "--warm-up",
            "300ms",
            "--to-the-end",
            "--seed",
            "11",
            // Tests run side by side: each is the others' disturbance.
            "--disturbance",
            "100%",
        ]);
        command.args(["--couples", &couples.to_string()]);
        command.args(["--max-duels", &duels.to_string(), "--budget", budget]);
        command.arg("--out").arg(self.out());
        command
    }

    /// The same, started, with its standard error going to `stderr`.
    pub fn start_small_compare(&self, stderr: Stdio) -> Child {
        self.small_compare()
            .stdout(Stdio::null())
            .stderr(stderr)
            .spawn()
            .expect("niagara starts")
    }

    /// Duels in the results so far; none before there is a file.
    pub fn duels(&self) -> Vec<DuelRecord> {
        Store::open_read_only(&self.out().join("results.db"))
            .and_then(|store| store.duels())
            .unwrap_or_default()
    }

    /// Waits until that many duels are kept.
    pub fn wait_for_duels(&self, count: usize, child: &mut Child) {
        wait_until("duels in results.db", Duration::from_secs(240), || {
            if let Some(status) = child.try_wait().expect("a child of ours") {
                panic!("niagara ended early: {status}");
            }
            self.duels().len() >= count
        });
    }

    /// Process ids of the servers that run on clones of this place.
    pub fn servers(&self) -> Vec<i32> {
        servers_under(&self.work())
    }
}

/// A custom workload of 100 rows of which each statement finds one by its key; `also` is an expression that it selects besides.
pub fn item_workload(also: &str) -> String {
    format!(
        r#"
title = "Items by key"
[scale]
rows = 100

[[table]]
name = "item"
rows = "rows"
create = "CREATE TABLE item (id INT NOT NULL PRIMARY KEY, name VARCHAR(20) NOT NULL, stock INT NOT NULL) ENGINE = {{engine}}"
[table.columns]
id = "row"
name = {{ text = [8, 20] }}
stock = {{ int = [1, 1000] }}

[[transaction]]
name = "look"
statements = ["SELECT name, {also} FROM item WHERE id = :item"]
[transaction.draw]
item = {{ int = [1, "rows"] }}
"#
    )
}

/// Process ids whose command line speaks of a path below `folder`.
pub fn servers_under(folder: &Path) -> Vec<i32> {
    let needle = folder.display().to_string();
    processes(|command| {
        let server = command.contains("mariadbd") || command.contains("mysqld");
        server && command.contains(&needle)
    })
}

/// Process ids by their command line, its words ended by zeros.
pub fn processes(fits: impl Fn(&str) -> bool) -> Vec<i32> {
    std::fs::read_dir("/proc")
        .expect("/proc")
        .flatten()
        .filter_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let command = std::fs::read(entry.path().join("cmdline")).ok()?;
            fits(&String::from_utf8_lossy(&command)).then_some(pid)
        })
        .collect()
}

/// The value of `--socket=` on a server's command line.
pub fn socket_of(pid: i32) -> Option<PathBuf> {
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    String::from_utf8_lossy(&command)
        .split('\0')
        .find_map(|word| word.strip_prefix("--socket=").map(PathBuf::from))
}

/// Polls `what` until it holds; panics after `limit`.
pub fn wait_until(name: &str, limit: Duration, mut what: impl FnMut() -> bool) {
    let began = Instant::now();
    while !what() {
        assert!(began.elapsed() < limit, "no {name} within {limit:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Sends a signal to a process.
pub fn signal(pid: i32, signal: nix::sys::signal::Signal) {
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), signal).expect("a process of ours");
}

/// Runs to the end; exit code, standard output, standard error. What is printed as JSON fits its schema.
pub fn run(command: &mut Command) -> (Option<i32>, String, String) {
    let output = command.output().expect("niagara runs");
    document::check(command, &output);
    (
        output.status.code(),
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}
