//! What is observed, one view after another.

mod allocations;
mod cpu;
mod off_cpu;
mod syscalls;

pub use allocations::{AllocationProbe, AllocationView};
pub use cpu::{CpuSamples, CpuView, FREQUENCY};
pub use off_cpu::{OffCpu, OffCpuView};
pub use syscalls::{SyscallCounts, SyscallView, Syscalls};
