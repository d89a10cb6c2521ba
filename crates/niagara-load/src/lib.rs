//! The load generator: protocol, connections, workloads, latency.
//!
//! A [`Driver`] holds connections to one or two servers ("sides") at once and moves the load from one
//! to the other within milliseconds. [`prepare`] makes the tables that the workloads read and write;
//! [`WorkloadBuilder`] reads a workload from options with sysbench's names.
//!
//! ```no_run
//! use niagara_load::{Driver, DriverOptions, Endpoint, SliceOptions, TlsOptions, Transport, WorkloadSpec, prepare};
//! use std::time::Duration;
//!
//! let endpoint = Endpoint {
//!     transport: Transport::Unix("/run/a.sock".into()),
//!     user: "niagara".into(),
//!     password: "secret".into(),
//!     database: "sbtest".into(),
//!     tls: TlsOptions::default(),
//! };
//! let spec = WorkloadSpec::default();
//! prepare(&endpoint, &spec, "innodb", &mut |done, total| eprintln!("{done} of {total} rows"))?;
//! let mut driver = Driver::connect(&[endpoint], &spec, &DriverOptions::default())?;
//! let stats = driver.slice(0, &SliceOptions { duration: Duration::from_secs(1), ..SliceOptions::default() })?;
//! println!("{:.0} transactions/s", stats.transactions as f64 / stats.seconds);
//! # Ok::<(), niagara_load::LoadError>(())
//! ```
//!
//! The path of one query: `workload::plan` says which statement is next and draws its parameters,
//! `protocol::command` writes it into the connection's buffer, `connection` sends it, `running` waits,
//! `protocol::response` skims the answer, `recorder` counts it. Nothing on that path allocates.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod admin;
mod connection;
mod driver;
mod endpoint;
mod error;
mod event_loop;
pub mod floor;
mod histogram_text;
mod io;
mod job;
mod options;
mod pacing;
mod poll;
mod prepare;
mod protocol;
mod reconnect;
mod recorder;
pub mod remote;
mod running;
mod session;
mod socket;
mod stats;
mod stream;
mod tls;
mod uring;
mod workload;

pub use admin::Admin;
pub use driver::Driver;
pub use endpoint::{Endpoint, TlsMode, TlsOptions, Transport, UnknownTlsMode};
pub use error::{CONFLICTS, LoadError};
pub use hdrhistogram::Histogram;
pub use io::IoChoice;
pub use job::{JobTimes, StepTime, run_job};
pub use options::{DriverOptions, IgnoredErrors, Patience, Retry, RunOptions, SliceOptions};
pub use pacing::{Pacing, Phase, Schedule};
pub use prepare::{TableEvent, TableOptions, cleanup, prepare, prepare_tables, warm_up};
/// Every decoder of the protocol on any bytes, for the fuzzer.
#[cfg(fuzzing)]
#[doc(hidden)]
pub use protocol::decode::decode;
pub use protocol::rows::Row;
pub use stats::{
    Fairness, GENERATOR_BUSY, GeneratorLimit, SliceStats, StatementClass, StatementStats, TypeStats,
};
pub use workload::own::OwnFile;
pub use workload::tpcc::{
    Conditions, Finding, TABLES as TPCC_TABLES, check as check_tpcc, schema as tpcc_schema,
};
pub use workload::{
    Distribution, OptionGroup, OptionValue, PreparedStatements, WORKLOAD_OPTIONS, WorkloadBuilder,
    WorkloadKind, WorkloadOption, WorkloadSpec,
};
