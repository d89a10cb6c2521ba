//! `niagara bench` on real servers of both branches of the family, private and already running.

mod common;

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64::Engine;
use common::existing::Existing;
use common::{Place, run, signal};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use nix::sys::signal::Signal;
use serde_json::Value;

const SMALL: [&str; 8] = [
    "--threads",
    "4",
    "--table-size",
    "1000",
    "--time",
    "1s",
    "--warm-up",
    "200ms",
];

/// The tables in the server's database.
fn tables(existing: &Existing) -> Vec<String> {
    existing
        .server
        .query(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'sbtest' \
             ORDER BY table_name",
        )
        .expect("a query")
        .concat()
}

fn succeed(command: &mut Command) -> String {
    let (code, stdout, stderr) = run(command);
    assert_eq!(code, Some(0), "{command:?}\n{stdout}\n{stderr}");
    stdout
}

fn refused(command: &mut Command, words: &[&str]) {
    let (code, stdout, stderr) = run(command);
    assert_eq!(code, Some(1), "{command:?}\n{stdout}\n{stderr}");
    for word in words {
        assert!(stderr.contains(word), "no {word:?} in\n{stderr}");
    }
    assert!(!stderr.contains("panicked"), "{stderr}");
}

fn json(command: &mut Command) -> Value {
    let stdout = succeed(command.arg("--json"));
    serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}:\n{stdout}"))
}

fn number(value: &Value, path: &str) -> f64 {
    value
        .pointer(path)
        .and_then(Value::as_f64)
        .unwrap_or_else(|| panic!("no number at {path} in {value:#}"))
}

fn sum(list: &Value, path: &str) -> f64 {
    let list = list.as_array().expect("a list");
    list.iter().map(|one| number(one, path)).sum()
}

/// What must add up in every run, whatever was measured.
fn adds_up(run: &Value) {
    for field in ["/transactions", "/queries"] {
        assert_eq!(sum(&run["intervals"], field), number(run, field), "{field}");
    }
    assert_eq!(sum(&run["statements"], "/count"), number(run, "/queries"));
    let seconds = sum(&run["intervals"], "/seconds");
    assert!(
        (seconds - number(run, "/seconds")).abs() < 1e-6,
        "{seconds}"
    );
    assert!(number(run, "/transactions") > 0.0);
    let latency = ["min", "p50", "p90", "p95", "p99", "p99_9", "p99_99", "max"]
        .map(|name| number(run, &format!("/latency_ms/{name}")));
    assert!(latency.is_sorted(), "{latency:?}");
    assert!(latency[0] > 0.0, "{latency:?}");

    // The server saw what the load says it sent, and the statement that reads the counters.
    let cost = &run["cost"];
    assert_eq!(
        number(cost, "/status/figures/questions/value"),
        number(cost, "/window/queries") + number(cost, "/status/own_statements"),
        "{:#}",
        cost["status"]
    );
    assert_eq!(number(cost, "/status/own_statements"), 1.0);
    assert!(number(cost, "/window/transactions") >= number(run, "/transactions"));
    let cpu = number(cost, "/server/cpu_seconds");
    assert!(cpu > 0.0);
    let parts = number(cost, "/server/user_seconds") + number(cost, "/server/system_seconds");
    assert!((cpu - parts).abs() < 1e-9);
    let each =
        number(cost, "/server_per_transaction/cpu_us") * number(cost, "/window/transactions");
    assert!(
        (each / 1e6 - cpu).abs() < 1e-6 * cpu.max(1.0),
        "{each} {cpu}"
    );
    assert!(number(cost, "/client/cpu_us_per_query") > 0.0);
    // The intervals' accounts follow each other from the first reading on.
    let intervals = sum(&run["intervals"], "/server/cpu_seconds");
    assert!(
        intervals > 0.0 && intervals <= cpu * 1.5 + 0.1,
        "{intervals} {cpu}"
    );
}

