//! `niagara bench` with TPC-C, a job, and a workload from a file: on real servers, and when the client is killed.

mod common;

use std::process::{Command, Stdio};
use std::time::Duration;

use common::existing::Existing;
use common::{Place, run, signal, wait_until};
use nix::sys::signal::Signal;
use serde_json::Value;

/// A server that does not wait for its log.
fn existing() -> Existing {
    Existing::start("mariadb-10.11", &[("innodb_flush_log_at_trx_commit", "0")])
}

/// The number that a query answers with.
fn ask(existing: &Existing, sql: &str) -> u64 {
    let rows = existing.server.query(sql).expect("a query");
    rows.concat()[0].parse().expect("a number")
}

fn succeed(command: &mut Command) -> String {
    let (code, stdout, stderr) = run(command);
    assert_eq!(code, Some(0), "{command:?}\n{stdout}\n{stderr}");
    stdout
}

#[test]
fn tpcc_is_consistent_after_a_run_and_after_the_client_was_killed() {
    let existing = existing();
    let tpcc = |action: &[&str]| {
        let mut words = vec!["tpcc"];
        words.extend(action);
        words.extend(["--warehouses", "1"]);
        existing.bench(&words)
    };
    succeed(&mut tpcc(&["prepare"]));
    let stdout = succeed(&mut tpcc(&[
        "run",
        "--threads",
        "8",
        "--time",
        "2s",
        "--warm-up",
        "0",
        "--json",
    ]));
    let result: Value = serde_json::from_str(&stdout).expect("JSON");
    let run = &result["runs"][0];
    assert!(run["new_orders_per_minute"].as_f64().expect("a number") > 0.0);
    let counted: u64 = run["types"]
        .as_array()
        .expect("types")
        .iter()
        .map(|one| one["count"].as_u64().expect("a count"))
        .sum();
    assert_eq!(Some(counted), run["transactions"].as_u64());
    let conditions = result["consistency"].as_array().expect("conditions");
    assert_eq!(conditions.len(), 11);
    assert!(conditions.iter().all(|one| one["violations"] == 0));

    // Killed with transactions in flight.
    let mut child = tpcc(&["run", "--threads", "16", "--time", "60s", "--warm-up", "0"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("niagara starts");
    let orders = || ask(&existing, "SELECT SUM(d_next_o_id) FROM sbtest.district");
    let before = orders();
    wait_until("new orders", Duration::from_secs(60), || {
        orders() > before + 20
    });
    signal(child.id() as i32, Signal::SIGKILL);
    child.wait().expect("a child of ours");
    // What was open is rolled back when the server notices.
    wait_until("end of the transactions", Duration::from_secs(60), || {
        // InnoDB renews the table's content only when nobody has read it for a tenth of a second.
        std::thread::sleep(Duration::from_millis(200));
        ask(
            &existing,
            "SELECT COUNT(*) FROM information_schema.innodb_trx",
        ) == 0
    });
    let stdout = succeed(&mut tpcc(&["check"]));
    assert_eq!(stdout.matches("holds").count(), 11, "{stdout}");

    // A row too many is found.
    existing
        .server
        .query("UPDATE sbtest.warehouse SET w_ytd = w_ytd + 1")
        .expect("an update");
    let (code, stdout, stderr) = common::run(&mut tpcc(&["check"]));
    assert_eq!(code, Some(1));
    assert!(stdout.contains("condition  1 BROKEN 1 times"), "{stdout}");
    assert!(stderr.contains("not consistent"), "{stderr}");
    succeed(&mut tpcc(&["cleanup", "--yes"]));
}

#[test]
fn a_file_is_a_workload_like_any_other() {
    let existing = existing();
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/shop.toml");
    let small = ["--set", "customers=500", "--threads", "4"];
    let bench = |action: &str, more: &[&str]| {
        let mut command = existing.bench(&[shop, action]);
        command.args(small).args(more);
        command
    };
    let stdout = succeed(&mut bench("prepare", &[]));
    assert!(stdout.contains("customer, product and 1 more"), "{stdout}");
    assert_eq!(ask(&existing, "SELECT COUNT(*) FROM sbtest.customer"), 500);
    let stdout = succeed(&mut bench("run", &["--time", "1s", "--warm-up", "0"]));
    for words in ["shop (A small shop)", "order, ", "look, "] {
        assert!(stdout.contains(words), "no {words} in\n{stdout}");
    }
    // A table that the file names and that is somebody else's is dropped for nobody.
    existing
        .server
        .query("ALTER TABLE sbtest.customer ADD COLUMN credit INT")
        .expect("a column of somebody else");
    let (code, _, stderr) = run(&mut bench("cleanup", &["--yes"]));
    assert_eq!(code, Some(1));
    assert!(
        stderr.contains("a column credit") && stderr.contains("remedy"),
        "{stderr}"
    );
    assert_eq!(ask(&existing, "SELECT COUNT(*) FROM sbtest.customer"), 500);
    existing
        .server
        .query("ALTER TABLE sbtest.customer DROP COLUMN credit")
        .expect("gone again");
    succeed(&mut bench("cleanup", &["--yes"]));
    assert_eq!(
        ask(
            &existing,
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'sbtest'"
        ),
        0
    );

    let text = std::fs::read_to_string(shop).expect("the example");
    // A transaction of one's own may be called as one of tpcc's is.
    let named = existing.place.folder.path().join("named.toml");
    let order = "name = \"order\"";
    assert!(text.contains(order), "the test changes something");
    std::fs::write(&named, text.replace(order, "name = \"new_order\"")).expect("written");
    let of_named = |action: &str| {
        let mut command = existing.bench(&["./named.toml", action]);
        command.args(small);
        command
    };
    succeed(&mut of_named("prepare"));
    let mut command = of_named("run");
    command.args(["--time", "1s", "--warm-up", "0", "--json"]);
    let result: Value = serde_json::from_str(&succeed(&mut command)).expect("JSON");
    let found = &result["runs"][0];
    assert_eq!(found["types"][0]["name"], "new_order");
    assert_eq!(found["new_orders_per_minute"], Value::Null);
    succeed(of_named("cleanup").arg("--yes"));

    let file = existing.place.folder.path().join("bad.toml");
    std::fs::write(&file, text.replace("weight = 3", "weight = -3")).expect("written");
    let (code, _, stderr) = run(&mut existing.bench(&["./bad.toml"]));
    assert_eq!(code, Some(1));
    assert!(
        stderr.contains("./bad.toml:") && stderr.contains("remedy"),
        "{stderr}"
    );
    let (code, _, stderr) = run(&mut existing.bench(&["./absent.toml"]));
    assert_eq!(code, Some(1));
    assert!(stderr.contains("cannot read the workload"), "{stderr}");
}

#[test]
fn a_job_is_timed_and_two_servers_are_compared_by_it() {
    let place = Place::new();
    let rows = ["--set", "rows=20000"];
    let stdout = succeed(place.niagara(&["bench", "report", "--json"]).args(rows));
    let result: Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!(result["steps"].as_array().expect("steps").len(), 11);
    assert_eq!(result["cold"], true);
    let stdout = succeed(
        place
            .niagara(&[
                "compare",
                "base",
                "base",
                "--workload",
                "report",
                "--max-duels",
                "2",
                "--threads",
                "1",
                "--budget",
                "5m",
                "--seed",
                "3",
                "--out",
            ])
            .arg(place.out())
            .args(rows),
    );
    assert!(stdout.contains("filter the whole table"), "{stdout}");
    assert!(stdout.contains("medians of 2 pairs"), "{stdout}");
    let kept = std::fs::read_to_string(place.out().join("steps.txt")).expect("the table");
    assert!(kept.contains("in all"), "{kept}");
}
