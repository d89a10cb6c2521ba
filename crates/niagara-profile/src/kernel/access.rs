//! What this user may see of a process here, and what would let him see more.

use std::fs;

use perf_event::events::Software;
use perf_event::{Builder, SampleFlag};

/// How far perf events reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// The kernel refuses them altogether.
    Nothing,
    /// Own processes, in user space only.
    User,
    /// Own processes, with what the kernel does for them.
    Kernel,
    /// The whole machine.
    Machine,
}

/// What can be seen here, and why not more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// How far perf events reach.
    pub reach: Reach,
    /// `kernel.perf_event_paranoid`.
    pub paranoid: Option<i32>,
    /// The CPU's own counters (cycles, cache misses) are there.
    pub hardware_counters: bool,
}

impl Access {
    /// Tries it out: what counts is what the kernel grants, by root, capability or setting.
    pub fn probe() -> Access {
        let opens = |build: &dyn Fn(&mut Builder<'_>)| {
            let mut builder = Builder::new(Software::CPU_CLOCK);
            builder.sample(SampleFlag::IP).sample_frequency(99);
            build(&mut builder);
            builder.build().is_ok()
        };
        let reach = if opens(&|b| {
            b.any_pid().one_cpu(0).include_kernel();
        }) {
            Reach::Machine
        } else if opens(&|b| {
            b.observe_self().any_cpu().include_kernel();
        }) {
            Reach::Kernel
        } else if opens(&|b| {
            b.observe_self().any_cpu().exclude_kernel(true);
        }) {
            Reach::User
        } else {
            Reach::Nothing
        };
        let hardware = Builder::new(perf_event::events::Hardware::CPU_CYCLES)
            .exclude_kernel(true)
            .build();
        Access {
            reach,
            paranoid: fs::read_to_string("/proc/sys/kernel/perf_event_paranoid")
                .ok()
                .and_then(|text| text.trim().parse().ok()),
            hardware_counters: hardware.is_ok(),
        }
    }

    /// What cannot be seen here and how to see it, a sentence each; empty when nothing is missing.
    pub fn missing(&self) -> Vec<String> {
        let mut missing = Vec::new();
        let setting = match self.paranoid {
            Some(value) => format!("kernel.perf_event_paranoid is {value}"),
            None => "this kernel has no perf events".to_owned(),
        };
        match self.reach {
            Reach::Nothing => missing.push(format!(
                "no samples of the CPU, no waiting, no system calls ({setting}): run as root, or let an administrator set \
                 kernel.perf_event_paranoid=1 (`sysctl`), or 2 for the server's own code alone; in a container, perf_event_open must be allowed"
            )),
            Reach::User => missing.push(format!(
                "no kernel frames and no waiting ({setting}): run as root, with CAP_PERFMON, or with kernel.perf_event_paranoid=1"
            )),
            Reach::Kernel => missing.push(format!(
                "what the rest of the machine does is not seen ({setting}): run as root, with CAP_PERFMON, or with kernel.perf_event_paranoid=0"
            )),
            Reach::Machine => {}
        }
        if !self.hardware_counters {
            missing.push(
                "no hardware counters (cycles, cache and branch misses): most virtual machines have none; \
                 samples are taken by the clock instead, which counts time and not cycles"
                    .to_owned(),
            );
        }
        missing
    }
}
