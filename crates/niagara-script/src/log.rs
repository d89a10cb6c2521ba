//! What scripts and their library say beside what they print.

use std::io::Write;
use std::sync::OnceLock;

/// Takes a line with its level, by sysbench's numbers: 0 fatal, 1 alert, 2 warning, 3 notice, 4 info, 5 debug.
pub type Sink = Box<dyn Fn(i32, &str) + Send + Sync>;

static SINK: OnceLock<Sink> = OnceLock::new();

/// Nothing beyond it matters to somebody who has asked for no log.
const ALERT: i32 = 1;

/// Says where the log goes, once for the whole process; unless it is said, what matters goes to standard error.
pub fn set_log(sink: Sink) {
    // A second one is not taken.
    let _ = SINK.set(sink);
}

/// A line of the log.
pub(crate) fn log(level: i32, text: &str) {
    match SINK.get() {
        Some(sink) => sink(level, text),
        // Where standard error cannot be written there is nowhere to say so.
        None if level <= ALERT => drop(writeln!(std::io::stderr().lock(), "{text}")),
        None => {}
    }
}

/// Lines on standard output, after what scripts have printed there.
pub(crate) fn print(lines: &[String]) {
    flush();
    let mut out = std::io::stdout().lock();
    for line in lines {
        // Without a reader there is nothing left to do.
        let _ = writeln!(out, "{line}");
    }
    let _ = out.flush();
}

/// Has what scripts have printed leave the C library's buffers.
pub fn flush() {
    // SAFETY: a null pointer stands for all streams.
    unsafe { libc::fflush(std::ptr::null_mut()) };
}
