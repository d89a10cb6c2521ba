//! Who runs which duel: the head's state, a function of the lines of its log, and what follows from it. No clock, no file.

use std::collections::{BTreeMap, BTreeSet};

use niagara_error::{Explanation, problem};
use niagara_model::NodeReason;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::machine::Machine;
use crate::message::{Attempt, HeadLine, name_of};

/// Losses after which a duel is not tried again.
pub const MAX_LOSSES: usize = 3;
/// Failures after which a node gets no more duels.
pub const MAX_FAILURES: usize = 2;

/// What became of a duel so far.
#[derive(Debug, Clone, PartialEq)]
enum State {
    Waiting,
    Granted(String),
    Taken { worker: String, node: String },
}

#[derive(Debug, Clone)]
struct Duel {
    index: u64,
    epoch: u32,
    state: State,
    /// Node and reason of every attempt that was lost after it had begun.
    losses: Vec<(String, NodeReason)>,
}

#[derive(Debug, Clone)]
struct Worker {
    node: String,
    machine: Machine,
    /// Of all workers, in the order of their arrival.
    number: usize,
    /// It may be given duels.
    open: bool,
    fenced: bool,
    /// It has ended.
    gone: bool,
    holds: BTreeSet<String>,
}

/// Where the result of a duel stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The attempt that counts.
    pub attempt: Attempt,
    /// Whose it was.
    pub worker: String,
    /// Where.
    pub node: String,
}

/// All duels, workers and nodes that the head's log speaks of.
#[derive(Debug, Default)]
pub struct AssignmentState {
    seed: u64,
    /// Duels that a worker holds at most, the one that it runs among them.
    held: usize,
    duels: BTreeMap<String, Duel>,
    workers: BTreeMap<String, Worker>,
    failures: BTreeMap<String, Vec<NodeReason>>,
    aside: BTreeSet<String>,
    grants: u64,
    /// Duels that are wanted now, in the order of their need.
    order: Vec<String>,
}

impl AssignmentState {
    /// With nothing on it; a worker holds `held` duels at most; `seed` decides who gets which duel among workers that hold
    /// equally many.
    pub fn new(seed: u64, held: usize) -> Self {
        Self {
            seed,
            held,
            ..Self::default()
        }
    }

    /// Takes over a line of the head's log.
    pub fn apply(&mut self, line: &HeadLine) {
        match line {
            HeadLine::Wanted { duel, index, .. } => self.wanted(duel, *index),
            HeadLine::Granted { attempt, worker } => self.granted(attempt, worker),
            HeadLine::Withdrawn {
                attempt,
                node,
                why,
                begun,
                ..
            } => {
                if self.holder(attempt).is_none() {
                    return;
                }
                let duel = self.release(&attempt.duel, State::Waiting);
                if let (Some(duel), true) = (duel, *begun) {
                    duel.losses.push((node.clone(), why.clone()));
                }
            }
            HeadLine::Taken {
                attempt,
                worker,
                node,
                ..
            } => {
                let (worker, node) = (worker.clone(), node.clone());
                self.release(&attempt.duel, State::Taken { worker, node });
            }
            HeadLine::Arrived {
                worker,
                node,
                machine,
            } => self.arrived(worker, node, machine),
            HeadLine::Silent { worker } => {
                if let Some(worker) = self.workers.get_mut(worker) {
                    worker.open = false;
                }
            }
            HeadLine::Fenced { worker, .. } => {
                if let Some(worker) = self.workers.get_mut(worker) {
                    (worker.open, worker.fenced) = (false, true);
                }
            }
            HeadLine::Gone { worker, .. } => {
                if let Some(worker) = self.workers.get_mut(worker) {
                    (worker.open, worker.gone) = (false, true);
                }
            }
            HeadLine::Failed { node, why } => {
                self.failures
                    .entry(node.clone())
                    .or_default()
                    .push(why.clone());
            }
            HeadLine::SetAside { node, .. } => {
                self.aside.insert(node.clone());
            }
            // Whoever continues has seen to what went wrong: nodes and duels are tried again.
            HeadLine::Opened { .. } => {
                self.failures.clear();
                self.aside.clear();
                for duel in self.duels.values_mut() {
                    duel.losses.clear();
                }
            }
            HeadLine::Submitted { .. }
            | HeadLine::Shares { .. }
            | HeadLine::Stale { .. }
            | HeadLine::Alive
            | HeadLine::Ended => {}
        }
    }

