//! Ctrl-C within a step of a job.

mod common;

use std::process::Stdio;
use std::time::{Duration, Instant};

use common::existing::Existing;
use common::{run, signal, wait_until};
use nix::sys::signal::Signal;

#[test]
fn ctrl_c_ends_the_statement_in_flight_and_keeps_the_steps_before() {
    let existing = Existing::start("mariadb-10.11", &[]);
    let bench = |action| existing.bench(&["report", action, "--set", "rows=2000"]);
    let (code, _, stderr) = run(&mut bench("prepare"));
    assert_eq!(code, Some(0), "{stderr}");
    // The third step would take some hours.
    let query = |sql| existing.server.query(sql).expect("an answer").concat();
    query(
        "CREATE TRIGGER sbtest.slow BEFORE INSERT ON sbtest.work FOR EACH ROW \
         SET @slept = SLEEP(IF(NEW.kind = 7, 60, 0))",
    );
    let sleeping = "SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'User sleep'";
    let child = bench("run")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("niagara starts");
    wait_until("third step", Duration::from_secs(120), || {
        query(sleeping) == ["1"]
    });
    signal(child.id() as i32, Signal::SIGINT);
    let began = Instant::now();
    let output = child.wait_with_output().expect("niagara ends");
    // About a second; the rest is for a machine with much else to do.
    let took = began.elapsed();
    assert!(took < Duration::from_secs(4), "{took:?}");
    assert_eq!(output.status.code(), Some(130));
    let stdout = String::from_utf8_lossy(&output.stdout);
    for word in ["copy by key", "longest note", "not complete"] {
        assert!(stdout.contains(word), "no {word:?} in\n{stdout}");
    }
    assert!(!stdout.contains("append by key"), "{stdout}");
    assert_eq!(query(sleeping), ["0"], "the statement continues");
}
