//! What head and workers wrote into the shared folder, read by whoever was not there, and what has to be true of it whatever
//! happened.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::SystemTime;

use niagara_model::Event;
use niagara_store::Store;
use serde_json::Value;

use crate::common::Place;

/// The whole lines of a log; none where there is none.
fn lines(log: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let contents = text.lines().filter_map(|line| line.splitn(4, ' ').nth(3));
    contents
        .filter_map(|content| serde_json::from_str(content).ok())
        .collect()
}

/// What the head wrote, in its order.
pub(crate) fn head_lines(folder: &Path) -> Vec<Value> {
    lines(&folder.join("head.jsonl"))
}

/// The head's lines of one kind.
pub(crate) fn of_kind(folder: &Path, kind: &str) -> Vec<Value> {
    let mut lines = head_lines(folder);
    lines.retain(|line| line["what"] == kind);
    lines
}

/// What one worker wrote.
pub(crate) fn worker_lines(folder: &Path, worker: &str) -> Vec<Value> {
    lines(&folder.join("workers").join(worker).join("log.jsonl"))
}

/// Workers that the head has heard of, each once.
pub(crate) fn arrived(folder: &Path) -> Vec<String> {
    let lines = of_kind(folder, "arrived");
    let workers: BTreeSet<String> = lines.iter().map(|line| text(&line["worker"])).collect();
    workers.into_iter().collect()
}

/// All workers that ever claimed a name.
fn workers(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder.join("workers")).into_iter();
    let names = entries.flatten().flatten().map(|entry| entry.file_name());
    names
        .map(|name| name.to_string_lossy().into_owned())
        .collect()
}

/// Process ids of all workers that the head has heard of.
pub(crate) fn worker_pids(folder: &Path) -> Vec<u32> {
    let began = |worker: &String| worker_lines(folder, worker).into_iter().next();
    let pids = arrived(folder).iter().filter_map(began).collect::<Vec<_>>();
    let pids = pids.iter().filter_map(|began| began["pid"].as_u64());
    pids.filter_map(|pid| pid.try_into().ok()).collect()
}

/// A worker whose process is there.
#[derive(Debug, Clone)]
pub(crate) struct Alive {
    pub worker: String,
    pub node: String,
    pub pid: i32,
}

