//! A workload from a file against a real server: its tables, its mix, values taken from answers.

mod common;

use common::Server;
use mysql::prelude::Queryable;
use niagara_load::{
    Driver, DriverOptions, FileWorkload, LoadError, PreparedStatements, RunOptions, TableOptions,
    WorkloadBuilder, WorkloadFile, WorkloadKind, WorkloadSpec, cleanup, prepare_tables, run_job,
};
use std::time::Duration;

fn spec(text: &str) -> WorkloadSpec {
    try_spec(text).expect("a file without a mistake")
}

fn try_spec(text: &str) -> Result<WorkloadSpec, LoadError> {
    FileWorkload::read(WorkloadFile {
        path: "./shop.toml".into(),
        text: text.into(),
    })
    .map(WorkloadSpec::of)
}

/// With one of its numbers set.
fn with(spec: WorkloadSpec, number: &str, value: &str) -> Result<WorkloadSpec, LoadError> {
    let mut builder = WorkloadBuilder::from(spec);
    builder.set_scale(number, value)?;
    builder.build()
}

/// One that is built in, with one of its numbers set.
fn named(name: &str, number: &str, value: &str) -> WorkloadSpec {
    let kind: WorkloadKind = name.parse().expect("a workload that is built in");
    with(WorkloadSpec::of(kind), number, value).expect("a number of its file")
}

fn run(server: &Server, spec: &WorkloadSpec, events: u64) -> niagara_load::SliceStats {
    let options = DriverOptions {
        connections: 8,
        ..DriverOptions::default()
    };
    let mut driver = Driver::connect(&[server.unix()], spec, &options).expect("connections");
    let run = RunOptions {
        duration: None,
        events: Some(events),
        count_drain: true,
        ..RunOptions::default()
    };
    driver.run(0, &run, &mut |_| true).expect("a run")
}

#[test]
fn a_custom_workload_is_prepared_run_and_cleaned_up() {
    let server = Server::start();
    let shop = spec(include_str!("../../../docs/examples/shop.toml"));
    let options = TableOptions::default();
    prepare_tables(&server.unix(), &shop, &options, &mut |_| {}).expect("tables");
    let mut root = server.root();
    root.query_drop("USE sbtest").expect("the database");
    let mut number = |sql: &str| -> i64 {
        let value: Option<i64> = root.query_first(sql).expect("an answer");
        value.expect("a number")
    };
    assert_eq!(number("SELECT COUNT(*) FROM customer"), 10_000);
    assert_eq!(
        number("SELECT COUNT(*) FROM customer WHERE CHAR_LENGTH(name) BETWEEN 8 AND 30"),
        10_000
    );
    assert_eq!(
        number("SELECT COUNT(*) FROM customer WHERE phone LIKE '+49-___-____'"),
        10_000
    );
    assert_eq!(number("SELECT MAX(id) FROM product"), 1000);
    let stock = number("SELECT SUM(stock) FROM product");

    let mut sold = 0;
    for db_ps_mode in [PreparedStatements::Auto, PreparedStatements::Disable] {
        let mut shop = shop.clone();
        shop.common.db_ps_mode = db_ps_mode;
        let stats = run(&server, &shop, 2000);
        let of_type = |name: &str| {
            let found = stats.types.iter().find(|one| one.name == name);
            found.expect("a type").latency.len()
        };
        assert_eq!(of_type("order") + of_type("look"), 2000);
        // Three in ten, within four standard deviations.
        assert!(
            (518..=682).contains(&of_type("order")),
            "{}",
            of_type("order")
        );
        sold += of_type("order") as i64;
        // The same values went into all statements of an order, and the price is the product's.
        assert_eq!(number("SELECT COUNT(*) FROM purchase"), sold);
        assert_eq!(stock - number("SELECT SUM(stock) FROM product"), sold);
        assert_eq!(
            number(
                "SELECT COUNT(*) FROM purchase JOIN product ON product.id = product AND product.price = purchase.price"
            ),
            sold
        );
    }
    // Four to one, and nothing else.
    let new = number("SELECT COUNT(*) FROM purchase WHERE state = 'new'");
    assert_eq!(
        new + number("SELECT COUNT(*) FROM purchase WHERE state = 'paid'"),
        sold
    );
    assert!(new > sold / 2);

    // An order of a product that there is not is rolled back, and the transaction is over.
    number("SELECT 1");
    root.query_drop("DELETE FROM product").expect("deleted");
    let stats = run(&server, &shop, 200);
    assert_eq!(stats.transactions, 200);
    let rollbacks = stats
        .statements
        .iter()
        .find(|one| one.name == "rollback_without_row");
    assert!(rollbacks.expect("it is counted").count > 0);

    cleanup(&server.unix(), &shop, &options, &mut |_| {}).expect("dropped");
    let left: Vec<String> = root.query("SHOW TABLES").expect("tables");
    assert!(left.is_empty(), "{left:?}");
}

