//! `niagara capture` on real servers: their settings come back whatever happens, and their logs become captures.

mod common;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::existing::Existing;
use common::{Place, run, signal, wait_until};
use niagara_load::{Admin, Endpoint, TlsOptions, Transport};
use nix::sys::signal::Signal;
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use serde_json::Value;

/// Far above what anything here takes: a bound, no expectation.
const LIMIT: Duration = Duration::from_secs(120);

/// The settings that a capture may change.
const SETTINGS: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name LIKE '%slow%' OR Variable_name IN \
    ('long_query_time', 'log_output', 'min_examined_row_limit', 'log_throttle_queries_not_using_indexes')";

struct Server(Existing);

impl Server {
    fn start(name: &str) -> Server {
        let variables = [("long_query_time", "7.5"), ("min_examined_row_limit", "3")];
        Server::start_with(name, &variables)
    }

    fn start_with(name: &str, variables: &[(&str, &str)]) -> Server {
        Server(Existing::start(name, variables))
    }

    fn rows(&self, sql: &str) -> Vec<Vec<String>> {
        self.0.server.query(sql).expect("a query")
    }

    /// A session that begins now: those from before a capture are not in it.
    fn session(&self) -> Admin {
        let endpoint = Endpoint {
            transport: Transport::Unix(self.0.server.socket().to_owned()),
            user: self.0.server.user().to_owned(),
            password: self.0.server.password().to_owned(),
            database: String::new(),
            tls: TlsOptions::default(),
        };
        Admin::connect(&endpoint, LIMIT).expect("a session")
    }

    fn is_logging(&self) -> bool {
        self.rows("SELECT @@GLOBAL.slow_query_log, @@GLOBAL.long_query_time")[0][0] == "1"
    }

    fn state(&self) -> PathBuf {
        self.0.place.folder.path().join("state")
    }

    fn output(&self) -> PathBuf {
        self.0.place.folder.path().join("shop.capture")
    }

    /// `niagara capture VERB …` with the server's address and account.
    fn capture(&self, verb: &str, arguments: &[&str]) -> Command {
        let mut command = self.0.place.niagara(&["capture", verb]);
        command
            .arg("--socket")
            .arg(self.0.server.socket())
            .args(["--user", self.0.server.user()])
            .args(arguments)
            .env("NIAGARA_PASSWORD", self.0.server.password())
            .env("XDG_STATE_HOME", self.state());
        command
    }

    /// A way to the server on which whoever sends `statement` is killed as soon as the server has answered that.
    fn deadly_way(&self, statement: &'static str) -> PathBuf {
        let path = self.0.place.folder.path().join("way.sock");
        let listener = UnixListener::bind(&path).expect("a socket");
        let server = self.0.server.socket().to_owned();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let server = UnixStream::connect(&server).expect("the server");
                carry(client.expect("a client"), server, statement);
            }
        });
        path
    }

    /// A capture that continues until it is ended, once its settings are made and it knows of that.
    fn long_capture(&self) -> Child {
        let told = self.0.place.folder.path().join("long-capture.stderr");
        let mut child = self
            .capture("start", &["--for", "1h", "--min-free", "1M"])
            .stdout(Stdio::null())
            .stderr(File::create(&told).expect("a file"))
            .spawn()
            .expect("niagara starts");
        wait_until("a log that is on", LIMIT, || {
            let said = fs::read_to_string(&told).expect("a file");
            let ended = child.try_wait().expect("a child");
            assert_eq!(ended, None, "it ended early: {said}");
            said.contains("capturing for") && self.is_logging() && self.log().exists()
        });
        child
    }

    /// What is on disk about the capture.
    fn recorded(&self) -> Value {
        let folder = self.state().join("niagara/captures");
        let files: Vec<PathBuf> = fs::read_dir(folder)
            .expect("the folder")
            .map(|entry| entry.expect("a file").path())
            .filter(|path| {
                path.extension()
                    .is_some_and(|extension| extension == "json")
            })
            .collect();
        assert_eq!(files.len(), 1, "{files:?}");
        assert_eq!(
            files[0].metadata().expect("a file").permissions().mode() & 0o777,
            0o600
        );
        serde_json::from_slice(&fs::read(&files[0]).expect("a file")).expect("JSON")
    }

    fn log(&self) -> PathBuf {
        self.recorded()["log"].as_str().expect("a path").into()
    }

    fn guardian(&self) -> i32 {
        let pid = self.recorded()["guardian"]["pid"].as_i64();
        i32::try_from(pid.expect("a process")).expect("a process")
    }
}

