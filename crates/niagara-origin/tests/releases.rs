//! Dumps and option files of other releases and of other tools than the server's own, on real servers.

mod shop;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use niagara_error::Explain as _;
use niagara_origin::configuration::{ConfigSource, StartConfiguration};
use niagara_origin::data::{DataSource, image_of};
use niagara_server::{Cache, Cancel, Catalog, Config, Install, get};

use shop::{Shop, value};

/// The distribution's server, which `scripts/setup test` installs.
const MARIADB: &str = "/usr/sbin/mariadbd";
/// The catalogue's server.
const MYSQL: &str = "mysql-9.7";

fn mariadb() -> Result<Shop> {
    Shop::of(Install::from_path(Path::new(MARIADB))?)
}

fn mysql() -> Result<Shop> {
    let catalog = Catalog::load(&[])?;
    Shop::of(get(&Cache::open()?, catalog.get(MYSQL)?, &mut |_| {})?)
}

/// A file or folder of the tests.
fn dump(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/dumps")
        .join(name)
}

/// What was made of a dump: the databases, what the copy is without, and the answers to these statements on a clone.
fn loaded(shop: &Shop, path: &Path, asked: &[&str]) -> Result<(Vec<String>, String, Vec<String>)> {
    let image = image_of(
        &shop.cache,
        &shop.install,
        &DataSource::open(path)?,
        &Config::new(),
        &Cancel::default(),
        &mut |_| {},
    )?;
    let record = image.record()?;
    let clone = tempfile::tempdir()?;
    let datadir = clone.path().join("data");
    image.clone_to(&datadir)?;
    let server = shop.launch(datadir, &Config::new())?;
    let answers = asked.iter().map(|sql| value(&server, sql));
    let answers = answers.collect::<Result<_>>()?;
    server.stop()?;
    Ok((record.databases, record.without.join("\n"), answers))
}

fn refusal(shop: &Shop, path: &Path) -> String {
    let made = DataSource::open(path).and_then(|source| {
        image_of(
            &shop.cache,
            &shop.install,
            &source,
            &Config::new(),
            &Cancel::default(),
            &mut |_| {},
        )
    });
    made.expect_err("refused").explain().to_string()
}

#[test]
fn dumps_of_mysql_5_7_load_into_mysql_9() -> Result<()> {
    let shop = mysql()?;
    let rows = "SELECT GROUP_CONCAT(CONCAT(a, g) ORDER BY id) FROM d1.t";
    let modes = "SELECT COUNT(*) FROM information_schema.routines WHERE routine_schema = 'd1' AND sql_mode LIKE '%STRICT_TRANS_TABLES%'";
    for (name, client) in [
        ("mysql-5.7.sql", ""),
        (
            "mysql-5.7-by-mariadb-dump.sql",
            ", written by MariaDB's client",
        ),
    ] {
        let path = dump(name);
        let title = DataSource::open(&path)?.title();
        assert!(
            title.ends_with(&format!("of MySQL 5.7.22{client}")),
            "{title}"
        );
        let (databases, without, answers) = loaded(&shop, &path, &[rows, modes])?;
        assert_eq!(databases, ["d1"]);
        assert_eq!(answers, ["one3,two;x5,three's7", "1"], "{name}");
        assert!(
            without.contains("NO_AUTO_CREATE_USER") && without.contains("9.7"),
            "{without}"
        );
        assert_eq!(
            without.contains("generated"),
            !client.is_empty(),
            "{without}"
        );
    }
    Ok(())
}

#[test]
fn dumps_of_other_tools_keep_their_database() -> Result<()> {
    let shop = mariadb()?;
    let adminer = fs::read_to_string(dump("adminer.sql"))?;
    let marked = shop.path("marked.sql");
    fs::write(
        &marked,
        format!(
            "\u{feff}Warning: something was said\nmysqldump: [Warning] Using a password\n{adminer}"
        ),
    )?;
    // A database by a name that a bare word would not be, and a comment like a server's own.
    let odd = shop.path("odd.sql");
    fs::write(
        &odd,
        "CREATE DATABASE `mysql old` /* mysql */ COMMENT 'moved from mysql a1';\nUSE `mysql old`;\n\
         CREATE TABLE t (id INT, a VARCHAR(9)) ENGINE=TokuDB;\nSET autocommit = 0;\nINSERT INTO t VALUES (1, 'one'), (2, 'two;x'), (3, 'three''s');\n",
    )?;
    for (path, database, words) in [
        (dump("adminer.sql"), "d1", "does not make it"),
        (
            marked,
            "d1",
            "left out of the dump: a line that is no SQL: Warning: something",
        ),
        (dump("sequelpro.sql"), "d1", ""),
        (
            odd,
            "mysql old",
            "Using storage engine InnoDB for table 't'",
        ),
    ] {
        let rows = format!("SELECT GROUP_CONCAT(a ORDER BY id) FROM `{database}`.t");
        let (databases, without, answers) = loaded(&shop, &path, &[&rows])?;
        assert_eq!(databases, [database], "{}", path.display());
        assert_eq!(answers, ["one,two;x,three's"], "{}", path.display());
        assert!(without.contains(words), "{without}");
    }
    Ok(())
}

