//! Captures where workloads are named: on private servers, in comparisons, on a server that is already running.

mod common;

use common::existing::Existing;
use common::{Place, item_workload, run};
use niagara_capture::fidelity::{ReplayVerdict, Shortcoming};
use niagara_model::{CompareSummary, DigestFinding, Summary, UpgradeObstacle};
use niagara_store::Store;
use std::fmt::Write;
use std::path::Path;

/// A slow log of MariaDB: statements of sessions, each with its duration in microseconds and its rows sent and changed.
#[derive(Default)]
struct Log {
    text: String,
    entries: u64,
    /// Seconds in which nothing was said.
    silent: u64,
}

impl Log {
    fn add(&mut self, session: u64, sql: &str, duration_us: u64, rows: (u64, u64)) {
        if self.entries == 0 {
            self.text += "/usr/sbin/mariadbd, Version: 10.11.6-MariaDB (Debian). started with:\n\
                          Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock\n\
                          Time\t\t    Id Command\tArgument\n";
        }
        // A thousand statements a second.
        let second = 1_700_000_000 + self.silent + self.entries / 1000;
        if self.entries.is_multiple_of(1000) {
            let (minutes, seconds) = ((second / 60) % 60, second % 60);
            writeln!(self.text, "# Time: 231114 22:{minutes:02}:{seconds:02}").expect("a string");
        }
        self.entries += 1;
        write!(
            self.text,
            "# User@Host: app[app] @ localhost []\n\
             # Thread_id: {session}  Schema: sbtest  QC_hit: No\n\
             # Query_time: {}.{:06}  Lock_time: 0.000010  Rows_sent: {}  Rows_examined: 1\n\
             # Rows_affected: {}  Bytes_sent: 100\n\
             SET timestamp={second};\n{sql};\n",
            duration_us / 1_000_000,
            duration_us % 1_000_000,
            rows.0,
            rows.1
        )
        .expect("a string");
    }

    fn import(&self, place: &Place) {
        let folder = place.folder.path();
        std::fs::write(folder.join("shop.log"), &self.text).expect("a file");
        std::fs::write(folder.join("items.toml"), item_workload("stock")).expect("a file");
        let words = [
            "capture",
            "import",
            "shop.log",
            "--output",
            "shop.capture",
            "--force",
        ];
        let (code, _, stderr) = run(&mut place.niagara(&words));
        assert_eq!(code, Some(0), "{stderr}");
    }
}

/// Short duels, so many of them, whatever they show.
fn to_the_end(duels: &str) -> [&str; 7] {
    [
        "--couples",
        "4",
        "--slice",
        "100ms",
        "--max-duels",
        duels,
        "--to-the-end",
    ]
}

fn compared(place: &Place, b: &str, arguments: &[&str]) -> (CompareSummary, String) {
    let mut words = vec![
        "compare",
        "base",
        b,
        "--workload",
        "./shop.capture",
        "--tables-of",
        "./items.toml",
        "--warm-up",
        "100ms",
        "--disturbance",
        "100%",
        "--budget",
        "3m",
        "--seed",
        "5",
        "--out",
        "study",
    ];
    words.extend(arguments);
    let (code, stdout, stderr) = run(&mut place.niagara(&words));
    assert_eq!(code, Some(0), "{stderr}");
    let store = Store::open_read_only(&place.out().join("results.db")).expect("results");
    match store.summary().expect("readable") {
        Some(Summary::Compare(compare)) => (*compare, stdout),
        other => panic!("a comparison, not {other:?}"),
    }
}

/// Nothing of the replay itself speaks against a verdict; three short duels of a server against itself may differ on a busy machine.
fn assert_good(verdict: &ReplayVerdict) {
    let of_the_machine = |one: &Shortcoming| matches!(one, Shortcoming::DiffersFromItself { .. });
    assert!(
        verdict.shortcomings().iter().all(of_the_machine),
        "{verdict}"
    );
}

