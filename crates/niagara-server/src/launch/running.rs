//! A server that answers: queries, counters, freezing, the end.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use niagara_error::{Explain as _, Explanation};
use niagara_load::{Admin, Endpoint, LoadError, TlsMode, TlsOptions, Transport};
use niagara_settings::{TlsSession, TransportKind};
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;

use super::account::Account;
use super::child::Guard;
use super::command::StartCommand;
use super::error_log;
use super::huge_text;
use super::registry::Registration;
use super::run_files::Files;
use super::start_obstacle::{Around, AroundServer, how_it_ended};
use super::verify;
use crate::disk_use::folder_bytes;
use crate::process::{disk_wait, run_delay, usage};

/// The database that workloads are in.
pub const LOAD_DATABASE: &str = "sbtest";

/// A clean shutdown may have to write the whole buffer pool.
const STOP_TIMEOUT: Duration = Duration::from_secs(120);
const STOP_BYTES_PER_SECOND: u64 = 10_000_000;
const STOP_POLL: Duration = Duration::from_millis(5);
/// A process that is ending has lost its memory and its files for so long, at most, before it has ended.
const GOING: Duration = Duration::from_secs(1);

/// A private server that answers. Dropped, it is killed and its run folder removed; its data directory stays.
#[derive(Debug)]
pub struct RunningServer {
    // In this order: the connection closes, the process ends, its entry and folders go.
    connection: Mutex<Option<Admin>>,
    child: Mutex<Guard>,
    _registration: Registration,
    files: Files,
    command: StartCommand,
    account: Account,
    address: SocketAddr,
    socket: PathBuf,
    pid: Pid,
    frozen: AtomicBool,
    tls: Option<TlsSession>,
}

impl RunningServer {
    pub(crate) fn new(
        child: Guard,
        registration: Registration,
        command: StartCommand,
        files: Files,
        account: Account,
        address: SocketAddr,
        connection: Admin,
    ) -> Result<RunningServer> {
        let pid = Pid::from_raw(child.id() as i32);
        let socket = files.socket();
        Ok(RunningServer {
            connection: Mutex::new(Some(connection)),
            child: Mutex::new(child),
            _registration: registration,
            files,
            command,
            account,
            address,
            socket,
            pid,
            frozen: AtomicBool::new(false),
            tls: None,
        })
    }

    /// Checks that what was asked of the process is so, that it encrypts where it should, and that it answers over TCP.
    pub(crate) fn verify(&mut self) -> Result<()> {
        let runtime = &self.command.placement.settings;
        let tls = verify::process(
            self.pid,
            &self.command.install,
            runtime,
            self.command.asks_for_reserved_pages(),
        )
        .and_then(|()| match runtime.has_huge_text() {
            true => huge_text::check(self.pid, &self.log_tail(usize::MAX)),
            false => Ok(()),
        })
        .and_then(|()| match runtime.transport.unwrap_or_default() {
            TransportKind::Tcp | TransportKind::Unix => Ok(None),
            TransportKind::Tls => {
                verify::encryption(&self.over_tls_from_here(), STOP_TIMEOUT).map(Some)
            }
        })
        .map_err(|error| {
            let told = |what: &str| {
                Explanation::new(format!("the server {what}"))
                    .detail(format!("command: {}", self.command_line()))
                    .detail(format!("end of its log:\n{}", self.log_tail(5)))
            };
            // Of a process that is gone nothing can be read, whatever was asked of it; one that is going has lost that before it has ended.
            if self.has_ended_within(GOING) {
                let by_itself = || {
                    told("answered and then ended by itself")
                        .with(error.explain())
                        .into()
                };
                return self.ended_from_around().unwrap_or_else(by_itself);
            }
            AroundServer::new(Around::Setting, told("started, but not as asked"))
                .because(error)
                .into()
        })?;
        self.tls = tls;
        // MySQL remembers who passed the full check of a password; from then on TCP connections take the short one.
        // Where another host is to reach it, this one is not let in by that address.
        if !self.command.install.family.is_mariadb() && self.command.remote.is_none() {
            Admin::connect(&self.over_tcp(""), STOP_TIMEOUT)
                .context("the server answers on its socket but not over TCP")?;
        }
        Ok(())
    }

