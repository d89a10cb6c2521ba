//! What a worker does on its node: copies servers and data, runs duels by the same code as a study on one machine.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result};
use niagara_build::{BuildStore, InUse};
use niagara_error::Explain as _;
use niagara_fleet::content::{Content, stage};
use niagara_fleet::{Done, Sharing, Signals, Waiting, Work, WorkerOptions, run_worker};
use niagara_model::{Ending, NodeReason};
use niagara_server::{Cache, Cancel, Cancelled};
use niagara_stats::MachineTrial;
use serde_json::Value;

use crate::duels::duel::run_duel;
use crate::duels::inventory::Inventory;
use crate::duels::workbench::Workbench;
use crate::fleet::build_order::{BuildDocument, BuildOrder};
use crate::fleet::fitness::trial_of;
use crate::fleet::order::{NodeResult, OrderDocument};
use crate::fleet::replay::Replay;
use crate::plans::observer::{Event, Observer};
use crate::plans::spec::{DuelSpec, Load, Protocol};

/// The lock by which workers that share a machine and a folder on its disk take turns.
const TURN: &str = "fleet-duel";

/// How a node works.
#[derive(Debug, Clone)]
pub struct NodeOptions {
    /// The worker's folder, name and patience.
    pub worker: WorkerOptions,
    /// Where servers and data are kept on the node's own disk.
    pub cache: PathBuf,
    /// Further folders with servers.
    pub servers: Vec<PathBuf>,
    /// Duels are played back from these results instead of being run, this many times faster.
    pub replay: Option<(PathBuf, f64)>,
    /// Workers that share a machine run one duel at a time.
    pub one_at_a_time: bool,
}

/// Works until the study has ended, the job's time is over or no head is there; why.
///
/// # Errors
/// There is no study in the folder; it cannot be written; signals cannot be caught.
pub fn work_on_node(options: &NodeOptions) -> Result<NodeReason> {
    let signals = Signals::caught()?;
    match &options.replay {
        Some((file, speed)) => {
            let mut replay = Replay::of(file, *speed, &options.cache)?;
            run_worker(&options.worker, &mut replay, &signals)
        }
        None => {
            let stop = Cancel::from(Arc::clone(&signals.now));
            run_worker(&options.worker, &mut Node::new(options, stop), &signals)
        }
    }
}

/// A node with what was set up on it.
struct Node<'a> {
    options: &'a NodeOptions,
    inventory: Option<Inventory>,
    /// One for each load, a sweep has several: with the names of the variants that it was set up for.
    benches: Vec<(Workbench, BTreeSet<String>)>,
    staged: BTreeSet<Content>,
    /// Says of the builds among those that this worker uses them, as long as it may launch them.
    in_use: Vec<InUse>,
    /// The worker is to end at once.
    stop: Cancel,
    was_tried: bool,
    trial: Option<MachineTrial>,
}

/// Tells what is set up on standard error, which Slurm keeps in a file.
struct Told;

impl Observer for Told {
    fn see(&mut self, event: Event<'_>) {
        if let Event::SettingUp(text) | Event::Note(text) = event {
            // A worker whose output nobody takes works all the same.
            let _ =
                std::io::Write::write_all(&mut std::io::stderr(), format!("{text}\n").as_bytes());
        }
    }
}

impl<'a> Node<'a> {
    fn new(options: &'a NodeOptions, stop: Cancel) -> Self {
        Self {
            options,
            inventory: None,
            benches: Vec::new(),
            staged: BTreeSet::new(),
            in_use: Vec::new(),
            stop,
            was_tried: false,
            trial: None,
        }
    }

    /// Has `content` in place on the node's disk.
    fn place(&mut self, content: &[Content]) -> Result<()> {
        let inventory = match self.inventory.take() {
            Some(inventory) => inventory,
            None => Inventory::open_in(Some(&self.options.cache), &self.options.servers, &[])?,
        };
        let inventory = self.inventory.insert(inventory);
        for content in content {
            if !self.staged.contains(content) {
                // Before it is looked for, so that nothing removes it in between. An archive keeps no times: the first `gc` on the
                // node would take the build for one that was not used for decades.
                if let Some(key) = build_of(content) {
                    let store = BuildStore::new(&inventory.cache);
                    self.in_use.push(store.hold(key)?);
                }
                let _lock = inventory.cache.lock(&content.lock_name(), &mut || {})?;
                stage(&self.options.worker.folder, inventory.cache.root(), content)?;
                self.staged.insert(content.clone());
            }
        }
        Ok(())
    }

