//! Control groups of a run's own: what the kernel itself holds all of its processes to.
//!
//! A new group lies as high as the own one's limits allow. Weights count among neighbours: below the session of whoever started this
//! process, a small one would still have that session's part against the live server's. A limit of CPUs or memory on the way up is never
//! left behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::share::HostShare;
use crate::machine::limits::upwards;
use crate::machine::root::Root;

/// How names of such groups begin; the process's number follows.
const NAME: &str = "niagara-";
/// Microseconds in which a quota counts, the kernel's own.
const PERIOD: f64 = 100_000.0;
/// A group with processes that are about to end cannot be removed: it is tried so often, so long apart.
const ATTEMPTS: u32 = 40;
const APART: Duration = Duration::from_millis(50);
/// Where a controller's limit of memory is none, a number of at least this stands there.
const UNLIMITED: u64 = 1 << 60;

/// What a group holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    /// CPU seconds in a second.
    CpuTime,
    /// Bytes of memory, page cache among them.
    Memory,
}

/// A file of a group, and what goes into it.
type Setting = (&'static str, String);

/// A hierarchy of control groups, and where this process is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hierarchy {
    /// Where it is mounted.
    mount: &'static str,
    /// This process's group; empty for the topmost.
    own: String,
    /// What its groups can hold.
    bounds: &'static [Bound],
    /// Version 2, where a group has the controllers that its parent hands down.
    is_unified: bool,
}

/// A group that this process has made and is in; dropped, it goes back and removes it.
#[derive(Debug)]
pub(super) struct ControlGroup {
    folder: PathBuf,
    /// The group that it was in before.
    before: PathBuf,
    held: Vec<Bound>,
}

impl ControlGroup {
    /// Enters a new group in each hierarchy where this process may make one that holds something of `share`.
    pub(super) fn enter_all(root: &Root, share: &HostShare) -> Vec<Self> {
        let pid = std::process::id();
        let hierarchies = hierarchies(root);
        let entered = hierarchies
            .iter()
            .filter_map(|hierarchy| hierarchy.enter(root, share, pid));
        entered.collect()
    }

    /// Whether it holds this.
    pub(super) fn holds(&self, bound: Bound) -> bool {
        self.held.contains(&bound)
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        let pid = std::process::id().to_string();
        if fs::write(self.before.join(PROCESSES), pid).is_err() {
            return;
        }
        for _ in 0..ATTEMPTS {
            match fs::remove_dir(&self.folder) {
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                    std::thread::sleep(APART);
                }
                // What is left of it is empty; the next run removes it.
                _ => return,
            }
        }
    }
}

/// The file that processes of a group stand in, and are put in by.
const PROCESSES: &str = "cgroup.procs";

impl Hierarchy {
    fn enter(&self, root: &Root, share: &HostShare, pid: u32) -> Option<ControlGroup> {
        let before = root.path(&format!("{}{}", self.mount, self.own));
        let parents = self.parents(root);
        parents.into_iter().find_map(|parent| {
            let parent = root.path(&format!("{}{parent}", self.mount));
            remove_left(&parent);
            let folder = parent.join(format!("{NAME}{pid}"));
            fs::create_dir(&folder).ok()?;
            let held: Vec<Bound> = self
                .bounds
                .iter()
                .copied()
                .filter(|bound| self.set(&folder, *bound, share))
                .collect();
            let entered =
                !held.is_empty() && fs::write(folder.join(PROCESSES), pid.to_string()).is_ok();
            if !entered {
                let _ = fs::remove_dir(&folder);
                return None;
            }
            Some(ControlGroup {
                folder,
                before: before.clone(),
                held,
            })
        })
    }

    /// Groups that a new one can lie in, the highest first.
    fn parents<'a>(&'a self, root: &Root) -> Vec<&'a str> {
        let mut parents = Vec::new();
        for group in upwards(&self.own) {
            let file = |name: &str| root.text(&format!("{}{group}/{name}", self.mount));
            if self.can_hold(&file) {
                parents.push(group);
            }
            if is_limited(&file) {
                break;
            }
        }
        parents.reverse();
        parents
    }

    /// Whether a group with these files hands down what its children are to be held by.
    fn can_hold(&self, file: &dyn Fn(&str) -> Option<String>) -> bool {
        if !self.is_unified {
            return file(PROCESSES).is_some();
        }
        let handed_down = file("cgroup.subtree_control").unwrap_or_default();
        let mut names = handed_down.split_whitespace();
        names.any(|name| matches!(name, "cpu" | "memory"))
    }

    /// Whether `bound` is set for the group in `folder`. What is good to have besides is tried.
    fn set(&self, folder: &Path, bound: Bound, share: &HostShare) -> bool {
        let ((name, value), others) = self.settings(bound, share);
        let is_set = fs::write(folder.join(name), value).is_ok();
        if is_set {
            for (name, value) in others {
                let _ = fs::write(folder.join(name), value);
            }
        }
        is_set
    }

    /// The file that is the bound and what goes into it; others that make the group give way.
    fn settings(&self, bound: Bound, share: &HostShare) -> (Setting, Vec<Setting>) {
        let exact = (share.cpu_time * PERIOD) as u64;
        let quota = match share.cpu_time < share.cpus.len() as f64 {
            true => exact,
            // Affinity holds whole CPUs. What the kernel counts too much is not to stop a server in a slice.
            false => exact + exact / 20,
        };
        let bytes = share.memory.to_string();
        // Weights are a tenth of those that other groups have: with less, a busy host would have nothing measured at all.
        match (bound, self.is_unified) {
            (Bound::CpuTime, true) => (
                ("cpu.max", format!("{quota} {PERIOD}")),
                vec![
                    ("cpu.weight", "10".to_owned()),
                    ("io.weight", "default 10".to_owned()),
                ],
            ),
            (Bound::CpuTime, false) => (
                ("cpu.cfs_quota_us", quota.to_string()),
                vec![("cpu.shares", "102".to_owned())],
            ),
            // Pages that are swapped are read from a disk that the live server needs.
            (Bound::Memory, true) => (
                ("memory.max", bytes),
                vec![("memory.swap.max", "0".to_owned())],
            ),
            (Bound::Memory, false) => (
                ("memory.limit_in_bytes", bytes.clone()),
                vec![("memory.memsw.limit_in_bytes", bytes)],
            ),
        }
    }
}