/// Carries what client and server say to each other until the client sends `statement`: once that is answered, the client is killed.
fn carry(client: UnixStream, server: UnixStream, statement: &'static str) {
    let is_sent = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_sent);
    let copy = |stream: &UnixStream| stream.try_clone().expect("a copy");
    let (mut from_client, mut to_server) = (copy(&client), copy(&server));
    std::thread::spawn(move || {
        let mut piece = [0; 1 << 16];
        while let Ok(length @ 1..) = from_client.read(&mut piece) {
            let text = String::from_utf8_lossy(&piece[..length]);
            // Before it is on its way, so that its answer is known.
            is_sent.fetch_or(text.contains(statement), Ordering::SeqCst);
            if to_server.write_all(&piece[..length]).is_err() {
                return;
            }
        }
    });
    let (mut client, mut server) = (client, server);
    std::thread::spawn(move || {
        let mut piece = [0; 1 << 16];
        while let Ok(length @ 1..) = server.read(&mut piece) {
            if seen.load(Ordering::SeqCst) {
                let peer = getsockopt(&client, PeerCredentials).expect("a process");
                return signal(peer.pid(), Signal::SIGKILL);
            }
            if client.write_all(&piece[..length]).is_err() {
                return;
            }
        }
    });
}

fn succeed(command: &mut Command) -> String {
    let (code, stdout, stderr) = run(command);
    assert_eq!(code, Some(0), "{command:?}\n{stdout}\n{stderr}");
    stdout
}

fn refused(command: &mut Command, words: &[&str]) {
    let (code, stdout, stderr) = run(command);
    assert_eq!(code, Some(1), "{command:?}\n{stdout}\n{stderr}");
    for word in words {
        assert!(stderr.contains(word), "no {word:?} in\n{stderr}");
    }
    assert!(!stderr.contains("panicked"), "{stderr}");
}

#[test]
fn a_killed_capture_leaves_the_settings_as_they_were() {
    let server = Server::start("mariadb-10.11");
    let before = server.rows(SETTINGS);
    let mut child = server.long_capture();
    assert_ne!(server.rows(SETTINGS), before);
    let began = Instant::now();
    child.kill().expect("SIGKILL");
    child.wait().expect("its end");
    wait_until("settings of before", LIMIT, || {
        server.rows(SETTINGS) == before
    });
    println!("settings were back {:?} after SIGKILL", began.elapsed());
    // The log is there still: `stop` makes the capture from it.
    let said = succeed(&mut server.capture("stop", &[]));
    assert!(said.contains("are as they were"), "{said}");
    assert_eq!(server.rows(SETTINGS), before);
    assert!(server.output().exists());
    refused(
        &mut server.capture("stop", &[]),
        &["no capture was started", "remedy:"],
    );
}

#[test]
fn when_all_processes_are_killed_stop_undoes_it() {
    let server = Server::start("mariadb-10.11");
    let before = server.rows(SETTINGS);
    let mut child = server.long_capture();
    let guardian = server.guardian();
    // Held, so that it cannot undo anything before it is killed too.
    signal(guardian, Signal::SIGSTOP);
    child.kill().expect("SIGKILL");
    child.wait().expect("its end");
    signal(guardian, Signal::SIGKILL);
    assert!(server.is_logging());
    refused(
        &mut server.capture("start", &["--for", "1s"]),
        &["not ended", "capture stop"],
    );
    let said = succeed(&mut server.capture("stop", &["--no-import"]));
    assert!(said.contains("The log is"), "{said}");
    assert_eq!(server.rows(SETTINGS), before);
}

#[test]
fn a_guardian_that_is_killed_ends_the_capture() {
    let server = Server::start("mariadb-10.11");
    let before = server.rows(SETTINGS);
    let mut child = server.long_capture();
    signal(server.guardian(), Signal::SIGKILL);
    assert_eq!(child.wait().expect("its end").code(), Some(0));
    assert_eq!(server.rows(SETTINGS), before);
    assert!(server.output().exists());
}

/// The settings are made, but the guardian could not say so.
#[test]
fn a_guardian_that_is_killed_before_the_capture_begins_leaves_nothing_set() {
    let server = Server::start("mariadb-10.11");
    let before = server.rows(SETTINGS);
    let way = server.deadly_way("SET GLOBAL slow_query_log = ON");
    let mut start = server.0.place.niagara(&["capture", "start"]);
    start
        .args(["--for", "1s", "--min-free", "1M", "--socket"])
        .arg(way)
        .args(["--user", server.0.server.user()])
        .env("NIAGARA_PASSWORD", server.0.server.password())
        .env("XDG_STATE_HOME", server.state());
    refused(
        &mut start,
        &["SIGKILL", "everything is set back", "remedy:"],
    );
    assert_eq!(server.rows(SETTINGS), before);
    let data = &server.rows("SELECT @@datadir")[0][0];
    let logs = fs::read_dir(data).expect("the data").filter(|entry| {
        let name = entry.as_ref().expect("a file").file_name();
        name.to_string_lossy().starts_with("niagara-capture-")
    });
    assert_eq!(logs.count(), 0, "a log has statements in clear");
    refused(
        &mut server.capture("stop", &[]),
        &["no capture was started"],
    );
}

