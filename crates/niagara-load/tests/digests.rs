//! What sysbench sends and what Niagara sends with the same options, as the server's log has it.

#![allow(clippy::unwrap_used)]

mod common;
mod sysbench_tool;

use common::Server;
use mysql::prelude::Queryable;
use niagara_load::{
    Driver, DriverOptions, SliceOptions, SysbenchTest, TableEvent, TableOptions, Workload,
    WorkloadBuilder, WorkloadSpec, cleanup, prepare_tables, warm_up,
};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use sysbench_tool::{check_release, sysbench};

/// Transactions that sysbench is asked for.
const EVENTS: usize = 30;
/// Rows are the events of `bulk_insert`: enough of them for two full inserts and a rest.
const BULK_EVENTS: usize = 100_000;

/// A workload with some options.
struct Case {
    kind: SysbenchTest,
    options: &'static [&'static str],
}

impl Case {
    fn spec(&self) -> WorkloadSpec {
        let mut builder = WorkloadBuilder::new(self.kind);
        for option in self.options {
            let (name, value) = option.split_once('=').unwrap();
            assert!(builder.set(name, value).unwrap(), "{option}");
        }
        builder.build().unwrap()
    }

    fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![self.kind.to_string()];
        arguments.extend(self.options.iter().map(|option| format!("--{option}")));
        arguments
    }
}

/// A statement that the server got.
#[derive(Debug, Clone)]
struct Sent {
    /// `Execute` when it was prepared, `Query` when it came as text.
    command: String,
    sql: String,
}

impl Sent {
    /// The command, and the statement without its numbers, as a digest has it.
    fn shape(&self) -> String {
        let mut shape = format!("{}: ", self.command);
        for word in self.sql.split_whitespace() {
            if !shape.ends_with(' ') {
                shape.push(' ');
            }
            for letter in word.chars() {
                if !letter.is_ascii_digit() {
                    shape.push(letter);
                } else if !shape.ends_with('#') {
                    shape.push('#');
                }
            }
        }
        // a negative number, and further rows
        let mut shape = shape.replace("(-#", "(#");
        while shape.contains("(#,#),(#,#)") {
            shape = shape.replace("(#,#),(#,#)", "(#,#)");
        }
        shape
    }

    /// All numbers outside of quotes, in order.
    fn numbers(&self) -> Vec<i64> {
        let outside: String = self.sql.split('\'').step_by(2).collect();
        outside
            .split(|letter: char| !letter.is_ascii_digit() && letter != '-')
            .filter_map(|word| word.parse().ok())
            .collect()
    }
}

/// What has been sent since the log was emptied, in order. The administrator's own queries are left out.
fn log(root: &mut mysql::Conn) -> Vec<Sent> {
    root.query_map(
        "SELECT command_type, CONVERT(argument USING utf8mb4) FROM mysql.general_log \
         WHERE command_type IN ('Execute', 'Query') AND thread_id <> CONNECTION_ID()",
        |(command, sql)| Sent { command, sql },
    )
    .unwrap()
}

fn empty_log(root: &mut mysql::Conn) {
    root.query_drop("TRUNCATE mysql.general_log").unwrap();
}

fn run_by_sysbench(server: &Server, case: &Case) -> Vec<Sent> {
    let mut root = server.root();
    empty_log(&mut root);
    let events = if case.kind == SysbenchTest::BulkInsert {
        BULK_EVENTS
    } else {
        EVENTS
    };
    let mut arguments = case.arguments();
    arguments.extend([format!("--events={events}"), "--time=0".into()]);
    sysbench(Some(&server.unix()), &arguments, "run");
    log(&mut root)
}

fn run_by_niagara(server: &Server, spec: &WorkloadSpec) -> Vec<Sent> {
    let mut root = server.root();
    let mut driver = Driver::connect(&[server.unix()], spec, &DriverOptions::default()).unwrap();
    empty_log(&mut root);
    let slice = SliceOptions {
        duration: Duration::from_millis(300),
        ramp: Duration::ZERO,
        ..SliceOptions::default()
    };
    // Two bulk inserts are compared, however long the server takes for them.
    let deadline = Instant::now() + Duration::from_secs(120);
    let (mut queries, mut transactions) = (0, 0);
    while transactions < 2 {
        assert!(Instant::now() < deadline, "{transactions} transactions");
        let stats = driver.slice(0, &slice).unwrap();
        assert!(stats.errors.is_empty(), "{:?}", stats.errors);
        queries += stats.queries_whole;
        transactions += stats.transactions_whole;
    }
    driver.disconnect();
    let sent = log(&mut root);
    assert_eq!(sent.len() as u64, queries);
    sent
}

fn make_tables(server: &Server, spec: &WorkloadSpec) {
    let options = TableOptions::default();
    prepare_tables(&server.unix(), spec, &options, &mut |_| {}).unwrap();
}

fn drop_tables(server: &Server, spec: &WorkloadSpec) {
    cleanup(&server.unix(), spec, &TableOptions::default(), &mut |_| {}).unwrap();
}