fn hierarchies(root: &Root) -> Vec<Hierarchy> {
    let groups = root.text("proc/self/cgroup").unwrap_or_default();
    if root.exists("sys/fs/cgroup/cgroup.controllers") {
        let own = groups.lines().find_map(|line| line.strip_prefix("0::"));
        return own
            .map(|own| Hierarchy {
                mount: "sys/fs/cgroup",
                own: topmost_is_empty(own),
                bounds: &[Bound::CpuTime, Bound::Memory],
                is_unified: true,
            })
            .into_iter()
            .collect();
    }
    let of_controller = |name: &str, mount: &'static str, bounds: &'static [Bound]| {
        let own = groups.lines().find_map(|line| {
            let (controllers, own) = line.split_once(':')?.1.split_once(':')?;
            controllers.split(',').any(|one| one == name).then_some(own)
        })?;
        let own = topmost_is_empty(own);
        // A container is shown the host's names of its groups, and has its own at the top.
        let own = match root.exists(&format!("{mount}{own}")) {
            true => own,
            false => String::new(),
        };
        Some(Hierarchy {
            mount,
            own,
            bounds,
            is_unified: false,
        })
    };
    [
        of_controller("cpu", "sys/fs/cgroup/cpu", &[Bound::CpuTime]),
        of_controller("memory", "sys/fs/cgroup/memory", &[Bound::Memory]),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn topmost_is_empty(group: &str) -> String {
    group.trim_end_matches('/').to_owned()
}

/// Whether a group with these files is held to something that a process would escape by leaving it.
fn is_limited(file: &dyn Fn(&str) -> Option<String>) -> bool {
    let quota = ["cpu.max", "cpu.cfs_quota_us"];
    let memory = ["memory.max", "memory.high", "memory.limit_in_bytes"];
    let is_quota = |text: String| !text.starts_with("max") && !text.starts_with('-');
    let is_bytes = |text: String| text.parse().is_ok_and(|bytes: u64| bytes < UNLIMITED);
    quota.iter().filter_map(|name| file(name)).any(is_quota)
        || memory.iter().filter_map(|name| file(name)).any(is_bytes)
        || file("cpuset.cpus").is_some_and(|cpus| !cpus.is_empty())
}

/// Removes groups below `parent` whose process died before it could: the kernel removes no group that has processes.
fn remove_left(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(NAME));
        let pid: Option<u32> = pid.and_then(|pid| pid.parse().ok());
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Folders that look like a kernel's.
    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new(files: &[(&str, &str)]) -> Self {
            let tree = Self(tempfile::tempdir().expect("a temporary folder"));
            for (file, text) in files {
                let file = tree.0.path().join(file);
                fs::create_dir_all(file.parent().expect("a folder")).expect("made");
                fs::write(file, text).expect("written");
            }
            tree
        }

        fn root(&self) -> Root {
            Root::at(self.0.path())
        }

        fn only_parents(&self) -> Vec<String> {
            let root = self.root();
            let hierarchies = hierarchies(&root);
            assert_eq!(hierarchies.len(), 1);
            let parents = hierarchies[0].parents(&root);
            parents.into_iter().map(str::to_owned).collect()
        }

        fn text(&self, file: &str) -> String {
            fs::read_to_string(self.0.path().join(file)).expect("readable")
        }
    }

    fn share() -> HostShare {
        HostShare {
            cpus: vec![2, 3],
            cpu_time: 2.0,
            memory: 1 << 30,
            host_cpus: 4,
            host_memory: 8 << 30,
        }
    }

    const SYSTEMD: [(&str, &str); 5] = [
        ("proc/self/cgroup", "0::/user.slice/session-3.scope\n"),
        (
            "sys/fs/cgroup/cgroup.controllers",
            "cpuset cpu io memory pids\n",
        ),
        (
            "sys/fs/cgroup/cgroup.subtree_control",
            "cpu io memory pids\n",
        ),
        (
            "sys/fs/cgroup/user.slice/cgroup.subtree_control",
            "memory pids\n",
        ),
        ("sys/fs/cgroup/user.slice/session-3.scope/cgroup.procs", ""),
    ];

    #[test]
    fn a_new_group_lies_next_to_the_live_servers() {
        let tree = Tree::new(&SYSTEMD);
        assert_eq!(tree.only_parents(), ["", "/user.slice"]);
        let group = ControlGroup::enter_all(&tree.root(), &share()).remove(0);
        let name = format!("sys/fs/cgroup/{NAME}{}", std::process::id());
        assert!(group.holds(Bound::CpuTime) && group.holds(Bound::Memory));
        assert_eq!(tree.text(&format!("{name}/cpu.max")), "210000 100000");
        assert_eq!(tree.text(&format!("{name}/cpu.weight")), "10");
        assert_eq!(tree.text(&format!("{name}/memory.max")), "1073741824");
        let own = std::process::id().to_string();
        assert_eq!(tree.text(&format!("{name}/cgroup.procs")), own);
        drop(group);
        let before = "sys/fs/cgroup/user.slice/session-3.scope";
        assert_eq!(tree.text(&format!("{before}/cgroup.procs")), own);
    }

    #[test]
    fn limits_on_the_way_up_are_not_escaped() {
        let limits = [
            ("user.slice/memory.max", "1073741824\n"),
            ("user.slice/memory.high", "1073741824\n"),
            ("user.slice/cpu.max", "150000 100000\n"),
            ("user.slice/cpuset.cpus", "0-1\n"),
        ];
        for (file, text) in limits {
            let file = format!("sys/fs/cgroup/{file}");
            let tree = Tree::new(&[&SYSTEMD[..], &[(&file, text)]].concat());
            assert_eq!(tree.only_parents(), ["/user.slice"], "{file}");
        }
        let none = [
            ("user.slice/memory.max", "max\n"),
            ("user.slice/cpu.max", "max 100000\n"),
            ("user.slice/cpuset.cpus", "\n"),
        ];
        for (file, text) in none {
            let file = format!("sys/fs/cgroup/{file}");
            let tree = Tree::new(&[&SYSTEMD[..], &[(&file, text)]].concat());
            assert_eq!(tree.only_parents(), ["", "/user.slice"], "{file}");
        }
    }

    #[test]
    fn nothing_is_made_where_no_controller_is_handed_down() {
        let tree = Tree::new(&[
            ("proc/self/cgroup", "0::/\n"),
            ("sys/fs/cgroup/cgroup.controllers", "cpu memory\n"),
            ("sys/fs/cgroup/cgroup.subtree_control", "\n"),
        ]);
        assert_eq!(tree.only_parents(), [""; 0]);
        assert!(ControlGroup::enter_all(&tree.root(), &share()).is_empty());
    }

    #[test]
    fn version_1_has_a_group_for_each_controller() {
        let tree = Tree::new(&[
            (
                "proc/self/cgroup",
                "4:memory:/docker/abc\n2:cpu,cpuacct:/jobs\n0::/\n",
            ),
            ("sys/fs/cgroup/cpu/cgroup.procs", ""),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu/jobs/cgroup.procs", ""),
            ("sys/fs/cgroup/cpu/jobs/cpu.cfs_quota_us", "250000\n"),
            ("sys/fs/cgroup/memory/cgroup.procs", ""),
            (
                "sys/fs/cgroup/memory/memory.limit_in_bytes",
                "9223372036854771712\n",
            ),
        ]);
        let groups = ControlGroup::enter_all(&tree.root(), &share());
        let name = format!("{NAME}{}", std::process::id());
        // The own group has a quota; that of the memory is not to be seen from here.
        let cpu = format!("sys/fs/cgroup/cpu/jobs/{name}");
        assert_eq!(tree.text(&format!("{cpu}/cpu.cfs_quota_us")), "210000");
        assert_eq!(tree.text(&format!("{cpu}/cpu.shares")), "102");
        let memory = format!("sys/fs/cgroup/memory/{name}/memory.limit_in_bytes");
        assert_eq!(tree.text(&memory), "1073741824");
        assert_eq!(groups.len(), 2);
        assert_eq!(
            groups[0].before,
            tree.0.path().join("sys/fs/cgroup/cpu/jobs")
        );
    }

    #[test]
    fn groups_of_the_dead_are_removed() {
        let tree = Tree::new(&SYSTEMD);
        let top = tree.0.path().join("sys/fs/cgroup");
        let dead = top.join(format!("{NAME}4294967295"));
        let living = top.join(format!("{NAME}1"));
        let foreign = top.join("niagara-falls");
        for folder in [&dead, &living, &foreign] {
            fs::create_dir(folder).expect("made");
        }
        remove_left(&top);
        assert!(!dead.exists() && living.exists() && foreign.exists());
    }
}
