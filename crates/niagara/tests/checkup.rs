//! `niagara checkup` on real servers with planted states: what is wrong is found, nothing else is.

mod common;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use common::existing::Existing;
use common::run;
use niagara_load::{Admin, Endpoint};
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(60);

/// A server with every privilege for the test.
fn start(name: &str, variables: &[(&str, &str)]) -> Existing {
    Existing::start(name, variables)
}

fn execute(existing: &Existing, statements: &[&str]) {
    for statement in statements {
        existing.server.query(statement).expect(statement);
    }
}

fn connect(endpoint: &Endpoint) -> Admin {
    Admin::connect(endpoint, PATIENCE).expect("a connection")
}

/// The checkup as JSON, by the server's own account.
fn checkup(existing: &Existing, length: &str) -> Value {
    by_account(
        existing,
        existing.server.user(),
        existing.server.password(),
        length,
    )
}

fn by_account(existing: &Existing, user: &str, password: &str, length: &str) -> Value {
    let mut command = existing.place.niagara(&["checkup"]);
    command
        .arg(existing.server.socket())
        .args([
            "--user",
            user,
            "--for",
            length,
            "--json",
            "--html",
            "checkup.html",
        ])
        .env("NIAGARA_PASSWORD", password);
    let (code, stdout, stderr) = run(&mut command);
    assert_eq!(code, Some(0), "{stdout}\n{stderr}");
    let found: Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!(found["format"], "niagara.checkup/1");
    found
}

fn findings(found: &Value) -> &Vec<Value> {
    found["findings"].as_array().expect("a list")
}

fn codes(found: &Value) -> BTreeSet<&str> {
    let codes = findings(found)
        .iter()
        .filter_map(|one| one["code"].as_str());
    codes.collect()
}

fn finding<'v>(found: &'v Value, code: &str) -> &'v Value {
    let mut all = findings(found).iter();
    all.find(|one| one["code"] == code)
        .unwrap_or_else(|| panic!("no {code} in {found:#}"))
}

/// Rows of a table by a recursion that both families know.
fn filled(table: &str, rows: u32, values: &str) -> [String; 2] {
    [
        format!(
            "INSERT INTO {table} WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT {values} FROM n"
        ),
        format!(
            "INSERT INTO {table} SELECT {} FROM (WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < {rows}) SELECT i * 1000 AS k FROM n) m JOIN (WITH RECURSIVE o AS (SELECT 1 AS j UNION ALL SELECT j + 1 FROM o WHERE j < 1000) SELECT j FROM o) p",
            values.replace('i', "(k + j)")
        ),
    ]
}

/// Runs work on connections of its own while `whole` lasts.
fn meanwhile<T>(work: &[&(dyn Fn(&AtomicBool) + Sync)], whole: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for one in work {
            scope.spawn(|| one(&over));
        }
        let result = whole();
        over.store(true, Ordering::Relaxed);
        result
    })
}

/// A setting is made where the server can at once, and cannot be where it is said to take a start.
fn take_setting(existing: &Existing, setting: &Value) {
    let of = |key: &str| setting[key].as_str();
    let (variable, value) = (of("variable").expect("a name"), of("value").expect("one"));
    let mebibytes = value.strip_suffix('M').and_then(|size| size.parse().ok());
    let value = mebibytes.map_or(value.to_owned(), |size: u64| (size << 20).to_string());
    let asked = format!("SELECT @@GLOBAL.{variable}");
    let is_set = || {
        let now = existing.server.query(&asked).expect(&asked).concat();
        now == [value.as_str()] || (value == "ON" && now == ["1"])
    };
    let set = format!("SET GLOBAL {variable} = {value};");
    match of("statement") {
        Some(statement) => {
            assert_eq!(statement, set);
            existing.server.query(statement).expect(statement);
            // A pool takes its time.
            common::wait_until(statement, PATIENCE, is_set);
        }
        None => assert!(existing.server.query(&set).is_err() || !is_set(), "{set}"),
    }
}