#[test]
fn ctrl_c_ends_a_capture_and_keeps_it() {
    let server = Server::start("mysql-9.7");
    let before = server.rows(SETTINGS);
    let mut child = server.long_capture();
    server
        .session()
        .rows("SELECT 'while it runs'")
        .expect("a query");
    signal(
        i32::try_from(child.id()).expect("a process"),
        Signal::SIGINT,
    );
    assert_eq!(child.wait().expect("its end").code(), Some(130));
    assert_eq!(server.rows(SETTINGS), before);
    let lines =
        succeed(
            &mut server
                .0
                .place
                .niagara(&["capture", "export", "shop.capture", "--literals"]),
        );
    assert!(lines.contains("while it runs"), "{lines}");
}

/// Captures for a few seconds while somebody works, and checks all that can be seen of it.
fn what_is_done_is_captured(name: &str) {
    let server = Server::start(name);
    let before = server.rows(SETTINGS);
    let advice = succeed(&mut server.capture("advise", &[]));
    for word in [
        "SET GLOBAL long_query_time = 0;",
        "SET GLOBAL long_query_time = 7.5",
        "min_examined_row_limit",
        "connected already",
    ] {
        assert!(advice.contains(word), "no {word:?} in\n{advice}");
    }
    assert_eq!(server.rows(SETTINGS), before, "advice changes nothing");
    let _there = server.session();
    let said = succeed(&mut server.capture("start", &["--min-free", "1M"]));
    assert!(said.contains("capture stop"), "{said}");
    let mut session = server.session();
    let mut work = |sql: &str| session.rows(sql).expect("a query");
    work("CREATE DATABASE shop");
    work("CREATE TABLE shop.t (a INT PRIMARY KEY, b VARCHAR(20))");
    for number in 0..20 {
        work(&format!(
            "INSERT INTO shop.t VALUES ({number}, 'very private')"
        ));
        work(&format!("SELECT b FROM shop.t WHERE a = {number}"));
    }
    work("CREATE USER joe@localhost IDENTIFIED BY 'Secret-1234'");
    let log = server.log();
    // MySQL says the character sets of sessions that are there.
    let asked = server.recorded()["clients"].to_string();
    assert_eq!(
        asked.contains("charset=utf8mb4"),
        name.contains("mysql"),
        "{asked}"
    );
    let said = succeed(&mut server.capture("stop", &[]));
    assert!(said.contains("about accounts"), "{said}");
    assert_eq!(server.rows(SETTINGS), before);
    assert!(!log.exists(), "the log is removed");
    let mode = server
        .output()
        .metadata()
        .expect("a capture")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let bytes = fs::read(server.output()).expect("a capture");
    assert!(!bytes.windows(11).any(|window| window == b"Secret-1234"));

    let place = &server.0.place;
    let info: Value = serde_json::from_str(&succeed(&mut place.niagara(&[
        "capture",
        "info",
        "shop.capture",
        "--json",
    ])))
    .expect("JSON");
    let digests = info["digests"].as_array().expect("digests");
    let count = |text: &str| {
        let digest = digests.iter().find(|digest| digest["text"] == text);
        digest.map(|digest| digest["count"].clone())
    };
    assert_eq!(
        count("insert into shop.t values(...)"),
        Some(20.into()),
        "{info:#}"
    );
    assert_eq!(
        count("select b from shop.t where a = ?"),
        Some(20.into()),
        "{info:#}"
    );
    let shown = succeed(&mut place.niagara(&["capture", "info", "shop.capture"]));
    let exported = succeed(&mut place.niagara(&["capture", "export", "shop.capture"]));
    for text in [&shown, &exported] {
        assert!(text.contains("select b from shop.t where a = ?"), "{text}");
        assert!(!text.contains("very private"), "{text}");
    }
    let literals =
        succeed(&mut place.niagara(&["capture", "export", "shop.capture", "--literals"]));
    assert_eq!(literals.matches("very private").count(), 20);
    assert!(!literals.contains("Secret-1234"));
    succeed(&mut place.niagara(&[
        "capture",
        "filter",
        "shop.capture",
        "-o",
        "reads.capture",
        "--read-only",
    ]));
    let reads = succeed(&mut place.niagara(&["capture", "export", "reads.capture"]));
    assert!(
        reads.contains("select b from shop.t") && !reads.contains("insert into"),
        "{reads}"
    );
}

#[test]
fn what_is_done_on_mariadb_is_captured() {
    what_is_done_is_captured("mariadb-10.11");
}

#[test]
fn what_is_done_on_mysql_is_captured() {
    what_is_done_is_captured("mysql-9.7");
}

#[test]
fn a_log_that_is_long_enough_ends_the_capture() {
    let server = Server::start("mariadb-10.11");
    let before = server.rows(SETTINGS);
    let mut child = server
        .capture(
            "start",
            &["--for", "1h", "--min-free", "1M", "--max-size", "20K"],
        )
        .stdout(Stdio::null())
        .spawn()
        .expect("niagara starts");
    wait_until("the end of the capture", LIMIT, || {
        let rows = server
            .session()
            .rows("SELECT 'some statement that makes the log longer'");
        rows.expect("a query");
        child.try_wait().expect("a child").is_some()
    });
    assert_eq!(child.wait().expect("its end").code(), Some(0));
    assert_eq!(server.rows(SETTINGS), before);
}

