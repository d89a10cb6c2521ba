//! Captures of real servers, replayed on real servers.

mod common;

use common::Server;
use mysql::prelude::Queryable;
use niagara_capture::log::ReadOptions;
use niagara_capture::{Import, import};
use niagara_load::{
    CaptureWorkload, Driver, DriverOptions, IoChoice, LoadGenerator, SliceOptions, Sysbench,
    SysbenchTest, TableOptions, WorkloadSpec, cleanup, fidelity, prepare_tables,
};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const THREADS: u32 = 4;

fn read_write() -> WorkloadSpec {
    WorkloadSpec::of(Sysbench {
        test: SysbenchTest::OltpReadWrite,
        table_size: 2000,
        ..Sysbench::default()
    })
}

/// The slow log of what `load` does, of every statement.
fn slow_log(server: &Server, folder: &Path, load: impl FnOnce()) -> PathBuf {
    let log = folder.join("slow.log");
    let mut root = server.root();
    for statement in [
        format!("SET GLOBAL slow_query_log_file = '{}'", log.display()),
        "SET GLOBAL long_query_time = 0".to_owned(),
        "SET GLOBAL slow_query_log = 1".to_owned(),
    ] {
        root.query_drop(statement).expect("a global variable");
    }
    load();
    for statement in [
        "SET GLOBAL slow_query_log = 0",
        "SET GLOBAL long_query_time = 10",
    ] {
        root.query_drop(statement).expect("a global variable");
    }
    log
}

fn capture(log: &Path) -> PathBuf {
    let output = log.with_extension("capture");
    let order = Import {
        files: vec![log.to_owned()],
        read: ReadOptions::default(),
        output: output.clone(),
        replace: true,
        clients: Vec::new(),
        counted: None,
        stored: None,
    };
    import(&order, &AtomicBool::new(false), |_| {}).expect("a log that can be read");
    output
}

/// Makes the tables again: their rows are the same every time.
fn fresh_tables(server: &Server, spec: &WorkloadSpec) {
    let tables = TableOptions::default();
    cleanup(&server.unix(), spec, &tables, &mut |_| {}).expect("tables dropped");
    prepare_tables(&server.unix(), spec, &tables, &mut |_| {}).expect("tables");
}

fn drive(server: &Server, spec: &WorkloadSpec, duration: Duration) {
    let options = DriverOptions {
        connections: THREADS,
        ..DriverOptions::default()
    };
    let mut driver = Driver::connect(&[server.unix()], spec, &options).expect("connections");
    let options = SliceOptions {
        duration,
        ..SliceOptions::default()
    };
    driver.slice(0, &options).expect("a slice");
}

#[test]
fn what_was_captured_is_replayed() {
    let server = Server::start();
    let folder = tempfile::tempdir().expect("a folder");
    let spec = read_write();
    prepare_tables(&server.unix(), &spec, &TableOptions::default(), &mut |_| {}).expect("tables");
    let log = slow_log(&server, folder.path(), || {
        drive(&server, &spec, Duration::from_millis(1500));
    });
    let workload = CaptureWorkload::open(&capture(&log)).expect("a capture");
    let trace = workload.trace().expect("a trace");
    assert!(trace.facts.statements > 500, "{:?}", trace.facts);
    assert!(trace.facts.writes);
    // The load's connections, and the one that switched the log on and off; each does one thing at a time.
    assert!(
        trace.facts.max_in_flight <= THREADS + 1,
        "{:?}",
        trace.facts
    );
    let replayed = WorkloadSpec::of(workload);
    assert!(replayed.needs_data() && replayed.writes());

    for io in [IoChoice::Auto, IoChoice::Epoll] {
        fresh_tables(&server, &spec);
        let options = DriverOptions {
            io,
            segment: Duration::from_millis(100),
            ..DriverOptions::default()
        };
        let mut driver = Driver::connect(&[server.unix()], &replayed, &options).expect("a driver");
        let mut slices = 0;
        while driver.segments_left(0).expect("a capture") > 0 {
            let stats = driver
                .slice(0, &SliceOptions::default())
                .expect("a segment");
            assert!(stats.seconds > 0.0 && stats.queries > 0);
            slices += 1;
        }
        assert!(slices > 3, "{slices}");
        let over = driver
            .slice(0, &SliceOptions::default())
            .expect_err("nothing is left");
        assert!(over.to_string().contains("to its end"), "{over}");
        let tally = driver.replayed(0).expect("a capture");
        // The mix: every statement, but for those of transactions that were begun again.
        for (digest, counted) in trace.digests.iter().zip(&tally.digests) {
            let extra = counted.count as f64 / digest.statements as f64 - 1.0;
            assert!(
                extra.abs() <= 0.01 || tally.retries > 0,
                "{}: {} and {}",
                digest.text,
                digest.statements,
                counted.count
            );
        }
        let fidelity = fidelity(&trace, &tally, None);
        println!("{io}: {slices} segments, {fidelity:?}");
        assert!(fidelity.is_good(), "{}", fidelity.verdict());
        let (captured, rows) = fidelity.rows.expect("a slow log has rows");
        let share = rows as f64 / captured as f64;
        assert!((share - 1.0).abs() <= 0.01, "{captured} and {rows}");
    }
}