/// The words of a command without its program, as a shell would take them.
fn shell_words(command: &str) -> Vec<&str> {
    let pieces = command.split('\'').enumerate();
    let words = pieces.flat_map(|(place, piece)| match place % 2 {
        0 => piece.split(' ').filter(|word| !word.is_empty()).collect(),
        _ => vec![piece],
    });
    words.skip(1).collect()
}

/// The remedies of all findings by code. Statements are executed, settings made.
fn take_remedies(existing: &Existing, found: &Value) -> BTreeSet<String> {
    let texts = |list: &Value| -> Vec<String> {
        let list = list.as_array().into_iter().flatten();
        list.filter_map(|one| one.as_str().map(str::to_owned))
            .collect()
    };
    let mut taken = BTreeSet::new();
    // The last first: an index that is hidden can still be dropped for one that it equals.
    for one in findings(found).iter().rev() {
        let remedy = &one["remedy"];
        for statement in texts(&remedy["statements"]) {
            existing.server.query(&statement).expect(&statement);
        }
        for setting in remedy["settings"].as_array().into_iter().flatten() {
            take_setting(existing, setting);
        }
        if !remedy.is_null() {
            taken.insert(one["code"].as_str().expect("a code").to_owned());
        }
    }
    taken
}

const SICK_TABLES: [&str; 7] = [
    "CREATE DATABASE shop",
    "CREATE TABLE shop.big (id INT PRIMARY KEY, note VARCHAR(999), old INT, INDEX old (old), INDEX old2 (old), INDEX a (note(9)), INDEX ab (note(9), old)) ENGINE = InnoDB",
    "CREATE TABLE shop.nokey (a INT) ENGINE = InnoDB",
    "CREATE TABLE shop.isam (a INT PRIMARY KEY) ENGINE = MyISAM",
    "CREATE TABLE shop.fine (id INT PRIMARY KEY, b INT, INDEX b (b)) ENGINE = InnoDB",
    "INSERT INTO shop.nokey VALUES (1)",
    "INSERT INTO shop.fine VALUES (1, 1), (2, 2)",
];

/// Later than in the second of the start: a file's time has no fractions.
fn write_myisam(existing: &Existing) {
    common::wait_until("seconds since the start", PATIENCE, || {
        let uptime = &existing.server.status().expect("status")["Uptime"];
        uptime.parse::<u32>().is_ok_and(|seconds| seconds >= 3)
    });
    execute(existing, &["INSERT INTO shop.isam VALUES (1)"]);
}

