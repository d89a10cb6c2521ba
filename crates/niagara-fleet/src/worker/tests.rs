//! A worker alone with a log that the test writes in the head's place.

use std::path::Path;

use anyhow::anyhow;
use serde_json::json;

use super::*;
use crate::folder::StudyFile;
use crate::line::FORMAT;

/// Longer than a worker takes to hear what the head says.
const HEARD: Duration = Duration::from_millis(1500);
/// How the order of a duel is told from others in these tests.
const NAME: &str = "duel";

/// A head's folder and log.
struct AssignmentState {
    place: tempfile::TempDir,
    head: Log,
}

impl AssignmentState {
    /// These duels are granted to the first worker.
    fn with(duels: &[&str]) -> Self {
        let place = tempfile::tempdir().expect("a temporary folder");
        let folder = Folder::at(place.path());
        let study = StudyFile {
            format: FORMAT,
            key: "key".into(),
            seed: 3,
        };
        folder.open(&study).expect("a folder of its own");
        let head = Log::create(&folder.head_log()).expect("new");
        let mut desk = Self { place, head };
        desk.opens();
        for duel in duels {
            desk.grants(duel, 1);
        }
        desk
    }

    fn says(&mut self, line: HeadLine) {
        self.head.append(&line).expect("room");
    }

    fn opens(&mut self) {
        self.says(HeadLine::Opened {
            pid: 7,
            host: "h".into(),
        });
    }

    fn grants(&mut self, duel: &str, epoch: u32) {
        let order = Folder::at(self.place.path()).order(duel);
        publish(&order, json!({ NAME: duel }).to_string().as_bytes()).expect("room");
        self.says(HeadLine::Granted {
            attempt: Attempt {
                duel: duel.into(),
                epoch,
            },
            worker: "w1.0".into(),
        });
    }

    /// The head says that it ends, and the worker hears it.
    fn ends(&mut self) {
        self.says(HeadLine::Ended);
        std::thread::sleep(HEARD);
    }

    /// Runs the worker to its end: why it ended, and what it said, without what it says at any time.
    fn run(path: &Path, work: &mut dyn Work, signals: &Signals) -> (NodeReason, Vec<String>) {
        let options = WorkerOptions {
            folder: path.to_owned(),
            name: "w1".into(),
            node: "n1".into(),
            patience: Duration::from_secs(60),
            beat: Duration::from_secs(60),
            margin: 0.0,
            program: String::new(),
        };
        let why = run(&options, work, signals).expect("it works");
        let log = Folder::at(path).worker_log("w1.0");
        let lines: Vec<WorkerLine> = Tail::of(log).lines().expect("its log");
        let said = lines.into_iter().filter_map(|line| match line.said {
            Said::Finished { attempt, .. } => Some(format!("{attempt} finished")),
            Said::Lost {
                attempt,
                why,
                begun,
                blame,
            } => Some(format!("{attempt} lost: {why}, {begun}, {blame}")),
            Said::Unfit { why } => Some(format!("unfit: {why}")),
            _ => None,
        });
        (why, said.collect())
    }
}

/// Does as the test says, by the duel's name.
struct Scripted<S, R> {
    stage: S,
    run: R,
}

impl<S, R> Work for Scripted<S, R>
where
    S: FnMut(&str) -> Result<()>,
    R: FnMut(&str) -> Result<Done>,
{
    fn sharing(&self) -> Sharing {
        Sharing::Everybody
    }

    fn wants_staging(&self, _order: &Value) -> bool {
        true
    }

    fn stage(&mut self, order: &Value) -> Result<()> {
        (self.stage)(order[NAME].as_str().unwrap_or_default())
    }

    fn run(
        &mut self,
        order: &Value,
        _cancel: &Arc<AtomicBool>,
        _tell: &dyn Fn(&str),
    ) -> Result<Done> {
        (self.run)(order[NAME].as_str().unwrap_or_default())
    }
}

fn done(failed: bool) -> Result<Done> {
    Ok(Done {
        document: b"{}".to_vec(),
        load_seconds: 0.0,
        failed,
    })
}

