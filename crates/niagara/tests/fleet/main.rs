//! Studies whose duels other processes run: workers that are started by hand or by Slurm, a small cluster of which
//! one test starts itself; the long tests are those of `make test-fleet`.

mod builds;
mod by_hand;
mod cluster;
#[path = "../common/mod.rs"]
mod common;
mod logs;
mod one_by_one;
mod replayed;
mod small_cluster;
mod small_disk;
mod studies;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{Place, wait_until};
use niagara_model::Summary;
use niagara_store::Store;

/// A comparison of a server with itself with this many duels, on machines.
fn compare(place: &Place, duels: u32, on: &[&str]) -> Command {
    on_machines(place, place.small_compare_of(duels, "20m"), on)
}

/// The same of a comparison that is there.
fn on_machines(place: &Place, mut command: Command, on: &[&str]) -> Command {
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
#[derive(Debug, Default, PartialEq)]
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

/// The parts of what nodes were held for add up to the whole, as the command prints them and as they are kept; the whole.
fn check_seconds(place: &Place, stdout: &str) -> f64 {
    let told = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    // The sum stands first.
    let (_, rest) = told
        .split_once("held nodes for ")
        .unwrap_or_else(|| panic!("no account of node-seconds in\n{stdout}"));
    let words: Vec<&str> = rest.split(' ').collect();
    let seconds: Vec<u64> = words
        .windows(2)
        .filter(|pair| ["s", "s:"].contains(&pair[1]))
        .filter_map(|pair| pair[0].parse().ok())
        .take(8)
        .collect();
    assert_eq!(seconds.len(), 8, "{told}");
    assert_eq!(seconds[1..].iter().sum::<u64>(), seconds[0], "{told}");
    let store = Store::open_read_only(&place.out().join("results.db")).expect("results");
    let account = store.node_account().expect("readable").expect("nodes");
    assert!((account.seconds.held() - account.held).abs() < 1e-6);
    assert!((account.held - seconds[0] as f64).abs() <= 0.5 + 1e-6);
    account.held
}
