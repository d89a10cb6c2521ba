//! What threads wait for: every time one leaves its CPU, and how long it was away; now and then with the stack it left.
//!
//! Threads of the server's own, which flush or purge, run under load too: their waiting for work is nobody's query. Those of a
//! thread pool serve connections, whichever they are: their waiting for work is waiting for clients.
//!
//! Every wait is timed, but the copy of a stack costs a busy server more than all the rest: where threads wait often, only
//! one in this many has it, and stands for those between.
//!
//! A thread may be away already when the look at it begins, and still when it ends. A look begins before its slice of load
//! and ends after the last transaction, so that a connection's thread waits for its client at both ends: the stacks of the
//! waits that last beyond the end, which are known, stand for those that began before it, which are not.

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
    /// Waiting, by stack; weights are seconds. What was waited without a stack is spread over waits of its kind (seen whole,
    /// or cut by the look) that have one.
    pub waiting: Folded,
    /// All waiting, in seconds.
    pub waited: f64,
    /// The part of it in waits that began or ended while nobody looked, in seconds.
    pub cut: f64,
    /// Time in which any thread was observed, in seconds.
    pub looked: f64,
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
    /// Threads that ran under the load, and how many of them were observed at a time.
    pub threads: (usize, usize),
    /// How many of them had their turn.
    pub had_turn: usize,
    /// Those that serve no connection (they flush, purge, wait for work of their own): none of the above is theirs.
    pub background: Vec<i32>,
    /// No stack tells which threads serve connections, so that all are counted as if they did.
    pub untold: bool,
}

/// Functions (or how their names begin) without one of which among its stacks a thread serves no connection: of threads that
/// have a connection each, and of the workers and listeners of MariaDB's and Percona's thread pool.
const SERVING: [&str; 10] = [
    "do_command",
    "dispatch_command",
    "do_handle_one_connection",
    "handle_one_connection",
    "handle_connection",
    "threadpool_",
    "tp_callback",
    "worker_main",
    "get_event",
    "io_poll_wait",
];

impl OffCpu {
    /// The part of the time of all threads that serve connections that was observed: 0 to 1. Of threads that had no turn
    /// as many serve as of those that had.
    pub fn part(&self) -> f64 {
        if self.had_turn == 0 || self.looked <= 0.0 {
            return 0.0;
        }
        let serving = (self.had_turn - self.background.len()) as f64 / self.had_turn as f64;
        let whole = self.looked * serving * self.threads.0 as f64;
        if whole > 0.0 {
            self.observed / whole
        } else {
            0.0
        }
    }

    /// Adds what was seen of another thread, but for its stacks.
    fn add(&mut self, thread: &OffCpu) {
        self.observed += thread.observed;
        self.running += thread.running;
        self.ready += thread.ready;
        self.waited += thread.waited;
        self.cut += thread.cut;
        self.stacks += thread.stacks;
        self.waits += thread.waits;
        self.preempted += thread.preempted;
        self.truncated += thread.truncated;
        self.lost += thread.lost;
    }
}

/// What was seen of one thread.
#[derive(Debug, Default)]
struct OfThread {
    /// Its time and its waits that began and ended under the look, by stack; weights are seconds times those of the look.
    sum: OffCpu,
    /// Its waits that lasted beyond the end of the look, by stack.
    cut: Folded,
    /// Stacks of either that reach the thread's first frame.
    whole: u64,
}

