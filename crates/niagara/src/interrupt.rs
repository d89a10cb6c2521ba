//! Ctrl-C (and SIGTERM): the first one ends the study in an orderly way, the second one at once.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use niagara_server::Cancel;

/// Exit code of a command that was interrupted: 128 + SIGINT, as shells expect it.
const INTERRUPTED: u8 = 130;

/// A further signal this soon after the first is the same request: `timeout` signals the process and then its whole
/// group, and so do wrappers under a terminal.
const SAME_REQUEST: Duration = Duration::from_millis(500);

/// How a study's command ends: 0 when it came to its end, 1 when something else stopped it.
pub fn exit_code(interrupted: bool, complete: bool) -> ExitCode {
    match (interrupted, complete) {
        (true, _) => ExitCode::from(INTERRUPTED),
        (false, true) => ExitCode::SUCCESS,
        (false, false) => ExitCode::FAILURE,
    }
}

/// The flag itself, for who only asks whether to stop; in words why there is none.
pub fn flag() -> Result<Arc<AtomicBool>, String> {
    on_ctrl_c()
        .map(|cancel| cancel.flag())
        .map_err(|error| format!("{error:#}"))
}

/// A flag that Ctrl-C sets.
pub fn on_ctrl_c() -> Result<Cancel> {
    let cancel = Cancel::default();
    let flag = cancel.clone();
    let mut asked: Option<Instant> = None;
    ctrlc::set_handler(move || match asked {
        Some(first) if first.elapsed() < SAME_REQUEST => {}
        // The servers die with this process.
        Some(_) => std::process::exit(i32::from(INTERRUPTED)),
        None => {
            asked = Some(Instant::now());
            flag.cancel();
            tell!("\nstopping: keeping what was measured (Ctrl-C again ends at once)");
        }
    })
    .context("cannot catch Ctrl-C")?;
    Ok(cancel)
}
