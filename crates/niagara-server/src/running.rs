//! A server that answers: queries, counters, freezing, the end.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use mysql::prelude::Queryable;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;

use crate::account::Account;
use crate::launch::{Files, Guard, Recipe, folder_bytes};
use crate::log;
use crate::registry::Registration;
use crate::verify;

/// A clean shutdown may have to write the whole buffer pool.
const STOP_TIMEOUT: Duration = Duration::from_secs(120);
const STOP_BYTES_PER_SECOND: u64 = 10_000_000;
const STOP_POLL: Duration = Duration::from_millis(5);

/// A private server that answers. Dropped, it is killed and its run folder removed; its data directory stays.
#[derive(Debug)]
pub struct RunningServer {
    // In this order: the connection closes, the process ends, its entry and folders go.
    connection: Mutex<Option<mysql::Conn>>,
    child: Mutex<Guard>,
    _registration: Registration,
    files: Files,
    recipe: Recipe,
    account: Account,
    address: SocketAddr,
    socket: PathBuf,
    pid: Pid,
    frozen: AtomicBool,
}

impl RunningServer {
    pub(crate) fn new(
        child: Guard,
        registration: Registration,
        recipe: Recipe,
        files: Files,
        account: Account,
        address: SocketAddr,
        connection: mysql::Conn,
    ) -> Result<RunningServer> {
        let pid = Pid::from_raw(child.0.id() as i32);
        let socket = files.socket();
        Ok(RunningServer {
            connection: Mutex::new(Some(connection)),
            child: Mutex::new(child),
            _registration: registration,
            files,
            recipe,
            account,
            address,
            socket,
            pid,
            frozen: AtomicBool::new(false),
        })
    }

    /// Checks that what was asked of the process is so, and that it answers over TCP.
    pub(crate) fn verify(&self) -> Result<()> {
        verify::process(self.pid, &self.recipe.install, &self.recipe.runtime).with_context(
            || {
                format!(
                    "the server started, but not as asked\ncommand: {}\nend of its log:\n{}",
                    self.command_line(),
                    self.log_tail(5)
                )
            },
        )?;
        // MySQL remembers who passed the full check of a password; from then on TCP connections take the short one.
        // Where another host is to reach it, this one is not let in by that address.
        if !self.recipe.install.family.is_mariadb() && self.recipe.reach.is_none() {
            let options = mysql::OptsBuilder::new()
                .ip_or_hostname(Some(self.address.ip().to_string()))
                .tcp_port(self.address.port())
                .prefer_socket(false)
                .user(Some(&self.account.user))
                .pass(Some(&self.account.password));
            mysql::Conn::new(options)
                .context("the server answers on its socket but not over TCP")?;
        }
        Ok(())
    }

    /// Lets the host in that is to reach it.
    pub(crate) fn open_door(&self) -> Result<()> {
        let Some(reach) = &self.recipe.reach else {
            return Ok(());
        };
        let family = self.recipe.install.family;
        for statement in self.account.door(reach.client, &reach.database, family) {
            // The statement has the password in it.
            self.query(&statement)
                .map_err(|error| anyhow!("{}", error.root_cause()))
                .with_context(|| format!("the server does not let {} in", reach.client))?;
        }
        Ok(())
    }

    /// The server's process.
    pub fn pid(&self) -> i32 {
        self.pid.as_raw()
    }

    /// Its socket, in a folder that only this user may enter.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Its address: on loopback, or where another host was to reach it.
    pub fn tcp(&self) -> SocketAddr {
        self.address
    }

    /// The account with all privileges.
    pub fn user(&self) -> &str {
        &self.account.user
    }

    /// That account's password.
    pub fn password(&self) -> &str {
        &self.account.password
    }

    /// Its data directory.
    pub fn datadir(&self) -> &Path {
        &self.files.datadir
    }

    /// Runs a statement over the socket; every row as text, `NULL` for null. All result sets follow each other.
    pub fn query(&self, sql: &str) -> Result<Vec<Vec<String>>> {
        if self.frozen.load(Ordering::Relaxed) {
            bail!("the server is frozen and cannot answer: {sql}");
        }
        let mut slot = self
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut connection = match slot.take() {
            Some(connection) => connection,
            None => connect_socket(&self.socket, &self.account, STOP_TIMEOUT)
                .with_context(|| format!("the server does not answer\n{}", self.log_tail(5)))?,
        };
        let rows = rows(&mut connection, sql);
        // After an error of the protocol the connection is not used again; after one of the statement it is.
        if !matches!(rows, Err(ref error) if !matches!(error, mysql::Error::MySqlError(_))) {
            *slot = Some(connection);
        }
        rows.with_context(|| {
            let short: String = sql.chars().take(200).collect();
            format!("statement failed: {short}")
        })
    }

    /// A global variable's value; an error when the server has no such variable.
    pub fn variable(&self, name: &str) -> Result<String> {
        let name = crate::runtime::normalise_variable(name);
        let rows = self.query(&format!(
            "SHOW GLOBAL VARIABLES WHERE Variable_name = '{}'",
            name.replace('\'', "''")
        ))?;
        let value = rows
            .into_iter()
            .next()
            .and_then(|row| row.into_iter().nth(1));
        value.with_context(|| format!("this server has no variable `{name}`"))
    }

