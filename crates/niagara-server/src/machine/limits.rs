//! What a process is held to: control groups, and resource limits of this one.

use std::sync::OnceLock;

use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::root::Root;

/// Memory that this process keeps to by itself, in bytes.
static OWN_BOUND: OnceLock<u64> = OnceLock::new();

/// From here on this process reckons with so many bytes of memory at the most, as if a control group held it to them. The first
/// call counts.
pub(crate) fn bound_memory(bytes: u64) {
    OWN_BOUND.get_or_init(|| bytes);
}

/// Limits; absent is unlimited.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Limits {
    /// CPUs' worth of time that the control group grants.
    pub cpu_quota: Option<f64>,
    /// Memory that the control group grants, or that this process keeps to.
    pub memory_bytes: Option<u64>,
    /// Processes and threads that the control group grants.
    pub pids: Option<u64>,
    /// Open files a process may have, hard limit.
    pub open_files: Option<u64>,
    /// Memory a process may lock, hard limit.
    pub locked_memory_bytes: Option<u64>,
    /// Version of the control groups: 1 or 2.
    pub cgroup_version: Option<u32>,
    /// Runs with root's rights: may raise priorities and lock memory.
    pub root: bool,
}

impl Limits {
    /// Reads the limits of this process.
    pub(crate) fn read(root: &Root) -> Self {
        let hard = |resource| match getrlimit(resource) {
            Ok((_, hard)) if hard != RLIM_INFINITY => Some(hard),
            _ => None,
        };
        let groups = root.text("proc/self/cgroup").unwrap_or_default();
        let mut limits = granted(root, &groups);
        limits.memory_bytes = least(limits.memory_bytes, OWN_BOUND.get().copied());
        let status = root.text("proc/self/status").unwrap_or_default();
        limits.root = nix::unistd::geteuid().is_root() && has_roots_rights(&status);
        limits.open_files = hard(Resource::RLIMIT_NOFILE);
        limits.locked_memory_bytes = hard(Resource::RLIMIT_MEMLOCK);
        limits
    }

    /// What the control groups of another process grant it; none where they cannot be seen from here.
    pub fn granted_to(pid: i32) -> Option<Self> {
        Self::granted_below(&Root::machine(), pid)
    }

    fn granted_below(root: &Root, pid: i32) -> Option<Self> {
        let groups = root.text(&format!("proc/{pid}/cgroup"))?;
        // Above the namespace of this process (cgroup_namespaces(7)), or of a tree that is not mounted here.
        let is_above = |group: &str| group.split('/').any(|name| name == "..");
        let is_seen = match is_version_2(root) {
            true => {
                let own = own_group(&groups);
                !is_above(own) && root.exists(&format!("sys/fs/cgroup{own}"))
            }
            false => !groups.lines().any(is_above) && is_mounted(root, &groups),
        };
        is_seen.then(|| granted(root, &groups))
    }
}

/// Whether the group of version 1 that counts memory is in the tree that is mounted here. In a container that tree may begin at the
/// container's own group, which its processes call by its name on the host all the same.
fn is_mounted(root: &Root, groups: &str) -> bool {
    let own = root.text("proc/self/cgroup").unwrap_or_default();
    let group = memory_group(groups);
    // Where none counts memory, none grants it.
    group.is_none_or(|name| {
        group == memory_group(&own) || root.exists(&format!("{MEMORY_TREE}{name}"))
    })
}

fn is_version_2(root: &Root) -> bool {
    root.exists("sys/fs/cgroup/cgroup.controllers")
}

/// What the groups of a `/proc/PID/cgroup` grant.
fn granted(root: &Root, groups: &str) -> Limits {
    match is_version_2(root) {
        true => version_2(root, groups),
        false => version_1(root, groups),
    }
}

/// Whether a process with this `/proc/PID/status` may lock memory and raise priorities: root in a container often may not. Where
/// nothing is said of it, root may.
fn has_roots_rights(status: &str) -> bool {
    /// CAP_IPC_LOCK and CAP_SYS_NICE, of `linux/capability.h`.
    const NEEDED: u64 = 1 << 14 | 1 << 23;
    status_mask(status, "CapEff:").is_none_or(|mask| mask & NEEDED == NEEDED)
}

