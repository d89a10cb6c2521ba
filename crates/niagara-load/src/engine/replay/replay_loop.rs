//! The thread that replays a capture on every side, by the orders that any loop gets.

use super::dispatcher::first_units;
use super::running::Running;
use super::side::Side;
use super::tally::Tally;
use crate::engine::options::DriverOptions;
use crate::engine::order::{Order, Report};
use crate::engine::placement::Placement;
use crate::engine::recorder::Kinds;
use crate::error::LoadError;
use crate::net::endpoint::Endpoint;
use crate::net::event::Event;
use crate::net::io_choice::IoChoice;
use crate::workload::{CaptureWorkload, StatementClass};
use niagara_capture::sql::Class;
use niagara_capture::trace::{Segment, Trace};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Bytes read at once.
const READ_BUFFER: usize = 64 * 1024;
/// Room for what happens at once; it grows where more does.
const MAX_EVENTS: usize = 256;

/// What is needed to replay a capture.
#[derive(Debug)]
pub(crate) struct Setup {
    pub sides: Vec<Vec<Endpoint>>,
    pub trace: Arc<Trace>,
    pub firsts: Arc<Vec<u32>>,
    pub segments: Vec<Segment>,
    /// The pace as a multiple of the captured one; none: as fast as the order allows.
    pub speed: Option<f64>,
    pub kinds: Arc<Kinds>,
    /// By the place of the digest in the trace: its place in `kinds`.
    pub kind_of: Vec<u16>,
    pub connect_timeout: Duration,
    pub io: IoChoice,
    pub shared: Arc<Shared>,
}

/// What the driver reads of a replay between its orders.
#[derive(Debug)]
pub(crate) struct Shared {
    /// By side.
    pub tallies: Vec<Mutex<Tally>>,
    /// By side: segments that are left.
    pub left: Vec<AtomicUsize>,
}

/// What the choice of a database and the like are counted as: behind the classes of statements.
const SESSION: &str = "session";

impl Setup {
    pub(crate) fn new(
        sides: &[Vec<Endpoint>],
        capture: &CaptureWorkload,
        options: &DriverOptions,
    ) -> Result<Self, LoadError> {
        let trace = capture.trace()?;
        let segments = trace.segments(options.segment.as_secs_f64(), options.segments_at_least);
        let firsts = Arc::new(first_units(&trace));
        let tokens = trace.facts.max_sessions as usize;
        let servers = sides.iter().flatten();
        let names = Class::ALL.map(|class| (name_of(class).to_owned(), class_of(class)));
        let mut names = names.to_vec();
        names.push((SESSION.to_owned(), StatementClass::Other));
        // A transaction begun again rolls back first.
        names.push(("rollback".to_owned(), StatementClass::Other));
        Ok(Setup {
            io: options.io.settled(servers, sides.len(), tokens),
            sides: sides.to_vec(),
            kind_of: trace
                .digests
                .iter()
                .map(|digest| digest.class as u16)
                .collect(),
            firsts,
            speed: capture.speed(),
            kinds: Arc::new(Kinds {
                names,
                types: Vec::new(),
            }),
            connect_timeout: options.connect_timeout,
            shared: Arc::new(Shared {
                tallies: sides
                    .iter()
                    .map(|_| Mutex::new(Tally::new(&trace)))
                    .collect(),
                left: sides
                    .iter()
                    .map(|_| AtomicUsize::new(segments.len()))
                    .collect(),
            }),
            segments,
            trace,
        })
    }

    /// What steps without a digest are counted as.
    pub(crate) fn session_kind(&self) -> u16 {
        Class::ALL.len() as u16
    }
}

fn name_of(class: Class) -> &'static str {
    match class {
        Class::Read => "read",
        Class::Write => "write",
        Class::Begin => "begin",
        Class::Commit => "commit",
        Class::Rollback => "rolled back",
        Class::Ddl => "ddl",
        Class::Set => "set",
        Class::Use => "use",
        Class::Call => "call",
        Class::Show => "show",
        Class::Lock => "lock",
        Class::Prepared => "prepared",
        Class::Server => "server",
        Class::Other | Class::Empty => "other",
    }
}

fn class_of(class: Class) -> StatementClass {
    match class {
        Class::Read => StatementClass::Read,
        Class::Write => StatementClass::Write,
        _ => StatementClass::Other,
    }
}

/// Follows orders until no more can come, then says goodbye to the servers. `ready` hears when it can.
pub(crate) fn serve(
    setup: &Setup,
    ready: Sender<Result<(), LoadError>>,
    orders: &Receiver<Order>,
    reports: &Sender<(usize, Report)>,
) {
    let mut replay = match Replay::new(setup) {
        Ok(replay) => replay,
        Err(error) => {
            // A driver that is gone already needs no answer.
            let _ = ready.send(Err(error));
            return;
        }
    };
    let _ = ready.send(Ok(()));
    drop(ready);
    // As any loop does: statements of an open loop would otherwise be up to 50 µs late.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    while let Ok(order) = orders.recv() {
        let report = match replay.run(&order, reports) {
            Ok(report) => report,
            Err(error) => {
                order.abort.store(true, Ordering::Relaxed);
                Report::Failed(error)
            }
        };
        if reports.send((0, report)).is_err() {
            break;
        }
    }
}

/// All that the thread owns.
struct Replay<'s> {
    setup: &'s Setup,
    sides: Vec<Side<'s>>,
    placement: Placement,
    events: Vec<Event>,
    buffer: Vec<u8>,
}

impl<'s> Replay<'s> {
    fn new(setup: &'s Setup) -> Result<Self, LoadError> {
        let sides = setup.sides.iter();
        Ok(Replay {
            setup,
            sides: sides
                .map(|servers| Side::new(servers, setup))
                .collect::<Result<_, _>>()?,
            placement: Placement::here()?,
            events: Vec::with_capacity(MAX_EVENTS),
            buffer: vec![0; READ_BUFFER],
        })
    }

    fn run(
        &mut self,
        order: &Order,
        reports: &Sender<(usize, Report)>,
    ) -> Result<Report, LoadError> {
        self.placement.place(order.cpus.as_ref())?;
        let shared = &self.setup.shared;
        let mut tally = shared.tallies[order.side]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let side = &mut self.sides[order.side];
        let report = |window| {
            // Without a listener the order to stop follows soon.
            let _ = reports.send((0, Report::Interval(window, Vec::new())));
        };
        let running = Running::new(self.setup, order, side, &mut tally)?;
        let ran = running.run(&mut self.events, &mut self.buffer, &report);
        let next = side.dispatcher.head();
        let left = match next {
            Some(unit) => {
                side.segment_of(unit);
                self.setup.segments.len() - side.segment
            }
            None => 0,
        };
        shared.left[order.side].store(left, Ordering::Relaxed);
        ran
    }
}
