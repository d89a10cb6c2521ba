//! Slurm, on a cluster of its own (`make test-fleet`): duels played back while nodes, daemons and the head are killed.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::common::{Place, run, signal, wait_until};
use crate::{Verdict, check_seconds, compare, shared, verdict, wait_for_study};

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

/// The verdict of a study of so many of these duels to which nothing happens.
fn undisturbed(recorded: &Path, duels: u32) -> Verdict {
    let place = Place::new();
    let words = on_slurm(recorded, "10");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (code, _, stderr) = run(&mut compare(&place, duels, &words));
    assert_eq!(code, Some(0), "{stderr}");
    verdict(&place)
}

/// Duels of a study to the end: the last look of the standard plan.
const DUELS: u32 = 44;

pub(crate) fn on_cluster() -> PathBuf {
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
    let (code, stdout, stderr) = run(&mut compare(&place, DUELS, &words));
    assert_eq!(code, Some(0), "{stderr}");
    check_seconds(&place, &stdout);
    let undisturbed = verdict(&place);

    // Slow enough that there is time for all that happens to it.
    let words = on_slurm(&recorded, "0.4");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let place = Place::new();
    let start = || {
        compare(&place, DUELS, &words)
            .stdout(Stdio::piped())
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
    eprintln!("a job is requeued by hand, though its script forbids it");
    let job = tool(&[
        "squeue",
        "--noheader",
        "--array",
        "--states=running",
        "--format=%A",
    ]);
    if let Some(job) = job.lines().next() {
        tool(&[
            "scontrol",
            "update",
            &format!("JobId={}", job.trim()),
            "Requeue=1",
        ]);
        tool(&["scontrol", "requeue", job.trim()]);
    }
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
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    eprintln!("{stderr}{stdout}");
    assert!(output.status.success());
    check_seconds(&place, &stdout);
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
    let (code, stdout, stderr) = run(&mut compare(&place, DUELS, &words));
    eprintln!("{stderr}{stdout}");
    assert_eq!(code, Some(0));
    assert!(stderr.contains("are left of the job"), "{stderr}");
    assert!(!stdout.contains("lost and run again"), "{stdout}");
    check_seconds(&place, &stdout);
    assert_eq!(verdict(&place), undisturbed(&recorded, DUELS));
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
        .stdout(Stdio::piped())
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
    check_seconds(&place, &String::from_utf8_lossy(&output.stdout));
    assert_eq!(verdict(&place), undisturbed(&recorded, 40));
}
