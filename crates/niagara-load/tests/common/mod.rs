//! A private server for one test: found by NIAGARA_TEST_SERVER, else `mariadbd` or `mysqld` of the system.
#![allow(dead_code, reason = "every test file uses its own part of this")]

use mysql::prelude::Queryable;
use niagara_load::{Endpoint, TlsOptions, Transport};
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub const USER: &str = "niagara";
pub const PASSWORD: &str = "falls";

pub struct Server {
    process: Child,
    directory: tempfile::TempDir,
    port: u16,
    pub is_mariadb: bool,
}

fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("NIAGARA_TEST_SERVER") {
        return path.into();
    }
    let mut folders: Vec<PathBuf> =
        std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
    folders.extend(["/usr/sbin", "/usr/libexec"].map(PathBuf::from));
    ["mariadbd", "mysqld"]
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|path| path.is_file())
        .expect(
            "these tests need a server: install mariadb-server-core or mysql-server-core, \
             or set NIAGARA_TEST_SERVER to the path of a mariadbd or mysqld",
        )
}

/// A folder of this server's own beside `log`: one that starts removes what others have there.
fn temporary_tables(log: &Path) -> String {
    let folder = log.with_file_name("tmp");
    std::fs::create_dir_all(&folder).expect("a folder in a new folder");
    format!("--tmpdir={}", folder.display())
}

/// A fresh data directory, with an administrator who has no password.
/// `None` when a signal ended the server.
fn initialize(binary: &Path, is_mariadb: bool, data: &str, log: &Path) -> Option<()> {
    let output = File::create(log).expect("a file in a new folder");
    let mut command = Command::new(binary);
    command
        .args(["--no-defaults", data, "--user=root"])
        .arg(temporary_tables(log))
        .stdout(output.try_clone().expect("a file handle"))
        .stderr(output);
    if is_mariadb {
        // mariadb-install-db would do this too, but needs programs of other packages.
        let folder = binary
            .ancestors()
            .skip(2)
            .map(|prefix| prefix.join("share/mysql"))
            .chain([PathBuf::from("/usr/share/mysql")])
            .find(|folder| folder.join("mysql_system_tables.sql").is_file())
            .expect("the server's package has its system tables");
        let mut sql =
            String::from("CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket=NULL;\n");
        for part in ["system_tables", "performance_tables", "system_tables_data"] {
            let path = folder.join(format!("mysql_{part}.sql"));
            sql += &std::fs::read_to_string(path).expect("a script of the server");
        }
        let script = log.with_extension("sql");
        std::fs::write(&script, sql).expect("a file in a new folder");
        std::fs::create_dir(log.with_file_name("data")).expect("a folder in a new folder");
        command
            .arg("--bootstrap")
            .stdin(File::open(&script).expect("the script just written"));
    } else {
        command
            .args(["--initialize-insecure", "--secure-file-priv=NULL"])
            .stdin(Stdio::null());
    }
    let status = command.status().expect("the server can be started");
    status.code()?;
    assert!(
        status.success(),
        "{command:?}: {status}\n{}",
        std::fs::read_to_string(log).unwrap_or_default()
    );
    Some(())
}

