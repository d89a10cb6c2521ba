//! A server started on a data directory, in a run folder of its own.

use std::net::SocketAddr;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use anyhow::Result;
use niagara_error::{Explanation, Problem};
use niagara_load::{Admin, Transport};
use niagara_settings::TransportKind;

use super::account::Account;
use super::arguments::arguments;
use super::certificate::{self, Certificate};
use super::child::Guard;
use super::command::StartCommand;
use super::environment::{environment, join};
use super::error_log;
use super::huge_text;
use super::registry::Registration;
use super::remote_access::{RemoteAccess, free_port, listen_address};
use super::run_files::{Files, SocketFolder};
use super::running::RunningServer;
use super::spec::LaunchSpec;
use super::start_obstacle::{Around, AroundServer, how_it_ended};
use crate::cache::{Cache, create_private, write_private};
use crate::disk_use::folder_bytes;
use crate::process::spawn::Placement;

/// A server that answers by then is healthy; more is given for the data it may have to recover.
const READY_TIMEOUT: Duration = Duration::from_secs(60);
const RECOVERY_BYTES_PER_SECOND: u64 = 20_000_000;
/// How often a connection is tried while a server starts.
const READY_POLL: Duration = Duration::from_millis(5);
/// Between choosing a free port and the server's taking it, somebody else may.
const PORT_ATTEMPTS: usize = 5;

/// Starts a server and waits until it answers.
pub fn launch(cache: &Cache, spec: &LaunchSpec) -> Result<RunningServer> {
    spawn(cache, spec)?.wait_ready()
}

/// Starts a server that reads what somebody else wrote: it writes to its own folders alone and connects to nobody, where the kernel
/// can see to it.
pub(crate) fn launch_confined(cache: &Cache, spec: &LaunchSpec) -> Result<RunningServer> {
    spawn_on(cache, spec, None, true, free_port(listen_address(None))?)?.wait_ready()
}

/// Starts a server without waiting, so that several start at the same time.
pub fn spawn(cache: &Cache, spec: &LaunchSpec) -> Result<StartingServer> {
    spawn_for_remote(cache, spec, None)
}

/// The same, for another host to reach.
pub fn spawn_for_remote(
    cache: &Cache,
    spec: &LaunchSpec,
    remote: Option<&RemoteAccess>,
) -> Result<StartingServer> {
    spawn_on(
        cache,
        spec,
        remote,
        false,
        free_port(listen_address(remote))?,
    )
}

fn spawn_on(
    cache: &Cache,
    spec: &LaunchSpec,
    remote: Option<&RemoteAccess>,
    confined: bool,
    port: u16,
) -> Result<StartingServer> {
    spec.check()?;
    let run = cache.work_folder("run")?;
    create_private(&run.path().join("tmp"))?;
    let socket_folder = SocketFolder::new(&run)?;
    let account = match Account::of(&spec.datadir)? {
        Some(account) => account,
        None => {
            let account = Account::random();
            write_private(
                &run.path().join("init.sql"),
                account
                    .statements(spec.install.family, spec.install.version)
                    .as_bytes(),
            )?;
            account
        }
    };
    let files = Files {
        run,
        socket_folder,
        datadir: std::path::absolute(&spec.datadir)?,
    };
    match spec.runtime.transport.unwrap_or_default() {
        TransportKind::Tls if !certificate::has_own(spec) => Certificate::make(files.run.path())?,
        TransportKind::Tls | TransportKind::Tcp | TransportKind::Unix => {}
    }
    let arguments = arguments(spec, &files, remote)?;
    let mut environment = environment(spec.install, spec.runtime)?;
    if spec.runtime.has_huge_text() {
        let library = huge_text::put(files.run.path())?;
        let library = library.display().to_string();
        join(&mut environment, "LD_PRELOAD", &library, ":");
    }
    let placement = Placement {
        settings: spec.runtime.clone(),
        writable: confined.then(|| {
            vec![
                files.run.path().to_path_buf(),
                files.socket_folder.path.clone(),
                files.datadir.clone(),
            ]
        }),
        gentle: false,
    };
    let command = StartCommand {
        install: spec.install.clone(),
        arguments,
        environment: environment
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        placement,
        remote: remote.cloned(),
        port,
    };
    let (child, registration) = command.start(cache, &files)?;
    let size = folder_bytes(&files.datadir);
    let timeout = READY_TIMEOUT + Duration::from_secs(size / RECOVERY_BYTES_PER_SECOND);
    Ok(StartingServer {
        cache: cache.clone(),
        command,
        files,
        account,
        child,
        registration,
        timeout,
    })
}

/// A server that ended by itself while it was starting.
#[derive(Debug, thiserror::Error)]
#[error("{}", told.cause)]
pub struct StartFailed {
    /// The error of its log that names the cause best; none where it has logged none.
    pub cause: Option<String>,
    /// The end of its log.
    pub log: String,
    told: Explanation,
}

niagara_error::remedied!(StartFailed, |failed| failed.told.clone());

/// A server that was started and may not answer yet. Dropped, it is killed.
#[derive(Debug)]
pub struct StartingServer {
    cache: Cache,
    command: StartCommand,
    // In this order: the process ends before its folders go.
    child: Guard,
    registration: Registration,
    files: Files,
    account: Account,
    timeout: Duration,
}

