//! A thread that drives its share of the connections of every side.
//!
//! Between slices it sleeps until the next order. Within a slice it waits for answers of one side only, each side
//! having a poll of its own; the idle side costs nothing.

use crate::connection::{Connection, Lost, State};
use crate::endpoint::Endpoint;
use crate::error::LoadError;
use crate::protocol::response::Progress;
use crate::recorder::{Recorder, Window};
use crate::workload::transaction::Plan;
use mio::{Events, Poll, Token};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

/// The longest wait before the flags are looked at.
const LONGEST_WAIT: Duration = Duration::from_millis(100);
/// The longest drain after the user has cancelled.
const CANCELLED_DRAIN: Duration = Duration::from_secs(2);
/// Bytes read at once; an answer to a range of 100 rows has 13 kB.
const READ_BUFFER: usize = 64 * 1024;

/// Errors that belong to a transaction's life among others; it is rolled back and begun again. Sysbench's list,
/// and 1062, which a delete and insert without a transaction can meet.
const RESTARTING_ERRORS: [u16; 4] = [
    1213, // deadlock
    1205, // lock wait timeout
    1020, // the record has changed since it was read
    1062, // duplicate key
];
/// Errors by which a server says that the connection ends.
const ENDING_ERRORS: [u16; 5] = [
    1053, // the server shuts down
    1080, // forced close
    1927, // connection was killed (MariaDB)
    3169, // session was killed (MySQL)
    4031, // closed for inactivity (MySQL)
];

/// What a loop is to do for one slice or run.
#[derive(Debug, Clone)]
pub struct Order {
    pub side: usize,
    /// Counted time.
    pub count_from: Instant,
    pub stop_at: Instant,
    /// Report whenever this much counted time has passed.
    pub interval: Option<Duration>,
    pub drain_timeout: Duration,
    pub stall_timeout: Duration,
    pub cpus: Option<Vec<usize>>,
    /// Another loop has failed: leave everything as it is.
    pub abort: Arc<AtomicBool>,
    /// End counted time now and drain.
    pub stop: Arc<AtomicBool>,
    /// The user wants to stop: as `stop`, and the drain is short.
    pub cancel: Arc<AtomicBool>,
}

/// What a loop says.
#[derive(Debug)]
pub enum Report {
    /// An interval is over.
    Interval(Window),
    /// All transactions are finished.
    Finished {
        window: Window,
        /// When the last one was.
        ended: Instant,
        /// When counted time ended.
        stopped: Instant,
        /// Transactions by connection.
        per_connection: Vec<u64>,
    },
    /// The slice cannot be finished.
    Failed(LoadError),
}

struct Side {
    poll: Poll,
    connections: Vec<Connection>,
}

/// All that one thread owns.
pub struct EventLoop {
    index: usize,
    plan: Arc<Plan>,
    sides: Vec<Side>,
    events: Events,
    buffer: Vec<u8>,
    home: CpuSet,
    placed: Option<Vec<usize>>,
}

/// What is needed to make an [`EventLoop`] within its thread.
#[derive(Clone)]
pub struct Setup {
    pub index: usize,
    pub endpoints: Vec<Endpoint>,
    pub plan: Arc<Plan>,
    /// This loop's connections, numbered through all loops.
    pub connections: Range<u32>,
    pub connect_timeout: Duration,
    pub cancel: Arc<AtomicBool>,
}

fn client(what: &str) -> impl Fn(io::Error) -> LoadError + '_ {
    move |error| LoadError::Client(format!("{what}: {error}"))
}

impl EventLoop {
    /// Connects this loop's share of every side.
    pub fn connect(setup: &Setup) -> Result<Self, LoadError> {
        let mut sides = Vec::new();
        for endpoint in &setup.endpoints {
            let poll = Poll::new().map_err(client("making a poll"))?;
            let mut connections = Vec::new();
            for (token, number) in setup.connections.clone().enumerate() {
                if setup.cancel.load(Ordering::Relaxed) {
                    return Err(LoadError::Cancelled);
                }
                let mut connection = Connection::open(
                    endpoint,
                    &setup.plan,
                    // A connection draws the same on every side: what differs is the server.
                    setup.plan.transaction(number),
                    Token(token),
                    setup.connect_timeout,
                )?;
                connection
                    .register(poll.registry())
                    .map_err(client("watching a connection"))?;
                connections.push(connection);
            }
            sides.push(Side { poll, connections });
        }
        let home = sched_getaffinity(Pid::from_raw(0))
            .map_err(|error| LoadError::Client(format!("reading the CPU affinity: {error}")))?;
        Ok(EventLoop {
            index: setup.index,
            plan: Arc::clone(&setup.plan),
            sides,
            events: Events::with_capacity(setup.connections.len().max(16)),
            buffer: vec![0; READ_BUFFER],
            home,
            placed: None,
        })
    }

