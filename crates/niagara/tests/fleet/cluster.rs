//! Slurm, on a cluster of its own (`make test-fleet`): duels played back while nodes, daemons and the head are killed.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::common::{Place, signal, wait_until};
use crate::logs::{Alive, alive, check_held, check_once, check_time_left};
use crate::replayed::{DUELS, recording};
use crate::small_disk::{Mounted, fill};
use crate::{check_seconds, compare, shared, verdict, wait_for_study};

pub(crate) fn on_cluster() -> PathBuf {
    let folder = std::env::var_os("CLUSTER").map(PathBuf::from);
    folder.expect("run by `make test-fleet`: a cluster of its own")
}

/// What a command prints, on either stream.
pub(crate) fn tool(words: &[&str]) -> String {
    let output = Command::new(words[0]).args(&words[1..]).output();
    let output = output.expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

pub(crate) fn pid_in(file: &Path) -> i32 {
    let text = std::fs::read_to_string(file).expect("a daemon of the cluster");
    text.trim().parse().expect("a process id")
}

/// All nodes are up and idle, whatever the test before this one did to them.
fn whole_cluster() {
    on_cluster();
    let _ = tool(&["scontrol", "update", "NodeName=n[1-4]", "State=RESUME"]);
    wait_until("four idle nodes", Duration::from_secs(90), || {
        let idle = tool(&[
            "sinfo",
            "--noheader",
            "--Node",
            "--states=idle",
            "--format=%N",
        ]);
        idle.lines().count() == 4
    });
}

/// A study on four of Slurm's nodes that plays recorded duels back, to which something is to happen.
pub(crate) struct OnSlurm {
    place: Place,
    words: Vec<String>,
    head: Child,
    /// The study's folder below the shared one.
    pub folder: PathBuf,
}

/// What it came to.
pub(crate) struct Ended {
    pub study: OnSlurm,
    pub stdout: String,
    pub stderr: String,
    /// Seconds that its nodes were held.
    pub held: f64,
}

impl OnSlurm {
    /// A duel takes about `seconds`; a worker counts as silent after eight.
    pub(crate) fn begin(seconds: f64, more: &[&str]) -> Self {
        let short = [
            "--silence",
            "8s",
            "--worker-argument",
            "--beat",
            "--worker-argument",
            "1s",
        ];
        let more: Vec<&str> = short.iter().chain(more).copied().collect();
        Self::begin_in(Place::new(), seconds, &more)
    }

    /// The same with the limits that everybody has: a minute, and a word every five seconds.
    pub(crate) fn begin_with_usual_limits(seconds: f64) -> Self {
        Self::begin_in(Place::new(), seconds, &[])
    }

    fn begin_in(place: Place, seconds: f64, more: &[&str]) -> Self {
        whole_cluster();
        let mut words: Vec<String> = ["--on", "slurm", "--nodes", "4"].map(str::to_owned).into();
        words.extend(more.iter().map(|word| (*word).to_owned()));
        for argument in recording().worker_arguments(&place, seconds) {
            words.push("--worker-argument".to_owned());
            words.push(argument);
        }
        let head = start(&place, &words);
        let folder = wait_for_study(&shared(&place));
        Self {
            place,
            words,
            head,
            folder,
        }
    }

    /// Waits until that many more duels are kept, as long as there are some to come.
    pub(crate) fn next(&mut self, more: usize) {
        let wanted = (self.place.duels().len() + more).min(DUELS as usize - 4);
        self.place.wait_for_duels(wanted, &mut self.head);
    }

    /// Waits until this holds of what stands in the folder, while the study is under way.
    pub(crate) fn wait_for(&mut self, name: &str, holds: impl Fn(&Self) -> bool) {
        wait_until(name, Duration::from_secs(200), || {
            let ended = self.head.try_wait().expect("a child of ours");
            holds(self) || {
                assert!(ended.is_none(), "the study has ended without {name}");
                false
            }
        });
    }

    /// The workers whose processes are there.
    pub(crate) fn alive(&self) -> Vec<Alive> {
        alive(&self.folder)
    }

    /// Kills the head, and starts it again.
    pub(crate) fn kill_head(&mut self) {
        signal(self.head.id() as i32, Signal::SIGKILL);
        self.head.wait().expect("gone");
        self.head = start(&self.place, &self.words);
    }

    /// Its end: the verdict of an undisturbed study, no duel twice, seconds that add up, and nothing left.
    pub(crate) fn finish(mut self) -> Ended {
        let head = std::mem::replace(
            &mut self.head,
            Command::new("true").spawn().expect("it runs"),
        );
        let _ = self.head.wait();
        let output = head.wait_with_output().expect("it ends");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        eprintln!("{stderr}{stdout}");
        assert!(output.status.success());
        assert_eq!(verdict(&self.place), recording().undisturbed);
        check_once(&self.place, &self.folder);
        let held = check_seconds(&self.place, &stdout);
        check_held(&self.place, &self.folder);
        check_time_left(&self.folder);
        wait_until("end of the workers", Duration::from_secs(30), || {
            self.alive().is_empty()
        });
        wait_until("end of the jobs", Duration::from_secs(60), || {
            tool(&["squeue", "--noheader"]).is_empty()
        });
        Ended {
            study: self,
            stdout,
            stderr,
            held,
        }
    }
}

fn start(place: &Place, words: &[String]) -> Child {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    compare(place, DUELS, &words)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts")
}

/// Slurm's daemons, workers and the head, one after the other: whatever happens to them, the verdict is that of an undisturbed run.
#[test]
#[ignore = "needs a cluster: make test-fleet"]
fn a_cluster_that_falls_apart_gives_the_undisturbed_verdict() {
    let cluster = on_cluster();
    // Slow enough that there is time for all that happens to it.
    let mut study = OnSlurm::begin(8.0, &[]);
    study.next(3);
    eprintln!("a worker is killed");
    signal(study.alive()[0].pid, Signal::SIGKILL);
    study.next(4);
    eprintln!("a job is cancelled");
    tool(&["scancel", &running("%i")]);
    study.next(4);
    eprintln!("a job is requeued by hand, though its script forbids it");
    let job = running("%A");
    tool(&["scontrol", "update", &format!("JobId={job}"), "Requeue=1"]);
    tool(&["scontrol", "requeue", &job]);
    study.next(4);
    eprintln!("the head is killed, and started again");
    study.kill_head();
    study.next(4);
    eprintln!("slurmctld is killed, and started again");
    signal(pid_in(&cluster.join("slurmctld.pid")), Signal::SIGKILL);
    study.next(4);
    tool(&["daemon", "slurmctld"]);
    study.next(4);
    eprintln!("a worker is stopped for longer than a silent one is waited for, and continued");
    if let Some(stopped) = study.alive().first() {
        signal(stopped.pid, Signal::SIGSTOP);
        std::thread::sleep(Duration::from_secs(12));
        signal(stopped.pid, Signal::SIGCONT);
    }
    eprintln!("a node is drained");
    tool(&[
        "scontrol",
        "update",
        "NodeName=n3",
        "State=DRAIN",
        "Reason=test",
    ]);
    study.next(4);
    eprintln!("a slurmd is killed with all that it started, and started again");
    signal(pid_in(&cluster.join("slurmd-n2.pid")), Signal::SIGKILL);
    study.next(4);
    tool(&["daemon", "slurmd-n2"]);
    tool(&["scontrol", "update", "NodeName=n3", "State=RESUME"]);
    study.finish();
}

/// One of the jobs that run, as Slurm writes it.
fn running(format: &str) -> String {
    let format = format!("--format={format}");
    let jobs = tool(&[
        "squeue",
        "--noheader",
        "--array",
        "--states=running",
        &format,
    ]);
    jobs.lines().last().expect("one runs").trim().to_owned()
}

#[test]
#[ignore = "needs a cluster: make test-fleet"]
fn jobs_that_run_out_of_time_are_replaced_and_nothing_is_lost() {
    // A minute of job time, of which nothing is begun in the last twenty seconds and a half.
    let minute = [
        "--job-time",
        "1m",
        "--worker-argument",
        "--margin",
        "--worker-argument",
        "20",
    ];
    let ended = OnSlurm::begin(6.0, &minute).finish();
    assert!(
        ended.stderr.contains("are left of the job"),
        "{}",
        ended.stderr
    );
    assert!(
        !ended.stdout.contains("lost and run again"),
        "{}",
        ended.stdout
    );
}

#[test]
#[ignore = "needs a cluster: make test-fleet"]
fn a_shared_folder_that_is_full_is_waited_for() {
    let place = Place::new();
    let folder = shared(&place);
    let Some(mounted) = Mounted::at(&folder, "900m") else {
        return;
    };
    let mut study = OnSlurm::begin_in(place, 3.0, &["--silence", "20s"]);
    study.next(4);
    let filler = folder.join("filler");
    fill(&filler, 0);
    let before = study.place.duels().len();
    std::thread::sleep(Duration::from_secs(12));
    // Three duels a node would have come meanwhile; what was on its way did.
    let meanwhile = study.place.duels().len() - before;
    std::fs::remove_file(&filler).expect("there");
    let ended = study.finish();
    assert!(meanwhile < 12, "the folder was not full: {meanwhile}");
    for told in ["has no room", "trying again", "has room again"] {
        assert!(ended.stderr.contains(told), "{told}: {}", ended.stderr);
    }
    // Before its place is removed.
    drop(mounted);
}
