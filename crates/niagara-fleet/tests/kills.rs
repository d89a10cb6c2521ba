//! Heads and workers as processes, in one folder, killed, stopped and started twice at random: every duel has one result, the
//! results are those of an undisturbed run, and the seconds add up.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use niagara_error::Explain as _;
use niagara_fleet::{
    Cluster, Done, Head, HeadOptions, Order, Program, Sharing, Signals, SlurmOptions, Work,
    WorkerOptions, run_worker,
};
use niagara_model::{NodeReason, NodeSeconds};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

/// Variables by which a test process is told that it is a worker.
const WORKER: &str = "NIAGARA_TEST_WORKER";
const FOLDER: &str = "NIAGARA_TEST_FOLDER";
const HEAD: &str = "NIAGARA_TEST_HEAD";
/// The same of a head on a cluster.
const ON_SLURM: &str = "NIAGARA_TEST_ON_SLURM";
/// The same of a worker whose terminal is lost, and what is expected of it then.
const HUNG_UP: &str = "NIAGARA_TEST_HUNG_UP";
/// Milliseconds of a recorded duel.
const DUEL: u64 = 120;

/// A recorded duel: its result follows from its order.
fn recorded(order: &Value) -> Value {
    let seed = order["seed"].as_u64().expect("a seed");
    let score = (seed * 7919) % 1000;
    json!({ "seed": seed, "score": score })
}

struct Replay;

impl Work for Replay {
    fn sharing(&self) -> Sharing {
        Sharing::Everybody
    }

    fn wants_staging(&self, _order: &Value) -> bool {
        false
    }

    fn stage(&mut self, _order: &Value) -> anyhow::Result<()> {
        Ok(())
    }