#[test]
fn a_log_that_cannot_be_written_changes_nothing() {
    let server = Server::start("mariadb-10.11");
    let before = server.rows(SETTINGS);
    refused(
        &mut server.capture(
            "start",
            &["--for", "5s", "--log-file", "/nowhere/at/all.log"],
        ),
        &["all.log", "nothing was changed", "remedy:"],
    );
    assert_eq!(server.rows(SETTINGS), before);
    // The server takes no log of this name.
    refused(
        &mut server.capture("start", &["--for", "5s", "--log-file", "my.cnf"]),
        &["slow_query_log_file cannot be set", "by --log-file"],
    );
    assert_eq!(server.rows(SETTINGS), before);
    refused(
        &mut server.capture("stop", &[]),
        &["no capture was started"],
    );
}

/// A server takes at its start what it refuses later.
#[test]
fn a_log_that_could_not_be_set_back_changes_nothing() {
    for name in ["mariadb-10.11", "mysql-9.7"] {
        let variables = [("slow_query_log_file", "/dev/null")];
        let server = Server::start_with(name, &variables);
        let before = server.rows(SETTINGS);
        refused(
            &mut server.capture("start", &["--for", "1s", "--min-free", "1M"]),
            &[
                "slow_query_log_file",
                "/dev/null",
                "nothing was changed",
                "remedy:",
            ],
        );
        assert_eq!(server.rows(SETTINGS), before, "{name}");
        refused(
            &mut server.capture("stop", &[]),
            &["no capture was started"],
        );
    }
}

/// A folder of this name is here, too, but it is another one: then only the server sees what it has written.
#[test]
fn a_log_that_only_the_server_sees_is_told() {
    let server = Server::start("mariadb-10.11");
    let before = server.rows(SETTINGS);
    // The folder in which each process works: that of its data for the server.
    let mut start = server.capture("start", &["--for", "1h", "--min-free", "1M"]);
    start.args(["--log-file", "/proc/self/cwd/shop.log"]);
    refused(
        &mut start,
        &["shop.log", "does not see it: remove it there"],
    );
    assert_eq!(server.rows(SETTINGS), before);
    let data = PathBuf::from(&server.rows("SELECT @@datadir")[0][0]);
    assert!(data.join("shop.log").exists());
}

/// What is said to a connection that was opened during a capture goes to the user's own slow log after it.
#[test]
fn connections_that_keep_filling_the_slow_log_are_asked_about_and_counted() {
    let variables = [("slow_query_log", "ON"), ("long_query_time", "7.5")];
    let server = Server::start_with("mariadb-10.11", &variables);
    let before = server.rows(SETTINGS);
    let own = server.rows("SELECT CONCAT(@@datadir, @@slow_query_log_file)")[0][0].clone();
    let own_log = || fs::read_to_string(&own).unwrap_or_default();
    refused(
        &mut server.capture("start", &["--for", "1s", "--min-free", "1M"]),
        &["slow log is on", &own, "long_query_time = 0", "--yes"],
    );
    assert_eq!(server.rows(SETTINGS), before);
    let advice = succeed(&mut server.capture("advise", &[]));
    assert!(advice.contains("wants --yes"), "{advice}");

    succeed(&mut server.capture("start", &["--min-free", "1M", "--yes"]));
    let mut session = server.session();
    session.rows("SELECT 'meanwhile'").expect("a query");
    let said = succeed(&mut server.capture("stop", &[]));
    assert!(
        said.contains("1 connection left from the capture"),
        "{said}"
    );
    assert!(said.contains(&own) && said.contains("remedy:"), "{said}");
    assert_eq!(server.rows(SETTINGS), before);
    assert!(!own_log().contains("meanwhile"));
    session.rows("SELECT 'afterwards'").expect("a query");
    // A statement is logged after it was answered.
    wait_until("afterwards in the log", LIMIT, || {
        own_log().contains("afterwards")
    });
    drop(session);

    succeed(&mut server.capture("start", &["--min-free", "1M", "--yes"]));
    let said = succeed(&mut server.capture("stop", &["--force"]));
    assert!(said.contains("No connection is left"), "{said}");
}

#[test]
fn a_general_log_that_goes_to_a_table_is_asked_about_and_told() {
    let variables = [("general_log", "ON"), ("log_output", "TABLE")];
    let server = Server::start_with("mariadb-10.11", &variables);
    let before = server.rows(SETTINGS);
    let file = server.rows("SELECT CONCAT(@@datadir, @@general_log_file)")[0][0].clone();
    refused(
        &mut server.capture("start", &["--for", "1s", "--min-free", "1M"]),
        &["general log is on", "TABLE", &file, "--yes"],
    );
    assert_eq!(server.rows(SETTINGS), before);
    succeed(&mut server.capture("start", &["--min-free", "1M", "--yes"]));
    let said = succeed(&mut server.capture("stop", &[]));
    assert!(
        said.contains("general log had to say") && said.contains(&file),
        "{said}"
    );
    assert_eq!(server.rows(SETTINGS), before);
}

