//! Everything that the head knows, and what it does in a round: its log is the truth, all else follows from it and from what
//! workers and Slurm say.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use niagara_error::{Explain as _, Explanation, problem};
use niagara_model::{NodeReason, NodeSeconds, NodeTrouble, SharedMachine};
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

use crate::cost::{Fate, account};
use crate::desk::AssignmentState;
use crate::folder::{Folder, StudyFile};
use crate::line::{FORMAT, Log, Tail, publish};
use crate::message::{Attempt, HeadLine, incarnation, name_of};
use crate::options::{Cluster, DuelResult, HeadOptions, Order};
use crate::queue::Queue;
use crate::room::{Remedy, Room, given_up};
use crate::submissions::Submissions;
use crate::watch::Watch;

/// How often the head says that it is there.
const BEAT: Duration = Duration::from_secs(10);
/// How often it is looked whether a worker was started again.
const AGAIN: Duration = Duration::from_millis(500);
/// A head that did nothing for this long stood in a call to the shared folder, or was stopped.
const STOOD: Duration = Duration::from_secs(5);
/// How long workers are given to end by themselves.
pub(crate) const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// Everything the head knows.
pub(crate) struct Coordinator {
    pub(crate) options: HeadOptions,
    pub(crate) folder: Folder,
    pub(crate) log: Log,
    /// The same log as others see it: another head may write into it, too.
    reign: Leadership,
    pub(crate) desk: AssignmentState,
    pub(crate) queue: Option<Arc<Queue>>,
    /// Arrays of this study, each with its number of tasks.
    pub(crate) jobs: BTreeMap<String, u32>,
    /// Those that were submitted in this sitting.
    pub(crate) own_jobs: BTreeSet<String>,
    /// Tasks that failed before their worker said anything, once that was noted.
    pub(crate) unheard: BTreeSet<String>,
    /// Names under which workers are expected.
    pub(crate) names: BTreeSet<String>,
    pub(crate) watches: BTreeMap<String, Watch>,
    pub(crate) notices: Vec<String>,
    /// What was told that is told once.
    pub(crate) told: BTreeSet<String>,
    pub(crate) set_aside: Vec<NodeTrouble>,
    pub(crate) losses: Vec<NodeTrouble>,
    /// Workers that were on a machine on which another one worked.
    pub(crate) on_one_machine: BTreeMap<String, SharedMachine>,
    /// Attempts that were withdrawn without being wanted any more.
    pub(crate) not_wanted: BTreeSet<Attempt>,
    pub(crate) withdrawn: BTreeSet<Attempt>,
    pub(crate) trouble: Option<Explanation>,
    /// What the study wants, as far as it does not stand in the folder yet.
    pub(crate) asked: Option<Vec<Order>>,
    /// Duels whose description is this head's.
    pub(crate) described: BTreeSet<String>,
    /// Nodes that the study wants no more duels from, each with its reason.
    pub(crate) unfit: BTreeMap<String, NodeReason>,
    /// The study has said what it wants: before, nothing is granted or withdrawn.
    pub(crate) has_orders: bool,
    pub(crate) ending: bool,
    /// Workers can read that the study has ended.
    pub(crate) ended: bool,
    pub(crate) beat: Option<Instant>,
    pub(crate) looked_again: Instant,
    pub(crate) room: Room,
    pub(crate) submissions: Submissions,
    pub(crate) results: usize,
    /// Since when the folder cannot be written.
    pub(crate) failing_since: Option<Instant>,
    /// Until when this head could not have heard its workers, or they not have written: nobody's silence began before.
    pub(crate) deaf_until: Instant,
    /// When it last did something.
    pub(crate) stirred: Instant,
    pub(crate) running_since: BTreeMap<String, Instant>,
    pub(crate) not_alive_since: BTreeMap<String, Instant>,
}