    fn wanted(&mut self, duel: &str, index: u64) {
        self.duels.entry(duel.to_owned()).or_insert(Duel {
            index,
            epoch: 0,
            state: State::Waiting,
            losses: Vec::new(),
        });
    }

    fn arrived(&mut self, worker: &str, node: &str, machine: &Machine) {
        let number = self.workers.len();
        let known = self.workers.entry(worker.to_owned()).or_insert(Worker {
            node: node.to_owned(),
            machine: machine.clone(),
            number,
            open: true,
            fenced: false,
            gone: false,
            holds: BTreeSet::new(),
        });
        known.open = !known.gone && !known.fenced;
    }

    fn granted(&mut self, attempt: &Attempt, worker: &str) {
        self.grants += 1;
        if let Some(duel) = self.duels.get_mut(&attempt.duel) {
            duel.epoch = attempt.epoch;
            duel.state = State::Granted(worker.to_owned());
        }
        if let Some(worker) = self.workers.get_mut(worker) {
            worker.holds.insert(attempt.duel.clone());
        }
    }

    /// Takes a duel from whoever holds it.
    fn release(&mut self, duel: &str, state: State) -> Option<&mut Duel> {
        for worker in self.workers.values_mut() {
            worker.holds.remove(duel);
        }
        let duel = self.duels.get_mut(duel)?;
        duel.state = state;
        Some(duel)
    }

    /// From here on these duels are wanted, the most urgent first; others are not granted any more.
    pub fn want(&mut self, order: Vec<String>) {
        self.order = order;
    }

    /// Whether a duel was wanted before.
    pub fn knows(&self, duel: &str) -> bool {
        self.duels.contains_key(duel)
    }

    /// Wanted duels without a result.
    pub fn open_duels(&self) -> usize {
        let open = |duel: &&String| self.taken(duel).is_none();
        self.order.iter().filter(open).count()
    }

    /// Who holds this attempt, if it is the one that counts.
    pub fn holder(&self, attempt: &Attempt) -> Option<&str> {
        let duel = self.duels.get(&attempt.duel)?;
        match &duel.state {
            State::Granted(worker) if duel.epoch == attempt.epoch => Some(worker),
            _ => None,
        }
    }

    /// Where a duel's result stands; `None` while there is none.
    pub fn taken(&self, duel: &str) -> Option<Place> {
        let found = self.duels.get(duel)?;
        match &found.state {
            State::Taken { worker, node } => Some(Place {
                attempt: Attempt {
                    duel: duel.to_owned(),
                    epoch: found.epoch,
                },
                worker: worker.clone(),
                node: node.clone(),
            }),
            _ => None,
        }
    }

    /// The attempts that a worker holds.
    pub fn held_by(&self, worker: &str) -> Vec<Attempt> {
        let holds = self.workers.get(worker).map(|worker| &worker.holds);
        let attempt = |duel: &String| Attempt {
            duel: duel.clone(),
            epoch: self.duels.get(duel).map_or(0, |duel| duel.epoch),
        };
        holds.into_iter().flatten().map(attempt).collect()
    }

    /// Whether a worker was heard of.
    pub fn has_arrived(&self, worker: &str) -> bool {
        self.workers.contains_key(worker)
    }

    /// Whether a worker may be given duels.
    pub fn is_open(&self, worker: &str) -> bool {
        self.workers.get(worker).is_some_and(|worker| worker.open)
    }