#[test]
fn a_folder_of_mydumper_keeps_full_stops_of_names() -> Result<()> {
    let shop = mariadb()?;
    let (databases, without, answers) = loaded(
        &shop,
        &dump("mydumper-0.10"),
        &[
            "SELECT GROUP_CONCAT(a ORDER BY id) FROM `example.com`.t",
            "SELECT COUNT(*) FROM `example.com`.`a-schema`",
            "SELECT COUNT(*) FROM `example.com`.`odd.name`",
            "SELECT COUNT(*) FROM `example.com`.v",
        ],
    )?;
    assert_eq!(databases, ["example.com"]);
    assert_eq!(without, "");
    assert_eq!(answers, ["x,y,z", "2", "1", "3"]);
    Ok(())
}

#[test]
fn a_dump_that_failed_is_refused_with_its_words() -> Result<()> {
    let shop = mariadb()?;
    let path = |name: &str, text: &str| {
        let path = shop.path(name);
        fs::write(&path, text)?;
        Ok::<_, std::io::Error>(path)
    };
    let failed = path(
        "failed.sql",
        "CREATE TABLE t (a INT);\n--\nmysqldump: Error 2013: Lost connection to server\n",
    )?;
    let told = refusal(&shop, &failed);
    assert!(
        told.contains("Error 2013: Lost connection") && told.contains("remedy"),
        "{told}"
    );
    let locked = path(
        "locked.sql",
        "CREATE TABLE t (a INT);\nLOCK TABLES t WRITE;\nINSERT INTO t VALUES (1);\n",
    )?;
    let told = refusal(&shop, &locked);
    assert!(
        told.contains("LOCK TABLES") && told.contains("cut off"),
        "{told}"
    );
    // A server that takes the collation, beside the data's own.
    let collation = path(
        "collation.sql",
        "-- MySQL dump 10.13\n-- Server version\t8.0.36\nCREATE TABLE t (a INT) COLLATE utf8mb4_0900_ai_ci;\n-- Dump completed\n",
    )?;
    let told = refusal(&shop, &collation);
    assert!(
        told.contains("take mysql-9.7 or mariadb-11.8, or the path of the binary of MySQL 8.0"),
        "{told}"
    );
    Ok(())
}

#[test]
fn dumps_of_graphical_tools_tell_their_database() -> Result<()> {
    for (name, server) in [
        ("navicat.sql", Some("MySQL 5.7.22")),
        ("sqlyog.sql", Some("MySQL 5.7.22")),
        ("tableplus.sql", None),
    ] {
        let shop = mariadb()?;
        let path = dump(name);
        let made_by = DataSource::open(&path)?.made_by;
        let made_by = made_by.map(|made_by| made_by.to_string());
        assert_eq!(made_by.as_deref(), server, "{name}");
        let (databases, without, _) = loaded(&shop, &path, &["SELECT COUNT(*) FROM shop.t"])?;
        assert_eq!(databases, ["shop"], "{name}");
        assert_eq!(without, "", "{name}");
    }
    Ok(())
}

/// The start of an option file, tried out.
fn start(shop: &Shop, path: &Path) -> Result<StartConfiguration> {
    let scratch = tempfile::tempdir()?;
    let source = ConfigSource::file(path)?;
    let mut start = StartConfiguration::of(&source, None, &shop.install, 1 << 30, scratch.path())?;
    // The image of an empty server is shared by all tests of this machine.
    start.try_out(&Cache::open()?, &shop.install)?;
    Ok(start)
}

/// That each of these settings is left out, at this line, with these words.
fn assert_left_out(start: &StartConfiguration, expected: &[(&str, usize, &str)]) {
    for (setting, line, words) in expected {
        let out = start.left_out.iter().find(|out| out.setting == *setting);
        let out = out.unwrap_or_else(|| panic!("{setting} in {:#?}", start.left_out));
        assert!(out.place.ends_with(&format!(" line {line}")), "{out:?}");
        assert!(out.reason.to_string().contains(words), "{out:?}");
    }
}

