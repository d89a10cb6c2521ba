//! What the kernel tells of a process: samples, context switches, system calls.

mod access;
mod ring;
mod tracefs;

pub use access::{Access, Reach};
pub(crate) use ring::STACK_POINTER;
pub use ring::{Event, Raw, Rings, Sampled};
pub use tracefs::{SysEnter, SysExit, TraceFs};