fn a_private_server_is_loaded_and_leaves_nothing(name: &str) {
    let place = Place::new();
    let mut command = place.niagara(&["bench", "oltp_read_write", "--server", name]);
    let text = succeed(command.args(SMALL));
    for word in [
        "Throughput",
        "p99.99",
        "point select",
        "server CPU",
        "context switches",
        "rows updated",
        "log written",
        "deadlocks",
        "per connection",
        "Com_*",
    ] {
        assert!(text.contains(word), "no {word:?} in\n{text}");
    }
    assert!(!text.contains('\u{1b}'), "colours without a terminal");
    assert_eq!(place.servers(), Vec::<i32>::new());
    let left: Vec<_> = std::fs::read_dir(place.work())
        .expect("the work folder")
        .flatten()
        .map(|entry| entry.path())
        .collect();
    assert!(left.is_empty(), "left behind: {left:?}");
}

#[test]
fn other_engines_take_the_same_load() {
    let existing = Existing::start("mariadb-10.11", &[]);
    for engine in ["Aria", "MyISAM"] {
        let bench = |action: &str| {
            let mut command = existing.bench(&["oltp_read_write", action, "--engine", engine]);
            command.args(["--table-size", "1000"]);
            command
        };
        succeed(&mut bench("prepare"));
        let found = existing
            .server
            .query("SELECT engine FROM information_schema.tables WHERE table_schema = 'sbtest'")
            .expect("a query");
        assert_eq!(found.concat(), [engine]);
        let mut load = bench("run");
        load.args(["--threads", "4", "--time", "1s", "--warm-up", "0"]);
        let run = &json(&mut load)["runs"][0];
        adds_up(run);
        assert!(number(run, "/transactions") > 0.0, "{run:#}");
        let said = succeed(bench("cleanup").arg("--yes"));
        assert!(said.contains("DROP DATABASE `sbtest`"), "{said}");
    }
}

#[test]
fn an_engine_in_a_package_of_its_own_is_fetched_beside_the_server() {
    for workload in [
        &["oltp_read_write", "--table-size", "1000"][..],
        &["tpcc", "--warehouses", "1"],
    ] {
        let place = Place::new();
        let mut command =
            place.niagara(&["bench", "--server", "mariadb-10.11", "--engine", "rocksdb"]);
        command.args(workload);
        let load = ["--threads", "4", "--time", "2s", "--warm-up", "0"];
        let run = &json(command.args(load))["runs"][0];
        assert!(number(run, "/transactions") > 0.0, "{run:#}");
    }
    let place = Place::new();
    let mut command = place.niagara(&["bench", "oltp_read_only", "--server", "mysql-9.7"]);
    let (code, _, stderr) = run(command.args(["--engine", "rocksdb"]));
    assert_eq!(code, Some(1), "{stderr}");
    for word in [
        "mysql-9.7 has no storage engine ROCKSDB",
        "remedy: take mariadb-10.11",
    ] {
        assert!(stderr.contains(word), "no {word:?} in\n{stderr}");
    }
}

#[test]
fn a_private_mariadb_is_loaded_and_leaves_nothing() {
    a_private_server_is_loaded_and_leaves_nothing("mariadb-10.11");
}

#[test]
fn a_private_mysql_is_loaded_and_leaves_nothing() {
    a_private_server_is_loaded_and_leaves_nothing("mysql-9.7");
}

#[test]
fn a_private_server_is_changed_as_a_variant_says() {
    let place = Place::new();
    let bench = |variant: &str| {
        let mut command = place.niagara(&["bench", "oltp_point_select", "--variant", variant]);
        command.args(SMALL);
        command
    };
    let found = json(&mut bench("transport=unix,cfg.innodb_io_capacity=400"));
    let private = found["server"]["private"].as_str().expect("a name");
    for word in ["mariadb-10.11", "transport", "innodb_io_capacity=400"] {
        assert!(private.contains(word), "no {word:?} in {private}");
    }
    let address = found["server"]["address"].as_str().expect("an address");
    assert!(address.starts_with("socket "), "{address}");
    // Server and lever: the server itself refuses what it does not know, the command what it does not know.
    refused(&mut bench("cfg.no_such_variable=1"), &["no_such_variable"]);
    refused(&mut bench("malloc=jemaloc"), &["jemalloc"]);
}

