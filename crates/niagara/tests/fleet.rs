//! Studies whose duels other processes run: workers that are started by hand, and, on a cluster (`make test-fleet`), by Slurm.

mod common;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{Place, run, signal, wait_until};
use niagara_store::{Store, Summary};
use nix::sys::signal::Signal;

/// A comparison of a server with itself with this many duels, on machines.
fn compare(place: &Place, duels: u32, on: &[&str]) -> Command {
    let mut command = place.small_compare_of(duels, "20m");
    command
        .args(on)
        .arg("--node-dir")
        .arg(cache())
        .arg("--shared")
        .arg(shared(place));
    command
}

/// The cache that all tests share: servers are fetched once.
fn cache() -> PathBuf {
    let named = |name: &str| std::env::var_os(name).map(PathBuf::from);
    named("NIAGARA_CACHE")
        .or_else(|| Some(named("XDG_CACHE_HOME")?.join("niagara")))
        .or_else(|| Some(named("HOME")?.join(".cache/niagara")))
        .expect("a home")
}

fn shared(place: &Place) -> PathBuf {
    place.folder.path().join("shared")
}

/// The study's folder below the shared one, once it is there.
fn study_folder(shared: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(shared).ok()?.flatten();
    let mut folders = entries.map(|entry| entry.path());
    folders.find(|folder| folder.join("study.json").exists())
}

fn wait_for_study(shared: &Path) -> PathBuf {
    wait_until("shared folder", Duration::from_secs(240), || {
        study_folder(shared).is_some()
    });
    study_folder(shared).expect("just seen")
}

fn worker(place: &Place, folder: &Path, name: &str, more: &[&str]) -> Child {
    place
        .niagara(&["fleet", "worker"])
        .arg(folder)
        .args([
            "--name",
            name,
            "--node",
            name,
            "--beat",
            "500ms",
            "--node-dir",
        ])
        .arg(cache())
        .args(more)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts")
}

/// Everything that the verdict of a study rests on, but for the machines: what a score weighs goes by the spread of the machine
/// that its duel was run on, and a duel that was lost was run on another one.
#[derive(Debug, PartialEq)]
struct Verdict {
    scores: Vec<Option<f64>>,
    looks: Vec<niagara_stats::Look>,
    duels: usize,
}

/// The verdict of the study of `place`; every duel is there once.
fn verdict(place: &Place) -> Verdict {
    let store = Store::open_read_only(&place.out().join("results.db")).expect("results");
    let duels = store.duels().expect("readable");
    let seeds: BTreeSet<u64> = duels.iter().map(|duel| duel.seed).collect();
    assert_eq!(seeds.len(), duels.len(), "a duel counts twice");
    for (seq, duel) in duels.iter().enumerate() {
        assert_eq!(duel.seq as usize, seq);
    }
    let Some(Summary::Compare(summary)) = store.summary().expect("readable") else {
        panic!("no summary");
    };
    Verdict {
        scores: duels.iter().map(|duel| duel.score).collect(),
        looks: summary.comparison.throughput.looks.clone(),
        duels: summary.comparison.throughput.duels,
    }
}

/// `… node-seconds: load, restarts, …` as the command prints them: the parts add up to the whole.
fn check_seconds(stderr: &str) {
    let line = stderr
        .lines()
        .find(|line| line.contains("held nodes for"))
        .unwrap_or_else(|| panic!("no account of node-seconds in\n{stderr}"));
    let (_, rest) = line.split_once("held nodes for").expect("just seen");
    let seconds: Vec<f64> = rest
        .split(" s")
        .filter_map(|part| part.rsplit([' ', ':']).next()?.parse().ok())
        .collect();
    assert_eq!(seconds.len(), 8, "{line}");
    let parts: f64 = seconds[1..].iter().sum();
    // Each is rounded to a second.
    assert!((parts - seconds[0]).abs() <= 4.0, "{line}");
}

