//! A part of this host, for a run that shares it with a server of somebody's customers: so many CPUs, so much memory, and the last
//! place wherever processes wait for each other.
//!
//! CPUs are held by affinity, which takes whole ones and leaves the others alone: a quota of time would stop a measured server in the
//! middle of a slice. Where the kernel lets this process make control groups, these hold the same bounds for all of its processes, and
//! give way to everybody else.

mod bounds;
mod control_group;
mod priority;
mod share;

pub use bounds::HostBounds;
pub use priority::lower_priority;
pub use share::HostShare;