    /// Whether a worker may be given duels now: on a machine that others work on, one goes first, and another follows once nothing
    /// is held by those that went before.
    fn has_turn(&self, name: &str, worker: &Worker) -> bool {
        let goes_first = |other: &Worker| {
            let is_served = other.open && !self.is_aside(&other.node);
            !other.holds.is_empty() || (is_served && other.number < worker.number)
        };
        let mut others = self.workers.iter().filter(|(other, _)| *other != name);
        let is_served = worker.open && !self.is_aside(&worker.node);
        is_served
            && !others
                .any(|(_, other)| other.machine.excludes(&worker.machine) && goes_first(other))
    }

    /// Of the workers that are there, the first to arrive whose machine this worker shares, and whether only one of the two may
    /// be given duels; `None` of a worker that came before them.
    pub fn shares_with(&self, worker: &str) -> Option<(&str, bool)> {
        let its = self.workers.get(worker)?;
        let others = self.workers.iter().filter(|(_, other)| {
            other.open && other.number < its.number && other.machine.is_shared_with(&its.machine)
        });
        let (name, other) = others.min_by_key(|(_, other)| other.number)?;
        Some((name, other.machine.excludes(&its.machine)))
    }

    /// Duels that can be run at the same time: of workers that share a machine only one runs a duel.
    pub fn abreast(&self) -> usize {
        let served = || {
            let workers = self.workers.values();
            workers.filter(|worker| worker.open && !self.is_aside(&worker.node))
        };
        let goes_first = |worker: &&Worker| {
            !served().any(|other| {
                other.number < worker.number && other.machine.is_shared_with(&worker.machine)
            })
        };
        served().filter(goes_first).count()
    }

    /// The machine that a worker said it is on.
    pub fn machine_of(&self, worker: &str) -> Machine {
        let known = self.workers.get(worker);
        known.map_or_else(Machine::default, |worker| worker.machine.clone())
    }

    /// Whether a worker gets no duels because nothing was heard of it.
    pub fn is_silent(&self, worker: &str) -> bool {
        let known = self.workers.get(worker);
        known.is_some_and(|worker| !worker.open && !worker.fenced && !worker.gone)
    }

    /// Whether a worker has ended.
    pub fn is_gone(&self, worker: &str) -> bool {
        self.workers.get(worker).is_some_and(|worker| worker.gone)
    }

    /// A worker's node.
    pub fn node_of(&self, worker: &str) -> &str {
        self.workers
            .get(worker)
            .map_or("?", |worker| worker.node.as_str())
    }

    /// All workers that were ever heard of.
    pub fn everybody(&self) -> impl Iterator<Item = &str> {
        self.workers.keys().map(String::as_str)
    }

    /// Workers that have not ended.
    pub fn workers(&self) -> impl Iterator<Item = &str> {
        let there = self.workers.iter().filter(|(_, worker)| !worker.gone);
        there.map(|(name, _)| name.as_str())
    }

    /// Nodes that get no more duels.
    pub fn nodes_aside(&self) -> impl Iterator<Item = &str> {
        self.aside.iter().map(String::as_str)
    }

    /// The incarnations of the same name before this one that do not count as ended yet.
    pub fn earlier_incarnations(&self, worker: &str) -> Vec<String> {
        let (name, number) = name_of(worker);
        let earlier = |other: &&String| {
            let (its_name, its_number) = name_of(other);
            its_name == name && its_number < number && !self.is_gone(other)
        };
        self.workers.keys().filter(earlier).cloned().collect()
    }

    /// Lines that withdraw all that a worker holds. `running` tells which of it had begun.
    pub fn withdraw(
        &self,
        worker: &str,
        why: &NodeReason,
        running: Option<&Attempt>,
    ) -> Vec<HeadLine> {
        let held = self.held_by(worker).into_iter();
        let line = |attempt: Attempt| HeadLine::Withdrawn {
            begun: running == Some(&attempt),
            attempt,
            worker: worker.to_owned(),
            node: self.node_of(worker).to_owned(),
            why: why.clone(),
        };
        held.map(line).collect()
    }

