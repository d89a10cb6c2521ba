//! A process: its threads, what is mapped into it, the way up its stacks.

mod maps;
mod schedule;
mod threads;
mod unwind;

pub use maps::{Mapping, mappings};
pub use schedule::{Rotation, Scheduled, busy, schedule, turns};
pub use threads::{Thread, threads};
pub use unwind::Unwinder;
pub(crate) use unwind::base_address;