    /// Lets the host in that is to reach it.
    pub(crate) fn open_door(&self) -> Result<()> {
        let Some(remote) = &self.command.remote else {
            return Ok(());
        };
        let install = &self.command.install;
        let door = self.account.door(
            remote.client,
            &remote.database,
            install.family,
            install.version,
        );
        for statement in door {
            // The statement has the password in it.
            self.query(&statement)
                .map_err(|error| anyhow!("{}", error.root_cause()))
                .with_context(|| format!("the server does not let {} in", remote.client))?;
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

    /// The way to it over its Unix socket.
    pub fn over_socket(&self, database: &str) -> Endpoint {
        let transport = Transport::Unix(self.socket.clone());
        self.account.endpoint(transport, database)
    }

    /// The way to it over TCP: on the loopback, or where another host is to reach it.
    pub fn over_tcp(&self, database: &str) -> Endpoint {
        let transport = Transport::Tcp(self.address);
        self.account.endpoint(transport, database)
    }

    /// The same, encrypted or not at all.
    pub fn over_tls(&self, database: &str) -> Endpoint {
        encrypted(self.over_tcp(database))
    }

    /// The way by which this host asks how connections are encrypted: where another host is to reach the server, this one is not let
    /// in by that address.
    fn over_tls_from_here(&self) -> Endpoint {
        match self.command.remote {
            None => self.over_tls(""),
            Some(_) => encrypted(self.over_socket("")),
        }
    }

    /// What it agrees on with a client for an encrypted connection; none where the load is in clear.
    pub fn tls(&self) -> Option<&TlsSession> {
        self.tls.as_ref()
    }

    /// Keeps the account with the data directory, so that servers on clones of it have it too.
    ///
    /// # Errors
    /// It cannot be written to.
    pub fn keep_account(&self) -> Result<()> {
        self.account.write(&self.files.datadir)
    }

    /// Its data directory.
    pub fn datadir(&self) -> &Path {
        &self.files.datadir
    }

    /// Runs a statement over the socket; every row as text, `NULL` for null.
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
            None => Admin::connect(&self.over_socket(""), STOP_TIMEOUT)
                .with_context(|| format!("the server does not answer\n{}", self.log_tail(5)))?,
        };
        let rows = connection.rows(sql);
        // After an error of the protocol the connection is not used again; after one of the statement it is.
        if matches!(rows, Ok(_) | Err(LoadError::Query { .. })) {
            *slot = Some(connection);
        }
        let rows = rows.context("statement failed")?;
        let text = |value: Option<String>| value.unwrap_or_else(|| "NULL".to_owned());
        Ok(rows
            .into_iter()
            .map(|row| row.into_iter().map(text).collect())
            .collect())
    }

    /// A global variable's value; an error when the server has no such variable.
    pub fn variable(&self, name: &str) -> Result<String> {
        let name = crate::config::normalise_variable(name);
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
        let switches = usage::context_switches(self.pid())?;
        Ok(switches.values().flatten().sum())
    }

    /// Time that its threads were ready and waited for a CPU so far, all together; none where the kernel does not count it.
    pub fn run_delay(&self) -> Option<Duration> {
        run_delay::run_delay(self.pid())
    }

    /// Whether one of its threads waits for the disk at this moment.
    pub fn waits_for_disk(&self) -> bool {
        disk_wait::waits_for_disk(self.pid())
    }

    /// Whether the process has ended, or ends within this time.
    fn has_ended_within(&self, longest: Duration) -> bool {
        let since = Instant::now();
        while self.is_alive() {
            if since.elapsed() >= longest {
                return false;
            }
            std::thread::sleep(STOP_POLL);
        }
        true
    }

    /// Whether the process still runs.
    pub fn is_alive(&self) -> bool {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(child.try_wait(), Ok(None))
    }

    /// How it ended, in words; none while it lives.
    pub fn how_it_ended(&self) -> Option<String> {
        self.end().map(|(how, _)| how)
    }

    /// What there is to say of a server that failed to answer, where it has ended: how, the end of its log, what helps. One that is
    /// ending is waited for.
    pub fn end_in_words(&self) -> Option<Explanation> {
        if !self.has_ended_within(GOING) {
            return None;
        }
        let (how, around) = self.end()?;
        let told = Explanation::new(format!("the server has ended ({how})"))
            .detail(format!("last lines of its log:\n{}", self.log_tail(20)));
        Some(match around {
            Some(around) => around.helped(told),
            None => told,
        })
    }

    /// The error of a server that was ended by something around it, as [`Around::of`] knows it; none of one that lives, and where it
    /// ended by itself. To be asked where it seems to have ended: one that is ending is waited for.
    pub fn ended_from_around(&self) -> Option<anyhow::Error> {
        if !self.has_ended_within(GOING) {
            return None;
        }
        let (how, around) = self.end()?;
        let told = Explanation::new(format!("the server has ended ({how})"))
            .detail(format!("end of its log:\n{}", self.log_tail(15)));
        Some(AroundServer::new(around?, told).into())
    }

    /// How it ended, in words, and what around it was the cause, if anything was; none while it lives.
    fn end(&self) -> Option<(String, Option<Around>)> {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        let status = child.try_wait().ok().flatten()?;
        let memory_ran_out = child.memory_ran_out();
        let how = how_it_ended(status, memory_ran_out);
        Some((how, Around::killing(status, memory_ran_out)))
    }

    /// The last lines of its log.
    pub fn log_tail(&self, lines: usize) -> String {
        error_log::tail(&self.files.log(), lines)
    }

    /// The command line and environment it was started with, as a shell would read it.
    pub fn command_line(&self) -> String {
        self.command.command_line()
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
                .try_wait()?;
            match status {
                Some(status) if status.success() => return Ok(()),
                Some(_) => {
                    let (how, around) = self.end().unwrap_or_default();
                    let told = format!(
                        "the server did not shut down cleanly ({how})\nend of its log:\n{}",
                        self.log_tail(15)
                    );
                    return Err(match around {
                        Some(around) => AroundServer::new(around, told).into(),
                        None => anyhow!(told),
                    });
                }
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

/// The same way, encrypted or not at all. Whoever listens on it is known: nothing is verified.
fn encrypted(endpoint: Endpoint) -> Endpoint {
    Endpoint {
        tls: TlsOptions {
            mode: TlsMode::Required,
            ..TlsOptions::default()
        },
        ..endpoint
    }
}
