//! A script of sysbench's as a workload.

mod source;
mod steps;
mod workload;

pub use source::{ScriptInfo, ScriptOption, ScriptOptionKind, ScriptSource};
pub(in crate::workload) use steps::NoPlan;
pub(crate) use steps::{OTHER, READ, WRITE};
pub(in crate::workload) use workload::KIND;
pub use workload::ScriptWorkload;