impl StartingServer {
    /// The server's process.
    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Why the server has ended by itself, its command line and the end of its log; none while it lives, and where it
    /// found its port taken, for which it would be started again.
    ///
    /// # Errors
    /// The process cannot be asked; something else around the server ended it ([`Around::of`]).
    pub fn ended(&mut self) -> Result<Option<anyhow::Error>> {
        let Some(status) = self.child.try_wait()? else {
            return Ok(None);
        };
        let error = self.ended_with(status);
        match Around::of(&error) {
            Some(Around::Port) => Ok(None),
            Some(_) => Err(error),
            None => Ok(Some(error)),
        }
    }

    /// Waits until the server answers its protocol; an error holds its command line and the end of its log. [`Around::of`] tells
    /// of an error whether the server itself failed. Once the cache is [told to stop](Cache::stopping_with) the server is ended, and
    /// the wait with it: it recovers its data, perhaps for many minutes, and nobody wants what comes of that.
    pub fn wait_ready(mut self) -> Result<RunningServer> {
        let deadline = Instant::now() + self.timeout;
        let mut attempts = 1;
        let mut refused = String::new();
        loop {
            if let Some(connection) = self.connect(&mut refused)? {
                let address = SocketAddr::from((
                    listen_address(self.command.remote.as_ref()),
                    self.command.port,
                ));
                let StartingServer {
                    command,
                    files,
                    account,
                    child,
                    registration,
                    ..
                } = self;
                let mut server = RunningServer::new(
                    child,
                    registration,
                    command,
                    files,
                    account,
                    address,
                    connection,
                )?;
                server.verify()?;
                server.open_door()?;
                return Ok(server);
            }
            if let Some(status) = self.child.try_wait()? {
                let error = self.ended_with(status);
                if Around::of(&error) == Some(Around::Port) && attempts < PORT_ATTEMPTS {
                    attempts += 1;
                    self.command.port = free_port(listen_address(self.command.remote.as_ref()))?;
                    (self.child, self.registration) =
                        self.command.start(&self.cache, &self.files)?;
                    continue;
                }
                return Err(error);
            }
            if Instant::now() > deadline {
                let seconds = self.timeout.as_secs();
                let told = self.failure(&format!("did not answer within {seconds} s{refused}"));
                return Err(told.into());
            }
            self.cache.stop().check()?;
            std::thread::sleep(READY_POLL);
        }
    }

    /// None while it does not answer yet, with what it did instead in `refused`; an error when it refuses the account.
    fn connect(&self, refused: &mut String) -> Result<Option<Admin>> {
        let socket = self.files.socket();
        if !socket.exists() {
            return Ok(None);
        }
        let endpoint = self.account.endpoint(Transport::Unix(socket), "");
        match Admin::connect(&endpoint, self.timeout) {
            Ok(connection) => Ok(Some(connection)),
            Err(error) if error.is_access_denied() => {
                let datadir = self.files.datadir.display();
                let told = self.failure(&format!(
                    "refuses the account recorded in {datadir}: {error}"
                ));
                let remedy = "remove niagara-account.json there, and the account is made again";
                Err(told.remedy(remedy).into())
            }
            Err(error) => {
                *refused = format!(", last: {error}");
                Ok(None)
            }
        }
    }

    /// That it ended while it was starting, by itself or by what surrounds it.
    fn ended_with(&self, status: ExitStatus) -> anyhow::Error {
        let memory_ran_out = self.child.memory_ran_out();
        let how = how_it_ended(status, memory_ran_out);
        let told = self.failure(&format!("ended while starting ({how})"));
        let log = error_log::tail(&self.files.log(), 400);
        match Around::behind(status, &log, memory_ran_out) {
            Some(around) => AroundServer::new(around, around.helped(told.into())).into(),
            None => StartFailed {
                cause: error_log::cause(&log),
                log,
                told: told.into(),
            }
            .into(),
        }
    }

    /// What happened, with the command line and the end of the log.
    fn failure(&self, what: &str) -> Problem {
        let log = self.files.log();
        let told = Problem::new(format!("{} {what}", self.command.install.name))
            .detail(format!("command: {}", self.command.command_line()))
            .detail(format!("end of its log:\n{}", error_log::tail(&log, 15)));
        match error_log::cause(&error_log::tail(&log, 400)) {
            Some(cause) => told.because(anyhow::Error::msg(cause)),
            None => told,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;
    use crate::config::Config;
    use niagara_settings::ProcessSettings;

    #[test]
    fn a_port_in_use_is_replaced_by_another() -> Result<()> {
        let shared = Cache::open()?;
        let catalog = crate::Catalog::load(&[])?;
        let install = crate::get(&shared, catalog.get("mariadb-10.11")?, &mut |_| {})?;
        let temporary = tempfile::tempdir()?;
        let cache = Cache::at(temporary.path())?;
        let image = crate::ImageStore::new(&shared).ensure(
            &install,
            "empty",
            "InnoDB",
            &mut |_| Ok(()),
            &mut |_| {},
        )?;
        let datadir = temporary.path().join("data");
        image.clone_to(&datadir)?;
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = taken.local_addr()?.port();
        let (runtime, config) = (ProcessSettings::default(), Config::new());
        let spec = LaunchSpec {
            install: &install,
            datadir,
            runtime: &runtime,
            config: &config,
        };
        let server = spawn_on(&cache, &spec, None, false, port)?.wait_ready()?;
        assert_ne!(server.tcp().port(), port);
        assert_eq!(server.variable("port")?, server.tcp().port().to_string());
        Ok(())
    }
}
