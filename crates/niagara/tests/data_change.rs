//! Statements as a change of a variant: executed once on a copy of the data, refused where they would leave it.

mod common;

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use common::{Place, run, signal, wait_until};
use niagara_model::{Ending, Summary};
use niagara_store::Store;
use nix::sys::signal::Signal;

/// A comparison of a few seconds against what `b` says.
fn compared(place: &Place, b: &str, workload: &[&str]) -> Command {
    let mut command = place.niagara(&["compare", "base", b]);
    command.args(workload);
    command.args([
        "--threads",
        "2",
        "--slice",
        "100ms",
        "--couples",
        "2",
        "--warm-up",
        "100ms",
        "--max-duels",
        "2",
        "--to-the-end",
        "--disturbance",
        "100%",
        "--budget",
        "3m",
        "--seed",
        "3",
    ]);
    command.arg("--out").arg(place.out());
    command
}

const SYSBENCH: [&str; 4] = ["--workload", "oltp_read_only", "--table-size", "1000"];

/// A comment that no other test's statement has: what is made here is made anew.
fn fresh() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanoseconds = since.expect("after 1970").as_nanos();
    format!("/* {} {nanoseconds} */", std::process::id())
}

fn write(place: &Place, name: &str, text: &str) {
    fs::write(place.folder.path().join(name), text).expect("written");
}

#[test]
fn statements_change_the_data_of_one_side() {
    let place = Place::new();
    // An index that the workload reads at its start is gone, and another one is there.
    let text = format!(
        "-- the change\nALTER TABLE sbtest1 DROP INDEX k_1, ADD INDEX by_c (c);\n\n{}\nUPDATE sbtest1 SET pad = 'x' WHERE id < 10;\nANALYZE TABLE sbtest1;\n",
        fresh()
    );
    write(&place, "add.sql", &text);
    let (code, stdout, stderr) = run(&mut compared(&place, "sql=./add.sql", &SYSBENCH));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("sql=./add.sql"), "{stdout}");
    let store = Store::open_read_only(&place.out().join("results.db")).expect("results");
    let Some(Summary::Compare(compare)) = store.summary().expect("readable") else {
        panic!("a comparison");
    };
    assert_eq!(compare.comparison.throughput.duels, 2);
    let duels = place.duels();
    assert!(
        duels.iter().all(|duel| duel.ending == Ending::Scored),
        "{duels:?}"
    );
}

#[test]
fn statements_change_tpcc_too() {
    let place = Place::new();
    let change = "sql='ALTER TABLE customer DROP INDEX customer_name'";
    let workload = ["--workload", "tpcc", "--warehouses", "1"];
    let (code, _, stderr) = run(&mut compared(&place, change, &workload));
    assert_eq!(code, Some(0), "{stderr}");
}

#[test]
fn statements_that_leave_the_copy_are_refused() {
    let place = Place::new();
    write(
        &place,
        "bad.sql",
        "ANALYZE TABLE sbtest1;\nSET GLOBAL max_connections = 5;\n",
    );
    let (code, _, stderr) = run(&mut compared(&place, "sql=./bad.sql", &SYSBENCH));
    assert_ne!(code, Some(0));
    assert!(
        stderr.contains("bad.sql:2: SET GLOBAL max_connections = 5 is refused")
            && stderr.contains("remedy: leave it out"),
        "{stderr}"
    );
}

#[test]
fn a_failed_statement_ends_the_preparation() {
    let place = Place::new();
    let text = format!(
        "{}\nALTER TABLE sbtest1 ADD INDEX by_c (c);\nALTER TABLE sbtest1 ADD INDEX (no_such);\n",
        fresh()
    );
    write(&place, "bad.sql", &text);
    let (code, _, stderr) = run(&mut compared(&place, "sql=./bad.sql", &SYSBENCH));
    assert_ne!(code, Some(0));
    assert!(
        stderr.contains("bad.sql:3: the server refuses ALTER TABLE sbtest1 ADD INDEX (no_such)")
            && stderr.contains("Key column 'no_such' doesn't exist"),
        "{stderr}"
    );
    assert!(place.servers().is_empty());
}

#[test]
fn a_kill_leaves_nothing_half_changed() {
    let place = Place::new();
    let mark = fresh();
    let text = format!("ALTER TABLE sbtest1 ADD COLUMN added INT;\nSELECT SLEEP(4) {mark};\n");
    write(&place, "slow.sql", &text);
    let log = place.folder.path().join("stderr");
    let mut child = compared(&place, "sql=./slow.sql", &SYSBENCH)
        .stdout(Stdio::null())
        .stderr(fs::File::create(&log).expect("a file"))
        .spawn()
        .expect("niagara starts");
    wait_until("the second statement", Duration::from_secs(240), || {
        assert!(child.try_wait().expect("a child of ours").is_none());
        fs::read_to_string(&log).is_ok_and(|text| text.contains("statement 2 of 2"))
    });
    signal(child.id() as i32, Signal::SIGKILL);
    child.wait().expect("a child of ours");
    // The same command makes it from the beginning: ADD COLUMN would fail on what is half-changed.
    let (code, _, stderr) = run(&mut compared(&place, "sql=./slow.sql", &SYSBENCH));
    assert_eq!(code, Some(0), "{stderr}");
    // And it is there now.
    fs::remove_dir_all(place.out()).expect("results");
    let (code, _, stderr) = run(&mut compared(&place, "sql=./slow.sql", &SYSBENCH));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(!stderr.contains("statement 2 of 2"), "{stderr}");
}

#[test]
fn a_ladder_has_rungs_of_statements() {
    let place = Place::new();
    let study = r#"kind = "ladder"
title = "t"
asked = "asked then"
changed = "changed since"
measured = "measured now"
duels = 2
couples = 2
slice = "100ms"
warm_up = "200ms"
disturbance = "100%"
budget = "3m"
seed = 3
threads = 2
controls = false
[workload]
name = "oltp_point_select"
options = { table_size = 1000 }
[[rungs]]
title = "an index"
sql = ["ALTER TABLE sbtest1 ADD INDEX by_c (c)", "./analyze.sql"]
[[rungs]]
title = "on top of it"
levers = ["sql=./analyze.sql", "transport=unix"]
"#;
    write(&place, "study.toml", study);
    write(&place, "analyze.sql", "ANALYZE TABLE sbtest1;\n");
    let mut command = place.niagara(&["run", "study.toml"]);
    command.arg("--out").arg(place.out());
    let (code, _, stderr) = run(&mut command);
    assert_eq!(code, Some(0), "{stderr}");
    let store = Store::open_read_only(&place.out().join("results.db")).expect("results");
    assert!(matches!(store.summary(), Ok(Some(Summary::Ladder(_)))));
    write(
        &place,
        "study.toml",
        &study.replace("\"./analyze.sql\"]", "\"GRANT ALL ON *.* TO a\"]"),
    );
    let mut command = place.niagara(&["run", "study.toml"]);
    command.arg("--out").arg(place.out());
    let (code, _, stderr) = run(&mut command);
    assert_ne!(code, Some(0));
    assert!(
        stderr.contains("study.toml:20:") && stderr.contains("it is about accounts"),
        "{stderr}"
    );
}
