//! Upgrades from release to release, with an incompatibility of each kind planted: `make test-servers` fetches the old servers.

mod common;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use common::{Place, run};
use niagara_model::{CompareSummary, Summary, Upgrade, UpgradeObstacle};
use niagara_store::Store;

/// Executions of each statement.
const EXECUTIONS: u64 = 60;

/// What a move from one release to the next breaks.
struct Incompatibilities {
    /// The server: a name of the catalogue, or a folder of `scripts/fetch-test-servers`.
    from: &'static str,
    to: &'static str,
    /// The log and the dump are MariaDB's.
    is_mariadb: bool,
    /// Lines of the configuration.
    settings: &'static [&'static str],
    /// Those that the new server does not take, by their names.
    lost: &'static [&'static str],
    /// Statements that fail, with the error.
    failing: &'static [(&'static str, u16)],
    /// A statement that is answered otherwise.
    other: &'static [&'static str],
    /// A statement whose plan changes.
    replanned: &'static [&'static str],
    /// A variable whose default changes.
    default: &'static [&'static str],
}

/// What neither side minds.
const HARMLESS: [&str; 2] = [
    "SELECT stock FROM item WHERE id = 9",
    "SELECT name FROM item WHERE born = '2020-01-02' ORDER BY id LIMIT 1",
];
const GROUPED: &str = "SELECT kind, MAX(stock) FROM item WHERE id < 300 GROUP BY kind";

fn server(name: &str) -> String {
    let fetched = std::env::var_os("NIAGARA_TEST_SERVERS").map_or_else(
        || {
            let home = std::env::var_os("HOME").expect("a home");
            Path::new(&home).join(".cache/niagara-test-servers")
        },
        PathBuf::from,
    );
    let folder = fetched.join(name);
    match folder.exists() {
        true => folder.display().to_string(),
        false => name.to_owned(),
    }
}

fn dump(is_mariadb: bool) -> String {
    let mut text = match is_mariadb {
        true => {
            "-- MariaDB dump 10.19  Distrib 10.5.23-MariaDB, for debian-linux-gnu (x86_64)\n--\n-- Server version\t10.5.23-MariaDB\n"
        }
        false => {
            "-- MySQL dump 10.13  Distrib 5.7.22, for Linux (x86_64)\n--\n-- Server version\t5.7.22\n"
        }
    }
    .to_owned();
    text += "CREATE DATABASE `shop`;\nUSE `shop`;\n\
         CREATE TABLE `item` (`id` int NOT NULL AUTO_INCREMENT, `name` varchar(40) NOT NULL, `kind` int NOT NULL, \
         `stock` int NOT NULL, `born` date DEFAULT NULL, PRIMARY KEY (`id`), KEY `kind` (`kind`)) ENGINE=InnoDB DEFAULT \
         CHARSET=utf8mb4;\nINSERT INTO `item` VALUES ";
    for id in 1..=1000 {
        let (kind, stock, day) = (id % 11, id * 7 % 100, id % 28 + 1);
        let comma = if id == 1 { "" } else { "," };
        write!(
            text,
            "{comma}({id},'name{}',{kind},{stock},'2020-01-{day:02}')",
            id % 37
        )
        .expect("a string");
    }
    text + ";\n-- Dump completed on 2023-11-14 22:00:00\n"
}

