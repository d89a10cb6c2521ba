//! Starting, asking, freezing and stopping real servers.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::time::Duration;

use common::{Bench, runs, soon};
use mysql::prelude::Queryable;
use niagara_error::Explain as _;
use niagara_load::Admin;
use niagara_server::{
    Install, LaunchSpec, ProcessSettings, Scheduling, TEXT_LIBRARY, TEXT_LIBRARY_NAME,
    TransportKind, spawn,
};

#[test]
fn a_server_starts_answers_and_stops_cleanly() {
    let bench = Bench::new();
    let server = bench
        .launch(
            &ProcessSettings::default(),
            &[
                ("innodb_buffer_pool_size", "64M"),
                ("skip_name_resolve", ""),
            ],
        )
        .expect("started");
    assert!(server.is_alive());
    assert_eq!(
        server.variable("innodb-buffer-pool-size").expect("known"),
        (64 << 20).to_string()
    );
    assert_eq!(server.variable("skip_name_resolve").expect("known"), "ON");
    assert!(
        server
            .variable("colour")
            .expect_err("unknown")
            .explain()
            .to_string()
            .contains("colour")
    );
    assert_eq!(
        server.query("SELECT 1, NULL, 'x'").expect("answered"),
        [["1", "NULL", "x"]]
    );
    assert!(server.query("SELECT nothing").is_err());
    assert!(
        server.status().expect("answered")["Uptime"]
            .parse::<u64>()
            .is_ok()
    );
    assert!(server.cpu_time().expect("readable") > Duration::from_millis(1));
    assert!(server.context_switches().expect("readable") > 0);
    assert!(
        server
            .command_line()
            .contains("--innodb_buffer_pool_size=64M")
    );
    let (pid, socket) = (server.pid(), server.socket().to_path_buf());
    server.stop().expect("a clean shutdown");
    assert!(!runs(pid));
    assert!(!socket.exists());
}

#[test]
fn a_killed_server_is_gone_with_its_run_folder() {
    let bench = Bench::new();
    let server = bench
        .launch(&ProcessSettings::default(), &[])
        .expect("started");
    let pid = server.pid();
    server.kill();
    assert!(!runs(pid));
    assert_eq!(
        fs::read_dir(bench.cache.work().expect("there"))
            .expect("there")
            .count(),
        0
    );
    assert_eq!(
        fs::read_dir(bench.cache.root().join("running"))
            .expect("there")
            .count(),
        0
    );
}

#[test]
fn an_unknown_variable_is_named_in_the_error() {
    let bench = Bench::new();
    let error = bench
        .launch(&ProcessSettings::default(), &[("colour", "red")])
        .expect_err("refused")
        .explain()
        .to_string();
    let first = error.lines().next().unwrap_or_default();
    assert!(first.contains("unknown variable 'colour=red'"), "{error}");
    assert!(
        error.contains("command:") && error.contains("--no-defaults"),
        "{error}"
    );
    let error = bench
        .launch(&ProcessSettings::default(), &[("port", "3306")])
        .expect_err("refused")
        .explain()
        .to_string();
    assert!(
        error.contains("`port`") && error.contains("remedy"),
        "{error}"
    );
}

#[test]
fn only_the_owner_reaches_the_socket_and_only_the_password_opens_tcp() {
    let bench = Bench::new();
    let server = bench
        .launch(&ProcessSettings::default(), &[])
        .expect("started");
    let folder = server.socket().parent().expect("in a folder");
    assert_eq!(fs::metadata(folder).expect("there").mode() & 0o777, 0o700);
    let connect = |user: &str, password: Option<&str>| {
        mysql::Conn::new(
            mysql::OptsBuilder::new()
                .ip_or_hostname(Some("127.0.0.1"))
                .tcp_port(server.tcp().port())
                .prefer_socket(false)
                .user(Some(user))
                .pass(password),
        )
    };
    let mut connection = connect(server.user(), Some(server.password())).expect("let in");
    assert_eq!(
        connection
            .query_first::<u8, _>("SELECT 1")
            .expect("answered"),
        Some(1)
    );
    for user in [server.user(), "root", "mariadb.sys", ""] {
        assert!(
            connect(user, None).is_err(),
            "{user} got in without a password"
        );
    }
    assert!(connect(server.user(), Some("guess")).is_err());
    let users = server
        .query("SELECT User FROM mysql.global_priv")
        .expect("answered");
    assert!(
        users
            .iter()
            .flatten()
            .all(|user| user == "niagara" || user == "mariadb.sys"),
        "{users:?}"
    );
}