#[test]
fn a_regression_on_one_side_shows_in_its_digest() {
    let servers = [Server::start(), Server::start()];
    let folder = tempfile::tempdir().expect("a folder");
    let spec = WorkloadSpec::of(Sysbench {
        test: SysbenchTest::OltpReadOnly,
        table_size: 20_000,
        ..Sysbench::default()
    });
    for server in &servers {
        prepare_tables(&server.unix(), &spec, &TableOptions::default(), &mut |_| {})
            .expect("tables");
    }
    let log = slow_log(&servers[0], folder.path(), || {
        // Two sessions: a busy machine lets a thread wait that has just scanned a table, whatever it is asked next.
        let mut sessions = [servers[0].root(), servers[0].root()];
        for session in &mut sessions {
            session.query_drop("USE sbtest").expect("a database");
        }
        for number in 1..200 {
            let by_index = format!("SELECT COUNT(*) FROM sbtest1 WHERE k = {number}");
            let by_key = format!("SELECT k FROM sbtest1 WHERE id = {number}");
            for (session, statement) in sessions.iter_mut().zip([by_index, by_key]) {
                session.query_drop(statement).expect("a statement");
            }
        }
    });
    // What has to be found: an index less on B.
    let mut root = servers[1].root();
    root.query_drop("ALTER TABLE sbtest.sbtest1 DROP INDEX k_1")
        .expect("the index is there");
    let workload = CaptureWorkload::open(&capture(&log)).expect("a capture");
    let trace = workload.trace().expect("a trace");
    assert!(!trace.facts.writes);
    let endpoints = servers.each_ref().map(Server::unix);
    let spec = WorkloadSpec::of(workload);
    let mut driver =
        Driver::connect(&endpoints, &spec, &DriverOptions::default()).expect("a driver");
    for side in [0, 1] {
        for _ in 0..3 {
            driver
                .slice(side, &SliceOptions::default())
                .expect("a segment");
        }
    }
    let tallies = [0, 1].map(|side| driver.replayed(side).expect("a capture"));
    let mut ratios: Vec<(f64, &str)> = (0..trace.digests.len())
        .filter(|&place| tallies[0].digests[place].count > 100)
        .map(|place| {
            let mean = |side: usize| {
                let digest = &tallies[side].digests[place];
                digest.nanoseconds as f64 / digest.count as f64
            };
            (mean(1) / mean(0), trace.digests[place].text.as_str())
        })
        .collect();
    ratios.sort_by(|a, b| b.0.total_cmp(&a.0));
    assert_eq!(ratios.len(), 2, "{ratios:?}");
    assert!(ratios[0].1.contains("where k = ?"), "{ratios:?}");
    assert!(ratios[0].0 > 2.0 * ratios[1].0, "{ratios:?}");
    // The answers are the same.
    for (a, b) in tallies[0].digests.iter().zip(&tallies[1].digests) {
        assert_eq!((a.count, a.rows, a.errors), (b.count, b.rows, b.errors));
    }
}

/// What returns rows and is no SELECT: a server lets only those call it who take several results.
#[test]
fn procedures_that_return_rows_are_called() {
    let server = Server::start();
    let folder = tempfile::tempdir().expect("a folder");
    let mut root = server.root();
    for statement in [
        "CREATE DATABASE IF NOT EXISTS sbtest",
        "USE sbtest",
        "CREATE TABLE item (id INT PRIMARY KEY)",
        "INSERT INTO item VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9)",
        "CREATE PROCEDURE up_to(last INT) BEGIN
           SELECT id FROM item WHERE id <= last;
           SELECT COUNT(*) FROM item;
         END",
    ] {
        root.query_drop(statement).expect("a statement");
    }
    let log = slow_log(&server, folder.path(), || {
        let mut session = server.root();
        session.query_drop("USE sbtest").expect("a database");
        for last in 1..=9 {
            session
                .query_drop(format!("CALL up_to({last})"))
                .expect("a procedure");
            session
                .exec_drop("CALL up_to(?)", (last,))
                .expect("a prepared call of it");
        }
    });
    let workload = CaptureWorkload::open(&capture(&log)).expect("a capture");
    let trace = workload.trace().expect("a trace");
    let calls: Vec<usize> = (0..trace.digests.len())
        .filter(|&place| trace.digests[place].text.starts_with("call"))
        .collect();
    assert_eq!(calls.len(), 1, "{:?}", trace.digests);
    let spec = WorkloadSpec::of(workload);
    for io in [IoChoice::Auto, IoChoice::Epoll] {
        let options = DriverOptions {
            io,
            ..DriverOptions::default()
        };
        let mut driver = Driver::connect(&[server.unix()], &spec, &options).expect("a driver");
        while driver.segments_left(0).expect("a capture") > 0 {
            driver
                .slice(0, &SliceOptions::default())
                .expect("a segment");
        }
        let tally = driver.replayed(0).expect("a capture");
        let digest = &tally.digests[calls[0]];
        // Of each call the rows up to its number, and their count; twice.
        let rows = 2 * (1..=9).map(|last| last + 1).sum::<u64>();
        assert_eq!((digest.count, digest.errors, digest.rows), (18, 0, rows));
    }
}
