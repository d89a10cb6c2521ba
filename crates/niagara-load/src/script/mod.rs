//! Workloads that are programs: sysbench's Lua scripts. The language is not known here: whoever knows it implements
//! [`ScriptRuntime`] and [`Program`] and is [installed](install) once, so that nothing else has to be built with it.

pub(crate) mod command;
pub(crate) mod dry_run;
pub(crate) mod keeper;
pub(crate) mod options;
pub(crate) mod probe;
pub(crate) mod program;
pub(crate) mod runtime;
pub(crate) mod wires;