#[test]
fn table_of_the_slow_log_gets_nothing_of_a_capture() {
    let variables = [
        ("slow_query_log", "ON"),
        ("long_query_time", "7.5"),
        ("log_output", "FILE,TABLE"),
    ];
    let server = Server::start_with("mariadb-10.11", &variables);
    let before = server.rows(SETTINGS);
    refused(
        &mut server.capture("start", &["--for", "1s", "--min-free", "1M"]),
        &[
            "FILE,TABLE",
            "the table mysql.slow_log gets no entries",
            "--yes",
        ],
    );
    assert_eq!(server.rows(SETTINGS), before);
    succeed(&mut server.capture("start", &["--min-free", "1M", "--yes"]));
    let mut session = server.session();
    session.rows("SELECT 'meanwhile'").expect("a query");
    drop(session);
    succeed(&mut server.capture("stop", &[]));
    assert_eq!(server.rows(SETTINGS), before);
    let kept = "SELECT COUNT(*) FROM mysql.slow_log WHERE sql_text LIKE '%meanwhile%'";
    assert_eq!(server.rows(kept), [["0"]]);
    let export = ["capture", "export", "shop.capture", "--literals"];
    let lines = succeed(&mut server.0.place.niagara(&export));
    assert!(lines.contains("meanwhile"), "{lines}");
}

#[test]
fn one_server_is_captured_once_whatever_its_address() {
    let server = Server::start("mariadb-10.11");
    let before = server.rows(SETTINGS);
    let port = server.0.server.tcp().port().to_string();
    let over_tcp = |verb: &str, state: PathBuf| {
        let mut command = server.0.place.niagara(&["capture", verb]);
        command
            .args(["--host", "127.0.0.1", "--port", &port])
            .args(["--user", server.0.server.user()])
            .env("NIAGARA_PASSWORD", server.0.server.password())
            .env("XDG_STATE_HOME", state);
        command
    };
    succeed(&mut server.capture("start", &["--min-free", "1M"]));
    let during = server.rows(SETTINGS);
    refused(
        &mut over_tcp("start", server.state()),
        &["was started on this server", "socket", "capture stop"],
    );
    // Somebody else, whose folder has nothing of it.
    refused(
        &mut over_tcp("start", server.state().join("another")),
        &["not started from here", "niagara-capture-", "remedy:"],
    );
    assert_eq!(server.rows(SETTINGS), during);
    let said = succeed(&mut over_tcp("stop", server.state()));
    assert!(said.contains("are as they were"), "{said}");
    assert_eq!(server.rows(SETTINGS), before);
}

