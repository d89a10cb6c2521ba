//! How a server is started; started again on another port when its port is taken.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;

use anyhow::Result;
use niagara_error::Explanation;

use super::child::Guard;
use super::registry::Registration;
use super::remote_access::RemoteAccess;
use super::run_files::Files;
use super::shell_words::{prefix_words, quoted};
use super::start_obstacle::{Around, AroundServer};
use crate::cache::Cache;
use crate::config::normalise_variable;
use crate::install::Install;
use crate::install::version::NO_PROFILE;
use crate::machine::oom_kills::OomKills;
use crate::process::spawn::{Placement, spawn};

/// How a server is started; started again on another port when its port is taken.
#[derive(Debug)]
pub(crate) struct StartCommand {
    pub install: Install,
    pub(super) arguments: Vec<OsString>,
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) placement: Placement,
    pub remote: Option<RemoteAccess>,
    pub(super) port: u16,
}

impl StartCommand {
    /// Whether its variables ask for huge pages that are reserved.
    pub(super) fn asks_for_reserved_pages(&self) -> bool {
        let mut asked = self.arguments.iter().filter_map(|argument| {
            let argument = argument.to_str()?.strip_prefix("--")?;
            let (name, value) = argument.split_once('=').unwrap_or((argument, "ON"));
            (normalise_variable(name) == "large_pages").then_some(value)
        });
        // Of several the last one holds.
        let last = asked.next_back();
        last.is_some_and(|value| {
            ["ON", "1", "TRUE"]
                .iter()
                .any(|on| on.eq_ignore_ascii_case(value))
        })
    }

    /// Starts the server and enters it in the registry.
    pub(super) fn start(&self, cache: &Cache, files: &Files) -> Result<(Guard, Registration)> {
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
            .envs(NO_PROFILE)
            .envs(self.install.library_environment());
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
        let killed_before = OomKills::now();
        let child = spawn(command, &self.placement).map_err(|error| {
            let mut told = Explanation::new(format!("cannot start the server: {error}"))
                .detail(format!("command: {}", self.command_line()));
            told.remedies.extend(self.placement.remedy(&error));
            AroundServer::new(Around::met(&error), told)
        })?;
        // From here on a failure must not leave it running.
        let guard = Guard::new(child, &self.install.server, killed_before)?;
        let registration = Registration::enter(
            cache,
            guard.id() as i32,
            files.run.path(),
            &files.socket_folder.path,
        )?;
        Ok((guard, registration))
    }

    pub fn command_line(&self) -> String {
        let mut words: Vec<String> = prefix_words(&self.placement.settings);
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
