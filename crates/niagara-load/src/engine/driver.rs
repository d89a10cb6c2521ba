//! Holds the connections and moves the load between the sides.

use crate::engine::collecting::Collecting;
use crate::engine::event_loop::{EventLoop, Setup, machine_cpus};
use crate::engine::options::{CoalescingChoice, DriverOptions, MAX_RUN, RunOptions, SliceOptions};
use crate::engine::order::{LoopExit, Order, Policy, Report};
use crate::engine::pacing::{Arrivals, Pacing};
use crate::engine::recorder::Kinds;
use crate::engine::replay::replay_loop;
use crate::engine::replay::setup::{self, Shared};
use crate::engine::replay::tally::Tally;
use crate::engine::script_loop::ScriptLoop;
use crate::engine::stats::SliceStats;
use crate::error::LoadError;
use crate::generator::LoadGenerator;
use crate::net::endpoint::Endpoint;
use crate::net::io_choice::IoChoice;
use crate::script::command::script_run;
use crate::script::keeper::Keeper;
use crate::script::program::Counts;
use crate::script::runtime::{ScriptThreads, runtime};
use crate::script::wires::Wires;
use crate::workload::plan::Plan;
use crate::workload::{CaptureWorkload, Workload, WorkloadSpec};
use niagara_error::problem;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

/// How long a loop may take beyond its own bounds before it is given up.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a loop may take after it was cancelled: what is in flight gets two seconds, and nothing is lost by not
/// waiting for what comes later.
const CANCELLED_GRACE: Duration = Duration::from_secs(5);

/// Beside a loop that did not stop in time, how long the others have to say goodbye.
const QUIT_TIMEOUT: Duration = Duration::from_secs(2);

/// How often it is asked whether a loop that says nothing is still there.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Connections to every side, and the loops that drive them. Dropping it disconnects.
#[derive(Debug)]
pub struct Driver {
    loops: Vec<Loop>,
    reports: Receiver<(usize, Report)>,
    /// How sockets are waited for, on all sides and loops.
    io: IoChoice,
    /// Why a side can no longer be used.
    broken: Vec<Option<LoadError>>,
    cancel: Arc<AtomicBool>,
    stall_timeout: Duration,
    kinds: Arc<Kinds>,
    seed: u64,
    /// Runs begun so far: every run has arrivals of its own.
    runs: u64,
    /// Of a capture: what was replayed, and what is left.
    replay: Option<Arc<Shared>>,
    /// Of a script: who does what is done once, for each side.
    keepers: Vec<Keeper>,
    /// A loop did not stop in time: it is not waited for any more.
    stuck: bool,
}

#[derive(Debug)]
struct Loop {
    /// `None` once it is to end.
    orders: Option<Sender<Order>>,
    thread: Option<JoinHandle<LoopExit>>,
}

impl Loop {
    /// Whether its thread has ended while orders are given.
    fn is_dead(&self) -> bool {
        self.thread.as_ref().is_some_and(JoinHandle::is_finished)
    }
}

/// CPUs per loop when nobody says how many loops: a loop serves more queries than eight CPUs of a server answer.
const CPUS_PER_LOOP: usize = 8;

/// The same of a script beside its server: what its Lua takes is anybody's guess, and as long as it is no more than what the server
/// takes for its statements, half of the CPUs are enough. docs/scripts.md has what a simple one takes: a sixth or a seventh.
const CPUS_PER_SCRIPT_LOOP: usize = 2;

impl Driver {
    /// Connects to all sides and prepares the workload's statements on every connection.
    pub fn connect(
        endpoints: &[Endpoint],
        spec: &WorkloadSpec,
        options: &DriverOptions,
    ) -> Result<Driver, LoadError> {
        let sides: Vec<Vec<Endpoint>> = endpoints.iter().map(|one| vec![one.clone()]).collect();
        Self::connect_spread(&sides, spec, options)
    }

