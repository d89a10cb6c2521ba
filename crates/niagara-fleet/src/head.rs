//! The head: grants duels, takes results, replaces workers. It runs in a thread of its own, so that workers hear of it
//! whatever the study does meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde::Serialize;
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

use crate::cost::{Cost, Fate, account};
use crate::desk::Desk;
use crate::folder::{Folder, StudyFile};
use crate::line::{FORMAT, Log, Tail, publish};
use crate::message::{Attempt, Doing, HeadLine, Said, WorkerLine, incarnation, name_of};
use crate::queue::Queue;
use crate::slurm::{SlurmOptions, queue_in_words};
use crate::watch::Watch;

/// How often the workers' logs are read.
const LOOK: Duration = Duration::from_millis(200);
/// How often the head says that it is there.
const BEAT: Duration = Duration::from_secs(10);
/// How often it is looked whether a worker was started again.
const AGAIN: Duration = Duration::from_millis(500);
/// How long workers are given to end by themselves.
const GRACE: Duration = Duration::from_secs(10);
/// How long a job may run before its worker's first line is missed.
const UNSEEN: Duration = Duration::from_secs(150);
/// Submissions in a row that brought no result, after which no more are made.
const MAX_FRUITLESS: u32 = 3;
/// Pause between submissions; doubled by each that brought no result.
const PAUSE: Duration = Duration::from_secs(20);
/// What an attempt is withdrawn for that nobody is to blame for.
const NOT_WANTED: &str = "not wanted any more";

/// Where workers come from.
#[derive(Debug, Clone)]
pub enum Cluster {
    /// Slurm starts them.
    Slurm(SlurmOptions),
    /// Somebody else does: they are called w1 to this.
    Others(u32),
}

/// What a head is opened with.
#[derive(Debug, Clone)]
pub struct HeadOptions {
    /// The shared folder.
    pub folder: PathBuf,
    /// The study's key.
    pub key: String,
    /// The study's seed.
    pub seed: u64,
    /// Where workers come from.
    pub cluster: Cluster,
    /// How long a worker may be silent before what it holds is granted to others.
    pub silence: Duration,
    /// How long a full folder is waited for.
    pub patience: Duration,
}

/// A duel that is wanted.
#[derive(Debug, Clone)]
pub struct Order {
    /// Its name: everything that decides it, in a hash.
    pub duel: String,
    /// Its index within its comparison, for people.
    pub index: u64,
    /// About how long it takes, seconds.
    pub seconds: f64,
    /// What a worker needs to run it.
    pub document: Value,
}

/// The result of a duel.
#[derive(Debug, Clone)]
pub struct Result {
    /// The document that the worker wrote.
    pub document: Vec<u8>,
    /// The attempt that counts.
    pub attempt: Attempt,
    /// Whose it was.
    pub worker: String,
    /// Where.
    pub node: String,
}

/// A head at work.
pub struct Head {
    desk: Arc<Mutex<Office>>,
    over: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
    /// Microseconds of waiting in which there was no worker.
    unattended: AtomicU64,
}

