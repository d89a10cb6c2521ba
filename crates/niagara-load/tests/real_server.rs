//! The load generator against a real server.

#![allow(clippy::unwrap_used)]

mod common;

use common::Server;
use mysql::prelude::Queryable;
use niagara_load::{
    Admin, CoalescingChoice, Driver, DriverOptions, Endpoint, IoChoice, LoadError, RunOptions,
    SliceOptions, Sysbench, SysbenchTest, WorkloadSpec, prepare,
};
use nix::sys::signal::Signal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn spec(kind: SysbenchTest) -> WorkloadSpec {
    WorkloadSpec::of(Sysbench {
        test: kind,
        tables: 2,
        table_size: 5000,
        ..Sysbench::default()
    })
}

fn options(threads: u32) -> DriverOptions {
    DriverOptions {
        connections: threads,
        ..DriverOptions::default()
    }
}

fn short(milliseconds: u64) -> SliceOptions {
    SliceOptions {
        duration: Duration::from_millis(milliseconds),
        ..SliceOptions::default()
    }
}

fn prepared(server: &Server) {
    let spec = spec(SysbenchTest::OltpReadOnly);
    prepare(&server.unix(), &spec, "innodb", &mut |_, _| {}).unwrap();
}

#[test]
fn prepare_makes_the_tables_of_sysbench() {
    let server = Server::start();
    let spec = spec(SysbenchTest::OltpReadOnly);
    let mut seen = Vec::new();
    prepare(&server.tcp(), &spec, "innodb", &mut |done, total| {
        seen.push((done, total));
    })
    .unwrap();
    assert_eq!(seen.first(), Some(&(0, 10_000)));
    assert_eq!(seen.last(), Some(&(10_000, 10_000)));

    let mut root = server.root();
    for table in ["sbtest1", "sbtest2"] {
        let (rows, first, last, low, high): (u64, u64, u64, u64, u64) = root
            .query_first(format!(
                "SELECT COUNT(*), MIN(id), MAX(id), MIN(k), MAX(k) FROM sbtest.{table}"
            ))
            .unwrap()
            .unwrap();
        assert_eq!((rows, first, last), (5000, 1, 5000));
        assert!(low >= 1 && high <= 5000);
        let malformed: u64 = root
            .query_first(format!(
                "SELECT COUNT(*) FROM sbtest.{table} WHERE c NOT REGEXP '^([0-9]{{11}}-){{9}}[0-9]{{11}}$' \
                 OR pad NOT REGEXP '^([0-9]{{11}}-){{4}}[0-9]{{11}}$'"
            ))
            .unwrap()
            .unwrap();
        assert_eq!(malformed, 0);
    }
    let columns: Vec<(String, String, String, Option<String>)> = root
        .query(
            "SELECT column_name, column_type, is_nullable, column_default FROM information_schema.columns \
             WHERE table_schema = 'sbtest' AND table_name = 'sbtest1' ORDER BY ordinal_position",
        )
        .unwrap();
    let names: Vec<_> = columns.iter().map(|column| column.0.as_str()).collect();
    assert_eq!(names, ["id", "k", "c", "pad"]);
    assert!(columns.iter().all(|column| column.2 == "NO"));
    let index: Option<String> = root
        .query_first(
            "SELECT column_name FROM information_schema.statistics \
             WHERE table_schema = 'sbtest' AND table_name = 'sbtest2' AND index_name = 'k_2'",
        )
        .unwrap();
    assert_eq!(index.as_deref(), Some("k"));

    // once more is an error, not another set of rows
    let again = prepare(&server.tcp(), &spec, "innodb", &mut |_, _| {}).unwrap_err();
    assert!(again.to_string().contains("exist"), "{again}");
}