    /// As [`connect`](Self::connect), with several servers to a side that have the same tables (a cluster, replicas):
    /// its connections go to them in turn.
    pub fn connect_spread(
        sides: &[Vec<Endpoint>],
        spec: &WorkloadSpec,
        options: &DriverOptions,
    ) -> Result<Driver, LoadError> {
        let (script, keepers) = match &spec.workload {
            Workload::Script(_) => {
                let (script, keepers) = begin_script(sides, spec, options)?;
                (Some(script), keepers)
            }
            _ => (None, Vec::new()),
        };
        let mut driver = Self::connect_script(sides, spec, options, script)?;
        driver.keepers = keepers;
        Ok(driver)
    }

    /// As [`connect_spread`](Self::connect_spread), for a script whose `init` and `done` the caller runs, if it is one.
    pub fn connect_script(
        sides: &[Vec<Endpoint>],
        spec: &WorkloadSpec,
        options: &DriverOptions,
        script: Option<Arc<dyn ScriptThreads>>,
    ) -> Result<Driver, LoadError> {
        let loops = loops_for(sides, spec, options)?;
        if let Some(capture) = spec.capture() {
            return Self::replay(sides, capture, options);
        }
        allow_open_files(sides.len() as u64 * u64::from(options.connections))?;
        let tokens = (options.connections as usize).div_ceil(loops);
        let servers = sides.iter().flatten();
        let io = match &spec.workload {
            // They wait where they stand, each with a poll of its own.
            Workload::Script(script) if script.info().blocks => IoChoice::Epoll,
            _ => options.io.settled(servers, sides.len() * loops, tokens),
        };
        let plan = Arc::new(Plan::new(spec, options.connections, options.seed));
        let kinds = Arc::new(Kinds::of(&plan));
        let reconnect = spec.common.reconnect;
        let policy = Policy {
            ignored_errors: options.ignored_errors.clone(),
            retry: options.retry,
            reconnect_after: options
                .reconnect_after
                .or((reconnect > 0).then_some(u64::from(reconnect))),
            stall_timeout: options.stall_timeout,
            coalescing: options.coalescing,
            auto_coalesces: options.coalescing == CoalescingChoice::Auto
                && auto_coalesces(sides, spec, options.connections)?,
        };
        let (report, reports) = mpsc::channel();
        let (ready, readiness) = mpsc::channel();
        let mut driver = Driver {
            loops: Vec::with_capacity(loops),
            reports,
            io,
            broken: vec![None; sides.len()],
            cancel: Arc::clone(&options.cancel),
            stall_timeout: options.stall_timeout,
            kinds: Arc::clone(&kinds),
            seed: options.seed,
            runs: 0,
            replay: None,
            keepers: Vec::new(),
            stuck: false,
        };
        let share =
            |index: usize| (u64::from(options.connections) * index as u64 / loops as u64) as u32;
        for index in 0..loops {
            let setup = Setup {
                index,
                sides: sides.to_vec(),
                plan: Arc::clone(&plan),
                kinds: Arc::clone(&kinds),
                connections: share(index)..share(index + 1),
                connect_timeout: options.connect_timeout,
                io,
                policy: policy.clone(),
                cancel: Arc::clone(&options.cancel),
                script: script.clone(),
            };
            let started = Loop::start(setup, report.clone(), ready.clone())?;
            driver.loops.push(started);
        }
        drop(ready);
        for _ in 0..loops {
            match readiness.recv() {
                Ok(result) => result?,
                Err(_) => return Err(LoadError::Client("a thread of the load died".into())),
            }
        }
        Ok(driver)
    }

    /// Makes ready to replay a capture. Its sessions connect when their time comes.
    fn replay(
        sides: &[Vec<Endpoint>],
        capture: &CaptureWorkload,
        options: &DriverOptions,
    ) -> Result<Driver, LoadError> {
        let setup = setup::Setup::new(sides, capture, options)?;
        allow_open_files(sides.len() as u64 * u64::from(setup.trace.facts.max_sessions))?;
        let (report, reports) = mpsc::channel();
        let (ready, readiness) = mpsc::channel();
        let (orders, inbox) = mpsc::channel();
        let mut driver = Driver {
            loops: Vec::new(),
            reports,
            io: setup.io,
            broken: vec![None; sides.len()],
            cancel: Arc::clone(&options.cancel),
            stall_timeout: options.stall_timeout,
            kinds: Arc::clone(&setup.kinds),
            seed: options.seed,
            runs: 0,
            replay: Some(Arc::clone(&setup.shared)),
            keepers: Vec::new(),
            stuck: false,
        };
        let thread = std::thread::Builder::new()
            .name("replay".into())
            .spawn(move || {
                replay_loop::serve(&setup, ready, &inbox, &report);
                LoopExit::default()
            })
            .map_err(|error| LoadError::Client(format!("starting a thread: {error}")))?;
        driver.loops.push(Loop {
            orders: Some(orders),
            thread: Some(thread),
        });
        match readiness.recv() {
            Ok(result) => result.map(|()| driver),
            Err(_) => Err(LoadError::Client("a thread of the load died".into())),
        }
    }

