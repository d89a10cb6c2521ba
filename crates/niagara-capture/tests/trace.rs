//! From logs to traces: what belongs together, what is left out, what waits for what.

use niagara_capture::log::ReadOptions;
use niagara_capture::trace::{
    Action, CommitOrder, CompileOptions, LeftOutCause, NONE, Trace, compile,
};
use niagara_capture::{Filter, Import, filter, import};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// A slow log of MySQL: times in microseconds.
struct Log(String);

impl Log {
    fn new() -> Self {
        Log(
            "/usr/sbin/mysqld, Version: 8.0.36 (MySQL Community Server - GPL). started with:\n\
             Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock\n\
             Time                 Id Command    Argument\n"
                .into(),
        )
    }

    /// A statement that starts at a microsecond and takes some.
    fn add(&mut self, session: u64, database: &str, start: u64, took: u64, sql: &str) -> &mut Self {
        let end = start + took;
        write!(
            self.0,
            "# Time: 2023-11-14T22:13:{:02}.{:06}Z\n# User@Host: app[app] @ localhost []  Id: {session}\n\
             # Query_time: {}.{:06}  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1\n{}\
             SET timestamp={};\n{sql};\n",
            20 + end / 1_000_000,
            end % 1_000_000,
            took / 1_000_000,
            took % 1_000_000,
            if database.is_empty() { String::new() } else { format!("use {database};\n") },
            1_700_000_000 + start / 1_000_000,
        )
        .expect("a string");
        self
    }

    fn compile(&self, order: CommitOrder) -> Trace {
        let folder = tempfile::tempdir().expect("a folder");
        let capture = self.import(folder.path());
        let options = CompileOptions {
            order,
            ..CompileOptions::default()
        };
        compile(&capture, options).expect("a trace")
    }

    fn import(&self, folder: &Path) -> std::path::PathBuf {
        let (log, output) = (folder.join("slow.log"), folder.join("a.capture"));
        std::fs::write(&log, &self.0).expect("a file");
        let order = Import {
            files: vec![log],
            read: ReadOptions::default(),
            output: output.clone(),
            replace: true,
            counted: None,
            stored: None,
            clients: Vec::new(),
        };
        import(&order, &AtomicBool::new(false), |_| {}).expect("a log");
        output
    }
}

fn texts(trace: &Trace, unit: usize) -> Vec<String> {
    let steps = &trace.steps[trace.units[unit].range()];
    let text = |place: u32| String::from_utf8_lossy(trace.text(place)).into_owned();
    steps.iter().map(|step| text(step.text)).collect()
}

#[test]
fn a_session_whose_database_nothing_says_is_in_the_loads() {
    let mut unknown = Log::new();
    unknown.add(1, "", 0, 10, "SELECT a FROM t WHERE id = 7");
    let trace = unknown.compile(CommitOrder::Normal);
    assert_eq!(trace.database(0, "shop"), Some("shop"));
    assert_eq!(trace.database(0, ""), None);
    assert!(trace.database_names().is_empty());
    let mut known = Log::new();
    known.add(1, "shop", 0, 10, "SELECT a FROM t WHERE id = 7");
    let trace = known.compile(CommitOrder::Normal);
    assert_eq!(trace.database(0, "other"), Some("shop"));
    assert_eq!(trace.database_names(), ["shop"]);
}

