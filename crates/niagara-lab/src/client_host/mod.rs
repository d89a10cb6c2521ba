//! Another host that the load comes from, while the servers run on this one.
//!
//! The walk is: a remote shell starts the agent there (this very binary, copied there first where it is not yet), the agent
//! knocks at an address of this host, and from then on every workbench that knows of it starts its servers where that
//! host reaches them, and hands their load to it.

mod address;
mod complaints;
mod host_name;
mod own_binary;
mod remote_shell;
mod start;

use std::net::IpAddr;

use anyhow::Result;
use niagara_error::bail;
use niagara_load::remote::{Greeting, RemoteAgent};
use niagara_model::Finding;
use niagara_server::RemoteAccess;
use serde::Serialize;

use crate::variants::variant::Variant;
use niagara_server::Cancel;
use niagara_server::LOAD_DATABASE;
use start::AgentProcess;

pub(crate) use host_name::check_host;
pub use own_binary::own_hash;
pub use remote_shell::{RemoteShell, SSH_VARIABLE};

/// Which host, and how it is reached.
#[derive(Debug, Clone)]
pub struct ClientHostOptions {
    /// As the remote shell knows it: a name, `user@name`, an address.
    pub host: String,
    /// What starts commands there.
    pub shell: RemoteShell,
    /// The address of this host that servers listen on; `None`: the one that the remote shell's connection came from, or
    /// the one by which the host is reached.
    pub server_address: Option<IpAddr>,
}

/// A host that loads this host's servers, its agent under way. Dropped, the agent ends.
#[derive(Debug)]
pub struct ClientHost {
    name: String,
    process: AgentProcess,
    access: RemoteAccess,
}

/// What results say of it.
#[derive(Debug, Clone, Serialize)]
pub struct ClientHostRecord {
    /// As the user named it.
    pub host: String,
    /// What it is, in one line.
    pub machine: String,
    /// The address that its connections come from.
    pub address: IpAddr,
    /// The address of this host that they go to.
    pub server_address: IpAddr,
    /// What is not known of it.
    pub disturbances: &'static str,
}

impl ClientHost {
    /// Starts the agent, and finds out by which addresses the two hosts reach each other.
    ///
    /// # Errors
    /// The host cannot be reached, has another architecture, or cannot reach this one; each with its remedy.
    pub fn open(
        options: &ClientHostOptions,
        cancel: &Cancel,
        observer: &mut dyn FnMut(&str),
    ) -> Result<Self> {
        observer(&format!("starting the load agent on {}", options.host));
        let process = start::start(options, cancel, observer)?;
        let (listen, client) = address::meet(options, &process.agent, cancel)?;
        Ok(Self {
            name: options.host.clone(),
            process,
            access: RemoteAccess {
                listen,
                client,
                database: LOAD_DATABASE.to_owned(),
            },
        })
    }

    /// As the user named it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where servers have to listen, and whom they have to let in.
    pub(crate) fn access(&self) -> &RemoteAccess {
        &self.access
    }

    /// What drives load there.
    pub(crate) fn agent(&self) -> &RemoteAgent {
        &self.process.agent
    }

    /// What results say of it.
    pub fn record(&self) -> ClientHostRecord {
        let Greeting { machine, .. } = self.process.agent.greeting();
        ClientHostRecord {
            host: self.name.clone(),
            machine: machine.clone(),
            address: self.access.client,
            server_address: self.access.listen,
            disturbances: "not watched",
        }
    }

    /// What a reader of the results must know.
    pub fn remark(&self) -> Finding {
        remark(&self.name)
    }

    /// An error for a variant that cannot be loaded from there.
    pub(crate) fn check(&self, variant: &Variant) -> Result<()> {
        if variant.runtime.is_on_socket() {
            bail!(
                "a Unix socket cannot be reached from {}", self.name;
                remedy: "leave out transport=unix, or --client-host"
            );
        }
        if variant.runtime.client_cpus.is_some() {
            bail!(
                "the load generator is on {}: its CPUs are not this host's", self.name;
                remedy: "leave out what places it (client_cpus, the placement levers), or --client-host"
            );
        }
        Ok(())
    }
}

/// The same, before the host was asked.
pub fn remark(host: &str) -> Finding {
    Finding::RemoteLoad {
        host: host.to_owned(),
    }
}
