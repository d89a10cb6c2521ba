//! What profiling can use here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::root::Root;

/// Event sources of the kernel.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Perf {
    /// `kernel.perf_event_paranoid`; absent in kernels without perf events.
    pub paranoid: Option<i32>,
    /// The CPU's own counters (cycles, instructions, misses) are there; virtual machines often have none.
    pub hardware_counters: bool,
    /// tracefs is mounted: tracepoints and probes can be used.
    pub tracefs: bool,
}

impl Perf {
    /// Reads this machine.
    pub(crate) fn read(root: &Root) -> Self {
        let sources = root.names("sys/bus/event_source/devices");
        Self {
            paranoid: root.value("proc/sys/kernel/perf_event_paranoid"),
            // `cpu` on x86, `cpu_core`/`cpu_atom` on hybrid ones, `armv8_pmuv3…` on ARM.
            hardware_counters: sources
                .iter()
                .any(|name| name == "cpu" || name.starts_with("cpu_") || name.starts_with("armv")),
            tracefs: root.exists("sys/kernel/tracing/events")
                || root.exists("sys/kernel/debug/tracing/events"),
        }
    }
}
