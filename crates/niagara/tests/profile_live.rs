//! `niagara profile` of a server that runs already: it is observed under its own load, and stays as it is.

mod common;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::existing::Existing;
use common::{Place, run, signal, wait_until};
use niagara_profile::kernel::{Access, Reach};
use nix::sys::signal::Signal;
use serde_json::Value;

/// Bound on what takes moments.
const PATIENCE: Duration = Duration::from_secs(120);
/// Everything that the profile might change by mistake.
const SETTINGS: [&str; 3] = [
    "SHOW GLOBAL VARIABLES",
    "SELECT NAME, ENABLED, TIMED FROM performance_schema.setup_instruments ORDER BY NAME",
    "SELECT NAME, ENABLED FROM performance_schema.setup_consumers ORDER BY NAME",
];

/// A load that ends with the test.
struct Load(Child);

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Clients of the server that go on until the test is over.
fn load(existing: &Existing) -> Load {
    let table = ["--table-size", "1000"];
    let (code, _, stderr) = run(existing
        .bench(&["oltp_point_select", "prepare"])
        .args(table));
    assert_eq!(code, Some(0), "{stderr}");
    let mut bench = existing.bench(&["oltp_point_select", "run", "--threads", "4"]);
    bench.args(table).args(["--time", "1h"]);
    let child = bench.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let load = Load(child.expect("niagara starts"));
    let questions = || -> u64 {
        let asked = "SHOW GLOBAL STATUS LIKE 'Questions'";
        let rows = existing.server.query(asked).expect("counters").concat();
        rows[1].parse().expect("a number")
    };
    let before = questions();
    wait_until("load", PATIENCE, || questions() > before + 1000);
    load
}

fn settings(existing: &Existing) -> Vec<Vec<Vec<String>>> {
    let asked = SETTINGS.map(|statement| existing.server.query(statement).expect(statement));
    asked.into()
}

fn profile(existing: &Existing, more: &[&str]) -> Command {
    let mut command = existing.place.niagara(&["profile"]);
    command
        .args(more)
        .args(["--slice", "250ms", "--json", "--out"])
        .arg(existing.place.out())
        .env_remove("MYSQL_PWD")
        .env("NIAGARA_PASSWORD", existing.server.password());
    command
}

/// The only profile of a document that a command prints.
fn profiled(command: &mut Command) -> Value {
    let (code, stdout, stderr) = run(command);
    assert_eq!(code, Some(0), "{stdout}\n{stderr}");
    let document = common::document::read(&stdout);
    document["profiles"][0].clone()
}

/// Codes of what is not known.
fn gaps(profile: &Value) -> Vec<&str> {
    let gaps = profile["live"]["gaps"].as_array().expect("a list");
    gaps.iter().filter_map(|gap| gap["code"].as_str()).collect()
}

#[test]
fn a_server_is_profiled_by_its_socket_and_left_as_it_is() {
    let existing = Existing::start(
        "mariadb-10.11",
        &[
            ("performance_schema", "ON"),
            ("performance_schema_instrument", "wait/synch/%=ON"),
        ],
    );
    let _load = load(&existing);
    let before = settings(&existing);
    let socket = existing.server.socket().display().to_string();
    let account = ["--socket", &socket, "--user", existing.server.user()];
    let profile = profiled(profile(&existing, &account).args(["--seconds", "2s"]));
    assert!(settings(&existing) == before, "something was set");

    assert_eq!(profile["live"]["pid"], existing.server.pid());
    assert!(
        profile["server_version"]
            .as_str()
            .is_some_and(|version| version.starts_with("MariaDB 10.11.")),
        "{profile}"
    );
    let gaps = gaps(&profile);
    for gap in ["repetition", "observation-cost", "allocations"] {
        assert!(gaps.contains(&gap), "{gaps:?}");
    }
    assert!(
        !gaps.contains(&"queries") && !gaps.contains(&"locks"),
        "{gaps:?}"
    );
    assert_eq!(profile["costs"], Value::Array(Vec::new()));
    assert!(profile["queries_per_second"].as_f64() > Some(0.0));
    assert!(profile["allocations"].is_null());
    let named = profile["locks"]["named"].as_array();
    assert!(named.is_some_and(|named| named.len() > 3), "{profile}");
    let reach = Access::probe().reach;
    if reach >= Reach::Kernel {
        assert!(profile["cpu"]["samples"].as_u64() > Some(0), "{profile}");
        assert!(profile["cpu_us_per_query"].as_f64() > Some(0.0));
        // The load's four threads, which serve.
        assert!(profile["off_cpu"]["threads"][0].as_u64() >= Some(4));
        assert!(existing.place.out().join("cpu-a.folded").exists());
    }
    if reach == Reach::Machine {
        assert!(!profile["cpu"]["machine"]["server"].is_null(), "{profile}");
        let calls = profile["syscalls"].as_array().cloned().unwrap_or_default();
        let answers = calls.iter().find(|call| call["name"] == "sendto");
        let answers = answers.unwrap_or_else(|| panic!("{calls:?}"));
        assert!(answers["per_query"].as_f64() > Some(0.1), "{answers}");
        assert!(answers["per_second"].as_f64() > Some(0.0), "{answers}");
    }
    let markdown = std::fs::read_to_string(existing.place.out().join("report.md"));
    let markdown = markdown.expect("written");
    for words in ["its own load", "what observing costs: "] {
        assert!(markdown.contains(words), "{words}\n{markdown}");
    }
    assert_eq!(
        existing.server.query("SELECT 7").expect("it answers"),
        [["7"]]
    );
}

