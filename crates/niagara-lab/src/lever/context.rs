//! Where levers are to be tried: server, machine, workload, and what the user allows.

use std::collections::BTreeSet;
use std::sync::Arc;

use niagara_origin::configuration::ServerOptions;
use niagara_server::machine::Fingerprint;
use niagara_server::{Family, Version};

use super::expression::Quantities;
use super::production::ProductionMachine;
use super::risk::Risk;

/// The C library's malloc.
pub(crate) const GLIBC: &str = "glibc";

/// What decides whether a lever applies, and what its values come to.
#[derive(Debug, Clone)]
pub struct Context {
    /// Branch of the server.
    pub family: Family,
    /// Its version.
    pub version: Version,
    /// The machine.
    pub machine: Fingerprint,
    /// The machine that what is found is for, where it is another one.
    pub production: ProductionMachine,
    /// Bytes of the tables and indexes.
    pub data_bytes: u64,
    /// Storage engine of the tables, as in `ENGINE=`.
    pub engine: String,
    /// Memory allocators that the server can be started with, beside `glibc`.
    pub mallocs: BTreeSet<String>,
    /// The malloc that the server's binary is linked with.
    pub own_malloc: String,
    /// Whether a build of this server may run. A build is linked with the C library's malloc, even where the package has another.
    pub may_be_built: bool,
    /// What the server's binary says of its options; without, nothing is known of them.
    pub options: Option<Arc<ServerOptions>>,
    /// Why nobody can build a server of its series; none where that is known.
    pub not_buildable: Option<String>,
    /// The workload writes.
    pub writes: bool,
    /// The application runs on the server's host.
    pub app_local: bool,
    /// It connects through the Unix socket already.
    pub app_on_socket: bool,
    /// Risks the user allows beyond `none` and `memory`.
    pub allowed: BTreeSet<Risk>,
    /// Ids of levers the user named; levers marked `try = "named"` apply only then.
    pub named: BTreeSet<String>,
}

impl Context {
    /// The server's family and version: `MariaDB 10.11.19`.
    pub(crate) fn release(&self) -> String {
        format!("{} {}", self.family, self.version)
    }

    /// A read-only InnoDB workload from the same host, nothing risky allowed, no malloc but glibc's.
    pub fn new(family: Family, version: Version, machine: Fingerprint) -> Self {
        Self {
            family,
            version,
            machine,
            production: ProductionMachine::default(),
            data_bytes: 0,
            engine: "InnoDB".to_owned(),
            mallocs: BTreeSet::new(),
            own_malloc: GLIBC.to_owned(),
            may_be_built: false,
            options: None,
            not_buildable: None,
            writes: false,
            app_local: true,
            app_on_socket: false,
            allowed: BTreeSet::new(),
            named: BTreeSet::new(),
        }
    }

    /// Bytes that one server may count on: half of the machine's, for two are alive in a duel; no more than the production
    /// machine has.
    pub(crate) fn server_memory(&self) -> u64 {
        (self.machine.usable_memory() / 2).min(self.production.memory.unwrap_or(u64::MAX))
    }

    /// Bytes of memory of the machine that values are worked out for.
    pub(crate) fn memory(&self) -> u64 {
        self.production
            .memory
            .unwrap_or(self.machine.usable_memory())
    }

    /// CPUs of the machine that values are worked out for.
    pub(crate) fn cpus(&self) -> usize {
        self.production
            .cpus
            .map_or(self.machine.usable_cpus(), |cpus| cpus as usize)
    }

    pub(crate) fn quantities(&self) -> Quantities {
        Quantities {
            cpus: self.cpus() as f64,
            memory: self.memory() as f64,
            server_memory: self.server_memory() as f64,
            data: self.data_bytes as f64,
        }
    }
}