#[test]
fn a_capture_that_writes_is_compared_and_ends_with_its_trace() {
    let place = Place::new();
    let mut log = Log::default();
    for number in 0..1500_u64 {
        let session = 5 + number % 4;
        log.add(session, "BEGIN", 50, (0, 0));
        let look = format!("SELECT stock FROM item WHERE id = {}", number % 100 + 1);
        log.add(session, &look, 200, (1, 0));
        let sell = format!(
            "UPDATE item SET stock = stock + 1 WHERE id = {}",
            number % 97 + 1
        );
        log.add(session, &sell, 300, (0, 1));
        log.add(session, "COMMIT", 900, (0, 0));
    }
    log.add(5, "SET GLOBAL max_connections = 10", 100, (0, 0));
    log.import(&place);
    let arguments = [
        "--couples",
        "5",
        "--slice",
        "300ms",
        "--max-duels",
        "3",
        "--to-the-end",
        "--verbose",
    ];
    let (compare, stdout) = compared(&place, "transport=unix", &arguments);
    let replay = compare.comparison.replay.as_ref().expect("a capture's");
    assert_good(&replay.verdict);
    assert!(replay.answers.is_empty(), "{:?}", replay.answers);
    assert_eq!(replay.digests.len(), 4);
    assert!(
        replay
            .digests
            .iter()
            .all(|one| one.count[0] == one.count[1] && one.errors == [0, 0])
    );
    for words in [
        "By digest",
        "update item set stock",
        "SET GLOBAL",
        "good enough to decide by",
    ] {
        assert!(stdout.contains(words), "{words}: {stdout}");
    }
    for name in ["report.html", "report.md"] {
        let report = std::fs::read_to_string(place.out().join(name)).unwrap_or_default();
        assert!(
            name == "report.md" || report.contains("By digest"),
            "{name}"
        );
        assert!(!report.contains("id = 42"), "{name} has literals");
    }
}

/// What it writes cannot be written twice: a profile has fewer couples where it is too short, and is one all the same.
#[test]
fn a_capture_that_writes_is_profiled_as_far_as_it_goes() {
    let place = Place::new();
    let mut log = Log::default();
    for number in 0..60_u64 {
        let insert = format!("INSERT INTO item VALUES ({}, 'new', 1)", 1000 + number);
        log.add(1 + number % 3, &insert, 200, (0, 1));
    }
    log.import(&place);
    // Sixty couples are wanted, and every one takes a segment of at least a transaction on each server.
    let words = [
        "profile",
        "base",
        "--workload",
        "./shop.capture",
        "--tables-of",
        "./items.toml",
        "--views",
        "allocations",
        "--seconds",
        "30s",
        "--slice",
        "250ms",
        "--warm-up",
        "100ms",
        "--no-symbols",
        "--json",
        "--out",
        "study",
    ];
    let (code, stdout, stderr) = run(&mut place.niagara(&words));
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    let document: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
    let profile = &document["profiles"][0];
    assert!(
        profile["allocations"]["calls_per_query"].as_f64() > Some(0.0),
        "{profile}"
    );
    let missing = profile["missing"].to_string();
    assert!(missing.contains(" of 60 couples of slices"), "{missing}");
}

#[test]
fn a_planted_regression_is_named_first_and_other_answers_too() {
    let place = Place::new();
    let mut log = Log::default();
    for number in 0..400_u64 {
        let session = 5 + number % 2;
        let item = number % 100 + 1;
        let lookup = format!("SELECT stock FROM item WHERE id = {item}");
        log.add(session, &lookup, 200, (1, 0));
        // Slower by 2 ms where a variable that changes nothing else is set.
        let slow = format!(
            "SELECT id, IF(@@global.max_error_count = 65, SLEEP(0.002), 0) FROM item WHERE id = {item}"
        );
        log.add(session, &slow, 200, (1, 0));
        let range = format!("SELECT COUNT(*) FROM item WHERE id BETWEEN {item} AND 100");
        log.add(session, &range, 200, (1, 0));
        // A row less where it is set.
        let other = format!(
            "SELECT id FROM item WHERE id <= IF(@@global.max_error_count = 65, 1, 2) AND stock <> {item}000"
        );
        log.add(session, &other, 200, (2, 0));
    }
    log.import(&place);
    let arguments = to_the_end("6");
    let (compare, stdout) = compared(&place, "cfg.max_error_count=65", &arguments);
    let replay = compare.comparison.replay.as_ref().expect("a capture's");
    let first = &replay.digests[0];
    assert_eq!(first.finding, DigestFinding::Slower, "{:?}", replay.digests);
    assert!(first.text.contains("sleep"), "{}", first.text);
    assert!(first.latency.low > 1.0, "{first:?}");
    assert_eq!(replay.answers.len(), 1, "{:?}", replay.answers);
    assert!(
        replay.answers[0]
            .to_string()
            .contains("select id from item"),
        "{:?}",
        replay.answers
    );
    for words in ["Slower on B", "cannot be recommended"] {
        assert!(stdout.contains(words), "{words}: {stdout}");
    }
}