/// The best known workloads over a transport (`workloads.rs` has all of them); the server's counters must agree exactly with what is reported.
fn all_workloads(endpoint: &Endpoint, server: &Server, io: IoChoice) {
    let mut root = server.root();
    for (kind, per_transaction) in [
        (SysbenchTest::OltpPointSelect, 1),
        (SysbenchTest::OltpReadOnly, 16),
        (SysbenchTest::OltpReadWrite, 20),
    ] {
        let options = DriverOptions {
            io,
            coalescing: CoalescingChoice::For(Duration::from_micros(50)),
            ..options(8)
        };
        let mut driver =
            Driver::connect(std::slice::from_ref(endpoint), &spec(kind), &options).unwrap();
        for _ in 0..2 {
            let before = server.executed(&mut root);
            let stats = driver.slice(0, &short(400)).unwrap();
            let answered = server.executed(&mut root) - before;
            assert_eq!(answered, stats.queries_whole, "{kind}");
            let errors: u64 = stats.errors.values().sum();
            if errors == 0 {
                assert_eq!(
                    stats.queries_whole,
                    stats.transactions_whole * per_transaction
                );
            }
            assert!(stats.transactions > 0 && stats.transactions <= stats.transactions_whole);
            assert!(stats.queries > 0 && stats.queries <= stats.queries_whole);
            assert_eq!(stats.latency.len(), stats.transactions);
            assert_eq!(stats.seconds, 0.4);
            assert!(stats.load_seconds >= 0.45);
            assert!(stats.client_cpu_seconds > 0.0);
            assert_eq!(stats.per_connection_transactions.len(), 8);
            assert_eq!(
                stats.per_connection_transactions.iter().sum::<u64>(),
                stats.transactions_whole
            );
            // A connection has one transaction in flight at most: the latencies of those that ended in counted time fit
            // into it and the ramp before (to the histogram's digits). How far they fill it is the machine's affair.
            let in_flight = stats.latency.mean() * 1e-9 * stats.transactions as f64;
            assert!(
                in_flight > 0.0 && in_flight < 8.0 * 0.455,
                "{kind}: {in_flight}"
            );
            println!(
                "{kind}: {} transactions, {:?}, CPU per query {:.2} us",
                stats.transactions,
                stats.errors,
                stats.client_cpu_seconds * 1e6 / stats.queries_whole as f64
            );
        }
        driver.disconnect();
    }
    // deletes and inserts keep the rows
    let rows: u64 = root
        .query_first(
            "SELECT (SELECT COUNT(*) FROM sbtest.sbtest1) + (SELECT COUNT(*) FROM sbtest.sbtest2)",
        )
        .unwrap()
        .unwrap();
    assert_eq!(rows, 10_000);
    // The server hears of a goodbye when it comes to it.
    let deadline = Instant::now() + Duration::from_secs(30);
    while server.status(&mut root, "Prepared_stmt_count") > 0 {
        assert!(
            Instant::now() < deadline,
            "connections that were disconnected hold statements"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn all_workloads_over_a_unix_socket() {
    let server = Server::start();
    prepared(&server);
    for io in [IoChoice::Epoll, IoChoice::Auto] {
        all_workloads(&server.unix(), &server, io);
    }
}

#[test]
fn all_workloads_over_tcp() {
    let server = Server::start();
    prepared(&server);
    for io in [IoChoice::Epoll, IoChoice::Auto] {
        all_workloads(&server.tcp(), &server, io);
    }
}

#[test]
fn two_sides_in_turn_the_idle_one_stopped() {
    let servers = [Server::start(), Server::start()];
    servers.iter().for_each(prepared);
    let endpoints = [servers[0].unix(), servers[1].tcp()];
    let mut driver =
        Driver::connect(&endpoints, &spec(SysbenchTest::OltpReadWrite), &options(16)).unwrap();
    servers[1].signal(Signal::SIGSTOP);
    let mut gaps = Vec::new();
    let mut last_end: Option<Instant> = None;
    for turn in 0..12 {
        let side = turn % 2;
        if turn > 0 {
            servers[1 - side].signal(Signal::SIGSTOP);
            servers[side].signal(Signal::SIGCONT);
        }
        let before = Instant::now();
        let stats = driver.slice(side, &short(100)).unwrap();
        let overhead = before.elapsed().as_secs_f64() - stats.load_seconds;
        // With the drain: a crowded machine may finish none in so short a time.
        assert!(stats.transactions_whole >= 16);
        if let Some(end) = last_end {
            let between = (before - end).as_secs_f64();
            gaps.push((between + overhead, stats.drain_seconds));
        }
        last_end = Some(Instant::now());
    }
    let mean =
        |pick: fn(&(f64, f64)) -> f64| gaps.iter().map(pick).sum::<f64>() / gaps.len() as f64 * 1e3;
    println!(
        "switch of sides: {:.2} ms without load, {:.2} ms drain before",
        mean(|gap| gap.0),
        mean(|gap| gap.1)
    );
    servers
        .iter()
        .for_each(|server| server.signal(Signal::SIGCONT));
}

/// What the server was asked to execute, parameters included, in order.
fn executed(server: &Server, endpoint: &Endpoint, seed: u64) -> Vec<String> {
    let mut root = server.root();
    let options = DriverOptions { seed, ..options(1) };
    let spec = spec(SysbenchTest::OltpReadWrite);
    let mut driver = Driver::connect(std::slice::from_ref(endpoint), &spec, &options).unwrap();
    root.query_drop("TRUNCATE mysql.general_log").unwrap();
    let slice = SliceOptions {
        ramp: Duration::ZERO,
        ..short(100)
    };
    // 60 statements are compared.
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut transactions = 0;
    while transactions < 4 {
        transactions += driver.slice(0, &slice).unwrap().transactions_whole;
        assert!(Instant::now() < deadline, "{transactions} transactions");
    }
    root.query(
        "SELECT CONVERT(argument USING utf8) FROM mysql.general_log \
         WHERE command_type = 'Execute' LIMIT 60",
    )
    .unwrap()
}

#[test]
fn the_same_seed_draws_the_same_and_the_server_understands_it() {
    let server = Server::start_with(&["--general-log=ON", "--log-output=TABLE"]);
    prepared(&server);
    let first = executed(&server, &server.unix(), 1);
    assert_eq!(first, executed(&server, &server.tcp(), 1));
    assert_ne!(first, executed(&server, &server.unix(), 2));
    if !server.is_mariadb {
        return; // MySQL logs BEGIN, which it cannot prepare, as a query
    }
    // except for digits and table numbers, this is one transaction of sysbench
    let shapes: Vec<String> = first[..20].iter().map(|sql| shape(sql)).collect();
    let mut expected = vec!["BEGIN"];
    expected.extend(["SELECT c FROM sbtest# WHERE id=#"; 10]);
    expected.extend([
        "SELECT c FROM sbtest# WHERE id BETWEEN # AND #",
        "SELECT SUM(k) FROM sbtest# WHERE id BETWEEN # AND #",
        "SELECT c FROM sbtest# WHERE id BETWEEN # AND # ORDER BY c",
        "SELECT DISTINCT c FROM sbtest# WHERE id BETWEEN # AND # ORDER BY c",
        "UPDATE sbtest# SET k=k+# WHERE id=#",
        "UPDATE sbtest# SET c='#-#-#-#-#-#-#-#-#-#' WHERE id=#",
        "DELETE FROM sbtest# WHERE id=#",
        "INSERT INTO sbtest# (id, k, c, pad) VALUES (#, #, '#-#-#-#-#-#-#-#-#-#', '#-#-#-#-#')",
        "COMMIT",
    ]);
    assert_eq!(shapes, expected);
}

/// Every number as a single `#`.
fn shape(sql: &str) -> String {
    let mut shape = String::new();
    for letter in sql.chars() {
        if !letter.is_ascii_digit() {
            shape.push(letter);
        } else if !shape.ends_with('#') {
            shape.push('#');
        }
    }
    shape
}

#[test]
fn a_killed_server_ends_the_slice() {
    let server = Server::start();
    prepared(&server);
    {
        let mut driver = Driver::connect(
            &[server.unix()],
            &spec(SysbenchTest::OltpReadOnly),
            &options(8),
        )
        .unwrap();
        let start = Instant::now();
        let result = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(300));
                server.signal(Signal::SIGKILL);
            });
            driver.slice(0, &short(20_000))
        });
        let error = result.unwrap_err();
        assert!(
            matches!(error, LoadError::ServerLost { side: 0, .. }),
            "{error}"
        );
        assert!(
            start.elapsed() < Duration::from_secs(5),
            "{:?}",
            start.elapsed()
        );
        // and stays so
        let again = driver.slice(0, &short(100)).unwrap_err();
        assert!(
            matches!(again, LoadError::ServerLost { side: 0, .. }),
            "{again}"
        );
    }
}