#[test]
fn intervals_have_the_servers_counters_where_that_is_asked_for() {
    for name in ["mariadb-10.11", "mysql-9.7"] {
        let place = Place::new();
        let mut command = place.niagara(&["bench", "oltp_read_only", "--server", name]);
        command.args(SMALL);
        let found = json(command.args(["--interval-status", "--report-interval", "250ms"]));
        let run = &found["runs"][0];
        let intervals = run["intervals"].as_array().expect("a list");
        assert!(intervals.len() >= 4, "{name}: {run:#}");
        let mut rows_read = 0.0;
        for interval in intervals {
            rows_read += number(interval, "/status/figures/rows_read/value");
            assert!(number(interval, "/status/own_statements") >= 1.0);
        }
        // Not in each: on a busy machine a quarter of a second may pass without a row.
        assert!(rows_read > 0.0, "{name}: {run:#}");
        let status = "/status/figures/questions/value";
        let cost = &run["cost"];
        let questions = number(cost, status);
        let own = number(cost, "/status/own_statements");
        assert!(own > intervals.len() as f64, "{name}: {own}");
        assert_eq!(questions, number(cost, "/window/queries") + own, "{name}");
        // They follow each other; the drain may come after the last one.
        let parts = sum(&run["intervals"], status);
        assert!(
            parts <= questions && parts > 0.5 * questions,
            "{name}: {parts} of {questions}"
        );
        // Both backends are named.
        let io = cost["client"]["io"].as_str().expect("a word");
        assert!(["epoll", "uring"].contains(&io), "{io}");
    }
}

fn a_running_server_is_prepared_loaded_and_cleaned(name: &str) {
    let existing = Existing::start(name, &[]);
    let read_only = |verb: &str| {
        let mut command = existing.bench(&["oltp_read_only", verb, "--tables", "2"]);
        command.args(SMALL);
        command
    };
    refused(&mut read_only("run"), &["sbtest1", "prepare"]);
    succeed(&mut read_only("prepare"));
    existing
        .server
        .query("CREATE TABLE sbtest.keep (id INT) ENGINE = InnoDB")
        .expect("a table of somebody else");
    existing
        .server
        .query("CREATE TABLE sbtest.sbtest3 (id INT) ENGINE = InnoDB")
        .expect("a table of somebody else");
    refused(&mut read_only("prepare"), &["sbtest1", "--replace"]);
    refused(
        read_only("prepare").arg("--replace"),
        &["sbtest1: 1000 rows", "nobody is there to agree", "--yes"],
    );
    succeed(read_only("prepare").args(["--replace", "--yes"]));

    let result = json(&mut read_only("run"));
    let found = &result["runs"][0];
    adds_up(found);
    assert_eq!(result["server"]["private"], Value::Null);
    assert_eq!(result["interrupted"], Value::Bool(false));
    // 14 selects within BEGIN and COMMIT.
    assert_eq!(
        number(found, "/cost/window/queries"),
        16.0 * number(found, "/cost/window/transactions")
    );
    assert_eq!(number(found, "/cost/status/changed/Com_select"), {
        14.0 * number(found, "/cost/window/transactions")
    });
    // 10 single rows and 4 ranges of up to 100.
    let rows = number(found, "/cost/status/figures/rows_read/value")
        / number(found, "/cost/window/transactions");
    assert!(
        (11.0..=430.0).contains(&rows),
        "{rows} rows read by transaction"
    );

    // One row each: the server's rows are our statements, but for what its own threads read.
    let mut points = existing.bench(&["oltp_point_select", "--tables", "2"]);
    let result = json(points.args(SMALL));
    let found = &result["runs"][0];
    adds_up(found);
    let queries = number(found, "/cost/window/queries");
    let rows = number(found, "/cost/status/figures/rows_read/value");
    assert!(
        rows >= queries && rows <= queries * 1.02 + 200.0,
        "{rows} rows for {queries} queries"
    );

    // Over TCP the process is found by its port.
    let mut tcp = existing
        .place
        .niagara(&["bench", "oltp_point_select", "--host", "127.0.0.1"]);
    tcp.arg("--port")
        .arg(existing.server.tcp().port().to_string())
        .args(["--user", existing.server.user(), "--tables", "2"])
        .env("MYSQL_PWD", existing.server.password())
        .args(SMALL);
    adds_up(&json(&mut tcp)["runs"][0]);

    let mut larger = existing.bench(&["oltp_read_only", "--table-size", "2000"]);
    refused(&mut larger, &["1000", "2000", "--table-size"]);
    refused(&mut read_only("cleanup"), &["sbtest2: 1000 rows", "--yes"]);
    let said = succeed(read_only("cleanup").arg("--yes"));
    assert!(!said.contains("empty"), "{said}");
    assert_eq!(tables(&existing), ["keep", "sbtest3"]);
    succeed(&mut read_only("cleanup"));
}

