//! TPC-C against a real server: loaded, run, interrupted, and consistent after all of it.

mod common;

use common::Server;
use mysql::prelude::Queryable;
use niagara_load::{
    Conditions, Driver, DriverOptions, PreparedStatements, RunOptions, SliceOptions, TableEvent,
    TableOptions, Tpcc, WorkloadSpec, check_tpcc, cleanup, prepare_tables,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn spec() -> WorkloadSpec {
    WorkloadSpec::of(Tpcc::of(1))
}

/// Not synced at every commit: these tests end servers by order only.
fn server() -> Server {
    Server::start_with(&[
        "--innodb-flush-log-at-trx-commit=0",
        "--innodb-buffer-pool-size=512M",
        "--innodb-log-file-size=256M",
    ])
}

fn consistent(server: &Server, spec: &WorkloadSpec, conditions: Conditions) {
    let findings = check_tpcc(&server.unix(), spec, conditions, &mut |_| {}).expect("a check");
    for finding in &findings {
        assert!(finding.holds(), "{finding:?}");
    }
    let wanted = match conditions {
        Conditions::First => 4,
        Conditions::All => 11,
        Conditions::Loaded => 12,
    };
    assert_eq!(findings.len(), wanted);
}

/// One load serves several questions: it is what takes time.
#[test]
fn loaded_run_and_consistent() {
    let server = server();
    let spec = spec();
    let mut last = (0, 0);
    prepare_tables(
        &server.unix(),
        &spec,
        &TableOptions::default(),
        &mut |event| {
            if let TableEvent::Rows(done, total) = event {
                assert!(done >= last.0 && done <= total);
                last = (done, total);
            }
        },
    )
    .expect("tables");
    // The number of lines is drawn: their mean was expected.
    let off = last.0 as f64 / last.1 as f64;
    assert!((0.99..=1.0).contains(&off), "{last:?}");
    consistent(&server, &spec, Conditions::Loaded);
    let mut root = server.root();
    root.query_drop("USE sbtest").expect("the database");
    for (table, rows) in [
        ("warehouse", 1),
        ("district", 10),
        ("customer", 30_000),
        ("history", 30_000),
        ("orders", 30_000),
        ("new_order", 9000),
        ("item", 100_000),
        ("stock", 100_000),
    ] {
        let count: Option<u64> = root
            .query_first(format!("SELECT COUNT(*) FROM {table}"))
            .expect("a count");
        assert_eq!(count, Some(rows), "{table}");
    }

    // Batched or not, prepared or not: the same business.
    for (tpcc_batch, db_ps_mode) in [
        (true, PreparedStatements::Auto),
        (false, PreparedStatements::Auto),
        (true, PreparedStatements::Disable),
    ] {
        let mut spec = WorkloadSpec::of(Tpcc {
            batch: tpcc_batch,
            ..Tpcc::of(1)
        });
        spec.common.db_ps_mode = db_ps_mode;
        let options = DriverOptions {
            connections: 8,
            ..DriverOptions::default()
        };
        let mut driver = Driver::connect(&[server.unix()], &spec, &options).expect("connections");
        let before: Option<u64> = root
            .query_first("SELECT SUM(d_next_o_id) FROM district")
            .expect("a sum");
        let run = RunOptions {
            duration: None,
            events: Some(1600),
            count_drain: true,
            ..RunOptions::default()
        };
        let stats = driver.run(0, &run, &mut |_| true).expect("a run");
        assert_eq!(stats.transactions, 1600);
        let of_type = |name: &str| {
            let found = stats.types.iter().find(|one| one.name == name);
            found.expect("a type").latency.len()
        };
        let all: u64 = stats.types.iter().map(|one| one.latency.len()).sum();
        assert_eq!(all, 1600);
        // Eight decks of a hundred, begun and perhaps not ended.
        assert!((640..=800).contains(&of_type("new_order")), "{stats:?}");
        assert!((600..=780).contains(&of_type("payment")));
        let after: Option<u64> = root
            .query_first("SELECT SUM(d_next_o_id) FROM district")
            .expect("a sum");
        let rolled_back = stats
            .statements
            .iter()
            .find(|one| one.name == "rollback_unused_item")
            .expect("it is counted")
            .count;
        let taken = after.expect("a number") - before.expect("a number");
        assert_eq!(taken + rolled_back, of_type("new_order"));
        consistent(&server, &spec, Conditions::All);
    }
    deadlocks_leave_it_consistent(&server, &spec);
    tables_of_something_else_are_told_apart(&server);
    cleanup(&server.unix(), &spec, &TableOptions::default(), &mut |_| {}).expect("dropped");
    let left: Vec<String> = root.query("SHOW TABLES").expect("tables");
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn loading_can_be_cancelled() {
    let server = server();
    let cancel = Arc::new(AtomicBool::new(false));
    let options = TableOptions {
        cancel: Arc::clone(&cancel),
        ..TableOptions::default()
    };
    let stopped = prepare_tables(&server.unix(), &spec(), &options, &mut |event| {
        if matches!(event, TableEvent::Rows(1.., _)) {
            cancel.store(true, Ordering::Relaxed);
        }
    });
    assert_eq!(stopped, Err(niagara_load::LoadError::Cancelled));
}

/// Somebody's rows are in the way of the first items: a deadlock that the load loses, as it has done less, and then
/// a wait that is too long.
#[test]
fn loading_retries_after_conflicts() {
    let server = server();
    server
        .root()
        .query_drop("SET GLOBAL innodb_lock_wait_timeout = 2")
        .expect("a setting");
    let spec = spec();
    let refused = std::thread::scope(|scope| {
        let mut rival = None;
        let mut on_event = |event| {
            // The tables are made meanwhile, and filled once this returns.
            if event == TableEvent::Step("making the tables") {
                let conflict = Conflict::begin(&server);
                rival = Some(scope.spawn(|| conflict.go_on(&server)));
            }
        };
        let options = TableOptions::default();
        prepare_tables(&server.unix(), &spec, &options, &mut on_event).expect("tables");
        rival.expect("an event").join().expect("conflicts")
    });
    assert!(refused >= 2, "{refused} statements were refused");
    consistent(&server, &spec, Conditions::Loaded);
}

/// A transaction with rows that a load wants to insert.
struct Conflict(mysql::Conn);

impl Conflict {
    fn begin(server: &Server) -> Self {
        let mut conflict = Conflict(server.root());
        let until = Instant::now() + Duration::from_secs(60);
        while let Err(error) = conflict
            .0
            .query_drop("DO (SELECT COUNT(*) FROM sbtest.item)")
        {
            assert!(Instant::now() < until, "{error}");
        }
        conflict.0.query_drop("BEGIN").expect("a transaction");
        // Many, so that the other one is the smaller transaction; the first of them is among the load's first rows.
        for id in (5..=5).chain(200_001..=200_100) {
            conflict.insert(id);
        }
        conflict
    }

    fn insert(&mut self, id: u32) {
        self.0
            .query_drop(format!(
                "INSERT INTO sbtest.item VALUES ({id}, 1, 'x', 1, 'x')"
            ))
            .expect("a row");
    }

    /// Ends when two statements were refused; with how many were.
    fn go_on(mut self, server: &Server) -> u64 {
        let mut root = server.root();
        let mut wait_for = |least, query: &str| {
            let until = Instant::now() + Duration::from_secs(15);
            loop {
                let count: Option<u64> = root.query_first(query).expect("a count");
                let count = count.expect("a row");
                if count >= least || Instant::now() > until {
                    return count;
                }
                std::thread::sleep(Duration::from_millis(100));
            }
        };
        wait_for(
            1,
            "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'",
        );
        // The load has inserted this one, and waits for the fifth.
        self.insert(2);
        let refused = wait_for(
            2,
            "SELECT CAST(SUM(count) AS UNSIGNED) FROM information_schema.innodb_metrics \
             WHERE name IN ('lock_deadlocks', 'lock_timeouts')",
        );
        self.0.query_drop("ROLLBACK").expect("the end of it");
        refused
    }
}

/// An engine without transactions shows an order before its lines: here every customer's last order is caught so.
#[test]
fn new_orders_without_lines_yet_are_tolerated() {
    let server = server();
    if !server.is_mariadb {
        return;
    }
    let mut spec = spec();
    spec.common.mysql_storage_engine = "Aria".into();
    prepare_tables(&server.unix(), &spec, &TableOptions::default(), &mut |_| {}).expect("tables");
    server
        .root()
        .query_drop(
            "INSERT INTO sbtest.orders SELECT o_id + 100000, o_d_id, o_w_id, o_c_id, o_entry_d, NULL, o_ol_cnt, \
             o_all_local FROM sbtest.orders",
        )
        .expect("orders without lines");
    let options = DriverOptions {
        connections: 4,
        ..DriverOptions::default()
    };
    let mut driver = Driver::connect(&[server.unix()], &spec, &options).expect("connections");
    let run = RunOptions {
        duration: None,
        events: Some(400),
        ..RunOptions::default()
    };
    let stats = driver.run(0, &run, &mut |_| true).expect("a run");
    let met = stats.types.iter().find(|one| one.name == "order_status");
    assert!(!met.expect("a type").latency.is_empty(), "{stats:?}");
}

/// A rival takes locks in the other order than payments do: customers first, then the warehouse.
fn deadlocks_leave_it_consistent(server: &Server, spec: &WorkloadSpec) {
    let options = DriverOptions {
        connections: 16,
        ..DriverOptions::default()
    };
    let mut driver = Driver::connect(&[server.unix()], spec, &options).expect("connections");
    let over = AtomicBool::new(false);
    let deadlocks = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut rival = server.root();
            rival.query_drop("USE sbtest").expect("the database");
            while !over.load(Ordering::Relaxed) {
                // It may be the one that is rolled back.
                let _ = rival
                    .query_drop("BEGIN")
                    .and_then(|()| {
                        rival.query_drop(
                            "DO (SELECT COUNT(*) FROM customer WHERE c_d_id < 6 FOR UPDATE)",
                        )
                    })
                    .and_then(|()| rival.query_drop("DO (SELECT w_id FROM warehouse FOR UPDATE)"))
                    .and_then(|()| rival.query_drop("COMMIT"));
            }
        });
        let mut deadlocks = 0;
        for _ in 0..60 {
            let slice = SliceOptions {
                duration: Duration::from_millis(500),
                ..SliceOptions::default()
            };
            let stats = driver.slice(0, &slice).expect("a slice");
            deadlocks += stats.errors.get(&1213).copied().unwrap_or(0);
            if deadlocks > 5 {
                break;
            }
        }
        over.store(true, Ordering::Relaxed);
        deadlocks
    });
    assert!(deadlocks > 0, "nothing had to be begun again");
    consistent(server, spec, Conditions::All);
}

fn tables_of_something_else_are_told_apart(server: &Server) {
    let five = WorkloadSpec::of(Tpcc::of(5));
    let error = check_tpcc(&server.unix(), &five, Conditions::First, &mut |_| {})
        .expect_err("another number")
        .to_string();
    assert!(error.contains("has 1 warehouses and not 5"), "{error}");
    let options = DriverOptions {
        connections: 5,
        ..DriverOptions::default()
    };
    let mut driver = Driver::connect(&[server.unix()], &five, &options).expect("connections");
    let error = driver
        .slice(0, &SliceOptions::default())
        .expect_err("a warehouse is missing")
        .to_string();
    // Which of its transactions a connection begins with is drawn, and so is what it misses first.
    let missed = [
        "there is no such",
        "no customer has the last name",
        "an item has no stock",
    ];
    assert!(missed.iter().any(|what| error.contains(what)), "{error}");
    assert!(error.contains("load them again"), "{error}");
}
