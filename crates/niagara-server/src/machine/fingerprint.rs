//! What the machine is: kept with every result, so that figures can be read later.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cpu::Cpu;
use super::disk::Disk;
use super::limits::Limits;
use super::memory::Memory;
use super::perf::Perf;
use super::root::Root;
use super::system::System;

/// Everything about the machine that figures depend on and that does not change within a study.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Fingerprint {
    /// Processors.
    pub cpu: Cpu,
    /// Memory.
    pub memory: Memory,
    /// The work folder's disk.
    pub disk: Disk,
    /// Control groups and resource limits.
    pub limits: Limits,
    /// What profiling can use.
    pub perf: Perf,
    /// Kernel, distribution, virtualisation.
    pub system: System,
}

impl Fingerprint {
    /// Reads this machine; `work` is the folder in which data directories will live.
    pub fn read(work: &Path) -> Self {
        let root = Root::machine();
        Self {
            cpu: Cpu::read(&root),
            memory: Memory::read(&root),
            disk: Disk::read(&root, work),
            limits: Limits::read(&root),
            perf: Perf::read(&root),
            system: System::read(&root),
        }
    }

    /// CPUs that can be kept busy: those present, or fewer by quota. At least one.
    pub fn usable_cpus(&self) -> usize {
        let granted = self
            .limits
            .cpu_quota
            .map_or(usize::MAX, |quota| quota.ceil() as usize);
        self.cpu.threads.min(granted).max(1)
    }

    /// Memory that can be used: what is installed, or less by control group.
    pub fn usable_memory(&self) -> u64 {
        self.limits
            .memory_bytes
            .unwrap_or(u64::MAX)
            .min(self.memory.bytes)
    }

    /// `AMD EPYC 7B13, 2 CPUs, 23 GiB, Debian GNU/Linux 12 (bookworm), Linux 6.1.0, KVM`.
    pub fn one_line(&self) -> String {
        let cpu = &self.cpu;
        let mut line = format!(
            "{}, {} CPU{}, {:.0} GiB, {}, Linux {}",
            cpu.model,
            cpu.threads,
            if cpu.threads == 1 { "" } else { "s" },
            self.usable_memory() as f64 / f64::from(1 << 30),
            self.system.distribution,
            self.system.kernel,
        );
        if let Some(kind) = &self.system.virtualisation {
            line.push_str(&format!(", {kind}"));
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_can_be_read_and_survives_json() {
        let here = Fingerprint::read(Path::new("/tmp"));
        assert!(here.cpu.threads >= 1);
        assert!(here.usable_memory() > 0);
        assert!(here.one_line().contains("Linux"));
        let text = serde_json::to_string(&here).expect("plain data");
        assert_eq!(
            serde_json::from_str::<Fingerprint>(&text).expect("the same data"),
            here
        );
    }

    #[test]
    fn limits_bound_what_is_used() {
        let mut machine = Fingerprint::default();
        machine.cpu.threads = 16;
        machine.memory.bytes = 64 << 30;
        machine.limits.cpu_quota = Some(2.5);
        machine.limits.memory_bytes = Some(4 << 30);
        assert_eq!(machine.usable_cpus(), 3);
        assert_eq!(machine.usable_memory(), 4 << 30);
    }
}