/// Begun again with the same key it would meet it for ever.
#[test]
fn a_transaction_that_meets_a_key_takes_another_one() {
    let server = Server::start();
    let items = spec(
        r#"
title = "Rows under a key"
[scale]
rows = 100

[[table]]
name = "item"
rows = "rows"
create = "CREATE TABLE item (id INT NOT NULL PRIMARY KEY) ENGINE = {engine}"
[table.columns]
id = "row"

[[transaction]]
name = "add"
statements = ["BEGIN", "INSERT INTO item (id) VALUES (:id)", "COMMIT"]
[transaction.draw]
id = { int = [1, 1000] }
"#,
    );
    let options = TableOptions::default();
    prepare_tables(&server.unix(), &items, &options, &mut |_| {}).expect("tables");
    let driver = DriverOptions {
        connections: 8,
        ..DriverOptions::default()
    };
    let mut driver = Driver::connect(&[server.unix()], &items, &driver).expect("connections");
    let run = RunOptions {
        duration: Some(Duration::from_secs(60)),
        events: Some(300),
        count_drain: true,
        ..RunOptions::default()
    };
    let stats = driver.run(0, &run, &mut |_| true).expect("a run");
    assert_eq!(stats.transactions, 300);
    let met = stats.errors.iter().find(|(code, _)| **code == 1062);
    assert!(met.is_some(), "{:?}", stats.errors);
}

#[test]
fn every_transaction_of_commit_is_a_commit() {
    let server = Server::start();
    let spec = named("commit", "accounts", "1000");
    prepare_tables(&server.unix(), &spec, &TableOptions::default(), &mut |_| {}).expect("tables");
    let mut root = server.root();
    let rows = |root: &mut mysql::Conn, table: &str| -> u64 {
        let sql = format!("SELECT COUNT(*) FROM sbtest.{table}");
        root.query_first(sql).expect("an answer").expect("a number")
    };
    assert_eq!(rows(&mut root, "account"), 1000);
    let before = server.status(&mut root, "Handler_commit");
    let stats = run(&server, &spec, 1000);
    let added = stats
        .types
        .iter()
        .find(|one| one.name == "add")
        .expect("a type");
    assert_eq!(rows(&mut root, "journal"), added.latency.len());
    let commits = server.status(&mut root, "Handler_commit") - before;
    assert!(commits >= stats.transactions_whole, "{commits}");
}

#[test]
fn a_report_is_a_job_of_eleven_steps() {
    let server = Server::start();
    let spec = named("report", "rows", "5000");
    prepare_tables(&server.unix(), &spec, &TableOptions::default(), &mut |_| {}).expect("tables");
    let mut told = Vec::new();
    let cancel = std::sync::atomic::AtomicBool::new(false);
    // Twice: the job empties its work table itself.
    for _ in 0..2 {
        told.clear();
        let steps = run_job(&server.unix(), &spec, &cancel, &mut |name, number, of| {
            assert_eq!((number, of), (told.len() + 1, 11));
            told.push(name.to_owned());
        })
        .expect("a job");
        assert!(steps.complete);
        let steps = steps.steps;
        let names: Vec<String> = steps.iter().map(|step| step.name.clone()).collect();
        assert_eq!(names, told);
        assert!(steps.iter().all(|step| step.seconds > 0.0), "{steps:?}");
    }
    let mut root = server.root();
    let copied: Option<u64> = root
        .query_first("SELECT COUNT(*) FROM sbtest.work WHERE kind IN (3, 7)")
        .expect("an answer");
    let there: Option<u64> = root
        .query_first("SELECT COUNT(*) FROM sbtest.event WHERE kind IN (3, 7)")
        .expect("an answer");
    assert_eq!(copied, there);
    cancel.store(true, std::sync::atomic::Ordering::Relaxed);
    let stopped = run_job(&server.unix(), &spec, &cancel, &mut |_, _, _| {}).expect("no job");
    assert!(stopped.steps.is_empty() && !stopped.complete, "{stopped:?}");
    a_statement_in_flight_is_ended(&server, &spec);
    // It is no load.
    let error = Driver::connect(&[server.unix()], &spec, &DriverOptions::default());
    assert!(error.expect_err("refused").to_string().contains("a job"));
}

