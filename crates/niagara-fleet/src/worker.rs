//! A worker: runs the duels that it is granted, one after the other, and ends when there is no more to do, no time left or
//! no head.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use niagara_error::bail;
use niagara_model::NodeReason;
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

use crate::folder::Folder;
use crate::line::{Log, Tail, publish};
use crate::machine::{Machine, Sharing};
use crate::message::{Attempt, Doing, HeadLine, Said, WorkerLine, incarnation};
use crate::room::is_full;
use crate::slurm::own_times;

/// How often the head's log is read.
const LOOK: Duration = Duration::from_millis(250);
/// A worker that did nothing for this long, not even count time, was stopped.
const STOPPED: Duration = Duration::from_secs(5);
/// How often the clock is read to see that.
const TICK: Duration = Duration::from_millis(250);
/// How long a signal may be under way that has ended a server or a compiler already.
const UNDER_WAY: Duration = Duration::from_millis(300);
/// Why a worker ends that got one.
/// Room for a duel that takes longer than those before it: this many times their 95th percentile must be left.
const ROOM: f64 = 1.5;

/// Where a worker works, and how long it waits.
#[derive(Debug, Clone)]
pub struct WorkerOptions {
    /// The shared folder.
    pub folder: PathBuf,
    /// Its name, as the head expects it.
    pub name: String,
    /// Its node's name.
    pub node: String,
    /// How long it waits for a sign of a head, and for a full folder.
    pub patience: Duration,
    /// How often it says that it is there.
    pub beat: Duration,
    /// Seconds that must be left beyond those that a duel takes.
    pub margin: f64,
    /// What tells its program from other versions of it.
    pub program: String,
}

/// What a worker does with an order.
pub trait Work {
    /// Who may work on this machine beside it.
    fn sharing(&self) -> Sharing;

    /// Whether something has to be copied or set up before this order can be run.
    fn wants_staging(&self, order: &Value) -> bool;

    /// Copies and sets up what this order needs.
    ///
    /// # Errors
    /// This node cannot run it: its disk is full, cannot be written, …
    fn stage(&mut self, order: &Value) -> Result<()>;

    /// Runs it until its end, or until `cancel` is set. `tell` gets what whoever waits for it wants to know.
    ///
    /// # Errors
    /// The infrastructure failed. A server that does is a result.
    fn run(&mut self, order: &Value, cancel: &Arc<AtomicBool>, tell: &dyn Fn(&str))
    -> Result<Done>;
}

/// A result.
#[derive(Debug, Clone)]
pub struct Done {
    /// The document, as the head will read it.
    pub document: Vec<u8>,
    /// Seconds of load in it.
    pub load_seconds: f64,
    /// A server or a build of it failed: by itself, unless this worker is being ended.
    pub failed: bool,
}

/// Flags that signals set.
#[derive(Debug, Clone, Default)]
pub struct Signals {
    /// Begin nothing more: the time limit is near.
    pub soon: Arc<AtomicBool>,
    /// End now.
    pub now: Arc<AtomicBool>,
}

impl Signals {
    /// Set by SIGUSR1, and by SIGTERM, SIGINT or, unless whoever started it had that ignored (nohup), SIGHUP.
    ///
    /// # Errors
    /// They cannot be caught.
    pub fn caught() -> Result<Self> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
        let signals = Self::default();
        signal_hook::flag::register(SIGUSR1, Arc::clone(&signals.soon))?;
        for signal in [SIGTERM, SIGINT, SIGHUP] {
            if signal != SIGHUP || !is_ignored(signal) {
                signal_hook::flag::register(signal, Arc::clone(&signals.now))?;
            }
        }
        Ok(signals)
    }
}

/// Whether this process ignores `signal`, by the mask of `/proc/PID/status` (proc_pid_status(5)); what the kernel does not tell is
/// not ignored.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}

/// Why a worker is to end.
#[derive(Debug, Clone, PartialEq)]
enum End {
    /// For this reason.
    Now(NodeReason),
    /// The study has ended; another head may continue it.
    Study,
    /// Nothing was heard of a head.
    NoHead,
}

