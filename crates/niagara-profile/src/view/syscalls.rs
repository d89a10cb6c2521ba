//! System calls by kind: how many, how long, and what they moved.

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::{Result, bail};
use syscalls::Sysno;

use crate::kernel::{Access, Event, Raw, Reach, Rings, SysEnter, SysExit, TraceFs};
use crate::process::Rotation;

/// Calls of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SyscallCounts {
    /// How many began and ended.
    pub calls: u64,
    /// From beginning to end, waiting included, in seconds.
    pub seconds: f64,
    /// Those that returned an error.
    pub errors: u64,
    /// What those that move bytes moved.
    pub bytes: u64,
}

/// The calls of the threads that were observed.
#[derive(Debug, Clone, Default)]
pub struct Syscalls {
    /// By name.
    pub kinds: BTreeMap<String, SyscallCounts>,
    /// Threads times time that were observed, in seconds.
    pub observed: f64,
    /// All threads that serve the load times the time that any of them was observed, in seconds.
    pub whole: f64,
    /// Time in which any of them was observed, in seconds.
    pub looked: f64,
    /// Records that did not fit into the buffers.
    pub lost: u64,
}

impl Syscalls {
    /// What the counts of the threads observed are multiplied by to stand for all of them.
    pub fn scale(&self) -> f64 {
        if self.observed > 0.0 {
            self.whole / self.observed
        } else {
            0.0
        }
    }
}

/// System calls of some threads at a time while it is switched on.
pub struct SyscallView {
    rotation: Rotation,
    enter: u64,
    exit: u64,
    open: Option<(Rings, usize, Instant)>,
    sum: Syscalls,
}

impl SyscallView {
    /// A view of some threads, switched off.
    ///
    /// # Errors
    /// Tracepoints are not to be had here; no thread serves the load.
    pub fn new(threads: Vec<i32>, access: &Access) -> Result<SyscallView> {
        if access.reach < Reach::Kernel {
            bail!(
                "system calls cannot be seen here: {}",
                access.missing().join("\n")
            );
        }
        let tracefs = TraceFs::open()?;
        let rotation = Rotation::new(threads);
        if rotation.is_empty() {
            bail!("no thread of the server ran under load, so there is none to observe");
        }
        Ok(SyscallView {
            rotation,
            enter: tracefs.id("raw_syscalls/sys_enter")?,
            exit: tracefs.id("raw_syscalls/sys_exit")?,
            open: None,
            sum: Syscalls::default(),
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
            .flat_map(|id| [Event::Trace(*id, self.enter), Event::Trace(*id, self.exit)])
            .collect();
        let rings = Rings::open(&events, None)?;
        self.open = Some((rings, threads.len(), Instant::now()));
        Ok(())
    }

    /// Looks away and adds up.
    ///
    /// # Errors
    /// The reading thread has ended.
    pub fn off(&mut self) -> Result<()> {
        let Some((rings, threads, since)) = self.open.take() else {
            return Ok(());
        };
        let seconds = since.elapsed().as_secs_f64();
        self.sum.looked += seconds;
        self.sum.observed += seconds * threads as f64;
        self.sum.whole += seconds * self.rotation.len() as f64;
        let mut by_thread: BTreeMap<i32, Vec<(u64, Mark)>> = BTreeMap::new();
        for record in rings.close()?.records.into_iter().flatten() {
            match record {
                Raw::Sample(sample) => {
                    if let Some(mark) = Mark::read(&sample.fields) {
                        let marks = by_thread.entry(sample.thread).or_default();
                        marks.push((sample.time, mark));
                    }
                }
                Raw::Lost(lost) => self.sum.lost += lost,
                _ => {}
            }
        }
        for mut marks in by_thread.into_values() {
            marks.sort_by_key(|(time, _)| *time);
            pair(&marks, &mut self.sum.kinds);
        }
        Ok(())
    }

    /// What was seen.
    pub fn finish(self) -> Syscalls {
        self.sum
    }
}

enum Mark {
    Enter(SysEnter),
    Exit(SysExit),
}

impl Mark {
    /// The two records differ in length only.
    fn read(fields: &[u8]) -> Option<Mark> {
        match SysEnter::read(fields) {
            Some(enter) => Some(Mark::Enter(enter)),
            None => SysExit::read(fields).map(Mark::Exit),
        }
    }
}

/// Pairs beginnings with ends of the same call; a call whose other half was not seen is left out.
fn pair(marks: &[(u64, Mark)], kinds: &mut BTreeMap<String, SyscallCounts>) {
    let mut began: Option<(u64, i64)> = None;
    for (time, mark) in marks {
        match mark {
            Mark::Enter(enter) => began = Some((*time, enter.number)),
            Mark::Exit(exit) => {
                let Some((since, number)) = began.take() else {
                    continue;
                };
                if number != exit.number {
                    continue;
                }
                let counts = kinds.entry(name(number)).or_default();
                counts.calls += 1;
                counts.seconds += time.saturating_sub(since) as f64 / 1e9;
                match exit.result {
                    result if result < 0 => counts.errors += 1,
                    result if moves_bytes(number) => counts.bytes += result as u64,
                    _ => {}
                }
            }
        }
    }
}

fn name(number: i64) -> String {
    match usize::try_from(number).ok().and_then(Sysno::new) {
        Some(call) => call.name().to_owned(),
        None => format!("call {number}"),
    }
}

fn moves_bytes(number: i64) -> bool {
    matches!(
        usize::try_from(number).ok().and_then(Sysno::new),
        Some(
            Sysno::read
                | Sysno::write
                | Sysno::pread64
                | Sysno::pwrite64
                | Sysno::readv
                | Sysno::writev
                | Sysno::recvfrom
                | Sysno::sendto
                | Sysno::recvmsg
                | Sysno::sendmsg
        )
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_paired() {
        let enter = |number| {
            Mark::Enter(SysEnter {
                number,
                arguments: [0; 6],
            })
        };
        let exit = |number, result| Mark::Exit(SysExit { number, result });
        let send = Sysno::sendto as i64;
        let futex = Sysno::futex as i64;
        let mut kinds = BTreeMap::new();
        pair(
            &[
                (1, exit(send, 9)),
                (10, enter(send)),
                (1_000_000_010, exit(send, 400)),
                (2_000_000_000, enter(futex)),
                (2_500_000_000, exit(futex, -11)),
                (3_000_000_000, enter(futex)),
            ],
            &mut kinds,
        );
        let found = kinds["sendto"];
        assert_eq!((found.calls, found.seconds, found.bytes), (1, 1.0, 400));
        assert_eq!((kinds["futex"].calls, kinds["futex"].errors), (1, 1));
        assert_eq!(name(99_999), "call 99999");
    }
}