    fn run(
        &mut self,
        order: &Value,
        cancel: &Arc<AtomicBool>,
        _tell: &dyn Fn(&str),
    ) -> anyhow::Result<Done> {
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(DUEL) {
            if cancel.load(Ordering::Relaxed) {
                anyhow::bail!("stopped");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(Done {
            document: serde_json::to_vec(&recorded(order))?,
            load_seconds: 0.8 * DUEL as f64 / 1000.0,
            failed: false,
        })
    }
}

fn orders(count: u64) -> Vec<Order> {
    (0..count)
        .map(|index| Order {
            duel: format!("d{index}"),
            index,
            seconds: 0.1,
            document: json!({ "seed": 1000 + index }),
        })
        .collect()
}

fn head(folder: &Path, workers: u32) -> Head {
    Head::open(HeadOptions {
        folder: folder.to_owned(),
        key: "key".into(),
        seed: 3,
        cluster: Cluster::Others(workers),
        silence: Duration::from_secs(2),
        held: 3,
        patience: Duration::from_secs(60),
        program: String::new(),
    })
    .expect("a folder of its own")
}

/// A worker that tells every 300 ms that it is there, and waits so many seconds for a head or for room.
fn worker_options(folder: &Path, node: &str, name: &str, patience: u64) -> WorkerOptions {
    WorkerOptions {
        folder: folder.to_owned(),
        node: node.to_owned(),
        name: name.to_owned(),
        patience: Duration::from_secs(patience),
        beat: Duration::from_millis(300),
        margin: 1.0,
        program: String::new(),
    }
}

/// Not a test: what a process of these tests does that is told to be a worker.
#[test]
fn as_a_worker() {
    let (Ok(name), Ok(folder)) = (std::env::var(WORKER), std::env::var(FOLDER)) else {
        return;
    };
    let node = format!("node-of-{name}");
    let options = worker_options(Path::new(&folder), &node, &name, 20);
    let why = run_worker(&options, &mut Replay, &Signals::default());
    eprintln!("{why:?}");
}

/// Not a test: what a process of these tests does that is told to be a head: takes all results in their order and writes
/// each down, once.
#[test]
fn as_a_head() {
    let (Ok(count), Ok(folder)) = (std::env::var(HEAD), std::env::var(FOLDER)) else {
        return;
    };
    let folder = PathBuf::from(folder);
    let results = folder.with_extension("results");
    let there = std::fs::read_to_string(&results).unwrap_or_default();
    let done = there.lines().count();
    let head = head(&folder, 4);
    let orders = orders(count.parse().expect("a number"));
    let mut kept = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&results)
        .expect("room");
    for place in done..orders.len() {
        head.want(&orders[place..(place + 16).min(orders.len())]);
        let result = head
            .wait(&orders[place].duel, &|| false, &mut |text| {
                eprintln!("{text}")
            })
            .expect("no trouble")
            .expect("not stopped");
        let line = format!("{}\n", String::from_utf8_lossy(&result.document));
        std::io::Write::write_all(&mut kept, line.as_bytes()).expect("room");
    }
    let costs: Vec<NodeSeconds> = head.cost(|_| true).into_values().collect();
    let path = folder.with_extension("costs");
    std::fs::write(path, serde_json::to_vec(&costs).expect("JSON")).expect("room");
}

fn start(test: &str, folder: &Path, variables: &[(&str, &str)]) -> Child {
    Command::new(std::env::current_exe().expect("this test"))
        .args([test, "--exact", "--nocapture"])
        .env(FOLDER, folder)
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts")
}

fn start_worker(folder: &Path, name: &str) -> Child {
    start("as_a_worker", folder, &[(WORKER, name)])
}

fn signal(child: &Child, what: Signal) {
    let _ = kill(Pid::from_raw(child.id() as i32), what);
}

/// Not a test: what a process of these tests does that is told to be a head on a cluster: it asks for nodes and is stopped once this
/// file is in the folder.
#[test]
fn as_a_head_on_a_cluster() {
    let (Ok(stop), Ok(folder)) = (std::env::var(ON_SLURM), std::env::var(FOLDER)) else {
        return;
    };
    let folder = PathBuf::from(folder);
    let mut head = Head::open(HeadOptions {
        folder: folder.clone(),
        key: "key".into(),
        seed: 3,
        cluster: Cluster::Slurm(SlurmOptions {
            nodes: 2,
            minutes: 10,
            program: Program {
                shared: "/bin/true".into(),
                local: "/bin/true".into(),
                arguments: Vec::new(),
            },
            ..SlurmOptions::default()
        }),
        silence: Duration::from_secs(2),
        held: 3,
        patience: Duration::from_secs(60),
        program: String::new(),
    })
    .expect("a folder of its own");
    head.want(&orders(4));
    let began = Instant::now();
    while !folder.join(&stop).exists() {
        assert!(began.elapsed() < Duration::from_secs(30), "no {stop}");
        std::thread::sleep(Duration::from_millis(10));
    }
    head.end();
}

/// Not a test: what a process of these tests does that is told what a lost terminal does to a worker: `ends`, or `nothing` where
/// that was ignored when it was started.
#[test]
fn as_a_worker_whose_terminal_is_lost() {
    let Ok(expected) = std::env::var(HUNG_UP) else {
        return;
    };
    let signals = Signals::caught().expect("they can be caught");
    kill(Pid::this(), Signal::SIGHUP).expect("to itself");
    // It is delivered to some thread.
    let began = Instant::now();
    let is_told = || signals.now.load(Ordering::Relaxed);
    while !is_told() && began.elapsed() < Duration::from_secs(2) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(is_told(), expected == "ends");
}

/// A worker that somebody started by ssh gives back what it runs, as with any signal, when the connection is lost.
#[test]
fn a_worker_ends_in_order_when_its_terminal_is_lost_unless_nohup_started_it() {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let ignored = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:\t"));
    let ignored = u64::from_str_radix(ignored.expect("told"), 16).expect("a mask");
    // What a shell was started with ignored it cannot have back.
    let under_nohup = ignored & 1 != 0;
    for (trap, expected) in [("-", "ends"), ("''", "nothing")] {
        if under_nohup && expected == "ends" {
            continue;
        }
        let test = std::env::current_exe().expect("this test");
        let ended = Command::new("sh")
            .args(["-c", &format!("trap {trap} HUP; exec \"$0\" \"$@\"")])
            .arg(test)
            .args(["as_a_worker_whose_terminal_is_lost", "--exact"])
            .env(HUNG_UP, expected)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .expect("it starts");
        assert!(ended.success(), "{expected}: {ended}");
    }
}

/// Results as the head kept them, in their order.
fn kept(folder: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.with_extension("results")).unwrap_or_default();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("a whole line"))
        .collect()
}

