//! Data and settings of older releases, on real servers of them, which `scripts/fetch-test-servers` fetches. They are large, so these
//! tests run by name: `cargo test -p niagara-origin --test old_servers -- --ignored`.

mod shop;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use niagara_error::Explain as _;
use niagara_load::Admin;
use niagara_model::OriginNote;
use niagara_origin::configuration::{
    ConfigSource, DIFFERS, SET_GLOBAL, StartConfiguration, running_config,
};
use niagara_origin::data::{DataSource, image_of};
use niagara_server::{Cache, Cancel, Config, Install};

use shop::{Shop, value};

/// The distribution's server, which `scripts/setup test` installs.
const MARIADB: &str = "/usr/sbin/mariadbd";
/// A database with what an upgrade reads anew.
const STATEMENTS: [&str; 7] = [
    "CREATE DATABASE shop",
    "CREATE TABLE shop.orders (id INT PRIMARY KEY AUTO_INCREMENT, note VARCHAR(99)) ENGINE = InnoDB",
    "INSERT INTO shop.orders (note) VALUES ('a'), ('b')",
    "CREATE USER 'app'@'%' IDENTIFIED BY 'secret'",
    "CREATE DEFINER = 'app'@'%' FUNCTION shop.twice(n INT) RETURNS INT DETERMINISTIC RETURN 2 * n",
    "CREATE DEFINER = 'app'@'%' EVENT shop.soon ON SCHEDULE EVERY 1 DAY DO DELETE FROM shop.orders",
    "GRANT ALL ON *.* TO 'app'@'%'",
];

/// A server of the script's, by its name there.
fn old(name: &str) -> Result<Install> {
    let named = std::env::var_os("NIAGARA_TEST_SERVERS").map(PathBuf::from);
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
    let folder = named
        .or_else(|| Some(cache?.join("niagara-test-servers")))
        .context("no home folder")?;
    Install::from_path(&folder.join(name)).context("scripts/fetch-test-servers fetches it")
}

/// A clone of the image of `data` for `install`, started: what the copy is without, and the answers to these statements.
fn on(install: Install, data: &Path, asked: &[&str]) -> Result<(String, Vec<String>)> {
    let shop = Shop::of(install)?;
    let image = image_of(
        &shop.cache,
        &shop.install,
        &DataSource::open(data)?,
        &Config::new(),
        &Cancel::default(),
        &mut |_| {},
    )?;
    image.clone_to(&shop.path("clone"))?;
    let server = shop.launch(shop.path("clone"), &Config::new())?;
    let answers = asked.iter().map(|sql| value(&server, sql));
    let answers = answers.collect::<Result<_>>()?;
    server.stop()?;
    Ok((image.record()?.without.join("\n"), answers))
}

#[test]
#[ignore = "it needs MySQL 5.7 of scripts/fetch-test-servers"]
fn mysql_5_7_keeps_its_data_and_binary_log() -> Result<()> {
    let shop = Shop::of(old("mysql-5.7.22")?)?;
    let server = shop.start_with(&[("log_bin", "mybin")], &STATEMENTS)?;
    assert_eq!(value(&server, "SELECT @@GLOBAL.log_bin")?, "1");
    server.stop()?;
    let asked = ["SELECT shop.twice(21)", "SELECT COUNT(*) FROM shop.orders"];
    let (_, answers) = on(shop.install.clone(), &shop.path("data"), &asked)?;
    assert_eq!(answers, ["42", "2"]);

    let path = shop.path("my.cnf");
    fs::write(
        &path,
        "[mysqld]\nlog_bin=/var/log/mysql/mybin\nserver_id=12\nsql_mode=ANSI,NO_AUTO_CREATE_USER\n",
    )?;
    let scratch = tempfile::tempdir()?;
    let source = ConfigSource::file(&path)?;
    let mut start = StartConfiguration::of(&source, None, &shop.install, 1 << 30, scratch.path())?;
    start.try_out(&Cache::open()?, &shop.install)?;
    assert_eq!(start.config["log_bin"], "mybin");
    assert_eq!(start.config["sql_mode"], "ANSI,NO_AUTO_CREATE_USER");
    Ok(())
}

#[test]
#[ignore = "it needs MariaDB 10.5 of scripts/fetch-test-servers"]
fn system_tables_of_mariadb_10_5_are_upgraded() -> Result<()> {
    let shop = Shop::of(old("mariadb-10.5")?)?;
    shop.start_with(&[], &STATEMENTS)?.stop()?;
    let (told, answers) = on(
        Install::from_path(Path::new(MARIADB))?,
        &shop.path("data"),
        &[
            "SELECT shop.twice(21)",
            "SELECT COUNT(*) FROM information_schema.events WHERE event_schema = 'shop'",
            "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name LIKE 'niagara%'",
        ],
    )?;
    assert!(
        told.contains("were upgraded for MariaDB 10.11") && told.contains("proc"),
        "{told}"
    );
    assert_eq!(answers, ["42", "1", "0"]);
    Ok(())
}

