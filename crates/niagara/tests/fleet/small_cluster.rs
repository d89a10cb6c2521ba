//! A small study with real servers on a Slurm cluster that the test starts itself: what `make test` sees of a cluster.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::by_hand::servers_of;
use crate::cluster::{on_cluster, tool};
use crate::common::{Place, run, wait_until};
use crate::logs::{Alive, alive, check_held, check_once, of_kind, worker_lines, worker_pids};
use crate::{cache, check_seconds, compare, shared, verdict, wait_for_study};

/// A variable that everything inherits which the cluster starts: daemons, jobs, workers, servers.
const MARK: &str = "NIAGARA_TEST_CLUSTER";

/// The part that is run on the cluster, as the test harness calls it.
const ON_IT: &str = "small_cluster::on_it_a_study_loses_a_worker_and_no_duel";

/// The script's exit code where Slurm's daemons are not here and are not to be: the machine belongs to a cluster.
const NO_DAEMONS: i32 = 77;

#[test]
fn a_study_on_two_nodes_of_a_cluster_of_its_own_leaves_nothing() {
    let place = Place::new();
    let mark = place.folder.path().display().to_string();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/test-cluster");
    let mut cluster = Command::new(script);
    cluster
        .args(["-n", "2"])
        .arg(std::env::current_exe().expect("this test"))
        .args([ON_IT, "--exact", "--ignored", "--nocapture"])
        .env(MARK, &mark)
        .stdin(Stdio::null());
    let (code, stdout, stderr) = run(&mut cluster);
    if code == Some(NO_DAEMONS) {
        // Past the harness, which keeps what tests print that pass.
        let _ = writeln!(std::io::stderr(), "NOT RUN: a study on a cluster: {stderr}");
        return;
    }
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    assert!(stdout.contains("1 passed"), "{stdout}{stderr}");
    wait_until("end of the cluster", Duration::from_secs(60), || {
        marked(&mark).is_empty()
    });
}

/// Processes that were started with this mark, with what they are.
fn marked(mark: &str) -> Vec<String> {
    let wanted = format!("{MARK}={mark}");
    let is_marked = |process: &Path| {
        let environment = std::fs::read(process.join("environ")).unwrap_or_default();
        let mut variables = environment.split(|byte| *byte == 0);
        variables.any(|variable| variable == wanted.as_bytes())
    };
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    let processes = entries.map(|entry| entry.path());
    processes
        .filter(|process| is_marked(process))
        .map(|process| {
            let name = std::fs::read_to_string(process.join("comm")).unwrap_or_default();
            format!("{} {}", process.display(), name.trim())
        })
        .collect()
}

/// Eight duels, one at a time, for the nodes share this machine; a worker is killed in the middle of one.
#[test]
#[ignore = "needs a cluster: the test above starts one for it"]
fn on_it_a_study_loses_a_worker_and_no_duel() {
    on_cluster();
    let place = Place::new();
    let mut on = vec!["--on", "slurm", "--nodes", "2", "--silence", "8s"];
    for argument in ["--beat", "1s", "--one-at-a-time"] {
        on.extend(["--worker-argument", argument]);
    }
    // Files: nobody reads what it says while it runs.
    let said = ["stdout", "stderr"].map(|name| place.folder.path().join(name));
    let [stdout, stderr] = [0, 1].map(|stream| File::create(&said[stream]).expect("room"));
    let mut head = compare(&place, 8, &on)
        .stdout(stdout)
        .stderr(stderr)
        .spawn()
        .expect("it starts");
    let folder = wait_for_study(&shared(&place));
    place.wait_for_duels(1, &mut head);
    let killed = kill_in_a_duel(&folder);
    let seen = look_on(&folder, &mut head);
    let status = head.wait().expect("it ends");
    let [stdout, stderr] = said.map(|file| std::fs::read_to_string(file).expect("text"));
    assert!(status.success(), "{stderr}");
    assert!(seen.duels > 0, "no duel was seen");
    assert!(
        seen.at_once.is_empty(),
        "workers and servers of theirs: {:?}",
        seen.at_once
    );
    // Every index once, whoever ran it; what the killed one ran was run again.
    assert_eq!(verdict(&place).scores.len(), 8);
    check_once(&place, &folder);
    let withdrawn = of_kind(&folder, "withdrawn");
    let mut its = withdrawn
        .iter()
        .filter(|line| line["worker"] == killed.worker.as_str());
    assert!(its.any(|line| line["begun"] == true), "{withdrawn:?}");
    check_seconds(&place, &stdout);
    check_held(&place, &folder);
    wait_until("end of the workers", Duration::from_secs(60), || {
        alive(&folder).is_empty()
    });
    wait_until("end of the jobs", Duration::from_secs(120), || {
        tool(&["squeue", "--noheader"]).is_empty()
    });
    wait_until("end of the servers", Duration::from_secs(60), || {
        servers_of(&worker_pids(&folder)).is_empty()
    });
    remove_program(&place);
}

