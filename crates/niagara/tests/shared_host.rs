//! A tuning on the host of a live server keeps to its share, and ends when that server is busier, or gone.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use common::existing::Existing;
use common::{Place, SHORT_TUNING, run, wait_until};
use niagara_load::{Admin, Endpoint};
use niagara_server::machine::{online_cpus, parse_cpu_list};
use regex::Regex;

/// Bound on every wait: whatever else the machine does comes first.
const PATIENCE: Duration = Duration::from_secs(900);
/// Threads of the live server's load: twice as many as an idle one may have.
const LOAD: usize = 8;
/// The log of all that the live server is sent, in its data directory.
const LOG: &str = "live.log";

/// A tuning of some minutes on the host of the server at `socket`.
fn tuning(place: &Place, socket: &Path) -> Command {
    let mut command = place.niagara(&["tune", "mariadb-10.11", "--only", "transport=unix"]);
    command
        .args(["--budget", "10m", "--no-profile", "--threads", "4"])
        .args(["--table-size", "1000", "--disturbance", "100%"])
        .args(SHORT_TUNING)
        .arg("--out")
        .arg(place.out())
        .arg("--share-host-with")
        .arg(socket)
        .args(["--user", "watcher"])
        .env("NIAGARA_PASSWORD", "w8tch")
        .stdout(Stdio::null());
    command
}

/// Threads that execute something all the time.
struct Load {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    fn start(endpoint: &Endpoint) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let threads = (0..LOAD).map(|_| {
            let mut admin = Admin::connect(endpoint, PATIENCE).expect("a connection");
            let is_over = Arc::clone(&is_over);
            std::thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    admin.rows("SELECT SLEEP(0.5)").expect("slept");
                }
                admin.quit();
            })
        });
        Self {
            threads: threads.collect(),
            is_over,
        }
    }

    fn end(self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().expect("no panic");
        }
    }
}

fn wait_for_duels(place: &Place, count: usize, child: &mut Child) {
    wait_until("duels", PATIENCE, || {
        if let Some(status) = child.try_wait().expect("a child of ours") {
            panic!("niagara ended early: {status}");
        }
        place.duels().len() >= count
    });
}

/// What a process is held to.
struct Held {
    nice: i32,
    cpus: usize,
    oom_score: String,
    /// Folders of the groups that Niagara has made.
    groups: Vec<PathBuf>,
}

/// None of a process that ends.
fn held(server: i32, niagara: u32) -> Option<Held> {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/{server}/{name}")).ok();
    let stat = read("stat")?;
    let status = read("status")?;
    let cpus = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let name = format!("/niagara-{niagara}");
    let groups = read("cgroup")?;
    let groups = groups.lines().filter(|line| line.ends_with(&name));
    let groups = groups.filter_map(|line| {
        let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
        let mount = Path::new("/sys/fs/cgroup").join(controllers);
        Some(mount.join(group.trim_start_matches('/')))
    });
    Some(Held {
        nice: stat
            .rsplit_once(')')?
            .1
            .split_whitespace()
            .nth(16)?
            .parse()
            .ok()?,
        cpus: parse_cpu_list(cpus.trim())?.len(),
        oom_score: read("oom_score_adj")?.trim().to_owned(),
        groups: groups.collect(),
    })
}

/// Nothing is begun that nobody agreed to, or that would take from the live server.
fn refused(place: &Place, socket: &Path) {
    let (code, _, stderr) = run(&mut tuning(place, socket));
    assert_eq!(code, Some(1), "{stderr}");
    for words in ["nice 19", "Threads_running", "nothing was done", "--yes"] {
        assert!(stderr.contains(words), "no {words} in\n{stderr}");
    }
    let risks = stderr
        .lines()
        .take_while(|line| !line.starts_with("niagara:"));
    assert_eq!(risks.count(), 4, "{stderr}");
    assert!(!place.out().exists());

    let mut greedy = tuning(place, socket);
    let (code, _, stderr) = run(greedy.args(["--yes", "--also", "scheduling=nice-10"]));
    assert_eq!(code, Some(1), "{stderr}");
    assert!(
        stderr.contains("scheduling=nice-10 takes priority"),
        "{stderr}"
    );
}

/// What the log has of the account that watches.
fn watchers_statements(log: &str) -> Vec<String> {
    let line = Regex::new(r"(?m)^[^\t]*\t+ *(\d+) ([A-Z][A-Za-z ]*?)\t(.*)$").expect("a pattern");
    let lines: Vec<(&str, &str, &str)> = line
        .captures_iter(log)
        .map(|found| found.extract::<3>().1.into())
        .collect();
    let is_watcher = |id: &str| {
        lines.iter().any(|(of, command, text)| {
            *of == id && *command == "Connect" && text.starts_with("watcher@")
        })
    };
    lines
        .iter()
        .filter(|(id, command, _)| *command == "Query" && is_watcher(id))
        .map(|(_, _, text)| (*text).to_owned())
        .collect()
}

#[test]
fn live_server_that_is_busier_or_gone_ends_it() {
    let live = Existing::start(
        "mariadb-10.11",
        &[("general_log", "ON"), ("general_log_file", LOG)],
    );
    // An account that may do nothing.
    live.server
        .query("CREATE USER 'watcher'@'localhost' IDENTIFIED BY 'w8tch'")
        .expect("an account");
    let Existing { server, place } = live;
    let socket = server.socket().to_owned();
    refused(&place, &socket);

    let mut tuning = tuning(&place, &socket);
    tuning.arg("--yes").stderr(Stdio::piped());
    let mut first = tuning.spawn().expect("niagara starts");
    wait_for_duels(&place, 1, &mut first);
    let mut found = None;
    wait_until("a private server", PATIENCE, || {
        let servers = place.servers();
        found = servers.first().and_then(|pid| held(*pid, first.id()));
        found.is_some()
    });
    let found = found.expect("just seen");
    assert_eq!(found.nice, 19);
    assert!(found.cpus * 2 <= online_cpus().len().max(2));
    assert_eq!(found.oom_score, "1000");
    let load = Load::start(&server.over_socket("mysql"));
    let output = first.wait_with_output().expect("niagara ends");
    load.end();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    for words in [
        "stopping: the live server is busier: Threads_running is ",
        "stopped: the live server is busier",
        "The same command continues",
    ] {
        assert!(stderr.contains(words), "no {words} in\n{stderr}");
    }
    assert_eq!(place.servers(), Vec::<i32>::new());
    let has_group = !stderr.contains("no control group can be made");
    assert_eq!(!found.groups.is_empty(), has_group, "{stderr}");
    for group in &found.groups {
        assert!(!group.exists(), "{} is left", group.display());
    }
    let kept = place.duels().len();
    assert!(kept >= 1);

    // What was measured is continued, and ends with the live server.
    let mut second = tuning.spawn().expect("niagara starts");
    wait_for_duels(&place, kept + 1, &mut second);
    server.stop().expect("stopped");
    let output = second.wait_with_output().expect("niagara ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    for words in [
        "continuing the study",
        "stopped: the live server does not answer",
    ] {
        assert!(stderr.contains(words), "no {words} in\n{stderr}");
    }
    assert_eq!(place.servers(), Vec::<i32>::new());

    let log = place.folder.path().join("data").join(LOG);
    let statements = watchers_statements(&std::fs::read_to_string(log).expect("the log"));
    assert!(statements.len() > 40, "{statements:?}");
    for statement in statements {
        let reads = statement.starts_with("SHOW GLOBAL STATUS LIKE ");
        assert!(
            reads || statement.starts_with("SET SESSION "),
            "{statement}"
        );
    }
}