#[test]
fn values_of_mysql_5_7_are_left_out_on_9() -> Result<()> {
    let shop = mysql()?;
    let start = start(&shop, &dump("mysql-5.7.cnf"))?;
    assert_left_out(
        &start,
        &[
            (
                "sql_mode=NO_AUTO_CREATE_USER",
                7,
                "the rest of the line is kept",
            ),
            ("tls_version=TLSv1", 24, "the rest of the line is kept"),
            ("tls_version=TLSv1.1", 24, "the rest of the line is kept"),
            (
                "tx_isolation=READ-COMMITTED",
                33,
                "its successor is transaction_isolation",
            ),
            (
                "innodb_log_file_size=512M",
                12,
                "its successor is innodb_redo_log_capacity",
            ),
            ("expire_logs_days=7", 14, "binlog_expire_logs_seconds"),
            ("query_cache_size=0", 9, "no such option"),
        ],
    );
    assert_eq!(start.config["tls_version"], "TLSv1.2");
    assert_eq!(start.config["collation_server"], "utf8mb3_unicode_ci");
    assert!(start.config["sql_mode"].contains("STRICT_TRANS_TABLES"));
    assert_eq!(start.config["max_connections"], "500");
    Ok(())
}

#[test]
fn values_of_mariadb_are_left_out_on_mysql() -> Result<()> {
    let shop = mysql()?;
    let start = start(&shop, &dump("mariadb-11.8.cnf"))?;
    assert_left_out(
        &start,
        &[
            (
                "sql_mode=IGNORE_BAD_TABLE_OPTIONS",
                2,
                "the rest of the line is kept",
            ),
            (
                "sql_mode=EMPTY_STRING_IS_NULL",
                2,
                "the rest of the line is kept",
            ),
            (
                "optimizer_switch=rowid_filter=off",
                3,
                "the rest of the line is kept",
            ),
            (
                "collation_server=utf8mb4_uca1400_ai_ci",
                4,
                "Unknown collation",
            ),
            ("default_storage_engine=Aria", 7, "Aria"),
            ("plugin_load_add=server_audit", 8, "is not here"),
            ("thread_handling=pool-of-threads", 10, "pool-of-threads"),
            (
                "log_slow_query_time=2",
                13,
                "its successor is long_query_time",
            ),
            (
                "max_statement_time=30",
                15,
                "max_execution_time (in milliseconds)",
            ),
        ],
    );
    assert_eq!(start.config["optimizer_switch"], "index_merge=on,mrr=on");
    assert_eq!(start.config["sql_mode"], "STRICT_TRANS_TABLES");
    Ok(())
}

#[test]
fn values_of_mysql_are_left_out_on_mariadb() -> Result<()> {
    let shop = mariadb()?;
    let path = shop.path("my.cnf");
    fs::write(
        &path,
        "[mysqld]\noptimizer_switch=hash_join=on,mrr=on\ncollation_server=utf8mb4_0900_ai_ci\ndefault_storage_engine=TokuDB\n\
         innodb_flush_method=O_DIRECT_NO_FSYNC\ntls_version=TLSv1.1,TLSv1.2\nsql_mode=ANSI,TIME_TRUNCATE_FRACTIONAL\n\
         binlog_row_image=PARTIAL\ntransaction_isolation='READ COMMITTED'\nforeign_key_checks=0\nmax_connections=77\n\
         character_set_server=utf8mb4\npxc_strict_mode=ENFORCING\n",
    )?;
    let start = start(&shop, &path)?;
    assert_left_out(
        &start,
        &[
            (
                "optimizer_switch=hash_join=on",
                2,
                "the rest of the line is kept",
            ),
            (
                "collation_server=utf8mb4_0900_ai_ci",
                3,
                "Unknown collation",
            ),
            ("default_storage_engine=TokuDB", 4, "TokuDB"),
            (
                "sql_mode=TIME_TRUNCATE_FRACTIONAL",
                7,
                "the rest of the line is kept",
            ),
            ("binlog_row_image=PARTIAL", 8, "PARTIAL"),
            ("transaction_isolation=READ COMMITTED", 9, "READ COMMITTED"),
            ("foreign_key_checks=0", 10, "SET GLOBAL does"),
            ("pxc_strict_mode=ENFORCING", 13, "no part in replication"),
        ],
    );
    let kept: Vec<String> = start
        .config
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    assert_eq!(
        kept,
        [
            "character_set_server=utf8mb4",
            "innodb_flush_method=O_DIRECT_NO_FSYNC",
            "max_connections=77",
            "optimizer_switch=mrr=on",
            "sql_mode=ANSI",
            "tls_version=TLSv1.1,TLSv1.2",
        ]
    );
    Ok(())
}
