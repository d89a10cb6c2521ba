//! Data as users have them, made by real servers and tools, and what becomes of them in a copy.

mod shop;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use niagara_error::Explain as _;
use niagara_load::Admin;
use niagara_origin::configuration::{COMMAND_LINE, SET_GLOBAL, running_config};
use niagara_origin::data::{DataKind, DataSource, image_of};
use niagara_origin::statistics::{ENDING, statistics_of};
use niagara_server::{Cancel, Config, Install, RunningServer};

use shop::{Shop, assert_no_binary_log, output_of, value, write_statistics};

/// The distribution's server, which `scripts/setup test` installs.
const SERVER: &str = "/usr/sbin/mariadbd";

impl Shop {
    fn new() -> Result<Shop> {
        Shop::of(Install::from_path(Path::new(SERVER))?)
    }

    /// Starts it with a database that has what databases have.
    fn start(&self) -> Result<RunningServer> {
        let variables = [("log_bin", "mysql-bin"), ("event_scheduler", "ON")];
        self.start_with(&variables, &[
            "CREATE DATABASE shop",
            "CREATE TABLE shop.orders (id INT PRIMARY KEY AUTO_INCREMENT, note VARCHAR(99)) ENGINE = InnoDB",
            "CREATE TABLE shop.log (id INT) ENGINE = Aria",
            "INSERT INTO shop.orders (note) VALUES ('it''s; done'), ('-- no comment'), ('back\\\\slash;')",
            "CREATE USER 'app'@'%' IDENTIFIED BY 'secret'",
            "GRANT ALL ON shop.* TO 'app'@'%'",
            "CREATE ROLE reporting",
            "CREATE DEFINER = 'app'@'%' VIEW shop.notes AS SELECT note FROM shop.orders",
            "CREATE DEFINER = 'app'@'%' TRIGGER shop.written AFTER INSERT ON shop.orders FOR EACH ROW BEGIN INSERT INTO shop.log VALUES (NEW.id); END",
            "CREATE EVENT shop.soon ON SCHEDULE EVERY 1 SECOND DO DELETE FROM shop.orders WHERE id > 3",
            "INSERT INTO shop.orders (note) VALUES ('last')",
            // Ways out of a copy.
            "CREATE SERVER far FOREIGN DATA WRAPPER mysql OPTIONS (HOST '127.0.0.1', PORT 1, USER 'x', DATABASE 'shop')",
            "INSERT INTO mysql.plugin VALUES ('FEDERATED', 'ha_federatedx.so'), ('METADATA', 'metadata_lock_info.so')",
            "INSERT INTO mysql.func VALUES ('sys_exec', 2, 'lib_mysqludf_sys.so', 'function')",
        ])
    }

    /// Why no image is made of `source`.
    fn refusal(&self, source: &DataSource) -> String {
        let error = self.image_of(source, &mut |_| {}).expect_err("refused");
        error.explain().to_string()
    }

