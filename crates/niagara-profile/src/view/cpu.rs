//! What runs on the CPUs, by samples.

use std::collections::BTreeMap;

use anyhow::{Result, bail};

use crate::folded::Folded;
use crate::kernel::{Access, Event, Raw, Reach, Rings};
use crate::process::{Unwinder, threads};
use crate::symbols::Symbolizer;

/// Samples per second of every CPU (of every thread, where only those may be observed): no divisor of the kernel's
/// ticks, so that nothing that happens at each of them is always or never seen.
pub const FREQUENCY: u64 = 397;

/// What was running.
#[derive(Debug, Clone, Default)]
pub struct CpuSamples {
    /// The server's stacks; weights are samples.
    pub folded: Folded,
    /// Samples of the server whose way up ended before its thread's first frame.
    pub truncated: u64,
    /// Samples by whose they were: `server`, `load generator`, `others`, `idle`; in a container `others or idle`, which the
    /// kernel does not tell apart there. Only the server's where the machine cannot be seen whole.
    pub machine: BTreeMap<String, u64>,
    /// What the kernel does for the server is in no sample.
    pub user_only: bool,
    /// Records that did not fit into the buffers.
    pub lost: u64,
}

/// Samples of a process while it is switched on.
pub struct CpuView<'a> {
    pid: i32,
    reach: Reach,
    cpus: Vec<usize>,
    unwinder: &'a mut Unwinder,
    symbolizer: &'a Symbolizer,
    rings: Option<Rings>,
    /// Whose the samples of process 0 are.
    nobody: &'static str,
    samples: CpuSamples,
}

/// The number of the first process namespace, that of the machine itself (the kernel's `PROC_PID_INIT_INO`).
const MACHINE_NAMESPACE: &str = "pid:[4026531836]";

/// Whether this process runs in no container that hides others. Where nobody knows, it does not.
fn sees_all_processes() -> bool {
    std::fs::read_link("/proc/self/ns/pid")
        .map_or(true, |namespace| namespace.as_os_str() == MACHINE_NAMESPACE)
}

impl<'a> CpuView<'a> {
    /// A view of process `pid`, switched off; `cpus` are those of the machine, by number.
    ///
    /// # Errors
    /// The kernel grants no perf events here.
    pub fn new(
        pid: i32,
        cpus: Vec<usize>,
        access: &Access,
        unwinder: &'a mut Unwinder,
        symbolizer: &'a Symbolizer,
    ) -> Result<CpuView<'a>> {
        if access.reach == Reach::Nothing {
            bail!("{}", access.missing().join("\n"));
        }
        Ok(CpuView {
            pid,
            reach: access.reach,
            cpus,
            unwinder,
            symbolizer,
            rings: None,
            // The processes of the machine that a container does not see have the number of a CPU that idles.
            nobody: match sees_all_processes() {
                true => "idle",
                false => "others or idle",
            },
            samples: CpuSamples {
                user_only: access.reach == Reach::User,
                ..CpuSamples::default()
            },
        })
    }

    /// Begins to sample.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn on(&mut self) -> Result<()> {
        let events: Vec<Event> = match self.reach {
            Reach::Machine => self
                .cpus
                .iter()
                .map(|&cpu| Event::Machine(cpu, FREQUENCY))
                .collect(),
            reach => threads(self.pid)?
                .iter()
                .map(|thread| Event::Clock(thread.id, FREQUENCY, reach == Reach::User))
                .collect(),
        };
        self.rings = Some(Rings::open(&events, Some(self.pid))?);
        Ok(())
    }

    /// Stops sampling and adds up.
    ///
    /// # Errors
    /// The reading thread has ended.
    pub fn off(&mut self) -> Result<()> {
        let Some(rings) = self.rings.take() else {
            return Ok(());
        };
        let me = std::process::id() as i32;
        for record in rings.close()?.into_iter().flatten() {
            let sample = match record {
                Raw::Sample(sample) => sample,
                Raw::Lost(lost) => {
                    self.samples.lost += lost;
                    continue;
                }
                _ => continue,
            };
            let whose = match sample.process {
                process if process == self.pid => "server",
                process if process == me => "load generator",
                0 => self.nobody,
                _ => "others",
            };
            *self.samples.machine.entry(whose.to_owned()).or_default() += 1;
            if sample.process != self.pid {
                continue;
            }
            let unwound = self.unwinder.unwind(&sample);
            self.samples.truncated += u64::from(!unwound.whole);
            let user = unwound
                .addresses
                .iter()
                .rev()
                .map(|address| self.symbolizer.user(*address));
            let kernel = sample
                .kernel
                .iter()
                .rev()
                .map(|address| self.symbolizer.kernel(*address));
            self.samples.folded.add(user.chain(kernel), 1.0);
        }
        Ok(())
    }

    /// What was seen.
    pub fn finish(self) -> CpuSamples {
        self.samples
    }
}
