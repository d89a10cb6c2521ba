//! What can happen to a study on Slurm, each in a test of its own, with recorded duels: the verdict is the undisturbed one, no duel
//! counts twice, the seconds add up (`make test-fleet`).

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::cluster::{OnSlurm, on_cluster, pid_in, tool};
use crate::common::{signal, wait_until};
use crate::logs::{Alive, arrived, attempt, of_kind, text, worker_lines};

/// Attempts of a worker that were withdrawn after they had begun, each with the reason.
fn lost_by(study: &OnSlurm, worker: &str) -> Vec<String> {
    let withdrawn = of_kind(&study.folder, "withdrawn").into_iter();
    withdrawn
        .filter(|line| line["worker"] == worker && line["begun"] == true)
        .map(|line| text(&line["why"]["code"]))
        .collect()
}

/// Duels of which this worker's result is the one that counts.
fn taken_from(study: &OnSlurm, worker: &str) -> usize {
    let taken = of_kind(&study.folder, "taken").into_iter();
    taken.filter(|line| line["worker"] == worker).count()
}

fn count(study: &OnSlurm, kind: &str) -> usize {
    of_kind(&study.folder, kind).len()
}

/// The task of Slurm's that a worker is: its name without the incarnation.
fn task_of(worker: &str) -> &str {
    worker.rsplit_once('.').map_or(worker, |(task, _)| task)
}

fn one_of(study: &OnSlurm) -> Alive {
    let alive = study.alive();
    alive.into_iter().next().expect("a worker is there")
}

/// Nothing was lost and nothing was run twice: every duel by its first attempt, on the four workers that came first.
fn nothing_was_repeated(study: &OnSlurm) {
    for line in of_kind(&study.folder, "taken") {
        assert_eq!(attempt(&line).1, 1, "{line}");
    }
    assert_eq!(count(study, "failed"), 0);
    assert_eq!(count(study, "stale"), 0);
    assert_eq!(arrived(&study.folder).len(), 4);
}

#[test]
#[ignore = "needs a cluster: make test-fleet"]
fn a_study_that_nothing_happens_to_holds_its_nodes_as_long_as_slurm_says() {
    let study = OnSlurm::begin(1.0, &[]);
    let ended = study.finish();
    nothing_was_repeated(&ended.study);
    // Slurm's own clock, in whole seconds, of jobs that end a moment after their worker.
    let jobs = of_kind(&ended.study.folder, "submitted");
    let job = text(&jobs[0]["job"]);
    let times = tool(&[
        "squeue",
        "--noheader",
        "--states=all",
        "--format=%M",
        &format!("--jobs={job}"),
    ]);
    let seconds: Vec<f64> = times.lines().filter_map(minutes_and_seconds).collect();
    assert_eq!(seconds.len(), 4, "{times}");
    let by_slurm: f64 = seconds.iter().sum();
    let held = ended.held;
    assert!(
        (held - by_slurm).abs() <= 2.0 * seconds.len() as f64,
        "{held} s held, {by_slurm} s by Slurm"
    );
}

/// Seconds of `MINUTES:SECONDS`.
fn minutes_and_seconds(time: &str) -> Option<f64> {
    let (minutes, seconds) = time.trim().split_once(':')?;
    Some(60.0 * minutes.parse::<f64>().ok()? + seconds.parse::<f64>().ok()?)
}

#[test]
#[ignore = "needs a cluster: make test-fleet"]
fn a_worker_that_is_killed_is_replaced() {
    let mut study = OnSlurm::begin(6.0, &[]);
    study.next(3);
    let killed = one_of(&study);
    signal(killed.pid, Signal::SIGKILL);
    study.wait_for("a worker in its place", |study| {
        arrived(&study.folder).len() == 5
    });
    let ended = study.finish();
    let study = &ended.study;
    let lost = lost_by(study, &killed.worker);
    assert!(lost.len() <= 1, "one at a time: {lost:?}");
    let withdrawn = of_kind(&study.folder, "withdrawn");
    assert!(
        withdrawn
            .iter()
            .any(|line| line["worker"] == killed.worker.as_str()),
        "what it held was given to others"
    );
    assert_eq!(count(study, "submitted"), 2);
}