    /// Loads one side for one slice: every connection starts a transaction at once, the ramp passes, counted time
    /// passes, transactions in flight are finished, and that is it. Of a capture a slice is its next segment, whatever the
    /// duration: the same piece of work on every side.
    pub fn slice(&mut self, side: usize, options: &SliceOptions) -> Result<SliceStats, LoadError> {
        self.run(side, &options.into(), &mut |_| true)
    }

    /// Loads one side as `options` say and hands out what every full interval of counted time did as soon as it is
    /// over; `false` from `on_interval` ends the run. Returns the whole run.
    pub fn run(
        &mut self,
        side: usize,
        options: &RunOptions,
        on_interval: &mut dyn FnMut(&SliceStats) -> bool,
    ) -> Result<SliceStats, LoadError> {
        match self.broken.get(side) {
            Some(None) => {}
            Some(Some(error)) => {
                return Err(LoadError::ServerLost {
                    side,
                    cause: format!("its connections were given up before ({error})"),
                });
            }
            None => {
                return Err(LoadError::invalid(format!(
                    "there is no side {side}: {} are connected",
                    self.broken.len()
                )));
            }
        }
        options.validate()?;
        if self.cancel.load(Ordering::Relaxed) {
            return Err(LoadError::Cancelled);
        }
        let result = self.collect(side, options, on_interval);
        if let Err(error) = &result
            && !matches!(error, LoadError::Cancelled | LoadError::Invalid(_))
        {
            self.broken[side] = Some(error.clone());
            // A loop that does not answer is missing on every side.
            if matches!(error, LoadError::Client(_)) {
                self.broken.fill(Some(error.clone()));
            }
        }
        result
    }

    /// How sockets are waited for, on all sides alike: [`IoChoice::Epoll`] or [`IoChoice::Uring`].
    pub fn io(&self) -> IoChoice {
        self.io
    }

    /// Whether one of its threads did not stop in time, as one whose script does not come back. It is then left alone until
    /// the process ends: nothing waits for it, neither [`leave`](Self::leave) nor dropping this.
    pub fn is_stuck(&self) -> bool {
        self.stuck
    }

    /// Says goodbye to the servers.
    pub fn disconnect(self) {}

    /// The same for a script: what its threads have asked before the first run and after the last one.
    ///
    /// # Errors
    /// One of them fails when it takes leave.
    pub fn leave(mut self) -> Result<Counts, LoadError> {
        self.end()
    }

    /// Has all loops end, then what is done once.
    fn end(&mut self) -> Result<Counts, LoadError> {
        for event_loop in &mut self.loops {
            event_loop.orders = None;
        }
        let mut counts = Counts::default();
        let mut result = Ok(());
        let mut broken = false;
        let last_moment = Instant::now() + QUIT_TIMEOUT;
        for event_loop in &mut self.loops {
            let Some(thread) = event_loop.thread.take() else {
                continue;
            };
            while self.stuck && !thread.is_finished() && Instant::now() < last_moment {
                std::thread::sleep(Duration::from_millis(5));
            }
            if self.stuck && !thread.is_finished() {
                broken = true;
                continue;
            }
            // A panic in a loop has been reported as a dead thread.
            if let Ok(left) = thread.join() {
                counts.add(left.counts);
                broken |= left.broken;
                result = result.and(left.failure.map_or(Ok(()), Err));
            }
        }
        for mut keeper in std::mem::take(&mut self.keepers) {
            match broken {
                true => keeper.abandon(),
                false => result = result.and(keeper.finish()),
            }
        }
        result.map(|()| counts)
    }