#[test]
fn workers_run_real_duels_and_no_server_outlives_them() {
    let place = Place::new();
    let mut head = compare(&place, 8, &["--on", "folder", "--nodes", "2"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let folder = wait_for_study(&shared(&place));
    let alone = ["--one-at-a-time"];
    let mut first = worker(&place, &folder, "w1", &alone);
    let mut second = worker(&place, &folder, "w2", &alone);
    place.wait_for_duels(2, &mut head);
    // In the middle of a duel: its servers go with it, and a worker of the same name takes its place.
    signal(first.id() as i32, Signal::SIGKILL);
    first.wait().expect("gone");
    let mut third = worker(&place, &folder, "w1", &alone);
    let output = head.wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{stderr}");
    check_seconds(&stderr);
    assert_eq!(verdict(&place).scores.len(), 8);
    for worker in [&mut second, &mut third] {
        assert!(worker.wait().expect("it ends").success());
    }
    wait_until("end of the servers", Duration::from_secs(10), || {
        place.servers().is_empty()
    });
    let left: Vec<_> = std::fs::read_dir(place.work())
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            // What a killed worker left is swept by the next start on its machine.
            !path
                .to_string_lossy()
                .contains(&format!("-{}-", first.id()))
        })
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_node_whose_disk_cannot_be_written_is_set_aside_and_the_others_do_the_work() {
    let place = Place::new();
    let mut head = compare(&place, 6, &["--on", "folder", "--nodes", "2"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let folder = wait_for_study(&shared(&place));
    // Its folder can be made by nobody: it stands below a file.
    let broken = folder.join("study.json").join("disk");
    for _ in 0..2 {
        let status = place
            .niagara(&["fleet", "worker"])
            .arg(&folder)
            .args(["--name", "w1", "--node", "n1", "--node-dir"])
            .arg(&broken)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert!(status.expect("it runs").success(), "told, and ended");
    }
    let mut good = worker(&place, &folder, "w2", &[]);
    wait_until("end", Duration::from_secs(240), || {
        head.try_wait().expect("a child").is_some()
    });
    let output = head.wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{stderr}");
    assert!(stderr.contains("set aside: n1"), "{stderr}");
    assert_eq!(verdict(&place).scores.len(), 6);
    good.wait().expect("it ends");
}

/// Results to be played back.
fn recorded(place: &Place) -> PathBuf {
    let (code, _, stderr) = run(&mut place.small_compare());
    assert_eq!(code, Some(0), "{stderr}");
    let file = place.folder.path().join("recorded.db");
    std::fs::copy(place.out().join("results.db"), &file).expect("room");
    std::fs::remove_dir_all(place.out()).expect("there");
    file
}

/// Arguments that run a study on Slurm, its duels played back.
fn on_slurm(recorded: &Path, speed: &str) -> Vec<String> {
    let mut words: Vec<String> = ["--on", "slurm", "--nodes", "4", "--silence", "8s"]
        .map(str::to_owned)
        .into();
    for argument in [
        "--replay",
        recorded.to_str().expect("plain"),
        "--replay-speed",
        speed,
        "--beat",
        "1s",
    ] {
        words.push("--worker-argument".to_owned());
        words.push(argument.to_owned());
    }
    words
}

/// Duels of a study to the end: the last look of the standard plan.
const DUELS: u32 = 44;

fn on_cluster() -> PathBuf {
    let folder = std::env::var_os("CLUSTER").map(PathBuf::from);
    folder.expect("run by `make test-fleet`: a cluster of its own")
}

fn tool(words: &[&str]) -> String {
    let output = Command::new(words[0]).args(&words[1..]).output();
    let output = output.expect("it runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Process ids of a study's workers that are alive, from their first lines.
fn workers(folder: &Path) -> Vec<i32> {
    let entries = std::fs::read_dir(folder.join("workers")).into_iter();
    let logs = entries
        .flatten()
        .flatten()
        .map(|entry| entry.path().join("log.jsonl"));
    logs.filter_map(|log| {
        let text = std::fs::read_to_string(log).ok()?;
        let line = text.lines().next()?.splitn(4, ' ').nth(3)?.to_owned();
        let began: serde_json::Value = serde_json::from_str(&line).ok()?;
        let pid = i32::try_from(began["pid"].as_i64()?).ok()?;
        let command = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
        command.contains("worker").then_some(pid)
    })
    .collect()
}

fn pid_in(file: &Path) -> i32 {
    let text = std::fs::read_to_string(file).expect("a daemon of the cluster");
    text.trim().parse().expect("a process id")
}

/// Slurm's daemons, workers and the head, one after the other: whatever happens to them, the verdict is that of an undisturbed run.
#[test]
#[ignore = "needs a cluster: make test-fleet"]
fn a_cluster_that_falls_apart_gives_the_undisturbed_verdict() {
    let cluster = on_cluster();
    let place = Place::new();
    let recorded = recorded(&place);
    let words = on_slurm(&recorded, "3");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (code, _, stderr) = run(&mut compare(&place, DUELS, &words));
    assert_eq!(code, Some(0), "{stderr}");
    eprintln!(
        "undisturbed: {}",
        stderr
            .lines()
            .find(|line| line.contains("held nodes"))
            .unwrap_or("")
    );
    check_seconds(&stderr);
    let undisturbed = verdict(&place);

    // Slow enough that there is time for all that happens to it.
    let words = on_slurm(&recorded, "0.4");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let place = Place::new();
    let start = || {
        compare(&place, DUELS, &words)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts")
    };
    let mut head = start();
    let folder = wait_for_study(&shared(&place));
    let next = |head: &mut Child, more: usize| {
        let wanted = (place.duels().len() + more).min(DUELS as usize - 4);
        place.wait_for_duels(wanted, head);
    };
    place.wait_for_duels(3, &mut head);
    eprintln!("a worker is killed");
    signal(workers(&folder)[0], Signal::SIGKILL);
    next(&mut head, 4);
    eprintln!("a job is cancelled");
    let jobs = tool(&[
        "squeue",
        "--noheader",
        "--array",
        "--states=running",
        "--format=%i",
    ]);
    let job = jobs.lines().last().expect("one runs").trim().to_owned();
    tool(&["scancel", &job]);
    next(&mut head, 4);
    eprintln!("the head is killed, and started again");
    signal(head.id() as i32, Signal::SIGKILL);
    head.wait().expect("gone");
    head = start();
    next(&mut head, 4);
    eprintln!("slurmctld is killed, and started again");
    signal(pid_in(&cluster.join("slurmctld.pid")), Signal::SIGKILL);
    next(&mut head, 4);
    tool(&["daemon", "slurmctld"]);
    next(&mut head, 4);
    eprintln!("a worker is stopped for longer than a silent one is waited for, and continued");
    if let Some(pid) = workers(&folder).first() {
        signal(*pid, Signal::SIGSTOP);
        let stopped = Instant::now();
        while stopped.elapsed() < Duration::from_secs(12) {
            std::thread::sleep(Duration::from_millis(200));
        }
        signal(*pid, Signal::SIGCONT);
    }
    eprintln!("a node is drained");
    tool(&[
        "scontrol",
        "update",
        "NodeName=n3",
        "State=DRAIN",
        "Reason=test",
    ]);
    next(&mut head, 4);
    eprintln!("a slurmd is killed with all that it started, and started again");
    signal(pid_in(&cluster.join("slurmd-n2.pid")), Signal::SIGKILL);
    next(&mut head, 4);
    tool(&["daemon", "slurmd-n2"]);
    tool(&["scontrol", "update", "NodeName=n3", "State=RESUME"]);
    let output = head.wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    eprintln!("{stderr}");
    assert!(output.status.success());
    check_seconds(&stderr);
    assert_eq!(verdict(&place), undisturbed);
    wait_until("end of the workers", Duration::from_secs(30), || {
        workers(&folder).is_empty()
    });
    wait_until("end of the jobs", Duration::from_secs(30), || {
        tool(&["squeue", "--noheader"]).is_empty()
    });
}

#[test]
#[ignore = "needs a cluster: make test-fleet"]
fn jobs_that_run_out_of_time_are_replaced_and_nothing_is_lost() {
    on_cluster();
    let place = Place::new();
    let recorded = recorded(&place);
    let mut words = on_slurm(&recorded, "0.5");
    // A minute of job time, of which nothing is begun in the last twenty seconds and a half.
    words.extend(
        [
            "--job-time",
            "1m",
            "--worker-argument",
            "--margin",
            "--worker-argument",
            "20",
        ]
        .map(str::to_owned),
    );
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (code, _, stderr) = run(&mut compare(&place, DUELS, &words));
    eprintln!("{stderr}");
    assert_eq!(code, Some(0));
    assert!(stderr.contains("are left of the job"), "{stderr}");
    assert!(!stderr.contains("lost and run again"), "{stderr}");
    assert_eq!(verdict(&place).scores.len(), DUELS as usize);
}

#[test]
#[ignore = "needs a cluster: make test-fleet"]
fn a_shared_folder_that_is_full_is_waited_for() {
    on_cluster();
    let place = Place::new();
    let recorded = recorded(&place);
    let folder = shared(&place);
    std::fs::create_dir_all(&folder).expect("made");
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=900m", "tmpfs"])
        .arg(&folder)
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        eprintln!("a file system of its own cannot be mounted here: not tried");
        return;
    }
    let words = on_slurm(&recorded, "1.5");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut head = compare(&place, 40, &words)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    place.wait_for_duels(4, &mut head);
    let filler = folder.join("filler");
    let _ = Command::new("dd")
        .args(["if=/dev/zero", "bs=4k", &format!("of={}", filler.display())])
        .stderr(Stdio::null())
        .status();
    std::thread::sleep(Duration::from_secs(6));
    std::fs::remove_file(&filler).expect("there");
    let output = head.wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    eprintln!("{stderr}");
    let unmounted = Command::new("umount").arg("--lazy").arg(&folder).status();
    assert!(unmounted.expect("it runs").success());
    assert!(output.status.success());
    assert_eq!(verdict(&place).scores.len(), 40);
}