#[test]
fn a_server_that_is_shut_down_ends_the_slice() {
    let server = Server::start();
    prepared(&server);
    let mut driver = Driver::connect(
        &[server.tcp()],
        &spec(SysbenchTest::OltpReadWrite),
        &options(8),
    )
    .unwrap();
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            server.signal(Signal::SIGTERM);
        });
        driver.slice(0, &short(20_000))
    });
    let error = result.unwrap_err();
    assert!(
        matches!(error, LoadError::ServerLost { side: 0, .. }),
        "{error}"
    );
}

#[test]
fn a_server_that_hangs_ends_the_slice() {
    let server = Server::start();
    prepared(&server);
    let options = DriverOptions {
        stall_timeout: Duration::from_millis(500),
        ..options(4)
    };
    let mut driver = Driver::connect(
        &[server.unix()],
        &spec(SysbenchTest::OltpReadOnly),
        &options,
    )
    .unwrap();
    let start = Instant::now();
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(200));
            server.signal(Signal::SIGSTOP);
        });
        driver.slice(0, &short(20_000))
    });
    server.signal(Signal::SIGCONT);
    let error = result.unwrap_err();
    assert!(
        matches!(error, LoadError::ServerLost { side: 0, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("no answer"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(5));

    // and one that hangs while connecting
    server.signal(Signal::SIGSTOP);
    let options = DriverOptions {
        connect_timeout: Duration::from_millis(300),
        ..options
    };
    let result = Driver::connect(
        &[server.unix()],
        &spec(SysbenchTest::OltpReadOnly),
        &options,
    );
    server.signal(Signal::SIGCONT);
    assert!(result.unwrap_err().to_string().contains("no answer within"));
}

#[test]
fn cancelling_ends_the_slice_and_keeps_the_connections() {
    let server = Server::start();
    prepared(&server);
    let cancel = Arc::new(AtomicBool::new(false));
    let options = DriverOptions {
        cancel: Arc::clone(&cancel),
        ..options(4)
    };
    let mut driver = Driver::connect(
        &[server.unix()],
        &spec(SysbenchTest::OltpReadOnly),
        &options,
    )
    .unwrap();
    let start = Instant::now();
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(200));
            cancel.store(true, Ordering::Relaxed);
        });
        driver.slice(0, &short(20_000))
    });
    assert_eq!(result.unwrap_err(), LoadError::Cancelled);
    assert!(start.elapsed() < Duration::from_secs(2));
    cancel.store(false, Ordering::Relaxed);
    assert!(driver.slice(0, &short(100)).unwrap().transactions > 0);
}

