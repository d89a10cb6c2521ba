//! A dataset image in the making: an empty data directory or one that was brought, a server on it that loads fast.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use niagara_settings::ProcessSettings;

use super::clone::dig_holes;
use super::initialise::initialise;
use crate::cache::Cache;
use crate::config::Config;
use crate::install::Install;
use crate::launch::running::RunningServer;
use crate::launch::spec::LaunchSpec;
use crate::launch::start::launch_confined;

/// The data directory inside an image.
pub(super) const DATA: &str = "data";

/// An image in the making.
#[derive(Debug)]
pub struct Making<'a> {
    pub(super) cache: &'a Cache,
    pub(super) layout: &'a Config,
    /// The server that makes it.
    pub install: &'a Install,
    /// Storage engine of tables that name none.
    pub engine: &'a str,
    /// A folder for what is needed on the way; it goes with the image's other files.
    pub work: &'a Path,
}

impl Making<'_> {
    /// Where the data directory is, or will be.
    pub fn datadir(&self) -> PathBuf {
        self.work.join(DATA)
    }

    /// Makes an empty data directory.
    ///
    /// # Errors
    /// The server cannot.
    pub fn initialise(&self) -> Result<()> {
        initialise(self.install, &self.datadir(), self.work, self.layout).map(|_| ())
    }

    /// Starts the server on it, set to load fast: durability comes from the clean shutdown at the end. `further` has the
    /// last word.
    ///
    /// # Errors
    /// It does not start.
    pub fn launch(&self, further: &Config) -> Result<RunningServer> {
        let mut config = loading_config(self.install, self.engine, self.layout);
        config.extend(further.clone());
        let runtime = ProcessSettings::default();
        let spec = LaunchSpec {
            install: self.install,
            datadir: self.datadir(),
            runtime: &runtime,
            config: &config,
        };
        launch_confined(self.cache, &spec)
    }

    /// Turns zeros of larger files into holes, so that clones are quick.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn dig_holes(&self) -> Result<()> {
        let datadir = self.datadir();
        dig_holes(&datadir).with_context(|| format!("cannot dig holes in {}", datadir.display()))
    }
}

/// Variables that make loading fast.
fn loading_config(install: &Install, engine: &str, layout: &Config) -> Config {
    let mut config = layout.clone();
    let mut set = |name: &str, value: &str| config.insert(name.to_owned(), value.to_owned());
    set("default_storage_engine", engine);
    set("loose_innodb_flush_log_at_trx_commit", "0");
    set("loose_innodb_buffer_pool_size", "512M");
    set("loose_innodb_buffer_pool_dump_at_shutdown", "OFF");
    set("loose_innodb_buffer_pool_load_at_startup", "OFF");
    set("loose_innodb_fast_shutdown", "0");
    if !install.family.is_mariadb() {
        set("skip_log_bin", "");
    }
    config
}

/// Gives every table fresh statistics, so that no clone computes its own in the middle of a measurement.
///
/// # Errors
/// The server refuses a statement.
pub fn settle(server: &RunningServer) -> Result<()> {
    let tables = server.query(
        "SELECT CONCAT('`', table_schema, '`.`', table_name, '`') FROM information_schema.tables \
         WHERE table_type = 'BASE TABLE' \
         AND table_schema NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')",
    )?;
    for table in tables.into_iter().flatten() {
        server.query(&format!("ANALYZE TABLE {table}"))?;
    }
    Ok(())
}
