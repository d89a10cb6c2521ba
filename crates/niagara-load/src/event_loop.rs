//! A thread that drives its share of the connections of every side.
//!
//! Between slices it sleeps until the next order. Within a slice it waits for answers of one side only, each side
//! having a poll or ring of its own; the idle side costs nothing.

use crate::connection::{Connection, Link};
use crate::endpoint::Endpoint;
use crate::error::LoadError;
use crate::io::{Event, Io, IoChoice};
use crate::options::{IgnoredErrors, Patience, Retry};
use crate::pacing::Arrivals;

use crate::reconnect::Reconnector;
use crate::recorder::{Kinds, Window};
use crate::running::Running;
use crate::workload::plan::Plan;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::{Pid, SysconfVar, sysconf};
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Bytes read at once; an answer to a range of 100 rows has 13 kB.
const READ_BUFFER: usize = 64 * 1024;
/// Room for what happens at once; it grows where more does.
const MOST_EVENTS: usize = 256;

/// What a loop is to do for one slice or run.
#[derive(Debug, Clone)]
pub struct Order {
    pub side: usize,
    /// When the load was kicked off; arrivals count from here.
    pub kick: Instant,
    /// Counted time.
    pub count_from: Instant,
    pub stop_at: Instant,
    /// Report whenever this much counted time has passed.
    pub interval: Option<Duration>,
    pub drain_timeout: Duration,
    /// Counted time ends with the drain, not before it.
    pub count_drain: bool,
    pub connections_by_interval: bool,
    pub stall_timeout: Duration,
    pub cpus: Option<Vec<usize>>,
    /// Transactions that may begin in counted time, and how many did.
    pub events: Option<(u64, Arc<AtomicU64>)>,
    /// Of an open loop: where all loops take their transactions from.
    pub arrivals: Option<Arc<Mutex<Arrivals>>>,
    /// Another loop has failed: leave everything as it is.
    pub abort: Arc<AtomicBool>,
    /// End counted time now and drain.
    pub stop: Arc<AtomicBool>,
    /// The user wants to stop: as `stop`, and the drain is short.
    pub cancel: Arc<AtomicBool>,
}

/// What a connection did since the kick.
#[derive(Debug, Clone, Copy, Default)]
pub struct Served {
    pub transactions: u64,
    /// Time within them.
    pub busy: Duration,
    /// The least of that for one of them; nothing without one.
    pub shortest: Duration,
    /// The most.
    pub longest: Duration,
}

/// What a loop says.
#[derive(Debug)]
pub enum Report {
    /// An interval is over. What each connection did since the kick, if that was asked for.
    Interval(Window, Vec<Served>),
    /// All transactions are finished.
    Finished {
        window: Window,
        /// When the last one was.
        ended: Instant,
        /// When counted time ended.
        stopped: Instant,
        /// What each connection did.
        per_connection: Vec<Served>,
    },
    /// The slice cannot be finished.
    Failed(LoadError),
}

/// The connections to one server.
pub struct Side {
    pub io: Io,
    pub connections: Vec<Connection>,
}

/// What is put up with.
#[derive(Debug, Clone)]
pub struct Policy {
    pub ignored_errors: IgnoredErrors,
    pub retry: Option<Retry>,
    pub reconnect_after: Option<u64>,
    /// How long answers may gather before they are taken.
    pub patience: Patience,
    /// With [`Patience::Auto`] they may, where the loop has CPUs of its own.
    pub gathers_by_itself: bool,
}

/// All that one thread owns.
pub struct EventLoop {
    index: usize,
    plan: Arc<Plan>,
    kinds: Arc<Kinds>,
    policy: Policy,
    sides: Vec<Side>,
    reconnector: Reconnector,
    events: Vec<Event>,
    buffer: Vec<u8>,
    home: CpuSet,
    placed: Option<Vec<usize>>,
}

/// What is needed to make an [`EventLoop`] within its thread.
#[derive(Clone)]
pub struct Setup {
    pub index: usize,
    /// By side; the connections of a side go to its servers in turn.
    pub sides: Vec<Vec<Endpoint>>,
    pub plan: Arc<Plan>,
    pub kinds: Arc<Kinds>,
    /// This loop's connections, numbered through all loops.
    pub connections: Range<u32>,
    pub connect_timeout: Duration,
    pub io: IoChoice,
    pub policy: Policy,
    pub cancel: Arc<AtomicBool>,
}