#[test]
fn planted_states_of_mariadb_are_found() {
    let existing = start(
        "mariadb-10.11",
        &[
            ("innodb_buffer_pool_size", "8M"),
            ("innodb_log_file_size", "4M"),
            ("innodb_flush_log_at_trx_commit", "2"),
            ("query_cache_type", "ON"),
            ("query_cache_size", "1M"),
            ("max_connections", "10"),
            ("slow_query_log", "OFF"),
            ("performance_schema", "OFF"),
            ("userstat", "ON"),
        ],
    );
    execute(&existing, &SICK_TABLES);
    for statement in filled("shop.big", 49, "i, REPEAT('x', 600), i") {
        existing.server.query(&statement).expect("rows");
    }
    let endpoint = existing.server.over_socket("shop");
    for pass in 0..8 {
        let scan = format!(
            "SELECT SQL_NO_CACHE COUNT(note) FROM shop.big WHERE id > {pass} AND note LIKE '%y'"
        );
        existing.server.query(&scan).expect("a scan");
    }
    for _ in 0..120 {
        let text = "SELECT SQL_NO_CACHE COUNT(*) FROM (SELECT CONCAT(a, REPEAT('x', 9)) t, CAST(a AS CHAR(70000)) u FROM shop.nokey GROUP BY 1, 2) d";
        existing.server.query(text).expect("a temporary table");
    }
    write_myisam(&existing);
    let mut wrong = endpoint.clone();
    wrong.password = "wrong".to_owned();
    for _ in 0..12 {
        Admin::connect(&wrong, PATIENCE).expect_err("a wrong password");
    }
    let mut open = Vec::new();
    while let Ok(admin) = Admin::connect(&endpoint, PATIENCE) {
        open.push(admin);
    }
    open.into_iter().for_each(Admin::quit);
    common::wait_until("places for connections", PATIENCE, || {
        existing.server.status().expect("status")["Threads_connected"] == "1"
    });
    let writes = |over: &AtomicBool| {
        let mut admin = connect(&endpoint);
        let mut turn = 0_u32;
        while !over.load(Ordering::Relaxed) {
            turn += 1;
            let sql = format!(
                "UPDATE shop.big SET note = REPEAT('{}', 600) WHERE id <= 50",
                turn % 10
            );
            admin.rows(&sql).expect("written");
            thread::sleep(Duration::from_millis(20));
        }
        admin.quit();
    };
    let holds = |over: &AtomicBool| {
        let (mut one, mut other) = (connect(&endpoint), connect(&endpoint));
        other.rows("SET innodb_lock_wait_timeout = 1").expect("set");
        one.rows("BEGIN").expect("begun");
        one.rows("UPDATE shop.fine SET b = 3 WHERE id = 1")
            .expect("locked");
        while !over.load(Ordering::Relaxed) {
            other
                .rows("UPDATE shop.fine SET b = 4 WHERE id = 1")
                .expect_err("it is locked");
        }
        one.quit();
        other.quit();
    };
    let found = meanwhile(&[&writes, &holds], || checkup(&existing, "8s"));
    assert_eq!(
        codes(&found),
        [
            "connections-refused",
            "duplicate-indexes",
            "durability-off",
            "engine-not-crash-safe",
            "logins-failed",
            "pool-too-small",
            "query-cache-on",
            "redo-too-small",
            "row-lock-waits",
            "statements-not-recorded",
            "tables-without-key",
            "temporary-tables-on-disk",
            "unused-indexes",
        ]
        .into(),
        "{found:#}"
    );
    assert_eq!(finding(&found, "durability-off")["lever"], "log-flush=os");
    assert_eq!(
        finding(&found, "tables-without-key")["tables"][0]["table"],
        "nokey"
    );
    let duplicates = &finding(&found, "duplicate-indexes")["indexes"];
    let pairs: Vec<String> = duplicates
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| format!("{} {} {}", one["index"], one["likeness"], one["covered_by"]))
        .collect();
    assert_eq!(
        pairs,
        [r#""a" "beginning" "ab""#, r#""old2" "equal" "old""#],
        "{duplicates}"
    );
    let remedy = &finding(&found, "duplicate-indexes")["remedy"]["statements"];
    assert_eq!(
        remedy.to_string(),
        r#"["ALTER TABLE `shop`.`big` ALTER INDEX `a` IGNORED;","ALTER TABLE `shop`.`big` DROP INDEX `old2`;"]"#
    );
    let levels: Vec<&str> = findings(&found)
        .iter()
        .filter_map(|one| one["level"].as_str())
        .collect();
    assert_eq!((levels[0], levels[levels.len() - 1]), ("danger", "note"));
    for one in findings(&found) {
        let proof = one["proof"].as_str().expect("a command");
        assert!(proof.starts_with("niagara "), "{proof}");
        if proof.contains("shop.niagara") {
            // It can be typed; what it needs is not here.
            let words = shell_words(proof);
            let (code, _, stderr) = run(&mut existing.place.niagara(&words));
            assert_eq!(code, Some(1), "{proof}: {stderr}");
        }
        assert!(
            one["evidence"]
                .as_str()
                .is_some_and(|text| !text.is_empty()),
            "{one}"
        );
    }
    assert_eq!(finding(&found, "durability-off")["shows"], "price");
    assert_eq!(finding(&found, "pool-too-small")["shows"], "proof");
    let engine = finding(&found, "engine-not-crash-safe")["proof"].as_str();
    assert_eq!(
        engine,
        Some(
            "niagara compare base 'sql=\"ALTER TABLE `shop`.`isam` ENGINE=InnoDB;\"' --pack shop.niagara"
        )
    );
    assert_ne!(found["time"]["place"], "nowhere", "{}", found["time"]);
    assert!(found["host"]["pid"].as_i64() == Some(existing.server.pid().into()));
    let page = existing.place.folder.path().join("checkup.html");
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(
        page.contains("max_connections") && !page.contains("<script"),
        "{page}"
    );
    assert!(
        page.contains("ALTER TABLE `shop`.`isam` ENGINE=InnoDB;"),
        "{page}"
    );
    let pool = &finding(&found, "pool-too-small")["remedy"];
    match found["host"]["other_servers"].as_u64() {
        Some(0) => {
            assert_eq!(pool["kind"], "settings", "{pool}");
            let setting = &pool["settings"][0];
            assert_eq!(setting["variable"], "innodb_buffer_pool_size", "{pool}");
        }
        // Those of other tests, or of the machine: they share its memory.
        others => {
            assert!(others.is_some(), "{}", found["host"]);
            assert_eq!(pool["kind"], "larger-pool", "{pool}");
            assert_eq!(pool["unknown"], "shared", "{pool}");
        }
    }
    let taken = take_remedies(&existing, &found);
    for code in [
        "connections-refused",
        "duplicate-indexes",
        "durability-off",
        "engine-not-crash-safe",
        "logins-failed",
        "query-cache-on",
        "redo-too-small",
        "statements-not-recorded",
        "unused-indexes",
    ] {
        assert!(taken.contains(code), "{code}: {found:#}");
    }
    let later = checkup(&existing, "1s");
    for code in ["duplicate-indexes", "engine-not-crash-safe"] {
        assert!(!codes(&later).contains(code), "{code}: {later:#}");
    }
}