#[test]
fn connection_errors_name_the_cause() {
    let server = Server::start();
    let spec = spec(SysbenchTest::OltpReadOnly);
    let refused = |endpoint: Endpoint, words: &str| {
        let error = Driver::connect(&[endpoint], &spec, &options(2)).unwrap_err();
        assert!(matches!(error, LoadError::Connect { .. }), "{error}");
        assert!(error.to_string().contains(words), "{error}");
        assert!(!error.to_string().contains("wrong"), "{error}");
    };
    for endpoint in [server.unix(), server.tcp()] {
        refused(
            Endpoint {
                password: "wrong".into(),
                ..endpoint
            },
            "Access denied",
        );
    }
    refused(server.unix(), "sbtest"); // no such database yet
    prepare(
        &server.unix(),
        &WorkloadSpec::of(Sysbench {
            table_size: 10,
            ..Sysbench::default()
        }),
        "innodb",
        &mut |_, _| {},
    )
    .unwrap();
    let missing = Driver::connect(&[server.unix()], &spec, &options(2)).unwrap_err();
    assert!(
        matches!(&missing, LoadError::Query { code: 1146, message, .. } if message.contains("sbtest2")),
        "{missing}"
    );
    let mut gone = server.unix();
    gone.transport = niagara_load::Transport::Unix("/nonexistent/sock".into());
    refused(gone, "No such file");

    let nobody = prepare(&server.unix(), &spec, "in`nodb", &mut |_, _| {}).unwrap_err();
    assert!(matches!(nobody, LoadError::Invalid(_)), "{nobody}");
    let unknown = prepare(&server.unix(), &spec, "nosuchengine", &mut |_, _| {}).unwrap_err();
    assert!(unknown.to_string().contains("nosuchengine"), "{unknown}");
}

