//! What a connection takes: measured in a process of its own, which has nothing to reuse.

use crate::ground::{Stand, endpoint};
use anyhow::{Context, Result, bail};
use niagara_load::{Driver, DriverOptions, Endpoint, SliceOptions, WorkloadSpec};
use serde::{Deserialize, Serialize};
use std::io::{Write, stdin};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Memory for each connection, in KiB.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// Growth of the process' proportional set size, from before connecting until after load.
    pub process_kib: f64,
    /// Growth of the machine's unreclaimable slab in the same time: sockets, of both ends, and what else the kernel and
    /// the server keep for a connection.
    pub kernel_kib: f64,
}

/// What the other process is told.
#[derive(Debug, Serialize, Deserialize)]
struct Task {
    endpoint: Endpoint,
    workload: WorkloadSpec,
    connections: u32,
    loops: Option<usize>,
}

/// The argument that makes this program that other process.
pub const HOLD: &str = "--hold-connections";

/// Connects and loads in a process of its own, and asks it what that took.
pub fn of_connections(
    stand: &Stand,
    workload: WorkloadSpec,
    connections: u32,
    loops: Option<usize>,
) -> Result<Memory> {
    let task = Task {
        endpoint: endpoint(&stand.server),
        workload,
        connections,
        loops,
    };
    let program = std::env::current_exe().context("this program's own path")?;
    let mut child = Command::new(program)
        .arg(HOLD)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the process that holds connections")?;
    if let Some(mut to) = child.stdin.take() {
        to.write_all(&serde_json::to_vec(&task)?)?;
    }
    let output = child.wait_with_output()?;
    if !output.status.success() {
        bail!(
            "the process that holds connections ended with {}",
            output.status
        );
    }
    serde_json::from_slice(&output.stdout).context("what the process that holds connections said")
}

/// What that process does.
pub fn hold() -> Result<()> {
    let task: Task = serde_json::from_reader(stdin())?;
    let options = DriverOptions {
        connections: task.connections,
        loops: task.loops,
        ..DriverOptions::default()
    };
    let before = (pss_kib()?, slab_kib()?);
    let mut driver = Driver::connect(&[task.endpoint], &task.workload, &options)?;
    // Every buffer grows to its size.
    let slice = SliceOptions {
        duration: Duration::from_secs(1),
        ..SliceOptions::default()
    };
    driver.slice(0, &slice)?;
    let each = |before: f64, now: f64| (now - before) / f64::from(task.connections);
    let memory = Memory {
        process_kib: each(before.0, pss_kib()?),
        kernel_kib: each(before.1, slab_kib()?),
    };
    println!("{}", serde_json::to_string(&memory)?);
    Ok(())
}

fn pss_kib() -> Result<f64> {
    field("/proc/self/smaps_rollup", "Pss:")
}

fn slab_kib() -> Result<f64> {
    field("/proc/meminfo", "SUnreclaim:")
}

/// The number behind `name` in a file of the kernel's.
pub fn field(path: &str, name: &str) -> Result<f64> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {path}"))?;
    text.lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|number| number.parse().ok())
        .with_context(|| format!("{path} says no {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read() {
        assert!(pss_kib().unwrap() > 100.0);
        assert!(slab_kib().unwrap() > 100.0);
    }
}
