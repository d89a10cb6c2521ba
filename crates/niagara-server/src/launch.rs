//! A server started on a data directory, in a run folder of its own.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};

use crate::account::Account;
use crate::cache::{Cache, WorkFolder, create_private};
use crate::environment::{NO_PROFILE, environment};
use crate::install::Install;
use crate::log;
use crate::process::{self, Placement};
use crate::reach::{Reach, free_port, listen_address};
use crate::registry::Registration;
use crate::running::RunningServer;
use crate::runtime::{Config, Runtime};
use crate::share::{plugin_folder, share_folder};

/// A server that answers by then is healthy; more is given for the data it may have to recover.
const READY_TIMEOUT: Duration = Duration::from_secs(60);
const RECOVERY_BYTES_PER_SECOND: u64 = 20_000_000;
/// How often a connection is tried while a server starts.
const READY_POLL: Duration = Duration::from_millis(5);
/// Between choosing a free port and the server's taking it, somebody else may.
const PORT_ATTEMPTS: usize = 5;
/// `sun_path` holds 108 bytes, the last of them zero.
const SOCKET_PATH_LIMIT: usize = 107;

/// Set by Niagara itself; a configuration that names one of these is refused.
const RESERVED: &[&str] = &[
    "no_defaults",
    "defaults_file",
    "defaults_extra_file",
    "basedir",
    "datadir",
    "socket",
    "port",
    "bind_address",
    "pid_file",
    "log_error",
    "user",
    "skip_networking",
    "skip_grant_tables",
    "daemonize",
    "bootstrap",
    "initialize",
    "initialize_insecure",
];

/// What to start, on which data.
#[derive(Debug, Clone)]
pub struct LaunchSpec<'a> {
    /// The server.
    pub install: &'a Install,
    /// Its data directory; it is written to, so give it a clone.
    pub datadir: PathBuf,
    /// What surrounds the process.
    pub runtime: &'a Runtime,
    /// Its variables.
    pub config: &'a Config,
}

/// Starts a server and waits until it answers.
pub fn launch(cache: &Cache, spec: &LaunchSpec) -> Result<RunningServer> {
    spawn(cache, spec)?.wait_ready()
}

/// Starts a server without waiting, so that several start at the same time.
pub fn spawn(cache: &Cache, spec: &LaunchSpec) -> Result<StartingServer> {
    spawn_within_reach(cache, spec, None)
}

/// The same, for another host to reach.
pub fn spawn_within_reach(
    cache: &Cache,
    spec: &LaunchSpec,
    reach: Option<&Reach>,
) -> Result<StartingServer> {
    spawn_on(cache, spec, reach, free_port(listen_address(reach))?)
}

fn spawn_on(
    cache: &Cache,
    spec: &LaunchSpec,
    reach: Option<&Reach>,
    port: u16,
) -> Result<StartingServer> {
    if let Some(name) = spec
        .config
        .keys()
        .find(|name| RESERVED.contains(&name.as_str()))
    {
        bail!("the variable `{name}` is set by Niagara itself\nremedy: leave it out");
    }
    if !spec.datadir.is_dir() {
        bail!("there is no data directory {}", spec.datadir.display());
    }
    let run = cache.work_folder("run")?;
    create_private(&run.path().join("tmp"))?;
    let socket_folder = SocketFolder::new(&run)?;
    let account = match Account::of(&spec.datadir)? {
        Some(account) => account,
        None => {
            let account = Account::random();
            crate::cache::write_private(
                &run.path().join("init.sql"),
                account.statements(spec.install.family).as_bytes(),
            )?;
            account
        }
    };
    let files = Files {
        run,
        socket_folder,
        datadir: std::path::absolute(&spec.datadir)?,
    };
    let arguments = arguments(spec, &files, reach)?;
    let environment = environment(spec.install, spec.runtime)?;
    let placement = Placement {
        cpus: spec.runtime.server_cpus.clone(),
        scheduling: spec.runtime.scheduling,
        lock_memory: spec.runtime.lock_memory,
        gentle: false,
    };
    let recipe = Recipe {
        install: spec.install.clone(),
        runtime: spec.runtime.clone(),
        arguments,
        environment: environment
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        placement,
        reach: reach.cloned(),
        port,
    };
    let (child, registration) = recipe.start(cache, &files)?;
    let size = folder_bytes(&files.datadir);
    let timeout = READY_TIMEOUT + Duration::from_secs(size / RECOVERY_BYTES_PER_SECOND);
    Ok(StartingServer {
        cache: cache.clone(),
        recipe,
        files,
        account,
        child: Guard(child),
        registration,
        timeout,
    })
}

