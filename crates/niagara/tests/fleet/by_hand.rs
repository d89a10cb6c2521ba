//! Workers that are started by hand, with real servers.

use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::common::{Place, run, signal, wait_until};
use crate::{check_seconds, compare, shared, verdict, wait_for_study, worker};

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
        .stdout(Stdio::piped())
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
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.contains("set aside: n1"), "{stdout}");
    assert_eq!(verdict(&place).scores.len(), 6);
    good.wait().expect("it ends");
}
