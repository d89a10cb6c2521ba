//! A server under check: started on a clone of an empty data directory, reached over its socket.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use niagara_load::{Admin, Endpoint, LoadError};
use niagara_server::{
    Around, Cache, Config, ImageStore, Install, LaunchSpec, ProcessSettings, RunningServer,
    StartingServer, WorkFolder,
};

/// Bound on every statement of a check.
pub(crate) const STATEMENT_TIMEOUT: Duration = Duration::from_secs(120);

/// What a server is started with.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Setting {
    /// Its variables.
    pub config: Config,
    /// What surrounds its process.
    pub runtime: ProcessSettings,
}

/// A data directory of its own, and how to start the server on it.
pub(crate) struct Bench {
    cache: Cache,
    install: Install,
    runtime: ProcessSettings,
    config: Config,
    folder: WorkFolder,
}

impl Bench {
    /// A fresh clone of the server's empty image, laid out as the setting wants it. The image is made where it is not there yet.
    pub fn new(
        cache: &Cache,
        install: &Install,
        Setting { config, runtime }: Setting,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Bench> {
        // On one with pages of another size, or with other files, the server would not start.
        let images = ImageStore::new(cache).laid_out(&config);
        let image = images.ensure(install, "empty", "InnoDB", &mut |_| Ok(()), progress)?;
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

    /// Starts a server that started before, on what it left behind: the server, or why it does not come back.
    ///
    /// # Errors
    /// It was kept from starting by what surrounds it, which says nothing of the server itself.
    pub fn restart(&self) -> Result<Result<RunningServer>> {
        its_own(self.spawn()?.wait_ready())
    }
}

/// What came of a start, where it says something of the server.
///
/// # Errors
/// Something around the server kept it from starting.
fn its_own<T>(started: Result<T>) -> Result<Result<T>> {
    match started {
        Err(error) if Around::of(&error).is_some() => Err(error),
        started => Ok(started),
    }
}

/// The way to a running server.
pub(crate) fn endpoint(server: &RunningServer) -> Endpoint {
    server.over_socket("")
}

/// A connection for one statement after the other.
pub(crate) fn connect(endpoint: &Endpoint) -> Result<Admin, LoadError> {
    Admin::connect(endpoint, STATEMENT_TIMEOUT)
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;
    use niagara_server::Cancelled;

    use super::*;

    #[test]
    fn what_surrounds_a_server_is_told_from_its_own_failure() {
        let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
        let around = anyhow!(missing).context("cannot write the library for huge pages");
        for error in [around, Cancelled.into()] {
            assert!(its_own::<()>(Err(error)).is_err());
        }
        // As its log may end, whatever it ended for.
        for words in [
            "it ended while starting (signal: 6)\nend of its log:\n[ERROR] InnoDB: corruption",
            "the tables hold: Address already in use; the server started, but not as asked",
        ] {
            let own = its_own::<()>(Err(anyhow!("{words}"))).expect("its own failure");
            assert!(own.is_err());
        }
        assert!(its_own(Ok(1)).is_ok_and(|started| started.is_ok()));
    }
}