/// Kills a worker whose duel's servers are alive: stopped first, so that its duel cannot end before it is killed.
pub(crate) fn kill_in_a_duel(folder: &Path) -> Alive {
    let mut killed = None;
    wait_until("a worker in a duel", Duration::from_secs(240), || {
        killed = alive(folder).into_iter().find(|worker| {
            if servers_of(&[worker.pid as u32]).len() < 2 {
                return false;
            }
            let send = |signal| kill(Pid::from_raw(worker.pid), signal).is_ok();
            // It may have ended since it was looked at.
            if !send(Signal::SIGSTOP) {
                return false;
            }
            let fights = is_in_a_duel(folder, &worker.worker);
            let then = if fights {
                Signal::SIGKILL
            } else {
                Signal::SIGCONT
            };
            send(then) && fights
        });
        killed.is_some()
    });
    killed.expect("waited for")
}

/// Whether the last that a worker began is a duel, and not over.
fn is_in_a_duel(folder: &Path, worker: &str) -> bool {
    let lines = worker_lines(folder, worker);
    let last = lines.iter().rev().find(|line| line["what"] != "alive");
    last.is_some_and(|line| line["what"] == "doing" && line["doing"] == "duel")
}

/// What was seen of duels from outside.
#[derive(Default)]
pub(crate) struct Seen {
    /// Looks in which a worker had the two servers of a duel.
    pub duels: usize,
    /// Workers, each with a server of its own, of which two had one at the same time.
    pub at_once: BTreeSet<(i32, i32)>,
}

/// Looks until the head ends.
pub(crate) fn look_on(folder: &Path, head: &mut Child) -> Seen {
    let (mut before, mut seen) = (BTreeSet::new(), Seen::default());
    while head.try_wait().expect("a child of ours").is_none() {
        let mut now = BTreeSet::new();
        for worker in alive(folder) {
            let servers = servers_of(&[worker.pid as u32]);
            seen.duels += usize::from(servers.len() > 1);
            now.extend(servers.into_iter().map(|server| (worker.pid, server)));
        }
        // A look takes its time: what was there in two of them was there in between.
        let both: BTreeSet<(i32, i32)> = now.intersection(&before).copied().collect();
        let workers: BTreeSet<i32> = both.iter().map(|(worker, _)| *worker).collect();
        if workers.len() > 1 {
            seen.at_once.extend(both);
        }
        before = now;
        std::thread::sleep(Duration::from_millis(20));
    }
    seen
}

/// The program of a test is worth nothing to anybody later, and large.
fn remove_program(place: &Place) {
    let programs = std::fs::read_dir(shared(place).join("bin"));
    for program in programs.expect("the program").flatten() {
        let _ = std::fs::remove_file(cache().join("bin").join(program.file_name()));
    }
}
