//! The user's own server as the start: a comparison on a copy of its data, with its option file.

mod common;

use common::existing::Existing;
use common::{Place, run};
use niagara_model::Event;
use niagara_store::Store;

/// What runs on the user's tables: nothing of it is made.
const WORKLOAD: &str = r#"
title = "orders"
[[transaction]]
name = "look"
statements = ["SELECT note FROM orders WHERE id = :id"]
[transaction.draw]
id = { int = [1, 100] }
"#;

/// A data directory of this server after it was stopped, as a user has one: the folder `mysql` of the place.
fn data(place: &Place, server: &str) {
    let existing = Existing::start(server, &[]);
    for statement in [
        "CREATE DATABASE shop",
        "CREATE TABLE shop.orders (id INT PRIMARY KEY, note VARCHAR(99)) ENGINE = InnoDB",
        "INSERT INTO shop.orders WITH RECURSIVE n AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM n WHERE id < 100) \
         SELECT id, REPEAT('x', 50) FROM n",
        "CREATE USER 'app'@'%' IDENTIFIED BY 'secret'",
    ] {
        existing.server.query(statement).expect("a statement");
    }
    let Existing { server, place: own } = existing;
    server.stop().expect("stopped");
    std::fs::rename(
        own.folder.path().join("data"),
        place.folder.path().join("mysql"),
    )
    .expect("moved");
}

/// What makes a comparison a short one.
const SMALL: [&str; 16] = [
    "--threads",
    "2",
    "--slice",
    "50ms",
    "--couples",
    "2",
    "--max-duels",
    "2",
    "--warm-up",
    "100ms",
    "--budget",
    "2m",
    "--seed",
    "1",
    "--out",
    "study",
];

#[test]
fn variants_are_compared_on_the_users_data_and_configuration() {
    let place = Place::new();
    let at = |name: &str| place.folder.path().join(name);
    data(&place, "mariadb-10.11");
    std::fs::write(at("orders.toml"), WORKLOAD).expect("written");
    std::fs::write(
        at("my.cnf"),
        "[mysqld]\ninnodb_io_capacity = 333\nmax_connections = 77\ndatadir = /var/lib/mysql\nserver_id = 5\nno_such_option = 1\n",
    )
    .expect("written");
    let words = [
        "compare",
        "base",
        "transport=unix",
        "--workload",
        "./orders.toml",
        "--data",
        "mysql",
        "--config",
        "my.cnf",
        "--memory",
        "64G",
        "--cpus",
        "16",
    ];
    let (code, stdout, stderr) = run(place.niagara(&words).args(SMALL));
    assert_eq!(code, Some(0), "{stdout}\n{stderr}");
    for words in [
        "left out: datadir=/var/lib/mysql",
        "my.cnf line 6): MariaDB 10.11",
        "data directory",
        "database shop",
    ] {
        assert!(stderr.contains(words), "no {words} in\n{stderr}");
    }
    let store = Store::open_read_only(&place.out().join("results.db")).expect("results");
    let study = store.study().expect("the study");
    let origin = &study.plan["origin"];
    assert!(origin["data"]["source"]["digest"].is_string(), "{origin:#}");
    assert_eq!(origin["machine"]["cpus"], 16);
    let events = store.events().expect("events").into_iter();
    let origin = events.filter_map(|record| match record.event {
        Event::Origin { note } => Some(note),
        _ => None,
    });
    let origin: Vec<_> = origin.collect();
    // What the start is without, and what the data are.
    for words in ["server_id=5", "the data are the data directory"] {
        assert!(
            origin.iter().any(|note| note.to_string().contains(words)),
            "no {words} in {origin:?}"
        );
    }
    for variant in store.variants().expect("variants") {
        assert!(format!("{variant:?}").contains("333"), "{variant:?}");
    }

    // A workload whose tables the data have not; one of a database whose folder has another name.
    let other = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../niagara-origin/tests/dumps/mydumper-0.10"
    );
    for data in ["mysql", other] {
        let words = ["bench", "oltp_read_only", "--time", "1s", "--warm-up", "0"];
        let (code, _, stderr) = run(place.niagara(&words).args(["--data", data]));
        assert_eq!(code, Some(1));
        assert!(
            stderr.contains("has no table sbtest1") && stderr.contains("remedy"),
            "{stderr}"
        );
    }
    let (code, _, stderr) =
        run(&mut place.niagara(&["bench", "oltp_read_only", "--schema", "shop"]));
    assert_eq!(code, Some(1));
    assert!(stderr.contains("name them by --data"), "{stderr}");
}

#[test]
fn a_mysql_is_compared_on_its_users_data_directory() {
    let place = Place::new();
    data(&place, "mysql-9.7");
    std::fs::write(place.folder.path().join("orders.toml"), WORKLOAD).expect("written");
    let words = [
        "compare",
        "base",
        "base",
        "--server",
        "mysql-9.7",
        "--workload",
        "./orders.toml",
        "--data",
        "mysql",
    ];
    let (code, stdout, stderr) = run(place.niagara(&words).args(SMALL));
    assert_eq!(code, Some(0), "{stdout}\n{stderr}");
    for words in ["data directory", "of MySQL 9.7", "database shop"] {
        assert!(stderr.contains(words), "no {words} in\n{stderr}");
    }

    // Another branch's server, which `bench` takes where none is named.
    let words = [
        "bench",
        "./orders.toml",
        "--data",
        "mysql",
        "--time",
        "1s",
        "--warm-up",
        "0",
    ];
    let (code, _, stderr) = run(&mut place.niagara(&words));
    assert_eq!(code, Some(1));
    assert!(
        stderr.contains("does not read its files") && stderr.contains("remedy: take mysql-9.7"),
        "{stderr}"
    );
}
