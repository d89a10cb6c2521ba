//! Whatever ends a study, nothing is left running and what was measured is kept.

mod common;

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use common::{Place, run, signal, socket_of, wait_until};
use niagara_model::{Ending, Event};
use niagara_store::Store;
use nix::sys::signal::Signal;
use serde_json::json;

#[test]
fn ctrl_c_keeps_what_was_measured_and_the_same_command_continues() {
    let place = Place::new();
    let mut child = place.start_small_compare(Stdio::null());
    place.wait_for_duels(2, &mut child);
    let sockets: Vec<_> = place.servers().into_iter().filter_map(socket_of).collect();
    signal(child.id() as i32, Signal::SIGINT);
    let status = child.wait().expect("niagara ends");
    assert_eq!(status.code(), Some(130));
    assert_eq!(place.servers(), Vec::<i32>::new());
    for socket in sockets {
        assert!(!socket.exists(), "{} is left", socket.display());
    }
    let kept = place.duels().len();
    assert!(kept >= 2);

    let (code, stdout, stderr) = run(place.niagara(&["report"]).arg(place.out()));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("not judged yet"), "{stdout}");

    let (code, _, stderr) = run(&mut place.small_compare());
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("continuing the study"), "{stderr}");
    let duels = place.duels();
    assert_eq!(duels.iter().filter(|duel| duel.score.is_some()).count(), 8);
    for (place_in_study, duel) in duels.iter().enumerate() {
        assert_eq!(duel.seq as usize, place_in_study, "each duel is there once");
    }
}

#[test]
fn what_was_started_with_nohup_outlives_its_terminal() {
    let place = Place::new();
    let comparison = place.small_compare();
    let mut child = Command::new("sh")
        .args(["-c", "trap '' HUP; exec \"$@\"", "sh"])
        .arg(comparison.get_program())
        .args(comparison.get_args())
        .envs(
            comparison
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("niagara starts");
    place.wait_for_duels(1, &mut child);
    signal(child.id() as i32, Signal::SIGHUP);
    let status = child.wait().expect("niagara ends");
    assert_eq!(status.code(), Some(0));
    assert_eq!(place.duels().len(), 8);
}

#[test]
fn a_study_is_not_continued_with_another_binary_nor_elsewhere() {
    let place = Place::new();
    let mut child = place.start_small_compare(Stdio::null());
    place.wait_for_duels(1, &mut child);
    signal(child.id() as i32, Signal::SIGINT);
    child.wait().expect("niagara ends");
    let duels = place.duels().len();
    // As if it had been begun before an upgrade, and on another machine.
    for ((key, value), told) in [
        (
            ("binary mariadb-10.11", json!("that of then")),
            "another binary of mariadb-10.11",
        ),
        (
            (
                "measured on",
                json!({"machine": {"cpu": "Z80", "cpus": 1, "kernel": "1.0", "client": null}}),
            ),
            "CPU Z80 then",
        ),
    ] {
        let store = Store::open(&place.out().join("results.db")).expect("the results");
        let key = key.to_owned();
        let decision = Event::Decision { key, value };
        store.add_event(0, &decision).expect("room");
        drop(store);
        let (code, _, stderr) = run(&mut place.small_compare());
        assert_eq!(code, Some(1), "{stderr}");
        assert!(stderr.contains(told), "{stderr}");
        assert!(
            stderr.contains("remedy: ") && stderr.contains("--out"),
            "{stderr}"
        );
    }
    assert_eq!(place.duels().len(), duels);
}

#[test]
fn one_request_that_arrives_as_two_signals_still_prints_the_report() {
    let place = Place::new();
    let mut child = place
        .small_compare()
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("niagara starts");
    place.wait_for_duels(1, &mut child);
    // As `timeout` does it: the process, then its group.
    signal(child.id() as i32, Signal::SIGINT);
    std::thread::sleep(Duration::from_millis(100));
    signal(child.id() as i32, Signal::SIGINT);
    let output = child.wait_with_output().expect("niagara ends");
    assert_eq!(output.status.code(), Some(130));
    assert!(!output.stdout.is_empty(), "no report was printed");
}

#[test]
fn kill_9_leaves_no_server_and_the_same_command_continues() {
    let place = Place::new();
    let mut child = place.start_small_compare(Stdio::null());
    place.wait_for_duels(1, &mut child);
    // In the middle of a duel: one server under load, the other frozen.
    wait_until("two servers", Duration::from_secs(60), || {
        place.servers().len() == 2
    });
    let kept = place.duels().len();
    signal(child.id() as i32, Signal::SIGKILL);
    child.wait().expect("niagara is gone");
    wait_until("end of the servers", Duration::from_secs(10), || {
        place.servers().is_empty()
    });
    assert!(place.duels().len() >= kept);

    // What was measured can be told, by one who does not want to continue.
    let mut report = Command::new(env!("CARGO_BIN_EXE_niagara"));
    let (code, stdout, stderr) = run(report.arg("report").arg(place.out()));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("interrupted"), "{stdout}");

    let (code, stdout, stderr) = run(&mut place.small_compare());
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("continuing the study"), "{stderr}");
    assert!(!stdout.contains("interrupted"), "{stdout}");
    let left: Vec<_> = std::fs::read_dir(place.work())
        .expect("the work folder")
        .flatten()
        .map(|entry| entry.path())
        .collect();
    assert!(left.is_empty(), "clones left behind: {left:?}");
}

