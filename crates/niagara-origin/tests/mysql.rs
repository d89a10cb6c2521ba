//! MySQL's data as users have them: dumps of its own mysqldump, data directories of its servers, and what becomes of them in a
//! copy.

mod shop;
mod variables;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use niagara_error::Explain as _;
use niagara_load::Admin;
use niagara_origin::configuration::{
    COMMAND_LINE, ConfigSource, SET_GLOBAL, SET_PERSIST, StartConfiguration, running_config,
};
use niagara_origin::data::{DataKind, DataSource, image_of};
use niagara_origin::pack::{
    Dump, DumpLimits, DumpState, MANIFEST_FORMAT, MachineFacts, Manifest, PackWriter, ServerFacts,
    TablesElsewhere, database_sizes, databases, table_count, tables_elsewhere, unpack,
};
use niagara_server::archive::Apt;
use niagara_server::{Cache, Cancel, Catalog, Config, ImageStore, Install, RunningServer, get};

use shop::{Shop, assert_no_binary_log, output_of, value, write_statistics};
use variables::{assert_same, told};

/// The catalogue's server.
const MYSQL: &str = "mysql-9.7";
/// The distribution's MariaDB, which `scripts/setup test` installs.
const MARIADB: &str = "/usr/sbin/mariadbd";

impl Shop {
    fn new() -> Result<Shop> {
        let catalog = Catalog::load(&[])?;
        Shop::of(get(&Cache::open()?, catalog.get(MYSQL)?, &mut |_| {})?)
    }

    /// Starts it with a database that has what databases have.
    fn start(&self) -> Result<RunningServer> {
        let variables = [
            ("log_bin", "mysql-bin"),
            ("server_id", "7"),
            ("gtid_mode", "ON"),
            ("enforce_gtid_consistency", "ON"),
            ("event_scheduler", "ON"),
        ];
        self.start_with(&variables, &[
            "CREATE DATABASE shop",
            "CREATE TABLE shop.orders (id INT PRIMARY KEY AUTO_INCREMENT, note VARCHAR(99), upper VARCHAR(99) AS (UPPER(note)), doc JSON, picture BLOB) \
             COLLATE utf8mb4_0900_ai_ci",
            "CREATE TABLE shop.log (id INT)",
            "INSERT INTO shop.orders (note, doc, picture) VALUES ('it''s; done', '{\"a\": \"b;\"}', x'00275c3b0a'), ('-- no comment', NULL, NULL), \
             ('back\\\\slash;', NULL, NULL)",
            "CREATE USER 'app'@'%' IDENTIFIED BY 'secret'",
            "GRANT ALL ON shop.* TO 'app'@'%'",
            "CREATE ROLE reporting",
            "CREATE DEFINER = 'app'@'%' VIEW shop.notes AS SELECT note FROM shop.orders",
            "CREATE DEFINER = 'app'@'%' TRIGGER shop.written AFTER INSERT ON shop.orders FOR EACH ROW BEGIN INSERT INTO shop.log VALUES (NEW.id); END",
            "CREATE DEFINER = 'app'@'%' FUNCTION shop.twice(n INT) RETURNS INT DETERMINISTIC BEGIN RETURN 2 * n; END",
            "CREATE EVENT shop.soon ON SCHEDULE EVERY 1 SECOND DO DELETE FROM shop.orders WHERE id > 3",
            "INSERT INTO shop.orders (note) VALUES ('last')",
            // What a server keeps beside its option file is not the copy's.
            "SET PERSIST max_connections = 77",
        ])
    }