#[test]
fn other_contents_are_named_though_the_number_of_rows_is_the_same() {
    let place = Place::new();
    let mut log = Log::default();
    for number in 0..300_u64 {
        let item = number % 90 + 1;
        let names =
            format!("SELECT GROUP_CONCAT(id ORDER BY id) FROM item WHERE id BETWEEN {item} AND 99");
        log.add(5 + number % 2, &names, 200, (1, 0));
        let sell = format!("UPDATE item SET stock = stock + 1 WHERE id = {item}");
        log.add(5 + number % 2, &sell, 300, (0, 1));
    }
    log.import(&place);
    let arguments = to_the_end("2");
    let (compare, stdout) = compared(&place, "cfg.group_concat_max_len=20", &arguments);
    let replay = compare.comparison.replay.as_ref().expect("a capture's");
    let answers = replay.same_answers.as_ref().expect("they were compared");
    assert_eq!(answers.failure, None);
    assert_eq!(answers.transactions, 600, "{answers:?}");
    assert_eq!(
        (answers.by_content, answers.by_rows),
        (300, 300),
        "{answers:?}"
    );
    assert_eq!(replay.answers.len(), 1, "{:?}", replay.answers);
    let said = replay.answers[0].to_string();
    assert!(
        said.contains("group_concat") && said.contains("other contents"),
        "{:?}",
        replay.answers
    );
    assert!(compare.header.deployment.is_none());
    assert!(stdout.contains("cannot be recommended"), "{stdout}");
}

#[test]
fn an_upgrade_that_breaks_statements_is_unsafe() {
    let place = Place::new();
    let mut log = Log::default();
    for number in 0..400_u64 {
        let id = number % 100 + 1;
        // A reserved word of MySQL from 8.0 on.
        let sql = match number % 4 {
            0 => format!("SELECT stock AS rank FROM item WHERE id = {id}"),
            // MariaDB sorts groups, MySQL does not.
            1 => format!("SELECT stock, COUNT(*) FROM item WHERE id < {id} GROUP BY stock"),
            _ => format!("SELECT stock FROM item WHERE id = {id}"),
        };
        log.add(5 + number % 4, &sql, 100, (1, 0));
    }
    log.import(&place);
    let (found, screen) = compared(&place, "mysql-9.7", &to_the_end("1"));
    let upgrade = found.upgrade.expect("two servers");
    assert!(upgrade.from.starts_with("MariaDB 10.11"), "{upgrade:?}");
    assert!(!upgrade.is_safe() && upgrade.is_whole, "{upgrade:?}");
    let [UpgradeObstacle::Failing { digests }, ..] = &upgrade.obstacles[..] else {
        panic!("statements fail: {upgrade:?}");
    };
    let [digest] = &digests[..] else {
        panic!("one statement fails: {digests:?}");
    };
    assert_eq!(digest.error.as_ref().map(|error| error.code), Some(1064));
    assert_eq!((digest.executions, digest.differing), (100, 100));
    let plans = upgrade.changed_plans.iter();
    let grouped = plans.clone().find(|plan| plan.text.contains("group by"));
    let grouped = grouped.unwrap_or_else(|| panic!("{upgrade:?}"));
    assert!(
        grouped.from.is_sorted && !grouped.to.is_sorted,
        "{grouped:?}"
    );
    let modes = upgrade.changed_defaults.iter();
    assert!(
        modes.clone().any(|changed| changed.name == "sql_mode"),
        "{upgrade:?}"
    );
    let screen = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        screen.contains("Not safe to upgrade from MariaDB 10.11")
            && screen.contains("1 statement fails (error 1064)")
            && screen.contains("Plans that changed"),
        "{screen}"
    );
}