#[test]
fn statements_end_where_the_servers_sql_mode_ends_them() {
    let mode = ("sql_mode", "ANSI_QUOTES,NO_BACKSLASH_ESCAPES");
    let server = Server::start_with("mariadb-10.11", &[mode]);
    let advice = succeed(&mut server.capture("advise", &[]));
    let option = "--sql-mode ANSI_QUOTES,NO_BACKSLASH_ESCAPES";
    assert!(advice.contains(option), "{advice}");
    succeed(&mut server.capture("start", &["--min-free", "1M"]));
    let mut session = server.session();
    session
        .rows(r#"SELECT "user", 'a folder\' FROM mysql."user""#)
        .expect("a query");
    session.rows("SELECT 'the next'").expect("a query");
    let said = succeed(&mut server.capture("stop", &[]));
    let place = &server.0.place;
    let lines = succeed(&mut place.niagara(&["capture", "export", "shop.capture", "--literals"]));
    assert!(lines.contains("the next"), "{said}{lines}");
    let shown = succeed(&mut place.niagara(&["capture", "export", "shop.capture"]));
    assert!(!shown.contains("a folder"), "{shown}");
}

#[test]
fn mistakes_are_named_with_remedies() {
    let place = Place::new();
    let write =
        |name: &str, text: &str| fs::write(place.folder.path().join(name), text).expect("a file");
    write("no.log", "hello\nworld\n");
    write("is.capture", "");
    let slow = "# Time: 2026-11-22T20:46:08.690874Z\n# User@Host: root[root] @ localhost []  Id:     7\n\
        # Query_time: 0.002030  Lock_time: 0.000005 Rows_sent: 0  Rows_examined: 0\nSET timestamp=1795380368;\nselect 1;\n";
    write("slow.log", slow);
    write(
        "general.log",
        "2026-11-22T20:46:08.688706Z\t    7 Query\tselect 1\n",
    );
    for (arguments, words) in [
        (
            &["import", "no.log"][..],
            &["no.log", "neither a slow log", "remedy:"][..],
        ),
        (&["import", "absent.log"], &["absent.log", "No such file"]),
        (
            &["import", "slow.log", "general.log"],
            &["twice", "remedy:"],
        ),
        (
            &["import", "slow.log", "-o", "is.capture"],
            &["is.capture", "--force"],
        ),
        (
            &["info", "slow.log"],
            &["not a capture file", "capture import"],
        ),
        (
            &["filter", "is.capture", "-o", "x"],
            &["not a capture file"],
        ),
        (&["start"], &["--socket"]),
    ] {
        let mut command = place.niagara(&["capture"]);
        refused(command.args(arguments), words);
    }
    succeed(&mut place.niagara(&["capture", "import", "slow.log"]));
    let mut command = place.niagara(&[
        "capture",
        "filter",
        "shop.capture",
        "-o",
        "x",
        "--from",
        "noon",
    ]);
    refused(&mut command, &["--from noon", "2026-"]);
}

/// It is `stop` that makes the file of a capture without a length.
#[test]
fn options_of_the_file_are_refused_without_a_length() {
    let place = Place::new();
    for option in [
        &["-o", "x.capture"][..],
        &["--force"],
        &["--keep-log"],
        &["--sql-mode", "ANSI_QUOTES"],
    ] {
        let mut command = place.niagara(&["capture", "start", "--socket", "nowhere.sock"]);
        let said = command.args(option).output().expect("niagara starts");
        let told = String::from_utf8_lossy(&said.stderr);
        assert_eq!(said.status.code(), Some(2), "{option:?}: {told}");
        assert!(told.contains("--for"), "{option:?}: {told}");
    }
}

#[test]
fn ctrl_c_leaves_no_half_capture() {
    let place = Place::new();
    let entry = "# Time: 2026-11-22T20:46:08.690874Z\n# User@Host: root[root] @ localhost []  Id:     7\n\
        # Query_time: 0.002030  Lock_time: 0.000005 Rows_sent: 0  Rows_examined: 0\nSET timestamp=1795380368;\n\
        select * from t where a = 'some text' and b in (1, 2, 3, 4, 5);\n";
    // So long that reading it takes longer than noticing that it has begun.
    fs::write(place.folder.path().join("slow.log"), entry.repeat(800_000)).expect("a log");
    let mut child = place
        .niagara(&["capture", "import", "slow.log"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("niagara starts");
    let files = || -> Vec<String> {
        let folder = fs::read_dir(place.folder.path()).expect("the folder");
        folder
            .map(|entry| {
                entry
                    .expect("a file")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect()
    };
    wait_until("the beginning of a capture", LIMIT, || files().len() > 1);
    signal(
        i32::try_from(child.id()).expect("a process"),
        Signal::SIGINT,
    );
    assert_eq!(child.wait().expect("its end").code(), Some(130));
    assert_eq!(files(), ["slow.log"]);
}

/// What is lost of a log is told, and no success, unless it was said that so much may be lost.
#[test]
fn what_an_import_loses_is_no_success() {
    let place = Place::new();
    let log = place.folder.path().join("slow.log");
    let entry = |second: u32, text: &str| {
        format!(
            "# Time: 2026-11-20T08:00:{second:02}.000000Z\n# User@Host: app[app] @ web [10.0.3.4]  Id: 40\n\
             # Query_time: 0.100000  Lock_time: 0.000002 Rows_sent: 1  Rows_examined: 40\nSET timestamp={};\n{text}",
            1_795_161_600 + second
        )
    };
    let text = entry(1, "SELECT 1;\n") + &entry(2, "SELECT 2 FR") + &entry(3, "SELECT 3;\n");
    fs::write(&log, text).expect("room");
    let output = place.folder.path().join("shop.capture");
    let import = |more: &[&str]| {
        let mut import = place.niagara(&["capture", "import", "--force"]);
        import.arg(&log).arg("-o").arg(&output).args(more);
        import.output().expect("niagara starts")
    };
    let made = import(&[]);
    assert_eq!(made.status.code(), Some(1), "{made:?}");
    let stdout = String::from_utf8_lossy(&made.stdout);
    assert!(stdout.contains("2 statements"), "{stdout}");
    assert!(stdout.contains("cut in the middle"), "{stdout}");
    let stderr = String::from_utf8_lossy(&made.stderr);
    assert!(stderr.contains("--max-loss"), "{stderr}");
    assert!(import(&["--max-loss", "50"]).status.success());
}

/// Logs as servers, collectors and operators leave them: how many statements are in each that a client has sent, and whether some of
/// it is lost. The answers were counted by hand.
const CASES: [(&str, u64, bool); 29] = [
    ("between-blank-gap.log", 8, false),
    ("between-blank.log", 8, false),
    ("between-blank2.log", 8, false),
    ("between-copytruncate-nuls.log", 7, true),
    ("between-crash-restart.log", 7, true),
    ("between-cut.log", 8, false),
    ("between-dashes.log", 8, false),
    ("between-hash.log", 8, false),
    ("cloudwatch-events.json", 6, false),
    ("cloudwatch-messages.log", 6, false),
    ("cloudwatch-tail.log", 6, false),
    ("cloudwatch-text.log", 6, false),
    ("docker-timestamps.log", 6, false),
    ("end-of-summer-time.log", 12, false),
    ("mariadb-call-disabled.log", 10, false),
    ("mariadb-stored-function.log", 4, false),
    ("mysql-5.0-slow.log", 0, true),
    ("mysql-5.6-slow.log", 3, false),
    ("percona-5.7-slow.log", 2, false),
    ("percona-call-not-logged.log", 9, false),
    ("percona-line-without-hash.log", 2, false),
    ("percona-routine-without-name.log", 9, false),
    ("routines-general.log", 27, false),
    ("several-statements-general.log", 23, false),
    ("tidb-slow.log", 0, true),
    ("windows-bom.log", 2, false),
    ("windows-crlf.log", 2, false),
    ("windows-lf.log", 2, false),
    ("windows-utf16.log", 0, true),
];

/// No import ends as a success after a loss: each case has its statements, or an exit code of 1.
#[test]
fn no_import_succeeds_after_a_loss() {
    let place = Place::new();
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../niagara-capture/tests/cases");
    let known: Vec<&str> = CASES.iter().map(|(name, ..)| *name).collect();
    let mut found: Vec<String> = fs::read_dir(&folder)
        .expect("the cases")
        .map(|entry| {
            entry
                .expect("a file")
                .file_name()
                .into_string()
                .expect("a name")
        })
        .collect();
    found.sort();
    assert_eq!(found, known, "each case has its answer");
    let import = |log: &PathBuf| {
        let mut import = place.niagara(&["capture", "import", "--force", "-o", "x.capture"]);
        import.args(["--time-zone", "Europe/Vienna"]).arg(log);
        let (code, stdout, stderr) = run(&mut import);
        assert!(!stderr.contains("panicked"), "{stderr}");
        let count = stdout
            .split_once(" statement")
            .and_then(|(before, _)| before.rsplit(' ').next()?.parse::<u64>().ok());
        (code, count.unwrap_or(0), format!("{stdout}{stderr}"))
    };
    for (name, statements, loses) in CASES {
        let path = folder.join(name);
        let (code, count, said) = import(&path);
        assert_eq!(count, statements, "{name}: {said}");
        assert_eq!(code, Some(i32::from(loses)), "{name}: {said}");
        assert!(!loses || said.contains("remedy: "), "{name}: {said}");
    }
}

/// A recording without a packet, and a capture that is not there.
#[test]
fn what_holds_nothing_and_what_is_not_there_have_remedies() {
    let place = Place::new();
    let pcap = place.folder.path().join("shop.pcap");
    // The header of a file of tcpdump for Ethernet.
    let header = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 262_144, 1];
    let bytes: Vec<u8> = header.into_iter().flat_map(u32::to_le_bytes).collect();
    fs::write(&pcap, bytes).expect("room");
    let output = place.folder.path().join("shop.capture");
    let mut import = place.niagara(&["capture", "import"]);
    import.arg(&pcap).arg("-o").arg(&output);
    let made = import.output().expect("niagara starts");
    // A capture without a statement is none that anybody wanted.
    assert_eq!(made.status.code(), Some(1), "{made:?}");
    let stdout = String::from_utf8_lossy(&made.stdout);
    assert!(stdout.contains("0 statements"), "{stdout}");
    assert!(stdout.contains("remedy: look at the recording"), "{stdout}");
    for command in [
        &["bench", "/nope.capture"][..],
        &["tune", "mariadb-10.11", "--capture", "/nope.capture"],
        &["capture", "info", "/nope.capture"],
        &[
            "compare",
            "base",
            "malloc=jemalloc",
            "--workload",
            "/nope.capture",
        ],
    ] {
        refused(
            &mut place.niagara(command),
            &["/nope.capture", "remedy: name a"],
        );
    }
}

/// A capture without data is refused before a server is fetched or data are made.
#[test]
fn capture_without_data_is_refused_at_once() {
    let place = Place::new();
    let log = common::shop::log(&[("SELECT 1".to_owned(), 1, 1)]);
    fs::write(place.folder.path().join("slow.log"), log).expect("room");
    let made = place.niagara(&["capture", "import", "slow.log"]).output();
    assert!(made.expect("niagara starts").status.success());
    for command in [
        &["bench", "./shop.capture"][..],
        &["tune", "--capture", "shop.capture"],
        &["profile", "--workload", "shop.capture"],
        &[
            "compare",
            "base",
            "transport=unix",
            "--workload",
            "shop.capture",
        ],
    ] {
        let said = place.niagara(command).output().expect("niagara starts");
        let stderr = String::from_utf8_lossy(&said.stderr);
        assert_eq!(said.status.code(), Some(1), "{stderr}");
        assert!(
            stderr.contains("with --data") && !stderr.contains("loading"),
            "{stderr}"
        );
    }
}

/// Tables with a trigger that has no variables, one within it, and a function.
const STORED: [&str; 12] = [
    "CREATE DATABASE gl",
    "USE gl",
    "CREATE TABLE orders (id INT PRIMARY KEY AUTO_INCREMENT, n INT)",
    "CREATE TABLE counter (name VARCHAR(9) PRIMARY KEY, n INT)",
    "CREATE TABLE audit (id INT PRIMARY KEY AUTO_INCREMENT, what VARCHAR(20))",
    "CREATE TABLE proof (n INT PRIMARY KEY)",
    "INSERT INTO proof VALUES (0), (1), (2)",
    "INSERT INTO counter VALUES ('orders', 0), ('audit', 0), ('calls', 0)",
    "CREATE TRIGGER orders_ai AFTER INSERT ON orders FOR EACH ROW BEGIN \
     UPDATE counter SET n = n + 1 WHERE name = 'orders'; INSERT INTO audit (what) VALUES ('an order'); END",
    "CREATE TRIGGER audit_ai AFTER INSERT ON audit FOR EACH ROW UPDATE counter SET n = n + 1 WHERE name = 'audit'",
    "CREATE FUNCTION bump(a INT) RETURNS INT MODIFIES SQL DATA BEGIN \
     UPDATE counter SET n = n + 1 WHERE name = 'calls'; RETURN a; END",
    "CREATE PROCEDURE place() BEGIN INSERT INTO orders (n) VALUES (7); UPDATE counter SET n = n + 1 WHERE name = 'calls'; END",
];

/// A general log has statements of triggers and functions: of those whose code is known, none is replayed.
fn statements_of_stored_code_are_not_replayed(name: &str) {
    let variables = [
        ("general_log", "0"),
        ("log_bin_trust_function_creators", "1"),
    ];
    let server = Server::start_with(name, &variables);
    let mut session = server.session();
    let mut work = |sql: &str| session.rows(sql).expect("a query");
    STORED.iter().for_each(|sql| drop(work(sql)));
    let folder = server.0.place.folder.path();
    let (log, dump) = (folder.join("general.log"), folder.join("gl.sql"));
    fs::write(
        &dump,
        format!("DELIMITER //\n{} //\n", STORED.join(" //\n")),
    )
    .expect("room");
    let mut sent = 0;
    server.rows(&format!(
        "SET GLOBAL general_log_file = '{}'",
        log.display()
    ));
    server.rows("SET GLOBAL general_log = 1");
    // A general log says the database of a session at its login, or here.
    work("USE gl");
    let mut send = |sql: &str| {
        sent += 1;
        work(sql);
    };
    for number in 0..20 {
        send(&format!("INSERT INTO orders (n) VALUES ({number})"));
        send(&format!("INSERT INTO orders (n) VALUES ({number}), (1)"));
        // The application says what the triggers say.
        send("UPDATE counter SET n = n + 1 WHERE name = 'audit'");
        send("SELECT bump(1)");
        send("UPDATE counter SET n = n + 1 WHERE name = 'calls'");
        send("SELECT bump(id) FROM orders LIMIT 3");
        send("CALL place()");
    }
    // Fails where anything was done twice, or not at all.
    let [orders, audit, calls] = [80, 100, 20 + 20 + 60 + 20];
    send(&format!(
        "INSERT INTO proof SELECT SUM(n = CASE name WHEN 'orders' THEN {orders} WHEN 'audit' THEN {audit} ELSE {calls} END) FROM counter"
    ));
    server.rows("SET GLOBAL general_log = 0");
    let place = &server.0.place;
    let replayed = |more: &[&str]| {
        let mut import = place.niagara(&["capture", "import", "general.log", "--force", "--json"]);
        let summary: Value = serde_json::from_str(&succeed(import.args(more))).expect("JSON");
        let mut bench = place.niagara(&["bench", "./shop.capture", "--data", "gl.sql", "--json"]);
        bench.args([
            "--server",
            name,
            "--schema",
            "gl",
            "--threads",
            "1",
            "--warm-up",
            "0",
        ]);
        let result: Value = serde_json::from_str(&succeed(&mut bench)).expect("JSON");
        let errors = result["replay"]["errors"].as_object().cloned();
        (summary, errors.expect("errors"))
    };
    let (summary, errors) = replayed(&["--routines", "gl.sql"]);
    // The switch of the log, which another session has sent, and USE.
    let statements = summary["statements"].as_u64().expect("a number");
    assert!(
        (sent..=sent + 2).contains(&statements),
        "{sent}: {summary:#}"
    );
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(summary["suspects"], Value::Null);
    let (summary, errors) = replayed(&[]);
    assert!(summary["suspects"].as_u64() >= Some(20), "{summary:#}");
    assert_eq!(errors["1062"], 1, "{errors:?}");
}

#[test]
fn statements_of_stored_code_on_mariadb_are_not_replayed() {
    statements_of_stored_code_are_not_replayed("mariadb-10.11");
}

#[test]
fn statements_of_stored_code_on_mysql_are_not_replayed() {
    statements_of_stored_code_are_not_replayed("mysql-9.7");
}