    /// Makes the image of `source`, starts a server on a clone, and looks around.
    fn check_copy(&self, source: &DataSource) -> Result<()> {
        let mut said = Vec::new();
        let image = self.image_of(source, &mut |text| said.push(text.to_owned()))?;
        assert_eq!(image.record()?.databases, ["shop"]);
        let clone = self.path("clone");
        image.clone_to(&clone)?;
        let server = self.launch(clone.clone(), &Config::new())?;
        let value = |sql: &str| value(&server, sql);
        for (sql, expected) in [
            (
                "SELECT GROUP_CONCAT(note ORDER BY id SEPARATOR '|') FROM shop.orders WHERE id < 4",
                "it's; done|-- no comment|back\\slash;",
            ),
            (
                "SELECT CONCAT(upper, doc->>'$.a', HEX(picture)) FROM shop.orders WHERE id = 1",
                "IT'S; DONEb;00275C3B0A",
            ),
            // Views and routines run as accounts that nobody can log in as.
            ("SELECT COUNT(*) > 2 FROM shop.notes", "1"),
            ("SELECT shop.twice(21)", "42"),
            ("SELECT @@GLOBAL.event_scheduler", "OFF"),
            ("SELECT @@GLOBAL.max_connections = 77", "0"),
            (
                "SELECT COUNT(*) FROM information_schema.events WHERE event_schema = 'shop'",
                "1",
            ),
            (
                "SELECT COUNT(*) FROM mysql.user WHERE user NOT IN ('niagara') AND account_locked = 'N'",
                "0",
            ),
        ] {
            assert_eq!(value(sql)?, expected, "{sql}");
        }
        server.query("INSERT INTO shop.orders (note) VALUES ('new')")?;
        assert_eq!(value("SELECT COUNT(*) > 0 FROM shop.log")?, "1");
        drop(server);
        assert_no_binary_log(&clone)?;
        fs::remove_dir_all(&clone)?;
        image.remove()
    }

    /// What `mariadbd` says of these data.
    fn refusal_of_mariadb(&self, source: &DataSource) -> Result<String> {
        let error = image_of(
            &self.cache,
            &Install::from_path(Path::new(MARIADB))?,
            source,
            &Config::new(),
            &Cancel::default(),
            &mut |_| {},
        )
        .expect_err("another server's data");
        Ok(error.explain().to_string())
    }

    /// MySQL's own mysqldump, which is in another package than the server; it runs with the server's libraries.
    fn mysqldump(&self, server: &RunningServer, arguments: &[&str]) -> Result<Vec<u8>> {
        let [loader, own @ ..] = self.mysqldump_words()?;
        let mut program = Command::new(loader);
        program.args(own);
        output_of(program, server, arguments)
    }

    /// The same as a program of its own.
    fn mysqldump_program(&self) -> Result<PathBuf> {
        let path = self.path("mysqldump");
        let words = self.mysqldump_words()?;
        let words = words.map(|word| format!("'{}'", word.display()));
        fs::write(
            &path,
            format!("#!/bin/sh\nexec {} \"$@\"\n", words.join(" ")),
        )?;
        fs::set_permissions(&path, Permissions::from_mode(0o755))?;
        Ok(path)
    }

    fn mysqldump_words(&self) -> Result<[PathBuf; 4]> {
        let lib = self.install.basedir.join("lib");
        let loader = ["lib64", "lib"]
            .iter()
            .map(|name| self.install.basedir.join(name).join("ld-linux-x86-64.so.2"))
            .find(|path| path.is_file())
            .context("the server's loader")?;
        let libraries = lib.join("x86_64-linux-gnu");
        Ok([loader, "--library-path".into(), libraries, mysqldump()?])
    }
}

/// The program, fetched once from the archive that the server is of.
fn mysqldump() -> Result<PathBuf> {
    let place = Cache::open()?.root().join("test-programs").join(MYSQL);
    let program = place.join("mysqldump");
    if !program.is_file() {
        let catalog = Catalog::load(&[])?;
        let folder = tempfile::tempdir()?;
        let apt = Apt::open(&folder.path().join("apt"), &catalog.get(MYSQL)?.archive)?;
        let deb = apt.download_alone("mysql-client-core")?;
        let unpacked = folder.path().join("unpacked");
        let status = Command::new("dpkg-deb")
            .arg("-x")
            .args([&deb, &unpacked])
            .status()?;
        ensure!(status.success(), "dpkg-deb -x {}", deb.display());
        fs::create_dir_all(&place)?;
        // Whole or not at all, whoever else does the same.
        let new = place.join(format!(".{}", std::process::id()));
        fs::copy(unpacked.join("usr/bin/mysqldump"), &new)?;
        fs::rename(&new, &program)?;
    }
    Ok(program)
}