/// A server that was started and may not answer yet. Dropped, it is killed.
#[derive(Debug)]
pub struct StartingServer {
    cache: Cache,
    recipe: Recipe,
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
        self.child.0.id() as i32
    }

    /// Waits until the server answers its protocol; an error holds its command line and the end of its log.
    pub fn wait_ready(mut self) -> Result<RunningServer> {
        let deadline = Instant::now() + self.timeout;
        let mut attempts = 1;
        loop {
            if let Some(connection) = self.connect()? {
                let address = SocketAddr::from((
                    listen_address(self.recipe.reach.as_ref()),
                    self.recipe.port,
                ));
                let StartingServer {
                    recipe,
                    files,
                    account,
                    child,
                    registration,
                    ..
                } = self;
                let server = RunningServer::new(
                    child,
                    registration,
                    recipe,
                    files,
                    account,
                    address,
                    connection,
                )?;
                server.verify()?;
                server.open_door()?;
                return Ok(server);
            }
            if let Some(status) = self.child.0.try_wait()? {
                let log = log::tail(&self.files.log(), 400);
                if log.contains("Address already in use") && attempts < PORT_ATTEMPTS {
                    attempts += 1;
                    self.recipe.port = free_port(listen_address(self.recipe.reach.as_ref()))?;
                    let (child, registration) = self.recipe.start(&self.cache, &self.files)?;
                    (self.child, self.registration) = (Guard(child), registration);
                    continue;
                }
                return Err(self.failure(&how_it_ended(status)));
            }
            if Instant::now() > deadline {
                return Err(self.failure(&format!(
                    "did not answer within {} s",
                    self.timeout.as_secs()
                )));
            }
            std::thread::sleep(READY_POLL);
        }
    }

    /// None while it does not listen yet; an error when it does and refuses the account.
    fn connect(&self) -> Result<Option<mysql::Conn>> {
        const ACCESS_DENIED: [u16; 2] = [1045, 1698];
        let socket = self.files.socket();
        if !socket.exists() {
            return Ok(None);
        }
        match crate::running::connect_socket(&socket, &self.account, self.timeout) {
            Ok(connection) => Ok(Some(connection)),
            Err(mysql::Error::MySqlError(error)) if ACCESS_DENIED.contains(&error.code) => {
                let datadir = self.files.datadir.display();
                Err(self.failure(&format!(
                    "refuses the account recorded in {datadir}: {error}\n\
                     remedy: remove niagara-account.json there, and the account is made anew"
                )))
            }
            Err(_) => Ok(None),
        }
    }

    fn failure(&self, what: &str) -> anyhow::Error {
        let log = log::tail(&self.files.log(), 400);
        let cause = log::cause(&log)
            .map(|cause| format!("\ncause: {cause}"))
            .unwrap_or_default();
        anyhow!(
            "{} {what}{cause}\ncommand: {}\nend of its log:\n{}",
            self.recipe.install.name,
            self.recipe.command_line(),
            log::tail(&self.files.log(), 15)
        )
    }
}

fn how_it_ended(status: ExitStatus) -> String {
    format!("ended while starting ({status})")
}

/// The process of a server; killed and reaped when dropped.
#[derive(Debug)]
pub(crate) struct Guard(pub Child);

