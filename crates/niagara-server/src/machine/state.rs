//! How the machine is at this moment: load, free memory, free disk, disturbance.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::disturbance::DisturbanceMeter;
use super::limits::tightest_group;
use super::memory::meminfo;
use super::root::Root;
use crate::disk_use::free_bytes;

/// What changes from minute to minute.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MachineState {
    /// Average of runnable tasks over the last minute.
    pub load: f64,
    /// Share of all CPU time that the hypervisor gave to others while watching.
    pub steal: f64,
    /// Share of all CPU time that other processes used while watching.
    pub foreign: f64,
    /// Memory that can be had without swapping.
    pub memory_available_bytes: u64,
    /// Space left for this user on the work folder's disk.
    pub disk_free_bytes: u64,
}

impl MachineState {
    /// Watches for `time`; `work` is the folder in which data directories will live.
    ///
    /// # Errors
    /// `/proc/stat` cannot be read.
    pub fn watch(work: &Path, time: Duration) -> Result<Self> {
        let root = Root::machine();
        let meter = DisturbanceMeter::new(Vec::new())?;
        let before = meter.sample()?;
        std::thread::sleep(time);
        let interval = meter.sample()?.since(&before);
        let disk_free = work.ancestors().find_map(|folder| free_bytes(folder).ok());
        Ok(Self {
            load: load_average(&root.text("proc/loadavg").unwrap_or_default()),
            steal: interval.steal,
            foreign: interval.foreign,
            memory_available_bytes: memory_available_bytes().unwrap_or(0),
            disk_free_bytes: disk_free.unwrap_or(0),
        })
    }
}

/// Memory that can be had without swapping and within the limits of the control groups, bytes; `None` where the kernel does not
/// say it.
pub fn memory_available_bytes() -> Option<u64> {
    let root = Root::machine();
    let info = root.text("proc/meminfo").unwrap_or_default();
    let machine = meminfo(&info, "MemAvailable")?;
    let group = tightest_group(&root).map(|group| group.left);
    Some(group.map_or(machine, |left| left.min(machine)))
}

fn load_average(text: &str) -> f64 {
    text.split(' ')
        .next()
        .and_then(|word| word.parse().ok())
        .unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_can_be_watched() {
        let moment = MachineState::watch(Path::new("/tmp/not/there"), Duration::from_millis(50))
            .expect("Linux");
        assert!(moment.disk_free_bytes > 0);
        assert!((0.0..=1.0).contains(&moment.foreign));
        assert_eq!(load_average("0.52 0.40 0.30 1/200 999"), 0.52);
    }
}