#[test]
fn a_data_directory_of_mysql_comes_in() -> Result<()> {
    let shop = Shop::new()?;
    let server = shop.start()?;
    let error = DataSource::open(&shop.path("data"))
        .expect_err("in use")
        .explain()
        .to_string();
    assert!(
        error.contains("a server runs on") && error.contains("xtrabackup --backup"),
        "{error}"
    );
    assert!(!error.contains("mariadb-backup"), "{error}");
    server.stop()?;

    let source = DataSource::open(&shop.path("data"))?;
    assert_eq!(source.kind, DataKind::Directory);
    assert_eq!(
        source.made_by.map(|made_by| made_by.version),
        Some(shop.install.version)
    );
    let told = shop.refusal_of_mariadb(&source)?;
    assert!(
        told.contains("does not read its files") && told.contains("take mysql-9.7"),
        "{told}"
    );
    // What was SET PERSIST is the original's configuration, and has the last word over its option file.
    let path = shop.path("my.cnf");
    fs::write(&path, "[mysqld]\nmax_connections = 55\nkey_buffer = 8M\n")?;
    let scratch = shop.path("scratch");
    fs::create_dir(&scratch)?;
    let start = StartConfiguration::of(
        &ConfigSource::file(&path)?,
        Some(&source),
        &shop.install,
        1 << 30,
        &scratch,
    )?;
    assert_eq!(start.config["max_connections"], "77");
    assert_eq!(start.origins["max_connections"], SET_PERSIST);
    assert!(start.places["max_connections"].contains("mysqld-auto.cnf"));
    // It takes whole names only, and would not start.
    assert_eq!(start.left_out[0].setting, "key_buffer=8M");
    shop.check_copy(&source)
}

#[test]
fn dumps_of_mysqls_own_mysqldump_come_in() -> Result<()> {
    let shop = Shop::new()?;
    let server = shop.start()?;
    let all = shop.mysqldump(
        &server,
        &["--all-databases", "--routines", "--events", "--source-data"],
    )?;
    let one = shop.mysqldump(
        &server,
        &[
            "--single-transaction",
            "--routines",
            "--events",
            "--hex-blob",
            "shop",
        ],
    )?;
    server.stop()?;

    let path = shop.path("all.sql");
    fs::write(&path, all)?;
    ensure!(Command::new("gzip").arg(&path).status()?.success());
    let source = DataSource::open(&shop.path("all.sql.gz"))?;
    assert_eq!(source.kind, DataKind::Dump);
    assert_eq!(
        source.made_by.map(|made_by| made_by.version),
        Some(shop.install.version)
    );
    let told = shop.refusal_of_mariadb(&source)?;
    assert!(
        told.contains(&format!("the dump is of MySQL {}", shop.install.version))
            && told.contains("remedy: take mysql-9.7"),
        "{told}"
    );
    shop.check_copy(&source)?;

    // One database, which the dump does not make itself.
    let path = shop.path("shop.sql");
    fs::write(&path, one)?;
    shop.check_copy(&DataSource::open(&path)?)
}

