//! A server under check: started on a clone of an empty data directory, reached over its socket.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use niagara_load::{Admin, Endpoint, LoadError};
use niagara_server::{
    Cache, Config, ImageStore, Install, LaunchSpec, RunningServer, Runtime, StartingServer,
    WorkFolder,
};

/// Bound on every statement of a check.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(120);
/// Words of a start that failed for what surrounds the server: it does not run where or as it was asked to, or another program
/// listens on its port.
const AROUND: [&str; 2] = [
    "the server started, but not as asked",
    "Address already in use",
];

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
        match self.spawn()?.wait_ready() {
            Err(error) if is_around(&error) => Err(error),
            started => Ok(started),
        }
    }
}

fn is_around(error: &anyhow::Error) -> bool {
    let text = format!("{error:#}");
    AROUND.iter().any(|words| text.contains(words))
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

    use super::*;

    #[test]
    fn what_surrounds_a_server_is_told_from_its_own_failure() {
        let asked = anyhow!("it runs on CPUs 0-3").context(format!("{}\ncommand: x", AROUND[0]));
        assert!(is_around(&asked));
        let port = "Can't start server: Bind on TCP/IP port: Address already in use";
        assert!(is_around(&anyhow!(
            "it ended while starting\nend of its log:\n{port}"
        )));
        let own =
            "it ended while starting (signal: 6)\nend of its log:\n[ERROR] InnoDB: corruption";
        assert!(!is_around(&anyhow!("{own}")));
    }
}