#[test]
fn an_upgrade_is_unknown_where_tables_are_missing() {
    let place = Place::new();
    let mut log = Log::default();
    for number in 0..400_u64 {
        // The data have no table `sale`: both servers say so.
        let table = match number.is_multiple_of(4) {
            true => "item",
            false => "sale",
        };
        let sql = format!("SELECT stock FROM {table} WHERE id = {}", number % 100 + 1);
        log.add(5 + number % 4, &sql, 100, (1, 0));
    }
    log.import(&place);
    let (found, screen) = compared(&place, "mysql-9.7", &to_the_end("1"));
    let upgrade = found.upgrade.expect("two servers");
    assert!(
        matches!(upgrade.obstacles[..], [UpgradeObstacle::PoorReplay { .. }]),
        "{upgrade:?}"
    );
    let screen = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        screen.contains("Not known to be safe to upgrade from MariaDB 10.11")
            && screen.contains("of the statements failed that had not in the capture"),
        "{screen}"
    );
}

#[test]
fn mistakes_and_servers_of_others_are_refused_with_the_remedy() {
    let place = Place::new();
    let mut log = Log::default();
    log.add(1, "UPDATE item SET stock = 1 WHERE id = 1", 100, (0, 1));
    log.import(&place);
    let refused = |arguments: &[&str], words: &[&str]| {
        let (code, _, stderr) = run(&mut place.niagara(arguments));
        assert_ne!(code, Some(0), "{stderr}");
        for word in words {
            assert!(stderr.contains(word), "{word}: {stderr}");
        }
    };
    let socket = [
        "bench",
        "./shop.capture",
        "--socket",
        "/nowhere",
        "--user",
        "app",
    ];
    refused(&socket, &["CHANGES DATA", "sbtest", "--yes"]);
    log.add(1, "DROP TABLE item", 100, (0, 0));
    log.add(1, "TRUNCATE TABLE other", 100, (0, 0));
    log.import(&place);
    refused(&socket, &["2 of its statements DROP OR EMPTY TABLES"]);
    refused(
        &["bench", "./shop.capture", "--rate", "100"],
        &["--speed 1"],
    );
    refused(
        &["sweep", "base", "--workload", "./shop.capture"],
        &["nothing to sweep"],
    );
    refused(
        &["bench", "oltp_read_only", "--speed", "2"],
        &["--workload shop.capture"],
    );
    refused(
        &["bench", "./shop.capture", "--speed", "0"],
        &["from 0.001 to 1000"],
    );
    refused(&["bench", "./nothing.capture"], &["nothing.capture"]);
    std::fs::write(place.folder.path().join("bad.capture"), "text").expect("a file");
    refused(
        &["bench", "./bad.capture"],
        &["not a capture file", "import"],
    );
    let goal = [
        "compare",
        "base",
        "base",
        "--workload",
        "./shop.capture",
        "--goal",
        "p99",
    ];
    refused(&goal, &["arrive when they had"]);
    let study = "kind = \"compare\"\ntitle = \"t\"\nasked = \"a\"\nchanged = \"c\"\nmeasured = \"m\"\n\
                 goal = \"p99\"\na = \"base\"\nb = \"base\"\n[workload]\nname = \"./shop.capture\"\n\
                 [size.small]\nbudget = \"5m\"\n[size.original]\n";
    std::fs::write(place.folder.path().join("shop.toml"), study).expect("a file");
    refused(
        &["run", "shop.toml", "--size", "small"],
        &["shop.toml:6", "arrive when they had"],
    );
}