    fn collect(
        &mut self,
        side: usize,
        run: &RunOptions,
        on_interval: &mut dyn FnMut(&SliceStats) -> bool,
    ) -> Result<SliceStats, LoadError> {
        self.runs += 1;
        let arrivals = match &run.pacing {
            Pacing::Closed => None,
            Pacing::Open(schedule) => {
                let seed = self.seed.wrapping_add(self.runs.rotate_left(32));
                Some(Arrivals::new(schedule, run.warm_up, seed))
            }
        };
        let segment = run.segment && self.replay.is_some();
        let whole = RunOptions {
            warm_up: Duration::ZERO,
            duration: None,
            count_drain: true,
            ..run.clone()
        };
        let run = if segment { &whole } else { run };
        let started = SystemTime::now();
        let kick = Instant::now();
        let count_from = kick + run.warm_up;
        let order = Order {
            side,
            kick,
            count_from,
            stop_at: count_from + run.duration.unwrap_or(MAX_RUN),
            segment,
            interval: run.interval,
            drain_timeout: run.drain_timeout,
            count_drain: run.count_drain,
            connections_by_interval: run.connections_by_interval,
            stall_timeout: self.stall_timeout,
            cpus: run.cpus.clone(),
            events: run.events.map(|limit| (limit, Arc::new(AtomicU64::new(0)))),
            arrivals: arrivals.clone().map(|all| Arc::new(Mutex::new(all))),
            abort: Arc::default(),
            stop: Arc::default(),
            cancel: Arc::clone(&self.cancel),
        };
        let dead = || LoadError::Client("a thread of the load died".into());
        for event_loop in &self.loops {
            let orders = event_loop.orders.as_ref();
            if orders.is_none_or(|orders| orders.send(order.clone()).is_err()) {
                // Those that have the order already would carry it out, for nobody.
                order.abort.store(true, Ordering::Relaxed);
                return Err(dead());
            }
        }
        let mut collecting = Collecting::new(
            self.loops.len(),
            (started, kick),
            run,
            arrivals,
            &self.kinds,
        );
        let mut last_moment = order.stop_at + run.drain_timeout + STOP_TIMEOUT;
        let mut is_late = false;
        let mut is_cancelled = false;
        while !collecting.is_complete() {
            if !is_cancelled && self.cancel.load(Ordering::Relaxed) {
                (is_cancelled, is_late) = (true, true);
                last_moment = last_moment.min(Instant::now() + CANCELLED_GRACE);
            }
            let left = last_moment.saturating_duration_since(Instant::now());
            match self.reports.recv_timeout(left.min(POLL_INTERVAL)) {
                Ok((index, report)) => collecting.take(index, report),
                Err(RecvTimeoutError::Disconnected) => return Err(dead()),
                // The others hold the channel open, and one that is dead says nothing any more.
                Err(RecvTimeoutError::Timeout) if self.loops.iter().any(Loop::is_dead) => {
                    order.abort.store(true, Ordering::Relaxed);
                    return Err(dead());
                }
                Err(RecvTimeoutError::Timeout) if left > POLL_INTERVAL => continue,
                // Where this process was stopped and goes on now, its loops have not run yet.
                Err(RecvTimeoutError::Timeout) if !is_late => {
                    is_late = true;
                    last_moment = Instant::now() + STOP_TIMEOUT;
                }
                Err(RecvTimeoutError::Timeout) => {
                    order.abort.store(true, Ordering::Relaxed);
                    self.stuck = true;
                    let error =
                        LoadError::Client("a thread of the load did not stop in time".into());
                    if !is_cancelled {
                        return Err(error);
                    }
                    self.broken.fill(Some(error));
                    return Err(LoadError::Cancelled);
                }
            }
            if !collecting.hand_out(&order, last_moment, on_interval) {
                order.stop.store(true, Ordering::Relaxed);
            }
        }
        let whole = collecting.finish(&order);
        // Statements that were in flight then need not have been answered: nobody has lost the server by that.
        if self.cancel.load(Ordering::Relaxed)
            && matches!(whole, Ok(_) | Err(LoadError::ServerLost { .. }))
        {
            return Err(LoadError::Cancelled);
        }
        whole
    }
}