/// Starts the server on a port that the kernel chose, and logs in; `None` where another process took that port meanwhile.
fn launch(
    binary: &Path,
    data: &str,
    directory: &Path,
    arguments: &[&str],
) -> Option<(Child, u16, mysql::Conn)> {
    let log = directory.join("log");
    let socket = directory.join("sock");
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .expect("a free port")
        .port();
    let output = File::create(&log).expect("a file in a new folder");
    let mut command = Command::new(binary);
    command
        .args([
            "--no-defaults",
            "--user=root",
            "--bind-address=127.0.0.1",
            data,
        ])
        .arg(temporary_tables(&log))
        .arg(format!("--port={port}"))
        .arg(format!("--socket={}", socket.display()))
        .arg(format!("--pid-file={}", directory.join("pid").display()))
        .args(arguments)
        .stdout(output.try_clone().expect("a file handle"))
        .stderr(output);
    if binary.ends_with("mysqld") {
        command.args(["--mysqlx=OFF", "--secure-file-priv=NULL"]);
    }
    let mut process = command.spawn().expect("the server can be started");
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let options = mysql::OptsBuilder::new()
            .user(Some("root"))
            .prefer_socket(false)
            .socket(Some(socket.display().to_string()));
        let refused = match mysql::Conn::new(options) {
            Ok(root) => return Some((process, port, root)),
            Err(error) => error,
        };
        let told = || std::fs::read_to_string(&log).unwrap_or_default();
        if !matches!(process.try_wait(), Ok(None)) {
            assert!(
                told().contains("Address already in use"),
                "the server ended:\n{}",
                told()
            );
            return None;
        }
        if Instant::now() >= deadline {
            let _ = process.kill();
            panic!("{refused}\n{}", told());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

impl Server {
    pub fn start() -> Server {
        Self::start_with(&[])
    }

    pub fn start_with(arguments: &[&str]) -> Server {
        let directory = tempfile::tempdir().expect("a temporary folder");
        let binary = binary();
        let is_mariadb = !binary.ends_with("mysqld");
        let data = format!("--datadir={}", directory.path().join("data").display());
        let log = directory.path().join("log");
        // MariaDB 10.11 crashes now and then while it bootstraps (in ha_maria::drop_table): tried again then.
        let mut attempts = 0;
        while initialize(&binary, is_mariadb, &data, &log).is_none() {
            attempts += 1;
            assert!(
                attempts < 3,
                "{}",
                std::fs::read_to_string(&log).unwrap_or_default()
            );
            std::fs::remove_dir_all(directory.path().join("data")).expect("a folder of ours");
        }
        // Tests beside this one may have taken its port before the server does.
        let launched = (0..5).find_map(|_| launch(&binary, &data, directory.path(), arguments));
        let (process, port, mut root) = launched.expect("a port that nobody takes meanwhile");
        let server = Server {
            process,
            directory,
            port,
            is_mariadb,
        };
        for host in ["localhost", "127.0.0.1"] {
            root.query_drop(format!(
                "CREATE USER '{USER}'@'{host}' IDENTIFIED BY '{PASSWORD}'"
            ))
            .expect("a user");
            root.query_drop(format!("GRANT ALL ON *.* TO '{USER}'@'{host}'"))
                .expect("its rights");
        }
        server
    }

    fn socket(&self) -> PathBuf {
        self.directory.path().join("sock")
    }

    pub fn unix(&self) -> Endpoint {
        self.endpoint(Transport::Unix(self.socket()))
    }

    pub fn tcp(&self) -> Endpoint {
        self.endpoint(Transport::Tcp(SocketAddr::from((
            Ipv4Addr::LOCALHOST,
            self.port,
        ))))
    }

    fn endpoint(&self, transport: Transport) -> Endpoint {
        Endpoint {
            transport,
            user: USER.into(),
            password: PASSWORD.into(),
            database: "sbtest".into(),
            tls: TlsOptions::default(),
        }
    }

    /// A connection of the administrator.
    pub fn root(&self) -> mysql::Conn {
        let options = mysql::OptsBuilder::new()
            .user(Some("root"))
            .socket(Some(self.socket().display().to_string()));
        mysql::Conn::new(options).expect("the administrator can connect")
    }

    /// Statements that connections under load have had executed. MySQL cannot prepare BEGIN, which then
    /// counts as a statement in text, as ROLLBACK does everywhere.
    pub fn executed(&self, root: &mut mysql::Conn) -> u64 {
        let mut counters = vec!["Com_stmt_execute", "Com_rollback"];
        if !self.is_mariadb {
            counters.push("Com_begin");
        }
        counters.iter().map(|name| self.status(root, name)).sum()
    }

    /// A counter of the whole server.
    pub fn status(&self, root: &mut mysql::Conn, name: &str) -> u64 {
        let row: (String, String) = root
            .query_first(format!("SHOW GLOBAL STATUS LIKE '{name}'"))
            .expect("a query")
            .expect("the counter exists");
        row.1.parse().expect("a number")
    }

    pub fn signal(&self, signal: nix::sys::signal::Signal) {
        let pid = nix::unistd::Pid::from_raw(self.process.id() as i32);
        nix::sys::signal::kill(pid, signal).expect("the server is there");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