#[test]
fn planted_states_of_mysql_are_found() {
    let existing = start(
        "mysql-9.7",
        &[
            ("innodb_doublewrite", "OFF"),
            ("max_connections", "12"),
            ("thread_cache_size", "0"),
            ("table_open_cache", "400"),
        ],
    );
    execute(&existing, &SICK_TABLES);
    for statement in filled("shop.big", 4, "i, CONCAT(i, REPEAT('x', 60)), i") {
        existing.server.query(&statement).expect("rows");
    }
    write_myisam(&existing);
    let endpoint = existing.server.over_socket("shop");
    for pass in 0..30 {
        let scan = format!("SELECT COUNT(note) FROM shop.big WHERE note LIKE '%y{pass}'");
        existing.server.query(&scan).expect("a scan");
    }
    for key in 0..1100 {
        let look = format!("SELECT note FROM shop.big WHERE id = {key}");
        existing.server.query(&look).expect("a look");
    }
    let keys = "UPDATE mysql.innodb_table_stats SET n_rows = 10, last_update = '2020-01-01 00:00:00' WHERE table_name = 'big'";
    execute(
        &existing,
        &["SET GLOBAL innodb_stats_auto_recalc = OFF", keys],
    );
    let open: Vec<Admin> = (0..10).map(|_| connect(&endpoint)).collect();
    // They go without closing.
    drop(open);
    common::wait_until("lost clients", PATIENCE, || {
        let lost = &existing.server.status().expect("status")["Aborted_clients"];
        lost.parse::<u32>().is_ok_and(|lost| lost >= 10)
    });
    let connects = |over: &AtomicBool| {
        while !over.load(Ordering::Relaxed) {
            if let Ok(admin) = Admin::connect(&endpoint, PATIENCE) {
                admin.quit();
            }
            thread::sleep(Duration::from_millis(20));
        }
    };
    let found = meanwhile(&[&connects], || checkup(&existing, "6s"));
    assert_eq!(
        codes(&found),
        [
            "clients-lost",
            "connections-near-limit",
            "duplicate-indexes",
            "durability-off",
            "engine-not-crash-safe",
            "statements-read-much",
            "statistics-stale",
            "tables-without-key",
            "threads-not-cached",
            "unused-indexes",
        ]
        .into(),
        "{found:#}"
    );
    assert_eq!(
        finding(&found, "durability-off")["lever"],
        "doublewrite=off"
    );
    let statements = &finding(&found, "statements-read-much")["digests"];
    let text = statements[0]["text"].as_str().expect("a text");
    assert!(text.contains("LIKE ?") && !text.contains("%y"), "{text}");
    let taken = take_remedies(&existing, &found);
    for code in [
        "clients-lost",
        "statistics-stale",
        "threads-not-cached",
        "unused-indexes",
    ] {
        assert!(taken.contains(code), "{code}: {found:#}");
    }
    assert_eq!(found["time"]["measured_by"], "sum");
}

