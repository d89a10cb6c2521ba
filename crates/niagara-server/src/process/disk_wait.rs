//! Whether a process waits for the disk at this moment.

use std::fs;

/// Whether one of the threads of `pid` waits in the kernel for what no signal cuts short: reads, writes and flushes of files,
/// swapped memory.
pub(crate) fn waits_for_disk(pid: i32) -> bool {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter();
    tasks.flatten().flatten().any(|task| {
        // A thread may end between being listed and being read.
        let stat = fs::read_to_string(task.path().join("stat"));
        stat.is_ok_and(|stat| state(&stat) == Some('D'))
    })
}

/// Field 3 of `/proc/PID/stat` (proc_pid_stat(5)), behind the name, which may hold anything.
fn state(stat: &str) -> Option<char> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.trim_start().chars().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_stands_behind_the_name() {
        assert_eq!(state("4711 (ib_log (D) x) D 1 4711"), Some('D'));
        assert_eq!(state("4711 (D) S 1 4711"), Some('S'));
        assert_eq!(state(""), None);
    }

    #[test]
    fn a_process_that_is_not_there_waits_for_nothing() {
        assert!(!waits_for_disk(-1));
    }
}