#[test]
fn a_running_mariadb_is_prepared_loaded_and_cleaned() {
    a_running_server_is_prepared_loaded_and_cleaned("mariadb-10.11");
}

#[test]
fn a_running_mysql_is_prepared_loaded_and_cleaned() {
    a_running_server_is_prepared_loaded_and_cleaned("mysql-9.7");
}

/// All intervals of a log, put together.
fn read_log(path: &Path) -> (Histogram<u64>, usize) {
    let bytes = std::fs::read(path).expect("a log");
    let mut whole: Option<Histogram<u64>> = None;
    let mut count = 0;
    for entry in IntervalLogIterator::new(&bytes) {
        let LogEntry::Interval(interval) = entry.expect("a line of the format") else {
            continue;
        };
        let raw = base64::engine::general_purpose::STANDARD
            .decode(interval.encoded_histogram())
            .expect("base64");
        let histogram: Histogram<u64> = Deserializer::new()
            .deserialize(&mut raw.as_slice())
            .expect("a histogram");
        count += 1;
        match &mut whole {
            Some(whole) => whole.add(&histogram).expect("the same bounds"),
            None => whole = Some(histogram),
        }
    }
    (whole.expect("an interval"), count)
}

#[test]
fn the_log_has_the_latencies_of_the_report() {
    let place = Place::new();
    let log: PathBuf = place.folder.path().join("latency.hlog");
    let mut command = place.niagara(&["bench", "oltp_point_select", "--report-interval", "300ms"]);
    command.args(SMALL).arg("--hdr-log").arg(&log);
    let result = json(&mut command);
    let found = &result["runs"][0];
    adds_up(found);
    let (whole, intervals) = read_log(&log);
    // 1 s in parts of 300 ms, and the rest.
    assert_eq!(intervals, 4);
    assert_eq!(found["intervals"].as_array().map(Vec::len), Some(4));
    assert_eq!(whole.len() as f64, number(found, "/transactions"));
    for (quantile, name) in [(0.5, "p50"), (0.99, "p99"), (0.999, "p99_9")] {
        let read = whole.value_at_quantile(quantile) as f64 / 1e6;
        let said = number(found, &format!("/latency_ms/{name}"));
        assert!((read / said - 1.0).abs() < 1e-9, "{name}: {read} {said}");
    }
}