fn log(is_mariadb: bool, statements: &[&str]) -> String {
    let mut text = match is_mariadb {
        true => {
            "/usr/sbin/mariadbd, Version: 10.5.23-MariaDB (Debian). started with:\nTcp port: 3306  Unix socket: /run/mysqld/mysqld.sock\n\
             Time\t\t    Id Command\tArgument\n# Time: 231114 22:13:20\n"
        }
        false => {
            "/usr/sbin/mysqld, Version: 5.7.22-log (MySQL Community Server (GPL)). started with:\nTcp port: 3306  Unix socket: \
             /var/run/mysqld/mysqld.sock\nTime                 Id Command    Argument\n"
        }
    }
    .to_owned();
    let rounds = (0..EXECUTIONS).flat_map(|_| statements);
    for (place, sql) in rounds.enumerate() {
        let session = 5 + place % 4;
        match is_mariadb {
            true => write!(
                text,
                "# User@Host: app[app] @ localhost []\n# Thread_id: {session}  Schema: shop  QC_hit: No\n\
                 # Query_time: 0.000200  Lock_time: 0.000010  Rows_sent: 1  Rows_examined: 1\n\
                 # Rows_affected: 0  Bytes_sent: 100\nSET timestamp=1700000000;\n{sql};\n"
            ),
            false => write!(
                text,
                "# Time: 2023-11-14T22:13:20.{:06}Z\n# User@Host: app[app] @ localhost []  Id: {session}\n\
                 # Query_time: 0.000200  Lock_time: 0.000010 Rows_sent: 1  Rows_examined: 1\n{}SET timestamp=1700000000;\n{sql};\n",
                place * 1000,
                if place < 4 { "use shop;\n" } else { "" }
            ),
        }
        .expect("a string");
    }
    text
}

fn upgraded(planted: &Incompatibilities) -> (Upgrade, String) {
    let place = Place::new();
    let folder = place.folder.path();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("a file");
    let failing = planted.failing.iter().map(|(sql, _)| *sql);
    let named = failing.chain(planted.other.iter().chain(planted.replanned).copied());
    let statements: Vec<&str> = named.chain(HARMLESS).collect();
    write("shop.sql", &dump(planted.is_mariadb));
    write("shop.log", &log(planted.is_mariadb, &statements));
    write(
        "my.cnf",
        &format!("[mysqld]\n{}\n", planted.settings.join("\n")),
    );
    let import = ["capture", "import", "shop.log", "--output", "shop.capture"];
    let (code, _, stderr) = run(&mut place.niagara(&import));
    assert_eq!(code, Some(0), "{stderr}");
    let sides = [planted.from, planted.to].map(server);
    let words = [
        "compare",
        &sides[0],
        &sides[1],
        "--capture",
        "shop.capture",
        "--data",
        "shop.sql",
        "--config",
        "my.cnf",
        "--couples",
        "4",
        "--slice",
        "100ms",
        "--max-duels",
        "1",
        "--warm-up",
        "100ms",
        "--disturbance",
        "100%",
        "--to-the-end",
        "--budget",
        "3m",
        "--seed",
        "5",
        "--out",
        "study",
    ];
    let (code, stdout, stderr) = run(&mut place.niagara(&words));
    assert_eq!(code, Some(0), "{stderr}");
    let store = Store::open_read_only(&place.out().join("results.db")).expect("results");
    let summary = store.summary().expect("readable");
    let Some(Summary::Compare(compare)) = summary else {
        panic!("a comparison, not {summary:?}");
    };
    let CompareSummary { upgrade, .. } = *compare;
    (upgrade.expect("two releases"), stdout)
}

fn check(planted: &Incompatibilities) {
    let (found, screen) = upgraded(planted);
    assert!(!found.is_safe() && found.is_whole, "{found:?}");
    let mut failing = Vec::new();
    let mut other = Vec::new();
    for obstacle in &found.obstacles {
        match obstacle {
            UpgradeObstacle::Failing { digests } => failing.extend(digests),
            UpgradeObstacle::OtherAnswers { digests } => other.extend(digests),
            UpgradeObstacle::Slower { .. } => {}
            UpgradeObstacle::NotCompared { error } => panic!("{error}"),
            UpgradeObstacle::PoorReplay { .. } => panic!("{found:?}"),
        }
    }
    let mut codes: Vec<u16> = failing
        .iter()
        .filter_map(|digest| Some(digest.error.as_ref()?.code))
        .collect();
    let mut expected: Vec<u16> = planted.failing.iter().map(|(_, code)| *code).collect();
    codes.sort_unstable();
    expected.sort_unstable();
    assert_eq!(codes, expected, "{found:?}");
    assert_eq!(other.len(), planted.other.len(), "{found:?}");
    assert!(
        found.changed_plans.len() >= planted.replanned.len(),
        "{found:?}"
    );
    for name in planted.lost {
        let mut lost = found.lost_settings.iter();
        assert!(
            lost.any(|lost| lost.setting.starts_with(name)),
            "{name}: {found:?}"
        );
    }
    for name in planted.default {
        let mut changed = found.changed_defaults.iter();
        assert!(
            changed.any(|changed| changed.name == *name),
            "{name}: {found:?}"
        );
    }
    assert!(screen.starts_with("Not safe to upgrade"), "{screen}");
}