#[test]
fn transactions_and_sessions_are_kept() {
    let mut log = Log::new();
    log.add(1, "shop", 0, 10, "BEGIN")
        .add(2, "", 5, 30, "SELECT 1")
        .add(1, "", 100, 10, "UPDATE t SET a = 1 WHERE id = 7")
        .add(1, "", 200, 50, "COMMIT")
        .add(2, "", 300, 10, "SELECT a FROM t WHERE id = 7")
        .add(3, "", 220, 200, "DELETE FROM t WHERE id = 8");
    let trace = log.compile(CommitOrder::Normal);
    assert_eq!(trace.sessions, 3);
    assert_eq!(trace.units.len(), 4);
    assert_eq!(
        texts(&trace, 0),
        ["BEGIN", "UPDATE t SET a = 1 WHERE id = 7", "COMMIT"]
    );
    assert_eq!((trace.units[0].start_us, trace.units[0].end_us), (0, 250));
    assert!(trace.units[0].writes && !trace.units[1].writes);
    // In the order of their beginnings; the last one began after the first transaction was over.
    assert_eq!(texts(&trace, 2), ["DELETE FROM t WHERE id = 8"]);
    assert_eq!(texts(&trace, 3), ["SELECT a FROM t WHERE id = 7"]);
    let gates: Vec<u32> = trace.units.iter().map(|unit| unit.gate).collect();
    assert_eq!(gates, [0, 0, 0, 1]);
    assert_eq!(trace.units[1].next, 3);
    assert!(trace.units[0].next == NONE && trace.units[3].next == NONE);
    assert_eq!(
        (trace.facts.max_in_flight, trace.facts.max_sessions),
        (2, 3)
    );
    assert_eq!(trace.database_names(), ["shop"]);
    assert_eq!(trace.facts.statements, 6);
    assert!(trace.facts.exact_times && trace.facts.writes);
}

#[test]
fn a_session_has_one_statement_in_flight_whatever_its_clock_says() {
    let mut log = Log::new();
    log.add(1, "shop", 0, 0, "SELECT 1")
        .add(1, "", 0, 0, "SELECT 2")
        .add(2, "", 0, 0, "SELECT 3")
        .add(2, "", 500, 100, "SELECT 4")
        .add(2, "", 450, 100, "SELECT 5");
    let trace = log.compile(CommitOrder::Normal);
    assert_eq!(trace.facts.max_in_flight, 2);
    let segments = trace.segments(1.0, 1);
    assert_eq!(segments[0].in_flight, 2);
}

#[test]
fn what_a_replay_must_not_send_is_left_out_and_counted() {
    let mut log = Log::new();
    log.add(1, "shop", 0, 10, "SELECT 1")
        .add(1, "", 20, 1000, "SET GLOBAL max_connections = 5")
        .add(1, "", 2000, 10, "KILL 7")
        .add(1, "", 2100, 10, "LOAD DATA LOCAL INFILE '/x' INTO TABLE t")
        .add(1, "", 2200, 10, "SELECT 1; DELETE FROM t");
    let trace = log.compile(CommitOrder::None);
    assert_eq!(trace.facts.statements, 1);
    let left_out: Vec<(LeftOutCause, u64, u64)> = trace
        .left_out
        .by_cause()
        .map(|(cause, amount)| (cause, amount.statements, amount.captured_us))
        .collect();
    assert_eq!(
        left_out,
        [
            (LeftOutCause::Server, 2, 1010),
            (LeftOutCause::LoadData, 1, 10),
            (LeftOutCause::Several, 1, 10)
        ]
    );
}

#[test]
fn a_database_that_changes_is_chosen() {
    let mut log = Log::new();
    log.add(1, "shop", 0, 10, "SELECT a FROM t")
        .add(1, "stock", 100, 10, "SELECT b FROM u")
        .add(1, "", 200, 10, "SELECT b FROM u");
    let trace = log.compile(CommitOrder::Normal);
    assert_eq!(trace.database(0, ""), Some("shop"));
    let chosen: Vec<usize> = (0..trace.units.len())
        .filter(|&unit| trace.steps[trace.units[unit].range()][0].action == Action::Database)
        .collect();
    assert_eq!(chosen, [1]);
    assert_eq!(texts(&trace, 1), ["stock", "SELECT b FROM u"]);
    assert_eq!(trace.database_names(), ["shop", "stock"]);
}

/// The log says a database only where the entry before it, of any session, was in another one.
#[test]
fn the_database_of_a_choice_is_the_one_that_the_log_said_last() {
    let mut log = Log::new();
    log.add(1, "shop", 0, 10, "SELECT a FROM t")
        .add(2, "stock", 100, 10, "SELECT b FROM u")
        .add(1, "", 200, 10, "# administrator command: Init DB")
        .add(1, "", 300, 10, "SELECT c FROM u");
    let trace = log.compile(CommitOrder::Normal);
    let steps: Vec<_> = (0..trace.units.len())
        .map(|unit| (trace.units[unit].session, texts(&trace, unit)))
        .collect();
    assert_eq!(steps[2], (0, vec!["stock".to_owned()]));
    assert_eq!(steps[3], (0, vec!["SELECT c FROM u".to_owned()]));
}

