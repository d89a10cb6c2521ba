//! What the kernel tells of a process: samples, context switches, system calls.

mod access;
mod ring;
mod tracefs;

pub use access::{Access, Reach};
pub(crate) use ring::{Event, Raw, Rings, STACK_POINTER, Sampled};
pub(crate) use tracefs::{SysEnter, SysExit, TraceFs};