impl From<End> for NodeReason {
    fn from(end: End) -> Self {
        match end {
            End::Now(why) => why,
            End::Study => Self::StudyEnded,
            End::NoHead => Self::NoHead,
        }
    }
}

/// What the threads of a worker share.
struct Shared {
    began: Instant,
    log: Mutex<Log>,
    inbox: Mutex<Inbox>,
    patience: Duration,
    ticks: Mutex<Ticks>,
    over: AtomicBool,
    signals: Signals,
}

/// What is known of time in which this process did not run.
struct Ticks {
    last: Instant,
    /// How often it was stopped and continued, and for how long the last time.
    stops: u64,
    stopped_for: Duration,
}

#[derive(Default)]
struct Inbox {
    /// Each with how often a head had ended when it was granted.
    granted: VecDeque<(Attempt, u32)>,
    withdrawn: BTreeSet<Attempt>,
    running: Option<(Attempt, Arc<AtomicBool>)>,
    /// Why it is to end, unless a head continues.
    end: Option<End>,
    /// How often a head said that it ends, whether or not another one came after it.
    ends: u32,
    seconds: BTreeMap<String, f64>,
}

impl Shared {
    fn inbox(&self) -> std::sync::MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts time; how often it was stopped so far, and for how long the last time. Whoever asks counts, too: of two threads that
    /// are continued, the one that ran a duel may be the first.
    fn tick(&self) -> (u64, Duration) {
        let mut ticks = self.ticks.lock().unwrap_or_else(PoisonError::into_inner);
        let gap = ticks.last.elapsed();
        ticks.last = Instant::now();
        if gap > STOPPED {
            ticks.stops += 1;
            ticks.stopped_for = gap;
        }
        (ticks.stops, ticks.stopped_for)
    }

    /// Whether this worker was told by a signal to end; what it runs is stopped then.
    fn heed_signal(&self) -> bool {
        if !self.signals.now.load(Ordering::Relaxed) {
            return false;
        }
        let mut inbox = self.inbox();
        inbox.end = Some(End::Now(NodeReason::Signal));
        inbox.stop();
        true
    }

    /// The same after something ended that should not have. Slurm's signals, and a terminal's, go to servers, compilers and copying
    /// programs as well, and these may end before this process is told: what it saw of them then says nothing.
    fn heed_late_signal(&self) -> bool {
        let began = Instant::now();
        while !self.heed_signal() {
            if began.elapsed() > UNDER_WAY {
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        true
    }

    fn say_once(&self, said: Said) -> Result<()> {
        let at = self.began.elapsed().as_secs_f64();
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.append(&WorkerLine { at, said })
    }

    /// Says something, however long the folder is full, up to the worker's patience.
    fn say(&self, said: Said) -> Result<()> {
        patiently(self.patience, |_| true, || self.say_once(said.clone()))
    }
}

/// Tries until it succeeds, fails by what does not pass, or patience ends.
fn patiently<T>(
    patience: Duration,
    passes: impl Fn(&anyhow::Error) -> bool,
    mut what: impl FnMut() -> Result<T>,
) -> Result<T> {
    let began = Instant::now();
    loop {
        match what() {
            Err(error) if began.elapsed() > patience || !passes(&error) => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_secs(1)),
            done => return done,
        }
    }
}

/// Runs a worker to its end; why it ended.
///
/// # Errors
/// There is no study in the folder; it cannot be written.
pub fn run(options: &WorkerOptions, work: &mut dyn Work, signals: &Signals) -> Result<NodeReason> {
    let folder = Folder::at(&options.folder);
    folder.study()?;
    let passes = |error: &anyhow::Error| is_full(error) && !signals.now.load(Ordering::Relaxed);
    let (worker, log) = patiently(options.patience, passes, || claim(&folder, &options.name))?;
    let shared = Arc::new(Shared {
        began: Instant::now(),
        log: Mutex::new(log),
        inbox: Mutex::new(Inbox::default()),
        patience: options.patience,
        ticks: Mutex::new(Ticks {
            last: Instant::now(),
            stops: 0,
            stopped_for: Duration::ZERO,
        }),
        over: AtomicBool::new(false),
        signals: signals.clone(),
    });
    let (left, used) = own_times().unzip();
    shared.say(Said::Began {
        node: options.node.clone(),
        pid: std::process::id(),
        held_before: used.unwrap_or(0.0),
        left: left.filter(|left| f64::is_finite(*left)),
        machine: Machine::here(work.sharing()),
        program: options.program.clone(),
    })?;
    let pulse = {
        let (shared, tail) = (Arc::clone(&shared), Tail::of(folder.head_log()));
        let (worker, beat) = (worker.clone(), options.beat);
        std::thread::spawn(move || pulse(&shared, tail, &worker, beat))
    };
    let ticker = {
        let shared = Arc::clone(&shared);
        std::thread::spawn(move || tick(&shared))
    };
    let mut worker = Worker {
        folder,
        worker,
        shared: Arc::clone(&shared),
        left,
        margin: options.margin,
        took: Vec::new(),
    };
    let ended = worker.until_the_end(work);
    shared.over.store(true, Ordering::Relaxed);
    let _ = pulse.join();
    let _ = ticker.join();
    let why = ended?;
    shared.say(Said::Ended { why: why.clone() })?;
    Ok(why)
}

/// Makes a folder of its own: the next incarnation of its name, which only one process can make.
fn claim(folder: &Folder, name: &str) -> Result<(String, Log)> {
    for number in 0..1000 {
        let worker = incarnation(name, number);
        let path = folder.worker(&worker);
        match std::fs::create_dir(&path) {
            Ok(()) => {
                let log = Log::create(&folder.worker_log(&worker)).with_context(|| {
                    // Its place is free for the next try: nobody speaks from it.
                    let _ = std::fs::remove_dir(&path);
                    format!("cannot write in {}", path.display())
                })?;
                return Ok((worker, log));
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("cannot make the folder {}", path.display()));
            }
        }
    }
    bail!("worker {name} was started a thousand times"; remedy: "give it another --name");
}