#[test]
fn a_statement_that_fails_ends_the_slice_with_the_servers_words() {
    let server = Server::start();
    prepared(&server);
    let mut driver = Driver::connect(
        &[server.unix()],
        &spec(SysbenchTest::OltpReadOnly),
        &options(2),
    )
    .unwrap();
    server
        .root()
        .query_drop("DROP TABLE sbtest.sbtest1, sbtest.sbtest2")
        .unwrap();
    let error = driver.slice(0, &short(200)).unwrap_err();
    assert!(
        matches!(error, LoadError::Statement { code: 1146, .. }),
        "{error}"
    );
    assert!(
        error.to_string().contains("SELECT c FROM sbtest"),
        "{error}"
    );
}

#[test]
fn deadlocks_are_counted_and_begun_again() {
    let server = Server::start();
    let spec = WorkloadSpec::of(Sysbench {
        test: SysbenchTest::OltpReadWrite,
        table_size: 20,
        range_size: 5,
        ..Sysbench::default()
    });
    prepare(&server.unix(), &spec, "innodb", &mut |_, _| {}).unwrap();
    let mut root = server.root();
    let before = (
        server.executed(&mut root),
        server.status(&mut root, "Com_rollback"),
    );
    let mut driver = Driver::connect(&[server.unix()], &spec, &options(16)).unwrap();
    let stats = driver.slice(0, &short(1500)).unwrap();
    assert!(stats.errors.contains_key(&1213), "{:?}", stats.errors);
    assert!(stats.transactions > 0);
    let after = (
        server.executed(&mut root),
        server.status(&mut root, "Com_rollback"),
    );
    assert_eq!(after.0 - before.0, stats.queries_whole);
    assert_eq!(after.1 - before.1, stats.errors.values().sum::<u64>());
    let rows: u64 = root
        .query_first("SELECT COUNT(*) FROM sbtest.sbtest1")
        .unwrap()
        .unwrap();
    assert_eq!(rows, 20);
}

#[test]
fn a_run_hands_out_its_intervals() {
    let server = Server::start();
    prepared(&server);
    let mut driver = Driver::connect(
        &[server.unix()],
        &spec(SysbenchTest::OltpPointSelect),
        &DriverOptions {
            loops: Some(2),
            ..options(8)
        },
    )
    .unwrap();
    let mut intervals = Vec::new();
    let whole = driver
        .run(
            0,
            &RunOptions {
                duration: Some(Duration::from_millis(600)),
                interval: Some(Duration::from_millis(100)),
                ..RunOptions::default()
            },
            &mut |stats| {
                intervals.push((
                    stats.started,
                    stats.seconds,
                    stats.transactions,
                    stats.latency.len(),
                ));
                true
            },
        )
        .unwrap();
    assert_eq!(intervals.len(), 6);
    assert!(intervals.windows(2).all(|pair| pair[0].0 < pair[1].0));
    assert!(
        intervals
            .iter()
            .all(|interval| interval.1 == 0.1 && interval.2 == interval.3)
    );
    let total: u64 = intervals.iter().map(|interval| interval.2).sum();
    assert_eq!(total, whole.transactions);
    assert_eq!(whole.seconds, 0.6);
    assert_eq!(
        whole.per_connection_transactions.iter().sum::<u64>(),
        whole.transactions_whole
    );

    // stopped from within
    let mut count = 0;
    let start = Instant::now();
    let cut = driver
        .run(
            0,
            &RunOptions {
                duration: Some(Duration::from_secs(30)),
                interval: Some(Duration::from_millis(100)),
                ..RunOptions::default()
            },
            &mut |_| {
                count += 1;
                count < 3
            },
        )
        .unwrap();
    assert_eq!(count, 3);
    assert!(start.elapsed() < Duration::from_secs(5));
    assert!(cut.seconds >= 0.3 && cut.seconds < 5.0);
    assert!(driver.slice(0, &short(50)).unwrap().transactions > 0);
}