    /// Nodes that failed too often and are not set aside yet, each with what is said of it.
    pub fn failed_too_often(&self) -> Vec<(String, NodeReason)> {
        let fails = self.failures.iter();
        fails
            .filter(|(node, whys)| whys.len() >= MAX_FAILURES && !self.is_aside(node))
            .filter_map(|(node, whys)| {
                let why = NodeReason::FailedOften {
                    times: whys.len(),
                    last: Box::new(whys.last()?.clone()),
                };
                Some((node.clone(), why))
            })
            .collect()
    }

    /// Whether a node gets no more duels.
    pub fn is_aside(&self, node: &str) -> bool {
        self.aside.contains(node)
    }

    /// A wanted duel that was lost too often, with its losses in words.
    pub fn hopeless(&self) -> Option<Explanation> {
        let lost = self.order.iter().filter_map(|name| self.duels.get(name));
        let mut hopeless = lost.filter(|duel| {
            duel.losses.len() > MAX_LOSSES && !matches!(duel.state, State::Taken { .. })
        });
        let duel = hopeless.next()?;
        let told = duel.losses.iter();
        let told: Vec<String> = told.map(|(node, why)| format!("  {node}: {why}")).collect();
        let trouble = problem!(
            "duel {} was lost {} times:\n{}", duel.index, duel.losses.len(), told.join("\n");
            remedy: "see to what these say, then give the same command: it continues from here"
        );
        Some(trouble.into())
    }

    /// Lines that grant waiting duels: in their order, each to the worker that holds fewest, among equals by a permutation of
    /// the workers that is new in every round. A duel that was lost on a node goes to another one, if there is one.
    pub fn grant(&self) -> Vec<HeadLine> {
        let mut free: BTreeMap<&str, usize> = self
            .workers
            .iter()
            .filter(|(name, worker)| self.has_turn(name, worker))
            .map(|(name, worker)| (name.as_str(), worker.holds.len()))
            .collect();
        let count = free.len().max(1) as u64;
        let mut lines = Vec::new();
        for name in &self.order {
            let Some(duel) = self.duels.get(name) else {
                continue;
            };
            if duel.state != State::Waiting || duel.losses.len() > MAX_LOSSES {
                continue;
            }
            let round = (self.grants + lines.len() as u64) / count;
            let lost_here = |worker: &str| {
                let node = self.node_of(worker);
                duel.losses.iter().any(|(lost, _)| lost == node)
            };
            let rank = |worker: &str| xxh3_64_with_seed(worker.as_bytes(), self.seed ^ round);
            let Some(worker) = free
                .iter()
                .filter(|(_, held)| **held < self.held)
                .min_by_key(|(worker, held)| (lost_here(worker), **held, rank(worker)))
                .map(|(worker, _)| *worker)
            else {
                break;
            };
            // Better to wait for another node than to lose it here again, if there is one.
            if lost_here(worker) && free.keys().any(|other| !lost_here(other)) {
                continue;
            }
            *free.entry(worker).or_default() += 1;
            lines.push(HeadLine::Granted {
                attempt: Attempt {
                    duel: name.clone(),
                    epoch: duel.epoch + 1,
                },
                worker: worker.to_owned(),
            });
        }
        lines
    }

