//! Which unit of a trace may begin next. No I/O here.

use niagara_capture::trace::{NONE, Trace};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Follows what has ended on one server. Nothing here allocates once it is made.
#[derive(Debug)]
pub(crate) struct Dispatcher {
    trace: Arc<Trace>,
    /// The first units of all sessions, in their order.
    firsts: Arc<Vec<u32>>,
    next_first: usize,
    /// The next units of the sessions that have begun and are free.
    ready: BinaryHeap<Reverse<u32>>,
    /// By rank: it is over.
    over: Vec<u64>,
    /// All of lower rank are over.
    prefix: u32,
}

/// The first units of all sessions of a trace, in their order.
pub(crate) fn first_units(trace: &Trace) -> Vec<u32> {
    let units = (0..).zip(&trace.units);
    units
        .filter(|(_, unit)| unit.is_first)
        .map(|(place, _)| place)
        .collect()
}

impl Dispatcher {
    pub(crate) fn new(trace: &Arc<Trace>, firsts: &Arc<Vec<u32>>) -> Self {
        let ranks = trace.units.iter().filter(|unit| unit.rank != NONE).count();
        Dispatcher {
            trace: Arc::clone(trace),
            firsts: Arc::clone(firsts),
            next_first: 0,
            ready: BinaryHeap::with_capacity(trace.sessions as usize),
            over: vec![0; ranks.div_ceil(64)],
            prefix: 0,
        }
    }

    /// The first unit in the captured order whose session is free; none: all have begun, or their sessions are busy.
    #[inline]
    pub(crate) fn head(&self) -> Option<u32> {
        let ready = self.ready.peek().map(|&Reverse(unit)| unit);
        let first = self.firsts.get(self.next_first).copied();
        match (ready, first) {
            (Some(ready), Some(first)) => Some(ready.min(first)),
            (ready, first) => ready.or(first),
        }
    }

    /// Whether all that the unit waits for is over. If it is not for the [head](Self::head), it is for no other.
    #[inline]
    pub(crate) fn may_begin(&self, unit: u32) -> bool {
        self.trace.units[unit as usize].gate <= self.prefix
    }

    /// The [head](Self::head) begins.
    #[inline]
    pub(crate) fn begin(&mut self) {
        let Some(head) = self.head() else { return };
        if self.firsts.get(self.next_first) == Some(&head) {
            self.next_first += 1;
        } else {
            self.ready.pop();
        }
    }

    /// A unit is over: its session is free, and those that waited for it may begin.
    #[inline]
    pub(crate) fn end(&mut self, unit: u32) {
        let unit = &self.trace.units[unit as usize];
        if unit.next != NONE {
            self.ready.push(Reverse(unit.next));
        }
        if unit.rank == NONE {
            return;
        }
        self.over[unit.rank as usize / 64] |= 1 << (unit.rank % 64);
        while let Some(&word) = self.over.get(self.prefix as usize / 64) {
            // Of the word at hand: how many from here on are over.
            let ones = (word >> (self.prefix % 64)).trailing_ones();
            self.prefix += ones;
            if ones == 0 || !self.prefix.is_multiple_of(64) {
                break;
            }
        }
    }

    /// From the beginning again.
    pub(crate) fn rewind(&mut self) {
        self.next_first = 0;
        self.ready.clear();
        self.over.fill(0);
        self.prefix = 0;
    }
}
