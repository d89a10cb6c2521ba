//! Captures of real servers, replayed on real servers.

mod common;

use common::Server;
use mysql::prelude::Queryable;
use niagara_capture::log::ReadOptions;
use niagara_capture::{Import, import};
use niagara_load::{
    CaptureWorkload, Driver, DriverOptions, Fidelity, IoChoice, SliceOptions, Sysbench,
    SysbenchTest, TableOptions, WorkloadSpec, cleanup, prepare_tables,
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
    };
    import(&order, &AtomicBool::new(false), |_| {}).expect("a log that can be read");
    output
}

/// Makes the tables anew: their rows are the same every time.
fn fresh_tables(server: &Server, spec: &WorkloadSpec) {
    let tables = TableOptions::default();
    cleanup(&server.unix(), spec, &tables, &mut |_| {}).expect("tables dropped");
    prepare_tables(&server.unix(), spec, &tables, &mut |_| {}).expect("tables");
}

fn drive(server: &Server, spec: &WorkloadSpec, duration: Duration) {
    let options = DriverOptions {
        threads: THREADS,
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
    assert!(trace.facts.writes && trace.facts.max_in_flight <= THREADS);
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
        let fidelity = Fidelity::of(&trace, &tally);
        println!("{io}: {slices} segments, {fidelity:?}");
        assert!(fidelity.is_good(), "{}", fidelity.verdict());
        let (captured, rows) = fidelity.rows.expect("a slow log has rows");
        let share = rows as f64 / captured as f64;
        assert!((share - 1.0).abs() <= 0.01, "{captured} and {rows}");
    }
}
