//! A process, told apart from a later one of the same number by its start time.

use std::fs;

use serde::{Deserialize, Serialize};

/// A process: its number and when it started, in clock ticks since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessId {
    pub pid: i32,
    pub start: u64,
}

impl ProcessId {
    /// The process that has this number now, unless it is gone.
    pub fn of(pid: i32) -> Option<ProcessId> {
        start_time(pid).map(|start| ProcessId { pid, start })
    }

    /// Whether this very process still runs (a zombie does not).
    pub fn is_alive(self) -> bool {
        start_time(self.pid) == Some(self.start)
    }
}

/// Field 22 of `/proc/PID/stat`; none for a process that is gone or a zombie.
fn start_time(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything, so fields are counted from its end.
    let mut fields = stat[stat.rfind(')')? + 2..].split(' ');
    match fields.next()? {
        "Z" | "X" => None,
        _ => fields.nth(18)?.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_number_and_start() {
        let me = ProcessId::of(std::process::id() as i32).expect("it runs");
        assert!(me.is_alive());
        assert!(
            !ProcessId {
                start: me.start + 1,
                ..me
            }
            .is_alive()
        );
    }
}