    fn set_up(&mut self, order: &OrderDocument) -> Result<()> {
        self.place(&order.content)?;
        let Some(inventory) = &self.inventory else {
            return Ok(());
        };
        let load = &order.spec.load;
        let place = self.place_of(load).unwrap_or_else(|| {
            let bench = inventory.workbench(load.clone(), self.stop.clone());
            self.benches.push((bench, BTreeSet::new()));
            self.benches.len() - 1
        });
        let (bench, ready) = &mut self.benches[place];
        // A bench that ran a duel has the flag of that attempt, which may have been withdrawn: what is set up now is another one's.
        bench.stopped_by(self.stop.clone());
        for (variant, install) in order.spec.variants.iter().zip(&order.installs) {
            if let Some(install) = install {
                bench.give(variant, install.clone())?;
            }
            bench.set_up_variant(variant, &mut Told)?;
            ready.insert(variant.id());
        }
        match order.trial() {
            Some(trial) if !self.was_tried => self.try_out(&trial),
            _ => Ok(()),
        }
    }

    /// Compares a server with itself, to see what this node adds. A side that fails says nothing of the node.
    fn try_out(&mut self, spec: &DuelSpec) -> Result<()> {
        let place = self.place_of(&spec.load).context("nothing was set up")?;
        let (bench, _) = &mut self.benches[place];
        bench.stopped_by(self.stop.clone());
        let one_at_a_time = self.options.one_at_a_time;
        let tried = || {
            let _lock = match one_at_a_time {
                true => Some(alone(bench.cache(), bench.cancel())?),
                false => None,
            };
            run_duel(bench, spec, Protocol::Duel, &mut Told)
        };
        match tried() {
            Ok(outcome) => self.trial = trial_of(&outcome.slices),
            // The worker ends; its node has not failed.
            Err(error) if error.has::<Cancelled>() => return Ok(()),
            Err(error) => return Err(error),
        }
        self.was_tried = true;
        Ok(())
    }

    /// Where the bench for this load stands.
    fn place_of(&self, load: &Load) -> Option<usize> {
        self.benches
            .iter()
            .position(|(bench, _)| bench.load() == load)
    }

    fn has(&self, content: &[Content]) -> bool {
        content.iter().all(|content| self.staged.contains(content))
    }

    fn build(&self, build: &BuildDocument, cancel: &Cancel, tell: &dyn Fn(&str)) -> Result<Done> {
        let inventory = self.inventory.as_ref().context("nothing was set up")?;
        let _lock = match self.options.one_at_a_time {
            true => Some(alone(&inventory.cache, cancel)?),
            false => None,
        };
        let worker = &self.options.worker;
        let mut waiting = Waiting {
            patience: worker.patience,
            stop: &|| cancel.is_cancelled(),
            tell: &mut |text| {
                Told.see(Event::Note(text));
                tell(text);
            },
        };
        let mut set_up = |text: &str| Told.see(Event::SettingUp(text));
        build.make(inventory, &worker.folder, &mut waiting, cancel, &mut set_up)
    }

    fn read(order: &Value) -> Result<OrderDocument> {
        serde_json::from_value(order.clone()).context("the order cannot be understood")
    }
}

impl Work for Node<'_> {
    fn sharing(&self) -> Sharing {
        let lock = || Cache::at(&self.options.cache)?.lock_id(TURN);
        match self.options.one_at_a_time {
            // A disk that cannot be written has no lock: it is told when something is to be copied there.
            true => lock().map_or(Sharing::Nobody, |lock| Sharing::Turns { lock }),
            false => Sharing::Nobody,
        }
    }

    fn wants_staging(&self, order: &Value) -> bool {
        if let Some(Ok(build)) = BuildOrder::of(order) {
            return self.inventory.is_none() || !self.has(&build.content);
        }
        // What cannot be read fails when it is staged.
        let Ok(order) = Self::read(order) else {
            return true;
        };
        let Some(place) = self.place_of(&order.spec.load) else {
            return true;
        };
        let ready = &self.benches[place].1;
        let mut variants = order.spec.variants.iter();
        !self.has(&order.content)
            || !variants.all(|variant| ready.contains(&variant.id()))
            || (!self.was_tried && order.trial().is_some())
    }

    fn stage(&mut self, order: &Value) -> Result<()> {
        if let Some(build) = BuildOrder::of(order) {
            return self.place(&build?.content);
        }
        self.set_up(&Self::read(order)?)
    }

    fn run(
        &mut self,
        order: &Value,
        cancel: &Arc<AtomicBool>,
        tell: &dyn Fn(&str),
    ) -> Result<Done> {
        if let Some(build) = BuildOrder::of(order) {
            return self.build(&build?, &Cancel::from(Arc::clone(cancel)), tell);
        }
        let order = Self::read(order)?;
        let one_at_a_time = self.options.one_at_a_time;
        let place = self.place_of(&order.spec.load);
        let place = place.context("nothing was set up")?;
        let (bench, _) = &mut self.benches[place];
        bench.stopped_by(Cancel::from(Arc::clone(cancel)));
        let _lock = match one_at_a_time {
            true => Some(alone(bench.cache(), bench.cancel())?),
            false => None,
        };
        let outcome = run_duel(bench, &order.spec, order.protocol, &mut Told)?;
        Ok(Done {
            load_seconds: outcome.record.load_seconds,
            failed: matches!(outcome.record.ending, Ending::Failed { .. }),
            document: serde_json::to_vec(&NodeResult {
                outcome,
                trial: self.trial,
                played_back: false,
            })?,
        })
    }
}

