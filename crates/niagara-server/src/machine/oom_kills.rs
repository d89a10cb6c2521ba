//! Processes that the kernel has killed for want of memory, as far as its counters tell.

use super::limits::memory_groups;
use super::root::Root;

/// How many processes the kernel had killed for want of memory at some moment: of this process's control group where that is
/// counted, else of the machine. Nothing where it counts neither (before Linux 4.13).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OomKills(Option<u64>);

impl OomKills {
    /// As it is now.
    pub(crate) fn now() -> Self {
        Self::read(&Root::machine())
    }

    /// Whether there were more of them since then. Whose processes they were is not said: somebody of the same group's.
    pub(crate) fn has_risen(self) -> bool {
        self.is_less_than(Self::now())
    }

    fn is_less_than(self, later: Self) -> bool {
        matches!((self.0, later.0), (Some(before), Some(after)) if after > before)
    }

    fn read(root: &Root) -> Self {
        let (version_2, folders) = memory_groups(root);
        let file = match version_2 {
            true => "memory.events",
            false => "memory.oom_control",
        };
        // A container may be shown its own group as the root of all.
        let of_groups = folders
            .iter()
            .find_map(|folder| counted(&root.text(&format!("{folder}/{file}"))?));
        let of_machine = || counted(&root.text("proc/vmstat")?);
        Self(of_groups.or_else(of_machine))
    }
}

/// The number behind `oom_kill`: all of these files have it in a line of its own.
fn counted(text: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(' ')?;
        (name == "oom_kill").then_some(value)?.trim().parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_are_those_of_the_own_group_or_of_the_machine() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = Root::at(folder.path());
        let write = |file: &str, text: &str| root.write(file, text);
        assert_eq!(OomKills::read(&root), OomKills(None));
        assert!(!OomKills(None).is_less_than(OomKills(Some(7))));
        write(
            "proc/vmstat",
            "nr_free_pages 5\noom_kill 40\ndrop_pagecache 1\n",
        );
        assert_eq!(OomKills::read(&root), OomKills(Some(40)));
        // Version 1.
        write("proc/self/cgroup", "4:memory:/jobs\n0::/\n");
        write(
            "sys/fs/cgroup/memory/jobs/memory.oom_control",
            "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n",
        );
        assert_eq!(OomKills::read(&root), OomKills(Some(3)));
        // Version 2.
        write("sys/fs/cgroup/cgroup.controllers", "memory\n");
        write("proc/self/cgroup", "0::/pod/box\n");
        write(
            "sys/fs/cgroup/pod/memory.events",
            "low 0\nhigh 0\nmax 9\noom 2\noom_kill 2\noom_group_kill 0\n",
        );
        let before = OomKills::read(&root);
        assert_eq!(before, OomKills(Some(2)));
        write(
            "sys/fs/cgroup/pod/memory.events",
            "max 12\noom 3\noom_kill 3\n",
        );
        let after = OomKills::read(&root);
        assert!(before.is_less_than(after) && !after.is_less_than(before));
        assert!(!after.is_less_than(after));
    }
}
