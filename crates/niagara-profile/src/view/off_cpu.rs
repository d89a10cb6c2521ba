//! What threads wait for: every time one leaves its CPU, with the stack it left, and how long it was away.

use anyhow::{Result, bail};

use crate::folded::Folded;
use crate::kernel::{Access, Event, Raw, Reach, Rings, Sampled};
use crate::process::{Rotation, Unwinder, schedule};
use crate::symbols::Symbolizer;

/// Time of the threads that were looked at, in seconds.
#[derive(Debug, Clone, Default)]
pub struct OffCpu {
    /// All of it: threads times time.
    pub observed: f64,
    /// On a CPU.
    pub running: f64,
    /// Ready to run, and waiting for a CPU.
    pub ready: f64,
    /// Waiting, by stack; weights are seconds.
    pub waiting: Folded,
    /// Times a thread waited.
    pub waits: u64,
    /// Times a thread was taken off its CPU although it could have gone on.
    pub preempted: u64,
    /// Waits whose way up ended before the thread's first frame.
    pub truncated: u64,
    /// Records that did not fit into the buffers.
    pub lost: u64,
    /// Threads that serve the load, and how many of them were looked at at a time.
    pub threads: (usize, usize),
}

/// One wait.
#[derive(Debug)]
pub struct Wait {
    /// The thread's stack when it began.
    pub left: Sampled,
    /// How long it was away, in seconds.
    pub seconds: f64,
}

/// Waits of some threads at a time while it is switched on.
pub struct OffCpuView<'a> {
    pid: i32,
    unwinder: &'a mut Unwinder,
    symbolizer: &'a Symbolizer,
    rotation: Rotation,
    open: Option<Open>,
    sum: OffCpu,
}

struct Open {
    rings: Rings,
    threads: Vec<i32>,
    since: std::time::Instant,
    before: std::collections::BTreeMap<i32, crate::process::Scheduled>,
}

impl<'a> OffCpuView<'a> {
    /// A view of some threads of process `pid`, switched off.
    ///
    /// # Errors
    /// The kernel does not tell this user about context switches; no thread serves the load.
    pub fn new(
        pid: i32,
        threads: Vec<i32>,
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
            bail!("no thread of the server ran under load, so there is none to look at");
        }
        Ok(OffCpuView {
            pid,
            unwinder,
            symbolizer,
            sum: OffCpu {
                threads: (rotation.len(), rotation.at_once()),
                ..OffCpu::default()
            },
            rotation,
            open: None,
        })
    }

    /// Looks at the next threads.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn on(&mut self) -> Result<()> {
        let threads = self.rotation.turn();
        let events: Vec<Event> = threads.iter().map(|id| Event::Switches(*id)).collect();
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
            self.sum.observed += seconds;
            self.sum.running += now.running.saturating_sub(was.running) as f64 / 1e9;
            self.sum.ready += now.ready.saturating_sub(was.ready) as f64 / 1e9;
        }
        for records in records {
            self.add(records);
        }
        Ok(())
    }

    /// The waits of one thread.
    fn add(&mut self, records: Vec<Raw>) {
        for found in waits(records, &mut self.sum) {
            let unwound = self.unwinder.unwind(&found.left);
            self.sum.truncated += u64::from(!unwound.whole);
            let user = unwound.addresses.iter().rev();
            let user = user.map(|address| self.symbolizer.user(*address));
            let kernel = found.left.kernel.iter().rev();
            let kernel = kernel.map(|address| self.symbolizer.kernel(*address));
            self.sum.waiting.add(user.chain(kernel), found.seconds);
        }
    }

    /// What was seen.
    pub fn finish(self) -> OffCpu {
        self.sum
    }
}

/// Pairs each leaving with its return. A thread that was preempted did not wait; what was lost in between ends a pair.
fn waits(records: Vec<Raw>, sum: &mut OffCpu) -> Vec<Wait> {
    let mut found = Vec::new();
    let mut left: Option<Sampled> = None;
    let mut away: Option<Sampled> = None;
    for record in records {
        match record {
            Raw::Sample(sample) => left = Some(sample),
            Raw::Leaves { preempted, .. } => {
                if preempted {
                    sum.preempted += 1;
                    (left, away) = (None, None);
                } else {
                    sum.waits += 1;
                    away = left.take();
                }
            }
            Raw::Returns { time, .. } => {
                if let Some(left) = away.take() {
                    found.push(Wait {
                        seconds: time.saturating_sub(left.time) as f64 / 1e9,
                        left,
                    });
                }
            }
            Raw::Lost(lost) => {
                sum.lost += lost;
                (left, away) = (None, None);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(time: u64) -> Raw {
        Raw::Sample(Sampled {
            time,
            ..Sampled::default()
        })
    }

    #[test]
    fn waits_are_paired_and_preemption_is_none() {
        let mut sum = OffCpu::default();
        let leaves = |time, preempted| Raw::Leaves {
            thread: 1,
            time,
            preempted,
        };
        let returns = |time| Raw::Returns { thread: 1, time };
        let found = waits(
            vec![
                returns(5),
                sample(1_000_000_000),
                leaves(1_000_000_001, false),
                returns(3_000_000_000),
                sample(4_000_000_000),
                leaves(4_000_000_001, true),
                returns(5_000_000_000),
                sample(6_000_000_000),
                Raw::Lost(7),
                returns(8_000_000_000),
            ],
            &mut sum,
        );
        let seconds: Vec<f64> = found.iter().map(|wait| wait.seconds).collect();
        assert_eq!(seconds, [2.0]);
        assert_eq!((sum.waits, sum.preempted, sum.lost), (1, 1, 7));
    }
}