#[test]
fn a_running_server_is_loaded_after_yes() {
    let server = Existing::start("mariadb-10.11", &[]);
    let mut log = Log::default();
    for number in 0..200_u64 {
        let look = format!("SELECT stock FROM item WHERE id = {}", number % 100 + 1);
        log.add(1 + number % 2, &look, 100, (1, 0));
        let sell = "UPDATE item SET stock = stock + 1 WHERE id = 7";
        log.add(1 + number % 2, sell, 100, (0, 1));
    }
    log.import(&server.place);
    let bench = |words: &[&str]| {
        let (code, stdout, stderr) = run(&mut server.bench(words));
        assert_eq!(code, Some(0), "{stderr}");
        stdout
    };
    // A word for sending a capture is none for dropping tables, nor the other way round.
    let tables = ["--tables-of", "./items.toml"];
    let of_capture = |words: &[&str]| {
        let words = [&["./shop.capture"], words, &tables[..]].concat();
        run(&mut server.bench(&words))
    };
    let (code, _, stderr) = of_capture(&["prepare"]);
    assert_eq!(code, Some(0), "{stderr}");
    let (code, _, stderr) = of_capture(&["cleanup"]);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(
        stderr.contains("item: 100 rows") && !stderr.contains("captured statements"),
        "{stderr}"
    );
    let stdout = bench(&["./shop.capture", "--yes", "--speed", "2", "--json"]);
    let result: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!(result["replay"]["replayed"], 400, "{result}");
    // How late the load generator is depends on who else is on the machine.
    let shortcomings = result["replay"]["shortcomings"].as_array().expect("a list");
    let others = shortcomings.iter().filter(|one| one["code"] != "late");
    assert_eq!(others.count(), 0, "{result}");
    // All of them within one second of the log, at twice the pace.
    let seconds = result["runs"][0]["seconds"].as_f64().expect("a number");
    assert!(seconds >= 0.4, "{seconds}");
}

/// Rows that the first half of a capture makes are there when the second half is replayed by itself.
#[test]
fn a_later_part_of_a_capture_finds_what_the_earlier_part_left() {
    let place = Place::new();
    let mut log = Log::default();
    for number in 0..300_u64 {
        let insert = format!("INSERT INTO item VALUES ({}, 'new', 1)", 1000 + number);
        log.add(1 + number % 3, &insert, 200, (0, 1));
    }
    for number in 0..300_u64 {
        let look = format!("SELECT stock FROM item WHERE id = {}", 1000 + number);
        log.add(1 + number % 3, &look, 100, (1, 0));
    }
    log.import(&place);
    let dump = "-- MariaDB dump 10.19  Distrib 10.11.6-MariaDB, for debian-linux-gnu (x86_64)\n--\n\
                -- Host: localhost    Database: sbtest\n\
                CREATE DATABASE `sbtest`;\nUSE `sbtest`;\n\
                CREATE TABLE item (id INT NOT NULL PRIMARY KEY, name VARCHAR(20) NOT NULL, stock INT NOT NULL);\n\
                INSERT INTO item VALUES (1, 'old', 1);\n-- Dump completed\n";
    std::fs::write(place.folder.path().join("shop.sql"), dump).expect("a file");
    let replayed = |part: &str, data: &[&str]| {
        let part = format!("part={part}");
        let mut words = vec!["compare", "base", "base", "--workload", "./shop.capture"];
        words.extend(["--set", &part, "--warm-up", "100ms", "--slice", "100ms"]);
        words.extend([
            "--couples",
            "2",
            "--max-duels",
            "1",
            "--disturbance",
            "100%",
        ]);
        words.extend(["--to-the-end", "--seed", "5", "--out"]);
        let out = format!("study-{}", data[0].trim_start_matches('-'));
        words.push(&out);
        words.extend(data);
        let (code, stdout, stderr) = run(&mut place.niagara(&words));
        assert_eq!(code, Some(0), "{stdout}{stderr}");
        let folder = place.folder.path().join(&out);
        let store = Store::open_read_only(&folder.join("results.db")).expect("results");
        let Some(Summary::Compare(compare)) = store.summary().expect("readable") else {
            panic!("a comparison");
        };
        let replay = compare.comparison.replay.clone().expect("a capture's");
        assert_good(&replay.verdict);
        (compare.header.workload.clone(), replay.digests.len())
    };
    for data in [["--tables-of", "./items.toml"], ["--data", "shop.sql"]] {
        let (workload, digests) = replayed("after:50%", &data);
        assert!(
            workload.contains("the transactions after the first 50 %"),
            "{workload}"
        );
        // Every row that it looks for is there, and nothing is inserted again.
        assert_eq!(digests, 1, "{data:?}");
    }
}