    /// Follows orders until no more can come, then says goodbye to the servers.
    pub fn serve(mut self, orders: &Receiver<Order>, reports: &Sender<(usize, Report)>) {
        while let Ok(order) = orders.recv() {
            let report = match self.run(&order, reports) {
                Ok(report) => report,
                Err(error) => {
                    order.abort.store(true, Ordering::Relaxed);
                    Report::Failed(error)
                }
            };
            if reports.send((self.index, report)).is_err() {
                break;
            }
        }
        for side in &mut self.sides {
            side.connections.iter_mut().for_each(Connection::quit);
        }
    }

    fn place(&mut self, cpus: Option<&Vec<usize>>) -> Result<(), LoadError> {
        if self.placed.as_ref() == cpus {
            return Ok(());
        }
        let mut set = CpuSet::new();
        match cpus {
            Some(cpus) => {
                for &cpu in cpus {
                    set.set(cpu)
                        .map_err(|_| LoadError::Invalid(format!("there is no CPU {cpu}")))?;
                }
            }
            None => set = self.home,
        }
        sched_setaffinity(Pid::from_raw(0), &set).map_err(|error| {
            LoadError::Invalid(format!(
                "the load generator cannot run on CPUs {cpus:?}: {error}"
            ))
        })?;
        self.placed = cpus.cloned();
        Ok(())
    }

    fn run(
        &mut self,
        order: &Order,
        reports: &Sender<(usize, Report)>,
    ) -> Result<Report, LoadError> {
        self.place(order.cpus.as_ref())?;
        let lost = |cause: String| LoadError::ServerLost {
            side: order.side,
            cause,
        };
        let side = &mut self.sides[order.side];
        let mut running = Running {
            plan: &self.plan,
            side: order.side,
            recorder: Recorder::new(order.count_from, order.stop_at)?,
            stop_at: order.stop_at,
            active: 0,
        };
        let mut drain_timeout = order.drain_timeout;
        let mut boundary = order.interval.map(|interval| order.count_from + interval);
        let registry = side
            .poll
            .registry()
            .try_clone()
            .map_err(client("sharing a poll"))?;

        let mut now = Instant::now();
        for connection in &mut side.connections {
            connection.transactions = 0;
            connection
                .begin(&self.plan, &registry, now)
                .map_err(|Lost(cause)| lost(cause))?;
            running.active += 1;
        }
        let mut heard = now;

        while running.active > 0 {
            let until = boundary.unwrap_or(running.stop_at);
            let wait = until
                .saturating_duration_since(now)
                .clamp(Duration::from_millis(1), LONGEST_WAIT);
            match side.poll.poll(&mut self.events, Some(wait)) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(client("waiting for answers")(error)),
            }
            now = Instant::now();
            if !self.events.is_empty() {
                heard = now;
            }
            for event in &self.events {
                let Some(connection) = side.connections.get_mut(event.token().0) else {
                    continue;
                };
                now = Instant::now();
                if let (Some(end), Some(interval)) = (boundary, order.interval) {
                    boundary = running.report_intervals(now, end, interval, self.index, reports)?;
                }
                running.answer(connection, &mut self.buffer, &registry, now)?;
            }
            if let (Some(end), Some(interval)) = (boundary, order.interval) {
                boundary = running.report_intervals(now, end, interval, self.index, reports)?;
            }

            if order.abort.load(Ordering::Relaxed) {
                return Ok(Report::Failed(LoadError::Cancelled));
            }
            let cancelled = order.cancel.load(Ordering::Relaxed);
            if cancelled || order.stop.load(Ordering::Relaxed) {
                running.stop_at = running.stop_at.min(now);
                running.recorder.stop(now);
            }
            if cancelled {
                drain_timeout = drain_timeout.min(CANCELLED_DRAIN);
            }
            if now >= running.stop_at + drain_timeout {
                return Err(lost(format!(
                    "{} transactions were not finished {:.1} s after the stop",
                    running.active,
                    drain_timeout.as_secs_f64()
                )));
            }
            if now.saturating_duration_since(heard) >= order.stall_timeout {
                return Err(lost(format!(
                    "no answer on {} connections for {:.1} s",
                    running.active,
                    order.stall_timeout.as_secs_f64()
                )));
            }
        }
        Ok(Report::Finished {
            window: running.recorder.take()?,
            ended: now,
            stopped: running.stop_at,
            per_connection: side
                .connections
                .iter()
                .map(|connection| connection.transactions)
                .collect(),
        })
    }
}

