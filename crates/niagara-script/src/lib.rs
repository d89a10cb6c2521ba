//! sysbench's scripts: LuaJIT, the interface of sysbench 1.0.20 that scripts find, and threads that yield to the load generator.
//!
//! A thread of a script is an interpreter of its own ([`thread`]), whose globals are the thread's. Its script runs within a
//! coroutine: a function that asks the server something writes the command into the thread's [`context`] and yields, so
//! that one thread of the system has thousands of them wait. [`api`] is what the interpreter calls, by LuaJIT's foreign function interface,
//! and [`ask`] what every statement goes through, which yields by itself;
//! the rest of the interface is Lua (`src/lua`). [`runtime`] reads scripts and makes threads; LuaJIT itself is known to
//! [`lua`], [`state`], [`ask`] and [`interrupt`] alone.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod api;
mod ask;
mod command;
mod context;
mod describe;
mod histogram;
mod interrupt;
mod log;
mod lua;
mod lua_text;
mod module_path;
mod place;
mod random;
mod runtime;
mod shipped;
mod state;
mod thread;

pub use api::has_driver;
pub use histogram::LogHistogram;
pub use log::{Sink, flush, set_log};
pub use module_path::{SHIPPED_FOLDERS, find_module, is_shipped};
pub use place::place;
use runtime::LuaRuntime;
pub use runtime::{Global, Threads, source};

/// Has scripts run by LuaJIT, in this whole process.
pub fn install() {
    niagara_load::install_scripts(Box::new(LuaRuntime));
}
