//! Dumps, folders and option files of somebody who means harm: nothing outside of the copy is read, written or reached, and all
//! ends in time and with little memory.

mod shop;

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use niagara_error::Explain as _;
use niagara_origin::configuration::{ConfigSource, StartConfiguration};
use niagara_origin::data::{DataSource, image_of};
use niagara_server::{Cancel, Config, Image, Install};

use shop::{Shop, value};

/// The distribution's server, which `scripts/setup test` installs.
const SERVER: &str = "/usr/sbin/mariadbd";
/// What a reader may take, on a busy machine too.
const BOUND: Duration = Duration::from_secs(240);
/// Dumps at once, each with a server.
const AT_ONCE: usize = 4;
/// What is in the file that nobody may read.
const SECRET: &str = "canary-of-a-file";

const BEGIN: &str = "-- MariaDB dump 10.19\nCREATE DATABASE shop; USE shop;\nCREATE TABLE t (a VARCHAR(999)) ENGINE=InnoDB;\n";
const END: &str = "\n-- Dump completed\n";

/// What becomes of a dump.
enum End {
    /// It is refused, and this is said.
    Refused(&'static str),
    /// It is loaded; a statement on the copy, and its value.
    Loaded(&'static str, &'static str),
    /// Either, as the server likes: nothing outside is changed.
    Harmless,
}

use End::{Harmless, Loaded, Refused};

/// Statements in a dump; `{out}` is a folder of the user's, `{secret}` a file in it, `{port}` a port that nobody may connect to.
const DUMPS: &[(&str, &str, End)] = &[
    (
        "a file of the server's machine",
        "LOAD DATA INFILE '{secret}' INTO TABLE t;",
        Refused("secure-file-priv"),
    ),
    (
        "a file of this machine",
        "LOAD DATA LOCAL INFILE '{secret}' INTO TABLE t;",
        Refused("was refused"),
    ),
    (
        "a file read by a function",
        "INSERT INTO t VALUES (LOAD_FILE('{secret}'));",
        Loaded("SELECT COUNT(a) FROM shop.t", "0"),
    ),
    (
        "OUTFILE",
        "SELECT 1 INTO OUTFILE '{out}/x';",
        Refused("secure-file-priv"),
    ),
    (
        "OUTFILE in a version comment",
        "/*!50003 SELECT 1 INTO OUTFILE '{out}/x' */;",
        Refused("secure-file-priv"),
    ),
    (
        "OUTFILE in nested comments",
        "/*!50000 SELECT 1 /*!50003 INTO OUTFILE '{out}/x' */ */;",
        Refused("was refused"),
    ),
    (
        "DUMPFILE",
        "SELECT 1 INTO/**/DUMPFILE '{out}/x';",
        Refused("secure-file-priv"),
    ),
    (
        "SOURCE of the client",
        "SOURCE {secret};",
        Refused("was refused"),
    ),
    (
        "a shell of the client",
        "\\! touch {out}/x\n;",
        Refused("was refused"),
    ),
    (
        "SYSTEM of the client",
        "SYSTEM touch {out}/x;",
        Refused("was refused"),
    ),
    ("TEE of the client", "TEE {out}/x;", Refused("was refused")),
    (
        "FEDERATED",
        "CREATE TABLE f (a INT) ENGINE=FEDERATED CONNECTION='mysql://u@127.0.0.1:{port}/d/t';",
        Refused("FEDERATED"),
    ),
    (
        "FEDERATED in comments",
        "CREATE/**/TABLE f (a INT) /*!50000 ENGINE */ /* = */ = /*!50000 FEDERATED */ CONNECTION='mysql://u@127.0.0.1:{port}/d/t';",
        Refused("FEDERATED"),
    ),
    (
        "FEDERATED as a text",
        "CREATE TABLE f (a INT) ENGINE='FEDERATED' CONNECTION='mysql://u@127.0.0.1:{port}/d/t';",
        Harmless,
    ),
    (
        "SPIDER",
        "CREATE TABLE f (a INT) ENGINE=SPIDER COMMENT='wrapper \"mysql\", host \"127.0.0.1\", port \"{port}\"';",
        Refused("SPIDER"),
    ),
    (
        "CONNECT",
        "CREATE TABLE f (a INT) ENGINE=CONNECT TABLE_TYPE=DOS FILE_NAME='{secret}';",
        Refused("CONNECT"),
    ),
    (
        "other servers",
        "CREATE SERVER far FOREIGN DATA WRAPPER mysql OPTIONS (HOST '127.0.0.1', PORT {port});CREATE OR REPLACE SERVER far FOREIGN DATA WRAPPER mysql OPTIONS (HOST '127.0.0.1');",
        Loaded("SELECT COUNT(*) FROM mysql.servers", "0"),
    ),
    (
        "plugins and libraries",
        "INSTALL PLUGIN x SONAME 'ha_federatedx.so'; INSTALL SONAME 'ha_connect'; CREATE /* ( */ FUNCTION f RETURNS INT SONAME 'udf.so';",
        Loaded("SELECT COUNT(*) FROM mysql.func", "0"),
    ),
    (
        "plugins as rows",
        "INSERT INTO mysql.plugin VALUES ('x', 'ha_federatedx.so');",
        Loaded("SELECT COUNT(*) FROM mysql.plugin WHERE name = 'x'", "0"),
    ),
    (
        "accounts",
        "CREATE USER eve IDENTIFIED BY 'x'; GRANT/**/ALL ON *.* TO eve; SET PASSWORD = PASSWORD('x');",
        Loaded("SELECT COUNT(*) FROM mysql.user WHERE user = 'eve'", "0"),
    ),
    (
        "accounts as rows",
        "INSERT INTO mysql.global_priv VALUES ('%', 'eve', '{\"access\":18446744073709551615}'); FLUSH PRIVILEGES;",
        Harmless,
    ),
    (
        "global variables",
        "SET GLOBAL general_log_file='{out}/x'; SET @@GLOBAL.general_log=1; SET PERSIST x=1;",
        Loaded("SELECT 1", "1"),
    ),
    (
        "a global variable behind others",
        "SET @a=1, GLOBAL general_log_file='{out}/x', GLOBAL general_log=ON; SET/**/GLOBAL slow_query_log_file='{out}/y'; /*!50003 SET*/ GLOBAL slow_query_log=1;",
        Loaded("SELECT 1", "1"),
    ),
    (
        "a global variable in a prepared text",
        "PREPARE s FROM 'SET GLOBAL general_log_file=''{out}/x'''; EXECUTE s; SET @a=1; EXECUTE IMMEDIATE 'SET GLOBAL general_log=ON'; INSERT INTO t VALUES ('1');",
        Harmless,
    ),
    (
        "a global variable in a routine",
        "DELIMITER $$\nCREATE PROCEDURE p() BEGIN SET GLOBAL general_log_file='{out}/x'; SET GLOBAL general_log=ON; END$$\nDELIMITER ;\nCALL p(); INSERT INTO t VALUES ('1');",
        Harmless,
    ),
    (
        "a global variable in a trigger",
        "DELIMITER $$\nCREATE DEFINER='root'@'localhost' TRIGGER g BEFORE INSERT ON t FOR EACH ROW BEGIN SET GLOBAL slow_query_log_file='{out}/x'; SET GLOBAL slow_query_log=ON; END$$\nDELIMITER ;\nINSERT INTO t VALUES ('1');",
        Harmless,
    ),
    (
        "replication",
        "EXECUTE IMMEDIATE 'CHANGE MASTER TO MASTER_HOST=''127.0.0.1'', MASTER_PORT={port}, MASTER_USER=''u'''; EXECUTE IMMEDIATE 'START SLAVE'; DO SLEEP(2);",
        Harmless,
    ),
    (
        "an end of the server",
        "EXECUTE IMMEDIATE 'SHUTDOWN'; DO SLEEP(1); SELECT 1; SELECT 2;",
        Refused("was refused"),
    ),
    (
        "kills",
        "SHUTDOWN; KILL 1; DROP DATABASE mysql; USE mysql; DROP TABLE global_priv; USE shop; INSERT INTO t VALUES ('1');",
        Loaded("SELECT COUNT(*) FROM shop.t", "1"),
    ),
    (
        "folders outside",
        "CREATE TABLE d (a INT) ENGINE=MyISAM DATA DIRECTORY='{out}' INDEX DIRECTORY='{out}'; SET SESSION sql_mode=''; CREATE TABLE e (a INT) ENGINE=InnoDB DATA DIRECTORY='{out}';",
        Harmless,
    ),
    (
        "a tablespace outside",
        "CREATE TABLESPACE s ADD DATAFILE '{out}/x.ibd';",
        Harmless,
    ),
    (
        "definers and events",
        "CREATE DEFINER=`nobody`@`%` VIEW v AS SELECT 1; CREATE EVENT e ON SCHEDULE EVERY 1 SECOND DO SELECT 1 INTO OUTFILE '{out}/x';",
        Loaded("SELECT @@GLOBAL.event_scheduler", "OFF"),
    ),
    (
        "a text without an end",
        "INSERT INTO t VALUES ('x;\n",
        Refused("remedy"),
    ),
    (
        "a comment without an end",
        "/* INSERT INTO t VALUES (1);\n",
        Refused("remedy"),
    ),
    (
        "a name that leads out",
        "CREATE DATABASE `../../{port}`; USE `../../{port}`; CREATE TABLE t (a INT);",
        Harmless,
    ),
    ("NULs", "INSERT INTO t VALUES ('\0');", Refused("not text")),
];

/// A folder of the user's with a file, and a port to which nobody may connect.
struct Outside {
    folder: PathBuf,
    port: u16,
    knocks: Arc<AtomicUsize>,
}

impl Outside {
    fn new(folder: PathBuf) -> Result<Self> {
        fs::create_dir(&folder)?;
        fs::write(folder.join("secret.txt"), SECRET)?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let knocks = Arc::<AtomicUsize>::default();
        let counted = Arc::clone(&knocks);
        // It ends with the process.
        std::thread::spawn(move || {
            for _ in listener.incoming() {
                counted.fetch_add(1, Ordering::Relaxed);
            }
        });
        Ok(Self {
            folder,
            port,
            knocks,
        })
    }