/// A slice under way.
struct Running<'a> {
    plan: &'a Plan,
    side: usize,
    recorder: Recorder,
    stop_at: Instant,
    /// Connections with a transaction in flight.
    active: usize,
}

impl Running<'_> {
    /// Sends a report for every interval that is over, and returns the end of the one at hand. The last
    /// interval ends with the drain, not here.
    fn report_intervals(
        &mut self,
        now: Instant,
        mut end: Instant,
        interval: Duration,
        index: usize,
        reports: &Sender<(usize, Report)>,
    ) -> Result<Option<Instant>, LoadError> {
        while end < self.stop_at && now >= end {
            // Without a listener the order to stop follows soon.
            let _ = reports.send((index, Report::Interval(self.recorder.take()?)));
            end += interval;
        }
        Ok((end < self.stop_at).then_some(end))
    }

    /// Takes what has arrived on a connection and sends what comes next.
    fn answer(
        &mut self,
        connection: &mut Connection,
        buffer: &mut [u8],
        registry: &mio::Registry,
        now: Instant,
    ) -> Result<(), LoadError> {
        self.try_answer(connection, buffer, registry, now)
            .map_err(|failure| match failure {
                Failure::Lost(Lost(cause)) => LoadError::ServerLost {
                    side: self.side,
                    cause,
                },
                Failure::Statement { code, message } => LoadError::Statement {
                    side: self.side,
                    code,
                    message,
                    statement: connection.statement_sql(self.plan),
                },
            })
    }

    fn try_answer(
        &mut self,
        connection: &mut Connection,
        buffer: &mut [u8],
        registry: &mio::Registry,
        now: Instant,
    ) -> Result<(), Failure> {
        let failed = match connection.receive(buffer, registry)? {
            Progress::More => return Ok(()),
            Progress::Done => false,
            Progress::Failed => true,
        };
        self.recorder.query(now);
        match (connection.state, failed) {
            (State::Running, false) => {
                if connection.advance(self.plan, registry)? {
                    return Ok(());
                }
                connection.transactions += 1;
                self.recorder
                    .transaction(now, now.saturating_duration_since(connection.started));
                if now < self.stop_at {
                    connection.begin(self.plan, registry, now)?;
                } else {
                    self.rest(connection);
                }
            }
            (State::Running, true) => {
                let error = connection.error()?;
                if ENDING_ERRORS.contains(&error.code) {
                    return Err(Lost(error.to_string()).into());
                }
                if !RESTARTING_ERRORS.contains(&error.code) {
                    return Err(Failure::Statement {
                        code: error.code,
                        message: error.message,
                    });
                }
                self.recorder.error(error.code);
                if self.plan.in_transaction {
                    connection.roll_back(registry)?;
                } else {
                    self.restart(connection, registry, now)?;
                }
            }
            (State::RollingBack, false) => self.restart(connection, registry, now)?,
            (State::RollingBack, true) => {
                let error = connection.error()?;
                return Err(Failure::Statement {
                    code: error.code,
                    message: error.message,
                });
            }
            (State::Idle, _) => {}
        }
        Ok(())
    }

    fn restart(
        &mut self,
        connection: &mut Connection,
        registry: &mio::Registry,
        now: Instant,
    ) -> Result<(), Lost> {
        if now < self.stop_at {
            connection.restart(self.plan, registry)
        } else {
            self.rest(connection);
            Ok(())
        }
    }

    fn rest(&mut self, connection: &mut Connection) {
        connection.state = State::Idle;
        self.active -= 1;
    }
}

enum Failure {
    Lost(Lost),
    Statement { code: u16, message: String },
}

impl From<Lost> for Failure {
    fn from(lost: Lost) -> Self {
        Failure::Lost(lost)
    }
}