/// The replay's session stays that of one user, whose database is another one then.
#[test]
fn the_database_of_the_next_user_is_chosen() {
    let mut log = Log::new();
    log.add(1, "shop", 0, 10, "SELECT a FROM t")
        .add(1, "stock", 100, 10, "# administrator command: Change user")
        .add(1, "", 200, 10, "SELECT b FROM u");
    let trace = log.compile(CommitOrder::Normal);
    let chosen = trace
        .steps
        .iter()
        .filter(|step| step.action == Action::Database);
    let chosen: Vec<_> = chosen
        .map(|step| String::from_utf8_lossy(trace.text(step.text)).into_owned())
        .collect();
    assert_eq!(chosen, ["stock"]);
}

/// MySQL's slow log says how many rows were sent, not how many were changed.
#[test]
fn rows_that_nobody_counted_are_not_known() {
    let mut log = Log::new();
    log.add(1, "shop", 0, 10, "SELECT a FROM t").add(
        1,
        "",
        100,
        10,
        "UPDATE t SET a = 1 WHERE id = 7",
    );
    // What the log says of a statement that changes rows.
    log.0 = log.0.replacen("Rows_sent: 1", "Rows_sent: 3", 1);
    let at = log.0.rfind("Rows_sent: 1").expect("the second entry");
    log.0.replace_range(
        at..,
        &log.0[at..].replacen("Rows_sent: 1", "Rows_sent: 0", 1),
    );
    let rows = |log: &Log| -> Vec<u32> {
        let trace = log.compile(CommitOrder::Normal);
        trace.steps.iter().map(|step| step.rows).collect()
    };
    assert_eq!(rows(&log), [3, NONE]);
    // MariaDB and Percona Server do say it.
    log.0 = log
        .0
        .replace("Rows_examined: 1\n", "Rows_examined: 1  Rows_affected: 5\n");
    // One that reads sends what it is asked for, whatever a function changes that it calls.
    assert_eq!(rows(&log), [3, 5]);
}

#[test]
fn segments_are_whole_and_long_units_are_alone() {
    let mut log = Log::new();
    for number in 0..100_u64 {
        let took = if number == 50 { 400_000 } else { 1000 };
        let start = number * 1000 + if number > 50 { 400_000 } else { 0 };
        log.add(1, "shop", start, took, &format!("SELECT {number}"));
    }
    let trace = log.compile(CommitOrder::Normal);
    let segments = trace.segments(0.01, 1);
    let mut next = 0;
    for segment in &segments {
        assert_eq!(segment.units.start, next);
        next = segment.units.end;
        assert!(segment.statements > 0 && segment.in_flight == 1);
    }
    assert_eq!(next as usize, trace.units.len());
    let long: Vec<_> = segments.iter().filter(|segment| segment.is_long).collect();
    assert_eq!(long.len(), 1);
    assert_eq!(long[0].units, 50..51);
    // As many as are asked for, where the time is short.
    assert!(trace.segments(3600.0, 8).len() >= 3);
    assert_eq!(trace.segments(3600.0, 1).len(), 1);
    assert!(trace.memory() > 1000);
}

#[test]
fn a_statement_that_outlasts_its_segment_counts_in_those_that_follow() {
    let mut log = Log::new();
    log.add(1, "shop", 0, 50_000, "SELECT 'report'");
    for number in 0..100_u64 {
        log.add(
            2,
            "shop",
            100 + number * 1000,
            900,
            &format!("SELECT {number}"),
        );
    }
    let trace = log.compile(CommitOrder::Normal);
    let segments = trace.segments(0.01, 1);
    assert!(segments.len() > 5 && segments[0].is_long);
    // One beside the report while it runs, one alone afterwards.
    for segment in &segments[1..] {
        let begins = trace.units[segment.units.start as usize].start_us;
        assert_eq!(segment.in_flight, if begins < 50_000 { 2 } else { 1 });
    }
}

