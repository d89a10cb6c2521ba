//! Ctrl-C during a capture: what is being made is given up or ended in an orderly way.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;

/// A flag that Ctrl-C and SIGTERM set; `said` is told at the first of them.
///
/// # Errors
/// The signals cannot be caught.
pub fn stop_flag(said: &'static str) -> Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&flag);
    crate::interrupt::at_each_signal(move || {
        if !set.swap(true, Ordering::Relaxed) && !said.is_empty() {
            tell!("\n{said}");
        }
    })?;
    Ok(flag)
}

/// The exit code of a command that was interrupted: 128 + SIGINT.
pub fn interrupted() -> ExitCode {
    crate::interrupt::exit_code(true, false)
}