#[test]
fn a_frozen_server_uses_no_cpu_and_thaws() {
    let bench = Bench::new();
    let server = bench
        .launch(&ProcessSettings::default(), &[])
        .expect("started");
    for _ in 0..3 {
        server.freeze().expect("frozen");
        let mut before = server.cpu_time().expect("readable");
        // The last thread reports that all stand, and then leaves its CPU: on a busy machine, some time later.
        for _ in 0..1000 {
            std::thread::sleep(Duration::from_millis(10));
            let now = server.cpu_time().expect("readable");
            if std::mem::replace(&mut before, now) == now {
                break;
            }
        }
        assert!(
            server
                .query("SELECT 1")
                .expect_err("frozen")
                .explain()
                .to_string()
                .contains("frozen")
        );
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(server.cpu_time().expect("readable"), before);
        server.thaw().expect("thawed");
        assert_eq!(server.query("SELECT 1").expect("answered"), [["1"]]);
    }
    server.freeze().expect("frozen");
    let pid = server.pid();
    server.kill();
    assert!(!runs(pid));
}

#[test]
fn two_servers_start_at_the_same_time() {
    let bench = Bench::new();
    let config = BTreeMap::new();
    let starting: Vec<_> = (0..2)
        .map(|_| {
            let spec = LaunchSpec {
                install: &bench.install,
                datadir: bench.datadir(),
                runtime: &ProcessSettings::default(),
                config: &config,
            };
            spawn(&bench.cache, &spec).expect("spawned")
        })
        .collect();
    let servers: Vec<_> = starting
        .into_iter()
        .map(|s| s.wait_ready().expect("started"))
        .collect();
    assert_ne!(servers[0].tcp(), servers[1].tcp());
    assert_ne!(servers[0].password(), "");
}

#[test]
fn the_runtime_asked_for_is_the_runtime_given() {
    let bench = Bench::new();
    for malloc in ["jemalloc", "tcmalloc", "mimalloc", "glibc"] {
        let runtime = ProcessSettings {
            malloc: Some(malloc.to_owned()),
            server_cpus: Some(vec![0]),
            scheduling: Some(Scheduling::Batch),
            ..ProcessSettings::default()
        };
        let server = bench.launch(&runtime, &[]).expect("started");
        let maps = fs::read_to_string(format!("/proc/{}/maps", server.pid())).expect("readable");
        assert_eq!(maps.contains(malloc), malloc != "glibc", "{malloc}");
        let status =
            fs::read_to_string(format!("/proc/{}/status", server.pid())).expect("readable");
        let cpus = status
            .lines()
            .find(|line| line.starts_with("Cpus_allowed_list"))
            .expect("there");
        assert_eq!(cpus.split_whitespace().nth(1), Some("0"));
        let stat = fs::read_to_string(format!("/proc/{}/stat", server.pid())).expect("readable");
        let policy = stat
            .rsplit_once(") ")
            .and_then(|(_, rest)| rest.split(' ').nth(38))
            .expect("there");
        assert_eq!(policy, "3", "SCHED_BATCH");
    }
    let runtime = ProcessSettings {
        malloc: Some("hoard".to_owned()),
        ..ProcessSettings::default()
    };
    let error = bench
        .launch(&runtime, &[])
        .expect_err("unknown")
        .explain()
        .to_string();
    assert!(
        error.contains("hoard") && error.contains("jemalloc"),
        "{error}"
    );
    let runtime = ProcessSettings {
        server_cpus: Some(vec![1000]),
        ..ProcessSettings::default()
    };
    assert!(bench.launch(&runtime, &[]).is_err());
}

#[test]
fn huge_pages_and_locked_memory_are_there_or_an_error_says_why() {
    let bench = Bench::new();
    let thp = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    for malloc in ["glibc", "jemalloc", "mimalloc"] {
        let runtime = ProcessSettings {
            malloc: Some(malloc.to_owned()),
            huge_pages_heap: Some(true),
            ..ProcessSettings::default()
        };
        match bench.launch(&runtime, &[]) {
            Ok(server) => {
                let smaps =
                    fs::read_to_string(format!("/proc/{}/smaps", server.pid())).expect("readable");
                assert!(
                    thp.contains("[always]") || smaps.contains(" hg"),
                    "{malloc}"
                );
            }
            Err(error) => assert!(
                thp.contains("[never]") || thp.is_empty(),
                "{malloc}: {error:#}"
            ),
        }
    }
    let runtime = ProcessSettings {
        lock_memory: Some(true),
        ..ProcessSettings::default()
    };
    match bench.launch(&runtime, &[]) {
        Ok(server) => {
            let status =
                fs::read_to_string(format!("/proc/{}/status", server.pid())).expect("readable");
            assert!(!status.contains("VmLck:\t       0 kB"), "{status}");
        }
        Err(error) => assert!(format!("{error:#}").contains("ulimit -l"), "{error:#}"),
    }
}