impl Head {
    /// Opens the shared folder, or goes on in it: workers that are there are adopted, results that came are taken.
    ///
    /// # Errors
    /// The folder is another study's or cannot be written; Slurm does not answer.
    pub fn open(options: HeadOptions) -> anyhow::Result<Self> {
        let office = Arc::new(Mutex::new(Office::open(options)?));
        let over = Arc::new(AtomicBool::new(false));
        let thread = {
            let (office, over) = (Arc::clone(&office), Arc::clone(&over));
            std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    lock(&office).step();
                    std::thread::sleep(LOOK);
                }
            })
        };
        Ok(Self {
            desk: office,
            over,
            thread: Some(thread),
            unattended: AtomicU64::new(0),
        })
    }

    fn office(&self) -> MutexGuard<'_, Office> {
        lock(&self.desk)
    }

    /// From here on these duels are wanted, the most urgent first. Those that run and are not among them are stopped.
    ///
    /// # Errors
    /// Their descriptions cannot be written.
    pub fn want(&self, orders: &[Order]) -> anyhow::Result<()> {
        self.office().want(orders)
    }

    /// Waits for a duel that is wanted. `tell` gets what is worth telling; `None` once `stop` says so.
    ///
    /// # Errors
    /// The duel was lost too often; the folder cannot be written; Slurm takes no jobs.
    pub fn wait(
        &self,
        duel: &str,
        stop: &dyn Fn() -> bool,
        tell: &mut dyn FnMut(&str),
    ) -> anyhow::Result<Option<Result>> {
        let mut looked = Instant::now();
        loop {
            {
                let mut office = self.office();
                let passed = looked.elapsed();
                looked = Instant::now();
                if office.open_workers() == 0 {
                    let passed = passed.as_micros() as u64;
                    self.unattended.fetch_add(passed, Ordering::Relaxed);
                }
                for notice in std::mem::take(&mut office.notices) {
                    tell(&notice);
                }
                if let Some(result) = office.result(duel)? {
                    return Ok(Some(result));
                }
                if let Some(trouble) = office.trouble() {
                    bail!(trouble);
                }
            }
            if stop() {
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(25));
        }
    }

    /// Workers that may be given duels now.
    pub fn workers(&self) -> usize {
        self.office().open_workers()
    }

    /// How long was waited for results while there was no worker.
    pub fn unattended(&self) -> Duration {
        Duration::from_micros(self.unattended.load(Ordering::Relaxed))
    }

    /// What nodes were held for so far; `counts` says which duels the study's verdicts rest on.
    pub fn cost(&self, counts: impl Fn(&str) -> bool) -> BTreeMap<String, Cost> {
        self.office().cost(counts)
    }

    /// Nodes that were set aside, each with its reason.
    pub fn set_aside(&self) -> Vec<(String, String)> {
        self.office().set_aside.clone()
    }

    /// Attempts that were lost after they had begun: node and reason.
    pub fn losses(&self) -> Vec<(String, String)> {
        self.office().losses.clone()
    }

    /// Ends all workers and waits for them a little; jobs that do not end are cancelled.
    pub fn end(&mut self) {
        let Some(thread) = self.thread.take() else {
            return;
        };
        {
            let mut office = self.office();
            let _ = office.want(&[]);
            let _ = office.write(HeadLine::Ended);
            office.ending = true;
        }
        let began = Instant::now();
        while began.elapsed() < GRACE && self.office().is_somebody_there() {
            std::thread::sleep(LOOK);
        }
        self.over.store(true, Ordering::Relaxed);
        let _ = thread.join();
        let office = self.office();
        if let Some(queue) = &office.queue {
            let _ = queue.end(&office.jobs.keys().cloned().collect::<Vec<_>>());
        }
    }
}

impl Drop for Head {
    fn drop(&mut self) {
        self.end();
    }
}

fn lock(office: &Mutex<Office>) -> MutexGuard<'_, Office> {
    office.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Everything the head knows.
struct Office {
    options: HeadOptions,
    folder: Folder,
    log: Log,
    desk: Desk,
    queue: Option<Arc<Queue>>,
    /// Arrays of this study, each with its number of tasks.
    jobs: BTreeMap<String, u32>,
    /// Names under which workers are expected.
    names: BTreeSet<String>,
    watches: BTreeMap<String, Watch>,
    notices: Vec<String>,
    told: BTreeSet<String>,
    set_aside: Vec<(String, String)>,
    losses: Vec<(String, String)>,
    /// Attempts that were withdrawn without being wanted any more.
    not_wanted: BTreeSet<Attempt>,
    withdrawn: BTreeSet<Attempt>,
    trouble: Option<String>,
    /// The study has said what it wants: before, nothing is granted or withdrawn.
    has_orders: bool,
    ending: bool,
    beat: Option<Instant>,
    looked_again: Instant,
    submitted_at: Option<Instant>,
    fruitless: u32,
    results_at_submission: usize,
    results: usize,
    /// Since when the folder cannot be written.
    full_since: Option<Instant>,
    running_since: BTreeMap<String, Instant>,
    not_alive_since: BTreeMap<String, Instant>,
}

