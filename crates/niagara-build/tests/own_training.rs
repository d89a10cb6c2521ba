//! Builds that are trained on the user's own: a workload's file, a script, a capture. A packaged server stands for the
//! instrumented one: what it is asked is read from its own general log.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use niagara_build::{LoadTrainer, Recipe, Trainer, TrainingJob};
use niagara_capture::log::ReadOptions;
use niagara_capture::{Import, import};
use niagara_error::Explain as _;
use niagara_server::{Cache, Cancel, Catalog, Install, get};

const SHOP: &str = include_str!("../../../docs/examples/shop.toml");

const SCRIPT: &str = r#"
local tables = require("own_tables")
sysbench.cmdline.options = { rows = {"Rows", 50} }
function prepare() tables.make(sysbench.sql.driver():connect(), sysbench.opt.rows) end
function thread_init() con = sysbench.sql.driver():connect() end
function event() con:query("SELECT b FROM own_script WHERE a = " .. sysbench.rand.uniform(1, sysbench.opt.rows)) end
"#;

const MODULE: &str = r#"
local own = {}
function own.make(con, rows)
   con:query("CREATE TABLE own_script (a INT PRIMARY KEY, b INT)")
   for i = 1, rows do con:query("INSERT INTO own_script VALUES (" .. i .. ", " .. i .. ")") end
end
return own
"#;

/// A folder with files to train on, and a server whose log tells what it was asked.
struct Room {
    folder: tempfile::TempDir,
    cache: Cache,
    install: Install,
    packaged: Install,
}