/// The mask that a `/proc/PID/status` (proc_pid_status(5)) has behind `name`, such as `SigIgn:`; none where it does not say.
pub fn status_mask(status: &str, name: &str) -> Option<u64> {
    let mask = status.lines().find_map(|line| line.strip_prefix(name))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

/// Where a group of version 2 has its limits: beyond the first its processes are killed, beyond the second they are made to wait
/// until memory is taken back from them, and a server does nothing else from then on.
const MEMORY_LIMITS: [&str; 2] = ["memory.max", "memory.high"];

/// A limit holds for everything below it, so the smallest on the way up counts.
fn version_2(root: &Root, groups: &str) -> Limits {
    let mut limits = Limits {
        cgroup_version: Some(2),
        ..Limits::default()
    };
    for group in upwards(own_group(groups)) {
        let read = |file: &str| root.text(&format!("sys/fs/cgroup{group}/{file}"));
        let number = |file: &str| read(file)?.parse::<u64>().ok();
        limits.cpu_quota = least(
            limits.cpu_quota,
            read("cpu.max").and_then(|text| quota(&text)),
        );
        for file in MEMORY_LIMITS {
            limits.memory_bytes = least(limits.memory_bytes, number(file));
        }
        limits.pids = least(limits.pids, number("pids.max"));
    }
    limits
}

fn version_1(root: &Root, groups: &str) -> Limits {
    let mut limits = Limits {
        cgroup_version: root.exists("sys/fs/cgroup").then_some(1),
        ..Limits::default()
    };
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(own)) = (parts.next(), parts.next()) else {
            continue;
        };
        for controller in controllers.split(',') {
            for group in upwards(own) {
                let read =
                    |file: &str| root.text(&format!("sys/fs/cgroup/{controller}{group}/{file}"));
                match controller {
                    "cpu" => {
                        let granted = || {
                            quota(&format!(
                                "{} {}",
                                read("cpu.cfs_quota_us")?,
                                read("cpu.cfs_period_us")?
                            ))
                        };
                        limits.cpu_quota = least(limits.cpu_quota, granted());
                    }
                    "memory" => {
                        let granted = || {
                            let bytes: u64 = read("memory.limit_in_bytes")?.parse().ok()?;
                            // "Unlimited" is written as the largest multiple of a page.
                            (bytes < 1 << 60).then_some(bytes)
                        };
                        limits.memory_bytes = least(limits.memory_bytes, granted());
                    }
                    "pids" => {
                        limits.pids = least(
                            limits.pids,
                            read("pids.max").and_then(|text| text.parse().ok()),
                        );
                    }
                    _ => {}
                }
            }
        }
    }
    limits
}

/// The group of version 2, of `/proc/PID/cgroup`.
fn own_group(groups: &str) -> &str {
    let mut lines = groups.lines();
    lines
        .find_map(|line| line.strip_prefix("0::"))
        .unwrap_or("/")
}

/// Where groups of version 1 that count memory are.
const MEMORY_TREE: &str = "sys/fs/cgroup/memory";

/// The group of version 1 that counts memory, of `/proc/PID/cgroup`.
fn memory_group(groups: &str) -> Option<&str> {
    groups.lines().find_map(|line| {
        let (controllers, own) = line.split_once(':')?.1.split_once(':')?;
        controllers
            .split(',')
            .any(|name| name == "memory")
            .then_some(own)
    })
}

/// Memory that one of this process's control groups leaves it, and where that group is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MemoryGroup {
    /// Bytes until its limit, with what of the page cache can be had back.
    pub left: u64,
    /// Its folder.
    pub folder: String,
}

/// The folders of this process's control groups that count memory, its own first and then those above it; whether they are of
/// version 2.
pub(super) fn memory_groups(root: &Root) -> (bool, Vec<String>) {
    let groups = root.text("proc/self/cgroup").unwrap_or_default();
    let version_2 = is_version_2(root);
    let (place, own) = match version_2 {
        true => ("sys/fs/cgroup", Some(own_group(&groups))),
        false => (MEMORY_TREE, memory_group(&groups)),
    };
    let up = own.map(upwards).unwrap_or_default().into_iter();
    (
        version_2,
        up.map(|group| format!("{place}{group}")).collect(),
    )
}