impl Office {
    fn open(options: HeadOptions) -> anyhow::Result<Self> {
        let folder = Folder::at(&options.folder);
        folder.open(&StudyFile {
            format: FORMAT,
            key: options.key.clone(),
            seed: options.seed,
        })?;
        let path = folder.head_log();
        let lines: Vec<HeadLine> = Tail::of(path.clone()).lines()?;
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
            desk: Desk::new(options.seed),
            folder,
            log,
            queue,
            jobs: BTreeMap::new(),
            names,
            watches: BTreeMap::new(),
            notices: Vec::new(),
            told: BTreeSet::new(),
            set_aside: Vec::new(),
            losses: Vec::new(),
            not_wanted: BTreeSet::new(),
            withdrawn: BTreeSet::new(),
            trouble: None,
            has_orders: false,
            ending: false,
            beat: None,
            looked_again: Instant::now(),
            submitted_at: None,
            fruitless: 0,
            results_at_submission: 0,
            results: 0,
            full_since: None,
            running_since: BTreeMap::new(),
            not_alive_since: BTreeMap::new(),
            options,
        };
        for line in &lines {
            office.apply(line);
        }
        let known: Vec<String> = office.desk.workers().map(str::to_owned).collect();
        for worker in known {
            office.watch(&worker);
        }
        office.write(HeadLine::Opened {
            pid: std::process::id(),
            host: host(),
        })?;
        Ok(office)
    }

    /// Takes over a line of the own log.
    fn apply(&mut self, line: &HeadLine) {
        self.desk.apply(line);
        match line {
            HeadLine::Submitted { job, tasks } => {
                self.jobs.insert(job.clone(), *tasks);
                let names = (1..=*tasks).map(|task| format!("{job}_{task}"));
                self.names.extend(names);
            }
            HeadLine::Taken { .. } => self.results += 1,
            HeadLine::Withdrawn {
                attempt,
                node,
                why,
                begun,
                ..
            } => {
                if why == NOT_WANTED {
                    self.not_wanted.insert(attempt.clone());
                } else {
                    self.withdrawn.insert(attempt.clone());
                }
                if *begun {
                    self.losses.push((node.clone(), why.clone()));
                }
            }
            HeadLine::SetAside { node, why } => self.set_aside.push((node.clone(), why.clone())),
            HeadLine::Gone { worker, held } => {
                if let Some(watch) = self.watches.get_mut(worker) {
                    watch.held = Some(*held);
                }
            }
            _ => {}
        }
    }

    /// Writes a line, and takes it over once it stands.
    fn write(&mut self, line: HeadLine) -> anyhow::Result<()> {
        self.log.append(&line)?;
        self.apply(&line);
        Ok(())
    }

    fn write_all(&mut self, lines: Vec<HeadLine>) -> anyhow::Result<()> {
        lines.into_iter().try_for_each(|line| self.write(line))
    }

    fn notice(&mut self, text: String) {
        if self.told.insert(text.clone()) {
            self.notices.push(text);
        }
    }

    fn want(&mut self, orders: &[Order]) -> anyhow::Result<()> {
        for order in orders {
            if self.desk.knows(&order.duel) {
                continue;
            }
            let path = self.folder.order(&order.duel);
            publish(&path, &serde_json::to_vec(&order.document)?)?;
            self.write(HeadLine::Wanted {
                duel: order.duel.clone(),
                index: order.index,
                seconds: order.seconds,
            })?;
        }
        self.desk
            .want(orders.iter().map(|order| order.duel.clone()).collect());
        self.has_orders = true;
        Ok(())
    }

    fn result(&self, duel: &str) -> anyhow::Result<Option<Result>> {
        let Some(place) = self.desk.taken(duel) else {
            return Ok(None);
        };
        let path = self.folder.result(&place.worker, &place.attempt);
        let document = std::fs::read(&path)
            .with_context(|| format!("cannot read the result {}", path.display()))?;
        Ok(Some(Result {
            document,
            attempt: place.attempt,
            worker: place.worker,
            node: place.node,
        }))
    }

    fn trouble(&self) -> Option<String> {
        self.trouble.clone().or_else(|| self.desk.hopeless())
    }

    fn open_workers(&self) -> usize {
        let workers = self.desk.workers();
        workers.filter(|worker| self.desk.is_open(worker)).count()
    }

    fn is_somebody_there(&self) -> bool {
        let mut there = self.desk.workers();
        there.any(|worker| {
            let watch = self.watches.get(worker);
            watch.is_some_and(|watch| watch.heard.elapsed() < GRACE)
        })
    }

    /// One round. What cannot be written now is decided again in the next one.
    fn step(&mut self) {
        match self.round() {
            Ok(()) => self.full_since = None,
            Err(error) => {
                let since = *self.full_since.get_or_insert_with(Instant::now);
                self.notice(format!(
                    "{error:#}: workers keep what they have, trying again"
                ));
                if since.elapsed() > self.options.patience {
                    self.trouble = Some(format!(
                        "{error:#}, for {:.0} s now\nremedy: make room; the same command goes on from here",
                        since.elapsed().as_secs_f64()
                    ));
                }
            }
        }
    }

    fn round(&mut self) -> anyhow::Result<()> {
        if self.beat.is_none_or(|beat| beat.elapsed() >= BEAT) {
            self.write(HeadLine::Alive)?;
            self.beat = Some(Instant::now());
        }
        self.look_for_workers();
        let workers: Vec<String> = self.watches.keys().cloned().collect();
        for worker in &workers {
            self.hear(worker)?;
        }
        for worker in &workers {
            self.miss(worker)?;
        }
        self.tend_queue()?;
        for line in self.desk.set_aside() {
            if let HeadLine::SetAside { node, why } = &line {
                self.notice(format!("{node} gets no more duels: {why}"));
            }
            self.write(line)?;
        }
        if self.has_orders && !self.ending {
            self.write_all(self.desk.unwanted())?;
            self.write_all(self.desk.grant())?;
        }
        Ok(())
    }

    fn watch(&mut self, worker: &str) {
        let path = self.folder.worker_log(worker);
        let watch = || Watch::of(Tail::of(path));
        self.watches.entry(worker.to_owned()).or_insert_with(watch);
    }

    /// Looks for the first line of workers that are expected, and of later incarnations of those that are there.
    fn look_for_workers(&mut self) {
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
        let wanted: Vec<String> = next
            .into_iter()
            // A network file system remembers for a while that a file was not there: ask when it will be.
            .filter(|(name, number)| {
                again
                    && (*number > 0
                        || self.queue.is_none()
                        || self.running_since.contains_key(*name))
            })
            .map(|(name, number)| incarnation(name, number))
            .collect();
        for worker in wanted {
            if self.folder.worker_log(&worker).exists() {
                self.watch(&worker);
            }
        }
    }

    /// Reads what a worker said.
    fn hear(&mut self, worker: &str) -> anyhow::Result<()> {
        let Some(watch) = self.watches.get_mut(worker) else {
            return Ok(());
        };
        if watch.read() && watch.silent && !self.desk.is_gone(worker) {
            watch.silent = false;
            let node = watch.node.clone();
            self.notice(format!("{node} is heard of again"));
            self.write(HeadLine::Arrived {
                worker: worker.to_owned(),
                node,
            })?;
        }
        loop {
            let Some(watch) = self.watches.get_mut(worker) else {
                return Ok(());
            };
            let Some(line) = watch.unhandled.front().cloned() else {
                return Ok(());
            };
            if !self.handle(worker, &line)? {
                return Ok(());
            }
            if let Some(watch) = self.watches.get_mut(worker) {
                watch.unhandled.pop_front();
            }
        }
    }

    /// Whether the line is done with: a result may not be visible yet.
    fn handle(&mut self, worker: &str, line: &WorkerLine) -> anyhow::Result<bool> {
        match &line.said {
            Said::Began { node, .. } => self.began(worker, node)?,
            Said::Alive => {}
            Said::Doing(doing) => {
                if let Some(watch) = self.watches.get_mut(worker) {
                    watch.running = match doing {
                        Doing::Duel { attempt } => Some(attempt.clone()),
                        _ => None,
                    };
                }
            }
            Said::Finished {
                attempt,
                bytes,
                sum,
                load_seconds,
            } => return self.finished(worker, attempt, *bytes, sum, *load_seconds),
            Said::Lost {
                attempt,
                why,
                begun,
                blame,
            } => {
                if self.desk.holder(attempt) == Some(worker) {
                    let node = self.desk.node_of(worker).to_owned();
                    if *blame {
                        self.failed(&node, why)?;
                    }
                    self.write(HeadLine::Withdrawn {
                        attempt: attempt.clone(),
                        worker: worker.to_owned(),
                        node,
                        begun: *begun && !self.ending,
                        why: self.why(why),
                    })?;
                }
            }
            Said::Unfit { why } => {
                if self.desk.is_open(worker) {
                    let node = self.desk.node_of(worker).to_owned();
                    self.failed(&node, why)?;
                    self.fence(worker, why)?;
                }
            }
            Said::Ended { why } => {
                if !self.desk.is_gone(worker) {
                    let node = self.desk.node_of(worker).to_owned();
                    self.withdraw(worker, why)?;
                    if !self.ending {
                        self.notice(format!("the worker on {node} has ended: {why}"));
                    }
                    self.write(HeadLine::Gone {
                        worker: worker.to_owned(),
                        held: line.at,
                    })?;
                }
            }
        }
        Ok(true)
    }

    fn began(&mut self, worker: &str, node: &str) -> anyhow::Result<()> {
        if let Some(watch) = self.watches.get_mut(worker) {
            watch.node = node.to_owned();
        }
        if self.desk.has_arrived(worker) {
            return Ok(());
        }
        for earlier in self.desk.earlier_incarnations(worker) {
            let why = "it was started again elsewhere";
            let node = self.desk.node_of(&earlier).to_owned();
            self.notice(format!(
                "worker {earlier} on {node} was started again: what it held is run anew"
            ));
            self.fence(&earlier, why)?;
        }
        self.write(HeadLine::Arrived {
            worker: worker.to_owned(),
            node: node.to_owned(),
        })
    }

    fn finished(
        &mut self,
        worker: &str,
        attempt: &Attempt,
        bytes: u64,
        sum: &str,
        load_seconds: f64,
    ) -> anyhow::Result<bool> {
        if self.desk.holder(attempt) != Some(worker) {
            let taken = self.desk.taken(&attempt.duel);
            if taken.is_none_or(|place| place.attempt != *attempt) && !self.ending {
                self.write(HeadLine::Stale {
                    attempt: attempt.clone(),
                    worker: worker.to_owned(),
                })?;
            }
            return Ok(true);
        }
        let path = self.folder.result(worker, attempt);
        let is_whole = std::fs::read(&path).is_ok_and(|document| {
            document.len() as u64 == bytes && format!("{:016x}", xxh3_64(&document)) == sum
        });
        let node = self.desk.node_of(worker).to_owned();
        if is_whole {
            self.write(HeadLine::Taken {
                attempt: attempt.clone(),
                worker: worker.to_owned(),
                node,
                load_seconds,
            })?;
            return Ok(true);
        }
        let since = match self.watches.get_mut(worker) {
            Some(watch) => *watch.result_missed.get_or_insert_with(Instant::now),
            None => Instant::now(),
        };
        if since.elapsed() < self.options.silence {
            return Ok(false);
        }
        if let Some(watch) = self.watches.get_mut(worker) {
            watch.result_missed = None;
        }
        let why = format!("its result, {}, is not whole", path.display());
        self.failed(&node, &why)?;
        self.write(HeadLine::Withdrawn {
            attempt: attempt.clone(),
            worker: worker.to_owned(),
            node,
            why,
            begun: true,
        })?;
        Ok(true)
    }

    fn failed(&mut self, node: &str, why: &str) -> anyhow::Result<()> {
        self.notice(format!("{node}: {why}"));
        self.write(HeadLine::Failed {
            node: node.to_owned(),
            why: why.to_owned(),
        })
    }

    fn withdraw(&mut self, worker: &str, why: &str) -> anyhow::Result<()> {
        let running = self
            .watches
            .get(worker)
            .and_then(|watch| watch.running.clone());
        let running = running.filter(|_| !self.ending);
        let why = self.why(why);
        self.write_all(self.desk.withdraw(worker, &why, running.as_ref()))
    }

    /// Why an attempt is withdrawn: once the study ends, nobody is to blame.
    fn why(&self, why: &str) -> String {
        if self.ending { NOT_WANTED } else { why }.to_owned()
    }

    fn fence(&mut self, worker: &str, why: &str) -> anyhow::Result<()> {
        self.withdraw(worker, why)?;
        self.write(HeadLine::Fenced {
            worker: worker.to_owned(),
            why: why.to_owned(),
        })
    }

    /// Takes away what a worker holds that has fallen silent.
    fn miss(&mut self, worker: &str) -> anyhow::Result<()> {
        let Some(watch) = self.watches.get(worker) else {
            return Ok(());
        };
        let quiet = watch.heard.elapsed() > self.options.silence;
        if watch.silent || !quiet || self.desk.is_gone(worker) || !self.desk.has_arrived(worker) {
            return Ok(());
        }
        let node = watch.node.clone();
        let why = format!("silent for {:.0} s", self.options.silence.as_secs_f64());
        if self.desk.is_open(worker) {
            self.withdraw(worker, &why)?;
            self.write(HeadLine::Silent {
                worker: worker.to_owned(),
            })?;
            self.failed(&node, &why)?;
        }
        if let Some(watch) = self.watches.get_mut(worker) {
            watch.silent = true;
        }
        Ok(())
    }

    /// What Slurm says: workers that are to come, that have gone, that have to be replaced.
    fn tend_queue(&mut self) -> anyhow::Result<()> {
        let Some(queue) = self.queue.clone() else {
            return Ok(());
        };
        if let Some((job, tasks)) = queue.submitted() {
            self.write(HeadLine::Submitted { job, tasks })?;
            return Ok(());
        }
        if let Some(refused) = queue.refused() {
            self.fruitless += 1;
            self.notice(format!("Slurm took no job: {refused}"));
            if self.fruitless >= MAX_FRUITLESS {
                self.trouble = Some(format!("Slurm took no job: {refused}"));
            }
        }
        let Some((asked, tasks)) = queue.tasks() else {
            return Ok(());
        };
        let workers_due = self.desk.workers().count() < queue.nodes as usize;
        queue.hurry(workers_due);
        let nodes = queue.nodes;
        let submitting = queue.is_submitting();
        // Jobs of a head that was killed before it could write them down.
        let mut unknown: BTreeMap<String, u32> = BTreeMap::new();
        for task in &tasks {
            let Some((job, number)) = task.name.split_once('_') else {
                continue;
            };
            let (Ok(number), false) = (number.parse::<u32>(), self.jobs.contains_key(job)) else {
                continue;
            };
            if task.is_alive() {
                let most = unknown.entry(job.to_owned()).or_default();
                *most = (*most).max(number);
            }
        }
        for (job, tasks) in unknown {
            self.write(HeadLine::Submitted { job, tasks })?;
        }
        for words in queue_in_words(
            &tasks
                .iter()
                .filter(|task| task.is_alive())
                .cloned()
                .collect::<Vec<_>>(),
        ) {
            self.notice(words);
        }
        let mut alive = BTreeSet::new();
        for task in tasks.iter().filter(|task| task.is_alive()) {
            alive.insert(task.name.clone());
            if task.state == "RUNNING" {
                let since = *self
                    .running_since
                    .entry(task.name.clone())
                    .or_insert_with(Instant::now);
                let seen = self
                    .watches
                    .keys()
                    .any(|worker| name_of(worker).0 == task.name);
                if !seen && since.elapsed() > UNSEEN {
                    self.trouble = Some(format!(
                        "job {} runs on {}, but nothing of its worker is seen in {}\n\
                         cause: that folder is not the same on this host and on the node, or the program does not start there \
                         (slurm-*.log in the folder, on the node, has its words)\n\
                         remedy: name a folder that all of them see with --shared",
                        task.name,
                        task.node,
                        self.options.folder.display()
                    ));
                }
            }
        }
        self.bury(&alive, &tasks)?;
        // An answer from before the last submission knows nothing of it.
        let fresh = self.submitted_at.is_none_or(|at| asked > at);
        let open = self.desk.open_duels() as u32;
        let wanted = nodes.min(open);
        let there = alive.len() as u32;
        if self.ending || submitting || !fresh || !self.has_orders || there >= wanted {
            return Ok(());
        }
        self.replace(wanted - there)
    }

    /// Workers whose job has ended without a word.
    fn bury(
        &mut self,
        alive: &BTreeSet<String>,
        tasks: &[crate::slurm::Task],
    ) -> anyhow::Result<()> {
        let workers: Vec<String> = self.desk.workers().map(str::to_owned).collect();
        for worker in workers {
            let name = name_of(&worker).0;
            if alive.contains(name) {
                self.not_alive_since.remove(&worker);
                continue;
            }
            let since = *self
                .not_alive_since
                .entry(worker.clone())
                .or_insert_with(Instant::now);
            // Its last words may be on their way.
            if since.elapsed() < GRACE {
                continue;
            }
            let task = tasks.iter().find(|task| task.name == name);
            let state = task.map_or("COMPLETED", |task| task.state.as_str());
            let why = task
                .and_then(|task| crate::slurm::in_words(&task.state, &task.reason))
                .unwrap_or_else(|| "its job has ended".to_owned());
            let node = self.desk.node_of(&worker).to_owned();
            self.withdraw(&worker, &why)?;
            // Who fell silent has failed already, by the same cause.
            let silent = self.watches.get(&worker).is_some_and(|watch| watch.silent);
            let failed = ["NODE_FAIL", "FAILED", "OUT_OF_MEMORY", "BOOT_FAIL"].contains(&state);
            if failed && !silent {
                self.failed(&node, &why)?;
            } else {
                self.notice(format!("the worker on {node} has ended: {why}"));
            }
            let held = self.watches.get(&worker).map_or(0.0, Watch::held_until_now);
            self.write(HeadLine::Gone { worker, held })?;
        }
        Ok(())
    }

    /// Asks Slurm for workers in the place of those that have ended.
    fn replace(&mut self, missing: u32) -> anyhow::Result<()> {
        let pause = PAUSE * 2u32.saturating_pow(self.fruitless.min(6));
        if self.submitted_at.is_some_and(|at| at.elapsed() < pause) {
            return Ok(());
        }
        if self.submitted_at.is_some() {
            if self.results > self.results_at_submission {
                self.fruitless = 0;
            } else {
                self.fruitless += 1;
            }
        }
        if self.fruitless >= MAX_FRUITLESS {
            self.trouble.get_or_insert(format!(
                "workers were started {} times in a row and ended without a result\n\
                 cause: {}\nremedy: the slurm-*.log in {} have their words; the same command goes on from here",
                self.fruitless + 1,
                self.losses
                    .last()
                    .map_or("unknown", |(_, why)| why.as_str()),
                self.options.folder.display()
            ));
            return Ok(());
        }
        let without = self.desk.nodes_aside().map(str::to_owned).collect();
        if let Some(queue) = &self.queue {
            queue.submit(missing, without);
        }
        self.submitted_at = Some(Instant::now());
        self.results_at_submission = self.results;
        Ok(())
    }

    fn cost(&self, counts: impl Fn(&str) -> bool) -> BTreeMap<String, Cost> {
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

/// The name of a study's jobs.
fn job_name(options: &HeadOptions) -> String {
    #[derive(Serialize)]
    struct Name<'a>(&'a str, &'a std::path::Path);
    let text = serde_json::to_vec(&Name(&options.key, &options.folder)).unwrap_or_default();
    format!("niagara-{:08x}", xxh3_64(&text) as u32)
}

fn host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map(|name| name.trim().to_owned())
        .unwrap_or_default()
}
