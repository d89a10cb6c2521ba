//! Where a server's time goes: CPU, waiting, system calls, locks, allocations.
//!
//! Everything here observes one process from outside, through the kernel's perf events, and asks no server anything:
//! it takes a pid, and what others found out by SQL. Nothing of the machine is changed: no probe is registered, no
//! file system is mounted where others see it, and what is open is gone with the process.
//!
//! The walk: [`kernel`] collects records, [`process`] unwinds their stacks, [`symbols`] names the frames,
//! [`Layers`] says what a stack was doing, and a view ([`CpuView`], [`OffCpuView`], [`SyscallView`]) adds it up.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod flame;
mod folded;
mod function_names;
pub mod kernel;
mod layer;
mod limit;
mod live;
pub mod locks;
pub mod process;
pub mod result;
mod rules;
mod stop;
pub mod symbols;
mod view;
mod words;

pub use flame::{flame_graph, flame_graph_of_difference};
pub use folded::{Folded, Frame, Place};
pub use function_names::Names;
pub use layer::{Layer, Layers};
pub use limit::{Evidence, FoundLimit, Limit, Only, Seen, diagnose, limits};
pub use live::{LiveGap, LiveServer, LockGap};
pub use result::{HeavyStatement, Profile, StoredProfile};
pub use view::{
    AllocationProbe, AllocationView, CpuSamples, CpuView, FREQUENCY, OffCpu, OffCpuView,
    SyscallCounts, SyscallView, Syscalls,
};
pub use words::OWN_LOAD;