/// Such a table, or such a view, would have the whole dump refused.
#[test]
fn a_pack_is_without_tables_of_other_servers_and_views_on_unpacked_databases() -> Result<()> {
    let shop = Shop::new()?;
    let program = shop.mysqldump_program()?;
    let server = shop.start_with(&[("federated", "ON")], &[
        "CREATE DATABASE shop",
        "CREATE TABLE shop.orders (id INT PRIMARY KEY)",
        "INSERT INTO shop.orders VALUES (1), (2)",
        "CREATE TABLE shop.away (id INT) ENGINE=FEDERATED CONNECTION='mysql://x@127.0.0.1:1/shop/t'",
        "CREATE VIEW shop.far AS SELECT id FROM shop.away",
        "CREATE VIEW shop.farther AS SELECT id FROM shop.far",
        "CREATE VIEW shop.near AS SELECT id FROM shop.orders",
        "CREATE DATABASE old",
        "CREATE TABLE old.t (id INT) ENGINE=MyISAM",
        "INSERT INTO old.t VALUES (1)",
        "CREATE TABLE old.u (id INT) ENGINE=MEMORY",
        "CREATE VIEW shop.older AS SELECT o.id FROM shop.orders AS o JOIN old.t ON t.id = o.id",
        "CREATE VIEW shop.oldest AS SELECT id FROM shop.older",
        "CREATE VIEW shop.alias AS SELECT old.id FROM shop.orders AS old",
    ])?;
    let endpoint = server.over_socket("");
    let mut admin = Admin::connect(&endpoint, Duration::from_secs(60))?;
    let names = databases(&mut admin)?;
    assert_eq!(names, ["old", "shop"]);
    assert_eq!(table_count(&mut admin, &names[..1])?, 2);
    admin.rows("SET SESSION max_execution_time = 77000")?;
    let sizes = database_sizes(&mut admin, &names)?;
    let of_one = database_sizes(&mut admin, &names[1..])?;
    assert_eq!(of_one, sizes[1..], "nothing else is asked for");
    let unstable: Vec<_> = sizes
        .iter()
        .map(|one| (&one.name[..], one.unstable, &one.unstable_engines[..]))
        .collect();
    assert_eq!(unstable, [("old", 2, "MEMORY, MyISAM"), ("shop", 0, "")]);
    assert!(sizes[0].largest_unstable > 0, "{sizes:?}");
    assert_eq!(sizes[1].largest_unstable, 0);
    let databases = vec!["shop".to_owned()];
    let elsewhere = tables_elsewhere(&mut admin, &databases, &names[..1])?;
    let limit = admin.value("SELECT @@SESSION.max_execution_time")?;
    assert_eq!(limit.as_deref(), Some("77000"), "it is set back");
    admin.quit();
    let expected = TablesElsewhere {
        database: "shop".to_owned(),
        tables: vec!["away".to_owned()],
        views: vec!["far".to_owned(), "farther".to_owned()],
        views_on_unpacked: vec!["older".to_owned(), "oldest".to_owned()],
    };
    assert_eq!(elsewhere, [expected]);

    let dump = Dump {
        program,
        endpoint,
        databases,
        without: elsewhere.iter().flat_map(TablesElsewhere::names).collect(),
        limits: DumpLimits {
            rate: 1 << 30,
            bytes: 1 << 30,
            time: Duration::from_secs(600),
            free: 0,
        },
        folder: shop.path("work"),
    };
    fs::create_dir(&dump.folder)?;
    let path = shop.path("shop.niagara");
    let mut pack = PackWriter::create(&path)?;
    dump.write(&mut pack, &DumpState::default())?;
    pack.finish(Manifest {
        format: MANIFEST_FORMAT,
        niagara: String::new(),
        began: 0,
        server: ServerFacts {
            version: shop.install.version_string.clone(),
            comment: String::new(),
        },
        machine: MachineFacts {
            cpu: String::new(),
            cpus: 1,
            memory: 1 << 30,
        },
        schema: None,
        databases: Vec::new(),
        left_out: Vec::new(),
        members: Vec::new(),
    })?;
    server.stop()?;

    let unpacked = unpack(&path, &shop.cache, &mut |_| {})?;
    let server = shop.launch_copy(&DataSource::open(&unpacked.data())?)?;
    assert_eq!(value(&server, "SELECT COUNT(*) FROM shop.near")?, "2");
    Ok(())
}