#[test]
fn a_capture_without_anything_to_send_is_refused() {
    let mut log = Log::new();
    log.add(1, "shop", 0, 10, "SHUTDOWN");
    let folder = tempfile::tempdir().expect("a folder");
    let capture = log.import(folder.path());
    let error = compile(&capture, CompileOptions::default()).expect_err("nothing to replay");
    assert!(error.to_string().contains("no statement"), "{error}");
}

/// The parts of a capture hold all of its transactions, each of them whole and in one part.
#[test]
fn a_part_and_its_complement_are_the_capture() {
    let mut log = Log::new();
    log.add(1, "shop", 0, 10, "SET NAMES utf8mb4")
        .add(1, "", 50, 10, "BEGIN")
        .add(1, "", 100, 10, "UPDATE t SET a = 1 WHERE id = 7")
        .add(2, "shop", 150, 10, "SELECT 1")
        .add(1, "", 200, 10, "COMMIT")
        .add(1, "stock", 300, 10, "SELECT a FROM t WHERE id = 7")
        .add(2, "shop", 400, 10, "DELETE FROM t WHERE id = 8")
        .add(1, "stock", 500, 10, "SELECT b FROM t WHERE id = 9")
        .add(3, "shop", 600, 10, "SELECT 2");
    let folder = tempfile::tempdir().expect("a folder");
    let capture = log.import(folder.path());
    let of = |part: &str| {
        let part = Some(part.parse().expect("a part"));
        let order = CommitOrder::Normal;
        compile(&capture, CompileOptions { order, part }).expect("a trace")
    };
    let all = |trace: &Trace| -> Vec<Vec<String>> {
        (0..trace.units.len())
            .map(|unit| texts(trace, unit))
            .collect()
    };
    let first = of("first:50%");
    assert_eq!(
        all(&first),
        [
            vec!["SET NAMES utf8mb4"],
            vec!["BEGIN", "UPDATE t SET a = 1 WHERE id = 7", "COMMIT"],
            vec!["SELECT 1"],
        ]
    );
    let after = of("after:50%");
    // The first session begins again with what it had set, its database is what the statement was captured in.
    assert_eq!(
        all(&after),
        [
            vec!["SET NAMES utf8mb4", "stock", "SELECT a FROM t WHERE id = 7"],
            vec!["DELETE FROM t WHERE id = 8"],
            vec!["SELECT b FROM t WHERE id = 9"],
            vec!["SELECT 2"],
        ]
    );
    assert_eq!(after.units[0].start_us, 0);
    assert_eq!(after.sessions, 3);
    assert!(after.digests.iter().all(|digest| digest.statements > 0));
    // Nothing is counted twice but what sessions begin with again.
    let whole = log.compile(CommitOrder::Normal).facts.statements;
    assert_eq!(first.facts.statements + after.facts.statements, whole + 1);
    let (some, others) = (of("sessions:50%"), of("other-sessions:50%"));
    assert_eq!(some.facts.statements + others.facts.statements, whole);
    assert_eq!((some.sessions, others.sessions), (1, 2));
    let error = compile(
        &capture,
        CompileOptions {
            part: Some("first:1%".parse().expect("a part")),
            ..CompileOptions::default()
        },
    );
    let told = error.expect_err("nothing").explanation();
    assert!(!told.remedies.is_empty());
}

#[test]
fn a_session_does_not_go_back_where_the_clock_does() {
    let mut log = Log::new();
    log.add(1, "shop", 5_000_000, 10, "SELECT 1")
        // The server's clock was set back by three seconds.
        .add(1, "", 2_000_000, 10, "SELECT 2")
        .add(1, "", 2_500_000, 10, "SELECT 3")
        .add(2, "", 2_600_000, 10, "SELECT 4");
    let trace = log.compile(CommitOrder::Normal);
    // By the order of their beginnings: the other one comes first.
    let of = |session| {
        let mut all = Vec::new();
        let begins = |unit: &niagara_capture::trace::Unit| unit.is_first && unit.session == session;
        let mut place = trace.units.iter().position(begins);
        while let Some(unit) = place {
            all.extend(texts(&trace, unit));
            let next = trace.units[unit].next;
            place = (next != NONE).then_some(next as usize);
        }
        all
    };
    let all: Vec<Vec<String>> = (0..trace.sessions).map(of).collect();
    assert!(
        all.iter()
            .any(|texts| texts[..] == ["SELECT 1", "SELECT 2", "SELECT 3"]),
        "{all:?}"
    );
    assert!(trace.units.is_sorted_by_key(|unit| unit.start_us));
}