#[test]
fn a_server_is_profiled_by_its_process_without_an_account() {
    if Access::probe().reach == Reach::Nothing {
        return;
    }
    let existing = Existing::start("mariadb-10.11", &[]);
    let _load = load(&existing);
    let pid = existing.server.pid().to_string();
    let views = ["--pid", &pid, "--views", "cpu", "--seconds", "2s"];
    let profile = profiled(&mut profile(&existing, &views));
    assert_eq!(profile["live"]["pid"], existing.server.pid());
    assert!(profile["cpu"]["samples"].as_u64() > Some(0), "{profile}");
    // Nobody asked the server, and so no figure is by the query.
    assert!(gaps(&profile).contains(&"queries"), "{profile}");
    assert!(profile["queries_per_second"].is_null());
    assert!(profile["cpu_us_per_query"].is_null());
    let layers = profile["cpu"]["layers"].as_array().expect("a list");
    assert!(layers.iter().all(|layer| layer["us_per_query"].is_null()));
    // It greets with its release, whoever connects.
    assert!(
        profile["server_version"]
            .as_str()
            .is_some_and(|version| version.starts_with("MariaDB 10.11.")),
        "{profile}"
    );
}

#[test]
fn locks_that_a_server_does_not_count_are_named_as_such() {
    let existing = Existing::start("mariadb-10.11", &[("performance_schema", "OFF")]);
    let _load = load(&existing);
    let socket = existing.server.socket().display().to_string();
    let locks = ["--socket", &socket, "--views", "locks", "--seconds", "2s"];
    let account = ["--user", existing.server.user()];
    let profile = profiled(profile(&existing, &locks).args(account));
    let gaps = profile["live"]["gaps"].as_array().expect("a list");
    let gap = gaps.iter().find(|gap| gap["code"] == "locks");
    assert_eq!(gap.expect("named")["cause"], "schema-off");
    assert_eq!(profile["locks"]["named"], Value::Array(Vec::new()));
}

#[test]
fn a_stop_leaves_the_server_at_work() {
    if Access::probe().reach == Reach::Nothing {
        return;
    }
    let existing = Existing::start("mariadb-10.11", &[]);
    let _load = load(&existing);
    let pid = existing.server.pid().to_string();
    let mut child = profile(&existing, &["--pid", &pid, "--seconds", "10m"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("niagara starts");
    let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    let begun = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains("cpu: slice")));
    assert!(begun.is_some(), "no view has begun");
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    assert!(status.contains("TracerPid:\t0"), "{status}");
    signal(child.id() as i32, Signal::SIGINT);
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    let ended = child.wait().expect("it ends");
    assert_eq!(ended.code(), Some(130), "{rest:?}");
    // What was seen until then is kept.
    let report = existing.place.out().join("report.md");
    let report = std::fs::read_to_string(report).expect("written");
    assert!(
        report.contains("stopped before this view had ended"),
        "{report}"
    );
    assert_eq!(
        existing.server.query("SELECT 7").expect("it answers"),
        [["7"]]
    );
}

#[test]
fn what_is_no_server_is_refused() {
    let place = Place::new();
    let refused = |arguments: &[&str], words: &[&str]| {
        let (code, _, stderr) = run(place.niagara(&["profile"]).args(arguments));
        assert_eq!(code, Some(1), "{stderr}");
        for word in words.iter().chain(&["\nremedy: "]) {
            assert!(stderr.contains(word), "{word}\n{stderr}");
        }
        assert!(!place.folder.path().join("niagara-results").exists());
    };
    let own = std::process::id().to_string();
    refused(
        &["--pid", &own],
        &["is no server of the MySQL family", "pgrep"],
    );
    refused(
        &["--pid", "2147483647"],
        &["there is no process 2147483647"],
    );
    refused(&["--socket", "none.sock"], &["cannot connect to none.sock"]);
    let socket = place.folder.path().join("s");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
    refused(
        &["--socket", &socket.display().to_string()],
        &["which is not a server"],
    );
}
