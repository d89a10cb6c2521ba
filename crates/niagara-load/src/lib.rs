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
//! The rooms, each of which knows those before it: `protocol` (bytes), `net` (ways to a server), `workload` (what is
//! asked), `engine` (how it is driven); over the engine `prepare` (tables), beside it `job` (batch jobs), `answers` (a capture, one transaction at a time), [`floor`] (a bare loop), `named` (workloads by name or path);
//! over all [`remote`] (the load from another host).
//!
//! The path of one query: `workload::plan` says which statement is next and draws its parameters,
//! `protocol::command` writes it into the connection's buffer, `engine::link` hands it to the kernel, `engine::running` waits,
//! `protocol::response` skims the answer, `engine::recorder` counts it. Nothing on that path allocates.

#![cfg_attr(test, allow(clippy::unwrap_used))]
#![cfg_attr(not(test), warn(unreachable_pub))]

mod answers;
mod engine;
mod error;
pub mod floor;
mod generator;
mod give_up;
mod job;
mod named;
mod net;
mod plural;
mod prepare;
mod protocol;
pub mod remote;
mod script;
mod size;
mod sql_text;
mod workload;

pub use answers::{
    AGGREGATES, AnswerError, Answers, AnswersCompared, DifferingIn, collect_answers,
    compare_answers,
};
pub use engine::driver::Driver;
pub use engine::options::{
    CoalescingChoice, DriverOptions, IgnoredErrors, Retry, RunOptions, SliceOptions,
};
pub use engine::pacing::{Pacing, Phase, Schedule};
pub use engine::replay::fidelity::fidelity;
pub use engine::replay::tally::{DigestTally, Tally as ReplayTally};
pub use engine::stats::{
    Fairness, GENERATOR_BUSY, GeneratorLimit, SliceStats, StatementStats, TypeStats,
};
pub use error::{CONFLICTS, LoadError, Obstacle};
pub use generator::LoadGenerator;
pub use give_up::give_up_after;
pub use hdrhistogram::Histogram;
pub use job::{JobTimes, StepTime, run_job};
pub use named::{
    WORKLOAD_FILES, content_of_file, is_workload_file, options_of, read_script, with_options,
    with_replay_options, workload_of_file,
};
pub use net::admin::Admin;
pub use net::endpoint::{Endpoint, TlsMode, TlsOptions, Transport, UnknownTlsMode};
pub use net::io_choice::IoChoice;
pub use net::session::greeted_version;
pub use niagara_capture::trace::TracePart;
pub use plural::counted;
pub use prepare::{TableOptions, cleanup, prepare, prepare_tables, replay_before, warm_up};
pub use protocol::answer::{Answer, Value as AnswerValue};
pub use protocol::command::write_packets;
/// Every decoder of the protocol on any bytes, for the fuzzer.
#[cfg(fuzzing)]
#[doc(hidden)]
pub use protocol::decode::decode;
pub use protocol::rows::Row;
pub use script::command::{ScriptHost, run_command};
pub use script::dry_run::DryRun;
pub use script::program::{
    CommandKind, Counts, Interrupter, Program, Refusal, Reply, Server, Want,
};
pub use script::runtime::{
    ScriptOutput, ScriptRun, ScriptRuntime, ScriptThreads, ScriptValue, install as install_scripts,
};
pub use script::wires::refusal;
pub use size::size_in_bytes;
pub use sql_text::sql_text;
pub use workload::file::{FileWorkload, WorkloadFile, schema as workload_file_schema};
pub use workload::filling::TableEvent;
pub use workload::script::{
    ScriptInfo, ScriptOption, ScriptOptionKind, ScriptSource, ScriptWorkload,
};
pub use workload::sysbench::{Sysbench, SysbenchTest};
pub use workload::tpcc::{
    Conditions, Finding, TABLES as TPCC_TABLES, Tpcc, check as check_tpcc, schema as tpcc_schema,
};
pub use workload::{
    CaptureWorkload, CommonOptions, Distribution, Measure, OptionGroup, OptionValue,
    PreparedStatements, REPLAY_OPTIONS, StatementClass, WORKLOAD_OPTIONS, Workload,
    WorkloadBuilder, WorkloadKind, WorkloadOption, WorkloadSpec,
};
