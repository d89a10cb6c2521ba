//! What duels and studies draw on: the servers and levers known here, where everything is kept, where the load comes from.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use niagara_server::machine::Fingerprint;
use niagara_server::{Cache, Cancel, Catalog};

use crate::client_host::ClientHost;
use crate::duels::workbench::Workbench;
use crate::lever::{self, Lever};
use crate::plans::spec::Load;

/// The machine that something was measured on, for the person who deploys it elsewhere.
#[derive(Debug, Clone, Default)]
pub(crate) struct MeasuredMachine {
    /// All of it in one line.
    pub(crate) line: String,
    /// Its kernel's release: `6.1.0-13-amd64`.
    pub(crate) kernel: String,
    /// Open files that a server may have there, at most; none without a limit.
    pub(crate) open_files: Option<u64>,
}

/// What every study and every command that starts servers begins with.
pub struct Inventory {
    /// Where servers, images and clones live.
    pub cache: Cache,
    /// Servers known.
    pub catalog: Catalog,
    /// Levers known.
    pub levers: Vec<Lever>,
    /// Where the load comes from, if not from here.
    pub client: Option<Arc<ClientHost>>,
}

impl Inventory {
    /// Opens the cache, ends what an earlier Niagara left behind, reads the data files: those shipped and those of the
    /// folders `servers` and `levers`.
    ///
    /// # Errors
    /// A cache that cannot be written to; a mistake in a data file.
    pub fn open(servers: &[PathBuf], levers: &[PathBuf]) -> Result<Self> {
        Self::open_in(None, servers, levers)
    }

    /// The same with the cache in this folder, where one is named.
    ///
    /// # Errors
    /// As with [`Inventory::open`].
    pub fn open_in(folder: Option<&Path>, servers: &[PathBuf], levers: &[PathBuf]) -> Result<Self> {
        let cache = match folder {
            Some(folder) => Cache::at(folder)?,
            None => Cache::open()?,
        };
        niagara_server::sweep_stale(&cache)?;
        Ok(Self {
            cache,
            catalog: Catalog::load(servers)?,
            levers: lever::load(levers)?,
            client: None,
        })
    }

    /// A workbench for `load`.
    pub fn workbench(&self, load: Load, cancel: Cancel) -> Workbench {
        let cache = self.cache.clone().stopping_with(cancel.clone());
        Workbench::new(cache, self.catalog.clone(), load, cancel).loaded_from(self.client.clone())
    }

    /// The machine as who deploys knows it, and the host that the load comes from where it is another one.
    ///
    /// # Errors
    /// As with [`fingerprint`](Self::fingerprint).
    pub(crate) fn machine(&self) -> Result<MeasuredMachine> {
        let here = self.fingerprint()?;
        let machine = here.one_line();
        let line = match &self.client {
            Some(client) => format!("{machine}, loaded from {}", client.name()),
            None => machine,
        };
        Ok(MeasuredMachine {
            line,
            kernel: here.system.kernel,
            open_files: here.limits.open_files,
        })
    }

    /// The machine's fingerprint, with the disk that the clones will be on.
    ///
    /// # Errors
    /// There is no place for clones.
    pub fn fingerprint(&self) -> Result<Fingerprint> {
        Ok(Fingerprint::read(&self.cache.work()?))
    }
}

/// The server that people speak of: a name of the catalogue, or a path, made absolute so that a study means the same
/// server from any folder.
///
/// # Errors
/// As with [`niagara_server::server_named`].
pub fn server_name(text: &str) -> Result<String> {
    niagara_server::server_named(text)
}
