//! On which CPUs a loop runs.

use crate::error::LoadError;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// Where the calling thread may run.
#[derive(Debug)]
pub(crate) struct Placement {
    home: CpuSet,
    placed: Option<Vec<usize>>,
}

impl Placement {
    /// Where it was started.
    pub(crate) fn here() -> Result<Self, LoadError> {
        let home = sched_getaffinity(Pid::from_raw(0))
            .map_err(|error| LoadError::Client(format!("reading the CPU affinity: {error}")))?;
        Ok(Placement { home, placed: None })
    }

    /// Has the thread run on `cpus`; without any, where it was started.
    pub(crate) fn place(&mut self, cpus: Option<&Vec<usize>>) -> Result<(), LoadError> {
        if self.placed.as_ref() == cpus {
            return Ok(());
        }
        let mut set = CpuSet::new();
        match cpus {
            Some(cpus) => {
                for &cpu in cpus {
                    set.set(cpu)
                        .map_err(|_| LoadError::Invalid(format!("there is no CPU {cpu}")))?;
                }
            }
            None => set = self.home,
        }
        sched_setaffinity(Pid::from_raw(0), &set).map_err(|error| {
            LoadError::Invalid(format!(
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