/// The key of the build that `content` is; none of servers as packaged, sources and data.
fn build_of(content: &Content) -> Option<&str> {
    let name = content.path.strip_prefix("builds/")?;
    (!name.contains('/')).then_some(name)
}

/// The machine to itself among the workers that share it.
fn alone(cache: &Cache, cancel: &Cancel) -> Result<impl Drop + use<>> {
    loop {
        if let Some(lock) = cache.try_lock(TURN)? {
            return Ok(lock);
        }
        cancel.check()?;
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    use niagara_fleet::content::{Packer, publish};
    use niagara_load::WorkloadSpec;
    use niagara_model::Phase;
    use niagara_stats::InterferenceSlope;

    use super::*;
    use crate::plans::spec::DuelSettings;
    use crate::variants::variant::Variant;

    /// A duel of servers that nobody has.
    fn order() -> OrderDocument {
        OrderDocument {
            spec: DuelSpec {
                seq: 0,
                phase: Phase::Compare,
                subject: String::new(),
                variants: [Variant::base("/nowhere/a"), Variant::base("/nowhere/b")],
                load: Load {
                    workload: WorkloadSpec::default(),
                    engine: "InnoDB".to_owned(),
                    threads: 4,
                },
                duel_settings: DuelSettings {
                    couples: 4,
                    slice_seconds: 0.1,
                    ramp_seconds: 0.0,
                    warm_up_seconds: 0.0,
                    disturbance: 0.05,
                },
                seed: 7,
                interference_slope: InterferenceSlope::default(),
                rate: None,
            },
            protocol: Protocol::Duel,
            content: Vec::new(),
            installs: [None, None],
            trial: false,
        }
    }

    /// A worker whose folders are in `place`.
    fn options(place: &std::path::Path) -> NodeOptions {
        NodeOptions {
            worker: WorkerOptions {
                folder: place.join("shared"),
                name: "w1".to_owned(),
                node: "n1".to_owned(),
                patience: Duration::from_secs(1),
                beat: Duration::from_secs(1),
                margin: 0.0,
                program: String::new(),
            },
            cache: place.join("cache"),
            servers: Vec::new(),
            replay: None,
            one_at_a_time: false,
        }
    }

    /// A build that is packed in the shared folder of a worker.
    fn packed_build(options: &NodeOptions, head: &std::path::Path, key: &str) -> Content {
        let path = format!("builds/{key}");
        std::fs::create_dir_all(head.join(&path)).expect("made");
        // No record that can be read: whatever its age, every `gc` removes such a build.
        std::fs::write(head.join(&path).join("recipe.json"), "{}").expect("written");
        let shared = &options.worker.folder;
        std::fs::create_dir_all(shared).expect("made");
        let mut waiting = Waiting {
            patience: Duration::from_secs(1),
            stop: &|| false,
            tell: &mut |_| {},
        };
        let packed = publish(shared, head, &path, Packer::Head, &mut waiting);
        packed.expect("room").expect("not stopped")
    }

    #[test]
    fn a_build_that_a_worker_was_given_stays_as_long_as_the_worker_works() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let options = options(place.path());
        let key = "0123456789abcdef";
        let content = packed_build(&options, &place.path().join("head"), key);
        assert_eq!(build_of(&content), Some(key));
        let source = Content {
            path: "builds/sources/mariadb".to_owned(),
            ..content.clone()
        };
        assert_eq!(build_of(&source), None);

        let mut node = Node::new(&options, Cancel::default());
        node.place(std::slice::from_ref(&content)).expect("copied");
        node.place(&[content]).expect("there");
        assert_eq!(node.in_use.len(), 1);
        // Somebody cleans up on the node.
        let store = BuildStore::new(&Cache::at(&options.cache).expect("there"));
        let collected = store.gc(Duration::ZERO).expect("readable");
        assert_eq!((collected.builds, collected.in_use), (0, 1));
        let error = store.remove(key).expect_err("a worker uses it");
        assert!(error.to_string().contains("used right now"), "{error:#}");
        drop(node);
        let collected = store.gc(Duration::ZERO).expect("readable");
        assert_eq!((collected.builds, collected.in_use), (1, 0));
    }

    #[test]
    fn an_attempt_that_was_withdrawn_does_not_stop_the_next_one_from_being_set_up() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let options = options(place.path());
        let stop = Cancel::default();
        let mut node = Node::new(&options, stop.clone());
        let order = order();
        node.set_up(&order).expect_err("there is no such server");
        // As a duel leaves it behind that is not wanted any more.
        let withdrawn = Cancel::default();
        withdrawn.cancel();
        node.benches[0].0.stopped_by(withdrawn);
        node.set_up(&order).expect_err("there is no such server");
        assert_eq!(node.benches.len(), 1, "the same load");
        let bench = &node.benches[0].0;
        assert!(!bench.cancel().is_cancelled(), "that was another attempt");
        // What is told to the worker stops what is set up.
        stop.cancel();
        assert!(bench.cancel().is_cancelled());
    }
}
