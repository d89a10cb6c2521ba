//! A thread of the system that drives its share of the threads of a script, on every side: as an
//! [event loop](crate::engine::event_loop) drives connections.

use crate::engine::event_loop::{Setup, machine_cpus};
use crate::engine::options::Retry;
use crate::engine::order::{LoopExit, Order, Policy, Report, client};
use crate::engine::placement::Placement;
use crate::engine::reconnect::Reconnector;
use crate::engine::recorder::Kinds;
use crate::engine::script_outside::Outside;
use crate::engine::script_running::ScriptRunning;
use crate::engine::script_thread::ScriptThread;
use crate::engine::script_watch::Watch;
use crate::error::LoadError;
use crate::net::event::Event;
use crate::net::io::Io;
use crate::script::program::Counts;
use crate::script::runtime::ScriptThreads;
use crate::script::wires::Wires;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

/// Bytes read at once.
const READ_BUFFER: usize = 64 * 1024;
/// Room for what happens at once.
const MAX_EVENTS: usize = 256;
/// Links that the threads may open while they are under load, beside those they have.
const MORE_LINKS: usize = 64;

/// The threads of one side.
struct Side {
    /// Before the wires: nothing watches them any more when they are closed.
    io: Option<Io>,
    threads: Vec<ScriptThread>,
    wires: Wires,
}

/// All that one thread of the system owns.
pub(crate) struct ScriptLoop {
    index: usize,
    kinds: Arc<Kinds>,
    policy: Policy,
    sides: Vec<Side>,
    reconnector: Reconnector,
    events: Vec<Event>,
    buffer: Vec<u8>,
    placement: Placement,
    watch: Watch,
    /// Statements outside the runs.
    counts: Counts,
}

impl ScriptLoop {
    /// Makes this loop's share of the threads of every side and runs them until they are ready for their first event.
    pub(crate) fn connect(
        setup: &Setup,
        script: &Arc<dyn ScriptThreads>,
    ) -> Result<Self, LoadError> {
        let retry = Retry {
            give_up_after: Duration::ZERO,
            ..setup.policy.retry.unwrap_or_default()
        };
        let reconnector = Reconnector::new(
            &setup.sides,
            setup.connections.start,
            &setup.plan,
            setup.connect_timeout,
            retry,
        )?;
        let watch = Watch::new(&setup.cancel)?;
        let mut counts = Counts::default();
        let mut sides = Vec::new();
        for servers in &setup.sides {
            let mut wires = Wires::new(
                servers.clone(),
                Arc::clone(&setup.plan),
                setup.connect_timeout,
                setup.policy.stall_timeout,
                setup.policy.ignored_errors.clone(),
            );
            wires.end_by(&setup.cancel);
            let patience = setup.policy.stall_timeout;
            let mut outside = Outside::new(&mut wires, &watch, &setup.cancel, patience)?;
            for number in setup.connections.clone() {
                outside.add(script.thread(number)?, number as usize)?;
            }
            let threads = outside.finish()?;
            counts.add(wires.take_counts());
            let tokens = wires.len() + threads.len() + MORE_LINKS;
            let mut io = Io::new(setup.io, servers, tokens)?;
            io.wake_by(&reconnector.waker)
                .map_err(client("watching an eventfd"))?;
            for (token, link) in wires.iter() {
                link.watch(&mut io, token as u32)
                    .map_err(client("watching a connection"))?;
            }
            wires.limit_to(tokens);
            sides.push(Side {
                io: Some(io),
                threads,
                wires,
            });
        }
        Ok(ScriptLoop {
            index: setup.index,
            kinds: Arc::clone(&setup.kinds),
            policy: setup.policy.clone(),
            sides,
            reconnector,
            events: Vec::with_capacity(MAX_EVENTS),
            buffer: vec![0; READ_BUFFER],
            placement: Placement::here()?,
            watch,
            counts,
        })
    }

    /// Follows orders until no more can come, then lets the threads take leave.
    pub(crate) fn serve(
        mut self,
        orders: &Receiver<Order>,
        reports: &Sender<(usize, Report)>,
    ) -> LoopExit {
        // As in an event loop: only a sandbox would refuse.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        let mut failed = false;
        while let Ok(order) = orders.recv() {
            let report = match self.run(&order, reports) {
                Ok(report) => report,
                Err(error) => {
                    failed = true;
                    order.abort.store(true, Ordering::Relaxed);
                    Report::Failed(error)
                }
            };
            if reports.send((self.index, report)).is_err() {
                break;
            }
        }
        let failure = match failed {
            true => None,
            false => self.take_leave(),
        };
        LoopExit {
            counts: self.counts,
            failure,
            broken: failed,
        }
    }

    /// Every thread does what it has to do at its end; returns what the first one fails by.
    fn take_leave(&mut self) -> Option<LoadError> {
        let mut failure = None;
        // The last run's time is over; what is done at the end has its own. A load that was cancelled has an end too.
        self.watch.give_up_never();
        let never = Arc::default();
        for side in &mut self.sides {
            side.io = None;
            side.wires.end_by(&never);
            let threads = std::mem::take(&mut side.threads);
            let patience = self.policy.stall_timeout;
            let left = Outside::new(&mut side.wires, &self.watch, &never, patience)
                .and_then(|outside| outside.leave(threads));
            failure = failure.or(left.err());
            self.counts.add(side.wires.take_counts());
            side.wires.quit();
        }
        failure
    }

    fn run(
        &mut self,
        order: &Order,
        reports: &Sender<(usize, Report)>,
    ) -> Result<Report, LoadError> {
        self.placement.place(order.cpus.as_ref())?;
        let side = &mut self.sides[order.side];
        let cpus = self.placement.cpus();
        let max_delay = self
            .policy
            .max_delay(side.threads.len(), cpus, machine_cpus()?);
        let Some(io) = &mut side.io else {
            return Err(LoadError::Client("the side was given up".into()));
        };
        let report = |window, per_connection| {
            // Without a listener the order to stop follows soon.
            let _ = reports.send((self.index, Report::Interval(window, per_connection)));
        };
        ScriptRunning::new(
            &self.kinds,
            &self.policy,
            order,
            io,
            &mut side.wires,
            &mut self.reconnector,
            &self.watch,
        )?
        .coalesced_for(max_delay)
        .run(
            &mut side.threads,
            &mut self.events,
            &mut self.buffer,
            &report,
        )
    }
}
