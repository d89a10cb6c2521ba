//! A capture as a workload: what was sent to a server is sent again. docs/replay.md tells how.
//!
//! The capture file and its making ready are `niagara-capture`'s, which knows nothing of this crate; here stands only what
//! makes of it a workload like the others. It is replayed by `engine::replay`, not drawn from a plan.

mod workload;

pub(crate) use workload::{CAPTURE, content_of};
pub use workload::{CaptureWorkload, REPLAY_OPTIONS};
