//! A thread of a script that is waited for.

use crate::thread::Thread;
use niagara_load::{LoadError, Reply, ScriptRun, run_program};

/// Runs a thread until it has nothing more to do for now.
pub(crate) fn run(thread: &mut Thread, run: &ScriptRun) -> Result<(), LoadError> {
    run_program(thread, Reply::Go, run)
}