#[test]
fn names_are_compared_as_they_were_when_the_data_were_made() -> Result<()> {
    let shop = Shop::new()?;
    let layout = Config::from([("lower_case_table_names".to_owned(), "1".to_owned())]);
    let image = ImageStore::new(&shop.cache).laid_out(&layout).ensure(
        &shop.install,
        "lower case",
        "InnoDB",
        &mut |_| Ok(()),
        &mut |_| {},
    )?;
    image.clone_to(&shop.path("data"))?;
    let server = shop.launch(shop.path("data"), &layout)?;
    server.query("CREATE DATABASE Shop")?;
    server.query("CREATE TABLE Shop.Orders (id INT PRIMARY KEY)")?;
    server.stop()?;

    let server = shop.launch_copy(&DataSource::open(&shop.path("data"))?)?;
    server.query("SELECT id FROM SHOP.ORDERS")?;
    Ok(())
}

/// A server on a copy would open the original's file, and write to it.
#[test]
fn a_table_outside_of_the_data_directory_is_refused() -> Result<()> {
    let shop = Shop::new()?;
    let outside = shop.path("outside");
    fs::create_dir(&outside)?;
    let folder = outside.display().to_string();
    let table = format!("CREATE TABLE shop.far (id INT PRIMARY KEY) DATA DIRECTORY = '{folder}'");
    let server = shop.start_with(
        &[("innodb_directories", &folder)],
        &["CREATE DATABASE shop", &table],
    )?;
    server.stop()?;
    let file = outside.join("shop/far.ibd");
    let before = fs::read(&file)?;
    let error = image_of(
        &shop.cache,
        &shop.install,
        &DataSource::open(&shop.path("data"))?,
        &Config::new(),
        &Cancel::default(),
        &mut |_| {},
    )
    .expect_err("a file outside");
    let told = error.explain().to_string();
    assert!(
        told.contains("outside of the data directory") && told.contains("far.ibd"),
        "{told}"
    );
    assert_eq!(fs::read(&file)?, before);
    Ok(())
}

/// Where the settings of a running server come from, and whether it writes a binary log.
#[test]
fn a_running_server_tells_what_set_its_variables() -> Result<()> {
    let shop = Shop::new()?;
    let server = shop.start_with(
        &[
            ("skip_log_bin", ""),
            ("table_open_cache", "321"),
            ("transaction_isolation", "READ-COMMITTED"),
            ("character_set_server", "latin1"),
        ],
        &[
            "SET PERSIST max_connections = 77",
            "SET GLOBAL innodb_io_capacity = 321",
        ],
    )?;
    let mut admin = Admin::connect(&server.over_socket(""), Duration::from_secs(10))?;
    let running = running_config(&mut admin, "here", None)?;
    let found = |name: &str| {
        let setting = running.settings.iter().find(|one| one.name == name);
        setting.map(|one| (one.value.as_str(), one.origin.as_str()))
    };
    assert_eq!(found("max_connections"), Some(("77", SET_PERSIST)));
    assert_eq!(found("innodb_io_capacity"), Some(("321", SET_GLOBAL)));
    assert_eq!(found("table_open_cache"), Some(("321", COMMAND_LINE)));
    let value = |name: &str| found(name).map(|(value, _)| value);
    assert_eq!(value("skip_log_bin"), Some(""));
    assert_eq!(value("transaction_isolation"), Some("READ-COMMITTED"));
    assert_eq!(value("character_set_server"), Some("latin1"));
    assert_eq!(value("autocommit"), None);
    server.stop()
}