#[test]
fn few_tables_are_opened() {
    const TABLES: u64 = 300;
    let existing = start("mariadb-10.11", &[("table_open_cache", "2000")]);
    execute(&existing, &["CREATE DATABASE shop"]);
    for table in 0..TABLES {
        let create = format!(
            "CREATE TABLE shop.t{table} (id INT PRIMARY KEY, a INT, INDEX a (a)) ENGINE = InnoDB"
        );
        existing.server.query(&create).expect("a table");
    }
    let alike = "CREATE TABLE shop.alike (id INT PRIMARY KEY, a INT, INDEX a (a), INDEX a2 (a), INDEX down (a DESC, id)) ENGINE = InnoDB";
    execute(&existing, &[alike, "FLUSH TABLES"]);
    let opened = || {
        let count = &existing.server.status().expect("status")["Opened_tables"];
        count.parse::<u64>().expect("a number")
    };
    let before = opened();
    let found = checkup(&existing, "1s");
    let opened = opened() - before;
    assert!(opened < TABLES / 2, "{opened} tables were opened");
    // What only an open table shows is asked of those with similar indexes.
    let duplicates = finding(&found, "duplicate-indexes")["indexes"].to_string();
    assert!(duplicates.contains(r#""a2""#), "{duplicates}");
    assert!(!duplicates.contains(r#""down""#), "{duplicates}");
}

#[test]
fn hidden_indexes_replace_no_other() {
    for (name, hidden) in [("mariadb-10.11", "IGNORED"), ("mysql-9.7", "INVISIBLE")] {
        let existing = start(name, &[]);
        let table = format!(
            "CREATE TABLE shop.t (id INT PRIMARY KEY, a INT, b INT, INDEX a (a), INDEX a2 (a) {hidden}, \
             INDEX ab (a, b) {hidden}) ENGINE = InnoDB"
        );
        execute(&existing, &["CREATE DATABASE shop", &table]);
        let found = checkup(&existing, "1s");
        let duplicates = &finding(&found, "duplicate-indexes")["indexes"];
        assert_eq!(duplicates.as_array().map(Vec::len), Some(1), "{duplicates}");
        assert_eq!(
            (&duplicates[0]["index"], &duplicates[0]["covered_by"]),
            (&"a2".into(), &"a".into()),
            "{name}"
        );
    }
}

/// A table that is as it should be, and what is done with it.
fn used_well(existing: &Existing) {
    execute(
        existing,
        &[
            "CREATE DATABASE shop",
            "CREATE TABLE shop.parent (id INT PRIMARY KEY) ENGINE = InnoDB",
            "CREATE TABLE shop.child (id INT PRIMARY KEY, parent INT, name VARCHAR(20), INDEX name (name), \
             FOREIGN KEY (parent) REFERENCES shop.parent (id)) ENGINE = InnoDB",
            "CREATE VIEW shop.seen AS SELECT id FROM shop.parent",
            "INSERT INTO shop.parent VALUES (1)",
        ],
    );
    for id in 0..1100 {
        let insert = format!("INSERT INTO shop.child VALUES ({id}, 1, 'n{id}')");
        existing.server.query(&insert).expect("a row");
        let look = format!("SELECT id FROM shop.child WHERE name = 'n{id}'");
        existing.server.query(&look).expect("a look");
    }
}

#[test]
fn servers_with_nothing_wrong_have_no_finding() {
    for (name, variables) in [
        (
            "mariadb-10.11",
            &[
                ("slow_query_log", "ON"),
                ("long_query_time", "1"),
                ("userstat", "ON"),
                ("general_log", "ON"),
            ][..],
        ),
        ("mysql-9.7", &[("general_log", "ON")]),
    ] {
        let existing = start(name, variables);
        used_well(&existing);
        execute(
            &existing,
            &[
                "SET GLOBAL log_output = 'TABLE'",
                "TRUNCATE mysql.general_log",
            ],
        );
        let before = existing.server.status().expect("status");
        let found = checkup(&existing, "3s");
        assert_eq!(codes(&found), BTreeSet::new(), "{name}: {found:#}");
        assert_eq!(found["time"]["place"], "nowhere", "{}", found["time"]);
        let after = existing.server.status().expect("status");
        assert_eq!(before["Aborted_clients"], after["Aborted_clients"]);
        // Nothing but reading was sent.
        let log = existing
            .server
            .query("SELECT CONVERT(argument USING utf8mb4) FROM mysql.general_log WHERE command_type = 'Query'")
            .expect("the log");
        assert!(log.len() > 20, "{log:?}");
        for statement in log.iter().flatten() {
            let reads = ["SELECT ", "SHOW ", "SET SESSION ", "SET NAMES"];
            assert!(
                reads.iter().any(|word| statement.starts_with(word)),
                "{statement}"
            );
        }
    }
}

#[test]
fn missing_privileges_are_named_with_their_grant() {
    for name in ["mariadb-10.11", "mysql-9.7"] {
        let existing = start(name, &[]);
        used_well(&existing);
        execute(
            &existing,
            &[
                "CREATE USER poor@localhost IDENTIFIED BY 'S3cret-word'",
                "GRANT SELECT ON shop.child TO poor@localhost",
            ],
        );
        let found = by_account(&existing, "poor", "S3cret-word", "2s");
        let gaps = found["gaps"].as_array().expect("a list");
        let grant = |part: &str| {
            let gap = gaps.iter().find(|gap| gap["part"] == part);
            gap.and_then(|gap| gap["grant"].as_str())
                .unwrap_or_default()
        };
        assert_eq!(
            grant("connections"),
            "GRANT PROCESS ON *.* TO 'poor'@'localhost'",
            "{found:#}"
        );
        assert_eq!(
            grant("data-size"),
            "GRANT PROCESS ON *.* TO 'poor'@'localhost'",
            "{found:#}"
        );
        assert_eq!(
            grant("other-tables"),
            "GRANT SELECT ON *.* TO 'poor'@'localhost'",
            "{found:#}"
        );
        if name.starts_with("mysql") {
            let statements = "GRANT SELECT ON performance_schema.* TO 'poor'@'localhost'";
            assert_eq!(grant("statements"), statements, "{found:#}");
        }
        assert!(!found.to_string().contains("S3cret-word"));
    }
}

#[test]
fn buffers_beyond_the_memory_are_found() {
    let memory = std::fs::read_to_string("/proc/meminfo").expect("meminfo");
    let total = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"));
    let total = total.and_then(|text| text.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    let total = total.expect("a size") << 10;
    if total > 32 << 30 {
        eprintln!("the server would take gigabytes for the list of its pages alone: not tried");
        return;
    }
    let pool = (total + (total >> 4)).to_string();
    let existing = start("mysql-9.7", &[("innodb_buffer_pool_size", &pool)]);
    let found = checkup(&existing, "1s");
    let one = finding(&found, "memory-beyond-ram");
    assert!(
        one["buffer_bytes"].as_u64() > one["memory_bytes"].as_u64(),
        "{one}"
    );
    // Its remedy is what is measured, no lever that sizes the pool by the data.
    assert_eq!(one["shows"], "price", "{one}");
    let setting = &one["remedy"]["settings"][0];
    let size = setting["value"].as_str().expect("a size");
    assert_eq!(setting["variable"], "innodb_buffer_pool_size");
    let proof = one["proof"].as_str().expect("a command");
    let change = format!(" cfg.innodb_buffer_pool_size={size} ");
    assert!(proof.contains(&change), "{proof}");
}

/// The checkup of a replica on the day on which its series is past its end.
fn late_checkup(existing: &Existing) -> Value {
    let mut command = existing.place.niagara(&["checkup", "--json", "--for"]);
    command
        .args(["2s", "--today", "2033-01-01", "--socket"])
        .arg(existing.server.socket())
        .args(["--user", existing.server.user()])
        .env("NIAGARA_PASSWORD", existing.server.password());
    let (code, stdout, stderr) = run(&mut command);
    assert_eq!(code, Some(0), "{stdout}\n{stderr}");
    serde_json::from_str(&stdout).expect("JSON")
}

#[test]
fn replicas_behind_and_stopped_are_found() {
    let records = [
        ("slow_query_log", "ON"),
        ("long_query_time", "1"),
        ("log_bin", "bin"),
        ("sync_binlog", "1"),
        ("server_id", "1"),
    ];
    let source = start("mariadb-10.11", &records);
    let mut records = records;
    records[4].1 = "2";
    let replica = start("mariadb-10.11", &records);
    execute(
        &source,
        &[
            "CREATE DATABASE shop",
            "CREATE TABLE shop.t (a INT PRIMARY KEY) ENGINE = InnoDB",
            "CREATE USER copy@'%' IDENTIFIED BY 'S3cret-word'",
            "GRANT REPLICATION SLAVE ON *.* TO copy@'%'",
        ],
    );
    let port = source.server.tcp().port();
    let change = format!(
        "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {port}, MASTER_USER = 'copy', \
         MASTER_PASSWORD = 'S3cret-word', MASTER_LOG_FILE = 'bin.000001', MASTER_LOG_POS = 4"
    );
    execute(&replica, &[&change, "START SLAVE"]);
    let count = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'shop'";
    common::wait_until("the table on the replica", PATIENCE, || {
        replica.server.query(count).expect("a count").concat() == ["1"]
    });
    let mut holder = connect(&replica.server.over_socket("shop"));
    holder.rows("LOCK TABLES shop.t READ").expect("locked");
    let mut late = connect(&source.server.over_socket("shop"));
    // Of a statement the replica would take off the time that it seems to have run.
    late.rows("SET binlog_format = ROW").expect("set");
    late.rows("SET timestamp = UNIX_TIMESTAMP() - 600")
        .expect("set");
    late.rows("INSERT INTO shop.t VALUES (1)").expect("written");
    let waiting =
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE LIKE '%metadata lock%'";
    common::wait_until("a change that waits", PATIENCE, || {
        replica.server.query(waiting).expect("a count").concat() == ["1"]
    });
    // As on one of two servers that replicate each other.
    execute(
        &replica,
        &[
            "CREATE TABLE shop.own (a INT PRIMARY KEY) ENGINE = InnoDB",
            "INSERT INTO shop.own VALUES (1)",
        ],
    );
    let found = late_checkup(&replica);
    assert_eq!(
        codes(&found),
        ["release-ended-upstream", "replica-lags", "replica-writable"].into(),
        "{found:#}"
    );
    let writable = finding(&found, "replica-writable");
    assert!(writable["writes"].as_u64() >= Some(1), "{writable}");
    assert!(writable["remedy"].is_null(), "{writable}");
    assert!(finding(&found, "replica-lags")["seconds"].as_f64() >= Some(600.0));
    assert_eq!(
        finding(&found, "release-ended-upstream")["proof"],
        "niagara compare mariadb-10.11 mariadb-11.8 --pack shop.niagara"
    );
    holder.quit();
    late.quit();
    execute(&replica, &["STOP SLAVE", "SET GLOBAL read_only = ON"]);
    let found = late_checkup(&replica);
    assert_eq!(
        codes(&found),
        ["release-ended-upstream", "replica-stopped"].into(),
        "{found:#}"
    );
    let channel = &finding(&found, "replica-stopped")["channels"][0];
    assert_eq!(
        (&channel["part"], &channel["error"]),
        (&"both".into(), &0.into())
    );
    assert!(!found.to_string().contains("S3cret-word"));
}

#[test]
fn replicas_that_cannot_connect_are_found() {
    let existing = start("mysql-9.7", &[("read_only", "ON")]);
    execute(
        &existing,
        &[
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = 1, SOURCE_USER = 'copy'",
            "START REPLICA",
        ],
    );
    let error = "SELECT COUNT(*) FROM performance_schema.replication_connection_status WHERE LAST_ERROR_NUMBER = 2003";
    common::wait_until("an error", PATIENCE, || {
        existing.server.query(error).expect("a count").concat() == ["1"]
    });
    let found = checkup(&existing, "2s");
    assert_eq!(codes(&found), ["replica-stopped"].into(), "{found:#}");
    let channel = &finding(&found, "replica-stopped")["channels"][0];
    assert_eq!(
        (&channel["part"], &channel["error"], &channel["source"]),
        (&"receiver".into(), &2003.into(), &"127.0.0.1:1".into())
    );
}

#[test]
fn what_is_said_fits_a_terminal() {
    let existing = start("mariadb-10.11", &[]);
    let mut command = existing
        .place
        .niagara(&["checkup", "--for", "1s", "--levers", "--socket"]);
    command
        .arg(existing.server.socket())
        .args(["--user", existing.server.user()])
        .env("NIAGARA_PASSWORD", existing.server.password());
    let (code, stdout, stderr) = run(&mut command);
    assert_eq!(code, Some(0), "{stdout}\n{stderr}");
    for words in [
        "MariaDB 10.11.",
        "hardly busy",
        "Nothing says what the statements do",
        "niagara capture start --socket",
        "niagara advise shop.niagara",
        "niagara tune shop.niagara",
        "No line promises a gain",
        "buffer-pool=data",
    ] {
        assert!(stdout.contains(words), "no {words} in\n{stdout}");
    }
}

#[test]
fn an_address_without_a_server_has_a_remedy() {
    let place = common::Place::new();
    for (address, words) in [
        ("/no/such.sock", "check ADDRESS"),
        ("127.0.0.1:1", "check ADDRESS"),
        ("localhost:x", "x is no port"),
    ] {
        let (code, _, stderr) = run(&mut place.niagara(&["checkup", address]));
        assert_eq!(code, Some(1), "{stderr}");
        assert!(
            stderr.contains(words) && stderr.contains("remedy") && !stderr.contains("sbtest"),
            "{stderr}"
        );
    }
}

#[test]
fn stopped_checkup_says_goodbye_to_the_server() {
    let existing = start("mariadb-10.11", &[]);
    let counter = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME IN \
        ('ABORTED_CLIENTS', 'THREADS_CONNECTED')";
    let before = existing.server.query(counter).expect("counters");
    let mut command = existing.place.niagara(&["checkup", "--for", "10m"]);
    let mut child = command
        .arg("--socket")
        .arg(existing.server.socket())
        .args(["--user", existing.server.user()])
        .env("NIAGARA_PASSWORD", existing.server.password())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("started");
    let limit = std::time::Duration::from_secs(60);
    let watching = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND = 'Sleep' AND TIME_MS > 100";
    common::wait_until("a checkup that watches", limit, || {
        existing.server.query(watching).expect("a list").concat() != ["0"]
    });
    let pid = i32::try_from(child.id()).expect("a process");
    common::signal(pid, nix::sys::signal::Signal::SIGINT);
    assert_eq!(child.wait().expect("its end").code(), Some(130));
    common::wait_until("the end of its connection", limit, || {
        existing.server.query(counter).expect("counters") == before
    });
}

/// An account without PROCESS does not see what others do, and counts the scheduler of events as somebody.
fn is_idle(name: &str) {
    let existing = start(name, &[]);
    execute(
        &existing,
        &[
            "CREATE USER plain@localhost IDENTIFIED BY 'plain'",
            "CREATE DATABASE shop",
        ],
    );
    for statement in [
        "SET GLOBAL event_scheduler = OFF",
        "SET GLOBAL event_scheduler = ON",
        "CREATE EVENT shop.later ON SCHEDULE AT '2037-01-01' DO SELECT 1",
    ] {
        execute(&existing, &[statement]);
        let mut command = existing.place.niagara(&["checkup"]);
        command
            .arg(existing.server.socket())
            .args(["--user", "plain", "--for", "1s"])
            .env("NIAGARA_PASSWORD", "plain");
        let (code, told, stderr) = run(&mut command);
        assert_eq!(code, Some(0), "{told}\n{stderr}");
        assert!(
            told.contains("The database is hardly busy"),
            "{statement}: {told}"
        );
    }
}

#[test]
fn mariadb_is_idle() {
    is_idle("mariadb-10.11");
}

#[test]
fn later_mariadb_is_idle() {
    is_idle("mariadb-11.8");
}

#[test]
fn mysql_is_idle() {
    is_idle("mysql-9.7");
}
