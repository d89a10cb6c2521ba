//! A capture sent to real servers one transaction at a time: what they answer, compared by content.

mod common;

use common::Server;
use mysql::prelude::Queryable;
use niagara_capture::log::ReadOptions;
use niagara_capture::{Import, import};
use niagara_load::{Answers, CaptureWorkload, DifferingIn, collect_answers, compare_answers};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A capture of a slow log of MariaDB, in which sessions take turns.
fn capture(folder: &Path, statements: &[(u32, &str)]) -> CaptureWorkload {
    let mut log = String::from(
        "/usr/sbin/mariadbd, Version: 10.11.6-MariaDB (Debian). started with:\n\
         Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock\n\
         Time\t\t    Id Command\tArgument\n# Time: 231114 22:13:20\n",
    );
    for (session, sql) in statements {
        write!(
            log,
            "# User@Host: app[app] @ localhost []\n\
             # Thread_id: {session}  Schema: shop  QC_hit: No\n\
             # Query_time: 0.000100  Lock_time: 0.000010  Rows_sent: 1  Rows_examined: 1\n\
             # Rows_affected: 0  Bytes_sent: 100\n\
             SET timestamp=1700000000;\n{sql};\n"
        )
        .expect("a string");
    }
    let file = folder.join("shop.log");
    std::fs::write(&file, log).expect("a file");
    let output: PathBuf = file.with_extension("capture");
    let order = Import {
        files: vec![file],
        read: ReadOptions::default(),
        output: output.clone(),
        replace: true,
        clients: Vec::new(),
        counted: None,
        stored: None,
    };
    import(&order, &AtomicBool::new(false), |_| {}).expect("a log that can be read");
    CaptureWorkload::open(&output).expect("a capture")
}

/// The data as they are at the capture's beginning.
fn fill(server: &Server) {
    let mut root = server.root();
    for statement in [
        "DROP DATABASE IF EXISTS shop",
        "CREATE DATABASE shop",
        "CREATE TABLE shop.item (id INT PRIMARY KEY, name CHAR(10), price DOUBLE, seen TIMESTAMP(6) NULL, \
         tag VARCHAR(40))",
        "INSERT INTO shop.item (id, name, price) VALUES (1, 'pear', 0.1), (2, 'apple', 0.2), (3, 'fig', 0.3)",
    ] {
        root.query_drop(statement).expect("tables");
    }
}

fn answers(server: &Server, capture: &CaptureWorkload, setting: Option<&str>) -> Answers {
    fill(server);
    let mut root = server.root();
    for variable in ["group_concat_max_len = 1048576", "sql_mode = DEFAULT"]
        .iter()
        .chain(&setting)
    {
        root.query_drop(format!("SET GLOBAL {variable}"))
            .expect("a variable");
    }
    let long = Duration::from_secs(60);
    let never = AtomicBool::new(false);
    collect_answers(
        &server.unix(),
        (capture, None),
        None,
        long,
        &never,
        &mut |_, _| {},
    )
    .expect("answers")
}

#[test]
fn other_contents_are_found_where_the_number_of_rows_is_the_same() {
    let server = Server::start();
    let folder = tempfile::tempdir().expect("a folder");
    let statements = [
        (1, "BEGIN"),
        (
            2,
            "UPDATE item SET seen = NOW(6), price = price + RAND() WHERE id = 2",
        ),
        (
            1,
            "INSERT INTO item (id, name, price, seen) VALUES (4, 'plum', RAND(), CURRENT_TIMESTAMP(6))",
        ),
        (1, "COMMIT"),
        (2, "SET @last = 7"),
        // What was written with the clock and at random is the same every time.
        (2, "SELECT id, name, price, seen FROM item"),
        (1, "UPDATE item SET tag = UUID() WHERE id = 1"),
        // What was not is known from the second time.
        (1, "SELECT tag FROM item WHERE id = 1"),
        (2, "SELECT GROUP_CONCAT(name ORDER BY id) FROM item"),
        (2, "SELECT 1 || 0, COUNT(*) FROM item"),
        (1, "SELECT nothing FROM item"),
    ];
    let capture = capture(folder.path(), &statements);
    let trace = capture.trace().expect("a trace");
    let [first, second] = [0, 1].map(|_| answers(&server, &capture, None));
    assert_eq!(first.units(), trace.units.len());
    let differing = |setting: Option<&str>| {
        let passes = [0, 1].map(|_| answers(&server, &capture, setting));
        let result = compare_answers(&trace, [&first, &second], &passes.each_ref());
        let named: Vec<(String, DifferingIn)> = result
            .differing
            .iter()
            .map(|one| (trace.digests[one.digest].text.clone(), one.what))
            .collect();
        (result, named)
    };
    let (result, named) = differing(None);
    assert!(named.is_empty(), "{named:?} {result:?}");
    // Three of the five that read have contents that are known.
    assert!(
        result.by_content >= 3 && result.units == result.of_units,
        "{result:?}"
    );
    let (_, named) = differing(Some("group_concat_max_len = 6"));
    let [(text, what)] = &named[..] else {
        panic!("{named:?}");
    };
    assert!(
        text.contains("group_concat") && *what == DifferingIn::Contents,
        "{named:?}"
    );
    let (_, named) = differing(Some("sql_mode = PIPES_AS_CONCAT"));
    assert!(
        named
            .iter()
            .any(|(text, what)| text.contains("|| ?") && *what == DifferingIn::Contents),
        "{named:?}"
    );
}