impl Coordinator {
    pub(crate) fn open(options: HeadOptions) -> anyhow::Result<Self> {
        let folder = Folder::at(&options.folder);
        folder.open(&StudyFile {
            format: FORMAT,
            key: options.key.clone(),
            seed: options.seed,
        })?;
        let path = folder.head_log();
        let mut tail = Tail::of(path.clone());
        let lines: Vec<HeadLine> = tail.lines()?;
        let log = Log::go_on(&path).with_context(|| format!("cannot write {}", path.display()))?;
        let (queue, names) = match &options.cluster {
            Cluster::Slurm(slurm) => {
                let name = job_name(&options);
                let queue = Queue::begin(slurm.clone(), &name, &options.folder)?;
                (Some(Arc::new(queue)), BTreeSet::new())
            }
            Cluster::Others(count) => (None, (1..=*count).map(|n| format!("w{n}")).collect()),
        };
        let mut office = Self {
            desk: AssignmentState::new(options.seed, options.held),
            folder,
            log,
            reign: Leadership::of(tail),
            queue,
            jobs: BTreeMap::new(),
            own_jobs: BTreeSet::new(),
            unheard: BTreeSet::new(),
            names,
            watches: BTreeMap::new(),
            notices: Vec::new(),
            told: BTreeSet::new(),
            set_aside: Vec::new(),
            losses: Vec::new(),
            on_one_machine: BTreeMap::new(),
            not_wanted: BTreeSet::new(),
            withdrawn: BTreeSet::new(),
            trouble: None,
            asked: None,
            described: BTreeSet::new(),
            unfit: BTreeMap::new(),
            has_orders: false,
            ending: false,
            ended: false,
            beat: None,
            looked_again: Instant::now(),
            room: Room::new(),
            submissions: Submissions::default(),
            results: 0,
            failing_since: None,
            deaf_until: Instant::now(),
            stirred: Instant::now(),
            running_since: BTreeMap::new(),
            not_alive_since: BTreeMap::new(),
            options,
        };
        for line in &lines {
            office.apply(line);
        }
        // Those that are gone, too: their seconds are of this study.
        let known: Vec<String> = office.desk.everybody().map(str::to_owned).collect();
        for worker in known {
            office.recall(&worker);
        }
        for line in &lines {
            if let HeadLine::Gone { worker, held } = line
                && let Some(watch) = office.watches.get_mut(worker)
            {
                watch.held = Some(*held);
            }
        }
        office.write(HeadLine::Opened {
            pid: std::process::id(),
            host: crate::host(),
        })?;
        Ok(office)
    }

    /// Takes over a line of the own log.
    pub(crate) fn apply(&mut self, line: &HeadLine) {
        self.desk.apply(line);
        match line {
            HeadLine::Submitted { job, tasks } => {
                self.jobs.insert(job.clone(), *tasks);
                let names = (1..=*tasks).map(|task| format!("{job}_{task}"));
                self.names.extend(names);
            }
            HeadLine::Opened { .. } => self.ended = false,
            HeadLine::Ended => self.ended = true,
            HeadLine::Taken { .. } => self.results += 1,
            HeadLine::Withdrawn {
                attempt,
                node,
                why,
                begun,
                ..
            } => {
                if *why == NodeReason::NotWanted {
                    self.not_wanted.insert(attempt.clone());
                } else {
                    self.withdrawn.insert(attempt.clone());
                }
                if *begun {
                    self.losses.push(NodeTrouble {
                        node: node.clone(),
                        reason: why.clone(),
                    });
                }
            }
            HeadLine::SetAside { node, why } => self.set_aside.push(NodeTrouble {
                node: node.clone(),
                reason: why.clone(),
            }),
            HeadLine::Shares {
                worker,
                node,
                with,
                with_node,
                turns,
            } => {
                let shared = SharedMachine {
                    worker: name_of(worker).0.to_owned(),
                    node: node.clone(),
                    with: name_of(with).0.to_owned(),
                    with_node: with_node.clone(),
                    turns: *turns,
                };
                self.on_one_machine.insert(worker.clone(), shared);
            }
            HeadLine::Gone { worker, held } => {
                if let Some(watch) = self.watches.get_mut(worker) {
                    watch.held = Some(*held);
                }
            }
            _ => {}
        }
    }

