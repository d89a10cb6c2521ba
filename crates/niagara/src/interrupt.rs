//! Ctrl-C (and SIGTERM): the first one ends the study in an orderly way, the second one at once.

use std::process::ExitCode;

use anyhow::{Context, Result};
use niagara_lab::Cancel;

/// Exit code of a command that was interrupted: 128 + SIGINT, as shells expect it.
const INTERRUPTED: u8 = 130;

/// How a study's command ends: 0 when it came to its end, 1 when something else stopped it.
pub fn exit_code(interrupted: bool, complete: bool) -> ExitCode {
    match (interrupted, complete) {
        (true, _) => ExitCode::from(INTERRUPTED),
        (false, true) => ExitCode::SUCCESS,
        (false, false) => ExitCode::FAILURE,
    }
}

/// A flag that Ctrl-C sets.
pub fn on_ctrl_c() -> Result<Cancel> {
    let cancel = Cancel::default();
    let flag = cancel.clone();
    ctrlc::set_handler(move || {
        if flag.is_cancelled() {
            // The servers die with this process.
            std::process::exit(i32::from(INTERRUPTED));
        }
        flag.cancel();
        eprintln!("\nstopping: keeping what was measured (Ctrl-C again ends at once)");
    })
    .context("cannot catch Ctrl-C")?;
    Ok(cancel)
}