fn counts(sent: &[Sent]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for statement in sent {
        *counts.entry(statement.shape()).or_default() += 1;
    }
    counts
}

/// By shape: the tables that were named, and the ends of ranges minus their beginnings.
type Habits = BTreeMap<String, (BTreeSet<i64>, BTreeSet<i64>)>;

fn habits(sent: &[Sent]) -> Habits {
    let mut habits = Habits::new();
    for statement in sent {
        let (tables, widths) = habits.entry(statement.shape()).or_default();
        let numbers = statement.numbers();
        tables.extend(numbers.first());
        if statement.sql.contains("BETWEEN") {
            for range in numbers[1..].chunks_exact(2) {
                widths.insert(range[1] - range[0]);
            }
        }
    }
    habits
}

fn compare(server: &Server, case: &Case) {
    let spec = case.spec();
    let what = format!("{} {:?}", case.kind, case.options);
    make_tables(server, &spec);
    let theirs = run_by_sysbench(server, case);
    if case.kind.writes() {
        drop_tables(server, &spec);
        make_tables(server, &spec);
    }
    let ours = run_by_niagara(server, &spec);
    drop_tables(server, &spec);
    assert!(!theirs.is_empty() && !ours.is_empty(), "{what}");

    if case.kind == SysbenchTest::BulkInsert {
        // Their third is what was left at the end of the run.
        assert!(theirs.len() == 3 && ours.len() >= 2, "{what}");
        for (theirs, ours) in theirs[..2].iter().zip(&ours) {
            assert_eq!(theirs.command, ours.command);
            assert!(
                theirs.sql == ours.sql,
                "{what}: {} and {} bytes",
                theirs.sql.len(),
                ours.sql.len()
            );
        }
        return;
    }

    // the same statements in the same order, transaction by transaction
    assert_eq!(theirs.len() % EVENTS, 0, "{what}: {:#?}", counts(&theirs));
    let length = theirs.len() / EVENTS;
    let shapes = |sent: &[Sent]| sent.iter().map(Sent::shape).collect::<Vec<_>>();
    let transaction = shapes(&theirs[..length]);
    assert_eq!(ours.len() % length, 0, "{what}");
    for sent in theirs.chunks(length).chain(ours.chunks(length)) {
        assert_eq!(shapes(sent), transaction, "{what}");
    }
    // and the same shares of all: exactly, as whole transactions were sent
    let (their_counts, our_counts) = (counts(&theirs), counts(&ours));
    assert_eq!(
        their_counts.keys().collect::<Vec<_>>(),
        our_counts.keys().collect::<Vec<_>>()
    );
    for (shape, count) in &their_counts {
        assert_eq!(
            count * ours.len(),
            our_counts[shape] * theirs.len(),
            "{shape}"
        );
    }
    // Widths of ranges are constants. Tables are drawn; in this many transactions every one of them turns up.
    let (their_habits, our_habits) = (habits(&theirs), habits(&ours));
    for (shape, (tables, widths)) in &their_habits {
        assert_eq!(widths, &our_habits[shape].1, "{what}: {shape}");
        if ours.len() / length >= 200 {
            assert!(tables.is_subset(&our_habits[shape].0), "{what}: {shape}");
        }
    }
    println!(
        "{what}: {} statements per transaction, {} and {} transactions",
        length,
        EVENTS,
        ours.len() / length
    );
}

fn compare_all(cases: &[Case]) {
    check_release();
    let server = Server::start_with(&[
        "--general-log=ON",
        "--log-output=TABLE",
        "--innodb-flush-log-at-trx-commit=0",
    ]);
    for case in cases {
        compare(&server, case);
    }
}

#[test]
fn every_workload_sends_what_sysbench_sends() {
    let cases: Vec<Case> = SysbenchTest::ALL
        .into_iter()
        .map(|kind| Case { kind, options: &[] })
        .collect();
    compare_all(&cases);
}

#[test]
fn options_change_what_is_sent_as_they_do_in_sysbench() {
    compare_all(&[
        Case {
            kind: SysbenchTest::OltpReadWrite,
            options: &[
                "tables=3",
                "table-size=500",
                "point-selects=2",
                "simple-ranges=3",
                "sum-ranges=0",
                "order-ranges=2",
                "distinct-ranges=4",
                "range-size=17",
                "index-updates=3",
                "non-index-updates=2",
                "delete-inserts=2",
            ],
        },
        Case {
            kind: SysbenchTest::OltpReadWrite,
            options: &["tables=2", "skip-trx=on", "range-selects=off"],
        },
        Case {
            kind: SysbenchTest::OltpReadOnly,
            options: &["skip-trx=on", "point-selects=0"],
        },
        Case {
            kind: SysbenchTest::OltpReadWrite,
            options: &["db-ps-mode=disable", "tables=2"],
        },
        Case {
            kind: SysbenchTest::OltpWriteOnly,
            options: &["delete-inserts=3", "index-updates=0", "skip-trx=on"],
        },
        Case {
            kind: SysbenchTest::OltpUpdateIndex,
            options: &["index-updates=4", "tables=2"],
        },
        Case {
            kind: SysbenchTest::OltpUpdateNonIndex,
            options: &["non-index-updates=3", "tables=2"],
        },
        Case {
            kind: SysbenchTest::OltpPointSelect,
            options: &["point-selects=5", "skip-trx=on", "tables=4"],
        },
        Case {
            kind: SysbenchTest::OltpInsert,
            options: &["auto-inc=off", "tables=2"],
        },
        Case {
            kind: SysbenchTest::OltpDelete,
            options: &["tables=3", "secondary=on"],
        },
        Case {
            kind: SysbenchTest::SelectRandomPoints,
            options: &["random-points=3"],
        },
        Case {
            kind: SysbenchTest::SelectRandomRanges,
            options: &["number-of-ranges=4", "delta=9"],
        },
        Case {
            kind: SysbenchTest::SelectRandomRanges,
            options: &["db-ps-mode=disable"],
        },
    ]);
}