/// As published: two appends, then nine scans of the work table alone, two of them three times each.
#[test]
fn the_published_reporting_job_repeats_two_of_its_nine_scans() {
    let text = include_str!("../../../studies/workloads/reporting-job-2009.toml");
    let timed = |begin: &str| -> Vec<&str> {
        let statements = text.lines().filter_map(|line| line.split_once("sql = \""));
        let statements = statements.map(|(_, statement)| statement);
        statements.filter(|one| one.starts_with(begin)).collect()
    };
    assert_eq!(timed("INSERT INTO work SELECT").len(), 2);
    let scans = timed("SELECT");
    assert_eq!(scans.len(), 9);
    assert!(
        scans.iter().all(|scan| scan.contains(" FROM work")),
        "{scans:?}"
    );
    let distinct: std::collections::BTreeSet<&str> = scans.iter().copied().collect();
    let times = distinct
        .iter()
        .map(|one| scans.iter().filter(|scan| *scan == one).count());
    let mut times: Vec<usize> = times.collect();
    times.sort_unstable();
    assert_eq!(times, [1, 1, 1, 3, 3]);

    let server = Server::start();
    let job = with(spec(text), "rows", "5000").expect("a number of its file");
    prepare_tables(&server.unix(), &job, &TableOptions::default(), &mut |_| {}).expect("tables");
    let cancel = std::sync::atomic::AtomicBool::new(false);
    let done = run_job(&server.unix(), &job, &cancel, &mut |_, _, _| {}).expect("a job");
    assert!(done.complete);
    let names: Vec<&str> = done.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names.len(), 11, "{names:?}");
    assert_eq!(
        names[3..6]
            .iter()
            .filter(|name| name.starts_with("sum of a column"))
            .count(),
        3
    );
}

/// The third step waits for a table that somebody else has locked.
fn a_statement_in_flight_is_ended(server: &Server, spec: &WorkloadSpec) {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};
    let mut rival = server.root();
    let mut watcher = server.root();
    let waiting =
        "SELECT COUNT(*) FROM information_schema.processlist WHERE state LIKE '%metadata lock%'";
    let cancel = AtomicBool::new(false);
    let mut asked = None;
    let stopped = std::thread::scope(|scope| {
        let asked = &mut asked;
        let cancel = &cancel;
        let watcher = &mut watcher;
        scope.spawn(move || {
            while watcher.query_first::<u64, _>(waiting).expect("an answer") != Some(1) {
                std::thread::sleep(Duration::from_millis(10));
            }
            *asked = Some(Instant::now());
            cancel.store(true, Ordering::Relaxed);
        });
        run_job(&server.unix(), spec, cancel, &mut |_, number, _| {
            if number == 3 {
                rival
                    .query_drop("LOCK TABLES sbtest.work WRITE")
                    .expect("a lock");
            }
        })
    })
    .expect("what was done before");
    let took = asked.expect("it was asked").elapsed();
    // A second, and another for a machine with much else to do.
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert_eq!((stopped.steps.len(), stopped.complete), (2, false));
    let left: Option<u64> = watcher.query_first(waiting).expect("an answer");
    assert_eq!(left, Some(0), "the statement continues");
}

#[test]
fn a_statement_of_a_job_is_executed_as_often_as_it_says() {
    let server = Server::start();
    let spec = spec(
        "title = \"x\"\njob = true\n\
         [[table]]\nname = \"t\"\nrows = 0\ncreate = \"CREATE TABLE t (a INT)\"\n\
         [[transaction]]\nname = \"a\"\n\
         statements = [{ name = \"thrice\", sql = \"INSERT INTO t VALUES (1)\", times = 3 }]\n",
    );
    prepare_tables(&server.unix(), &spec, &TableOptions::default(), &mut |_| {}).expect("tables");
    let never = std::sync::atomic::AtomicBool::new(false);
    let done = run_job(&server.unix(), &spec, &never, &mut |_, _, _| {}).expect("a job");
    assert_eq!((done.steps.len(), done.complete), (1, true));
    let rows: Option<u64> = server
        .root()
        .query_first("SELECT COUNT(*) FROM sbtest.t")
        .expect("an answer");
    assert_eq!(rows, Some(3));
}

#[test]
fn mistakes_are_told_before_anything_is_made() {
    let file = include_str!("../../../docs/examples/shop.toml").replace("weight = 3", "weight = 0");
    let error = try_spec(&file).expect_err("a mistake").to_string();
    assert!(error.starts_with("./shop.toml:"), "{error}");
    let shop = spec(include_str!("../../../docs/examples/shop.toml"));
    let error = with(shop, "clients", "5").expect_err("no such number");
    let error = error.to_string();
    assert!(error.contains("clients"), "{error}");
}

#[test]
fn data_are_known_by_what_the_file_says() {
    let shop = spec(include_str!("../../../docs/examples/shop.toml"));
    let other =
        spec(&include_str!("../../../docs/examples/shop.toml").replace("1_000\n", "1_001\n"));
    let larger = with(shop.clone(), "customers", "5").expect("a number of the file");
    let keys: std::collections::BTreeSet<String> = [&shop, &other, &larger]
        .iter()
        .map(|spec| spec.data_key(4))
        .collect();
    assert_eq!(keys.len(), 3, "{keys:?}");
    assert_eq!(shop.data_key(1), shop.clone().data_key(9));
}