pub fn client(what: &str) -> impl Fn(io::Error) -> LoadError + '_ {
    move |error| LoadError::Client(format!("{what}: {error}"))
}

/// CPUs of this machine that are in use, whoever may use them.
pub fn machine_cpus() -> Result<usize, LoadError> {
    match sysconf(SysconfVar::_NPROCESSORS_ONLN) {
        Ok(Some(count)) if count > 0 => Ok(count as usize),
        other => Err(LoadError::Client(format!("the number of CPUs: {other:?}"))),
    }
}

impl EventLoop {
    /// Connects this loop's share of every side.
    pub fn connect(setup: &Setup) -> Result<Self, LoadError> {
        let reconnector = Reconnector::new(
            &setup.sides,
            setup.connections.start,
            &setup.plan,
            setup.connect_timeout,
            setup.policy.retry.unwrap_or_default(),
        )?;
        let mut sides = Vec::new();
        for servers in &setup.sides {
            let mut io = Io::new(setup.io, servers, setup.connections.len())?;
            io.wake_by(&reconnector.waker)
                .map_err(client("watching an eventfd"))?;
            let mut connections = Vec::with_capacity(setup.connections.len());
            for (token, number) in (0..).zip(setup.connections.clone()) {
                if setup.cancel.load(Ordering::Relaxed) {
                    return Err(LoadError::Cancelled);
                }
                let endpoint = &servers[number as usize % servers.len()];
                let link = Link::open(endpoint, &setup.plan, setup.connect_timeout)?;
                // A connection draws the same on every side: what differs is the server.
                let connection = Connection::new(link, token, setup.plan.transaction(number));
                connection
                    .register(&mut io)
                    .map_err(client("watching a connection"))?;
                connections.push(connection);
            }
            sides.push(Side { io, connections });
        }
        let home = sched_getaffinity(Pid::from_raw(0))
            .map_err(|error| LoadError::Client(format!("reading the CPU affinity: {error}")))?;
        Ok(EventLoop {
            index: setup.index,
            plan: Arc::clone(&setup.plan),
            kinds: Arc::clone(&setup.kinds),
            policy: setup.policy.clone(),
            sides,
            reconnector,
            events: Vec::with_capacity(MOST_EVENTS),
            buffer: vec![0; READ_BUFFER],
            home,
            placed: None,
        })
    }

    /// Follows orders until no more can come, then says goodbye to the servers.
    pub fn serve(mut self, orders: &Receiver<Order>, reports: &Sender<(usize, Report)>) {
        // Sleeps may otherwise be 50 µs longer than asked for, and transactions of an open loop as much late. Only a
        // sandbox would refuse; then they are, and the figures say so.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
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

    /// How long answers may gather where this loop is now.
    fn patience(&self, connections: usize) -> Result<Duration, LoadError> {
        Ok(match self.policy.patience {
            Patience::For(patience) => patience,
            Patience::Auto if self.policy.gathers_by_itself && self.cpus() < machine_cpus()? => {
                Patience::among(connections)
            }
            Patience::Auto => Duration::ZERO,
        })
    }

    /// How many CPUs the loop may use.
    fn cpus(&self) -> usize {
        match &self.placed {
            Some(cpus) => cpus.len(),
            None => (0..CpuSet::count())
                .filter(|&cpu| self.home.is_set(cpu).unwrap_or(false))
                .count(),
        }
    }

    fn run(
        &mut self,
        order: &Order,
        reports: &Sender<(usize, Report)>,
    ) -> Result<Report, LoadError> {
        self.place(order.cpus.as_ref())?;
        let patience = self.patience(self.sides[order.side].connections.len())?;
        let side = &mut self.sides[order.side];
        let report = |window, per_connection| {
            // Without a listener the order to stop follows soon.
            let _ = reports.send((self.index, Report::Interval(window, per_connection)));
        };
        Running::new(
            &self.plan,
            &self.kinds,
            &self.policy,
            order,
            &mut side.io,
            &mut self.reconnector,
            patience,
        )?
        .run(
            &mut side.connections,
            &mut self.events,
            &mut self.buffer,
            &report,
        )
    }
}