impl Room {
    fn new() -> Room {
        niagara_script::install();
        let cache = Cache::open().expect("the shared cache");
        let catalog = Catalog::load(&[]).expect("valid");
        let description = catalog.get("mariadb-10.11").expect("known");
        let packaged = get(&cache, description, &mut |_| {}).expect("a server");
        let folder = tempfile::tempdir().expect("a folder");
        let server = folder.path().join("mariadbd");
        let log = folder.path().join("asked.log");
        fs::write(
            &server,
            format!(
                "#!/bin/sh\nexec '{}' \"$@\" --general-log=1 --general-log-file='{}'\n",
                packaged.server.display(),
                log.display()
            ),
        )
        .expect("written");
        fs::set_permissions(&server, fs::Permissions::from_mode(0o755)).expect("executable");
        fs::write(folder.path().join("shop.toml"), SHOP).expect("written");
        fs::write(folder.path().join("own.lua"), SCRIPT).expect("written");
        fs::write(folder.path().join("own_tables.lua"), MODULE).expect("written");
        let install = Install {
            server,
            ..packaged.clone()
        };
        Room {
            folder,
            cache,
            install,
            packaged,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A capture on the tables of `oltp_read_write`: rows 1 to 400 by key, in this order, and every tenth changed.
    fn capture(&self) {
        let mut log =
            "/usr/sbin/mysqld, Version: 8.0.36 (MySQL Community Server - GPL). started with:\n\
                       Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock\n\
                       Time                 Id Command    Argument\n"
                .to_owned();
        for row in 1..=400_u64 {
            let sql = match row % 10 {
                0 => format!("UPDATE sbtest1 SET k = k + 1 WHERE id = {row}"),
                _ => format!("SELECT c FROM sbtest1 WHERE id = {row}"),
            };
            let (second, micros) = (20 + row / 100, row % 100 * 10_000);
            write!(
                log,
                "# Time: 2023-11-14T22:13:{second:02}.{micros:06}Z\n\
                 # User@Host: app[app] @ localhost []  Id: {}\n\
                 # Query_time: 0.000100  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1\n\
                 use sbtest;\nSET timestamp={};\n{sql};\n",
                row % 4 + 1,
                1_700_000_000 + second - 20,
            )
            .expect("a string");
        }
        fs::write(self.path("slow.log"), log).expect("written");
        let order = Import {
            files: vec![self.path("slow.log")],
            read: ReadOptions::default(),
            output: self.path("shop.capture"),
            replace: true,
            clients: Vec::new(),
            counted: None,
            stored: None,
        };
        import(&order, &AtomicBool::new(false), |_| {}).expect("a log");
    }

    fn recipe(&self, file: &str, settings: &[(&str, &str)]) -> Recipe {
        let mut recipe = Recipe::default();
        let path = self.path(file).display().to_string();
        for (key, value) in [
            ("pgo", path.as_str()),
            ("pgo.seconds", "1"),
            ("pgo.threads", "2"),
        ]
        .iter()
        .chain(settings)
        {
            recipe.set(key, value).expect("valid");
        }
        recipe.pinned().expect("readable")
    }

    /// What the server was asked while it was trained.
    fn trained(&self, recipe: &Recipe) -> anyhow::Result<String> {
        let log = self.path("asked.log");
        let _ = fs::remove_file(&log);
        let cancel = Cancel::default();
        let job = TrainingJob {
            install: &self.install,
            // Tables are made by the server as it is.
            loader: Some(&self.packaged),
            training: recipe.pgo.as_ref().expect("it was set"),
            environment: BTreeMap::new(),
            sampling: None,
        };
        LoadTrainer::new(&self.cache, &cancel).train(&job, &mut |_| {})?;
        Ok(fs::read_to_string(&log).unwrap_or_default())
    }
}

fn count(log: &str, words: &str) -> usize {
    log.lines().filter(|line| line.contains(words)).count()
}

fn ending(log: &str, words: &str) -> usize {
    log.lines().filter(|line| line.ends_with(words)).count()
}

#[test]
fn a_build_is_trained_on_a_workload_of_a_file() {
    let room = Room::new();
    let recipe = room.recipe("shop.toml", &[("pgo.set.customers", "500")]);
    let log = room.trained(&recipe).expect("trained");
    // Prepared statements are in the log as they were executed.
    assert!(
        count(&log, "SELECT price FROM product WHERE id =") > 200,
        "{}",
        log.len()
    );
    assert!(count(&log, "sbtest1") == 0, "nothing else");
    // An option that the file does not have is a mistake.
    let wrong = room.recipe("shop.toml", &[("pgo.set.customer", "500")]);
    let error = room
        .trained(&wrong)
        .expect_err("no such number")
        .explain()
        .to_string();
    assert!(
        error.contains("customer") && error.contains("shop.toml"),
        "{error}"
    );
    // A file that has changed since is told.
    fs::write(
        room.path("shop.toml"),
        SHOP.replace("A small shop", "A shop"),
    )
    .expect("written");
    let error = room
        .trained(&recipe)
        .expect_err("another file")
        .explain()
        .to_string();
    assert!(
        error.contains("has changed") && error.contains("remedy"),
        "{error}"
    );
}

#[test]
fn a_build_is_trained_on_a_script_and_known_by_what_it_requires() {
    let room = Room::new();
    let recipe = room.recipe("own.lua", &[("pgo.set.rows", "30")]);
    let log = room.trained(&recipe).expect("trained");
    assert!(count(&log, "SELECT b FROM own_script") > 200);
    let content = |recipe: &Recipe| recipe.pgo.as_ref().expect("it was set").content.clone();
    let before = content(&recipe);
    fs::write(room.path("own_tables.lua"), format!("-- changed\n{MODULE}")).expect("written");
    assert_ne!(before, content(&room.recipe("own.lua", &[])));
    let error = recipe.pinned().expect_err("another module").to_string();
    assert!(error.contains("is not what it was"), "{error}");
}

#[test]
fn one_part_of_a_capture_trains_and_the_other_is_left_to_judge_by() {
    let room = Room::new();
    room.capture();
    let tables: &[(&str, &str)] = &[
        ("pgo.tables_of", "oltp_read_write"),
        ("pgo.table_size", "1000"),
    ];
    let log = room
        .trained(&room.recipe("shop.capture", tables))
        .expect("trained");
    let of_row = |row: u32| ending(&log, &format!("FROM sbtest1 WHERE id = {row}"));
    let changed = |row: u32| ending(&log, &format!("k = k + 1 WHERE id = {row}"));
    assert!(
        (1..=200)
            .filter(|row| row % 10 != 0)
            .all(|row| of_row(row) > 0)
    );
    assert!(changed(10) > 0 && changed(200) > 0);
    let others = (201..=400).filter(|&row| of_row(row) + changed(row) > 0);
    assert_eq!(others.count(), 0, "they judge");
    // By sessions: rows of two of the four.
    let sessions = [tables, &[("pgo.part", "sessions:50%")]].concat();
    let log = room
        .trained(&room.recipe("shop.capture", &sessions))
        .expect("trained");
    let of_row = |row: u32| ending(&log, &format!("WHERE id = {row}"));
    let sessions: Vec<u32> = (301..305).filter(|row| of_row(*row) > 0).collect();
    assert_eq!(sessions.len(), 2, "{sessions:?}");
    // Without data there is nothing to train on.
    let error = room
        .trained(&room.recipe("shop.capture", &[]))
        .expect_err("no data")
        .explain()
        .to_string();
    assert!(
        error.contains("tables_of") && error.contains("remedy"),
        "{error}"
    );
}

#[test]
fn a_capture_is_trained_on_data_that_were_given() {
    let room = Room::new();
    room.capture();
    let mut dump = "CREATE DATABASE `sbtest`;\nUSE `sbtest`;\n\
                    CREATE TABLE sbtest1 (id INT PRIMARY KEY, k INT, c CHAR(10));\n"
        .to_owned();
    for row in 1..=400 {
        writeln!(dump, "INSERT INTO sbtest1 VALUES ({row}, 0, 'given');").expect("a string");
    }
    let head = "-- MariaDB dump 10.19  Distrib 10.11.6-MariaDB, for debian-linux-gnu (x86_64)\n--\n\
                -- Host: localhost    Database: sbtest\n";
    let end = "-- Dump completed on 2026-11-23  8:09:10\n";
    fs::write(room.path("shop.sql"), format!("{head}{dump}{end}")).expect("written");
    let data = room.path("shop.sql").display().to_string();
    let recipe = room.recipe("shop.capture", &[("pgo.data", &data)]);
    let log = room.trained(&recipe).expect("trained");
    assert!(count(&log, "SELECT c FROM sbtest1 WHERE id = 7") > 0);
    // The data are part of what the training is known by.
    let training = recipe.pgo.expect("it was set");
    assert_eq!(training.content.len(), 2, "{:?}", training.content);
}

/// The statements of a check come from whoever knows them.
#[test]
fn a_training_with_a_name_runs_what_it_is_made_of() {
    let room = Room::new();
    let mut recipe = Recipe::default();
    for (key, value) in [("pgo", "answers"), ("pgo.seconds", "1")] {
        recipe.set(key, value).expect("valid");
    }
    let error = room
        .trained(&recipe)
        .expect_err("nobody knows them")
        .explain()
        .to_string();
    assert!(error.contains("answers"), "{error}");
    let cancel = Cancel::default();
    let job = TrainingJob {
        install: &room.install,
        loader: Some(&room.packaged),
        training: recipe.pgo.as_ref().expect("it was set"),
        environment: BTreeMap::new(),
        sampling: None,
    };
    let asks = |server: &niagara_server::RunningServer,
                _: &Install,
                _: f64,
                _: &mut dyn FnMut(&str)|
     -> anyhow::Result<u64> {
        for number in 0..300 {
            server.query(&format!("SELECT {number} AS asked"))?;
        }
        Ok(300)
    };
    LoadTrainer::new(&room.cache, &cancel)
        .with_answers(&asks)
        .train(&job, &mut |_| {})
        .expect("trained");
    let log = fs::read_to_string(room.path("asked.log")).expect("a log");
    assert_eq!(count(&log, "AS asked"), 300);
}