    /// Writes a line, and takes it over once it stands.
    pub(crate) fn write(&mut self, line: HeadLine) -> anyhow::Result<()> {
        self.log.append(&line)?;
        self.apply(&line);
        Ok(())
    }

    pub(crate) fn write_all(&mut self, lines: Vec<HeadLine>) -> anyhow::Result<()> {
        lines.into_iter().try_for_each(|line| self.write(line))
    }

    /// Tells what happened.
    pub(crate) fn notice(&mut self, text: String) {
        self.notices.push(text);
    }

    /// Tells what is so, however often it is found again.
    pub(crate) fn notice_once(&mut self, text: String) {
        if self.told.insert(text.clone()) {
            self.notices.push(text);
        }
    }

    /// From here on these duels are wanted. What cannot be written now is written in one of the next rounds.
    pub(crate) fn want(&mut self, orders: &[Order]) {
        if self.is_succeeded() {
            return;
        }
        self.asked = Some(orders.to_vec());
        if let Err(error) = self.write_orders() {
            self.cannot(&error);
        }
    }

    fn write_orders(&mut self) -> anyhow::Result<()> {
        let Some(orders) = self.asked.take() else {
            return Ok(());
        };
        let written = orders.iter().try_for_each(|order| self.write_order(order));
        if written.is_err() {
            self.asked = Some(orders);
            return written;
        }
        self.desk
            .want(orders.into_iter().map(|order| order.duel).collect());
        self.has_orders = true;
        Ok(())
    }

    fn write_order(&mut self, order: &Order) -> anyhow::Result<()> {
        let known = self.desk.knows(&order.duel);
        let described = self.described.contains(&order.duel);
        if known && (described || self.desk.taken(&order.duel).is_some()) {
            return Ok(());
        }
        let path = self.folder.order(&order.duel);
        let document = order.document.to_string();
        // A head before this one may have described it by archives that went with that head.
        let stands = known && std::fs::read(&path).is_ok_and(|there| there == document.as_bytes());
        if !stands {
            publish(&path, document.as_bytes())?;
        }
        self.described.insert(order.duel.clone());
        if known {
            return Ok(());
        }
        self.write(HeadLine::Wanted {
            duel: order.duel.clone(),
            index: order.index,
            seconds: order.seconds,
        })
    }

    /// The folder cannot be written: that is tried again, for a while, where it may pass by itself.
    fn cannot(&mut self, error: &anyhow::Error) {
        let since = *self.failing_since.get_or_insert_with(Instant::now);
        let Remedy { text, at_once } = Remedy::of(error, &self.options.folder);
        if at_once {
            self.trouble = Some(error.explain().remedy(text));
            return;
        }
        self.notice_once(format!(
            "{error:#}: workers keep what they have, trying again"
        ));
        if since.elapsed() > self.options.patience {
            self.trouble = Some(given_up(error, &self.options.folder, since.elapsed()));
        }
    }

    pub(crate) fn result(&self, duel: &str) -> anyhow::Result<Option<DuelResult>> {
        let Some(place) = self.desk.taken(duel) else {
            return Ok(None);
        };
        let path = self.folder.result(&place.worker, &place.attempt);
        let document = std::fs::read(&path)
            .with_context(|| format!("cannot read the result {}", path.display()))?;
        let machine = self.desk.machine_of(&place.worker);
        Ok(Some(DuelResult {
            document,
            attempt: place.attempt,
            machine: machine.known_by().to_owned(),
            worker: place.worker,
            node: place.node,
        }))
    }

    pub(crate) fn trouble(&self) -> Option<Explanation> {
        self.trouble.clone().or_else(|| self.desk.hopeless())
    }