impl OfThread {
    /// Whether it serves connections. What says that it does is near a stack's beginning: nothing is known of a thread whose
    /// stacks all end before that.
    fn serves(&self) -> Option<bool> {
        let serving = |frame: &&Frame| SERVING.iter().any(|name| frame.name.starts_with(name));
        let mut stacks = self.sum.waiting.stacks().chain(self.cut.stacks());
        match stacks.any(|(frames, _)| frames.iter().any(serving)) {
            true => Some(true),
            false => (self.whole > 0).then_some(false),
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
    /// How long it was seen away, in seconds.
    pub seconds: f64,
    /// It began before the look or ended after it.
    pub cut: bool,
}

/// A look at a thread, in nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, Copy)]
struct Look {
    from: u64,
    to: u64,
    /// The thread was on a CPU for some of it.
    ran: bool,
    /// How many stacks each of those kept stands for, beside those of other looks.
    weight: u64,
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
    seen: BTreeMap<i32, OfThread>,
    looked: f64,
}

struct Open {
    rings: Rings,
    threads: Vec<i32>,
    /// Nanoseconds of `CLOCK_MONOTONIC`.
    since: u64,
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
            looked: 0.0,
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
        let rings = Rings::open(&events, None)?;
        self.open = Some(Open {
            rings,
            threads,
            since: now(),
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
        let to = now();
        let seconds = to.saturating_sub(open.since) as f64 / 1e9;
        let recorded = open.rings.close()?;
        let after = schedule(self.pid)?;
        self.looked += seconds;
        for (thread, records) in open.threads.iter().zip(recorded.records) {
            // One that ended meanwhile was not there to be observed.
            let (Some(was), Some(now)) = (open.before.get(thread), after.get(thread)) else {
                continue;
            };
            let seen = &mut self.seen.entry(*thread).or_default().sum;
            let running = now.running.saturating_sub(was.running);
            seen.observed += seconds;
            seen.running += running as f64 / 1e9;
            seen.ready += now.ready.saturating_sub(was.ready) as f64 / 1e9;
            let look = Look {
                from: open.since,
                to,
                ran: running > 0,
                weight: recorded.weight,
            };
            self.add(*thread, records, look);
        }
        Ok(())
    }

    /// The waits of one thread.
    fn add(&mut self, thread: i32, records: Vec<Raw>, look: Look) {
        let of_thread = self.seen.entry(thread).or_default();
        let seen = &mut of_thread.sum;
        for found in waits(records, look, seen) {
            seen.waited += found.seconds;
            if found.cut {
                seen.cut += found.seconds;
            }
            let Some(left) = found.left else {
                continue;
            };
            let unwound = self.unwinder.unwind(&left);
            seen.stacks += 1;
            seen.truncated += u64::from(!unwound.whole);
            of_thread.whole += u64::from(unwound.whole && !unwound.addresses.is_empty());
            let user = unwound.addresses.iter().rev();
            let user = user.map(|address| self.symbolizer.user(*address));
            let kernel = left.kernel.iter().rev();
            let kernel = kernel.map(|address| self.symbolizer.kernel(*address));
            let stacks = match found.cut {
                true => &mut of_thread.cut,
                false => &mut seen.waiting,
            };
            stacks.add(user.chain(kernel), found.seconds * look.weight as f64);
        }
    }

    /// What was seen.
    pub fn finish(self) -> OffCpu {
        OffCpu {
            threads: (self.rotation.len(), self.rotation.at_once()),
            looked: self.looked,
            ..of_connections(self.seen)
        }
    }
}

/// What was seen of the threads that serve connections, together; where no stack tells which do, of all.
fn of_connections(threads: BTreeMap<i32, OfThread>) -> OffCpu {
    let told = |thread: &OfThread| thread.serves() == Some(true);
    let mut sum = OffCpu {
        had_turn: threads.len(),
        untold: !threads.values().any(told),
        ..OffCpu::default()
    };
    let (mut whole, mut cut) = (Folded::default(), Folded::default());
    for (id, thread) in &threads {
        if !sum.untold && thread.serves() == Some(false) {
            sum.background.push(*id);
            continue;
        }
        sum.add(&thread.sum);
        whole.merge(&thread.sum.waiting);
        cut.merge(&thread.cut);
    }
    sum.waiting = spread(whole, cut, sum.waited - sum.cut, sum.cut);
    sum
}

/// Stacks of waits that were seen whole and of those that were cut, so that each kind stands for all of its seconds. Neither
/// stands for the other: where a kind has no stack, nothing is known of its seconds.
fn spread(whole: Folded, cut: Folded, whole_seconds: f64, cut_seconds: f64) -> Folded {
    let mut sum = Folded::default();
    for (of_kind, seconds) in [(whole, whole_seconds), (cut, cut_seconds)] {
        let with_stack = of_kind.total();
        if with_stack > 0.0 {
            sum.merge(&of_kind.scaled(seconds / with_stack));
        }
    }
    sum
}

/// Nanoseconds of the clock that records have.
fn now() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Pairs each leaving with its return, and what has no other half with the look's own beginning or end. A thread that was
/// preempted did not wait; what was lost in between ends a pair.
fn waits(records: Vec<Raw>, look: Look, seen: &mut OffCpu) -> Vec<Wait> {
    let mut found = Vec::new();
    let mut left: Option<Sampled> = None;
    let mut away: Option<(u64, Option<Sampled>)> = None;
    // Whether nothing has told yet where the thread was before.
    let mut unknown = true;
    let cut = |from: u64, to: u64, left| Wait {
        seconds: to.saturating_sub(from) as f64 / 1e9,
        left,
        cut: true,
    };
    for record in records {
        match record {
            Raw::Sample(sample) => left = Some(sample),
            Raw::Leaves {
                preempted, time, ..
            } => {
                let stack = left.take();
                unknown = false;
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
                        cut: false,
                    });
                } else if unknown {
                    found.push(cut(look.from, time, None));
                }
                unknown = false;
            }
            Raw::Lost(lost) => {
                seen.lost += lost;
                (left, away, unknown) = (None, None, false);
            }
        }
    }
    if let Some((since, left)) = away {
        found.push(cut(since, look.to, left));
    } else if unknown && !look.ran {
        found.push(cut(look.from, look.to, None));
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
        let look = Look {
            from: 1,
            to: 9_000_000_000,
            ran: true,
            weight: 1,
        };
        let found = waits(
            vec![
                Raw::Lost(1),
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
            look,
            &mut sum,
        );
        let seen: Vec<(f64, bool)> = found
            .iter()
            .map(|wait| (wait.seconds, wait.left.is_some()))
            .collect();
        assert_eq!(seen, [(2.0, true), (0.5, false)]);
        assert_eq!((sum.waits, sum.preempted, sum.lost), (2, 1, 8));
    }

    #[test]
    fn waits_are_cut_where_the_look_begins_and_ends() {
        let second = 1_000_000_000;
        let look = |ran| Look {
            from: 10 * second,
            to: 20 * second,
            ran,
            weight: 1,
        };
        let of = |records, ran| -> Vec<(f64, bool, bool)> {
            let found = waits(records, look(ran), &mut OffCpu::default());
            found
                .iter()
                .map(|wait| (wait.seconds, wait.cut, wait.left.is_some()))
                .collect()
        };
        let leaves = |time, preempted| Raw::Leaves { time, preempted };
        // Away when the look begins, and again when it ends.
        let records = vec![
            Raw::Returns { time: 13 * second },
            sample(18 * second),
            leaves(18 * second, false),
        ];
        assert_eq!(of(records, true), [(3.0, true, false), (2.0, true, true)]);
        // Away all the time, or on a CPU all the time.
        assert_eq!(of(Vec::new(), false), [(10.0, true, false)]);
        assert!(of(Vec::new(), true).is_empty());
        // Ready to run at the end.
        assert!(of(vec![leaves(18 * second, true)], true).is_empty());
    }

    #[test]
    fn waits_that_were_cut_stand_for_those_of_which_the_beginning_was_not_seen() {
        let stacks = |name: &str, seconds: f64| {
            let mut folded = Folded::default();
            folded.add([frame(name)], seconds);
            folded
        };
        let seconds_of = |folded: &Folded, name: &str| -> f64 {
            let found = folded
                .stacks()
                .filter(|(frames, _)| frames.iter().any(|frame| frame.name == name));
            found.map(|(_, seconds)| seconds).sum()
        };
        let sum = spread(stacks("read", 1.0), stacks("lock_wait", 2.0), 4.0, 6.0);
        assert!((seconds_of(&sum, "read") - 4.0).abs() < 1e-9);
        assert!((seconds_of(&sum, "lock_wait") - 6.0).abs() < 1e-9);
        let sum = spread(stacks("read", 1.0), Folded::default(), 4.0, 6.0);
        assert!((seconds_of(&sum, "read") - 4.0).abs() < 1e-9);
    }

    fn frame(name: &str) -> Frame {
        Frame {
            name: name.to_owned(),
            place: Place::Server,
            named: true,
            inferred: false,
        }
    }

    /// A thread that was observed for ten seconds, and waited for nine of them in this stack; a third of its waits had it.
    fn thread(functions: &[&str]) -> OfThread {
        let mut waiting = Folded::default();
        waiting.add(functions.iter().map(|name| frame(name)), 3.0);
        OfThread {
            sum: OffCpu {
                observed: 10.0,
                running: 1.0,
                waited: 9.0,
                waits: 30,
                stacks: 10,
                waiting,
                ..OffCpu::default()
            },
            cut: Folded::default(),
            whole: 10,
        }
    }

    #[test]
    fn threads_that_serve_no_connection_are_left_out() {
        let serving = || thread(&["handle_connection", "do_command", "vio_read"]);
        let flushing = || thread(&["buf_flush_page_cleaner", "pthread_cond_timedwait"]);
        let of = |threads: Vec<OfThread>| of_connections((1..).zip(threads).collect());
        let seen = of(vec![serving(), flushing(), serving()]);
        assert_eq!((&seen.background[..], seen.waits), (&[2][..], 60));
        assert_eq!(
            (seen.observed, seen.running, seen.waited),
            (20.0, 2.0, 18.0)
        );
        assert!((seen.waiting.total() - 18.0).abs() < 1e-9);
        assert!(!seen.untold);
        // One that never waited may serve.
        let silent = || OfThread {
            sum: OffCpu {
                observed: 10.0,
                running: 10.0,
                ..OffCpu::default()
            },
            ..OfThread::default()
        };
        let seen = of(vec![serving(), silent()]);
        assert_eq!((seen.background.len(), seen.observed), (0, 20.0));
        // Nor is one known whose stacks end before the thread's beginning.
        let deep = || OfThread {
            whole: 0,
            ..thread(&["JOIN::exec", "pthread_cond_wait"])
        };
        let seen = of(vec![serving(), deep(), flushing()]);
        assert_eq!((&seen.background[..], seen.observed), (&[3][..], 20.0));
        // Where no name tells, all are taken, and the profile says so.
        let seen = of(vec![flushing(), flushing(), silent()]);
        assert_eq!((seen.background.len(), seen.observed), (0, 30.0));
        assert!(seen.untold);
    }

    #[test]
    fn threads_of_a_pool_serve_connections() {
        // One that had nothing to do but wait, one that listened, one that was met at work; the pool's timer serves nobody.
        let threads = [
            &["worker_main", "get_event", "pthread_cond_timedwait"][..],
            &["[mariadbd+0x10]", "get_event", "io_poll_wait", "epoll_wait"],
            &["[mariadbd+0x10]", "tp_callback", "[mariadbd+0x20]"],
            &["[mariadbd+0x30]", "pthread_cond_timedwait"],
        ];
        let threads = (1..).zip(threads.map(thread)).collect();
        let seen = of_connections(threads);
        assert_eq!((&seen.background[..], seen.untold), (&[4][..], false));
    }

    #[test]
    fn the_part_that_was_observed_is_of_the_threads_that_serve() {
        // Of 40 threads ten had their turn, two of them the server's own: 32 serve, and 8 × 2 s of 32 × 20 s were seen.
        let seen = OffCpu {
            threads: (40, 1),
            had_turn: 10,
            background: vec![1, 2],
            observed: 16.0,
            looked: 20.0,
            ..OffCpu::default()
        };
        assert!((seen.part() - 16.0 / 640.0).abs() < 1e-12);
        assert_eq!(OffCpu::default().part(), 0.0);
    }

    #[test]
    fn threads_that_wait_often_have_a_stack_now_and_then() {
        let switches = [0.0, 900.0, 2_500.0, 6_000.0, 20_000.0, 1e9];
        assert_eq!(switches.map(period), [1, 1, 3, 7, 29, 251]);
    }
}