    /// Lines that withdraw granted duels that are not wanted any more.
    pub fn unwanted(&self) -> Vec<HeadLine> {
        let wanted: BTreeSet<&String> = self.order.iter().collect();
        let granted = self.duels.iter().filter_map(|(name, duel)| {
            let State::Granted(worker) = &duel.state else {
                return None;
            };
            (!wanted.contains(name)).then(|| HeadLine::Withdrawn {
                attempt: Attempt {
                    duel: name.clone(),
                    epoch: duel.epoch,
                },
                worker: worker.clone(),
                node: self.node_of(worker).to_owned(),
                why: NodeReason::NotWanted,
                begun: false,
            })
        });
        granted.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Sharing;

    const HELD: usize = 3;

    struct Table(AssignmentState);

    impl Table {
        fn new(workers: u32, duels: u64) -> Self {
            let mut table = Table(AssignmentState::new(7, HELD));
            for worker in 1..=workers {
                table.arrives(&format!("w{worker}.0"), Machine::default());
            }
            let names: Vec<String> = (0..duels).map(|index| format!("d{index}")).collect();
            for (index, duel) in names.iter().enumerate() {
                table.all(vec![HeadLine::Wanted {
                    duel: duel.clone(),
                    index: index as u64,
                    seconds: 1.0,
                }]);
            }
            table.0.want(names);
            table
        }

        /// On a node that is called as the worker is.
        fn arrives(&mut self, worker: &str, machine: Machine) {
            let (name, _) = name_of(worker);
            self.all(vec![HeadLine::Arrived {
                worker: worker.to_owned(),
                node: name.replace('w', "n"),
                machine,
            }]);
        }

        fn all(&mut self, lines: Vec<HeadLine>) -> usize {
            let count = lines.len();
            for line in lines {
                self.0.apply(&line);
            }
            count
        }

        fn grant(&mut self) -> usize {
            let lines = self.0.grant();
            self.all(lines)
        }

        fn take(&mut self, duel: &str) {
            let duel_state = self.0.duels[duel].clone();
            let State::Granted(worker) = duel_state.state else {
                panic!("{duel} is not granted");
            };
            let node = self.0.node_of(&worker).to_owned();
            self.all(vec![HeadLine::Taken {
                attempt: attempt(duel, duel_state.epoch),
                worker,
                node,
                load_seconds: 1.0,
            }]);
        }
    }

    fn disk() -> NodeReason {
        NodeReason::of("disk")
    }

    fn attempt(duel: &str, epoch: u32) -> Attempt {
        Attempt {
            duel: duel.to_owned(),
            epoch,
        }
    }

    #[test]
    fn every_block_of_duels_has_each_node_once() {
        let mut table = Table::new(4, 20);
        assert_eq!(table.grant(), 4 * HELD);
        let mut orders = BTreeSet::new();
        for block in 0..3 {
            let nodes: Vec<String> = (0..4)
                .map(|place| {
                    let holder = table
                        .0
                        .holder(&attempt(&format!("d{}", 4 * block + place), 1));
                    holder.expect("granted").to_owned()
                })
                .collect();
            let once: BTreeSet<&String> = nodes.iter().collect();
            assert_eq!(once.len(), 4, "{nodes:?}");
            orders.insert(nodes);
        }
        assert!(orders.len() > 1, "each block draws its own order");
        assert_eq!(table.grant(), 0, "nobody holds more than {HELD}");
        table.take("d0");
        assert_eq!(table.grant(), 1);
    }

    #[test]
    fn a_lost_duel_goes_elsewhere_and_the_first_attempt_counts_no_more() {
        let mut table = Table::new(2, 1);
        table.grant();
        let first = attempt("d0", 1);
        let worker = table.0.holder(&first).expect("granted").to_owned();
        let lines = table.0.withdraw(&worker, &NodeReason::Signal, Some(&first));
        table.all(lines);
        assert_eq!(table.0.holder(&first), None);
        table.grant();
        let other = table.0.holder(&attempt("d0", 2)).expect("again").to_owned();
        assert_ne!(other, worker);
        assert_eq!(table.0.holder(&first), None, "stale");
        table.take("d0");
        assert_eq!(
            table.0.taken("d0").map(|place| place.attempt.epoch),
            Some(2)
        );
        // A line that comes late changes nothing.
        table.all(vec![HeadLine::Withdrawn {
            attempt: attempt("d0", 2),
            worker: other,
            node: "n".into(),
            why: NodeReason::Signal,
            begun: true,
        }]);
        assert!(table.0.taken("d0").is_some());
    }

    #[test]
    fn a_duel_is_tried_again_three_times_and_no_more() {
        let mut table = Table::new(1, 1);
        for epoch in 1..=4 {
            assert_eq!(table.0.hopeless(), None);
            assert_eq!(table.grant(), 1, "attempt {epoch}");
            let lines = table
                .0
                .withdraw("w1.0", &disk(), Some(&attempt("d0", epoch)));
            table.all(lines);
        }
        assert_eq!(table.grant(), 0);
        let told = table.0.hopeless().expect("lost four times").to_string();
        assert!(
            told.contains("n1: disk") && told.contains("remedy"),
            "{told}"
        );
    }

    #[test]
    fn what_was_given_back_before_it_began_is_no_loss() {
        let mut table = Table::new(1, 3);
        for _ in 0..10 {
            assert_eq!(table.grant(), 3);
            let lines = table.0.withdraw("w1.0", &NodeReason::TimeLimitNear, None);
            assert_eq!(table.all(lines), 3);
        }
        assert_eq!(table.0.hopeless(), None);
    }

    #[test]
    fn a_node_that_fails_twice_is_set_aside() {
        let mut table = Table::new(2, 9);
        for failure in 0..2 {
            assert!(table.0.failed_too_often().is_empty(), "{failure}");
            table.all(vec![HeadLine::Failed {
                node: "n1".into(),
                why: disk(),
            }]);
        }
        let found = table.0.failed_too_often();
        let [(node, why)] = found.as_slice() else {
            panic!("{found:?}");
        };
        table.all(vec![HeadLine::SetAside {
            node: node.clone(),
            why: why.clone(),
        }]);
        assert!(table.0.failed_too_often().is_empty());
        table.grant();
        assert_eq!(table.0.held_by("w1.0"), []);
        assert_eq!(table.0.held_by("w2.0").len(), HELD);
        // A head that continues tries it again: somebody may have seen to it.
        table.all(vec![HeadLine::Opened {
            pid: 2,
            host: "login".into(),
        }]);
        assert!(!table.0.is_aside("n1") && table.0.failed_too_often().is_empty());
        table.grant();
        assert!(!table.0.held_by("w1.0").is_empty());
    }

    fn on_one_machine(sharing: Sharing) -> Machine {
        Machine {
            id: "one".into(),
            sharing,
        }
    }

    fn holding(table: &Table, worker: &str) -> usize {
        table.0.held_by(worker).len()
    }

    #[test]
    fn of_two_workers_on_one_machine_one_is_given_duels_at_a_time() {
        let mut table = Table::new(1, 20);
        for worker in ["w2.0", "w3.0"] {
            table.arrives(worker, on_one_machine(Sharing::Nobody));
        }
        assert_eq!(table.0.shares_with("w3.0"), Some(("w2.0", true)));
        assert_eq!(table.0.shares_with("w2.0"), None, "it came first");
        assert_eq!(table.0.abreast(), 2);
        table.grant();
        assert_eq!(holding(&table, "w1.0"), HELD, "on a machine of its own");
        assert_eq!(holding(&table, "w2.0"), HELD);
        assert_eq!(holding(&table, "w3.0"), 0);
        // It falls silent: its duels are taken from it, and the other one's turn comes.
        let mut lines = table.0.withdraw("w2.0", &NodeReason::Signal, None);
        lines.push(HeadLine::Silent {
            worker: "w2.0".into(),
        });
        table.all(lines);
        table.grant();
        assert_eq!(holding(&table, "w3.0"), HELD);
        assert_eq!(table.0.shares_with("w3.0"), None, "alone there");
        assert_eq!(table.0.abreast(), 2);
        // It is heard of again: it goes first, but not beside what is held already.
        table.arrives("w2.0", on_one_machine(Sharing::Nobody));
        for left in (0..HELD).rev() {
            assert_eq!(table.grant(), 0, "{left} more to come");
            let next = table.0.held_by("w3.0").remove(0).duel;
            table.take(&next);
            assert_eq!(holding(&table, "w3.0"), left);
        }
        table.grant();
        assert_eq!(holding(&table, "w2.0"), HELD);
        assert_eq!(holding(&table, "w3.0"), 0);
    }

    #[test]
    fn the_next_one_on_a_machine_follows_when_the_first_is_set_aside_or_gone() {
        for over in [
            HeadLine::Gone {
                worker: "w1.0".into(),
                held: 1.0,
            },
            HeadLine::SetAside {
                node: "n1".into(),
                why: disk(),
            },
        ] {
            let mut table = Table::new(0, 9);
            for worker in ["w1.0", "w2.0"] {
                table.arrives(worker, on_one_machine(Sharing::Nobody));
            }
            table.grant();
            assert_eq!(holding(&table, "w2.0"), 0);
            table.all(vec![over.clone()]);
            // Nothing at once: something may still run.
            assert_eq!(table.0.abreast(), 1, "{over:?}");
            table.grant();
            assert_eq!(holding(&table, "w2.0"), 0, "{over:?}");
            let lines = table.0.withdraw("w1.0", &NodeReason::Signal, None);
            table.all(lines);
            table.grant();
            assert_eq!(holding(&table, "w2.0"), HELD, "{over:?}");
        }
    }

    #[test]
    fn workers_that_take_turns_or_disturb_nobody_are_all_given_duels() {
        let turns = Sharing::Turns { lock: "8:1".into() };
        for (sharing, shares, abreast) in [
            (turns, Some(("w1.0", false)), 1),
            (Sharing::Everybody, None, 3),
        ] {
            let mut table = Table::new(0, 9);
            for worker in ["w1.0", "w2.0", "w3.0"] {
                table.arrives(worker, on_one_machine(sharing.clone()));
            }
            assert_eq!(table.grant(), 3 * HELD, "{sharing:?}");
            assert_eq!(table.0.shares_with("w3.0"), shares, "{sharing:?}");
            assert_eq!(table.0.abreast(), abreast, "{sharing:?}");
        }
    }

    #[test]
    fn a_duel_that_was_lost_beside_a_worker_that_waits_is_run_there_again() {
        let mut table = Table::new(0, 1);
        for worker in ["w1.0", "w2.0"] {
            table.arrives(worker, on_one_machine(Sharing::Nobody));
        }
        table.grant();
        let first = attempt("d0", 1);
        let lines = table.0.withdraw("w1.0", &NodeReason::Signal, Some(&first));
        table.all(lines);
        assert_eq!(table.grant(), 1, "the other node gets none meanwhile");
        assert_eq!(holding(&table, "w1.0"), 1);
    }

    #[test]
    fn a_log_read_again_makes_the_same_desk() {
        let mut table = Table::new(3, 12);
        let mut log = Vec::new();
        for round in 0..6 {
            let mut lines = table.0.grant();
            if round == 3 {
                lines.extend(table.0.withdraw("w2.0", &NodeReason::Signal, None));
            }
            log.extend(lines.clone());
            table.all(lines);
            let granted = (0..12).map(|index| format!("d{index}"));
            let first = granted
                .into_iter()
                .find(|duel| matches!(table.0.duels[duel].state, State::Granted(_)));
            if let Some(duel) = first {
                table.take(&duel);
                let place = table.0.taken(&duel).expect("just taken");
                log.push(HeadLine::Taken {
                    attempt: place.attempt,
                    worker: place.worker,
                    node: place.node,
                    load_seconds: 1.0,
                });
            }
        }
        let mut again = Table::new(3, 12);
        again.all(log);
        for index in 0..12 {
            let duel = format!("d{index}");
            assert_eq!(table.0.duels[&duel].state, again.0.duels[&duel].state);
            assert_eq!(table.0.duels[&duel].epoch, again.0.duels[&duel].epoch);
        }
    }

    #[test]
    fn duels_that_nobody_wants_are_withdrawn() {
        let mut table = Table::new(1, 3);
        table.grant();
        table.0.want(vec!["d1".into()]);
        let lines = table.0.unwanted();
        assert_eq!(table.all(lines), 2);
        assert_eq!(table.0.held_by("w1.0"), [attempt("d1", 1)]);
    }
}
