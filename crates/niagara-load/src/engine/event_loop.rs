//! A thread that drives its share of the connections of every side.
//!
//! Between slices it sleeps until the next order. Within a slice it waits for answers of one side only, each side
//! having a poll or ring of its own; the idle side costs nothing.

use crate::engine::connection::Connection;
use crate::engine::link::Link;
use crate::engine::order::{Order, Policy, Report, client};
use crate::engine::placement::Placement;
use crate::engine::reconnect::Reconnector;
use crate::engine::recorder::Kinds;
use crate::engine::running::Running;
use crate::error::LoadError;
use crate::net::endpoint::Endpoint;
use crate::net::event::Event;
use crate::net::io::Io;
use crate::net::io_choice::IoChoice;
use crate::script::runtime::ScriptThreads;
use crate::workload::plan::Plan;
use nix::unistd::{SysconfVar, sysconf};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

/// Bytes read at once; an answer to a range of 100 rows has 13 kB.
const READ_BUFFER: usize = 64 * 1024;
/// Room for what happens at once; it grows where more does.
const MAX_EVENTS: usize = 256;

/// The connections to one server.
pub(crate) struct Side {
    pub io: Io,
    pub connections: Vec<Connection>,
}

/// All that one thread owns.
pub(crate) struct EventLoop {
    index: usize,
    plan: Arc<Plan>,
    kinds: Arc<Kinds>,
    policy: Policy,
    sides: Vec<Side>,
    reconnector: Reconnector,
    events: Vec<Event>,
    buffer: Vec<u8>,
    placement: Placement,
}

/// What is needed to make an [`EventLoop`] within its thread.
#[derive(Clone)]
pub(crate) struct Setup {
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
    /// Of a workload that is a script: who makes its threads.
    pub script: Option<Arc<dyn ScriptThreads>>,
}

/// CPUs of this machine that are in use, whoever may use them.
pub(crate) fn machine_cpus() -> Result<usize, LoadError> {
    match sysconf(SysconfVar::_NPROCESSORS_ONLN) {
        Ok(Some(count)) if count > 0 => Ok(count as usize),
        other => Err(LoadError::Client(format!("the number of CPUs: {other:?}"))),
    }
}

impl EventLoop {
    /// Connects this loop's share of every side.
    pub(crate) fn connect(setup: &Setup) -> Result<Self, LoadError> {
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
        Ok(EventLoop {
            index: setup.index,
            plan: Arc::clone(&setup.plan),
            kinds: Arc::clone(&setup.kinds),
            policy: setup.policy.clone(),
            sides,
            reconnector,
            events: Vec::with_capacity(MAX_EVENTS),
            buffer: vec![0; READ_BUFFER],
            placement: Placement::here()?,
        })
    }

    /// Follows orders until no more can come, then says goodbye to the servers.
    pub(crate) fn serve(mut self, orders: &Receiver<Order>, reports: &Sender<(usize, Report)>) {
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

    /// The longest delay of a wake-up where this loop is now.
    fn max_delay(&self, connections: usize) -> Result<Duration, LoadError> {
        let cpus = self.placement.cpus();
        Ok(self.policy.max_delay(connections, cpus, machine_cpus()?))
    }

    fn run(
        &mut self,
        order: &Order,
        reports: &Sender<(usize, Report)>,
    ) -> Result<Report, LoadError> {
        self.placement.place(order.cpus.as_ref())?;
        let max_delay = self.max_delay(self.sides[order.side].connections.len())?;
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
            max_delay,
        )?
        .run(
            &mut side.connections,
            &mut self.events,
            &mut self.buffer,
            &report,
        )
    }
}
