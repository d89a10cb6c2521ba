//! Holds the connections and moves the load between the sides.

use crate::endpoint::Endpoint;
use crate::error::LoadError;
use crate::event_loop::{EventLoop, Order, Report, Setup};
use crate::recorder::{SliceStats, Window};
use crate::workload::WorkloadSpec;
use crate::workload::transaction::Plan;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

/// How long a loop may take beyond its own bounds before it is given up.
const GRACE: Duration = Duration::from_secs(10);

/// How servers are loaded.
#[derive(Debug, Clone)]
pub struct DriverOptions {
    /// Connections per side, each with one transaction in flight. Default 1.
    pub threads: u32,
    /// Threads of this process that drive them. Default: as many as CPUs, but no more than `threads`.
    pub loops: Option<usize>,
    /// Seed of everything that is drawn. A connection draws the same on every side. Default 1.
    pub seed: u64,
    /// Bound on every single wait while connecting. Default 10 s.
    pub connect_timeout: Duration,
    /// A loop that hears nothing from a loaded server for so long gives it up. Default 60 s, which is
    /// longer than InnoDB waits for a lock.
    pub stall_timeout: Duration,
    /// Setting it ends whatever runs, within 100 ms plus the transactions in flight.
    pub cancel: Arc<AtomicBool>,
}

impl Default for DriverOptions {
    fn default() -> Self {
        DriverOptions {
            threads: 1,
            loops: None,
            seed: 1,
            connect_timeout: Duration::from_secs(10),
            stall_timeout: Duration::from_secs(60),
            cancel: Arc::default(),
        }
    }
}

/// One slice.
#[derive(Debug, Clone)]
pub struct SliceOptions {
    /// Counted time. Default 500 ms.
    pub duration: Duration,
    /// Load before counted time. Default 50 ms.
    pub ramp: Duration,
    /// CPUs the loops may use; `None`: those they had when they were started.
    pub cpus: Option<Vec<usize>>,
    /// How long transactions in flight may take to finish; then the server counts as lost. Default 30 s.
    pub drain_timeout: Duration,
}

impl Default for SliceOptions {
    fn default() -> Self {
        SliceOptions {
            duration: Duration::from_millis(500),
            ramp: Duration::from_millis(50),
            cpus: None,
            drain_timeout: Duration::from_secs(30),
        }
    }
}

/// Connections to every side, and the loops that drive them. Dropping it disconnects.
#[derive(Debug)]
pub struct Driver {
    loops: Vec<Loop>,
    reports: Receiver<(usize, Report)>,
    /// Why a side can no longer be used.
    broken: Vec<Option<LoadError>>,
    cancel: Arc<AtomicBool>,
    stall_timeout: Duration,
}

#[derive(Debug)]
struct Loop {
    /// `None` once it is to end.
    orders: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

/// What a run is made of, for all loops.
struct Run<'a> {
    side: usize,
    ramp: Duration,
    duration: Duration,
    interval: Option<Duration>,
    cpus: Option<&'a Vec<usize>>,
    drain_timeout: Duration,
}

