//! What to start: a server, its data, its surroundings and variables.

use std::path::PathBuf;

use anyhow::Result;
use niagara_error::bail;
use niagara_settings::ProcessSettings;

use crate::config::Config;
use crate::install::Install;

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
    pub runtime: &'a ProcessSettings,
    /// Its variables.
    pub config: &'a Config,
}

impl LaunchSpec<'_> {
    /// Refuses what no server can be started with.
    ///
    /// # Errors
    /// A variable that Niagara sets itself; no data directory.
    pub(super) fn check(&self) -> Result<()> {
        if let Some(name) = self
            .config
            .keys()
            .find(|name| RESERVED.contains(&name.as_str()))
        {
            bail!("the variable `{name}` is set by Niagara itself"; remedy: "leave it out");
        }
        if !self.datadir.is_dir() {
            bail!("there is no data directory {}", self.datadir.display());
        }
        Ok(())
    }
}