#[test]
#[ignore = "needs a cluster: make test-fleet"]
fn a_job_that_is_cancelled_is_replaced_and_its_node_is_not_blamed() {
    let mut study = OnSlurm::begin(6.0, &[]);
    study.next(3);
    let cancelled = one_of(&study);
    tool(&["scancel", task_of(&cancelled.worker)]);
    study.wait_for("a worker in its place", |study| {
        arrived(&study.folder).len() == 5
    });
    let ended = study.finish();
    let study = &ended.study;
    let words = worker_lines(&study.folder, &cancelled.worker);
    let last = words.last().expect("it said something");
    assert_eq!(last["why"]["code"], "signal", "{last}");
    assert_eq!(count(study, "failed"), 0, "no node has failed");
    assert_eq!(count(study, "set-aside"), 0);
}

/// The script forbids it; an administrator can have it all the same. Slurm then starts the same job again, and nothing else is
/// asked of it in its place.
#[test]
#[ignore = "needs a cluster: make test-fleet"]
fn a_job_that_is_requeued_by_hand_comes_back_as_another_worker_and_once() {
    let mut study = OnSlurm::begin(6.0, &[]);
    study.next(3);
    let requeued = one_of(&study);
    let task = task_of(&requeued.worker).to_owned();
    let refused = tool(&["scontrol", "requeue", &task]);
    assert!(
        refused.contains("disabled"),
        "as it was asked for: {refused}"
    );
    assert!(study.alive().iter().any(|alive| alive.pid == requeued.pid));
    let number = tool(&["squeue", "--noheader", "--format=%A", "--jobs", &task]);
    let number = number.trim();
    let job = format!("JobId={number}");
    tool(&["scontrol", "update", &job, "Requeue=1"]);
    tool(&["scontrol", "requeue", number]);
    let state = || tool(&["squeue", "--noheader", "--format=%T", "--jobs", &task]);
    study.wait_for("the job in the queue again", |_| {
        state().trim() == "PENDING"
    });
    // Slurm holds it back for two minutes; this test does not.
    tool(&["scontrol", "update", &job, "StartTime=now"]);
    let second = format!("{task}.1");
    study.wait_for("the same job's next worker", |study| {
        taken_from(study, &second) > 0
    });
    let restarts = tool(&["scontrol", "show", "job", number]);
    assert!(restarts.contains("Restarts=1"), "{restarts}");
    let ended = study.finish();
    let study = &ended.study;
    assert_eq!(count(study, "submitted"), 1, "nothing in its place");
    assert_eq!(arrived(&study.folder).len(), 5);
    let lost = lost_by(study, &requeued.worker);
    assert!(lost.len() <= 1, "one at a time: {lost:?}");
    assert_eq!(count(study, "failed"), 0, "no node has failed");
}

#[test]
#[ignore = "needs a cluster: make test-fleet"]
fn a_head_that_is_killed_adopts_the_workers_and_repeats_nothing() {
    let mut study = OnSlurm::begin(4.0, &[]);
    study.next(5);
    study.kill_head();
    study.next(5);
    study.kill_head();
    let ended = study.finish();
    assert_eq!(count(&ended.study, "opened"), 3);
    assert_eq!(count(&ended.study, "submitted"), 1);
    nothing_was_repeated(&ended.study);
}

#[test]
#[ignore = "needs a cluster: make test-fleet"]
fn slurmctld_may_be_killed_and_nobody_loses_anything() {
    let mut study = OnSlurm::begin(4.0, &[]);
    study.next(3);
    slurmctld_saves_its_jobs(&study);
    signal(pid_in(&on_cluster().join("slurmctld.pid")), Signal::SIGKILL);
    study.next(12);
    tool(&["daemon", "slurmctld"]);
    let ended = study.finish();
    nothing_was_repeated(&ended.study);
}

/// Has slurmctld write its jobs down, which it does some seconds after something happened to them. One that is killed before that
/// starts jobs again that run: their workers are next incarnations, and what the first ones held is lost.
fn slurmctld_saves_its_jobs(study: &OnSlurm) {
    let file = on_cluster().join("state/job_state");
    let saved = || file.metadata().and_then(|file| file.modified()).ok();
    let before = saved();
    let job = format!("JobId={}", task_of(&one_of(study).worker));
    tool(&["scontrol", "update", &job, "Comment=to-be-saved"]);
    wait_until("state of slurmctld", Duration::from_secs(60), || {
        saved() != before
    });
}