/// Sees that time passed in which this process did not run.
fn tick(shared: &Shared) {
    while !shared.over.load(Ordering::Relaxed) {
        std::thread::sleep(TICK);
        shared.tick();
    }
}

/// Reads what the head says, and says that this worker is there.
fn pulse(shared: &Shared, mut head: Tail, worker: &str, beat: Duration) {
    let mut heard = Instant::now();
    let mut said = Instant::now();
    while !shared.over.load(Ordering::Relaxed) {
        let lines: Vec<HeadLine> = head.lines().unwrap_or_default();
        if !lines.is_empty() {
            heard = Instant::now();
        }
        {
            let mut inbox = shared.inbox();
            for line in lines {
                inbox.hear(line, worker);
            }
            if heard.elapsed() > shared.patience {
                inbox.end.get_or_insert(End::NoHead);
            } else if inbox.end == Some(End::NoHead) {
                // It was the folder that could not be read.
                inbox.end = None;
            }
        }
        shared.heed_signal();
        if said.elapsed() >= beat && shared.say_once(Said::Alive).is_ok() {
            said = Instant::now();
        }
        std::thread::sleep(LOOK);
    }
}

impl Inbox {
    fn hear(&mut self, line: HeadLine, me: &str) {
        match line {
            // A head that continues withdraws the end that the one before it announced.
            HeadLine::Opened { .. } if !matches!(self.end, Some(End::Now(_))) => self.end = None,
            HeadLine::Wanted { duel, seconds, .. } => {
                self.seconds.insert(duel, seconds);
            }
            HeadLine::Granted { attempt, worker } if worker == me => {
                self.granted.push_back((attempt, self.ends));
            }
            HeadLine::Withdrawn { attempt, .. } => {
                self.granted.retain(|(granted, _)| *granted != attempt);
                if self
                    .running
                    .as_ref()
                    .is_some_and(|(run, _)| *run == attempt)
                {
                    self.stop();
                }
                self.withdrawn.insert(attempt);
            }
            HeadLine::Fenced { worker, why } if worker == me => {
                let because = Box::new(why);
                self.end = Some(End::Now(NodeReason::Fenced { because }));
                self.granted.clear();
                self.stop();
            }
            HeadLine::Ended => {
                // What it holds it gives back: a head that continues takes it for granted until it hears otherwise.
                self.ends += 1;
                if matches!(self.end, None | Some(End::NoHead)) {
                    self.end = Some(End::Study);
                }
                self.stop();
            }
            _ => {}
        }
    }