    /// Makes the image of `source`, starts a server on a clone, and looks around.
    fn check_copy(&self, source: &DataSource) -> Result<()> {
        let mut said = Vec::new();
        let image = self.image_of(source, &mut |text| said.push(text.to_owned()))?;
        assert!(!said.is_empty());
        assert_eq!(image.record()?.databases, ["shop"]);
        let clone = self.path(&format!("clone-{:08x}", rand_number()));
        image.clone_to(&clone)?;
        let server = self.launch(clone.clone(), &Config::new())?;
        let value = |sql: &str| value(&server, sql);
        assert_eq!(
            value(
                "SELECT GROUP_CONCAT(note ORDER BY id SEPARATOR '|') FROM shop.orders WHERE id < 4"
            )?,
            "it's; done|-- no comment|back\\slash;"
        );
        // Views and triggers run as accounts that nobody can log in as.
        assert_eq!(value("SELECT COUNT(*) > 2 FROM shop.notes")?, "1");
        server.query("INSERT INTO shop.orders (note) VALUES ('new')")?;
        assert_eq!(value("SELECT COUNT(*) > 0 FROM shop.log")?, "1");
        assert_eq!(value("SELECT @@GLOBAL.event_scheduler")?, "OFF");
        for table in ["servers", "func", "plugin WHERE dl LIKE '%federated%'"] {
            let count = value(&format!("SELECT COUNT(*) FROM mysql.{table}"))?;
            assert_eq!(count, "0", "{table}");
        }
        let outside = self.path("outside.txt");
        let written = server.query(&format!("SELECT 1 INTO OUTFILE '{}'", outside.display()));
        let told = written
            .expect_err("nothing is written outside")
            .explain()
            .to_string();
        assert!(told.contains("secure"), "{told}");
        assert!(!outside.exists());
        assert_eq!(
            value("SELECT COUNT(*) FROM information_schema.events WHERE event_schema = 'shop'")?,
            "1"
        );
        let open = value(
            "SELECT COUNT(*) FROM mysql.global_priv WHERE user NOT IN ('niagara', 'mariadb.sys') \
             AND JSON_VALUE(priv, '$.account_locked') IS NOT TRUE AND JSON_VALUE(priv, '$.is_role') IS NOT TRUE",
        )?;
        assert_eq!(open, "0");
        assert_no_binary_log(&clone)?;
        // The same data are not brought in twice.
        let before = said.len();
        self.image_of(source, &mut |text| said.push(text.to_owned()))?;
        assert_eq!(said.len(), before);
        image.remove()
    }
}

fn rand_number() -> u32 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |time| time.subsec_nanos())
}

fn run(program: &str, arguments: &[&str], server: &RunningServer) -> Result<Vec<u8>> {
    output_of(Command::new(program), server, arguments)
}

#[test]
fn data_come_in_as_directory_backup_and_dump() -> Result<()> {
    let shop = Shop::new()?;
    let server = shop.start()?;

    // A server runs on it.
    let error = DataSource::open(&shop.path("data")).expect_err("in use");
    let error = error.explain();
    assert!(error.cause.contains("a server runs on"), "{error}");
    let remedy = "mariadb-backup --backup";
    assert!(
        error.remedies.iter().any(|one| one.contains(remedy)),
        "{error}"
    );

    let backup = shop.path("backup");
    let target = format!("--target-dir={}", backup.display());
    let password = format!("--password={}", server.password());
    run("mariadb-backup", &["--backup", &target, &password], &server)?;
    let error = DataSource::open(&backup).expect_err("not prepared");
    assert!(
        error
            .explain()
            .to_string()
            .contains("--prepare --target-dir="),
        "{error}"
    );
    let prepared = Command::new("mariadb-backup")
        .args(["--prepare", &target])
        .output()?;
    anyhow::ensure!(
        prepared.status.success(),
        "{}",
        String::from_utf8_lossy(&prepared.stderr)
    );
    let source = DataSource::open(&backup)?;
    assert_eq!(source.kind, DataKind::Backup);
    assert_eq!(
        source.made_by.map(|made_by| made_by.version),
        Some(shop.install.version)
    );
    shop.check_copy(&source)?;

    let dump = run(
        "mariadb-dump",
        &["--routines", "--events", "--triggers", "--all-databases"],
        &server,
    )?;
    let path = shop.path("all.sql");
    fs::write(&path, dump)?;
    anyhow::ensure!(Command::new("gzip").arg(&path).status()?.success());
    let source = DataSource::open(&shop.path("all.sql.gz"))?;
    assert_eq!(source.kind, DataKind::Dump);
    shop.check_copy(&source)?;

    // One database, which the dump does not make itself.
    let mut dump = run("mariadb-dump", &["--events", "shop"], &server)?;
    // A table that lies elsewhere is made with the others.
    let outside = shop.path("outside");
    fs::create_dir(&outside)?;
    let far = format!(
        "\nSET SQL_MODE = 'NO_AUTO_VALUE_ON_ZERO';\nCREATE TABLE far (id INT) ENGINE = MyISAM DATA DIRECTORY = '{}';\n",
        outside.display()
    );
    dump.extend_from_slice(far.as_bytes());
    let path = shop.path("shop.sql");
    fs::write(&path, dump)?;
    shop.check_copy(&DataSource::open(&path)?)?;
    assert_eq!(fs::read_dir(&outside)?.count(), 0);

    server.stop()?;
    let source = DataSource::open(&shop.path("data"))?;
    assert_eq!(source.kind, DataKind::Directory);
    // Somebody starts a server on it before it is copied.
    let server = shop.launch(shop.path("data"), &Config::new())?;
    let told = shop.refusal(&source);
    assert!(told.contains("a server runs on"), "{told}");
    server.stop()?;
    let told = shop.refusal(&source);
    assert!(told.contains("has changed since"), "{told}");
    shop.check_copy(&DataSource::open(&shop.path("data"))?)?;
    Ok(())
}