#[test]
fn a_study_that_runs_is_not_run_by_another_and_one_that_was_killed_is_free() {
    let place = Place::new();
    let mut child = place.start_small_compare(Stdio::null());
    place.wait_for_duels(1, &mut child);
    let (code, _, stderr) = run(&mut place.small_compare());
    assert_eq!(code, Some(1), "{stderr}");
    let pid = format!("process {}", child.id());
    for word in [pid.as_str(), "--out", &place.out().display().to_string()] {
        assert!(stderr.contains(word), "no {word:?} in\n{stderr}");
    }
    assert!(
        child.try_wait().expect("a child of ours").is_none(),
        "the first one was disturbed"
    );
    signal(child.id() as i32, Signal::SIGKILL);
    child.wait().expect("niagara is gone");
    let (code, _, stderr) = run(&mut place.small_compare());
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("continuing the study"), "{stderr}");
    let scored = place
        .duels()
        .iter()
        .filter(|duel| duel.score.is_some())
        .count();
    assert_eq!(scored, 8);
}

#[test]
fn a_server_that_crashes_under_load_costs_its_duel_and_nothing_else() {
    let place = Place::new();
    let mut child = place.start_small_compare(Stdio::null());
    place.wait_for_duels(1, &mut child);
    wait_until("two servers", Duration::from_secs(60), || {
        place.servers().len() == 2
    });
    signal(place.servers()[0], Signal::SIGKILL);
    let status = child.wait().expect("niagara ends");
    assert_eq!(status.code(), Some(0));
    let duels = place.duels();
    let failed = duels
        .iter()
        .filter(|duel| matches!(duel.ending, Ending::Failed { .. }))
        .count();
    assert_eq!(failed, 1, "the crash is in the results");
    assert_eq!(duels.iter().filter(|duel| duel.score.is_some()).count(), 8);
    assert_eq!(place.servers(), Vec::<i32>::new());
}

/// A mounted folder, unmounted however the test ends.
struct Mount(PathBuf);

impl Drop for Mount {
    fn drop(&mut self) {
        if let Err(error) = nix::mount::umount2(&self.0, nix::mount::MntFlags::MNT_DETACH) {
            eprintln!("{} is still mounted: {error}", self.0.display());
        }
    }
}

#[test]
fn a_full_disk_is_an_error_that_names_the_remedy_and_loses_nothing() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("not root: a small disk cannot be mounted, the full disk is not tried");
        return;
    }
    let place = Place::new();
    std::fs::create_dir(place.work()).expect("a folder");
    let mounted = nix::mount::mount(
        Some("tmpfs"),
        &place.work(),
        Some("tmpfs"),
        nix::mount::MsFlags::empty(),
        Some("size=700m"),
    );
    if let Err(error) = mounted {
        eprintln!("a small disk cannot be mounted here ({error}): the full disk is not tried");
        return;
    }
    let _mount = Mount(place.work());
    let mut child = place.start_small_compare(Stdio::piped());
    place.wait_for_duels(1, &mut child);
    let mut ballast = std::fs::File::create(place.work().join("ballast")).expect("a file");
    let block = vec![1_u8; 1 << 20];
    // Takes up whatever the duels give back, until niagara gives up.
    wait_until("end of niagara", Duration::from_secs(120), || {
        while ballast.write_all(&block).is_ok() {}
        child.try_wait().expect("a child of ours").is_some()
    });
    let output = child.wait_with_output().expect("niagara ends");
    let kept = place.duels().len();
    let left = place.servers();
    drop(ballast);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("space") || stderr.contains("full"),
        "the cause is not named: {stderr}"
    );
    assert!(kept >= 1);
    assert_eq!(left, Vec::<i32>::new());
}