    /// Whether a worker that gets duels runs one, as far as was heard.
    pub(crate) fn is_duel_run(&self) -> bool {
        let mut open = self.desk.workers().filter(|name| self.desk.is_open(name));
        open.any(|name| {
            let watch = self.watches.get(name);
            watch.is_some_and(|watch| watch.running.is_some())
        })
    }

    pub(crate) fn is_somebody_there(&self) -> bool {
        let mut there = self.desk.workers();
        there.any(|worker| {
            let watch = self.watches.get(worker);
            watch.is_some_and(|watch| watch.heard.elapsed() < STOP_TIMEOUT)
        })
    }

    /// Whether another head continues this study: then nothing is this one's to say or to end any more.
    pub(crate) fn is_succeeded(&mut self) -> bool {
        if let Some(by) = self.reign.successor() {
            let folder = self.options.folder.display();
            let trouble = problem!(
                "another head, {by}, has begun to continue this study in {folder}, and has its workers now";
                remedy: "let that one go on, or stop it and give this command again; two studies at the same time take a folder \
                 each (--shared)"
            );
            self.trouble.get_or_insert(trouble.into());
            return true;
        }
        false
    }

    /// One round. What cannot be written now is decided again in the next one.
    pub(crate) fn step(&mut self) {
        self.stir();
        if self.is_due() && self.is_succeeded() {
            return;
        }
        if let Some(told) = self.room.look(&self.options.folder) {
            self.notices.push(told);
        }
        match self.round() {
            Ok(()) => self.failing_since = None,
            Err(error) => {
                self.cannot(&error);
                // What the head cannot write workers could not either; some try again later than the head does.
                self.deaf_until = Instant::now();
            }
        }
        self.stir();
    }

    /// Sees that the head itself stood still: workers whose logs were not read, or could not be, are not silent for that.
    pub(crate) fn stir(&mut self) {
        if self.stirred.elapsed() > STOOD {
            self.deaf_until = Instant::now();
        }
        self.stirred = Instant::now();
    }

    /// Whether it is time to say that it is there, and to see whether another head is.
    fn is_due(&self) -> bool {
        self.beat.is_none_or(|beat| beat.elapsed() >= BEAT)
    }

    pub(crate) fn round(&mut self) -> anyhow::Result<()> {
        if self.is_due() {
            self.write(HeadLine::Alive)?;
            self.beat = Some(Instant::now());
        }
        if self.ending && !self.ended {
            self.write(HeadLine::Ended)?;
        }
        self.look_for_workers();
        let workers: Vec<String> = self.watches.keys().cloned().collect();
        for worker in &workers {
            self.hear(worker)?;
        }
        for worker in &workers {
            self.miss(worker)?;
            self.note_sharing(worker)?;
        }
        self.tend_queue()?;
        let unfit = self.unfit.clone();
        for (node, why) in unfit.into_iter().chain(self.desk.failed_too_often()) {
            self.set_aside_for(&node, &why)?;
        }
        self.let_go(&workers)?;
        self.write_orders()?;
        if self.has_orders && !self.ending {
            self.write_all(self.desk.unwanted())?;
            self.write_all(self.desk.grant())?;
        }
        Ok(())
    }

    /// A node gets no more duels.
    fn set_aside_for(&mut self, node: &str, why: &NodeReason) -> anyhow::Result<()> {
        if self.desk.is_aside(node) {
            return Ok(());
        }
        self.write(HeadLine::SetAside {
            node: node.to_owned(),
            why: why.clone(),
        })?;
        self.notice(format!("{node} gets no more duels: {why}"));
        Ok(())
    }

