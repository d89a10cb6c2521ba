//! How long each thread ran, and how long it waited for a CPU: the scheduler's own counters.

use std::collections::BTreeMap;
use std::fs;

use anyhow::Result;

use super::threads;

/// A thread's counters since it began; times are in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Scheduled {
    /// On a CPU.
    pub running: u64,
    /// Ready to run, and waiting for a CPU.
    pub ready: u64,
    /// How often it was given a CPU; no time.
    pub turns: u64,
}

/// Every thread's counters, by thread. All zeros where the kernel keeps none (`CONFIG_SCHED_INFO`).
///
/// # Errors
/// The process has ended.
pub fn schedule(pid: i32) -> Result<BTreeMap<i32, Scheduled>> {
    let found = threads(pid)?.into_iter().filter_map(|thread| {
        let file = format!("/proc/{pid}/task/{}/schedstat", thread.id);
        Some((thread.id, parse(&fs::read_to_string(file).ok()?)?))
    });
    Ok(found.collect())
}

fn parse(text: &str) -> Option<Scheduled> {
    let mut words = text.split_whitespace();
    Some(Scheduled {
        running: words.next()?.parse().ok()?,
        ready: words.next()?.parse().ok()?,
        turns: words.next()?.parse().ok()?,
    })
}

/// The threads that took part in the load between two readings: those that ran for at least a twentieth of what all ran on
/// average. Most of the server's own threads sleep meanwhile and are left out; those that flush or purge are not, and are
/// no yardstick: of 256 connections on two CPUs each runs far less than they do.
pub fn busy(before: &BTreeMap<i32, Scheduled>, after: &BTreeMap<i32, Scheduled>) -> Vec<i32> {
    let ran: Vec<(i32, u64)> = after
        .iter()
        .map(|(thread, now)| {
            let was = before.get(thread).map_or(0, |was| was.running);
            (*thread, now.running.saturating_sub(was))
        })
        .collect();
    let all: u64 = ran.iter().map(|(_, time)| *time).sum();
    let some = ran.iter().filter(|(_, time)| *time > 0).count().max(1) as u64;
    ran.into_iter()
        .filter(|(_, time)| *time > 0 && *time >= all / some / 20)
        .map(|(thread, _)| thread)
        .collect()
}

/// How many times all of these threads together were given a CPU between two readings.
pub fn turns(
    threads: &[i32],
    before: &BTreeMap<i32, Scheduled>,
    after: &BTreeMap<i32, Scheduled>,
) -> u64 {
    let of = |counters: &BTreeMap<i32, Scheduled>, thread| {
        counters.get(thread).map_or(0, |counters| counters.turns)
    };
    let grown = threads
        .iter()
        .map(|thread| of(after, thread).saturating_sub(of(before, thread)));
    grown.sum()
}

/// Threads observed in turn, some at a time, so that a view costs the others nothing and yet sees all. The order is the
/// caller's: a look that ends early has seen the first ones, so it should be one that chance made.
#[derive(Debug, Clone)]
pub struct Rotation {
    threads: Vec<i32>,
    at_once: usize,
    next: usize,
}

impl Rotation {
    /// A sixteenth of the threads at once, two at least.
    pub fn new(threads: Vec<i32>) -> Rotation {
        let at_once = threads.len().div_ceil(16).max(2).min(threads.len());
        Rotation {
            threads,
            at_once,
            next: 0,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.threads.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }

    /// How many are observed at a time.
    pub fn at_once(&self) -> usize {
        self.at_once
    }

    /// The next ones.
    pub fn turn(&mut self) -> Vec<i32> {
        let turn = (0..self.at_once)
            .map(|index| self.threads[(self.next + index) % self.threads.len()])
            .collect();
        self.next = (self.next + self.at_once) % self.threads.len().max(1);
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_threads_are_those_that_ran() {
        let scheduled = |running| Scheduled {
            running,
            ready: 0,
            turns: running / 10,
        };
        let before = BTreeMap::from([(1, scheduled(500)), (2, scheduled(0))]);
        let after = BTreeMap::from([
            (1, scheduled(510)),
            (2, scheduled(1000)),
            (3, scheduled(900)),
            (4, scheduled(0)),
        ]);
        assert_eq!(busy(&before, &after), [2, 3]);
        assert!(busy(&BTreeMap::new(), &BTreeMap::new()).is_empty());
        // A flushing thread that keeps a CPU busy beside many connections leaves none of them out.
        let many: BTreeMap<i32, Scheduled> = (0..256).map(|id| (id, scheduled(3_000))).collect();
        let mut with_flushing = many.clone();
        with_flushing.insert(256, scheduled(900_000));
        with_flushing.insert(257, scheduled(10));
        assert_eq!(busy(&BTreeMap::new(), &with_flushing).len(), 257);
        assert_eq!(turns(&[2, 3, 9], &before, &after), 190);
    }

    #[test]
    fn every_thread_has_its_turn() {
        let mut rotation = Rotation::new((0..36).collect());
        assert_eq!(rotation.at_once(), 3);
        let mut turns = [0; 36];
        for _ in 0..36 {
            for thread in rotation.turn() {
                turns[thread as usize] += 1;
            }
        }
        assert_eq!(turns, [3; 36]);
        assert!(Rotation::new(Vec::new()).turn().is_empty());
        assert_eq!(Rotation::new(vec![7]).turn(), [7]);
    }

    #[test]
    fn schedule_counters_of_this_process_are_read() {
        let found = schedule(std::process::id() as i32).unwrap();
        assert!(!found.is_empty());
        assert_eq!(
            parse("12 34 5\n"),
            Some(Scheduled {
                running: 12,
                ready: 34,
                turns: 5
            })
        );
        assert_eq!(parse(""), None);
    }
}
