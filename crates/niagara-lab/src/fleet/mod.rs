//! Duels that nodes run for a study: the other side of the one place where a study asks for a duel. What a duel is and what
//! its result means stay here; who runs it, how often it is tried and what is lost on the way is `niagara-fleet`'s.

mod build_order;
mod building;
mod cluster;
mod fitness;
mod node;
mod order;
mod packing;
mod replay;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use niagara_fleet::content::Content;
use niagara_fleet::{Head, Order};
use niagara_model::{Ending, FoughtOn, NodeAccount};
use niagara_server::Cancelled;

use crate::duels::score::score_in_place;
use crate::duels::workbench::Workbench;
use crate::plans::duel_plan::unit_seconds;
use crate::plans::observer::{Event, Observer};
use crate::plans::spec::{DuelOutcome, DuelSpec, Protocol};
use crate::variants::variant::Variant;

pub use building::{BuiltOnNodes, build_on_nodes};
pub use cluster::FleetOptions;
use cluster::{account_of, open_head};
use fitness::Fitness;
pub use node::{NodeOptions, work_on_node};
use order::{NodeResult, OrderDocument, duel_name};
use packing::pack_for_nodes;

/// Duels that a worker holds: the one that it runs and two ahead.
const HELD: usize = 3;
/// Duels that are asked for ahead, for each node: what it holds, and one more.
const AHEAD: usize = HELD + 1;

/// The nodes of a study.
pub(crate) struct Fleet {
    head: Head,
    key: String,
    folder: PathBuf,
    nodes: u32,
    /// Each node compares A with itself before its first duel.
    try_nodes: bool,
    announcement: String,
    /// Duels that are likely to be asked for next.
    ahead: Vec<Order>,
    /// By variant and load: what a node needs to run it.
    published: BTreeMap<String, Vec<Content>>,
    fitness: Fitness,
}

impl Fleet {
    /// Opens the shared folder of a study, which `key` stands for, or continues in it. `name` is what people know it by.
    pub(crate) fn open(options: &FleetOptions, name: &str, key: &str, seed: u64) -> Result<Self> {
        let folder = options
            .shared
            .join(format!("{name}-{}", &key[..key.len().min(12)]));
        Ok(Self {
            head: open_head(options, &folder, key, seed, HELD)?,
            announcement: options.announcement("duels", &folder),
            key: key.to_owned(),
            folder,
            nodes: options.nodes(),
            try_nodes: options.try_nodes,
            ahead: Vec::new(),
            published: BTreeMap::new(),
            fitness: Fitness::default(),
        })
    }

    /// What whoever started the study has to know or to do.
    pub(crate) fn announcement(&self) -> &str {
        &self.announcement
    }

    /// Duels that are run at the same time: one on each machine that is there; before any is, one on each node that is wanted.
    pub(crate) fn abreast(&self) -> u32 {
        match self.head.abreast() {
            0 => self.nodes,
            machines => (machines as u32).min(self.nodes),
        }
    }

    /// Duels that it wants to know of ahead.
    pub(crate) fn ahead(&self) -> usize {
        self.nodes as usize * AHEAD
    }

    /// These duels are likely to be asked for next, in this order; what was expected before is not any more.
    pub(crate) fn expect(&mut self, ahead: Vec<Order>) {
        self.ahead = ahead;
    }

    /// The outcome of a duel that some node runs, and how much of the wait for it passed without any node running one.
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
        let order = self.order(bench, spec, protocol, observer)?;
        let duel = order.duel.clone();
        let mut orders = vec![order];
        let ahead = self.ahead.iter();
        orders.extend(ahead.filter(|ahead| ahead.duel != duel).cloned());
        self.head.want(&orders);
        let cancel = bench.cancel();
        let waited = self.head.idle();
        let result = self
            .head
            .wait(&duel, &|| cancel.is_cancelled(), &mut |text| {
                observer.see(Event::Note(text));
            })?;
        let idle = self.head.idle().saturating_sub(waited);
        let result = result.ok_or(Cancelled)?;
        let NodeResult {
            mut outcome,
            trial,
            played_back,
        } = serde_json::from_slice(&result.document)
            .with_context(|| format!("the result of duel {duel} cannot be understood"))?;
        score_in_place(&mut outcome, spec, protocol);
        // A server that died did so somewhere: whoever looks into it has to know where.
        if let Ending::Failed { reason, .. } = &mut outcome.record.ending {
            reason.cause = format!("on {}: {}", result.node, reason.cause);
        }
        if let Some(trial) = trial {
            self.fitness.add_trial(&result.node, trial);
        }
        if !played_back {
            self.fitness.add(&result.node, &outcome.slices);
        }
        for (node, why) in self.fitness.unfit() {
            self.head.set_aside_for(node, why);
        }
        for slice in &outcome.slices {
            observer.see(Event::Slice(slice));
        }
        let fought_on = FoughtOn {
            seq: spec.seq,
            duel,
            node: result.node,
            machine: result.machine,
            worker: result.worker,
            epoch: result.attempt.epoch,
        };
        Ok((outcome, fought_on, idle))
    }

    /// What a node needs to run a duel; its servers and data are packed where they are not yet.
    ///
    /// # Errors
    /// They cannot be.
    pub(crate) fn order(
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
            installs: [
                bench.install_for_nodes(&spec.variants[0])?,
                bench.install_for_nodes(&spec.variants[1])?,
            ],
            trial: self.try_nodes,
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
                    let cancel = bench.cancel();
                    let packed = pack_for_nodes(&self.folder, cache, &path, cancel, observer)?;
                    let packed = vec![packed];
                    self.published.insert(path, packed.clone());
                    packed
                }
            };
            found.extend(published);
        }
        Ok(found)
    }

    /// What nodes were held for so far; `counts` says which duels verdicts rest on.
    pub(crate) fn account(&self, counts: impl Fn(&str) -> bool) -> NodeAccount {
        account_of(&self.head, counts)
    }

    /// Lets the nodes go. What was packed for them goes, too: it is large, and packed again should the study be continued.
    pub(crate) fn end(&mut self) {
        self.head.end();
        self.published.clear();
        let _ = std::fs::remove_dir_all(self.folder.join("content"));
    }
}