impl LoadGenerator for Driver {
    fn run(
        &mut self,
        side: usize,
        options: &RunOptions,
        on_interval: &mut dyn FnMut(&SliceStats),
    ) -> Result<SliceStats, LoadError> {
        Driver::run(self, side, options, &mut |interval| {
            on_interval(interval);
            true
        })
    }

    fn segments_left(&self, side: usize) -> Option<usize> {
        let left = self.replay.as_ref()?.left.get(side)?;
        Some(left.load(Ordering::Relaxed))
    }

    fn replayed(&self, side: usize) -> Option<Tally> {
        let tally = self.replay.as_ref()?.tallies.get(side)?;
        Some(tally.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    fn cpu_seconds_here(&self, stats: &SliceStats) -> f64 {
        stats.client_cpu_seconds
    }
}

impl Loop {
    /// Starts the thread of a loop; it says whether it is `ready`, then follows orders.
    fn start(
        setup: Setup,
        report: Sender<(usize, Report)>,
        ready: Sender<Result<(), LoadError>>,
    ) -> Result<Loop, LoadError> {
        let (orders, inbox) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name(format!("load-{}", setup.index))
            .spawn(move || {
                let connected = match &setup.script {
                    Some(script) => {
                        ScriptLoop::connect(&setup, script).map(|own| Either::Script(Box::new(own)))
                    }
                    None => EventLoop::connect(&setup).map(|own| Either::Plan(Box::new(own))),
                };
                // A driver that is gone already needs no answer.
                let _ = ready.send(connected.as_ref().map(|_| ()).map_err(Clone::clone));
                drop(ready);
                match connected {
                    Ok(Either::Plan(event_loop)) => event_loop.serve(&inbox, &report),
                    Ok(Either::Script(script_loop)) => return script_loop.serve(&inbox, &report),
                    Err(_) => {}
                }
                LoopExit::default()
            })
            .map_err(|error| LoadError::Client(format!("starting a thread: {error}")))?;
        Ok(Loop {
            orders: Some(orders),
            thread: Some(thread),
        })
    }
}

/// What a thread drives: connections by a plan, or threads of a script.
enum Either {
    Plan(Box<EventLoop>),
    Script(Box<ScriptLoop>),
}

/// Makes a script ready and runs its `init` on every side, one after the other; `done` follows when the keepers go.
///
/// # Errors
/// The script fails.
fn begin_script(
    sides: &[Vec<Endpoint>],
    spec: &WorkloadSpec,
    options: &DriverOptions,
) -> Result<(Arc<dyn ScriptThreads>, Vec<Keeper>), LoadError> {
    let servers = sides.first().cloned().unwrap_or_default();
    let run = script_run(spec, &servers, "run", options.connections, options.seed)?;
    let threads = runtime()?.run(&run)?;
    let plan = Arc::new(Plan::new(spec, options.connections, options.seed));
    let keeper = |side: &Vec<Endpoint>| {
        let wires = Wires::new(
            side.clone(),
            Arc::clone(&plan),
            options.connect_timeout,
            options.stall_timeout,
            options.ignored_errors.clone(),
        );
        Keeper::begin(&threads, wires, &options.cancel)
    };
    let keepers = sides.iter().map(keeper).collect::<Result<_, _>>()?;
    Ok((threads, keepers))
}

/// How many loops drive the load.
///
/// # Errors
/// The workload is none to be driven, or the options cannot be used.
fn loops_for(
    sides: &[Vec<Endpoint>],
    spec: &WorkloadSpec,
    options: &DriverOptions,
) -> Result<usize, LoadError> {
    let invalid = |message: String| Err(LoadError::invalid(message));
    spec.validate()?;
    if spec.is_job() {
        return invalid(format!(
            "{} is a job that is done once, not a load: `niagara bench {0}` times its steps, `niagara compare A B \
             --workload {0}` compares two servers by it",
            spec.spelling()
        ));
    }
    if sides.is_empty() || sides.iter().any(Vec::is_empty) {
        return invalid("there is no server to load".into());
    }
    if !(1..=100_000).contains(&options.connections) {
        return invalid(format!(
            "connections = {}: must be from 1 to 100000",
            options.connections
        ));
    }
    if options.reconnect_after == Some(0) {
        return invalid("reconnect_after = 0: must be at least 1 transaction".into());
    }
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    if let Workload::Script(script) = &spec.workload
        && script.info().blocks
    {
        return Ok(options.connections as usize);
    }
    let usual = || cpus.div_ceil(cpus_per_loop(sides, spec));
    let loops = options.loops.unwrap_or_else(usual);
    if loops == 0 {
        return invalid("loops = 0: must be at least 1".into());
    }
    Ok(loops.min(options.connections as usize))
}

/// For how many CPUs there is a loop where nobody says how many loops there are to be.
fn cpus_per_loop(sides: &[Vec<Endpoint>], spec: &WorkloadSpec) -> usize {
    let is_here = || sides.iter().flatten().all(|one| one.transport.is_local());
    match &spec.workload {
        Workload::Script(_) if is_here() => CPUS_PER_SCRIPT_LOOP,
        // The server takes none of them.
        Workload::Script(_) => 1,
        _ => CPUS_PER_LOOP,
    }
}

/// Connections for each CPU of the machine from which on wake-ups are coalesced by default.
const CROWDED: usize = 8;

/// Whether wake-ups are coalesced by default: half of the statements of this many connections keep the servers, which
/// are on this machine, as busy as all of them, and what waits holds no locks.
fn auto_coalesces(
    sides: &[Vec<Endpoint>],
    spec: &WorkloadSpec,
    threads: u32,
) -> Result<bool, LoadError> {
    let crowded = threads as usize >= CROWDED * machine_cpus()?;
    let here = sides.iter().flatten().all(|one| one.transport.is_local());
    // Last: of a script it is found out by trying it.
    Ok(crowded && here && !spec.writes())
}

/// Files that are open beside the connections: standard streams, polls, libraries, what the caller has open.
const OTHER_FILES: u64 = 256;

/// Raises this process' limit of open files where `connections` need it and the system allows it.
fn allow_open_files(connections: u64) -> Result<(), LoadError> {
    let failed = |error| LoadError::Client(format!("the limit of open files: {error}"));
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).map_err(failed)?;
    let needed = connections + OTHER_FILES;
    if soft >= needed {
        return Ok(());
    }
    if hard < needed {
        return Err(LoadError::invalid(problem!(
            "{connections} connections need {needed} open files, and this process may have {hard}";
            remedy: "raise the limit (ulimit -Hn, or LimitNOFILE of a service), or take fewer threads"
        )));
    }
    setrlimit(Resource::RLIMIT_NOFILE, needed, hard).map_err(failed)
}

impl Drop for Driver {
    fn drop(&mut self) {
        // What a script fails by then has been said in its log.
        let _ = self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SysbenchTest;
    use crate::net::endpoint::{TlsOptions, Transport};
    use crate::workload::WorkloadBuilder;
    use crate::workload::script::{ScriptInfo, ScriptSource, ScriptWorkload};
    use std::collections::BTreeMap;

    fn servers(transports: &[Transport]) -> Vec<Vec<Endpoint>> {
        let endpoint = |transport: &Transport| Endpoint {
            transport: transport.clone(),
            user: String::new(),
            password: String::new(),
            database: String::new(),
            tls: TlsOptions::default(),
        };
        vec![transports.iter().map(endpoint).collect()]
    }

    #[test]
    fn scripts_have_more_loops_than_workloads_that_run_no_lua() {
        let source = ScriptSource {
            path: "shop.lua".into(),
            text: String::new(),
            modules: BTreeMap::new(),
        };
        let script = WorkloadSpec::of(ScriptWorkload::new(source, ScriptInfo::default()));
        let own = WorkloadBuilder::new(SysbenchTest::OltpReadOnly).build();
        let own = own.unwrap();
        let here = Transport::Unix("/s".into());
        let elsewhere = Transport::Host {
            name: "db.example.org".into(),
            port: 3306,
        };
        let both = [here.clone(), elsewhere.clone()];
        for (transports, of_script) in [(&[here][..], 2), (&[elsewhere], 1), (&both, 1)] {
            let sides = servers(transports);
            assert_eq!(cpus_per_loop(&sides, &script), of_script, "{transports:?}");
            assert_eq!(cpus_per_loop(&sides, &own), 8);
        }
    }
}