/// The group that leaves this process least memory; `None` where no group has a limit.
pub(crate) fn tightest_group(root: &Root) -> Option<MemoryGroup> {
    let (version_2, folders) = memory_groups(root);
    let (limits, used, reclaimable): (&[&str], _, _) = match version_2 {
        true => (&MEMORY_LIMITS, "memory.current", "inactive_file"),
        false => (
            &["memory.limit_in_bytes"],
            "memory.usage_in_bytes",
            "total_inactive_file",
        ),
    };
    let of = |folder: String| {
        let number = |file: &str| -> Option<u64> {
            root.text(&format!("{folder}/{file}"))?.trim().parse().ok()
        };
        // "Unlimited" is a word, or the largest multiple of a page.
        let limits = limits.iter().filter_map(|file| number(file));
        let limit = limits.filter(|bytes| *bytes < 1 << 60).min()?;
        let used = number(used)?;
        let stat = root
            .text(&format!("{folder}/memory.stat"))
            .unwrap_or_default();
        let cached = stat.lines().find_map(|line| {
            let (name, value) = line.split_once(' ')?;
            (name == reclaimable).then_some(value)?.parse::<u64>().ok()
        });
        Some(MemoryGroup {
            left: limit.saturating_sub(used.saturating_sub(cached.unwrap_or(0))),
            folder,
        })
    };
    folders
        .into_iter()
        .filter_map(of)
        .min_by_key(|group| group.left)
}

/// `/a/b` → `/a/b`, `/a`, and the root, written as nothing.
pub(crate) fn upwards(group: &str) -> Vec<&str> {
    let mut groups = Vec::new();
    let mut rest = group.trim_end_matches('/');
    loop {
        groups.push(rest);
        match rest.rfind('/') {
            Some(cut) => rest = &rest[..cut],
            None => return groups,
        }
    }
}

/// CPUs in `200000 100000` (microseconds granted of each period); none for `max 100000` or `-1 100000`.
fn quota(text: &str) -> Option<f64> {
    let (granted, period) = text.split_once(' ')?;
    let (granted, period): (f64, f64) = (granted.parse().ok()?, period.trim().parse().ok()?);
    (granted > 0.0 && period > 0.0).then(|| granted / period)
}