#[test]
fn what_is_left_of_a_transaction_is_no_part_of_the_next_one() {
    let mut log = Log::new();
    for turn in 0..3 {
        let at = turn * 1000;
        log.add(1, "shop", at, 10, "BEGIN")
            .add(1, "", at + 100, 10, "UPDATE t SET a = 1 WHERE id = 7")
            .add(1, "", at + 200, 10, "SELECT a FROM t")
            .add(1, "", at + 300, 10, "COMMIT");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let whole = log.import(folder.path());
    let part = folder.path().join("part.capture");
    let digests = niagara_capture::info::info(&whole)
        .expect("a capture")
        .digests;
    let of = |text: &str| {
        let found = digests.iter().find(|digest| digest.text.starts_with(text));
        found.expect("a digest").digest.clone()
    };
    let units = |texts: &[&str]| {
        let wanted = Filter {
            digests: texts.iter().map(|text| of(text)).collect(),
            ..Filter::default()
        };
        filter(&whole, &part, true, &wanted, &AtomicBool::new(false)).expect("a capture");
        let trace = compile(&part, CompileOptions::default()).expect("a trace");
        trace.units.len()
    };
    assert_eq!(units(&["update"]), 3);
    assert_eq!(units(&["update", "select"]), 6);
    assert_eq!(units(&["begin", "update"]), 3);
    assert_eq!(units(&["begin", "update", "select", "commit"]), 3);
}

#[test]
fn a_database_that_is_chosen_in_a_transaction_does_not_end_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("general.log");
    let lines = [
        "Connect\troot@localhost on shop using Socket",
        "Query\tBEGIN",
        "Query\tUPDATE t SET a = 1",
        "Init DB\tother",
        "Query\tUPDATE t SET a = 2",
        "Query\tCOMMIT",
        "Query\tSELECT 1",
    ];
    let mut text = String::new();
    for (second, line) in lines.iter().enumerate() {
        writeln!(text, "2023-11-14T22:13:{second:02}.000000Z\t    7 {line}").expect("a string");
    }
    std::fs::write(&log, text).expect("a file");
    let output = folder.path().join("a.capture");
    let order = Import {
        files: vec![log],
        read: ReadOptions::default(),
        output: output.clone(),
        replace: true,
        counted: None,
        stored: None,
        clients: Vec::new(),
    };
    import(&order, &AtomicBool::new(false), |_| {}).expect("a log");
    let trace = compile(&output, CompileOptions::default()).expect("a trace");
    let steps: Vec<u32> = trace.units.iter().map(|unit| unit.steps).collect();
    assert_eq!(steps, [0, 5, 1]);
    assert_eq!(trace.steps[2].action, Action::Database);
}

/// By itself the end could wait behind those who wait for the transaction's locks.
#[test]
fn a_transaction_that_was_left_open_ends_with_its_session() {
    for (command, step) in [
        ("Quit", (Action::Query, "ROLLBACK")),
        ("Change user", (Action::Reset, "")),
        ("Reset Connection", (Action::Reset, "")),
    ] {
        let mut log = Log::new();
        let command = format!("# administrator command: {command}");
        log.add(1, "shop", 0, 10, "SET autocommit = 0")
            .add(1, "", 100, 10, "UPDATE t SET a = 1 WHERE id = 7")
            .add(1, "", 900, 0, &command)
            .add(2, "", 200, 10, "UPDATE t SET a = 2 WHERE id = 7");
        let trace = log.compile(CommitOrder::Normal);
        let unit = trace.units.iter().find(|unit| unit.writes);
        let steps = &trace.steps[unit.expect("a unit that writes").range()];
        let end = steps.get(1).expect("its end");
        assert_eq!((end.action, end.start_us), (step.0, 900), "{command}");
        if step.0 == Action::Query {
            assert_eq!(trace.text(end.text), step.1.as_bytes());
        }
        assert_eq!(end.digest, NONE);
        // It is none of the statements that are to be replayed.
        assert_eq!(trace.facts.statements, 3, "{command}");
    }
}