/// Kills, stops and doubles workers, and kills the head, as `seed` has it, until all duels are done.
fn disturbed(seed: u64, count: u64) {
    let place = tempfile::tempdir().expect("a temporary folder");
    let folder = place.path().join("shared");
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    let text = count.to_string();
    let start_head = || start("as_a_head", &folder, &[(HEAD, &text)]);
    let mut head = start_head();
    let names = ["w1", "w2", "w3", "w4"];
    let began = Instant::now();
    while !folder.join("study.json").exists() {
        assert!(began.elapsed() < Duration::from_secs(30), "no folder");
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut workers: Vec<(usize, Child)> = (0..4)
        .map(|worker| (worker, start_worker(&folder, names[worker])))
        .collect();
    let mut heads = 1;
    loop {
        if head.try_wait().expect("a child").is_some() {
            if kept(&folder).len() as u64 == count {
                break;
            }
            head = start_head();
            heads += 1;
        }
        assert!(began.elapsed() < Duration::from_secs(240), "not done");
        std::thread::sleep(Duration::from_millis(chance.random_range(100..500)));
        let index = chance.random_range(0..workers.len());
        let worker = workers[index].0;
        match chance.random_range(0..10) {
            0 => {
                signal(&workers[index].1, Signal::SIGKILL);
                let _ = workers[index].1.wait();
                workers[index].1 = start_worker(&folder, names[worker]);
            }
            1 => {
                // Shorter than what counts as silence, and longer.
                let pause = chance.random_range(200..3000);
                signal(&workers[index].1, Signal::SIGSTOP);
                std::thread::sleep(Duration::from_millis(pause));
                signal(&workers[index].1, Signal::SIGCONT);
            }
            2 if workers.len() < 6 => {
                let double = start_worker(&folder, names[worker]);
                workers.push((worker, double));
            }
            3 if heads < 4 => signal(&head, Signal::SIGKILL),
            _ => {}
        }
        for (worker, child) in &mut workers {
            if child.try_wait().expect("a child").is_some() {
                *child = start_worker(&folder, names[*worker]);
            }
        }
    }
    // Told that the study has ended, they end.
    let until = Instant::now() + Duration::from_secs(30);
    for (_, child) in &mut workers {
        while child.try_wait().expect("a child").is_none() {
            assert!(Instant::now() < until, "a worker outlives its study");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    let expected: Vec<Value> = orders(count)
        .iter()
        .map(|order| recorded(&order.document))
        .collect();
    assert_eq!(kept(&folder), expected, "seed {seed}");
    let costs = std::fs::read(folder.with_extension("costs")).expect("the last head's");
    let costs: Vec<NodeSeconds> = serde_json::from_slice(&costs).expect("JSON");
    let load: f64 = costs.iter().map(|cost| cost.load).sum();
    let each = 0.8 * DUEL as f64 / 1000.0;
    assert!(
        (load - each * count as f64).abs() < 1e-6,
        "{load} s of load"
    );
    let whole = began.elapsed().as_secs_f64();
    assert!(costs.iter().all(|cost| cost.held() <= whole), "{costs:?}");
}

#[test]
fn whatever_is_killed_the_results_are_those_of_an_undisturbed_run() {
    disturbed(11, 60);
}

#[test]
#[ignore = "minutes: make test-fleet runs it"]
fn the_same_for_twelve_other_courses_of_events() {
    for seed in 100..112 {
        disturbed(seed, 80);
    }
}

#[test]
fn an_undisturbed_run_loses_nothing_and_all_seconds_add_up() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let folder = place.path().join("shared");
    let mut head = head(&folder, 2);
    let threads: Vec<_> = ["w1", "w2"]
        .map(|name| {
            let folder = folder.clone();
            std::thread::spawn(move || {
                let began = Instant::now();
                let options = worker_options(&folder, name, name, 30);
                let why = run_worker(&options, &mut Replay, &Signals::default());
                (name, why.expect("it works"), began.elapsed().as_secs_f64())
            })
        })
        .into();
    let orders = orders(20);
    head.want(&orders[..12]);
    let mut nodes: BTreeMap<String, u32> = BTreeMap::new();
    for order in &orders[..10] {
        let result = head
            .wait(&order.duel, &|| false, &mut |_| {})
            .expect("no trouble")
            .expect("not stopped");
        let document: Value = serde_json::from_slice(&result.document).expect("JSON");
        assert_eq!(document, recorded(&order.document));
        assert_eq!(result.attempt.epoch, 1);
        *nodes.entry(result.node).or_default() += 1;
    }
    assert_eq!(nodes.len(), 2, "{nodes:?}");
    head.end();
    let counted = |duel: &str| orders[..10].iter().any(|order| order.duel == duel);
    let costs = head.cost(counted);
    for thread in threads {
        let (name, why, elapsed) = thread.join().expect("no panic");
        assert_eq!(why, NodeReason::StudyEnded);
        let held = costs[&format!("{name}.0")].held();
        assert!(
            (held - elapsed).abs() < 1.0,
            "{name}: {held} s held, {elapsed} s by this clock"
        );
    }
    let load: f64 = costs.values().map(|cost| cost.load).sum();
    let each = 0.8 * DUEL as f64 / 1000.0;
    assert!((load - 10.0 * each).abs() < 1e-6, "{costs:?}");
    assert!(costs.values().all(|cost| cost.lost == 0.0), "{costs:?}");
    assert!(head.losses().is_empty());
}

/// Does not hear that it is to stop, and signs what it brings: six seconds late.
struct Late;

impl Work for Late {
    fn sharing(&self) -> Sharing {
        Sharing::Everybody
    }

    fn wants_staging(&self, _order: &Value) -> bool {
        false
    }

    fn stage(&mut self, _order: &Value) -> anyhow::Result<()> {
        Ok(())
    }

    fn run(
        &mut self,
        order: &Value,
        _cancel: &Arc<AtomicBool>,
        _tell: &dyn Fn(&str),
    ) -> anyhow::Result<Done> {
        std::thread::sleep(Duration::from_secs(6));
        let mut document = recorded(order);
        document["late"] = true.into();
        Ok(Done {
            document: serde_json::to_vec(&document)?,
            load_seconds: 5.0,
            failed: false,
        })
    }
}

/// What a node brings that was given up meanwhile is whole, signed and of a duel of this study; it is of an old attempt.
#[test]
fn a_result_that_comes_when_the_duel_was_granted_again_is_stale() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let folder = place.path().join("shared");
    let mut head = head(&folder, 2);
    let orders = orders(6);
    head.want(&orders);
    // It says nothing while it works, and is silent after two seconds.
    let late = WorkerOptions {
        beat: Duration::from_secs(3600),
        ..worker_options(&folder, "w1", "w1", 60)
    };
    let late = std::thread::spawn(move || run_worker(&late, &mut Late, &Signals::default()));
    let log = folder.join("head.jsonl");
    let said = |what: &str| {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        text.matches(&format!("\"what\":\"{what}\"")).count()
    };
    let wait_for = |what: &str| {
        let began = Instant::now();
        while said(what) == 0 {
            assert!(began.elapsed() < Duration::from_secs(60), "no {what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    wait_for("granted");
    let prompt = worker_options(&folder, "w2", "w2", 60);
    let prompt = std::thread::spawn(move || run_worker(&prompt, &mut Replay, &Signals::default()));
    let mut again = 0;
    for order in &orders {
        let result = head
            .wait(&order.duel, &|| false, &mut |_| {})
            .expect("no trouble")
            .expect("not stopped");
        let document: Value = serde_json::from_slice(&result.document).expect("JSON");
        assert_eq!(document, recorded(&order.document));
        assert_eq!(result.worker, "w2.0");
        again += u32::from(result.attempt.epoch == 2);
    }
    assert!(again >= 1, "what the late one held was granted again");
    wait_for("stale");
    assert_eq!(said("taken"), orders.len());
    let costs = head.cost(|_| true);
    let each = 0.8 * DUEL as f64 / 1000.0;
    assert!((costs["w2.0"].load - 6.0 * each).abs() < 1e-6, "{costs:?}");
    assert_eq!(costs["w1.0"].load, 0.0, "{costs:?}");
    assert!(costs["w1.0"].lost > 5.9, "{costs:?}");
    head.end();
    for thread in [late, prompt] {
        thread.join().expect("no panic").expect("it works");
    }
}

/// As on a full disk: the study goes on asking, and is heard once there is room.
#[test]
fn what_cannot_be_written_yet_is_written_later() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let folder = place.path().join("shared");
    let head = head(&folder, 1);
    // Nothing can be made below a file, whoever tries.
    let (there, aside) = (folder.join("orders"), folder.join("orders-aside"));
    std::fs::rename(&there, &aside).expect("made by the head");
    std::fs::write(&there, "").expect("room");
    let orders = orders(4);
    head.want(&orders);
    let (mut told, began) = (Vec::new(), Instant::now());
    let soon = || began.elapsed() > Duration::from_secs(1);
    let result = head.wait(&orders[0].duel, &soon, &mut |text| {
        told.push(text.to_owned())
    });
    assert!(result.expect("no trouble yet").is_none(), "stopped");
    assert!(
        told.iter().any(|text| text.contains("trying again")),
        "{told:?}"
    );
    std::fs::remove_file(&there).expect("there");
    std::fs::rename(&aside, &there).expect("there");
    let options = worker_options(&folder, "n1", "w1", 30);
    let worker = std::thread::spawn(move || run_worker(&options, &mut Replay, &Signals::default()));
    for order in &orders {
        let result = head.wait(&order.duel, &|| false, &mut |_| {});
        let result = result.expect("no trouble").expect("not stopped");
        let document: Value = serde_json::from_slice(&result.document).expect("JSON");
        assert_eq!(document, recorded(&order.document));
    }
    drop(head);
    worker.join().expect("no panic").expect("it works");
}

/// What only somebody else can change is told at once, with what to do about it, not after the time that a full disk is given.
#[test]
fn a_folder_that_nobody_may_write_is_not_waited_for() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let folder = place.path().join("shared");
    let head = head(&folder, 1);
    // A folder that takes no files, from root neither.
    let there = folder.join("orders");
    std::fs::remove_dir(&there).expect("made by the head");
    std::os::unix::fs::symlink("/sys/kernel", &there).expect("room");
    let orders = orders(1);
    head.want(&orders);
    let error = head.wait(&orders[0].duel, &|| false, &mut |_| {});
    let error = error.expect_err("nobody may").explain().to_string();
    assert!(error.contains("cannot write"), "{error}");
    assert!(!error.contains(" s now"), "{error}");
    let remedy = error.split_once("remedy: ").expect("a remedy").1;
    // Containers have it read-only.
    let fits = remedy.contains("writable for user") || remedy.contains("mount");
    assert!(fits, "{error}");
}

#[test]
fn workers_without_a_head_finish_what_they_hold_and_end_by_themselves() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let folder = place.path().join("shared");
    let mut head = start("as_a_head", &folder, &[(HEAD, "60")]);
    let began = Instant::now();
    while !folder.join("study.json").exists() {
        assert!(began.elapsed() < Duration::from_secs(30), "no folder");
        std::thread::sleep(Duration::from_millis(20));
    }
    let options = worker_options(&folder, "n1", "w1", 15);
    let worker = std::thread::spawn(move || run_worker(&options, &mut Replay, &Signals::default()));
    while kept(&folder).len() < 3 {
        assert!(began.elapsed() < Duration::from_secs(60), "no duels");
        std::thread::sleep(Duration::from_millis(20));
    }
    signal(&head, Signal::SIGKILL);
    head.wait().expect("gone");
    let why = worker.join().expect("no panic").expect("it works");
    assert_eq!(why, NodeReason::NoHead);
    // Whatever was granted was run: the next head finds it.
    let lines = |file: &str, what: &str| {
        let text = std::fs::read_to_string(folder.join(file)).expect("a log");
        text.matches(&format!("\"what\":\"{what}\"")).count()
    };
    let granted = lines("head.jsonl", "granted");
    assert!(granted >= 3);
    assert_eq!(lines("workers/w1.0/log.jsonl", "finished"), granted);
}

#[test]
fn a_worker_without_time_gives_back_what_it_holds() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let folder = place.path().join("shared");
    let head = head(&folder, 1);
    head.want(&orders(3));
    let signals = Signals::default();
    signals.soon.store(true, Ordering::Relaxed);
    let options = worker_options(&folder, "n1", "w1", 30);
    let why = run_worker(&options, &mut Replay, &signals).expect("it works");
    assert_eq!(why, NodeReason::TimeLimitNear);
    // The next incarnation has time, and does them all.
    let thread = std::thread::spawn(move || run_worker(&options, &mut Replay, &Signals::default()));
    for order in orders(3) {
        let result = head.wait(&order.duel, &|| false, &mut |_| {});
        let result = result.expect("no trouble").expect("not stopped");
        assert_eq!(result.worker, "w1.1");
    }
    assert!(head.losses().is_empty(), "nothing had begun");
    drop(head);
    thread.join().expect("no panic").expect("it works");
}