#[test]
fn a_start_comes_to_what_the_server_makes_of_the_file() -> Result<()> {
    let shop = Shop::new()?;
    let path = shop.path("my.cnf");
    fs::write(
        &path,
        "[mysqld]\noptimizer_switch = \"index_merge=off,mrr=on\"\noptimizer-switch=mrr=off,hash_join=off\n\
         sql_mode = ANSI\nsql_mode = TRADITIONAL\nslow_query_log =\nlog_queries_not_using_indexes = ON\n\
         disable-log-queries-not-using-indexes\nskip-innodb-adaptive-hash-index=0\nenable-log-slow-extra\n\
         maximum-sort-buffer-size=8M\nsort_buffer_size = 4MB\nkey_buffer_size=16M\nhot.key_buffer_size=32M\n\
         innodb-file-per-table = yes\nlong_query_time = 0.5\nloose-innodb_nonsense = 1\nloose-key_buffer = 1M\n\
         loose-max_connections = 77\ninit_connect='SET @a=1 # no comment'\nskip-name-resolve\ndefault-time-zone='+01:00'\n\
         transaction-isolation=READ-COMMITTED\nskip-log-bin\nold-alter-table\ninnodb_redo_log_capacity = 1G\n\
         session_track_system_variables=\n[mysqld-8.0]\njoin_buffer_size = 9M\n[MYSQLD]\njoin_buffer_size = 1M\n",
    )?;
    let start = assert_same(
        &shop.install,
        &path,
        &["optimizer-switch", "sort-buffer-size", "join-buffer-size"],
    )?;
    let told = told(&start);
    for words in ["[mysqld-8.0]", "loose-key_buffer", "innodb_nonsense"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert!(!told.contains("differently"), "{told}");
    Ok(())
}

/// Plugins that options load are configuration; what a statement installed is in the data.
#[test]
fn a_running_server_tells_its_plugins() -> Result<()> {
    let shop = Shop::new()?;
    let server = shop.start_with(
        &[("plugin_load_add", "connection_control.so")],
        &["INSTALL PLUGIN mysql_no_login SONAME 'mysql_no_login.so'"],
    )?;
    let mut admin = Admin::connect(&server.over_socket(""), Duration::from_secs(10))?;
    let running = running_config(&mut admin, "here", None)?;
    let mut settings = running.settings.iter();
    let loaded = settings.find(|one| one.name == "plugin_load_add");
    assert_eq!(
        loaded.map(|one| one.value.as_str()),
        Some("connection_control.so")
    );
    assert_eq!(running.installed, ["mysql_no_login.so"]);
    let scratch = shop.path("scratch");
    fs::create_dir(&scratch)?;
    let start = StartConfiguration::of(
        &ConfigSource::Running(running),
        None,
        &shop.install,
        1 << 30,
        &scratch,
    )?;
    assert_eq!(start.config["plugin_load_add"], "connection_control.so");
    let told = told(&start);
    assert!(told.contains("mysql_no_login.so"), "{told}");
    server.stop()
}

/// A dump of mysqldump has no histograms, and InnoDB's statistics of a copy come from other pages.
#[test]
fn a_dump_has_the_histograms_of_its_server_beside_it() -> Result<()> {
    let shop = Shop::new()?;
    let server = shop.start_with(
        &[],
        &[
            "CREATE DATABASE shop",
            "CREATE TABLE shop.t (id INT PRIMARY KEY, `the word` VARCHAR(20))",
            "INSERT INTO shop.t VALUES (1, 'often'), (2, 'often'), (3, 'it\\'s \\\\'), (4, 'ä')",
            "ANALYZE TABLE shop.t",
            "ANALYZE TABLE shop.t UPDATE HISTOGRAM ON `the word` WITH 8 BUCKETS",
            "UPDATE mysql.innodb_table_stats SET n_rows = 77777 WHERE database_name = 'shop'",
        ],
    )?;
    let histogram = "SELECT HISTOGRAM->'$.buckets' FROM information_schema.COLUMN_STATISTICS WHERE TABLE_NAME = 't'";
    let there = value(&server, histogram)?;
    let dump = shop.mysqldump(&server, &["--databases", "shop"])?;
    let path = shop.path("shop.sql");
    fs::write(&path, dump)?;
    write_statistics(&server, &shop.install.version_string, &path)?;
    server.stop()?;

    let source = DataSource::open(&path)?;
    let copy = shop.launch_copy_with_statistics(&source)?;
    assert_eq!(value(&copy, histogram)?, there);
    let plan = copy.query("EXPLAIN SELECT * FROM shop.t")?;
    assert!(
        plan.iter().flatten().any(|value| value.contains("77777")),
        "{plan:?}"
    );
    Ok(())
}
