//! The nodes that are asked for, the head that they meet, and what they were held for.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use niagara_fleet::{Cluster, Head, HeadOptions, Program, explained};
use niagara_load::counted;
use niagara_model::{NodeAccount, NodeSeconds};

use crate::client_host::own_hash;

/// How long a shared folder is waited for that is full.
pub(super) const PATIENCE: Duration = Duration::from_secs(600);

/// Where duels are run, if not here.
#[derive(Debug, Clone)]
pub struct FleetOptions {
    /// The folder that all nodes see; each study gets one of its own in it.
    pub shared: PathBuf,
    /// A folder on every machine's own disk, under the same path everywhere.
    pub node_dir: PathBuf,
    /// Arguments of a worker beside its folder and name.
    pub arguments: Vec<String>,
    /// Where workers come from.
    pub cluster: Cluster,
    /// How long a worker may be silent.
    pub silence: Duration,
    /// Each node compares A with itself before its first duel.
    pub try_nodes: bool,
}

impl FleetOptions {
    /// Nodes that are wanted at the same time.
    pub fn nodes(&self) -> u32 {
        match &self.cluster {
            Cluster::Slurm(slurm) => slurm.nodes,
            Cluster::Others(nodes) => *nodes,
        }
    }

    /// A worker's options beside its folder and name.
    fn worker_arguments(&self) -> Vec<String> {
        let node_dir = self.node_dir.display().to_string();
        let mut arguments = vec!["--node-dir".to_owned(), node_dir];
        arguments.extend(self.arguments.iter().cloned());
        arguments
    }

    /// What whoever began has to know or to do: `what` is done on nodes, which meet in `folder`.
    pub(super) fn announcement(&self, what: &str, folder: &Path) -> String {
        let (nodes, folder) = (self.nodes(), folder.display());
        let counted = counted(u64::from(nodes), "node");
        match &self.cluster {
            Cluster::Slurm(_) => {
                format!("{what}: on {counted} by Slurm; shared folder {folder}")
            }
            Cluster::Others(_) => {
                let arguments = self.worker_arguments().join(" ");
                format!(
                    "{what}: waiting for workers: start `niagara fleet worker {folder} --name w1 {arguments}` to w{nodes}, each on a machine of its own"
                )
            }
        }
    }
}

/// This very program where all nodes see it.
fn program(options: &FleetOptions) -> Result<Program> {
    let name = format!("niagara-{}", &own_hash()?[..16]);
    let place = options.shared.join("bin");
    let shared = place.join(&name);
    if !shared.exists() {
        std::fs::create_dir_all(&place)
            .with_context(|| format!("cannot make the folder {}", place.display()))?;
        let part = place.join(format!(".part-{}", std::process::id()));
        std::fs::copy("/proc/self/exe", &part)
            .and_then(|_| std::fs::rename(&part, &shared))
            .with_context(|| {
                let _ = std::fs::remove_file(&part);
                format!("cannot copy this program to {}", shared.display())
            })?;
    }
    Ok(Program {
        shared,
        local: options.node_dir.join("bin").join(name),
        arguments: options.worker_arguments(),
    })
}

/// A head in the shared `folder` of what `key` stands for, begun or continued; workers hold up to `held` items.
pub(super) fn open_head(
    options: &FleetOptions,
    folder: &Path,
    key: &str,
    seed: u64,
    held: usize,
) -> Result<Head> {
    let mut cluster = options.cluster.clone();
    if let Cluster::Slurm(slurm) = &mut cluster {
        slurm.program = program(options).map_err(|error| explained(error, &options.shared))?;
    }
    Head::open(HeadOptions {
        folder: folder.to_owned(),
        key: key.to_owned(),
        seed,
        cluster,
        silence: options.silence,
        held,
        patience: PATIENCE,
        program: own_hash()?,
    })
    .map_err(|error| explained(error, &options.shared))
}

/// What a head's nodes were held for, and what went wrong on them.
pub(super) fn account_of(head: &Head, counts: impl Fn(&str) -> bool) -> NodeAccount {
    let costs = head.cost(counts);
    let workers = costs.len();
    let seconds = costs
        .into_values()
        .fold(NodeSeconds::default(), NodeSeconds::and);
    NodeAccount {
        workers,
        held: seconds.held(),
        seconds,
        set_aside: head.set_aside(),
        losses: head.losses(),
        on_one_machine: head.on_one_machine(),
    }
}