#[test]
fn an_open_loop_has_arrivals_and_every_step_its_run() {
    let place = Place::new();
    let mut command = place.niagara(&["bench", "oltp_point_select", "--rate-steps", "50,200"]);
    let result = json(command.args(SMALL));
    let runs = result["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 2);
    for (run, rate) in runs.iter().zip([50.0_f64, 200.0]) {
        adds_up(run);
        let arrivals = number(run, "/open_loop/arrivals");
        // Six standard deviations of a Poisson count.
        assert!(
            (arrivals - rate).abs() <= 6.0 * rate.sqrt(),
            "{arrivals} for {rate}"
        );
        assert_eq!(sum(&run["intervals"], "/arrivals"), arrivals);
        assert!(run["open_loop"]["kept_up"].is_boolean());
    }
    let mut command = place.niagara(&["bench", "oltp_point_select", "--rate", "100-300@1"]);
    let text = succeed(command.args(SMALL));
    assert!(
        text.contains("Open loop, 100-300@1 transactions/s"),
        "{text}"
    );
}

#[test]
fn ctrl_c_keeps_what_was_measured_and_prints_the_report() {
    let place = Place::new();
    let mut child = place
        .niagara(&[
            "bench",
            "oltp_point_select",
            "--threads",
            "2",
            "--table-size",
            "1000",
        ])
        .args([
            "--time",
            "10m",
            "--warm-up",
            "0",
            "--report-interval",
            "100ms",
            "--json",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("niagara starts");
    let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut lines = stderr.lines().map_while(Result::ok);
    assert!(
        lines.by_ref().any(|line| line.contains("tps")),
        "no interval"
    );
    signal(child.id() as i32, Signal::SIGINT);
    // Read on, so that nobody waits for room in the pipe.
    let rest: Vec<String> = lines.collect();
    let output = child.wait_with_output().expect("niagara ends");
    assert_eq!(output.status.code(), Some(130), "{rest:?}");
    let result = common::document::read(&String::from_utf8_lossy(&output.stdout));
    assert_eq!(result["interrupted"], Value::Bool(true));
    let found = &result["runs"][0];
    adds_up(found);
    assert!(number(found, "/seconds") < 500.0);
    assert_eq!(place.servers(), Vec::<i32>::new());
}

#[test]
fn what_cannot_be_reached_or_used_is_said_with_the_remedy() {
    let existing = Existing::start("mariadb-10.11", &[]);
    let mut wrong = existing.bench_without_password(&["oltp_point_select"]);
    wrong.env("NIAGARA_PASSWORD", "wrong");
    refused(&mut wrong, &["1045", "--password-file"]);
    refused(
        &mut existing.bench_without_password(&["oltp_point_select"]),
        &["1045", "NIAGARA_PASSWORD"],
    );

    let file = existing.place.folder.path().join("password");
    std::fs::write(&file, format!("{}\n", existing.server.password())).expect("a file");
    let mut by_file = existing.bench_without_password(&["oltp_point_select", "prepare"]);
    succeed(by_file.args(SMALL).arg("--password-file").arg(&file));

    let mut nowhere = existing.bench(&["oltp_point_select", "--database", "nowhere"]);
    refused(&mut nowhere, &["nowhere", "sbtest1", "prepare"]);

    let place = Place::new();
    let mut no_socket =
        place.niagara(&["bench", "oltp_point_select", "--socket", "no-such-socket"]);
    refused(&mut no_socket, &["no-such-socket", "check --socket"]);
    // A port that was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a port")
        .port()
        .to_string();
    let mut no_server = place.niagara(&["bench", "--host", "127.0.0.1", "--port", &port]);
    refused(&mut no_server, &[&port, "--port"]);
    let mut no_file =
        place.niagara(&["bench", "--host", "127.0.0.1", "--password-file", "missing"]);
    refused(&mut no_file, &["missing"]);
    let mut private = place.niagara(&["bench", "oltp_read_only", "prepare"]);
    refused(&mut private, &["private", "--socket"]);
    let mut stray = place.niagara(&["bench", "oltp_read_only", "--user", "root"]);
    refused(&mut stray, &["--user", "--socket"]);
    let mut unwritable = place.niagara(&["bench", "--hdr-log", "no/such/folder/x.hlog"]);
    refused(&mut unwritable, &["no/such/folder"]);
    let mut unknown = place.niagara(&["bench", "--set", "point_selekts=3"]);
    refused(&mut unknown, &["point_selekts", "point_selects"]);
}