    /// Whether the head has ended that granted something when heads had ended `ends` times.
    fn is_of_another_head(&self, ends: u32) -> bool {
        self.end.is_some() || self.ends != ends
    }

    fn stop(&self) {
        if let Some((_, cancel)) = &self.running {
            cancel.store(true, Ordering::Relaxed);
        }
    }
}

struct Worker {
    folder: Folder,
    worker: String,
    shared: Arc<Shared>,
    /// Seconds that were left of the job when the worker began.
    left: Option<f64>,
    margin: f64,
    /// Seconds that its duels took, ascending.
    took: Vec<f64>,
}

impl Worker {
    fn until_the_end(&mut self, work: &mut dyn Work) -> Result<NodeReason> {
        let mut waiting = false;
        loop {
            self.shared.heed_signal();
            let (end, next) = {
                let mut inbox = self.shared.inbox();
                // What was granted before the head fell silent is still run; a fence has taken it away already.
                let end = inbox.end.clone();
                let next = matches!(end, None | Some(End::NoHead))
                    .then(|| inbox.granted.pop_front())
                    .flatten();
                (end, next)
            };
            match (next, end) {
                (Some((attempt, ends)), _) => {
                    waiting = false;
                    if let Some(why) = self.no_time(&attempt) {
                        return self.leave(Some(attempt), why);
                    }
                    if let Some(why) = self.attempt(&attempt, ends, work)? {
                        return self.leave(None, why);
                    }
                }
                (None, Some(end)) => return self.leave(None, end.into()),
                (None, None) => {
                    if self.shared.signals.soon.load(Ordering::Relaxed) {
                        return self.leave(None, NodeReason::TimeLimitNear);
                    }
                    if !waiting {
                        self.shared.say(Said::Doing(Doing::Waiting))?;
                        waiting = true;
                    }
                    std::thread::sleep(Duration::from_millis(50));
                }
            }
        }
    }

    /// Why no duel can be begun any more, if it cannot.
    fn no_time(&self, attempt: &Attempt) -> Option<NodeReason> {
        if self.shared.signals.soon.load(Ordering::Relaxed) {
            return Some(NodeReason::TimeLimitNear);
        }
        let left = self.left? - self.shared.began.elapsed().as_secs_f64();
        let expected = self.shared.inbox().seconds.get(&attempt.duel).copied();
        let needed = needed(&self.took, expected, self.margin);
        (left < needed).then_some(NodeReason::LittleTime { left, needed })
    }

    /// Gives back what was granted, and ends.
    fn leave(&mut self, first: Option<Attempt>, why: NodeReason) -> Result<NodeReason> {
        self.shared.say(Said::Doing(Doing::Ending))?;
        let granted = std::mem::take(&mut self.shared.inbox().granted);
        let granted = granted.into_iter().map(|(attempt, _)| attempt);
        for attempt in first.into_iter().chain(granted) {
            self.shared.say(Said::Lost {
                attempt,
                why: why.clone(),
                begun: false,
                blame: false,
            })?;
        }
        Ok(why)
    }

