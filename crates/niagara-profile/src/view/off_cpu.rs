//! What threads wait for: every time one leaves its CPU, and how long it was away; now and then with the stack it left.
//!
//! Threads of the server's own, which flush or purge, run under load too: their waiting for work is nobody's query.
//!
//! Every wait is timed, but the copy of a stack costs a busy server more than all the rest: where threads wait often, only
//! one in this many has it, and stands for those between.

use std::collections::BTreeMap;

use anyhow::{Result, bail};

use crate::folded::{Folded, Frame};
use crate::kernel::{Access, Event, Raw, Reach, Rings, Sampled};
use crate::process::{Rotation, Unwinder, schedule};
use crate::symbols::Symbolizer;

/// Time of the threads that were observed, in seconds.
#[derive(Debug, Clone, Default)]
pub struct OffCpu {
    /// All of it: threads times time.
    pub observed: f64,
    /// On a CPU.
    pub running: f64,
    /// Ready to run, and waiting for a CPU.
    pub ready: f64,
    /// Waiting, by stack; weights are seconds. What was waited without a stack is spread over those that have one.
    pub waiting: Folded,
    /// All waiting, in seconds.
    pub waited: f64,
    /// Waits with a stack.
    pub stacks: u64,
    /// Times a thread waited.
    pub waits: u64,
    /// Times a thread was taken off its CPU although it could have continued.
    pub preempted: u64,
    /// Waits whose way up ended before the thread's first frame.
    pub truncated: u64,
    /// Records that did not fit into the buffers.
    pub lost: u64,
    /// Threads that were observed, and how many of them at a time.
    pub threads: (usize, usize),
    /// Those of them that serve no connection (they flush, purge, wait for work of their own): none of the above is theirs.
    pub background: usize,
}

/// Functions without one of which among its stacks a thread serves no connection.
const SERVING: [&str; 6] = [
    "do_command",
    "dispatch_command",
    "do_handle_one_connection",
    "handle_one_connection",
    "handle_connection",
    "threadpool_process_request",
];

impl OffCpu {
    /// Whether the one thread that this was seen of serves connections; one that nothing is known of may.
    fn may_serve(&self) -> bool {
        let serves = |frame: &&Frame| SERVING.iter().any(|name| frame.name.starts_with(name));
        self.waiting.is_empty()
            || self
                .waiting
                .stacks()
                .any(|(frames, _)| frames.iter().any(serves))
    }

    /// Adds what was seen of another thread.
    fn add(&mut self, thread: &OffCpu) {
        self.observed += thread.observed;
        self.running += thread.running;
        self.ready += thread.ready;
        self.waited += thread.waited;
        self.stacks += thread.stacks;
        self.waits += thread.waits;
        self.preempted += thread.preempted;
        self.truncated += thread.truncated;
        self.lost += thread.lost;
        for (frames, seconds) in thread.waiting.stacks() {
            self.waiting.add(frames.into_iter().cloned(), seconds);
        }
    }
}

/// Stacks a second that are aimed at, of all threads that are observed together.
const STACKS: f64 = 1000.0;
/// One switch in this many has its stack. Primes, so that a transaction of a fixed number of statements is not always met
/// at the same one.
const PERIODS: [u64; 8] = [1, 3, 7, 13, 29, 61, 127, 251];

/// One in how many switches has its stack, at this rate of switches a second.
fn period(switches: f64) -> u64 {
    let enough = PERIODS
        .iter()
        .find(|&&period| switches / period as f64 <= STACKS);
    *enough.unwrap_or(&PERIODS[PERIODS.len() - 1])
}

/// One wait.
#[derive(Debug)]
struct Wait {
    /// The thread's stack when it began; most waits have none.
    pub left: Option<Sampled>,
    /// How long it was away, in seconds.
    pub seconds: f64,
}

/// Waits of some threads at a time while it is switched on.
pub struct OffCpuView<'a> {
    pid: i32,
    unwinder: &'a mut Unwinder,
    symbolizer: &'a Symbolizer,
    rotation: Rotation,
    period: u64,
    open: Option<Open>,
    /// What was seen of each thread.
    seen: BTreeMap<i32, OffCpu>,
}