#[test]
fn a_folder_of_mydumper_comes_in() -> Result<()> {
    let shop = Shop::new()?;
    let server = shop.start()?;
    let folder = shop.path("dumper");
    let output = Command::new("mydumper")
        .args(["--socket", &server.socket().display().to_string()])
        .args(["--user", server.user(), "--password", server.password()])
        .args([
            "--database",
            "shop",
            "--compress",
            "--triggers",
            "--events",
            "--routines",
        ])
        .arg("--outputdir")
        .arg(&folder)
        .output()
        .context("mydumper (scripts/setup test installs it)")?;
    anyhow::ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let source = DataSource::open(&folder)?;
    assert_eq!(source.kind, DataKind::Mydumper);
    shop.check_copy(&source)
}

#[test]
fn what_cannot_be_used_is_refused_with_what_to_do() -> Result<()> {
    let shop = Shop::new()?;
    let told = |path: &Path| {
        let error = DataSource::open(path).expect_err("refused");
        error.explain().to_string()
    };
    let none = told(&shop.path("none"));
    assert!(
        none.contains("there are no data at") && none.contains("remedy"),
        "{none}"
    );
    let empty = shop.path("empty");
    fs::create_dir(&empty)?;
    assert!(told(&empty).contains("neither a data directory"));
    fs::write(shop.path("x.tar"), [&[0; 257][..], b"ustar"].concat())?;
    assert!(told(&shop.path("x.tar")).contains("tar -xf"));
    fs::write(shop.path("x.xbstream"), b"XBSTCK01\0")?;
    assert!(told(&shop.path("x.xbstream")).contains("mbstream -x"));
    let backup = shop.path("increment");
    fs::create_dir(&backup)?;
    fs::write(
        backup.join("xtrabackup_checkpoints"),
        "backup_type = incremental\n",
    )?;
    assert!(told(&backup).contains("--incremental-dir="));
    // A refused statement is told with its place.
    let dump = shop.path("bad.sql");
    fs::write(
        &dump,
        "-- MySQL dump 10.13\n-- Server version\t8.0.36\nCREATE DATABASE shop; USE shop;\nCREATE TABLE t (a INT) COLLATE utf8mb4_0900_ai_ci;\n",
    )?;
    let error = shop.refusal(&DataSource::open(&dump)?);
    assert!(
        error.contains("bad.sql: statement 3 was refused"),
        "{error}"
    );
    assert!(error.contains("the dump is of MySQL 8.0.36"), "{error}");
    // A table of another server's, which making it would connect to.
    let dump = shop.path("far.sql");
    fs::write(
        &dump,
        "-- MariaDB dump 10.19\nCREATE DATABASE shop; USE shop;\nCREATE TABLE `t` (a INT);\n\
         CREATE TABLE `away` (a INT) ENGINE=FEDERATED CONNECTION='mysql://x@127.0.0.1:1/shop/t';\n",
    )?;
    let error = shop.refusal(&DataSource::open(&dump)?);
    for words in [
        "far.sql: statement 4 was refused",
        "FEDERATED",
        "--ignore-table=DATABASE.away",
    ] {
        assert!(error.contains(words), "{words}: {error}");
    }
    Ok(())
}