impl Drop for Guard {
    fn drop(&mut self) {
        // SIGKILL also ends a process that SIGSTOP froze.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Everything of a server that is on disk.
#[derive(Debug)]
pub(crate) struct Files {
    pub run: WorkFolder,
    pub socket_folder: SocketFolder,
    pub datadir: PathBuf,
}

impl Files {
    pub fn log(&self) -> PathBuf {
        self.run.path().join("server.log")
    }

    pub fn socket(&self) -> PathBuf {
        self.socket_folder.path.join("s")
    }
}

/// A folder of mode 0700 whose path is short enough for a socket.
#[derive(Debug)]
pub(crate) struct SocketFolder {
    pub path: PathBuf,
    own: bool,
}

impl SocketFolder {
    /// The run folder where its path is short enough, else a folder of its own.
    fn new(run: &WorkFolder) -> Result<SocketFolder> {
        if run.path().join("s").as_os_str().len() <= SOCKET_PATH_LIMIT {
            return Ok(SocketFolder {
                path: run.path().to_path_buf(),
                own: false,
            });
        }
        let user = nix::unistd::geteuid();
        let base = match std::env::var_os("XDG_RUNTIME_DIR") {
            Some(folder) if folder.len() < 60 => PathBuf::from(folder).join("niagara"),
            _ => PathBuf::from(format!("/tmp/niagara-{user}")),
        };
        create_private(&base)?;
        // In /tmp, somebody else could have made it first.
        let metadata = fs::symlink_metadata(&base)?;
        if !metadata.is_dir() || metadata.uid() != user.as_raw() || metadata.mode() & 0o077 != 0 {
            bail!(
                "{} is not a private folder of yours\nremedy: remove it, or set XDG_RUNTIME_DIR",
                base.display()
            );
        }
        let path = base.join(format!("{:08x}", rand::random::<u32>()));
        create_private(&path)?;
        Ok(SocketFolder { path, own: true })
    }
}

impl Drop for SocketFolder {
    fn drop(&mut self) {
        if self.own {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// How a server is started; started again on another port when its port is taken.
#[derive(Debug)]
pub(crate) struct Recipe {
    pub install: Install,
    pub runtime: Runtime,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    placement: Placement,
    pub reach: Option<Reach>,
    port: u16,
}

impl Recipe {
    fn start(&self, cache: &Cache, files: &Files) -> Result<(Child, Registration)> {
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(files.log())?;
        log.set_len(0)?;
        let mut command = Command::new(&self.install.server);
        command
            .args(&self.arguments)
            .arg(format!("--port={}", self.port));
        // A clean environment: what this process was started with must not differ between two measurements.
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("LC_ALL", "C")
            .env("HOME", files.run.path())
            .envs(NO_PROFILE);
        command.env("TZ", std::env::var_os("TZ").unwrap_or_default());
        if std::env::var_os("TZ").is_none() {
            command.env_remove("TZ");
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.current_dir(files.run.path());
        command
            .stdin(std::process::Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        let child = process::spawn(command, &self.placement).map_err(|error| {
            let hint = self
                .placement
                .hint(&error)
                .map(|hint| format!("\n{hint}"))
                .unwrap_or_default();
            anyhow!(
                "cannot start the server: {error}{hint}\ncommand: {}",
                self.command_line()
            )
        })?;
        // From here on a failure must not leave it running.
        let guard = Guard(child);
        let registration = Registration::enter(
            cache,
            guard.0.id() as i32,
            files.run.path(),
            &files.socket_folder.path,
        )?;
        Ok((guard.release(), registration))
    }

    pub fn command_line(&self) -> String {
        let mut words: Vec<String> = prefix_words(&self.runtime);
        words.extend(
            self.environment
                .iter()
                .map(|(n, v)| format!("{}={}", n.display(), quoted(&v.to_string_lossy()))),
        );
        words.push(self.install.server.display().to_string());
        words.extend(
            self.arguments
                .iter()
                .map(|argument| quoted(&argument.to_string_lossy())),
        );
        words.push(format!("--port={}", self.port));
        words.join(" ")
    }
}

impl Guard {
    fn release(self) -> Child {
        let guard = std::mem::ManuallyDrop::new(self);
        // SAFETY: the guard is never used or dropped again, so the child has one owner.
        unsafe { std::ptr::read(&guard.0) }
    }
}

/// What a person would type to run this server so: placement, environment, binary, variables; without the paths
/// and ports that differ from run to run.
pub fn command_line(install: &Install, runtime: &Runtime, config: &Config) -> String {
    let mut words = prefix_words(runtime);
    let variables = environment(install, runtime).unwrap_or_else(|_| runtime.environment.clone());
    words.extend(
        variables
            .iter()
            .map(|(name, value)| format!("{name}={}", quoted(value))),
    );
    words.push(install.server.display().to_string());
    words.push("--no-defaults".to_owned());
    words.extend(plugin_arguments(install));
    words.extend(
        variable_arguments(runtime, config)
            .iter()
            .map(|argument| quoted(argument)),
    );
    words.join(" ")
}

/// CPUs and scheduling as commands.
fn prefix_words(runtime: &Runtime) -> Vec<String> {
    use crate::runtime::Scheduling;
    let mut words = Vec::new();
    if let Some(cpus) = &runtime.server_cpus {
        let list: Vec<String> = cpus.iter().map(usize::to_string).collect();
        words.push(format!("taskset -c {}", list.join(",")));
    }
    match runtime.scheduling {
        Some(Scheduling::Batch) => words.push("chrt --batch 0".to_owned()),
        Some(Scheduling::Nice(value)) => words.push(format!("nice -n {value}")),
        None => {}
    }
    if !words.is_empty() {
        words.push("env".to_owned());
    }
    words
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=/.,:+%@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn plugin_arguments(install: &Install) -> impl Iterator<Item = String> {
    let plugins = install.plugins.iter();
    plugins.map(|plugin| format!("--plugin-load-add={plugin}"))
}

fn variable_arguments(runtime: &Runtime, config: &Config) -> Vec<String> {
    let mut arguments: Vec<String> = config
        .iter()
        .map(|(name, value)| {
            if value.is_empty() {
                format!("--{name}")
            } else {
                format!("--{name}={value}")
            }
        })
        .collect();
    if runtime.lock_memory {
        arguments.push("--memlock".to_owned());
    }
    arguments
}

/// The command line but for the port.
fn arguments(spec: &LaunchSpec, files: &Files, reach: Option<&Reach>) -> Result<Vec<OsString>> {
    let mut arguments: Vec<OsString> = base_arguments(spec.install, &files.datadir);
    let mut option = |name: &str, value: &Path| {
        let mut argument = OsString::from(format!("--{name}="));
        argument.push(value);
        arguments.push(argument);
    };
    let run = files.run.path();
    option("socket", &files.socket());
    option("pid-file", &run.join("server.pid"));
    option("log-error", &files.log());
    let given = |name: &str| spec.config.contains_key(name);
    if !given("tmpdir") {
        option("tmpdir", &run.join("tmp"));
    }
    if !spec.install.family.is_mariadb() && !given("secure_file_priv") {
        option("secure-file-priv", &run.join("tmp"));
    }
    let init = run.join("init.sql");
    if init.exists() {
        if given("init_file") {
            bail!(
                "`init_file` cannot be set for a data directory that Niagara did not make: it is how the account is made"
            );
        }
        option("init-file", &init);
    }
    arguments.push(format!("--bind-address={}", listen_address(reach)).into());
    // A host that has no name is looked for in vain with every connection, seconds each.
    if reach.is_some() && !given("skip_name_resolve") {
        arguments.push("--skip-name-resolve".into());
    }
    if !spec.install.family.is_mariadb() {
        arguments.push("--loose-mysqlx=OFF".into());
    }
    arguments.extend(plugin_arguments(spec.install).map(OsString::from));
    arguments.extend(
        variable_arguments(spec.runtime, spec.config)
            .into_iter()
            .map(OsString::from),
    );
    Ok(arguments)
}

/// What every invocation of a server's binary begins with.
pub(crate) fn base_arguments(install: &Install, datadir: &Path) -> Vec<OsString> {
    let path = |name: &str, value: &Path| {
        let mut argument = OsString::from(format!("--{name}="));
        argument.push(value);
        argument
    };
    // `--no-defaults` is only understood as the first.
    let mut arguments = vec![
        OsString::from("--no-defaults"),
        path("basedir", &install.basedir),
        path("datadir", datadir),
    ];
    if let Some(share) = share_folder(&install.basedir) {
        arguments.push(path("lc-messages-dir", &share));
        if share.join("charsets").is_dir() {
            arguments.push(path("character-sets-dir", &share.join("charsets")));
        }
    }
    // Where the packages hold no plugins, the compiled-in folder would be the host's.
    let packaged = (!install.packages.is_empty()).then(|| install.basedir.join("lib/mysql/plugin"));
    if let Some(plugins) = plugin_folder(&install.basedir).or(packaged) {
        arguments.push(path("plugin-dir", &plugins));
    }
    if nix::unistd::geteuid().is_root() {
        arguments.push("--user=root".into());
    }
    arguments
}

/// Bytes a folder takes on disk.
pub(crate) fn folder_bytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => folder_bytes(&entry.path()),
            Ok(metadata) => metadata.blocks() * 512,
            Err(_) => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;

    #[test]
    fn a_command_line_can_be_pasted_into_a_shell() {
        assert_eq!(
            quoted("--innodb_buffer_pool_size=1G"),
            "--innodb_buffer_pool_size=1G"
        );
        assert_eq!(quoted("--sql_mode=A B"), "'--sql_mode=A B'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }

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
        let (runtime, config) = (Runtime::default(), Config::new());
        let spec = LaunchSpec {
            install: &install,
            datadir,
            runtime: &runtime,
            config: &config,
        };
        let server = spawn_on(&cache, &spec, None, port)?.wait_ready()?;
        assert_ne!(server.tcp().port(), port);
        assert_eq!(server.variable("port")?, server.tcp().port().to_string());
        Ok(())
    }
}