impl Driver {
    /// Connects to all sides and prepares the workload's statements on every connection.
    pub fn connect(
        endpoints: &[Endpoint],
        spec: &WorkloadSpec,
        options: &DriverOptions,
    ) -> Result<Driver, LoadError> {
        spec.validate()?;
        if endpoints.is_empty() {
            return Err(LoadError::Invalid("there is no server to load".into()));
        }
        if !(1..=100_000).contains(&options.threads) {
            return Err(LoadError::Invalid(format!(
                "threads = {}: must be from 1 to 100000",
                options.threads
            )));
        }
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let loops = options.loops.unwrap_or(cpus);
        if loops == 0 {
            return Err(LoadError::Invalid("loops = 0: must be at least 1".into()));
        }
        let loops = loops.min(options.threads as usize);

        let plan = Arc::new(Plan::new(spec, options.threads, options.seed));
        let (report, reports) = mpsc::channel();
        let (ready, readiness) = mpsc::channel();
        let mut driver = Driver {
            loops: Vec::with_capacity(loops),
            reports,
            broken: vec![None; endpoints.len()],
            cancel: Arc::clone(&options.cancel),
            stall_timeout: options.stall_timeout,
        };
        for index in 0..loops {
            let share =
                |index: usize| (u64::from(options.threads) * index as u64 / loops as u64) as u32;
            let setup = Setup {
                index,
                endpoints: endpoints.to_vec(),
                plan: Arc::clone(&plan),
                connections: share(index)..share(index + 1),
                connect_timeout: options.connect_timeout,
                cancel: Arc::clone(&options.cancel),
            };
            let (orders, inbox) = mpsc::channel();
            let (report, ready) = (report.clone(), ready.clone());
            let thread = std::thread::Builder::new()
                .name(format!("load-{index}"))
                .spawn(move || {
                    let event_loop = EventLoop::connect(&setup);
                    // A driver that is gone already needs no answer.
                    match event_loop {
                        Ok(event_loop) => {
                            let _ = ready.send(Ok(()));
                            event_loop.serve(&inbox, &report);
                        }
                        Err(error) => drop(ready.send(Err(error))),
                    }
                })
                .map_err(|error| LoadError::Client(format!("starting a thread: {error}")))?;
            driver.loops.push(Loop {
                orders: Some(orders),
                thread: Some(thread),
            });
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

    /// Loads one side for one slice: every connection starts a transaction at once, the ramp passes, counted time
    /// passes, transactions in flight are finished, and that is it.
    pub fn slice(&mut self, side: usize, options: &SliceOptions) -> Result<SliceStats, LoadError> {
        self.execute(
            &Run {
                side,
                ramp: options.ramp,
                duration: options.duration,
                interval: None,
                cpus: options.cpus.as_ref(),
                drain_timeout: options.drain_timeout,
            },
            &mut |_| true,
        )
    }

    /// Loads one side for `duration`, without a ramp, and hands out what every full `interval` did as soon as
    /// it is over; `false` from `on_interval` ends the run. Returns the whole run.
    pub fn run(
        &mut self,
        side: usize,
        duration: Duration,
        interval: Duration,
        on_interval: &mut dyn FnMut(&SliceStats) -> bool,
    ) -> Result<SliceStats, LoadError> {
        if interval < Duration::from_millis(1) {
            return Err(LoadError::Invalid(
                "an interval must have at least 1 ms".into(),
            ));
        }
        self.execute(
            &Run {
                side,
                ramp: Duration::ZERO,
                duration,
                interval: Some(interval),
                cpus: None,
                drain_timeout: SliceOptions::default().drain_timeout,
            },
            on_interval,
        )
    }

    /// Says goodbye to the servers.
    pub fn disconnect(self) {}

    fn execute(
        &mut self,
        run: &Run<'_>,
        on_interval: &mut dyn FnMut(&SliceStats) -> bool,
    ) -> Result<SliceStats, LoadError> {
        match self.broken.get(run.side) {
            Some(None) => {}
            Some(Some(error)) => {
                return Err(LoadError::ServerLost {
                    side: run.side,
                    cause: format!("its connections were given up before ({error})"),
                });
            }
            None => {
                return Err(LoadError::Invalid(format!(
                    "there is no side {}: {} are connected",
                    run.side,
                    self.broken.len()
                )));
            }
        }
        if run.duration.is_zero() {
            return Err(LoadError::Invalid("a slice must have a duration".into()));
        }
        if self.cancel.load(Ordering::Relaxed) {
            return Err(LoadError::Cancelled);
        }
        let result = self.collect(run, on_interval);
        if let Err(error) = &result
            && !matches!(error, LoadError::Cancelled | LoadError::Invalid(_))
        {
            self.broken[run.side] = Some(error.clone());
            // A loop that does not answer is missing on every side.
            if matches!(error, LoadError::Client(_)) {
                self.broken.fill(Some(error.clone()));
            }
        }
        result
    }

    fn collect(
        &mut self,
        run: &Run<'_>,
        on_interval: &mut dyn FnMut(&SliceStats) -> bool,
    ) -> Result<SliceStats, LoadError> {
        let started = SystemTime::now();
        let kick = Instant::now();
        let count_from = kick + run.ramp;
        let order = Order {
            side: run.side,
            count_from,
            stop_at: count_from + run.duration,
            interval: run.interval,
            drain_timeout: run.drain_timeout,
            stall_timeout: self.stall_timeout,
            cpus: run.cpus.cloned(),
            abort: Arc::default(),
            stop: Arc::default(),
            cancel: Arc::clone(&self.cancel),
        };
        let dead = || LoadError::Client("a thread of the load died".into());
        for event_loop in &self.loops {
            let orders = event_loop.orders.as_ref().ok_or_else(dead)?;
            orders.send(order.clone()).map_err(|_| dead())?;
        }

        let mut whole = SliceStats::new(started);
        let mut intervals = Intervals::new(self.loops.len(), started, run.interval);
        let (mut ended, mut stopped) = (kick, order.stop_at);
        let mut failure: Option<LoadError> = None;
        let mut shares: Vec<Vec<u64>> = vec![Vec::new(); self.loops.len()];
        let mut finished = 0;
        let last_moment = order.stop_at + run.drain_timeout + GRACE;
        while finished < self.loops.len() {
            let patience = last_moment.saturating_duration_since(Instant::now());
            let (index, report) = match self.reports.recv_timeout(patience) {
                Ok(report) => report,
                Err(RecvTimeoutError::Disconnected) => return Err(dead()),
                Err(RecvTimeoutError::Timeout) => {
                    order.abort.store(true, Ordering::Relaxed);
                    return Err(LoadError::Client(
                        "a thread of the load does not come to an end".into(),
                    ));
                }
            };
            match report {
                Report::Interval(window) => {
                    whole.add(&window);
                    intervals.push(index, window);
                }
                Report::Finished {
                    window,
                    ended: loop_ended,
                    stopped: loop_stopped,
                    per_connection,
                } => {
                    finished += 1;
                    whole.add(&window);
                    ended = ended.max(loop_ended);
                    stopped = stopped.min(loop_stopped);
                    shares[index] = per_connection;
                    intervals.push(index, window);
                }
                Report::Failed(error) => {
                    finished += 1;
                    // Loops that were told to give up say Cancelled; the reason comes from another one.
                    if failure.is_none() || failure == Some(LoadError::Cancelled) {
                        failure = Some(error);
                    }
                }
            }
            // Only full intervals are handed out: the last one is if the run was not cut short.
            while let Some(stats) = intervals.next(stopped, count_from) {
                if failure.is_none() && !on_interval(&stats) {
                    order.stop.store(true, Ordering::Relaxed);
                    intervals.close();
                }
            }
        }
        if let Some(error) = failure {
            return Err(error);
        }
        if self.cancel.load(Ordering::Relaxed) {
            return Err(LoadError::Cancelled);
        }
        whole.seconds = stopped.saturating_duration_since(count_from).as_secs_f64();
        whole.load_seconds = ended.saturating_duration_since(kick).as_secs_f64();
        whole.drain_seconds = ended.saturating_duration_since(stopped).as_secs_f64();
        whole.per_connection_transactions = shares.concat();
        Ok(whole)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        for event_loop in &mut self.loops {
            event_loop.orders = None;
        }
        for event_loop in &mut self.loops {
            if let Some(thread) = event_loop.thread.take() {
                // A panic in a loop has been reported as a dead thread.
                let _ = thread.join();
            }
        }
    }
}

/// Puts the loops' intervals together.
struct Intervals {
    /// What each loop has reported and others have not yet.
    waiting: Vec<VecDeque<Window>>,
    started: SystemTime,
    /// `None`: nothing is handed out.
    interval: Option<Duration>,
    given: u32,
}

impl Intervals {
    fn new(loops: usize, started: SystemTime, interval: Option<Duration>) -> Self {
        Intervals {
            waiting: (0..loops).map(|_| VecDeque::new()).collect(),
            started,
            interval,
            given: 0,
        }
    }

    fn push(&mut self, index: usize, window: Window) {
        if self.interval.is_some() {
            self.waiting[index].push_back(window);
        }
    }

    /// The next interval that all loops have reported and that is full.
    fn next(&mut self, stopped: Instant, count_from: Instant) -> Option<SliceStats> {
        let interval = self.interval?;
        if count_from + interval * (self.given + 1) > stopped
            || self.waiting.iter().any(VecDeque::is_empty)
        {
            return None;
        }
        let mut stats = SliceStats::new(self.started + interval * self.given);
        for window in self.waiting.iter_mut().filter_map(VecDeque::pop_front) {
            stats.add(&window);
        }
        stats.seconds = interval.as_secs_f64();
        stats.load_seconds = stats.seconds;
        self.given += 1;
        Some(stats)
    }

    fn close(&mut self) {
        self.interval = None;
    }
}