/// A session whose connection the server has closed goes on with the database and the variables that it had.
#[test]
fn a_session_that_was_lost_goes_on_as_it_was() {
    let place = Place::new();
    let mut log = Log::default();
    // The server closes a connection that says nothing for so many seconds.
    log.add(1, "SET wait_timeout = 1", 100, (0, 0));
    log.add(1, "SET @most = 7", 100, (0, 0));
    log.add(1, "SELECT id FROM item WHERE id <= @most", 100, (7, 0));
    log.silent += 5;
    log.add(1, "SELECT id FROM item WHERE id <= @most", 100, (7, 0));
    log.import(&place);
    let mut words = vec!["bench", "./shop.capture", "--tables-of", "./items.toml"];
    words.extend(["--speed", "1", "--warm-up", "0", "--time", "8s", "--json"]);
    let (code, stdout, stderr) = run(&mut place.niagara(&words));
    assert_eq!(code, Some(0), "{stderr}");
    let result: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
    let replay = &result["replay"];
    assert!(replay["lost"].as_u64() >= Some(1), "{replay:#}");
    assert!(replay["logins_again"].as_u64() >= Some(1), "{replay:#}");
    let rows = replay["rows"].as_array().expect("rows are known");
    assert_eq!(rows[0], rows[1], "{replay:#}");
}

/// The tables that a dump makes, each with how many rows it has for them; read by other rules than the loader's.
fn tables_of(dump: &str) -> Vec<(String, u64)> {
    let mut tables: Vec<(String, u64)> = Vec::new();
    let named = |line: &str| line.split('`').nth(1).map(str::to_owned);
    for (at, line) in dump
        .match_indices('\n')
        .map(|(at, _)| (at + 1, &dump[at + 1..]))
    {
        if line.starts_with("CREATE TABLE") {
            tables.extend(named(line).map(|name| (name, 0)));
        } else if line.starts_with("INSERT INTO") {
            let name = named(line).expect("a table");
            let mut known = tables.iter_mut().filter(|(table, _)| *table == name);
            known.next().expect("a table that was made").1 += rows_of(&dump.as_bytes()[at..]);
        }
    }
    tables
}

/// The rows of the INSERT that a text begins with.
fn rows_of(text: &[u8]) -> u64 {
    let (mut rows, mut depth, mut quoted, mut after_values) = (0, 0, false, false);
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'\\' if quoted => at += 1,
            b'\'' => quoted = !quoted,
            _ if quoted => {}
            b'V' if text[at..].starts_with(b"VALUES") => after_values = true,
            b'(' => {
                rows += u64::from(depth == 0 && after_values);
                depth += 1;
            }
            b')' => depth -= 1,
            b';' => break,
            _ => {}
        }
        at += 1;
    }
    rows
}