/// What is to be equal of a table.
#[derive(Debug, PartialEq)]
struct Table {
    /// `SHOW CREATE TABLE`
    definition: String,
    /// Number, first id, last id.
    rows: (u64, Option<u64>, Option<u64>),
}

fn tables(root: &mut mysql::Conn) -> BTreeMap<String, Table> {
    let names: Vec<String> = root.query("SHOW TABLES FROM sbtest").unwrap();
    names
        .into_iter()
        .map(|name| {
            let (_, definition): (String, String) = root
                .query_first(format!("SHOW CREATE TABLE sbtest.{name}"))
                .unwrap()
                .unwrap();
            let rows = root
                .query_first(format!(
                    "SELECT COUNT(*), MIN(id), MAX(id) FROM sbtest.{name}"
                ))
                .unwrap()
                .unwrap();
            (name, Table { definition, rows })
        })
        .collect()
}

#[test]
fn tables_are_those_of_sysbench() {
    check_release();
    let server = Server::start();
    let mut root = server.root();
    root.query_drop("CREATE DATABASE sbtest").unwrap();
    for case in [
        Case {
            kind: SysbenchTest::OltpReadWrite,
            options: &["tables=3", "table-size=300"],
        },
        Case {
            kind: SysbenchTest::OltpReadOnly,
            options: &["auto-inc=off", "table-size=5000"],
        },
        Case {
            kind: SysbenchTest::OltpDelete,
            options: &["secondary=on", "create-secondary=off"],
        },
        Case {
            kind: SysbenchTest::OltpUpdateIndex,
            options: &["mysql-storage-engine=myisam"],
        },
        Case {
            kind: SysbenchTest::OltpInsert,
            options: &["auto-inc=off"],
        },
        Case {
            kind: SysbenchTest::OltpInsert,
            options: &["table-size=10"],
        },
        Case {
            kind: SysbenchTest::SelectRandomPoints,
            options: &["table-size=10"],
        },
        Case {
            kind: SysbenchTest::BulkInsert,
            options: &[],
        },
    ] {
        let what = format!("{} {:?}", case.kind, case.options);
        let spec = case.spec();
        let mut arguments = case.arguments();
        arguments.push("--threads=2".into());
        sysbench(Some(&server.unix()), &arguments, "prepare");
        let theirs = tables(&mut root);
        sysbench(Some(&server.unix()), &arguments, "cleanup");
        assert!(tables(&mut root).is_empty());

        let options = TableOptions {
            threads: 2,
            ..TableOptions::default()
        };
        let mut made = BTreeSet::new();
        prepare_tables(&server.unix(), &spec, &options, &mut |event| {
            if let TableEvent::Creating(table) = event {
                made.insert(format!("sbtest{table}"));
            }
        })
        .unwrap();
        let ours = tables(&mut root);
        assert_eq!(theirs, ours, "{what}");
        assert_eq!(made, ours.keys().cloned().collect(), "{what}");

        // both can warm up what the other has made
        let has_primary = !matches!(&spec.workload, Workload::Sysbench(made) if made.secondary);
        if case.kind != SysbenchTest::BulkInsert && has_primary {
            sysbench(Some(&server.unix()), &arguments, "prewarm");
        }
        let warmed = warm_up(&server.unix(), &spec, &options, &mut |_| {});
        assert_eq!(warmed.is_err(), case.kind == SysbenchTest::BulkInsert);
        for statement in spec.read_all_statements("sbtest", 2) {
            root.query_drop(statement).unwrap();
        }

        let mut dropped = BTreeSet::new();
        cleanup(&server.unix(), &spec, &options, &mut |event| {
            if let TableEvent::Dropping(table) = event {
                dropped.insert(format!("sbtest{table}"));
            }
        })
        .unwrap();
        assert_eq!(dropped, made, "{what}");
        assert!(tables(&mut root).is_empty());
        // again is no error
        cleanup(&server.unix(), &spec, &options, &mut |_| {}).unwrap();
    }
}
