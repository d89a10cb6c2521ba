//! How long a process's threads were ready to run and waited for a CPU, by the kernel's scheduler.

use std::fs;
use std::time::Duration;

/// Time that the living threads of `pid` have waited in a run queue so far, all together; none where the kernel does
/// not count it (`CONFIG_SCHED_INFO`) or the process has ended.
pub(crate) fn run_delay(pid: i32) -> Option<Duration> {
    let mut nanoseconds = 0_u64;
    let mut seen = false;
    for task in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        // A thread may end between being listed and being read.
        let Ok(text) = fs::read_to_string(task.path().join("schedstat")) else {
            continue;
        };
        nanoseconds += waited(&text)?;
        seen = true;
    }
    seen.then(|| Duration::from_nanos(nanoseconds))
}

/// The second number of `/proc/…/schedstat`: on the CPU, waiting for it, slices (Documentation/scheduler/sched-stats).
fn waited(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_number_is_the_wait() {
        assert_eq!(waited("73928374 1200300 812\n"), Some(1_200_300));
        assert_eq!(waited("x"), None);
    }

    #[test]
    fn a_missing_process_has_no_run_delay() {
        assert_eq!(run_delay(-1), None);
    }
}