#[test]
#[ignore = "it needs MariaDB 10.1 and 10.2 of scripts/fetch-test-servers"]
fn a_mariadb_before_10_5_tells_its_settings() -> Result<()> {
    for name in ["mariadb-10.1.23", "mariadb-10.2.11"] {
        let shop = Shop::of(old(name)?)?;
        let server = shop.start_with(
            &[("max_connections", "77")],
            &["SET GLOBAL innodb_io_capacity = 321"],
        )?;
        let mut admin = Admin::connect(&server.over_socket(""), Duration::from_secs(10))?;
        let running = running_config(&mut admin, "here", None)?;
        let found = |name: &str| {
            let setting = running.settings.iter().find(|one| one.name == name);
            setting.map(|one| (one.value.as_str(), one.origin.as_str()))
        };
        assert_eq!(
            found("max_connections"),
            Some(("77", "an option file or its command line")),
            "{name}"
        );
        assert_eq!(
            found("innodb_io_capacity"),
            Some(("321", SET_GLOBAL)),
            "{name}"
        );
        server.stop()?;
    }
    Ok(())
}

#[test]
#[ignore = "it needs MySQL 5.6 and 5.7 of scripts/fetch-test-servers"]
fn settings_of_mysql_before_8_are_those_that_differ() -> Result<()> {
    for (name, release) in [("mysql-5.6.24", "MySQL 5.6"), ("mysql-5.7.22", "MySQL 5.7")] {
        let shop = Shop::of(old(name)?)?;
        let given = [
            ("innodb_flush_method", "O_DIRECT"),
            ("log_bin", "mybin"),
            ("long_query_time", "0.5"),
            ("max_connections", "77"),
            ("sql_mode", "ANSI"),
        ];
        let server = shop.start_with(&given, &["SET GLOBAL innodb_io_capacity = 321"])?;
        let endpoint = server.over_socket("");
        let mut admin = Admin::connect(&endpoint, Duration::from_secs(10))?;

        // By its own binary, which its process shows.
        let running = running_config(&mut admin, "here", Some(&endpoint.transport))?;
        assert!(running.variables.is_empty(), "{name}");
        let with = running.compared_with.clone().unwrap_or_default();
        assert!(with.starts_with(release), "{with}");
        let found = |name: &str| {
            let setting = running.settings.iter().find(|one| one.name == name);
            setting.map(|one| (one.value.as_str(), one.origin.as_str()))
        };
        for (variable, value) in [
            ("innodb_flush_method", "O_DIRECT"),
            ("innodb_io_capacity", "321"),
            ("long_query_time", "0.500000"),
            ("max_connections", "77"),
        ] {
            assert_eq!(found(variable), Some((value, DIFFERS)), "{name}");
        }
        assert_eq!(found("log_bin").map(|(value, _)| value), Some("mybin"));
        // Nobody set these.
        for variable in [
            "autocommit",
            "binlog_format",
            "character_set_server",
            "innodb_buffer_pool_size",
            "key_buffer_size",
            "optimizer_switch",
            "sort_buffer_size",
            "transaction_isolation",
            "version",
            "wait_timeout",
        ] {
            assert_eq!(found(variable), None, "{name}: {variable}");
        }

        // From elsewhere, by a server of its release that is named.
        let running = running_config(&mut admin, "here", None)?;
        assert_eq!(running.variables["max_connections"], "77");
        let source = ConfigSource::Running(running);
        let scratch = tempfile::tempdir()?;
        let of = |install: &Install| {
            StartConfiguration::of(&source, None, install, 1 << 30, scratch.path())
        };
        let mut start = of(&shop.install)?;
        start.try_out(&Cache::open()?, &shop.install)?;
        assert_eq!(start.config["max_connections"], "77", "{name}");
        assert_eq!(start.config["innodb_flush_method"], "O_DIRECT", "{name}");
        assert!(start.config["sql_mode"].contains("ANSI_QUOTES"), "{name}");
        let is_compared = |note: &OriginNote| matches!(note, OriginNote::Compared { .. });
        assert!(start.remarks.iter().any(is_compared), "{start:?}");
        assert!(start.left_out.is_empty(), "{start:?}");

        // Another release has other defaults.
        let error = of(&Install::from_path(Path::new(MARIADB))?).expect_err("another");
        let told = error.explain().to_string();
        for words in [
            "does not say",
            "--config my.cnf",
            "a copy of that file",
            release,
        ] {
            assert!(told.contains(words), "{words}: {told}");
        }
        server.stop()?;
    }
    Ok(())
}