    /// All global status counters.
    pub fn status(&self) -> Result<BTreeMap<String, String>> {
        let pairs = self
            .query("SHOW GLOBAL STATUS")?
            .into_iter()
            .filter_map(|row| {
                let mut cells = row.into_iter();
                Some((cells.next()?, cells.next()?))
            });
        Ok(pairs.collect())
    }

    /// Stops all its threads; returns when the last one stands still.
    ///
    /// SIGSTOP to the process group. The freezer of cgroup v1 must not take its place: a task frozen by it cannot be
    /// killed, and would outlive Niagara. (The freezer of v2 lets SIGKILL through.)
    pub fn freeze(&self) -> Result<()> {
        killpg(self.pid, Signal::SIGSTOP).context("cannot stop the server")?;
        self.frozen.store(true, Ordering::Relaxed);
        // The kernel reports the stop once the whole thread group stands.
        match waitid(
            Id::Pid(self.pid),
            WaitPidFlag::WSTOPPED | WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT,
        )? {
            WaitStatus::Stopped(..) => {
                // Taken off the queue, so that the next freeze waits for its own stop.
                waitid(
                    Id::Pid(self.pid),
                    WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG,
                )?;
                Ok(())
            }
            ended => bail!(
                "the server ended instead of stopping: {ended:?}\n{}",
                self.log_tail(15)
            ),
        }
    }

    /// Lets it run on.
    pub fn thaw(&self) -> Result<()> {
        killpg(self.pid, Signal::SIGCONT).context("cannot continue the server")?;
        self.frozen.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// CPU time of all its threads so far, ended ones included, to the nanosecond.
    pub fn cpu_time(&self) -> Result<Duration> {
        Ok(Duration::from(clock_gettime(clock_getcpuclockid(
            self.pid,
        )?)?))
    }

    /// Context switches of its living threads so far, voluntary and not.
    pub fn context_switches(&self) -> Result<u64> {
        let switches = crate::usage::context_switches(self.pid())?;
        Ok(switches.values().flatten().sum())
    }

    /// Time that its threads were ready and waited for a CPU so far, all together; none where the kernel does not count it.
    pub fn run_delay(&self) -> Option<Duration> {
        crate::run_delay::run_delay(self.pid())
    }

    /// Whether the process still runs.
    pub fn is_alive(&self) -> bool {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(child.0.try_wait(), Ok(None))
    }

    /// The last lines of its log.
    pub fn log_tail(&self, lines: usize) -> String {
        log::tail(&self.files.log(), lines)
    }

    /// The command line and environment it was started with, as a shell would read it.
    pub fn command_line(&self) -> String {
        self.recipe.command_line()
    }

    /// Shuts it down cleanly, so that its data directory can be kept; killed, and an error, when that takes too long.
    pub fn stop(self) -> Result<()> {
        self.thaw()?;
        *self
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = None;
        kill(self.pid, Signal::SIGTERM).context("cannot ask the server to shut down")?;
        let size = folder_bytes(&self.files.datadir);
        let timeout = STOP_TIMEOUT + Duration::from_secs(size / STOP_BYTES_PER_SECOND);
        let deadline = Instant::now() + timeout;
        loop {
            let status = self
                .child
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .0
                .try_wait()?;
            match status {
                Some(status) if status.success() => return Ok(()),
                Some(status) => bail!(
                    "the server did not shut down cleanly ({status})\nend of its log:\n{}",
                    self.log_tail(15)
                ),
                None if Instant::now() > deadline => {
                    bail!(
                        "the server did not shut down within {} s\nend of its log:\n{}",
                        timeout.as_secs(),
                        self.log_tail(15)
                    )
                }
                None => std::thread::sleep(STOP_POLL),
            }
        }
    }

    /// Ends it at once; its data directory is as after a crash. This is the usual end: clones are thrown away.
    pub fn kill(self) {
        drop(self);
    }
}

/// Connects over the socket, whose folder nobody else may enter.
pub(crate) fn connect_socket(
    socket: &Path,
    account: &Account,
    patience: Duration,
) -> Result<mysql::Conn, mysql::Error> {
    let options = mysql::OptsBuilder::new()
        .socket(Some(socket.to_string_lossy()))
        .prefer_socket(false)
        .user(Some(&account.user))
        .pass(Some(&account.password))
        .read_timeout(Some(patience));
    mysql::Conn::new(options)
}

fn rows(connection: &mut mysql::Conn, sql: &str) -> Result<Vec<Vec<String>>, mysql::Error> {
    let mut found = Vec::new();
    let mut result = connection.query_iter(sql)?;
    while let Some(set) = result.iter() {
        for row in set {
            found.push(row?.unwrap().into_iter().map(text).collect());
        }
    }
    Ok(found)
}

fn text(value: mysql::Value) -> String {
    match value {
        mysql::Value::NULL => "NULL".to_owned(),
        mysql::Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        other => other.as_sql(true),
    }
}