/// A program of Slurm's that does this.
fn tool(place: &Path, name: &str, script: &str) {
    use std::os::unix::fs::PermissionsExt;
    let file = place.join(name);
    std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).expect("room");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).expect("ours");
}

/// Starts a head on a cluster whose `sbatch` does this, and which notes what is cancelled; where that is noted.
fn head_on_a_cluster(place: &Path, folder: &Path, sbatch: &str, stop: &str) -> (Child, PathBuf) {
    let tools = place.join("tools");
    std::fs::create_dir(&tools).expect("room");
    tool(&tools, "squeue", "");
    tool(&tools, "sbatch", sbatch);
    let cancelled = place.join("cancelled");
    let note = format!("echo \"$@\" >> '{}'", cancelled.display());
    tool(&tools, "scancel", &note);
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", tools.display());
    let variables = [(ON_SLURM, stop), ("PATH", &*path)];
    (
        start("as_a_head_on_a_cluster", folder, &variables),
        cancelled,
    )
}

/// Stopped while Slurm takes its time to answer.
#[test]
fn jobs_that_slurm_takes_while_the_study_ends_are_cancelled_too() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let folder = place.path().join("shared");
    let slow = format!("touch '{}/asked'; sleep 2; echo 4711", folder.display());
    let (mut head, cancelled) = head_on_a_cluster(place.path(), &folder, &slow, "asked");
    assert!(head.wait().expect("it ends").success());
    let cancelled = std::fs::read_to_string(cancelled).unwrap_or_default();
    assert!(cancelled.contains("4711"), "{cancelled}");
}

/// A head that is believed dead, and another one that continues its study.
#[test]
fn a_head_that_another_one_has_succeeded_ends_without_its_jobs() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let folder = place.path().join("shared");
    let sbatch = format!("touch '{}/asked'; echo 4711", folder.display());
    let (mut first, cancelled) = head_on_a_cluster(place.path(), &folder, &sbatch, "stop");
    let log = || std::fs::read_to_string(folder.join("head.jsonl")).unwrap_or_default();
    let began = Instant::now();
    while !log().contains("\"4711\"") {
        assert!(began.elapsed() < Duration::from_secs(30), "no job");
        std::thread::sleep(Duration::from_millis(20));
    }
    let second = head(&folder, 2);
    std::fs::write(folder.join("stop"), "").expect("room");
    assert!(first.wait().expect("it ends").success());
    assert!(!cancelled.exists(), "the jobs are the second one's");
    assert!(!log().contains("\"what\":\"ended\""), "{}", log());
    drop(second);
}
