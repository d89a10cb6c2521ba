//! Duels that nodes run for a study: the other side of the one place where a study asks for a duel. What a duel is and what
//! its result means stay here; who runs it, how often it is tried and what is lost on the way is `niagara-fleet`'s.

mod node;
mod order;
mod replay;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use niagara_fleet::content::{Content, publish};
use niagara_fleet::{Cluster, Cost, Head, HeadOptions, Order, Program};
use niagara_server::Cancelled;
use serde::{Deserialize, Serialize};

use crate::client_host::own_hash;
use crate::duels::duel_plan::unit_seconds;
use crate::duels::score::score_in_place;
use crate::duels::spec::{DuelOutcome, DuelSpec, Protocol};
use crate::duels::workbench::Workbench;
use crate::studies::observer::{Event, Observer};
use crate::variants::variant::Variant;

pub use node::{NodeOptions, work_on_node};
use order::{OrderDocument, duel_name};

/// Duels that are asked for ahead, for each node: what it holds, and one more.
const AHEAD: usize = 4;

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
}

impl FleetOptions {
    /// Nodes that are wanted at the same time.
    pub fn nodes(&self) -> u32 {
        match &self.cluster {
            Cluster::Slurm(slurm) => slurm.nodes,
            Cluster::Others(nodes) => *nodes,
        }
    }
}

/// Where and how a duel was run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FoughtOn {
    /// The duel's place in its study.
    pub seq: u32,
    /// The duel's name in the shared folder.
    pub duel: String,
    /// The node.
    pub node: String,
    /// The worker and its incarnation.
    pub worker: String,
    /// Which attempt it was, from 1.
    pub epoch: u32,
}

/// What nodes were held for, and what went wrong on them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FleetReport {
    /// Node-seconds.
    pub cost: Cost,
    /// Workers that there were.
    pub workers: usize,
    /// Nodes that were set aside, each with its reason.
    pub set_aside: Vec<(String, String)>,
    /// Attempts that were lost after they had begun: node and reason.
    pub losses: Vec<(String, String)>,
}

/// The nodes of a study.
pub(crate) struct Fleet {
    head: Head,
    key: String,
    folder: PathBuf,
    nodes: u32,
    is_slurm: bool,
    ahead: Vec<DuelSpec>,
    /// By variant and load: what a node needs to run it.
    published: BTreeMap<String, Vec<Content>>,
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
            .with_context(|| format!("cannot copy this program to {}", shared.display()))?;
    }
    let mut arguments = vec![
        "--node-dir".to_owned(),
        options.node_dir.display().to_string(),
    ];
    arguments.extend(options.arguments.iter().cloned());
    Ok(Program {
        shared,
        local: options.node_dir.join("bin").join(name),
        arguments,
    })
}

impl Fleet {
    /// Opens the shared folder of a study, which `key` stands for, or continues in it. `name` is what people know it by.
    pub(crate) fn open(options: &FleetOptions, name: &str, key: &str, seed: u64) -> Result<Self> {
        let folder = options
            .shared
            .join(format!("{name}-{}", &key[..key.len().min(12)]));
        let mut cluster = options.cluster.clone();
        if let Cluster::Slurm(slurm) = &mut cluster {
            slurm.program = program(options)?;
        }
        let head = Head::open(HeadOptions {
            folder: folder.clone(),
            key: key.to_owned(),
            seed,
            cluster,
            silence: options.silence,
            patience: Duration::from_secs(600),
        })?;
        Ok(Self {
            head,
            key: key.to_owned(),
            folder,
            nodes: options.nodes(),
            is_slurm: matches!(options.cluster, Cluster::Slurm(_)),
            ahead: Vec::new(),
            published: BTreeMap::new(),
        })
    }

    /// What whoever started the study has to know or to do.
    pub(crate) fn announcement(&self) -> String {
        let folder = self.folder.display();
        match self.is_slurm {
            true => format!(
                "duels run on {} nodes by Slurm; shared folder {folder}",
                self.nodes
            ),
            false => format!(
                "waiting for workers: start `niagara fleet worker {folder} --name w1` to w{}, each on a machine of its own",
                self.nodes
            ),
        }
    }

    /// Nodes that are wanted at the same time.
    pub(crate) fn nodes(&self) -> u32 {
        self.nodes
    }