struct Open {
    rings: Rings,
    threads: Vec<i32>,
    since: std::time::Instant,
    before: BTreeMap<i32, crate::process::Scheduled>,
}

impl<'a> OffCpuView<'a> {
    /// A view of some threads of process `pid`, switched off. `switches` is how often a second all of them together leave
    /// their CPUs under this load.
    ///
    /// # Errors
    /// The kernel does not tell this user about context switches; no thread serves the load.
    pub fn new(
        pid: i32,
        threads: Vec<i32>,
        switches: f64,
        access: &Access,
        unwinder: &'a mut Unwinder,
        symbolizer: &'a Symbolizer,
    ) -> Result<OffCpuView<'a>> {
        if access.reach < Reach::Kernel {
            bail!(
                "waiting cannot be seen here: {}",
                access.missing().join("\n")
            );
        }
        let rotation = Rotation::new(threads);
        if rotation.is_empty() {
            bail!("no thread of the server ran under load, so there is none to observe");
        }
        let part = rotation.at_once() as f64 / rotation.len() as f64;
        Ok(OffCpuView {
            pid,
            period: period(switches * part),
            unwinder,
            symbolizer,
            seen: BTreeMap::new(),
            rotation,
            open: None,
        })
    }

    /// Observes the next threads.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn on(&mut self) -> Result<()> {
        let threads = self.rotation.turn();
        let events: Vec<Event> = threads
            .iter()
            .map(|id| Event::Switches(*id, self.period))
            .collect();
        let before = schedule(self.pid)?;
        let rings = Rings::open(&events)?;
        self.open = Some(Open {
            rings,
            threads,
            since: std::time::Instant::now(),
            before,
        });
        Ok(())
    }

    /// Looks away and adds up.
    ///
    /// # Errors
    /// The reading thread or the server has ended.
    pub fn off(&mut self) -> Result<()> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let seconds = open.since.elapsed().as_secs_f64();
        let records = open.rings.close()?;
        let after = schedule(self.pid)?;
        for thread in &open.threads {
            let (was, now) = (open.before.get(thread), after.get(thread));
            let (was, now) = (
                was.copied().unwrap_or_default(),
                now.copied().unwrap_or_default(),
            );
            let seen = self.seen.entry(*thread).or_default();
            seen.observed += seconds;
            seen.running += now.running.saturating_sub(was.running) as f64 / 1e9;
            seen.ready += now.ready.saturating_sub(was.ready) as f64 / 1e9;
        }
        for (thread, records) in open.threads.iter().zip(records) {
            self.add(*thread, records);
        }
        Ok(())
    }

    /// The waits of one thread.
    fn add(&mut self, thread: i32, records: Vec<Raw>) {
        let seen = self.seen.entry(thread).or_default();
        for found in waits(records, seen) {
            seen.waited += found.seconds;
            let Some(left) = found.left else {
                continue;
            };
            let unwound = self.unwinder.unwind(&left);
            seen.stacks += 1;
            seen.truncated += u64::from(!unwound.whole);
            let user = unwound.addresses.iter().rev();
            let user = user.map(|address| self.symbolizer.user(*address));
            let kernel = left.kernel.iter().rev();
            let kernel = kernel.map(|address| self.symbolizer.kernel(*address));
            seen.waiting.add(user.chain(kernel), found.seconds);
        }
    }

    /// What was seen.
    pub fn finish(self) -> OffCpu {
        OffCpu {
            threads: (self.rotation.len(), self.rotation.at_once()),
            ..of_connections(self.seen.into_values())
        }
    }
}

/// What was seen of the threads that serve connections, together; where no stack tells which do, of all.
fn of_connections(threads: impl Iterator<Item = OffCpu>) -> OffCpu {
    let (serving, others): (Vec<OffCpu>, Vec<OffCpu>) = threads.partition(OffCpu::may_serve);
    let (kept, background) = match serving.is_empty() {
        true => (others, 0),
        false => (serving, others.len()),
    };
    let mut sum = OffCpu {
        background,
        ..OffCpu::default()
    };
    for thread in &kept {
        sum.add(thread);
    }
    let with_stack = sum.waiting.total();
    if with_stack > 0.0 {
        sum.waiting = sum.waiting.scaled(sum.waited / with_stack);
    }
    sum
}

