//! The thread that replays a capture on every side, by the orders that any loop gets.

use super::running::Running;
use super::setup::Setup;
use super::side::Side;
use crate::engine::order::{Order, Report};
use crate::engine::placement::Placement;
use crate::error::LoadError;
use crate::net::event::Event;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender};

/// Bytes read at once.
const READ_BUFFER: usize = 64 * 1024;
/// Room for what happens at once; it grows where more does.
const MAX_EVENTS: usize = 256;

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
        let sides = 0..setup.sides.len();
        Ok(Replay {
            setup,
            sides: sides
                .map(|place| Side::new(place, setup))
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