/// It is given up, what it held goes to others, and what it says afterwards does not count.
fn stopped(study: &mut OnSlurm, time: Duration) -> Alive {
    study.next(3);
    let stopped = one_of(study);
    let began = Instant::now();
    signal(stopped.pid, Signal::SIGSTOP);
    study.wait_for("the end of its duels", |study| {
        let silent = of_kind(&study.folder, "silent");
        silent
            .iter()
            .any(|line| line["worker"] == stopped.worker.as_str())
    });
    std::thread::sleep(time.saturating_sub(began.elapsed()));
    signal(stopped.pid, Signal::SIGCONT);
    study.wait_for("it to be heard of again", |study| {
        let again = of_kind(&study.folder, "arrived");
        let its = again.iter();
        its.filter(|line| line["worker"] == stopped.worker.as_str())
            .count()
            == 2
    });
    stopped
}

/// What it ran when it was stopped was withdrawn; it says itself that it was stopped, and no late result counts.
fn the_stopped_one_is_fenced(study: &OnSlurm, stopped: &Alive) {
    let withdrawn = of_kind(&study.folder, "withdrawn");
    let its: Vec<_> = withdrawn
        .iter()
        .filter(|line| line["worker"] == stopped.worker.as_str())
        .map(attempt)
        .collect();
    assert!(!its.is_empty());
    let taken = of_kind(&study.folder, "taken");
    for (duel, epoch) in &its {
        let taken = taken.iter().map(attempt).find(|(name, _)| name == duel);
        assert!(taken.is_some_and(|(_, its)| its > *epoch), "{duel}");
    }
    let words = worker_lines(&study.folder, &stopped.worker);
    let told = |line: &&serde_json::Value| {
        let lost = line["what"] == "lost" && line["why"]["code"] == "stopped";
        lost && its.contains(&attempt(line))
    };
    assert_eq!(words.iter().filter(told).count(), 1, "{words:?}");
    assert_eq!(count(study, "submitted"), 1, "its job ran on");
}

/// Twelve seconds where eight count as silence: the limits of this study are short (`--silence`, `--beat`).
#[test]
#[ignore = "needs a cluster: make test-fleet"]
fn a_worker_that_is_stopped_and_continued_is_fenced() {
    let mut study = OnSlurm::begin(4.0, &[]);
    let worker = stopped(&mut study, Duration::from_secs(12));
    let ended = study.finish();
    the_stopped_one_is_fenced(&ended.study, &worker);
}

/// Two minutes, with the limits as everybody has them.
#[test]
#[ignore = "needs a cluster, four minutes: make test-fleet"]
fn a_worker_that_is_stopped_for_two_minutes_and_continued_is_fenced() {
    let mut study = OnSlurm::begin_with_usual_limits(15.0);
    let worker = stopped(&mut study, Duration::from_secs(120));
    let ended = study.finish();
    the_stopped_one_is_fenced(&ended.study, &worker);
    let words = worker_lines(&ended.study.folder, &worker.worker);
    let at: Vec<f64> = words
        .iter()
        .filter_map(|line| line["at"].as_f64())
        .collect();
    let gap = at.windows(2).map(|pair| pair[1] - pair[0]);
    assert!(gap.fold(0.0, f64::max) > 110.0, "{at:?}");
}

#[test]
#[ignore = "needs a cluster: make test-fleet"]
fn a_node_that_is_drained_works_until_its_job_ends() {
    let mut study = OnSlurm::begin(4.0, &[]);
    study.next(3);
    let drained = one_of(&study);
    let node = format!("NodeName={}", drained.node);
    tool(&["scontrol", "update", &node, "State=DRAIN", "Reason=test"]);
    let before = taken_from(&study, &drained.worker);
    study.wait_for("duels of the drained node", |study| {
        taken_from(study, &drained.worker) > before + 2
    });
    let ended = study.finish();
    nothing_was_repeated(&ended.study);
}

/// Slurm gives its node up, and with it the job; the worker, whom nobody told, is not asked any more.
#[test]
#[ignore = "needs a cluster: make test-fleet"]
fn a_slurmd_that_is_killed_costs_the_duels_of_its_worker() {
    let mut study = OnSlurm::begin(8.0, &[]);
    study.next(3);
    let on_it = one_of(&study);
    let daemon = format!("slurmd-{}", on_it.node);
    signal(
        pid_in(&on_cluster().join(format!("{daemon}.pid"))),
        Signal::SIGKILL,
    );
    study.wait_for("the end of its worker", |study| {
        let gone = of_kind(&study.folder, "gone");
        gone.iter()
            .any(|line| line["worker"] == on_it.worker.as_str())
    });
    let taken = taken_from(&study, &on_it.worker);
    tool(&["daemon", &daemon]);
    let ended = study.finish();
    assert_eq!(taken_from(&ended.study, &on_it.worker), taken);
}
