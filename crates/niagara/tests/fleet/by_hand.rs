//! Workers that are started by hand, with real servers.

use std::fs::File;
use std::process::Stdio;
use std::time::Duration;

use niagara_model::Ending;
use nix::sys::signal::Signal;

use crate::common::{Place, processes, run, signal, wait_until};
use crate::logs::{arrived, attempt, check_held, check_once, head_lines, of_kind, text};
use crate::replayed::{DUELS, recording};
use crate::small_cluster::{kill_in_a_duel, look_on};
use crate::{cache, check_seconds, compare, on_machines, shared, verdict, wait_for_study, worker};

#[test]
fn workers_run_real_duels_and_no_server_outlives_them() {
    let place = Place::new();
    let mut head = compare(&place, 8, &["--on", "folder", "--nodes", "2"])
        .stdout(Stdio::piped())
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
    let stdout = String::from_utf8_lossy(&output.stdout);
    check_seconds(&place, &stdout);
    let page = std::fs::read_to_string(place.out().join("report.html")).expect("a page");
    assert!(page.contains("What nodes were held for"));
    let (code, json, _) = run(place.niagara(&["report", "--json"]).arg(place.out()));
    assert_eq!(code, Some(0));
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert!(
        json["nodes_held"]["load"]
            .as_f64()
            .is_some_and(|load| load > 0.0)
    );
    assert_eq!(verdict(&place).scores.len(), 8);
    check_once(&place, &folder);
    check_held(&place, &folder);
    for worker in [&mut second, &mut third] {
        assert!(worker.wait().expect("it ends").success());
    }
    let ids = [first.id(), second.id(), third.id()];
    wait_until("end of the servers", Duration::from_secs(10), || {
        servers_of(&ids).is_empty()
    });
    // What a killed worker left is swept by the next start on its machine.
    let ended = [second.id(), third.id()].map(|id| format!("run-{id}-"));
    let left: Vec<_> = std::fs::read_dir(cache().join("work"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| ended.iter().any(|run| name.starts_with(run)))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Nobody told them to take turns: one is given duels, and the other one follows when that is killed.
#[test]
fn two_workers_on_one_machine_do_not_run_duels_side_by_side_and_it_is_told() {
    let place = Place::new();
    let on = ["--on", "folder", "--nodes", "2", "--silence", "8s"];
    // Files: nobody reads what it says while it runs.
    let said = ["stdout", "stderr"].map(|name| place.folder.path().join(name));
    let [stdout, stderr] = [0, 1].map(|stream| File::create(&said[stream]).expect("room"));
    let mut head = compare(&place, 8, &on)
        .stdout(stdout)
        .stderr(stderr)
        .spawn()
        .expect("it starts");
    let folder = wait_for_study(&shared(&place));
    let mut workers = ["w1", "w2"].map(|name| worker(&place, &folder, name, &[]));
    wait_until("word of it", Duration::from_secs(60), || {
        !of_kind(&folder, "shares").is_empty()
    });
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
    assert_eq!(verdict(&place).scores.len(), 8);
    check_once(&place, &folder);
    check_seconds(&place, &stdout);
    check_held(&place, &folder);
    // Until the first was silent, the second was granted nothing.
    let lines = head_lines(&folder);
    let silent = lines.iter().position(|line| line["what"] == "silent");
    let (before, after) = lines.split_at(silent.expect("it was killed"));
    let granted = |line: &&serde_json::Value| line["what"] == "granted";
    for line in before.iter().filter(granted) {
        assert_eq!(text(&line["worker"]), killed.worker, "{line}");
    }
    for line in after.iter().filter(granted) {
        assert_ne!(text(&line["worker"]), killed.worker, "{line}");
    }
    // While it runs, at its end, on the page and for programs.
    assert!(stderr.contains("has no machine of its own"), "{stderr}");
    let told = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("no machine of its own: w"), "{stdout}");
    let page = std::fs::read_to_string(place.out().join("report.html")).expect("a page");
    assert!(page.contains("no machine of its own: w"));
    let (_, json, _) = run(place.niagara(&["report", "--json"]).arg(place.out()));
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let shared = &json["nodes_held"]["on_one_machine"];
    assert_eq!(shared.as_array().map(Vec::len), Some(1), "{shared}");
    for worker in &mut workers {
        worker.wait().expect("it ends");
    }
}

#[test]
fn a_server_that_dies_on_a_node_is_the_outcome_of_its_side_and_no_loss() {
    let place = Place::new();
    // Duels of three seconds under load: time to hit one in its middle.
    let long = place.compare_of(8, 10, "20m");
    let mut head = on_machines(&place, long, &["--on", "folder", "--nodes", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let folder = wait_for_study(&shared(&place));
    let mut only = worker(&place, &folder, "w1", &[]);
    place.wait_for_duels(1, &mut head);
    let ids = [only.id()];
    kill_a_server(&ids);
    let output = head.wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{stderr}");
    assert!(only.wait().expect("it ends").success());
    // The duel is in the results, with the side that failed; it was not run again in its place.
    let failed: Vec<_> = place
        .duels()
        .into_iter()
        .filter_map(|duel| match duel.ending {
            Ending::Failed { reason, .. } => Some(reason),
            _ => None,
        })
        .collect();
    let [reason] = &failed[..] else {
        panic!("{failed:?}\n{stderr}");
    };
    assert!(reason.cause.starts_with("on w"), "where: {reason}");
    let scored = place.duels();
    let scored = scored.iter().filter(|duel| duel.score.is_some());
    assert_eq!(scored.count(), 8);
    assert_eq!(verdict(&place).scores.len(), 9);
    check_once(&place, &folder);
    for line in head_lines(&folder) {
        assert!(line["what"] != "failed", "no node has failed: {line}");
        let lost = line["what"] == "withdrawn" && line["begun"] == true;
        assert!(!lost, "no infrastructure was lost: {line}");
    }
    check_seconds(&place, &stdout);
    check_held(&place, &folder);
    // Told while it happens, at the end and on the page: who, how often, where, of what.
    let told = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("failed in 1 of its duels: on w"), "{stdout}");
    assert!(stderr.contains("of a duel failed: on w"), "{stderr}");
    let page = std::fs::read_to_string(place.out().join("report.html")).expect("a page");
    assert!(page.contains("failed in 1 of its duels: on w"));
    wait_until("end of the servers", Duration::from_secs(10), || {
        servers_of(&ids).is_empty()
    });
}

/// Kills a server of two that were not there a moment ago and have the connections of their load: their duel has just begun.
fn kill_a_server(workers: &[u32]) {
    let before = servers_of(workers);
    let mut victim = None;
    wait_until("two servers", Duration::from_secs(60), || {
        let servers = servers_of(workers);
        let fresh = servers.iter().filter(|server| !before.contains(server));
        let loaded = fresh.filter(|server| sockets(**server) > 4).count();
        victim = (servers.len() == 2 && loaded == 2).then(|| servers[0]);
        victim.is_some()
    });
    signal(victim.expect("waited for"), Signal::SIGKILL);
}

/// Servers of these workers, also of ended ones: folders of a run are named after the process that runs it.
pub(crate) fn servers_of(workers: &[u32]) -> Vec<i32> {
    let runs: Vec<String> = workers.iter().map(|id| format!("/run-{id}-")).collect();
    processes(|command| {
        command.contains("mariadbd") && runs.iter().any(|run| command.contains(run))
    })
}

/// Sockets that a process has open: what it listens on, and its connections.
fn sockets(pid: i32) -> usize {
    let open = std::fs::read_dir(format!("/proc/{pid}/fd"));
    let links = open.into_iter().flatten().flatten();
    let links = links.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    links
        .filter(|link| link.to_string_lossy().starts_with("socket:"))
        .count()
}

#[test]
fn nodes_are_tried_before_their_first_duel_and_the_trial_is_no_duel() {
    let place = Place::new();
    let on = ["--on", "folder", "--nodes", "2", "--try-nodes"];
    // A trial of fewer than four couples says nothing of a node's spread.
    let head = compare(&place, 8, &on)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let folder = wait_for_study(&shared(&place));
    let alone = ["--one-at-a-time"];
    let mut workers = ["w1", "w2"].map(|name| worker(&place, &folder, name, &alone));
    let output = head.wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{stderr}");
    for worker in &mut workers {
        assert!(worker.wait().expect("it ends").success());
    }
    assert_eq!(verdict(&place).scores.len(), 8);
    check_once(&place, &folder);
    check_seconds(&place, &stdout);
    check_held(&place, &folder);
    for name in arrived(&folder) {
        // Every result brings it: the first one of a node may be lost.
        let its = of_kind(&folder, "taken").into_iter();
        let its: Vec<_> = its.filter(|line| line["worker"] == name.as_str()).collect();
        assert!(!its.is_empty(), "{name} ran nothing");
        for line in its {
            let (duel, epoch) = attempt(&line);
            let file = folder
                .join("workers")
                .join(&name)
                .join(format!("{duel}.{epoch}.json"));
            let result = std::fs::read(file).expect("taken from there");
            let result: serde_json::Value = serde_json::from_slice(&result).expect("JSON");
            assert!(result["trial"]["taken"].is_f64(), "{line}");
            assert!(result["trial"]["deviation"].is_null(), "three couples");
        }
    }
}

#[test]
fn a_node_whose_disk_cannot_be_written_is_set_aside_and_the_verdict_is_the_undisturbed_one() {
    let place = Place::new();
    let mut head = compare(&place, DUELS, &["--on", "folder", "--nodes", "2"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let folder = wait_for_study(&shared(&place));
    // Its folder can be made by nobody: it stands below a file.
    let broken = folder.join("study.json").join("disk");
    let words = recording().worker_arguments(&place, 0.5);
    for _ in 0..2 {
        let status = place
            .niagara(&["fleet", "worker"])
            .arg(&folder)
            .args(["--name", "w1", "--node", "n1", "--node-dir"])
            .arg(&broken)
            .args(&words)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert!(status.expect("it runs").success(), "told, and ended");
    }
    let mut good = recording().worker(&place, &folder, "w2", 0.5, &[]);
    wait_until("end", Duration::from_secs(240), || {
        head.try_wait().expect("a child").is_some()
    });
    let output = head.wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{stderr}");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.contains("set aside: n1"), "{stdout}");
    good.wait().expect("it ends");
    assert_eq!(verdict(&place), recording().undisturbed);
    check_once(&place, &folder);
    check_seconds(&place, &stdout);
    check_held(&place, &folder);
    let taken = of_kind(&folder, "taken");
    assert!(taken.iter().all(|line| line["node"] == "w2"), "{taken:?}");
    // It was no duel that was lost: none had begun.
    let withdrawn = of_kind(&folder, "withdrawn");
    assert!(withdrawn.iter().all(|line| line["begun"] == false));
}