#[test]
fn reserved_huge_pages_are_there_or_an_error_says_so() {
    let bench = Bench::new();
    let reserved = fs::read_to_string("/proc/sys/vm/nr_hugepages").unwrap_or_default();
    let none = matches!(reserved.trim(), "" | "0");
    match bench.launch(&ProcessSettings::default(), &[("large_pages", "ON")]) {
        Ok(_) => assert!(!none, "no page is reserved here"),
        Err(error) => {
            let told = error.explain().to_string();
            assert!(told.contains("sysctl vm.nr_hugepages"), "{told}");
        }
    }
}

#[test]
fn the_text_is_on_huge_pages_or_an_error_says_why() {
    let thp = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    let off = thp.is_empty() || thp.contains("[never]");
    for (server, malloc) in [
        ("mariadb-10.11", None),
        ("mariadb-10.11", Some("jemalloc")),
        ("mysql-9.7", None),
    ] {
        let runtime = ProcessSettings {
            huge_pages_text: Some(true),
            malloc: malloc.map(str::to_owned),
            ..ProcessSettings::default()
        };
        // Its folder is there for as long as it is.
        let bench = Bench::of(server);
        match bench.launch(&runtime, &[]) {
            Ok(server) => {
                let answer =
                    server.query("SELECT SUM(n * n) FROM (SELECT 2 AS n UNION SELECT 3) AS t");
                assert_eq!(answer.expect("answered"), [["13"]]);
                assert!(!off, "{thp}");
                server.stop().expect("a clean shutdown");
            }
            Err(error) => {
                let text = format!("{error:#}");
                assert!(
                    off && text.contains(": transparent huge pages are off"),
                    "{text}"
                );
            }
        }
    }
}