    /// Workers on nodes that were set aside finish what they run, and end: nobody holds a node for nothing.
    fn let_go(&mut self, workers: &[String]) -> anyhow::Result<()> {
        for worker in workers {
            if !self.desk.is_open(worker) || !self.desk.is_aside(self.desk.node_of(worker)) {
                continue;
            }
            let watch = self.watches.get(worker);
            let running = watch.and_then(|watch| watch.running.clone());
            let ahead = self.desk.withdraw(worker, &NodeReason::NodeSetAside, None);
            let ahead = ahead.into_iter().filter(|line| match line {
                HeadLine::Withdrawn { attempt, .. } => Some(attempt) != running.as_ref(),
                _ => true,
            });
            self.write_all(ahead.collect())?;
            if self.desk.held_by(worker).is_empty() {
                self.fence(worker, &NodeReason::NodeSetAside)?;
            }
        }
        Ok(())
    }

    /// Watches a worker that the head before this one knew. What it said until now is no sign that it is there.
    fn recall(&mut self, worker: &str) {
        self.watch(worker);
        let silent = self.desk.is_silent(worker);
        if let Some(watch) = self.watches.get_mut(worker) {
            watch.read();
            watch.node = self.desk.node_of(worker).to_owned();
            watch.silent = silent;
        }
    }

    pub(crate) fn watch(&mut self, worker: &str) {
        let path = self.folder.worker_log(worker);
        let watch = || Watch::of(Tail::of(path));
        self.watches.entry(worker.to_owned()).or_insert_with(watch);
    }

    /// Looks for the first line of workers that are expected, and of later incarnations of those that are there.
    pub(crate) fn look_for_workers(&mut self) {
        let again = self.looked_again.elapsed() >= AGAIN;
        if again {
            self.looked_again = Instant::now();
        }
        let mut next: BTreeMap<&str, u32> =
            self.names.iter().map(|name| (name.as_str(), 0)).collect();
        for worker in self.watches.keys() {
            let (name, number) = name_of(worker);
            let first = next.entry(name).or_default();
            *first = (*first).max(number + 1);
        }
        let wanted: Vec<(String, u32)> = next
            .into_iter()
            // A network file system remembers for a while that a file was not there: ask when it will be.
            .filter(|(name, number)| {
                again
                    && (*number > 0
                        || self.queue.is_none()
                        || self.running_since.contains_key(*name))
            })
            .map(|(name, number)| (name.to_owned(), number))
            .collect();
        for (name, first) in wanted {
            // Whoever was killed before its first line left a folder without a log: the next one stands behind it.
            let claimed = (first..)
                .map(|number| incarnation(&name, number))
                .take_while(|worker| self.folder.worker(worker).exists());
            let mut claimed = claimed.filter(|worker| self.folder.worker_log(worker).exists());
            if let Some(worker) = claimed.next() {
                self.watch(&worker);
            }
        }
    }

    pub(crate) fn cost(&self, counts: impl Fn(&str) -> bool) -> BTreeMap<String, NodeSeconds> {
        let fate = |attempt: &Attempt| {
            let taken = self.desk.taken(&attempt.duel);
            let is_taken = taken.is_some_and(|place| place.attempt == *attempt);
            if is_taken && counts(&attempt.duel) {
                Fate::Counts
            } else if is_taken || self.not_wanted.contains(attempt) {
                Fate::NotNeeded
            } else if self.withdrawn.contains(attempt) {
                Fate::Lost
            } else {
                // Cut off by the study's end.
                Fate::NotNeeded
            }
        };
        let watched = self
            .watches
            .iter()
            .filter(|(_, watch)| !watch.lines.is_empty());
        watched
            .map(|(worker, watch)| {
                let ended = watch.held.unwrap_or_else(|| watch.held_until_now());
                (worker.clone(), account(&watch.lines, ended, fate))
            })
            .collect()
    }
}

/// Whose log it is: of two heads the one that opened it last.
struct Leadership {
    tail: Tail,
    /// Process and host of the head that opened it last, since it was read to its end.
    last: Option<(u32, String)>,
}

impl Leadership {
    /// Of a log that was read to its end and that this head is about to open.
    fn of(tail: Tail) -> Self {
        Self { tail, last: None }
    }

