//! Captured traffic of a MySQL-family server.
//!
//! `log` reads what a server wrote, `sql` takes statements apart, `session` follows who does what, `import` puts them
//! together into the file that `file` writes and reads, which `trace` makes ready to be replayed.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod before_after;
pub mod client;
pub mod dropped;
mod error;
mod export;
pub mod fidelity;
pub mod file;
mod filter;
mod import;
pub mod info;
pub mod log;
mod pcap;
pub mod rewrite;
mod samples;
pub mod server;
mod session;
pub mod sql;
mod stored;
pub mod trace;
mod way;

pub use before_after::{DigestPair, STRETCHES, before_after};
pub use error::CaptureError;
pub use export::{ExportedEvent, export};
pub use filter::{Filter, filter};
pub use import::{Import, Progress, import};
/// Recorded traffic, for the fuzzer.
#[cfg(fuzzing)]
#[doc(hidden)]
pub use pcap::PcapReader;
pub use samples::{Sample, samples};
pub use stored::StoredCode;
pub use way::{Way, Ways};
