//! The machine: what it is ([`Fingerprint`]), how it is now ([`MachineState`]), what is installed ([`Tools`]),
//! and who disturbs a measurement ([`DisturbanceMeter`]).
//!
//! Everything is read from `/proc` and `/sys`; what cannot be read is absent, never an error. Parsing is
//! done by pure functions on texts, so that machines this was not developed on are tests.

pub(crate) mod cpu;
mod disk;
mod disturbance;
mod fingerprint;
mod kernel_threads;
pub(crate) mod limits;
mod memory;
pub(crate) mod oom_kills;
mod perf;
mod pressure;
mod proc_stat;
pub(crate) mod root;
mod state;
mod system;
mod tools;

pub use cpu::{Cpu, Place, online_cpus};
pub use disk::Disk;
pub use disturbance::{
    DisturbanceMeter, Interval, Sample, Thresholds, disturbed, without_unaccounted,
};
pub use fingerprint::Fingerprint;
pub use limits::{Limits, status_mask};
pub use memory::{HugePool, Memory};
pub use niagara_settings::{format_cpu_list, parse_cpu_list};
pub use perf::Perf;
pub use state::{MachineState, memory_available_bytes};
pub use system::System;
pub use tools::Tools;
pub use tools::in_path;