#[test]
fn half_of_a_dump_is_refused_and_encrypted_tables_come_in_clear() -> Result<()> {
    let shop = Shop::new()?;
    let text = "-- MariaDB dump 10.19\nCREATE DATABASE shop; USE shop;\n\
        CREATE TABLE t (a INT) ENGINE=InnoDB `ENCRYPTED`=YES `ENCRYPTION_KEY_ID`=17;\nINSERT INTO t VALUES (1);\n";
    let dump = shop.path("cut.sql");
    fs::write(&dump, text)?;
    let told = shop.refusal(&DataSource::open(&dump)?);
    assert!(
        told.contains("cut.sql: the dump is cut off") && told.contains("remedy"),
        "{told}"
    );
    let dump = shop.path("whole.sql");
    fs::write(&dump, format!("{text}\n-- Dump completed on 2026-01-01\n"))?;
    let image = image_of(
        &shop.cache,
        &shop.install,
        &DataSource::open(&dump)?,
        &Config::new(),
        &Cancel::default(),
        &mut |_| {},
    )?;
    let record = image.record()?;
    assert_eq!(record.databases, ["shop"]);
    assert!(
        record.without.iter().any(|line| line.contains("in clear")),
        "{:?}",
        record.without
    );
    Ok(())
}

#[test]
fn a_table_without_its_file_is_told_and_a_database_without_any_refused() -> Result<()> {
    let shop = Shop::new()?;
    let server = shop.start()?;
    for statement in [
        "CREATE TABLE shop.gone (id INT) ENGINE = InnoDB",
        "CREATE DATABASE old",
        "CREATE TABLE old.only (id INT) ENGINE = InnoDB",
    ] {
        server.query(statement)?;
    }
    server.stop()?;
    let data = shop.path("data");
    fs::remove_file(data.join("shop/gone.ibd"))?;
    let image = image_of(
        &shop.cache,
        &shop.install,
        &DataSource::open(&data)?,
        &Config::new(),
        &Cancel::default(),
        &mut |_| {},
    )?;
    let without = image.record()?.without.join("\n");
    assert!(without.contains("shop.gone"), "{without}");
    fs::remove_file(data.join("old/only.ibd"))?;
    let told = shop.refusal(&DataSource::open(&data)?);
    assert!(
        told.contains("database old") && told.contains("remedy"),
        "{told}"
    );
    // Parts that lie elsewhere.
    fs::rename(data.join("ib_logfile0"), shop.path("ib_logfile0"))?;
    let error = DataSource::open(&data).expect_err("no redo log");
    assert!(
        error
            .explain()
            .to_string()
            .contains("innodb_log_group_home_dir"),
        "{error}"
    );
    Ok(())
}

/// What options set without a variable of their name, of which the server tells no origin.
#[test]
fn a_running_server_tells_its_isolation_level() -> Result<()> {
    let shop = Shop::new()?;
    let server = shop.start_with(
        &[
            ("transaction_isolation", "READ-COMMITTED"),
            ("character_set_server", "utf8mb4"),
            ("innodb_log_file_size", "100M"),
            ("performance_schema", "ON"),
            // Given twice.
            (
                "performance_schema_instrument",
                "stage/%=ON;statement/sql/select=OFF",
            ),
        ],
        &[],
    )?;
    let enabled = |name: &str| {
        let enabled = format!(
            "SELECT MIN(enabled) FROM performance_schema.setup_instruments WHERE name LIKE '{name}'"
        );
        shop::value(&server, &enabled)
    };
    assert_eq!(enabled("stage/%")?, "YES");
    assert_eq!(enabled("statement/sql/select")?, "NO");
    let mut admin = Admin::connect(&server.over_socket(""), Duration::from_secs(10))?;
    let running = running_config(&mut admin, "here", None)?;
    let value = |name: &str| {
        let mut named = running.settings.iter().filter(|one| one.name == name);
        let value = named.next().map(|one| one.value.as_str());
        assert!(named.next().is_none(), "{name} twice");
        value
    };
    assert_eq!(value("transaction_isolation"), Some("READ-COMMITTED"));
    assert_eq!(value("character_set_server"), Some("utf8mb4"));
    assert_eq!(value("autocommit"), None);
    // Private servers are started by options of the command line.
    let mut settings = running.settings.iter();
    let redo = settings.find(|one| one.name == "innodb_log_file_size");
    assert_eq!(
        redo.map(|one| one.origin.as_str()),
        Some(COMMAND_LINE),
        "{:?}",
        running.settings
    );
    drop(admin);
    server.query("SET GLOBAL tx_isolation = 'SERIALIZABLE'")?;
    let mut admin = Admin::connect(&server.over_socket(""), Duration::from_secs(10))?;
    let running = running_config(&mut admin, "here", None)?;
    let mut settings = running.settings.iter();
    let level = settings.find(|one| one.name == "transaction_isolation");
    assert_eq!(
        level.map(|one| (one.value.as_str(), one.origin.as_str())),
        Some(("SERIALIZABLE", SET_GLOBAL))
    );
    server.stop()
}

