//! A process within its share of the host.

use std::fs;

use anyhow::{Context, Result};
use niagara_error::bail;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use super::control_group::{Bound, ControlGroup};
use super::share::HostShare;
use crate::machine::limits::bound_memory;
use crate::machine::root::Root;

/// The highest score: the kernel ends such a process first where memory is short. Every child has its parent's.
const FIRST_TO_GO: &str = "1000";

/// A share that this process keeps to.
#[derive(Debug)]
pub struct HostBounds {
    share: HostShare,
    groups: Vec<ControlGroup>,
}

impl HostBounds {
    /// Puts this process and all that it starts from here on into `share`, until that is dropped. Affinity goes from a thread to
    /// those that it starts: to be called before there are others.
    ///
    /// # Errors
    /// The kernel refuses the CPUs; the share is a part of one CPU and no control group can be made, which alone could hold that.
    pub fn enter(share: HostShare) -> Result<Self> {
        let root = Root::machine();
        let groups = ControlGroup::enter_all(&root, &share);
        let bounds = Self { share, groups };
        let share = &bounds.share;
        if share.cpu_time < share.cpus.len() as f64 && !bounds.group_holds_cpus() {
            bail!(
                "the share is {:.2} of a CPU, and only a control group could hold that, which cannot be made here",
                share.cpu_time;
                remedy: "run it as root, or tune on another machine"
            );
        }
        let mut set = CpuSet::new();
        for cpu in &share.cpus {
            set.set(*cpu)?;
        }
        sched_setaffinity(Pid::from_raw(0), &set)
            .with_context(|| format!("cannot stay on CPUs {:?}", share.cpus))?;
        bound_memory(share.memory);
        // A kernel without it has its own way to choose.
        let _ = fs::write("/proc/self/oom_score_adj", FIRST_TO_GO);
        Ok(bounds)
    }

    /// The share.
    pub fn share(&self) -> &HostShare {
        &self.share
    }

    /// Whether a control group holds the CPU time; else the affinity does.
    pub fn group_holds_cpus(&self) -> bool {
        self.groups.iter().any(|group| group.holds(Bound::CpuTime))
    }

    /// Whether a control group holds the memory; else the servers' sizes do.
    pub fn group_holds_memory(&self) -> bool {
        self.groups.iter().any(|group| group.holds(Bound::Memory))
    }
}
