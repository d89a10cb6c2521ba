//! A server under check: started on a clone of an empty data directory, reached over its socket.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use niagara_load::{Admin, Endpoint, LoadError};
use niagara_server::{
    Cache, Config, Image, ImageStore, Install, LaunchSpec, RunningServer, Runtime, StartingServer,
    WorkFolder,
};

/// Bound on every statement of a check.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(120);

/// What a server is started with.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Setting {
    /// Its variables.
    pub config: Config,
    /// What surrounds its process.
    pub runtime: Runtime,
}

/// A data directory of its own, and how to start the server on it.
pub(crate) struct Bench {
    cache: Cache,
    install: Install,
    runtime: Runtime,
    config: Config,
    folder: WorkFolder,
}

impl Bench {
    /// A fresh clone of the server's empty image. The image is made where it is not there yet.
    pub fn new(
        cache: &Cache,
        install: &Install,
        Setting { config, runtime }: Setting,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Bench> {
        let image = empty_image(cache, install, progress)?;
        let folder = cache.work_folder("clone")?;
        image.clone_to(&folder.path().join("data"))?;
        Ok(Bench {
            cache: cache.clone(),
            install: install.clone(),
            runtime,
            config,
            folder,
        })
    }

    pub fn datadir(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Starts the server on the folder as it is, without waiting for it.
    pub fn spawn(&self) -> Result<StartingServer> {
        niagara_server::spawn(
            &self.cache,
            &LaunchSpec {
                install: &self.install,
                datadir: self.datadir(),
                runtime: &self.runtime,
                config: &self.config,
            },
        )
    }

    /// Starts the server and waits until it answers.
    pub fn start(&self) -> Result<RunningServer> {
        self.spawn()?.wait_ready()
    }
}

fn empty_image(cache: &Cache, install: &Install, progress: &mut dyn FnMut(&str)) -> Result<Image> {
    ImageStore::new(cache).ensure(install, "empty", "InnoDB", &mut |_| Ok(()), progress)
}

/// The way to a running server.
pub(crate) fn endpoint(server: &RunningServer) -> Endpoint {
    server.over_socket("")
}

/// A connection for one statement after the other.
pub(crate) fn connect(endpoint: &Endpoint) -> Result<Admin, LoadError> {
    Admin::connect(endpoint, STATEMENT_TIMEOUT)
}