fn least<T: PartialOrd>(known: Option<T>, found: Option<T>) -> Option<T> {
    match (known, found) {
        (Some(known), Some(found)) => Some(if found < known { found } else { known }),
        (known, found) => known.or(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn root_of_a_container_has_fewer_rights() {
        assert!(has_roots_rights(
            "Name:\tniagara\nCapEff:\t000001ffffffffff\n"
        ));
        // Docker's default.
        assert!(!has_roots_rights("CapEff:\t00000000a80425fb\n"));
        assert!(has_roots_rights(""));
    }

    #[test]
    fn quotas() {
        assert_eq!(quota("150000 100000"), Some(1.5));
        assert_eq!(quota("max 100000"), None);
        assert_eq!(quota("-1 100000"), None);
        assert_eq!(upwards("/a/b"), ["/a/b", "/a", ""]);
        assert_eq!(upwards("/"), [""]);
    }

    #[test]
    fn the_tightest_limit_on_the_way_up_counts() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let top = folder.path().join("sys/fs/cgroup");
        fs::create_dir_all(top.join("pod/box")).expect("made");
        fs::write(top.join("pod/cpu.max"), "200000 100000").expect("written");
        fs::write(top.join("pod/box/cpu.max"), "max 100000").expect("written");
        fs::write(top.join("pod/memory.max"), "1073741824").expect("written");
        fs::write(top.join("pod/box/memory.max"), "2147483648").expect("written");
        let limits = || version_2(&Root::at(folder.path()), "0::/pod/box");
        assert_eq!(limits().cpu_quota, Some(2.0));
        assert_eq!(limits().memory_bytes, Some(1 << 30));
        // Who goes beyond this one is not killed, and gets nothing done.
        fs::write(top.join("pod/box/memory.high"), "536870912").expect("written");
        assert_eq!(limits().memory_bytes, Some(1 << 29));
    }

    #[test]
    fn limits_are_those_of_the_process_that_is_asked_for() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = Root::at(folder.path());
        let write = |file: &str, text: &str| root.write(file, text);
        let memory = |pid: i32| Limits::granted_below(&root, pid).map(|limits| limits.memory_bytes);
        write("sys/fs/cgroup/cgroup.controllers", "memory\n");
        write("sys/fs/cgroup/shell/memory.max", "1000\n");
        write("sys/fs/cgroup/mariadb.service/memory.max", "max\n");
        write("sys/fs/cgroup/small.service/memory.max", "2000\n");
        write("proc/self/cgroup", "0::/shell\n");
        write("proc/7/cgroup", "0::/mariadb.service\n");
        write("proc/8/cgroup", "0::/small.service\n");
        assert_eq!(memory(7), Some(None));
        assert_eq!(memory(8), Some(Some(2000)));
        // Beside the container of this process, of a tree that is not here, of a process that is not shown.
        write("proc/9/cgroup", "0::/../other\n");
        write("proc/10/cgroup", "0::/docker/abc\n");
        for pid in [9, 10, 11] {
            assert_eq!(memory(pid), None, "{pid}");
        }
        // Version 1.
        fs::remove_file(folder.path().join("sys/fs/cgroup/cgroup.controllers")).expect("was there");
        write("proc/7/cgroup", "4:memory:/jobs\n");
        write("sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", "3000\n");
        assert_eq!(memory(7), Some(Some(3000)));
        write("proc/7/cgroup", "4:memory:/../jobs\n");
        assert_eq!(memory(7), None);
        // In a container whose own group is what is mounted, beside another one.
        write("sys/fs/cgroup/memory/memory.limit_in_bytes", "4000\n");
        write("proc/self/cgroup", "4:memory:/docker/own\n");
        write("proc/7/cgroup", "4:memory:/docker/own\n");
        write("proc/8/cgroup", "4:memory:/docker/other\n");
        assert_eq!(memory(7), Some(Some(4000)));
        assert_eq!(memory(8), None);
        write("proc/8/cgroup", "5:pids:/docker/other\n");
        assert_eq!(memory(8), Some(None));
    }

    #[test]
    fn memory_is_what_the_tightest_group_leaves() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = Root::at(folder.path());
        let write = |file: &str, text: &str| root.write(file, text);
        write("proc/self/cgroup", "0::/pod/box\n");
        write("sys/fs/cgroup/cgroup.controllers", "memory\n");
        write("sys/fs/cgroup/pod/memory.max", "4000\n");
        write("sys/fs/cgroup/pod/memory.current", "3500\n");
        write(
            "sys/fs/cgroup/pod/memory.stat",
            "anon 3000\ninactive_file 200\n",
        );
        write("sys/fs/cgroup/pod/box/memory.max", "max\n");
        write("sys/fs/cgroup/pod/box/memory.current", "100\n");
        let found = tightest_group(&root).expect("one has a limit");
        assert_eq!(
            (found.left, found.folder.as_str()),
            (700, "sys/fs/cgroup/pod")
        );
        write("sys/fs/cgroup/pod/memory.high", "3600\n");
        assert_eq!(tightest_group(&root).map(|group| group.left), Some(300));
        for file in ["memory.max", "memory.high"] {
            let file = folder.path().join("sys/fs/cgroup/pod").join(file);
            fs::remove_file(file).expect("was there");
        }
        assert_eq!(tightest_group(&root), None);
        // Version 1.
        fs::remove_file(folder.path().join("sys/fs/cgroup/cgroup.controllers")).expect("was there");
        write("proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/jobs\n");
        write("sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", "1000\n");
        write("sys/fs/cgroup/memory/jobs/memory.usage_in_bytes", "900\n");
        write(
            "sys/fs/cgroup/memory/jobs/memory.stat",
            "cache 5\ntotal_inactive_file 50\n",
        );
        assert_eq!(tightest_group(&root).map(|group| group.left), Some(150));
    }

    #[test]
    fn version_1_keeps_controllers_apart() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let cpu = folder.path().join("sys/fs/cgroup/cpu/jobs");
        let memory = folder.path().join("sys/fs/cgroup/memory");
        fs::create_dir_all(&cpu).expect("made");
        fs::create_dir_all(&memory).expect("made");
        fs::write(cpu.join("cpu.cfs_quota_us"), "50000").expect("written");
        fs::write(cpu.join("cpu.cfs_period_us"), "100000").expect("written");
        fs::write(memory.join("memory.limit_in_bytes"), "9223372036854771712").expect("written");
        let limits = version_1(&Root::at(folder.path()), "4:memory:/\n1:cpu:/jobs\n0::/");
        assert_eq!(limits.cpu_quota, Some(0.5));
        assert_eq!(limits.memory_bytes, None);
    }
}