/// Every dump that is loaded is there, table by table and row by row; what cannot be read as a whole is no success.
#[test]
fn no_load_succeeds_after_a_loss() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../niagara-origin/tests/dumps");
    let read = |name: &str| {
        let bytes = std::fs::read(folder.join(name)).expect(name);
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let mut dumps: Vec<(String, String)> = [
        "adminer.sql",
        "heidi.sql",
        "mariadb-10.11.sql",
        "mariadb-error-in-middle.sql",
        "mysql-5.7.sql",
        "mysql-5.7-by-mariadb-dump.sql",
        "mysql-9.7.sql",
        "mysql-9.7-by-mariadb-dump.sql",
        "phpmyadmin.sql",
        "sequelpro.sql",
    ]
    .into_iter()
    .map(|name| (name.to_owned(), read(name)))
    .collect();
    let whole = read("mariadb-10.11.sql");
    let mut more = |name: &str, text: String| dumps.push((name.to_owned(), text));
    more("bom", format!("\u{feff}{whole}"));
    more("crlf", whole.replace('\n', "\r\n"));
    more(
        "warning",
        format!("mysqldump: [Warning] Using a password\n{whole}"),
    );
    for (number, share) in [(1, 0.35), (2, 0.55), (3, 0.75)] {
        let at = (whole.len() as f64 * share) as usize;
        let at = (at..)
            .find(|at| whole.is_char_boundary(*at))
            .expect("a character");
        more(&format!("cut-{number}"), whole[..at].to_owned());
    }
    more("torn", whole.replacen("'two;x'", "'two", 1));
    let place = Place::new();
    let path = |name: &str| place.folder.path().join(name);
    let (mut loaded, mut refused) = (Vec::new(), Vec::new());
    for (name, text) in dumps {
        std::fs::write(path("shop.sql"), &text).expect("written");
        // Those that are cut have to have what the whole one has.
        let own = match name.starts_with("cut") || name == "torn" {
            true => tables_of(&whole),
            false => tables_of(&text.replace('\r', "")),
        };
        assert!(!own.is_empty(), "{name}");
        let database = text.split_once("-- Host: ").and_then(|(_, rest)| {
            let line = rest.lines().next()?;
            line.split_once("Database: ")
                .map(|(_, name)| name.trim().to_owned())
        });
        let database = database.unwrap_or_else(|| "d1".to_owned());
        let mut log = "/usr/sbin/mariadbd, Version: 10.11.6-MariaDB (Debian). started with:\n\
                       Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock\nTime\t\t    Id Command\tArgument\n"
            .to_owned();
        for (at, (table, rows)) in own.iter().enumerate() {
            write!(
                log,
                "# Time: 231114 22:00:{at:02}\n# User@Host: app[app] @ localhost []\n# Thread_id: 5  Schema: {database}  QC_hit: No\n\
                 # Query_time: 0.000200  Lock_time: 0.000010  Rows_sent: {rows}  Rows_examined: 1\n# Rows_affected: 0  \
                 Bytes_sent: 100\nSET timestamp={};\nSELECT * FROM `{table}`;\n",
                1_700_000_000 + at
            )
            .expect("a string");
        }
        std::fs::write(path("shop.log"), log).expect("written");
        let words = ["capture", "import", "shop.log", "--force"];
        let (code, _, stderr) = run(&mut place.niagara(&words));
        assert_eq!(code, Some(0), "{stderr}");
        let mut bench = place.niagara(&["bench", "./shop.capture", "--data", "shop.sql", "--json"]);
        bench.args([
            "--server",
            "/usr/sbin/mariadbd",
            "--time",
            "1s",
            "--warm-up",
            "0",
        ]);
        // Its images go with the place.
        bench.env("NIAGARA_CACHE", path("cache"));
        let (code, stdout, stderr) = run(&mut bench);
        if code != Some(0) {
            assert!(stderr.contains("remedy"), "{name}: {stderr}");
            refused.push(name);
            continue;
        }
        let result: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
        let replay = &result["replay"];
        let rows = replay["rows"].as_array().expect("rows are known");
        assert_eq!(rows[0], rows[1], "{name}: {replay:#}\n{stderr}");
        let errors = replay["errors"].as_object().expect("errors");
        assert!(errors.is_empty(), "{name}: {replay:#}");
        loaded.push(name);
    }
    let must = [
        "adminer.sql",
        "heidi.sql",
        "mariadb-10.11.sql",
        "bom",
        "crlf",
        "warning",
        "phpmyadmin.sql",
        "sequelpro.sql",
    ];
    for name in must {
        assert!(loaded.iter().any(|one| one == name), "{name} was refused");
    }
    for name in [
        "mariadb-error-in-middle.sql",
        "cut-1",
        "cut-2",
        "cut-3",
        "torn",
    ] {
        assert!(refused.iter().any(|one| one == name), "{name} was loaded");
    }
}