    /// Runs one attempt, which was granted when heads had ended this often; why the worker has to end, if it has.
    fn attempt(
        &mut self,
        attempt: &Attempt,
        ends: u32,
        work: &mut dyn Work,
    ) -> Result<Option<NodeReason>> {
        let order = match self.order(attempt) {
            Ok(order) => order,
            Err(error) => {
                self.lost(attempt, NodeReason::of(&error), false, true)?;
                return Ok(None);
            }
        };
        if work.wants_staging(&order) {
            self.shared.say(Said::Doing(Doing::Staging))?;
            if let Err(error) = work.stage(&order) {
                let why = NodeReason::of(&error);
                self.lost(attempt, why.clone(), false, false)?;
                // No fault of the node: a program that copies was ended with this worker, or the head that is not there any more took
                // away what it had packed.
                if self.shared.heed_late_signal() || self.shared.inbox().is_of_another_head(ends) {
                    return Ok(None);
                }
                self.shared.say(Said::Unfit { why: why.clone() })?;
                return Ok(Some(why));
            }
            // That may have taken minutes.
            if let Some(why) = self.no_time(attempt) {
                self.lost(attempt, why.clone(), false, false)?;
                return Ok(Some(why));
            }
        }
        let cancel = Arc::new(AtomicBool::new(false));
        {
            let mut inbox = self.shared.inbox();
            if inbox.withdrawn.contains(attempt) {
                return Ok(None);
            }
            let over = match &inbox.end {
                Some(end @ (End::Study | End::Now(_))) => Some(end.clone()),
                _ => None,
            };
            if let Some(end) = over {
                drop(inbox);
                self.lost(attempt, end.into(), false, false)?;
                return Ok(None);
            }
            inbox.running = Some((attempt.clone(), Arc::clone(&cancel)));
        }
        self.shared.say(Said::Doing(Doing::Duel {
            attempt: attempt.clone(),
        }))?;
        let (stops, _) = self.shared.tick();
        let began = Instant::now();
        // What is told is no loss where it cannot be written.
        let tell = |text: &str| {
            let text = text.to_owned();
            let _ = self.shared.say_once(Said::Notice { text });
        };
        let done = work.run(&order, &cancel, &tell);
        let took = began.elapsed().as_secs_f64();
        let told_to = cancel.load(Ordering::Relaxed);
        self.shared.inbox().running = None;
        let (stops_since, stopped_for) = self.shared.tick();
        if stops_since != stops {
            let seconds = stopped_for.as_secs();
            self.lost(attempt, NodeReason::Stopped { seconds }, true, false)?;
            return Ok(None);
        }
        // Whatever it shows: a server that died of the signal would be taken for one that died by itself.
        let doubtful = !told_to && done.as_ref().map_or(true, |done| done.failed);
        let ended = match doubtful {
            true => self.shared.heed_late_signal(),
            false => self.shared.heed_signal(),
        };
        if ended {
            self.lost(attempt, NodeReason::Signal, true, false)?;
            return Ok(None);
        }
        match done {
            Ok(done) => {
                let place = self.took.partition_point(|other| *other < took);
                self.took.insert(place, took);
                self.finished(attempt, &done)?;
            }
            Err(error) => self.lost(attempt, NodeReason::of(&error), true, !told_to)?,
        }
        Ok(None)
    }

    fn finished(&self, attempt: &Attempt, done: &Done) -> Result<()> {
        let path = self.folder.result(&self.worker, attempt);
        patiently(
            self.shared.patience,
            |_| true,
            || publish(&path, &done.document),
        )?;
        self.shared.say(Said::Finished {
            attempt: attempt.clone(),
            bytes: done.document.len() as u64,
            sum: format!("{:016x}", xxh3_64(&done.document)),
            load_seconds: done.load_seconds,
        })
    }

    fn lost(&self, attempt: &Attempt, why: NodeReason, begun: bool, blame: bool) -> Result<()> {
        self.shared.say(Said::Lost {
            attempt: attempt.clone(),
            why,
            begun,
            blame,
        })
    }

    /// The duel's description; a network file system may show it a little later than the line that speaks of it.
    fn order(&self, attempt: &Attempt) -> Result<Value> {
        let path = self.folder.order(&attempt.duel);
        let mut tries = 0;
        loop {
            match std::fs::read(&path) {
                Ok(bytes) => {
                    return serde_json::from_slice(&bytes)
                        .with_context(|| format!("{} is not an order", path.display()));
                }
                Err(error) if tries >= 40 => {
                    return Err(error).with_context(|| format!("cannot read {}", path.display()));
                }
                Err(_) => std::thread::sleep(LOOK),
            }
            tries += 1;
        }
    }
}

/// Seconds that must be left to begin what is expected to take `expected`, after items that took this long, ascending: what took
/// moments, for it was there already, says nothing of one that is not.
fn needed(took: &[f64], expected: Option<f64>, margin: f64) -> f64 {
    let count = took.len();
    let place = (count * 95).div_ceil(100).min(count).checked_sub(1);
    let p95 = place.map_or(0.0, |place| took[place]);
    ROOM * p95.max(expected.unwrap_or(0.0)) + margin
}

#[cfg(test)]
mod tests;