    fn fill(&self, text: &str) -> String {
        text.replace(
            "{secret}",
            &self.folder.join("secret.txt").display().to_string(),
        )
        .replace("{out}", &self.folder.display().to_string())
        .replace("{port}", &self.port.to_string())
    }

    /// What was changed or reached, if something was.
    fn harm(&self) -> Option<String> {
        let names: Vec<String> = fs::read_dir(&self.folder)
            .ok()?
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        if names != ["secret.txt"] {
            return Some(format!("files outside: {names:?}"));
        }
        let knocks = self.knocks.load(Ordering::Relaxed);
        (knocks > 0).then(|| format!("{knocks} connections to another server"))
    }
}

fn image(shop: &Shop, path: &Path) -> Result<Image> {
    image_of(
        &shop.cache,
        &shop.install,
        &DataSource::open(path)?,
        &Config::new(),
        &Cancel::default(),
        &mut |_| {},
    )
}

/// Loads a dump; what is wrong with what became of it, if something is.
fn suffer(statements: &str, end: &End) -> Result<Option<String>> {
    let shop = Shop::of(Install::from_path(Path::new(SERVER))?)?;
    let outside = Outside::new(shop.path("outside"))?;
    let path = shop.path("dump.sql");
    fs::write(&path, format!("{BEGIN}{}{END}", outside.fill(statements)))?;
    let began = Instant::now();
    let made = image(&shop, &path);
    if began.elapsed() > BOUND {
        return Ok(Some(format!("it took {:?}", began.elapsed())));
    }
    let told = made.as_ref().err().map(|error| error.explain().to_string());
    let wrong = match (end, &made, &told) {
        (Refused(words), _, Some(told)) => {
            (!told.contains(words)).then(|| format!("no '{words}' in: {told}"))
        }
        (Refused(_), ..) => Some("it was loaded".to_owned()),
        (Loaded(..), _, Some(told)) => Some(format!("it was refused: {told}")),
        (Loaded(sql, expected), Ok(image), _) => {
            let clone = shop.path("clone");
            image.clone_to(&clone)?;
            let server = shop.launch(clone, &Config::new())?;
            let found = value(&server, sql)?;
            (found != *expected).then(|| format!("{sql}: {found}"))
        }
        _ => None,
    };
    let told = told.unwrap_or_default();
    Ok(wrong
        .or_else(|| outside.harm())
        .or_else(|| {
            told.contains(SECRET)
                .then(|| format!("the file is told: {told}"))
        })
        .or_else(|| {
            let is_raw = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
            told.contains(is_raw)
                .then(|| format!("it commands the terminal: {told:?}"))
        }))
}

#[test]
fn hostile_dumps_stay_within_the_copy() {
    let only = std::env::var("NIAGARA_TEST_ONLY").unwrap_or_default();
    let next = AtomicUsize::new(0);
    let faults = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((name, statements, end)) =
                    DUMPS.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    if !name.contains(&only) {
                        continue;
                    }
                    let fault = suffer(statements, end)
                        .unwrap_or_else(|error| Some(error.explain().to_string()));
                    if let Some(fault) = fault {
                        faults
                            .lock()
                            .expect("no panic")
                            .push(format!("{name}: {fault}"));
                    }
                }
            });
        }
    });
    let faults = faults.into_inner().expect("no panic");
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// Compresses what `write` writes.
fn gzip(path: &Path, write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<()> {
    let mut child = Command::new("gzip")
        .arg("-1")
        .stdin(Stdio::piped())
        .stdout(fs::File::create(path)?)
        .spawn()?;
    let mut input = child.stdin.take().expect("piped");
    write(&mut input)?;
    drop(input);
    anyhow::ensure!(child.wait()?.success());
    Ok(())
}

/// The most memory that this process has had, in bytes.
fn peak() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes: u64 = line
        .unwrap_or_default()
        .trim()
        .trim_end_matches("kB")
        .trim()
        .parse()?;
    Ok(kilobytes << 10)
}

