//! The place that a study's duels are of, which is one place: what a sitting that continues it is compared with.

use anyhow::Result;
use niagara_server::machine::Fingerprint;
use serde::{Deserialize, Serialize};

use crate::studies::session::Session;

/// Where duels were run. Within one both sides are on one machine; but what stands in one report, as a test's duels or as cells side by
/// side, is read as if it were of one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum HostIdentity {
    /// On the nodes of a cluster: every cell names its own.
    Nodes,
    /// On this machine.
    Machine {
        /// Model of the CPUs.
        cpu: String,
        /// How many of them can be used.
        cpus: usize,
        /// The kernel.
        kernel: String,
        /// The machine that the load came from, where that was another one.
        client: Option<String>,
    },
}

impl HostIdentity {
    /// Where the duels of `session` are run.
    pub(crate) fn of(session: &Session<'_>) -> Result<Self> {
        if session.fleet.is_some() {
            return Ok(Self::Nodes);
        }
        let machine: Fingerprint = session.inventory.fingerprint()?;
        let client = session.inventory.client.as_ref();
        Ok(Self::Machine {
            cpus: machine.usable_cpus(),
            cpu: machine.cpu.model,
            kernel: machine.system.kernel,
            client: client.map(|client| client.record().machine),
        })
    }

    /// How another place differs from this one, in words; empty where it does not.
    pub(crate) fn differences(&self, other: &Self) -> Vec<String> {
        let (
            Self::Machine {
                cpu,
                cpus,
                kernel,
                client,
            },
            Self::Machine {
                cpu: other_cpu,
                cpus: other_cpus,
                kernel: other_kernel,
                client: other_client,
            },
        ) = (self, other)
        else {
            let place = |one: &Self| match one {
                Self::Nodes => "on nodes of a cluster",
                Self::Machine { .. } => "on one machine",
            };
            let differs = self != other;
            return differs
                .then(|| format!("{} then, {} now", place(self), place(other)))
                .into_iter()
                .collect();
        };
        let named = |client: &Option<String>| client.clone().unwrap_or_else(|| "here".to_owned());
        [
            ("CPU", cpu.clone(), other_cpu.clone()),
            ("CPUs", cpus.to_string(), other_cpus.to_string()),
            ("kernel", kernel.clone(), other_kernel.clone()),
            ("load from", named(client), named(other_client)),
        ]
        .into_iter()
        .filter(|(_, then, now)| then != now)
        .map(|(what, then, now)| format!("{what} {then} then, {now} now"))
        .collect()
    }
}