/// A dump has none, and statistics that a copy gathers may give it other plans.
#[test]
fn a_dump_has_the_statistics_of_its_server_beside_it() -> Result<()> {
    let shop = Shop::new()?;
    let server = shop.start_with(&[("use_stat_tables", "preferably")], &[
        "CREATE DATABASE shop",
        "CREATE TABLE shop.t (id INT PRIMARY KEY, k INT, KEY (k)) ENGINE = InnoDB",
        "CREATE TABLE shop.`it's` (id INT PRIMARY KEY, word VARCHAR(20)) ENGINE = InnoDB",
        "INSERT INTO shop.t SELECT seq, seq FROM shop.seq_1_to_1000",
        "INSERT INTO shop.`it's` SELECT seq, IF(seq < 900, 'often', CONCAT('w', seq)) FROM shop.seq_1_to_1000",
        "SET SESSION histogram_size = 50",
        "ANALYZE TABLE shop.`it's` PERSISTENT FOR ALL",
        "UPDATE mysql.innodb_table_stats SET n_rows = 77777 WHERE database_name = 'shop' AND table_name = 't'",
        "UPDATE mysql.innodb_index_stats SET stat_value = 11 WHERE table_name = 't' AND index_name = 'k' AND stat_name = 'n_diff_pfx01'",
    ])?;
    // An account of the application may not read them.
    server.query("CREATE USER few IDENTIFIED BY 'secret'")?;
    server.query("GRANT ALL ON shop.* TO few")?;
    let mut few = server.over_socket("");
    few.user = "few".to_owned();
    few.password = "secret".to_owned();
    let mut few = Admin::connect(&few, Duration::from_secs(60))?;
    let refused = statistics_of(&mut few, &shop.install.version_string, &["shop".to_owned()]);
    assert!(refused.expect_err("refused").server_code().is_some());
    few.quit();
    let histogram = "SELECT CONCAT(hist_type, HEX(histogram), min_value) FROM mysql.column_stats WHERE column_name = 'word'";
    let there = value(&server, histogram)?;
    let dump = run("mariadb-dump", &["--databases", "shop"], &server)?;
    let path = shop.path("shop.sql");
    fs::write(&path, dump)?;
    let alone = DataSource::open(&path)?;
    write_statistics(&server, &shop.install.version_string, &path)?;
    server.stop()?;

    let source = DataSource::open(&path)?;
    assert_ne!(source.digest, alone.digest);
    let rows = "SELECT n_rows FROM mysql.innodb_table_stats WHERE table_name = 't'";
    let copy = shop.launch_copy_with_statistics(&source)?;
    assert_eq!(value(&copy, rows)?, "77777");
    assert_eq!(value(&copy, histogram)?, there);
    let plan = copy.query("EXPLAIN SELECT COUNT(*) FROM shop.t")?;
    assert!(
        plan.iter().flatten().any(|value| value.contains("77777")),
        "{plan:?}"
    );
    let different = value(
        &copy,
        "SELECT CARDINALITY FROM information_schema.statistics WHERE table_name = 't' AND index_name = 'k'",
    )?;
    assert!(["11", "22"].contains(&&*different), "{different}");
    copy.stop()?;

    // A file that is no such thing is told, not passed over.
    fs::write(shop.path(&format!("shop.sql{ENDING}")), "{")?;
    let told = shop.refusal(&DataSource::open(&path)?);
    assert!(
        told.contains("shop.sql.statistics.json") && told.contains("remedy:"),
        "{told}"
    );
    Ok(())
}