/// What procedures write is found by what is asked afterwards, whatever rows they return.
#[test]
fn procedures_that_return_rows_are_called() {
    let server = Server::start();
    let folder = tempfile::tempdir().expect("a folder");
    let statements = [
        (1, "CALL tags(2, 'called')"),
        (1, "SELECT tag FROM item WHERE id = 2"),
    ];
    let capture = capture(folder.path(), &statements);
    let mut root = server.root();
    let create = "CREATE PROCEDURE shop.tags(which INT, word CHAR(10)) BEGIN
           SELECT id, name FROM item;
           UPDATE item SET tag = word WHERE id = which;
           SELECT COUNT(*) FROM item;
         END";
    fill(&server);
    root.query_drop(create).expect("a procedure");
    let long = Duration::from_secs(60);
    let never = AtomicBool::new(false);
    collect_answers(
        &server.unix(),
        (&capture, None),
        None,
        long,
        &never,
        &mut |_, _| {},
    )
    .expect("answers");
    let tag: Option<String> = root
        .query_first("SELECT tag FROM shop.item WHERE id = 2")
        .expect("a row");
    assert_eq!(tag.as_deref(), Some("called"));
}

/// A lock that outlasts its transaction holds others up for seconds, not for ever.
#[test]
fn a_pass_comes_to_its_end_and_ends_where_its_time_does() {
    let server = Server::start();
    let folder = tempfile::tempdir().expect("a folder");
    let locked = [
        (1, "LOCK TABLES item WRITE"),
        (2, "UPDATE item SET price = 1 WHERE id = 1"),
        (1, "UNLOCK TABLES"),
        (2, "SELECT price FROM item WHERE id = 1"),
    ];
    let capture = capture(folder.path(), &locked);
    let all = answers(&server, &capture, None);
    assert_eq!(all.units(), capture.trace().expect("a trace").units.len());
    fill(&server);
    let never = AtomicBool::new(false);
    let none = collect_answers(
        &server.unix(),
        (&capture, None),
        None,
        Duration::ZERO,
        &never,
        &mut |_, _| {},
    )
    .expect("nothing");
    assert_eq!(none.units(), 0);
    let stopped = AtomicBool::new(true);
    let long = Duration::from_secs(60);
    collect_answers(
        &server.unix(),
        (&capture, None),
        None,
        long,
        &stopped,
        &mut |_, _| {},
    )
    .expect_err("stopped");
}

/// Rows of more than a megabyte, and of several packets, are read like others.
#[test]
fn long_rows_are_compared_by_content() {
    let server = Server::start_with(&["--max-allowed-packet=64M"]);
    let folder = tempfile::tempdir().expect("a folder");
    let statements = [
        (1, "SELECT REPEAT(name, 300000) FROM item"),
        (1, "SELECT REPEAT(name, 5000000) FROM item WHERE id = 2"),
        (
            1,
            "SELECT price, REPEAT(name, 5000000) FROM item WHERE id = 2",
        ),
    ];
    let capture = capture(folder.path(), &statements);
    let passes = [0, 1, 2].map(|_| answers(&server, &capture, None));
    let trace = capture.trace().expect("a trace");
    let result = compare_answers(&trace, [&passes[0], &passes[1]], &[&passes[2]]);
    assert_eq!(
        (result.by_content, result.not_compared),
        (3, 0),
        "{result:?}"
    );
    assert!(result.differing.is_empty(), "{result:?}");
}