#[test]
fn warnings_of_a_statement_before_are_not_counted() {
    let server = Server::start();
    let mut admin = Admin::connect(&server.unix(), Duration::from_secs(10)).unwrap();
    let mut warned = |sql: &str| {
        let rows = admin.rows(sql).unwrap();
        (rows.len(), admin.warnings())
    };
    warned("SET sql_mode = 'ERROR_FOR_DIVISION_BY_ZERO'");
    assert_eq!(warned("SELECT 1 / 0, 2 / 0"), (1, 2));
    assert_eq!(warned("SHOW WARNINGS").0, 2);
    assert_eq!(warned("SELECT 1"), (1, 0));
    // The server still lists them.
    assert_eq!(warned("SHOW WARNINGS").0, 2);
    assert_eq!(warned("DO 1 / 0"), (0, 1));
}

#[test]
fn loops_go_where_they_are_told() {
    let server = Server::start();
    prepared(&server);
    let mut driver = Driver::connect(
        &[server.unix()],
        &spec(SysbenchTest::OltpPointSelect),
        &options(2),
    )
    .unwrap();
    for cpus in [Some(vec![0]), None, Some(vec![0])] {
        let options = SliceOptions { cpus, ..short(50) };
        // On a busy machine a CPU may be somebody else's for so long.
        let served = (0..20).any(|_| driver.slice(0, &options).unwrap().transactions > 0);
        assert!(served);
    }
    for cpus in [vec![], vec![100_000], vec![1000]] {
        let options = SliceOptions {
            cpus: Some(cpus),
            ..short(50)
        };
        let error = driver.slice(0, &options).unwrap_err();
        assert!(matches!(error, LoadError::Invalid(_)), "{error}");
    }
    assert!(driver.slice(0, &short(50)).unwrap().transactions > 0);
    assert!(matches!(
        driver.slice(1, &short(50)),
        Err(LoadError::Invalid(_))
    ));
}

#[test]
fn statements_and_values_of_several_packets() {
    // The server's bound is above ours for rows.
    let server = Server::start_with(&["--max-allowed-packet=128M"]);
    let mut admin = Admin::connect(&server.unix(), Duration::from_secs(60)).unwrap();
    // A long value is a packet of its own, then two that belong together.
    for length in [2 << 20, 17 << 20] {
        let value = admin.value(&format!("SELECT REPEAT('x', {length})"));
        assert_eq!(value.unwrap().map(|text| text.len()), Some(length));
    }
    // Its answer is numbered on from the statement's packets.
    let long = "x".repeat(17 << 20);
    admin.run(format!("DO '{long}'").as_bytes()).unwrap();
    let length = admin.value(&format!("SELECT LENGTH('{long}') AS a"));
    assert_eq!(length.unwrap(), Some(long.len().to_string()));
    // What is too long for rows says so.
    let rows = admin.rows("SELECT REPEAT('x', 40 << 20) AS a, REPEAT('y', 30 << 20) AS b");
    let error = rows.unwrap_err().to_string();
    assert!(error.contains("are the most"), "{error}");
}
