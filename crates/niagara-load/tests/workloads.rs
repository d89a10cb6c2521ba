//! Every workload on the servers that Niagara fetches: no errors, and the server has counted what is reported.

#![allow(clippy::unwrap_used)]

use niagara_load::{
    Driver, DriverOptions, Endpoint, LoadError, PreparedStatements, SliceOptions, Sysbench,
    SysbenchTest, TableEvent, TableOptions, TlsOptions, Transport, Workload, WorkloadSpec, cleanup,
    prepare_tables, warm_up,
};
use niagara_server::{
    Cache, Catalog, Config, ImageStore, LaunchSpec, ProcessSettings, RunningServer,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const THREADS: u32 = 4;

/// A server that ends, and takes its data along, when the test does.
struct Server {
    running: Option<RunningServer>,
    is_mariadb: bool,
    _folder: tempfile::TempDir,
}

impl Server {
    fn start(name: &str) -> Server {
        let shared = Cache::open().unwrap();
        let catalog = Catalog::load(&[]).unwrap();
        let install = niagara_server::get(&shared, catalog.get(name).unwrap(), &mut |text| {
            eprintln!("{text}");
        })
        .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(&folder.path().join("cache")).unwrap();
        let datadir = folder.path().join("data");
        ImageStore::new(&shared)
            .ensure(&install, "empty", "InnoDB", &mut |_| Ok(()), &mut |_| {})
            .unwrap()
            .clone_to(&datadir)
            .unwrap();
        let config: Config = [("innodb_flush_log_at_trx_commit", "0")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into_iter()
            .collect();
        let running = niagara_server::launch(
            &cache,
            &LaunchSpec {
                install: &install,
                datadir,
                runtime: &ProcessSettings::default(),
                config: &config,
            },
        )
        .unwrap();
        Server {
            running: Some(running),
            is_mariadb: name.starts_with("mariadb"),
            _folder: folder,
        }
    }

    fn running(&self) -> &RunningServer {
        self.running.as_ref().unwrap()
    }

    fn endpoint(&self) -> Endpoint {
        let running = self.running();
        Endpoint {
            transport: Transport::Unix(running.socket().to_owned()),
            user: running.user().to_owned(),
            password: running.password().to_owned(),
            database: "sbtest".into(),
            tls: TlsOptions::default(),
        }
    }

    /// Statements that the load has had executed, by the server's own counters. To look may count, too.
    fn executed(&self, spec: &WorkloadSpec) -> u64 {
        let status = self.running().status().unwrap();
        // A prepared statement counts as an execution and by its kind; one in text by its kind only.
        let text = spec.common.db_ps_mode == PreparedStatements::Disable
            || matches!(
                sysbench(spec).test,
                SysbenchTest::OltpInsert | SysbenchTest::BulkInsert
            );
        let mut counters = vec!["Com_rollback"];
        if text {
            counters.extend([
                "Com_begin",
                "Com_commit",
                "Com_select",
                "Com_insert",
                "Com_update",
                "Com_delete",
            ]);
        } else {
            counters.push("Com_stmt_execute");
            // MySQL cannot prepare BEGIN.
            if !self.is_mariadb {
                counters.push("Com_begin");
            }
        }
        counters
            .iter()
            .map(|name| status[*name].parse::<u64>().unwrap())
            .sum()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.kill();
        }
    }
}

fn specs() -> Vec<WorkloadSpec> {
    // TPC-C has a test of its own.
    let mut specs: Vec<WorkloadSpec> = SysbenchTest::ALL
        .into_iter()
        .map(|kind| {
            WorkloadSpec::of(Sysbench {
                test: kind,
                tables: 2,
                table_size: 2000,
                ..Sysbench::default()
            })
        })
        .collect();
    let mut as_text = specs[2].clone();
    as_text.common.db_ps_mode = PreparedStatements::Disable;
    let base = sysbench(&as_text).clone();
    specs.push(as_text);
    specs.extend(
        [
            Sysbench {
                secondary: true,
                create_secondary: false,
                ..base.clone()
            },
            Sysbench {
                test: SysbenchTest::OltpInsert,
                auto_inc: false,
                ..base.clone()
            },
            Sysbench {
                test: SysbenchTest::SelectRandomPoints,
                random_points: 20_000,
                ..base.clone()
            },
            Sysbench {
                test: SysbenchTest::OltpUpdateIndex,
                index_updates: 5,
                ..base
            },
        ]
        .map(WorkloadSpec::of),
    );
    specs
}

fn sysbench(spec: &WorkloadSpec) -> &Sysbench {
    match &spec.workload {
        Workload::Sysbench(sysbench) => sysbench,
        other => panic!("{other:?} is none of sysbench's"),
    }
}

fn every_workload_runs(name: &str) {
    let server = Server::start(name);
    let endpoint = server.endpoint();
    let tables = TableOptions {
        threads: THREADS,
        ..TableOptions::default()
    };
    let load = DriverOptions {
        connections: THREADS,
        ..DriverOptions::default()
    };
    for spec in specs() {
        let kind = sysbench(&spec).test;
        prepare_tables(&endpoint, &spec, &tables, &mut |_| {}).unwrap();
        if kind != SysbenchTest::BulkInsert {
            warm_up(&endpoint, &spec, &tables, &mut |_| {}).unwrap();
        }
        for statement in spec.read_all_statements("sbtest", THREADS) {
            server.running().query(&statement).unwrap();
        }
        let mut driver = Driver::connect(std::slice::from_ref(&endpoint), &spec, &load).unwrap();
        for _ in 0..2 {
            let earlier = server.executed(&spec);
            let before = server.executed(&spec);
            let of_a_look = before - earlier;
            let stats = driver
                .slice(
                    0,
                    &SliceOptions {
                        duration: Duration::from_millis(300),
                        ..SliceOptions::default()
                    },
                )
                .unwrap();
            let executed = server.executed(&spec) - before - of_a_look;
            assert_eq!(executed, stats.queries_whole, "{kind}");
            assert!(stats.transactions_whole >= u64::from(THREADS), "{kind}");
            // Rows of two connections may meet: deadlocks belong to a load that writes, nothing else does.
            for code in stats.errors.keys() {
                assert!([1205, 1213].contains(code), "{kind}: {:?}", stats.errors);
                assert!(kind.writes(), "{kind}: {:?}", stats.errors);
            }
            println!(
                "{name} {kind}: {} transactions, {} queries, {:?}",
                stats.transactions, stats.queries, stats.errors
            );
        }
        driver.disconnect();
        check_rows(&server, &spec);
        cleanup(&endpoint, &spec, &tables, &mut |_| {}).unwrap();
    }
}

/// What the load leaves behind.
fn check_rows(server: &Server, spec: &WorkloadSpec) {
    let tables = spec.table_names(THREADS).len();
    let sum = |column: &str| -> u64 {
        (1..=tables)
            .map(|table| {
                let sql = format!("SELECT {column} FROM sbtest.sbtest{table}");
                let rows = server.running().query(&sql).unwrap();
                rows[0][0].parse::<u64>().unwrap_or(0)
            })
            .sum()
    };
    let (kind, rows) = (sysbench(spec).test, sum("COUNT(*)"));
    let prepared = match sysbench(spec) {
        Sysbench {
            test: SysbenchTest::OltpInsert,
            auto_inc: false,
            ..
        } => 0,
        other => tables as u64 * other.table_size,
    };
    match kind {
        SysbenchTest::OltpInsert => assert!(rows > prepared, "{kind}: {rows}"),
        SysbenchTest::OltpDelete => assert!(rows < prepared, "{kind}: {rows}"),
        SysbenchTest::BulkInsert => {
            // every connection in its own table, every row once, from 1 on
            assert!(rows > 0);
            assert_eq!(rows, sum("MAX(id)"));
            assert_eq!(0, sum("SUM(id <> k)"));
        }
        // Deletes are followed by inserts of the same id; without a key on it that may be another row.
        _ if !sysbench(spec).secondary => assert_eq!(rows, prepared, "{kind}"),
        _ => {}
    }
}

#[test]
fn every_workload_runs_on_mariadb() {
    every_workload_runs("mariadb-10.11");
}

#[test]
fn every_workload_runs_on_mysql() {
    every_workload_runs("mysql-9.7");
}

#[test]
fn a_workload_can_reconnect() {
    let server = Server::start("mariadb-10.11");
    let mut spec = WorkloadSpec::of(Sysbench {
        table_size: 100,
        ..Sysbench::default()
    });
    spec.common.reconnect = 5;
    let endpoint = server.endpoint();
    prepare_tables(&endpoint, &spec, &TableOptions::default(), &mut |_| {}).unwrap();
    let mut driver = Driver::connect(&[endpoint], &spec, &DriverOptions::default()).unwrap();
    let connections = || -> u64 {
        let status = server.running().status().unwrap();
        status["Connections"].parse().unwrap()
    };
    let before = connections();
    let stats = driver.slice(0, &SliceOptions::default()).unwrap();
    let made = connections() - before;
    // one of them asked for the counter; a connection that has just served its time may not be re-established any more
    assert!(stats.transactions_whole >= 5, "{stats:?}");
    assert!(
        made + 1 >= stats.transactions_whole / 5,
        "{made} connections for {} transactions",
        stats.transactions_whole
    );
}

#[test]
fn making_tables_can_be_cancelled() {
    let server = Server::start("mariadb-10.11");
    let cancel = Arc::new(AtomicBool::new(false));
    let options = TableOptions {
        cancel: Arc::clone(&cancel),
        ..TableOptions::default()
    };
    let spec = WorkloadSpec::of(Sysbench {
        tables: 100,
        table_size: 100_000,
        ..Sysbench::default()
    });
    let mut most = 0;
    let error = prepare_tables(&server.endpoint(), &spec, &options, &mut |event| {
        if let TableEvent::Rows(done, total) = event {
            assert_eq!(total, 10_000_000);
            most = most.max(done);
            if done > 0 {
                cancel.store(true, Ordering::Relaxed);
            }
        }
    })
    .unwrap_err();
    assert_eq!(error, LoadError::Cancelled);
    assert!(most < 10_000_000);
    cancel.store(false, Ordering::Relaxed);
    cleanup(&server.endpoint(), &spec, &options, &mut |_| {}).unwrap();
    assert!(
        server
            .running()
            .query("SHOW TABLES FROM sbtest")
            .unwrap()
            .is_empty()
    );

    // A database that is not there is made only when that is wanted.
    let elsewhere = Endpoint {
        database: "elsewhere".into(),
        ..server.endpoint()
    };
    let options = TableOptions {
        create_database: false,
        ..options
    };
    let error = prepare_tables(&elsewhere, &spec, &options, &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("elsewhere"), "{error}");
}
