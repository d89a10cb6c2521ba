//! The CPUs that a loop runs on.

use crate::error::LoadError;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// Where the calling thread may run, and where it was put.
#[derive(Debug)]
pub(crate) struct Placement {
    home: CpuSet,
    placed: Option<Vec<usize>>,
}

impl Placement {
    /// Of the calling thread, where it is.
    pub(crate) fn here() -> Result<Self, LoadError> {
        let home = sched_getaffinity(Pid::from_raw(0))
            .map_err(|error| LoadError::Client(format!("reading the CPU affinity: {error}")))?;
        Ok(Placement { home, placed: None })
    }

    /// Puts the calling thread onto `cpus`, or back where it was.
    pub(crate) fn place(&mut self, cpus: Option<&Vec<usize>>) -> Result<(), LoadError> {
        if self.placed.as_ref() == cpus {
            return Ok(());
        }
        let mut set = CpuSet::new();
        match cpus {
            Some(cpus) => {
                for &cpu in cpus {
                    set.set(cpu)
                        .map_err(|_| LoadError::invalid(format!("there is no CPU {cpu}")))?;
                }
            }
            None => set = self.home,
        }
        sched_setaffinity(Pid::from_raw(0), &set).map_err(|error| {
            LoadError::invalid(format!(
                "the load generator cannot run on CPUs {cpus:?}: {error}"
            ))
        })?;
        self.placed = cpus.cloned();
        Ok(())
    }

    /// How many CPUs the thread may use.
    pub(crate) fn cpus(&self) -> usize {
        match &self.placed {
            Some(cpus) => cpus.len(),
            None => (0..CpuSet::count())
                .filter(|&cpu| self.home.is_set(cpu).unwrap_or(false))
                .count(),
        }
    }
}