/// Pairs each leaving with its return. A thread that was preempted did not wait; what was lost in between ends a pair.
fn waits(records: Vec<Raw>, seen: &mut OffCpu) -> Vec<Wait> {
    let mut found = Vec::new();
    let mut left: Option<Sampled> = None;
    let mut away: Option<(u64, Option<Sampled>)> = None;
    for record in records {
        match record {
            Raw::Sample(sample) => left = Some(sample),
            Raw::Leaves {
                preempted, time, ..
            } => {
                let stack = left.take();
                if preempted {
                    seen.preempted += 1;
                    away = None;
                } else {
                    seen.waits += 1;
                    away = Some((time, stack));
                }
            }
            Raw::Returns { time, .. } => {
                if let Some((since, left)) = away.take() {
                    found.push(Wait {
                        seconds: time.saturating_sub(since) as f64 / 1e9,
                        left,
                    });
                }
            }
            Raw::Lost(lost) => {
                seen.lost += lost;
                (left, away) = (None, None);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded::Place;

    fn sample(time: u64) -> Raw {
        Raw::Sample(Sampled {
            time,
            ..Sampled::default()
        })
    }

    #[test]
    fn waits_are_paired_and_preemption_is_none() {
        let mut sum = OffCpu::default();
        let leaves = |time, preempted| Raw::Leaves { time, preempted };
        let returns = |time| Raw::Returns { time };
        let found = waits(
            vec![
                returns(5),
                sample(1_000_000_000),
                leaves(1_000_000_000, false),
                returns(3_000_000_000),
                sample(4_000_000_000),
                leaves(4_000_000_001, true),
                returns(5_000_000_000),
                leaves(5_000_000_000, false),
                returns(5_500_000_000),
                sample(6_000_000_000),
                Raw::Lost(7),
                returns(8_000_000_000),
            ],
            &mut sum,
        );
        let seen: Vec<(f64, bool)> = found
            .iter()
            .map(|wait| (wait.seconds, wait.left.is_some()))
            .collect();
        assert_eq!(seen, [(2.0, true), (0.5, false)]);
        assert_eq!((sum.waits, sum.preempted, sum.lost), (2, 1, 7));
    }

    /// A thread that was observed for ten seconds, and waited for nine of them in this stack; a third of its waits had it.
    fn thread(functions: &[&str]) -> OffCpu {
        let mut waiting = Folded::default();
        let frame = |name: &&str| Frame {
            name: (*name).to_owned(),
            place: Place::Server,
            named: true,
            inferred: false,
        };
        waiting.add(functions.iter().map(frame), 3.0);
        OffCpu {
            observed: 10.0,
            running: 1.0,
            waited: 9.0,
            waits: 30,
            stacks: 10,
            waiting,
            ..OffCpu::default()
        }
    }

    #[test]
    fn threads_that_serve_no_connection_are_left_out() {
        let serving = || thread(&["handle_connection", "do_command", "vio_read"]);
        let flushing = || thread(&["buf_flush_page_cleaner", "pthread_cond_timedwait"]);
        let seen = of_connections([serving(), flushing(), serving()].into_iter());
        assert_eq!((seen.background, seen.waits), (1, 60));
        assert_eq!(
            (seen.observed, seen.running, seen.waited),
            (20.0, 2.0, 18.0)
        );
        assert!((seen.waiting.total() - 18.0).abs() < 1e-9);
        // Without a name of theirs all are taken.
        let seen = of_connections([flushing(), flushing()].into_iter());
        assert_eq!((seen.background, seen.observed), (0, 20.0));
        // One that never waited may serve.
        let silent = OffCpu {
            observed: 10.0,
            running: 10.0,
            ..OffCpu::default()
        };
        let seen = of_connections([serving(), silent].into_iter());
        assert_eq!((seen.background, seen.observed), (0, 20.0));
    }

    #[test]
    fn threads_that_wait_often_have_a_stack_now_and_then() {
        let switches = [0.0, 900.0, 2_500.0, 6_000.0, 20_000.0, 1e9];
        assert_eq!(switches.map(period), [1, 1, 3, 7, 29, 251]);
    }
}