    /// Duels that it wants to know of ahead.
    pub(crate) fn ahead(&self) -> usize {
        self.nodes as usize * AHEAD
    }

    /// These duels are likely to be asked for next, in this order.
    pub(crate) fn expect(&mut self, ahead: Vec<DuelSpec>) {
        self.ahead = ahead;
    }

    /// The outcome of a duel that some node runs, and seconds of the wait for it in which there was no node.
    ///
    /// # Errors
    /// [`Cancelled`]; it was lost too often; what it needs cannot be published.
    pub(crate) fn run(
        &mut self,
        bench: &Workbench,
        spec: &DuelSpec,
        protocol: Protocol,
        observer: &mut dyn Observer,
    ) -> Result<(DuelOutcome, FoughtOn, Duration)> {
        let duel = duel_name(&self.key, spec, protocol)?;
        // What was expected of another question is not wanted any more.
        let same = |ahead: &DuelSpec| ahead.phase == spec.phase && ahead.subject == spec.subject;
        self.ahead.retain(same);
        let mut specs = vec![spec.clone()];
        let ahead = self.ahead.iter();
        specs.extend(ahead.filter(|ahead| ahead.seed != spec.seed).cloned());
        let orders = specs
            .iter()
            .map(|spec| self.order(bench, spec, protocol, observer))
            .collect::<Result<Vec<Order>>>()?;
        self.head.want(&orders)?;
        let cancel = bench.cancel();
        let waited = self.head.unattended();
        let result = self
            .head
            .wait(&duel, &|| cancel.is_cancelled(), &mut |text| {
                observer.see(Event::Note(text));
            })?;
        let unattended = self.head.unattended().saturating_sub(waited);
        let result = result.ok_or(Cancelled)?;
        let mut outcome: DuelOutcome = serde_json::from_slice(&result.document)
            .with_context(|| format!("the result of duel {duel} cannot be understood"))?;
        score_in_place(&mut outcome, spec, protocol);
        for slice in &outcome.slices {
            observer.see(Event::Slice(slice));
        }
        let fought_on = FoughtOn {
            seq: spec.seq,
            duel,
            node: result.node,
            worker: result.worker,
            epoch: result.attempt.epoch,
        };
        Ok((outcome, fought_on, unattended))
    }

    fn order(
        &mut self,
        bench: &Workbench,
        spec: &DuelSpec,
        protocol: Protocol,
        observer: &mut dyn Observer,
    ) -> Result<Order> {
        let mut content = BTreeSet::new();
        for variant in &spec.variants {
            content.extend(self.content(bench, variant, observer)?);
        }
        let document = OrderDocument {
            spec: spec.clone(),
            protocol,
            content: content.into_iter().collect(),
        };
        Ok(Order {
            duel: duel_name(&self.key, spec, protocol)?,
            index: u64::from(spec.seq),
            seconds: unit_seconds(protocol, &spec.duel_settings, spec.duel_settings.couples),
            document: serde_json::to_value(document)?,
        })
    }

    /// What a node needs to run a variant, published where it is not yet.
    fn content(
        &mut self,
        bench: &Workbench,
        variant: &Variant,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Content>> {
        let cache = bench.cache().root();
        let mut found = Vec::new();
        for path in bench.parts(variant)? {
            let published = match self.published.get(&path) {
                Some(published) => published.clone(),
                None => {
                    observer.see(Event::SettingUp(&format!("packing {path} for the nodes")));
                    let packed = vec![publish(&self.folder, cache, &path)?];
                    self.published.insert(path, packed.clone());
                    packed
                }
            };
            found.extend(published);
        }
        Ok(found)
    }

    /// What nodes were held for so far; `counts` says which duels verdicts rest on.
    pub(crate) fn report(&self, counts: impl Fn(&str) -> bool) -> FleetReport {
        let costs = self.head.cost(counts);
        FleetReport {
            workers: costs.len(),
            cost: costs.into_values().fold(Cost::default(), Cost::and),
            set_aside: self.head.set_aside(),
            losses: self.head.losses(),
        }
    }

    /// Lets the nodes go. What was packed for them goes, too: it is large, and packed again should the study be continued.
    pub(crate) fn end(&mut self) {
        self.head.end();
        self.published.clear();
        let _ = std::fs::remove_dir_all(self.folder.join("content"));
    }
}
