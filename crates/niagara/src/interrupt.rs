//! Ctrl-C, SIGTERM and SIGHUP: the first one ends the study in an orderly way, the second one at once.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use niagara_server::Cancel;
use niagara_server::machine::status_mask;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

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
    at_each_signal(move || match asked {
        Some(first) if first.elapsed() < SAME_REQUEST => {}
        // The servers die with this process.
        Some(_) => std::process::exit(i32::from(INTERRUPTED)),
        None => {
            asked = Some(Instant::now());
            flag.cancel();
            tell!("\nstopping: keeping what was measured (Ctrl-C again ends at once)");
        }
    })?;
    Ok(cancel)
}

/// Has a thread of its own do `then` at each signal that asks this process to end: SIGINT, SIGTERM, and SIGHUP unless
/// whoever started it had that ignored, as nohup does for what is to outlive its terminal.
///
/// # Errors
/// The signals cannot be caught.
pub fn at_each_signal(mut then: impl FnMut() + Send + 'static) -> Result<()> {
    let mut caught = vec![SIGINT, SIGTERM];
    if !is_ignored(SIGHUP) {
        caught.push(SIGHUP);
    }
    let mut signals = Signals::new(caught).context("cannot catch Ctrl-C")?;
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || signals.forever().for_each(|_| then()))
        .context("cannot start the thread that Ctrl-C wakes")?;
    Ok(())
}

/// Whether this process ignores `signal`; what the kernel does not tell is not ignored.
fn is_ignored(signal: i32) -> bool {
    std::fs::read_to_string("/proc/self/status")
        .is_ok_and(|status| ignored_signals(&status) & (1 << (signal - 1)) != 0)
}

/// The signals that a process ignores by its `/proc/PID/status`, the lowest bit for signal 1.
fn ignored_signals(status: &str) -> u64 {
    status_mask(status, "SigIgn:").unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_the_kernels_mask() {
        let status = "Name:\tsh\nSigBlk:\t0000000000000001\nSigIgn:\t0000000000001001\n";
        let ignored = ignored_signals(status);
        assert_ne!(ignored & (1 << (SIGHUP - 1)), 0);
        assert_eq!(ignored & (1 << (SIGTERM - 1)), 0);
        assert_eq!(ignored_signals("Name:\tsh\n"), 0);
    }
}
