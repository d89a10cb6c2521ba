//! `niagara server check` as a user meets it: what it prints, how it ends, what it leaves behind.

mod common;

use std::process::Stdio;
use std::time::Duration;

use common::{Place, run, signal, wait_until};
use nix::sys::signal::Signal;

#[test]
fn figures_are_printed_and_kept_for_the_binary() {
    let place = Place::new();
    let check = |json: &[&str]| {
        let mut words = vec![
            "server",
            "check",
            "mariadb-10.11",
            "--part",
            "crash",
            "--kills",
            "1",
        ];
        words.extend(json);
        run(&mut place.niagara(&words))
    };
    let (code, stdout, stderr) = check(&[]);
    assert_eq!(code, Some(0), "{stdout}\n{stderr}");
    for told in [
        "crash recovery: passed",
        "acknowledged commits",
        "1 kill,",
        "sha256",
    ] {
        assert!(stdout.contains(told), "{told}: {stdout}");
    }
    // Which of the two depends on what was checked before, for which the cache has a record.
    assert!(
        stdout.contains("nothing wrong found so far")
            || stdout.contains("correct as far as looked"),
        "{stdout}"
    );
    let (code, stdout, stderr) = check(&["--json"]);
    assert_eq!(code, Some(0), "{stdout}\n{stderr}");
    let record: serde_json::Value = serde_json::from_str(&stdout).expect("JSON alone");
    assert_eq!(record["parts"]["crash"]["outcome"], "passed");
    assert_eq!(record["sha256"].as_str().map(str::len), Some(64));
    assert!(place.servers().is_empty());
}

#[test]
fn ctrl_c_ends_a_check_and_its_servers() {
    let place = Place::new();
    let mut child = place
        .niagara(&[
            "server",
            "check",
            "mariadb-10.11",
            "--part",
            "crash",
            "--kills",
            "1000",
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("niagara starts");
    wait_until("server of the check", Duration::from_secs(120), || {
        assert!(
            child.try_wait().expect("a child of ours").is_none(),
            "ended early"
        );
        !place.servers().is_empty()
    });
    signal(child.id() as i32, Signal::SIGINT);
    let status = child.wait().expect("a child of ours");
    assert_eq!(status.code(), Some(130));
    assert!(place.servers().is_empty());
    let left = std::fs::read_dir(place.work())
        .expect("the work folder")
        .count();
    assert_eq!(left, 0, "folders are left in {}", place.work().display());
}

#[test]
fn mistakes_are_told_with_a_remedy() {
    let place = Place::new();
    for (words, told) in [
        (
            &["mariadb-10.12"][..],
            "known: mariadb-10.11, mariadb-11.8, mysql-9.7\nremedy: name one of these",
        ),
        (
            &["/nonexistent/mariadbd"],
            "cannot run /nonexistent/mariadbd: No such file or directory (os error 2)\nremedy: give the path of mariadbd",
        ),
        (
            &["/usr/bin/true"],
            "asked for its version, it wrote nothing (exit status: 0)\nremedy: give the path of mariadbd",
        ),
        (&["mariadb-10.11", "--kills", "0"], "expected 1 to 1000"),
        (
            &["mariadb-10.11", "--part", "speed"],
            "[possible values: crash, answers, suite]",
        ),
        (
            &["mariadb-10.11", "--part", "suite", "--test", "main.nothing"],
            "the test main.nothing is not listed",
        ),
    ] {
        let mut all = vec!["server", "check"];
        all.extend(words);
        let (code, stdout, stderr) = run(&mut place.niagara(&all));
        assert!(code == Some(1) || code == Some(2), "{words:?}: {code:?}");
        assert!(stderr.contains(told), "{words:?}: {stdout}\n{stderr}");
    }
}
