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

/// Functions of the kernel in which what came to a network card is worked off: in a soft interrupt, or in a thread of the card's.
const OF_NETWORK: [&str; 4] = [
    "net_rx_action",
    "net_tx_action",
    "napi_threaded_poll",
    "napi_threaded_poll_loop",
];
/// Those in which all soft interrupts are, by the names that they had over the years.
const SOFT_INTERRUPTS: [&str; 3] = [
    "handle_softirqs",
    "__do_softirq",
    "__softirqentry_text_start",
];
/// By this one, where it has called them, a process works off what it has caused itself, as its own packets over loopback:
/// nobody has interrupted it. Within them it gives back a lock.
const BY_ITSELF: &str = "__local_bh_enable_ip";

/// What kind of interrupt a CPU was in, by the functions on its stack, if it was in any: what it did then was none of the
/// process's doing that was there. The innermost function is the first.
fn interrupt(functions: &[&str]) -> Option<&'static str> {
    let outermost = |names: &[&str]| {
        let mut functions = functions.iter();
        functions.rposition(|function| names.contains(function))
    };
    let (network, soft) = (outermost(&OF_NETWORK), outermost(&SOFT_INTERRUPTS));
    if outermost(&[BY_ITSELF]) > network.max(soft) {
        return None;
    }
    match network {
        Some(_) => Some("network interrupts"),
        None => soft.map(|_| "other interrupts"),
    }
}

/// What was running.
#[derive(Debug, Clone, Default)]
pub struct CpuSamples {
    /// The server's stacks; weights are samples. Where there was no room for all, one counts for those that were given up too,
    /// here and below.
    pub folded: Folded,
    /// Samples of the server whose way up ended before its thread's first frame.
    pub truncated: u64,
    /// Samples by whose they were: `server`, what this process is called, `others`, `idle`; in a container `others or idle`, which the
    /// kernel does not tell apart there. Where the kernel names its functions, `network interrupts` and `other interrupts` are
    /// what it worked off while others had the CPU, or nobody. Only the server's where the machine cannot be seen whole.
    pub machine: BTreeMap<String, u64>,
    /// What the kernel does for the server is in no sample.
    pub user_only: bool,
    /// Records that did not fit into the buffers.
    pub lost: u64,
}

/// Samples of a process while it is switched on.
pub struct CpuView<'a> {
    pid: i32,
    own_name: &'static str,
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
    /// A view of process `pid`, switched off; `cpus` are those of the machine, by number, and `own_name` is what samples of this
    /// process are called.
    ///
    /// # Errors
    /// The kernel grants no perf events here.
    pub fn new(
        pid: i32,
        own_name: &'static str,
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
            own_name,
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
        let recorded = rings.close()?;
        let weight = recorded.weight;
        for record in recorded.records.into_iter().flatten() {
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
                process if process == me => self.own_name,
                process => {
                    let functions = sample.kernel.iter();
                    let functions: Vec<&str> = functions
                        .filter_map(|&address| self.symbolizer.kernel_name(address))
                        .collect();
                    interrupt(&functions).unwrap_or(match process {
                        0 => self.nobody,
                        _ => "others",
                    })
                }
            };
            *self.samples.machine.entry(whose.to_owned()).or_default() += weight;
            if sample.process != self.pid {
                continue;
            }
            let unwound = self.unwinder.unwind(&sample);
            self.samples.truncated += weight * u64::from(!unwound.whole);
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
            self.samples.folded.add(user.chain(kernel), weight as f64);
        }
        Ok(())
    }

    /// What was seen.
    pub fn finish(self) -> CpuSamples {
        self.samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_are_told_from_what_they_interrupt() {
        let idle = ["pv_native_safe_halt", "default_idle", "do_idle"];
        assert_eq!(interrupt(&idle), None);
        assert_eq!(interrupt(&[]), None);
        // On a CPU that idles, in the kernel's thread for them, in a thread of the card.
        for stack in [
            &[
                "net_rx_action",
                "handle_softirqs",
                "common_interrupt",
                "do_idle",
            ][..],
            &["net_rx_action", "__do_softirq", "run_ksoftirqd"],
            &["__napi_poll", "napi_threaded_poll", "kthread"],
            // A lock is given back within it, and at the end of a turn of the card's thread.
            &[
                "__local_bh_enable_ip",
                "tcp_v4_rcv",
                "net_rx_action",
                "handle_softirqs",
                "common_interrupt",
                "do_idle",
            ],
            &[
                "net_rx_action",
                "handle_softirqs",
                "__local_bh_enable_ip",
                "napi_threaded_poll",
                "kthread",
            ],
        ] {
            assert_eq!(interrupt(stack), Some("network interrupts"), "{stack:?}");
        }
        let timer = ["run_timer_softirq", "__softirqentry_text_start", "do_idle"];
        assert_eq!(interrupt(&timer), Some("other interrupts"));
        let within_timer = ["__local_bh_enable_ip", timer[0], timer[1], timer[2]];
        assert_eq!(interrupt(&within_timer), Some("other interrupts"));
        // A neighbour that talks to another one on this machine.
        let loopback = [
            "net_rx_action",
            "handle_softirqs",
            "__local_bh_enable_ip",
            "tcp_sendmsg",
        ];
        assert_eq!(interrupt(&loopback), None);
        let mut within = vec!["__local_bh_enable_ip"];
        within.extend(loopback);
        assert_eq!(interrupt(&within), None);
        assert_eq!(interrupt(&loopback[2..]), None);
    }
}