/// `MemoryDenyWriteExecute=` of systemd: what was written never becomes code.
#[test]
fn where_no_copied_code_may_run_the_program_runs_as_it_was() {
    const PR_SET_MDWE: i32 = 65;
    const REFUSE_EXEC_GAIN: u64 = 1;
    let install = common::install(common::SERVER);
    let folder = tempfile::tempdir().expect("a folder");
    let library = folder.path().join(TEXT_LIBRARY_NAME);
    fs::write(&library, TEXT_LIBRARY).expect("written");
    let version = |restricted: bool| {
        let mut command = std::process::Command::new(&install.server);
        command.args(["--no-defaults", "--version"]);
        command.env("LD_PRELOAD", &library);
        if restricted {
            // SAFETY: a single system call between fork and exec.
            unsafe {
                command.pre_exec(
                    || match libc::prctl(PR_SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0) {
                        0 => Ok(()),
                        _ => Err(std::io::Error::last_os_error()),
                    },
                );
            }
        }
        command.output()
    };
    let output = version(false).expect("it runs");
    assert!(String::from_utf8_lossy(&output.stdout).contains("MariaDB"));
    // Kernels before 6.3 have no such restriction.
    if let Ok(output) = version(true) {
        assert!(output.status.success());
        assert!(String::from_utf8_lossy(&output.stdout).contains("MariaDB"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            said.starts_with("niagara_text: the program's text stays"),
            "{said}"
        );
    }
}

#[test]
fn a_server_is_found_by_its_path() {
    let packaged = common::install(common::SERVER);
    for path in [&packaged.server, &packaged.basedir] {
        let found = Install::from_path(path).expect("found");
        assert_eq!(
            (found.family, found.version),
            (packaged.family, packaged.version)
        );
        assert_eq!(found.version_string, packaged.version_string);
        assert_eq!(found.basedir, packaged.basedir);
    }
    let error = Install::from_path("/bin/true".as_ref())
        .expect_err("no server")
        .explain()
        .to_string();
    assert!(error.contains("/bin/true"), "{error}");
    let error = Install::from_path("/nowhere/mysqld".as_ref()).expect_err("missing");
    let error = error.explain();
    assert!(!error.remedies.is_empty(), "{error}");
}

#[test]
fn a_long_cache_path_still_gives_a_socket() {
    let mut bench = Bench::new();
    let long = bench.folder.path().join("a-very-long-name-".repeat(8));
    bench.cache = niagara_server::Cache::at(&long).expect("a cache");
    let server = bench
        .launch(&ProcessSettings::default(), &[])
        .expect("started");
    assert!(server.socket().as_os_str().len() <= 107);
    let folder = server.socket().parent().expect("in a folder").to_path_buf();
    assert_eq!(fs::metadata(&folder).expect("there").mode() & 0o777, 0o700);
    server.kill();
    assert!(!folder.exists());
}

#[test]
fn a_data_directory_without_our_account_gets_one() {
    let bench = Bench::new();
    let datadir = bench.datadir();
    fs::remove_file(datadir.join("niagara-account.json")).expect("there");
    let spec = LaunchSpec {
        install: &bench.install,
        datadir,
        runtime: &ProcessSettings::default(),
        config: &BTreeMap::new(),
    };
    let server = niagara_server::launch(&bench.cache, &spec).expect("started");
    assert_eq!(server.query("SELECT 1").expect("answered"), [["1"]]);
}

#[test]
fn newer_releases_run_here_too() {
    for name in ["mariadb-11.8", "mysql-9.7"] {
        let bench = Bench::of(name);
        let server = bench
            .launch(&ProcessSettings::default(), &[])
            .expect("started");
        let version = server
            .query("SELECT VERSION()")
            .expect("answered")
            .remove(0)
            .remove(0);
        assert!(
            version.starts_with(&bench.install.version.to_string()),
            "{version}"
        );
        let pid = server.pid();
        server.stop().expect("a clean shutdown");
        soon("the server is gone", || !runs(pid));
    }
}

fn encrypted() -> ProcessSettings {
    ProcessSettings {
        transport: Some(TransportKind::Tls),
        ..ProcessSettings::default()
    }
}

#[test]
fn every_release_encrypts_where_it_is_asked_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = ["certificate.pem", "key.pem"].map(|name| folder.path().join(name));
    let key = rcgen::KeyPair::generate().expect("a key");
    let parameters = rcgen::CertificateParams::new(["own".to_owned()]).expect("a name");
    let certificate = parameters.self_signed(&key).expect("a certificate");
    fs::write(&own[0], certificate.pem()).expect("a file");
    fs::write(&own[1], key.serialize_pem()).expect("a file");
    let own = own.map(|path| path.display().to_string());
    for name in ["mariadb-10.11", "mariadb-11.8", "mysql-9.7"] {
        let bench = Bench::of(name);
        for (config, version) in [
            (&[][..], "TLSv1.3"),
            (&[("tls_version", "TLSv1.2")], "TLSv1.2"),
            (&[("ssl_cert", &*own[0]), ("ssl_key", &*own[1])], "TLSv1.3"),
        ] {
            let server = bench.launch(&encrypted(), config).expect("started");
            let session = server.tls().expect("encrypted");
            assert_eq!(session.version, version, "{name}");
            let way = server.over_tls("");
            let mut connection = Admin::connect(&way, Duration::from_secs(30)).expect("let in");
            let rows = connection.rows("SHOW STATUS LIKE 'Ssl_cipher'");
            let cipher = rows.expect("answered").remove(0).remove(1);
            assert_eq!(cipher.as_ref(), Some(&session.cipher), "{name}");
        }
        let server = bench.launch(&ProcessSettings::default(), &[]);
        assert_eq!(server.expect("started").tls(), None, "{name}");
    }
}

#[test]
fn a_server_without_tls_in_common_is_refused() {
    for (name, setting) in [
        ("mariadb-10.11", ("tls_version", "TLSv1.1")),
        ("mysql-9.7", ("tls_version", "")),
    ] {
        let error = Bench::of(name).launch(&encrypted(), &[setting]);
        let told = error.expect_err("refused").explain();
        assert!(
            told.cause.contains("no encrypted connection comes about"),
            "{name} {setting:?}: {told}"
        );
        let remedy = told.remedies.first().expect("a remedy");
        assert!(remedy.starts_with("leave out transport=tls"), "{told}");
    }
}

#[test]
fn mysql_lets_the_account_in_over_tcp_and_root_nowhere() {
    let bench = Bench::of("mysql-9.7");
    for config in [&[][..], &[("skip_name_resolve", "")]] {
        // Its binary is linked with tcmalloc; glibc's malloc can be brought back.
        let runtime = ProcessSettings {
            malloc: Some("glibc".to_owned()),
            ..ProcessSettings::default()
        };
        let server = bench.launch(&runtime, config).expect("started");
        let options = mysql::OptsBuilder::new()
            .ip_or_hostname(Some("127.0.0.1"))
            .tcp_port(server.tcp().port())
            .prefer_socket(false)
            .user(Some(server.user()))
            .pass(Some(server.password()));
        let mut connection = mysql::Conn::new(options).expect("let in");
        assert_eq!(
            connection
                .query_first::<u8, _>("SELECT 1")
                .expect("answered"),
            Some(1)
        );
        let locked = server
            .query("SELECT account_locked FROM mysql.user WHERE user = 'root'")
            .expect("answered");
        assert_eq!(locked, [["Y"]]);
    }
}