/// A signal that comes a moment after what it has ended elsewhere.
fn signal_is_under_way(signals: &Signals) {
    let now = Arc::clone(&signals.now);
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        now.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_server_that_a_signal_to_the_whole_job_ends_is_no_outcome_of_its_side() {
    for result in [|| done(true), || done(false), || Err(anyhow!("no server"))] {
        let desk = AssignmentState::with(&["d0", "d1"]);
        let signals = Signals::default();
        let mut work = Scripted {
            stage: |_: &str| Ok(()),
            run: |_: &str| match result() {
                Ok(Done { failed: false, .. }) => {
                    signals.now.store(true, Ordering::Relaxed);
                    result()
                }
                _ => {
                    signal_is_under_way(&signals);
                    result()
                }
            },
        };
        let (why, said) = AssignmentState::run(desk.place.path(), &mut work, &signals);
        assert_eq!(why, NodeReason::Signal);
        let lost = [
            format!("d0.1 lost: {}, true, false", NodeReason::Signal),
            format!("d1.1 lost: {}, false, false", NodeReason::Signal),
        ];
        assert_eq!(said, lost);
    }
}

#[test]
fn a_server_that_dies_by_itself_is_an_outcome() {
    let desk = AssignmentState::with(&["d0", "d1"]);
    let signals = Signals::default();
    let mut work = Scripted {
        stage: |_: &str| Ok(()),
        run: |name: &str| {
            signals.now.store(name == "d1", Ordering::Relaxed);
            done(true)
        },
    };
    let (_, said) = AssignmentState::run(desk.place.path(), &mut work, &signals);
    assert_eq!(said[0], "d0.1 finished");
}

#[test]
fn what_cannot_be_staged_because_the_worker_is_ended_is_no_fault_of_its_node() {
    let desk = AssignmentState::with(&["d0", "d1"]);
    let signals = Signals::default();
    let mut work = Scripted {
        stage: |_: &str| {
            signal_is_under_way(&signals);
            Err(anyhow!("`tar`: ended"))
        },
        run: |_: &str| done(false),
    };
    let (why, said) = AssignmentState::run(desk.place.path(), &mut work, &signals);
    assert_eq!(why, NodeReason::Signal);
    let lost = [
        "d0.1 lost: `tar`: ended, false, false".to_owned(),
        format!("d1.1 lost: {}, false, false", NodeReason::Signal),
    ];
    assert_eq!(said, lost);
}

#[test]
fn what_a_head_took_away_when_it_ended_is_no_fault_of_the_node() {
    let mut desk = AssignmentState::with(&["d0", "d1"]);
    let path = desk.place.path().to_owned();
    let mut work = Scripted {
        // The first is staged while one head ends and the next one begins, which has to pack everything again.
        stage: |name: &str| {
            if name == "d0" {
                desk.ends();
                desk.opens();
                std::thread::sleep(HEARD);
            } else if name == "d1" {
                desk.grants("d2", 1);
                std::thread::sleep(HEARD);
            }
            Err(anyhow!("no {name}.tar"))
        },
        run: |_: &str| done(false),
    };
    let (why, said) = AssignmentState::run(&path, &mut work, &Signals::default());
    assert_eq!(why, NodeReason::of("no d2.tar"));
    let expected = [
        "d0.1 lost: no d0.tar, false, false",
        "d1.1 lost: no d1.tar, false, false",
        // This one was granted by a head that is there.
        "d2.1 lost: no d2.tar, false, false",
        "unfit: no d2.tar",
    ];
    assert_eq!(said, expected);
}

#[test]
fn a_worker_that_stages_while_a_head_ends_has_not_failed() {
    let mut desk = AssignmentState::with(&["d0"]);
    let path = desk.place.path().to_owned();
    let mut work = Scripted {
        stage: |_: &str| {
            desk.ends();
            Err(anyhow!("no archive"))
        },
        run: |_: &str| done(false),
    };
    let (why, said) = AssignmentState::run(&path, &mut work, &Signals::default());
    assert_eq!(why, NodeReason::StudyEnded);
    assert_eq!(said, ["d0.1 lost: no archive, false, false"]);
}

#[test]
fn what_a_worker_holds_is_not_forgotten_where_the_next_head_comes_soon() {
    let mut desk = AssignmentState::with(&["d0", "d1", "d2"]);
    let path = desk.place.path().to_owned();
    let signals = Signals::default();
    let mut work = Scripted {
        stage: |name: &str| {
            if name == "d0" {
                desk.ends();
                desk.opens();
                std::thread::sleep(HEARD);
            }
            Ok(())
        },
        run: |name: &str| {
            if name == "d2" {
                signal_is_under_way(&signals);
            }
            done(false)
        },
    };
    let (_, said) = AssignmentState::run(&path, &mut work, &signals);
    let expected = ["d0.1 finished", "d1.1 finished", "d2.1 finished"];
    assert_eq!(said, expected);
}

#[test]
fn what_was_granted_is_given_back_and_not_begun_once_the_study_has_ended() {
    let mut desk = AssignmentState::with(&["d0", "d1"]);
    let path = desk.place.path().to_owned();
    let mut work = Scripted {
        stage: |_: &str| {
            desk.ends();
            Ok(())
        },
        run: |name: &str| -> Result<Done> { panic!("{name} is begun") },
    };
    let (why, said) = AssignmentState::run(&path, &mut work, &Signals::default());
    assert_eq!(why, NodeReason::StudyEnded);
    let expected = [
        "d0.1 lost: the study has ended, false, false",
        "d1.1 lost: the study has ended, false, false",
    ];
    assert_eq!(said, expected);
}

#[test]
fn the_longer_of_what_was_seen_and_what_is_expected_must_be_left() {
    assert_eq!(needed(&[], None, 60.0), 60.0);
    assert_eq!(needed(&[], Some(10.0), 60.0), 75.0);
    assert_eq!(needed(&[5.0, 20.0], Some(10.0), 60.0), 90.0);
    // A build that was in the node's store, before one that is not.
    assert_eq!(needed(&[5.0], Some(1800.0), 60.0), 2760.0);
}