    /// The head that opened it after this one, if one has. A log that cannot be read says nothing.
    fn successor(&mut self) -> Option<String> {
        for line in self.tail.lines().unwrap_or_default() {
            if let HeadLine::Opened { pid, host } = line {
                self.last = Some((pid, host));
            }
        }
        let (pid, host) = self.last.as_ref()?;
        let is_this = *pid == std::process::id() && *host == crate::host();
        (!is_this).then(|| format!("process {pid} on {host}"))
    }
}

/// The name of a study's jobs.
fn job_name(options: &HeadOptions) -> String {
    #[derive(Serialize)]
    struct Name<'a>(&'a str, &'a std::path::Path);
    let text = serde_json::to_vec(&Name(&options.key, &options.folder)).unwrap_or_default();
    format!("niagara-{:08x}", xxh3_64(&text) as u32)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn open(folder: &std::path::Path) -> Coordinator {
        Coordinator::open(HeadOptions {
            folder: folder.to_owned(),
            key: "key".into(),
            seed: 3,
            cluster: Cluster::Others(2),
            silence: Duration::from_secs(600),
            held: 3,
            patience: Duration::from_secs(60),
            program: String::new(),
        })
        .expect("a folder of its own")
    }

    /// A head whose terminal was lost and that is believed dead, and another one for it on another login node.
    #[test]
    fn of_two_heads_the_later_one_has_the_study() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let folder = place.path().join("shared");
        let path = Folder::at(&folder).head_log();
        let opened = |pid: u32, host: &str| {
            let mut log = Log::go_on(&path).expect("there");
            let host = host.to_owned();
            log.append(&HeadLine::Opened { pid, host }).expect("room");
        };
        let written = || std::fs::read_to_string(&path).expect("written");
        let order = Order {
            duel: "d0".into(),
            index: 0,
            seconds: 1.0,
            document: json!({}),
        };
        std::fs::create_dir_all(&folder).expect("made");
        // The head before this one is none beside it.
        opened(7, "login1");
        let mut office = open(&folder);
        office.want(&[order]);
        for _ in 0..3 {
            office.beat = None;
            office.step();
        }
        assert_eq!(office.trouble(), None);
        opened(7, "login2");
        let before = written();
        office.ending = true;
        for _ in 0..2 {
            office.beat = None;
            office.step();
        }
        let told = office.trouble().expect("it is not alone").to_string();
        assert!(
            told.contains("process 7 on login2") && told.contains("remedy"),
            "{told}"
        );
        assert!(office.is_succeeded());
        office.want(&[]);
        // No word of it reaches the workers, not even that the study has ended.
        assert_eq!(written(), before);
    }

    #[test]
    fn a_head_that_continues_describes_duels_by_what_it_packed_itself() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let folder = place.path().join("shared");
        let order = |content: &str| Order {
            duel: "d0".into(),
            index: 0,
            seconds: 1.0,
            document: json!({ "content": content }),
        };
        let described = || std::fs::read_to_string(Folder::at(&folder).order("d0"));
        let mut office = open(&folder);
        office.want(&[order("first")]);
        drop(office);
        let mut office = open(&folder);
        office.want(&[order("second")]);
        assert!(office.failing_since.is_none());
        let text = described().expect("there");
        assert!(text.contains("second"), "{text}");
        let log = std::fs::read_to_string(folder.join("head.jsonl")).expect("written");
        assert_eq!(log.matches(r#""what":"wanted""#).count(), 1, "{log}");
        // What has a result is not described any more.
        office
            .write(HeadLine::Taken {
                attempt: Attempt {
                    duel: "d0".into(),
                    epoch: 1,
                },
                worker: "w1.0".into(),
                node: "n1".into(),
                load_seconds: 1.0,
            })
            .expect("room");
        drop(office);
        let mut office = open(&folder);
        office.want(&[order("third")]);
        let text = described().expect("there");
        assert!(text.contains("second"), "{text}");
    }
}