#[test]
fn files_that_are_no_dump_end_early() -> Result<()> {
    let place = tempfile::tempdir()?;
    let at = |name: &str| place.path().join(name);
    let refusal = |name: &str| -> String {
        let error = DataSource::open(&at(name)).expect_err(name);
        error.explain().to_string()
    };
    let filled = |with: u8| {
        move |out: &mut dyn Write| {
            let part = vec![with; 1 << 20];
            (0..512).try_for_each(|_| out.write_all(&part))
        }
    };
    gzip(&at("zeros.sql.gz"), filled(0))?;
    gzip(&at("blanks.sql.gz"), filled(b' '))?;
    fs::create_dir(at("data"))?;
    fs::write(at("data/ibdata1"), [0; 4096])?;
    std::os::unix::fs::symlink("/etc", at("data/mysql"))?;
    let made = Command::new("tar")
        .args(["-czf", "x.tar.gz", "data"])
        .current_dir(place.path())
        .status()?;
    anyhow::ensure!(made.success());
    nix::unistd::mkfifo(&at("pipe.sql"), nix::sys::stat::Mode::S_IRWXU)?;
    for (name, words) in [
        ("zeros.sql.gz", "not text"),
        ("blanks.sql.gz", "is empty"),
        ("x.tar.gz", "tar -xf"),
        ("data", "leads out of the data directory"),
        ("pipe.sql", "remedy"),
    ] {
        let began = Instant::now();
        let told = refusal(name);
        assert!(told.contains(words), "{name}: {told}");
        assert!(began.elapsed() < BOUND, "{name}: {:?}", began.elapsed());
    }
    assert!(peak()? < 512 << 20, "{} MiB", peak()? >> 20);
    Ok(())
}

