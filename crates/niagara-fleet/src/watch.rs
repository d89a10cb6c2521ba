//! What the head sees of one worker.

use std::collections::VecDeque;
use std::time::Instant;

use crate::line::Tail;
use crate::message::{Attempt, WorkerLine};

/// A worker's log, as far as it is known here.
#[derive(Debug)]
pub struct Watch {
    tail: Tail,
    /// All of its lines.
    pub lines: Vec<WorkerLine>,
    /// Those that are still to be answered.
    pub unhandled: VecDeque<WorkerLine>,
    /// When something new stood there, by this host's clock.
    pub heard: Instant,
    /// It was given up.
    pub silent: bool,
    /// When its first line was answered, by this host's clock.
    pub arrived: Option<Instant>,
    /// Its node.
    pub node: String,
    /// The attempt that it runs.
    pub running: Option<Attempt>,
    /// Since when a result that it speaks of is missing.
    pub result_missed: Option<Instant>,
    /// Seconds for which it was there, once that is known.
    pub held: Option<f64>,
}

impl Watch {
    /// Nothing read yet.
    pub fn of(tail: Tail) -> Self {
        Self {
            tail,
            lines: Vec::new(),
            unhandled: VecDeque::new(),
            heard: Instant::now(),
            silent: false,
            arrived: None,
            node: String::new(),
            running: None,
            result_missed: None,
            held: None,
        }
    }

    /// Lines that were left out so far, for they are not whole.
    pub fn torn(&self) -> usize {
        self.tail.torn
    }

    /// Reads what was added; whether there was something.
    pub fn read(&mut self) -> bool {
        let lines: Vec<WorkerLine> = self.tail.lines().unwrap_or_default();
        if lines.is_empty() {
            return false;
        }
        self.heard = Instant::now();
        self.lines.extend(lines.iter().cloned());
        self.unhandled.extend(lines);
        true
    }

    /// Seconds from its beginning until now: its last word, and what passed since by this host's clock.
    pub fn held_until_now(&self) -> f64 {
        let last = self.lines.last().map_or(0.0, |line| line.at);
        last + self.heard.elapsed().as_secs_f64()
    }
}