/// The workers that are alive.
pub(crate) fn alive(folder: &Path) -> Vec<Alive> {
    let there = |worker: String| {
        let began = worker_lines(folder, &worker).into_iter().next()?;
        let pid = i32::try_from(began["pid"].as_i64()?).ok()?;
        let command = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
        command.contains("worker").then(|| Alive {
            node: text(&began["node"]),
            worker,
            pid,
        })
    };
    workers(folder).into_iter().filter_map(there).collect()
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The attempt that a line speaks of.
pub(crate) fn attempt(line: &Value) -> (String, u64) {
    let attempt = &line["attempt"];
    let epoch = attempt["epoch"].as_u64().unwrap_or_default();
    (text(&attempt["duel"]), epoch)
}

/// Every duel of the study was taken once, from the attempt that was granted last and not withdrawn, and that is the one whose
/// result is kept.
pub(crate) fn check_once(place: &Place, folder: &Path) {
    let lines = head_lines(folder);
    let mut granted: BTreeMap<String, u64> = BTreeMap::new();
    let mut withdrawn = BTreeSet::new();
    let mut taken: BTreeMap<String, u64> = BTreeMap::new();
    for line in &lines {
        let (duel, epoch) = attempt(line);
        match line["what"].as_str() {
            Some("granted") => {
                assert!(!taken.contains_key(&duel), "granted though taken: {line}");
                let before = granted.insert(duel, epoch).unwrap_or(0);
                assert_eq!(epoch, before + 1, "{line}");
            }
            Some("withdrawn") => assert!(withdrawn.insert((duel, epoch)), "twice: {line}"),
            Some("taken") => {
                assert_eq!(granted.get(&duel), Some(&epoch), "an old attempt: {line}");
                assert!(
                    !withdrawn.contains(&(duel.clone(), epoch)),
                    "withdrawn: {line}"
                );
                assert_eq!(taken.insert(duel, epoch), None, "taken twice: {line}");
            }
            _ => {}
        }
    }
    let store = Store::open_read_only(&place.out().join("results.db")).expect("results");
    let events = store.events().expect("readable").into_iter();
    let kept = events.filter_map(|record| match record.event {
        Event::FoughtOn(fought_on) => Some((fought_on.duel, u64::from(fought_on.epoch))),
        _ => None,
    });
    let kept: Vec<(String, u64)> = kept.collect();
    let duels = store.duels().expect("readable");
    assert_eq!(kept.len(), duels.len());
    let names: BTreeSet<&String> = kept.iter().map(|(duel, _)| duel).collect();
    assert_eq!(names.len(), kept.len(), "a duel is kept twice");
    for (duel, epoch) in &kept {
        assert_eq!(taken.get(duel), Some(epoch), "{duel}");
    }
}

/// Every worker knows how much time its job has left.
pub(crate) fn check_time_left(folder: &Path) {
    for worker in arrived(folder) {
        let lines = worker_lines(folder, &worker);
        let began = lines.first().expect("it arrived by that line");
        assert!(began["left"].is_f64(), "{worker}: {began}");
    }
}

/// What nodes were held for is what the workers' own clocks say: from their job's start to their last word, and for one that
/// ended without a word to when the head knew it.
pub(crate) fn check_held(place: &Place, folder: &Path) {
    let (mut least, mut most) = (0.0, 0.0);
    let mut told = Vec::new();
    let all = arrived(folder);
    for worker in all.clone() {
        let lines = worker_lines(folder, &worker);
        let seconds = |value: &Value| value.as_f64().unwrap_or_default();
        let Some(began) = lines.first() else {
            continue;
        };
        let before = seconds(&began["held_before"]);
        let last = lines.iter().map(|line| seconds(&line["at"]));
        let last = before + last.fold(0.0, f64::max);
        let gone = of_kind(folder, "gone");
        let gone = gone.iter().rfind(|line| line["worker"] == worker.as_str());
        let (low, high) = match gone.map(|gone| before + seconds(&gone["held"])) {
            // What it says after it counted as gone may come too late for the account.
            Some(held) => (held, held.max(last)),
            // Killed so late that the study ended first: nobody came in its place.
            None => {
                let next = successor(&worker);
                assert!(!all.contains(&next), "{next} came, {worker} is not gone");
                (last, last + silent_for(folder, &worker))
            }
        };
        told.push(format!("{worker} {low:.1} to {high:.1}"));
        (least, most) = (least + low, most + high);
    }
    let store = Store::open_read_only(&place.out().join("results.db")).expect("results");
    let account = store.node_account().expect("readable").expect("nodes");
    assert_eq!(account.workers, told.len(), "{told:?}");
    assert!(
        least - 0.01 <= account.held && account.held <= most + 0.01,
        "{} s held, by the workers' logs {least} to {most}: {told:?}",
        account.held
    );
}

/// The name of a worker's next incarnation.
fn successor(worker: &str) -> String {
    let (name, number) = worker.rsplit_once('.').expect("an incarnation");
    let number: u32 = number.parse().expect("an incarnation");
    format!("{name}.{}", number + 1)
}

/// Seconds since a worker's last word.
fn silent_for(folder: &Path, worker: &str) -> f64 {
    let log = folder.join("workers").join(worker).join("log.jsonl");
    let written = log.metadata().and_then(|log| log.modified());
    let written = written.expect("a worker's log");
    let silent = SystemTime::now().duration_since(written);
    silent.map_or(0.0, |silent| silent.as_secs_f64())
}