/// What becomes of an option file: a refusal with these words, or a start without a path that leads out.
#[test]
fn hostile_option_files_end_early() -> Result<()> {
    let install = Install::from_path(Path::new(SERVER))?;
    let place = tempfile::tempdir()?;
    let at = |name: &str| place.path().join(name);
    let file = |name: &str, text: &[u8]| fs::write(at(name), text);
    let here = place.path().display().to_string();
    nix::unistd::mkfifo(&at("pipe.cnf"), nix::sys::stat::Mode::S_IRWXU)?;
    fs::File::create(at("long.cnf"))?.set_len(1 << 30)?;
    std::os::unix::fs::symlink(at("loop.cnf"), at("loop.cnf"))?;
    fs::create_dir(at("d.cnf"))?;
    fs::create_dir(at("conf.d"))?;
    std::os::unix::fs::symlink("/dev/zero", at("conf.d/zero.cnf"))?;
    file(
        "itself.cnf",
        format!("[mysqld]\nport=1\n!include {here}/itself.cnf\n").as_bytes(),
    )?;
    let thrice = format!("!include {here}/many.cnf\n").repeat(3);
    file("many.cnf", format!("[mysqld]\n{thrice}").as_bytes())?;
    file(
        "noise.cnf",
        &(0..100_000_u32)
            .map(|at| (at * 31 % 251) as u8)
            .collect::<Vec<_>>(),
    )?;
    let including = |what: &str| format!("[mysqld]\nport=1\n{what}\n");
    let cases: [(&str, String, &str); 12] = [
        (
            "itself",
            including(&format!("!include {here}/itself.cnf")),
            "",
        ),
        (
            "many",
            including(&format!("!include {here}/many.cnf")),
            "include each other",
        ),
        ("dev", including("!includedir /dev"), ""),
        // Everybody may write to it, so servers ignore it.
        ("zero", including("!include /dev/zero"), ""),
        (
            "zero in a folder",
            including(&format!("!includedir {here}/conf.d")),
            "",
        ),
        (
            "pipe",
            including(&format!("!include {here}/pipe.cnf")),
            "is no option file",
        ),
        (
            "1 GiB",
            including(&format!("!include {here}/long.cnf")),
            "16 MiB",
        ),
        (
            "a link to itself",
            including(&format!("!include {here}/loop.cnf")),
            "remedy",
        ),
        (
            "a folder",
            including(&format!("!include {here}/d.cnf")),
            "is no option file",
        ),
        (
            "not here",
            including("!include /nowhere/x.cnf"),
            "is not here",
        ),
        ("no group", "port=1\n".into(), "no group"),
        (
            "many options",
            format!("[mysqld]\n{}", "max_connections=9\n".repeat(100_000)),
            "",
        ),
    ];
    for (name, text, words) in &cases {
        let began = Instant::now();
        file("my.cnf", text.as_bytes())?;
        let read = ConfigSource::file(&at("my.cnf"));
        let told = read
            .err()
            .map(|error| error.explain().to_string())
            .unwrap_or_default();
        assert_eq!(told.is_empty(), words.is_empty(), "{name}: {told}");
        assert!(told.contains(words), "{name}: {told}");
        assert!(
            words.is_empty() || told.contains("remedy"),
            "{name}: {told}"
        );
        assert!(began.elapsed() < BOUND, "{name}: {:?}", began.elapsed());
    }
    // What it says does not matter: it is no end of the process.
    let _ = ConfigSource::file(&at("noise.cnf"));
    let out = format!("{here}/out");
    let settings = [
        "init_file",
        "datadir",
        "tmpdir",
        "innodb_tmpdir",
        "slave_load_tmpdir",
        "plugin_dir",
        "secure_file_priv",
        "general_log_file",
        "slow_query_log_file",
        "log_error",
        "log_bin",
        "log_bin_index",
        "relay_log",
        "pid_file",
        "socket",
        "innodb_data_home_dir",
        "innodb_log_group_home_dir",
        "innodb_undo_directory",
        "aria_log_dir_path",
        "lc_messages_dir",
        "character_sets_dir",
        "ssl_key",
        "ssl_ca",
        "wsrep_provider",
        "loose-server_audit_file_path",
        "loose_maximum_general_log_file",
        "ft_stopword_file",
        "general-log-file",
        "innodb_buffer_pool_filename",
        "loose-feedback_url",
        "loose-rocksdb_datadir",
        "log_slow_query_file",
    ];
    for path in [out.as_str(), "../../out", "a/../../../out", "~/out"] {
        let lines: String = settings
            .iter()
            .map(|name| format!("{name} = {path}/x\n"))
            .collect();
        let text = format!("[mysqld]\nplugin_load_add = {path}/evil\n{lines}");
        file("my.cnf", text.as_bytes())?;
        let scratch = tempfile::tempdir()?;
        let start = StartConfiguration::of(
            &ConfigSource::file(&at("my.cnf"))?,
            None,
            &install,
            4 << 30,
            scratch.path(),
        )?;
        let leads_out = start.config.values().any(|value| value.contains("out/"));
        assert!(!leads_out, "{:?}", start.config);
    }
    assert!(!at("out").exists());
    assert!(peak()? < 512 << 20, "{} MiB", peak()? >> 20);
    Ok(())
}
