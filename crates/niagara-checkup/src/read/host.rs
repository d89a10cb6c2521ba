//! The server's process and its machine, where they are this one.

use std::fs;
use std::path::Path;

use anyhow::Result;
use niagara_load::Transport;
use niagara_server::machine::Fingerprint;
use niagara_server::{UsageMeter, server_behind};

use crate::facts::Host;

/// A server's process on this machine.
pub(super) struct Process {
    pid: i32,
    /// Its CPU time and more; only where the kernel shows it to this user.
    pub(super) meter: Option<UsageMeter>,
    machine: Fingerprint,
}

impl Process {
    /// The one behind a transport.
    pub(super) fn behind(transport: &Transport) -> Result<Process> {
        let pid = server_behind(transport)?;
        Ok(Process {
            pid,
            meter: UsageMeter::new(pid).ok(),
            machine: Fingerprint::read(Path::new("/")),
        })
    }

    /// What it is and has at this moment.
    pub(super) fn facts(self) -> Host {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid)).unwrap_or_default();
        let program = fs::read_link(format!("/proc/{}/exe", self.pid));
        Host {
            pid: self.pid,
            program: program.ok().map(|path| path.display().to_string()),
            resident_bytes: kilobytes(&status, "VmRSS"),
            swapped_bytes: kilobytes(&status, "VmSwap"),
            memory_bytes: self.machine.usable_memory(),
            cpus: self.machine.usable_cpus(),
            machine: self.machine,
        }
    }
}

/// Pages that this machine has read from swap space since it was started.
pub(super) fn pages_from_swap() -> Option<u64> {
    let text = fs::read_to_string("/proc/vmstat").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("pswpin "));
    line?.trim().parse().ok()
}

/// A line of `/proc/PID/status` in bytes; 0 where it is not there.
fn kilobytes(status: &str, name: &str) -> u64 {
    let lines = status.lines().filter_map(|line| line.split_once(':'));
    let mut values = lines.filter(|(key, _)| *key == name);
    let value = values.next().and_then(|(_, value)| {
        let number = value.trim().strip_suffix("kB")?.trim();
        number.parse::<u64>().ok()
    });
    value.unwrap_or(0) << 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_is_in_bytes() {
        let status = "Name:\tmysqld\nVmRSS:\t  2048 kB\nVmSwap:\t 4 kB\n";
        assert_eq!(kilobytes(status, "VmRSS"), 2 << 20);
        assert_eq!(kilobytes(status, "VmSwap"), 4 << 10);
        assert_eq!(kilobytes(status, "VmX"), 0);
    }
}