#[test]
#[ignore = "needs fetched servers"]
fn mysql_5_7_to_8_0() {
    check(&Incompatibilities {
        from: "mysql-5.7.22",
        to: "mysql-8.0.31",
        is_mariadb: false,
        settings: &[
            "query_cache_size = 16M",
            "innodb_file_format = Barracuda",
            "sql_mode = NO_AUTO_CREATE_USER,STRICT_TRANS_TABLES",
        ],
        lost: &["query_cache_size", "innodb_file_format", "sql_mode"],
        failing: &[
            ("SELECT name, stock AS rank FROM item WHERE id = 7", 1064),
            ("SELECT kind, COUNT(*) FROM item GROUP BY kind DESC", 1064),
            ("SELECT ENCRYPT('a') IS NULL", 1305),
            (
                "SELECT name FROM item WHERE name REGEXP '[[:<:]]name3[[:>:]]' ORDER BY id LIMIT 3",
                3685,
            ),
        ],
        other: &[],
        replanned: &[GROUPED],
        default: &[
            "collation_server",
            "default_authentication_plugin",
            "explicit_defaults_for_timestamp",
        ],
    });
}

#[test]
#[ignore = "needs fetched servers"]
fn mysql_8_0_to_9_7() {
    check(&Incompatibilities {
        from: "mysql-8.0.31",
        to: "mysql-9.7",
        is_mariadb: false,
        settings: &[
            "default_authentication_plugin = mysql_native_password",
            "innodb_log_file_size = 64M",
            "expire_logs_days = 3",
        ],
        lost: &[
            "default_authentication_plugin",
            "innodb_log_file_size",
            "expire_logs_days",
        ],
        failing: &[
            ("SELECT name, stock AS qualify FROM item WHERE id = 7", 1064),
            (
                "SELECT WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS('x') IS NULL",
                1305,
            ),
        ],
        other: &[],
        replanned: &[],
        default: &[],
    });
}

#[test]
#[ignore = "needs fetched servers"]
fn mariadb_10_5_to_10_11() {
    check(&Incompatibilities {
        from: "mariadb-10.5",
        to: "mariadb-10.11",
        is_mariadb: true,
        settings: &[
            "innodb_log_files_in_group = 2",
            "innodb_buffer_pool_instances = 4",
        ],
        lost: &["innodb_log_files_in_group", "innodb_buffer_pool_instances"],
        failing: &[
            (
                "SELECT name, stock AS row_number FROM item WHERE id = 7",
                1064,
            ),
            ("SELECT name, stock AS offset FROM item WHERE id = 7", 1064),
        ],
        other: &[],
        replanned: &[],
        default: &["explicit_defaults_for_timestamp", "old_mode"],
    });
}

#[test]
#[ignore = "needs fetched servers"]
fn mariadb_10_11_to_11_8() {
    check(&Incompatibilities {
        from: "mariadb-10.11",
        to: "mariadb-11.8",
        is_mariadb: true,
        settings: &["old_alter_table = 0"],
        lost: &["old_alter_table"],
        failing: &[("SELECT name, stock AS vector FROM item WHERE id = 7", 1064)],
        other: &["SELECT COLLATION(CONVERT('a' USING utf8mb4))"],
        replanned: &[],
        default: &["collation_server", "innodb_snapshot_isolation"],
    });
}
