//! The processors: model, topology, caches, frequency, mitigations.

use std::collections::{BTreeMap, BTreeSet};

use niagara_settings::parse_cpu_list;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::root::{Root, bytes, numbered};

/// The processors that this process may use.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Cpu {
    /// `AMD EPYC 7B13`.
    pub model: String,
    /// `x86_64`, `aarch64`.
    pub architecture: String,
    /// Sockets.
    pub sockets: usize,
    /// Physical cores.
    pub cores: usize,
    /// Logical CPUs; those that this process may run on.
    pub threads: usize,
    /// More than one thread runs on a core.
    pub smt: bool,
    /// NUMA nodes.
    pub numa_nodes: usize,
    /// Caches of the first CPU.
    pub caches: Vec<CpuCache>,
    /// Frequency governor of the first CPU; absent where the machine does not show it (virtual machines).
    pub governor: Option<String>,
    /// Whether the clock may exceed its nominal frequency; absent where not shown.
    pub turbo: Option<bool>,
    /// Every usable CPU and where it sits, ordered by node, socket, core.
    pub places: Vec<Place>,
    /// What the kernel does against each hardware vulnerability.
    pub mitigations: BTreeMap<String, String>,
}

/// A cache.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuCache {
    /// 1, 2, 3.
    pub level: u32,
    /// `Data`, `Instruction`, `Unified`.
    pub kind: String,
    /// Size.
    pub bytes: u64,
    /// CPUs that share it.
    pub shared_by: usize,
}

/// Where a logical CPU sits. Ordered so that neighbours in the order share most.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct Place {
    /// NUMA node.
    pub node: usize,
    /// Socket.
    pub socket: usize,
    /// Core within the socket.
    pub core: usize,
    /// The CPU's number.
    pub cpu: usize,
}

impl Cpu {
    /// Reads this machine.
    pub(crate) fn read(root: &Root) -> Self {
        let info = root.text("proc/cpuinfo").unwrap_or_default();
        let places = places(root, &usable(root));
        let threads = places.len();
        let sockets: BTreeSet<usize> = places.iter().map(|place| place.socket).collect();
        let cores: BTreeSet<(usize, usize)> = places
            .iter()
            .map(|place| (place.socket, place.core))
            .collect();
        let nodes: BTreeSet<usize> = places.iter().map(|place| place.node).collect();
        let first = places.first().map_or(0, |place| place.cpu);
        let mitigations = root
            .names("sys/devices/system/cpu/vulnerabilities")
            .into_iter()
            .filter_map(|name| {
                let state = root.text(&format!("sys/devices/system/cpu/vulnerabilities/{name}"))?;
                Some((name, state))
            })
            .collect();
        Self {
            model: model(&info).unwrap_or_else(|| "unknown".to_owned()),
            architecture: std::env::consts::ARCH.to_owned(),
            sockets: sockets.len(),
            cores: cores.len(),
            threads,
            smt: cores.len() < threads,
            numa_nodes: nodes.len(),
            caches: caches(root, first),
            governor: root.text(&format!(
                "sys/devices/system/cpu/cpu{first}/cpufreq/scaling_governor"
            )),
            turbo: turbo(root),
            places,
            mitigations,
        }
    }

    /// Numbers of the usable CPUs, neighbours next to each other.
    pub fn numbers(&self) -> Vec<usize> {
        self.places.iter().map(|place| place.cpu).collect()
    }

    /// The first CPU of every core, in the order of the places.
    pub fn one_per_core(&self) -> Vec<usize> {
        let mut seen = BTreeSet::new();
        self.places
            .iter()
            .filter(|place| seen.insert((place.node, place.socket, place.core)))
            .map(|place| place.cpu)
            .collect()
    }
}

/// All CPUs of the machine that are online, whether or not this process may run on them.
pub fn online_cpus() -> Vec<usize> {
    online(&Root::machine())
}

fn online(root: &Root) -> Vec<usize> {
    let told = root.text("sys/devices/system/cpu/online");
    let told = told.and_then(|text| parse_cpu_list(&text));
    told.or_else(|| {
        allowed(Pid::from_raw(0))
            .ok()
            .filter(|cpus| !cpus.is_empty())
    })
    .unwrap_or_else(|| vec![0])
}

/// CPUs that a process may run on, as the kernel says, ascending; 0 is this one.
///
/// # Errors
/// There is no such process.
pub(crate) fn allowed(pid: Pid) -> nix::Result<Vec<usize>> {
    let set = sched_getaffinity(pid)?;
    let cpus = 0..CpuSet::count();
    Ok(cpus
        .filter(|&cpu| set.is_set(cpu).unwrap_or(false))
        .collect())
}

/// The CPUs that this process may run on where those are not all of the machine: a container's, a job's.
pub(crate) fn confined_to() -> Option<Vec<usize>> {
    let all = online_cpus();
    let mine = usable(&Root::machine());
    (mine.len() < all.len()).then_some(mine)
}

/// CPUs that this process may run on; all that are online where that cannot be asked.
fn usable(root: &Root) -> Vec<usize> {
    let online = online(root);
    let Ok(mine) = allowed(Pid::from_raw(0)) else {
        return online;
    };
    let both: Vec<usize> = online
        .iter()
        .copied()
        .filter(|cpu| mine.contains(cpu))
        .collect();
    // A container may be shown others than it has.
    match (both.is_empty(), mine.is_empty()) {
        (false, _) => both,
        (true, false) => mine,
        (true, true) => online,
    }
}

fn places(root: &Root, cpus: &[usize]) -> Vec<Place> {
    let mut places: Vec<Place> = cpus
        .iter()
        .map(|&cpu| {
            let folder = format!("sys/devices/system/cpu/cpu{cpu}");
            let node = root
                .names(&folder)
                .iter()
                .find_map(|name| numbered(name, "node"))
                .unwrap_or(0);
            Place {
                node,
                socket: root
                    .value(&format!("{folder}/topology/physical_package_id"))
                    .unwrap_or(0),
                core: root
                    .value(&format!("{folder}/topology/core_id"))
                    .unwrap_or(cpu),
                cpu,
            }
        })
        .collect();
    places.sort_unstable();
    places
}

fn caches(root: &Root, cpu: usize) -> Vec<CpuCache> {
    let folder = format!("sys/devices/system/cpu/cpu{cpu}/cache");
    root.names(&folder)
        .iter()
        .filter(|name| numbered(name, "index").is_some())
        .filter_map(|name| {
            let read = |file: &str| root.text(&format!("{folder}/{name}/{file}"));
            Some(CpuCache {
                level: read("level")?.parse().ok()?,
                kind: read("type")?,
                bytes: bytes(&read("size")?)?,
                shared_by: read("shared_cpu_list")
                    .and_then(|text| parse_cpu_list(&text))
                    .map_or(1, |cpus| cpus.len()),
            })
        })
        .collect()
}

fn turbo(root: &Root) -> Option<bool> {
    if let Some(off) = root.value::<u32>("sys/devices/system/cpu/intel_pstate/no_turbo") {
        return Some(off == 0);
    }
    root.value::<u32>("sys/devices/system/cpu/cpufreq/boost")
        .map(|on| on == 1)
}

/// The model in `/proc/cpuinfo`; ARM kernels give numbers only.
fn model(cpuinfo: &str) -> Option<String> {
    let field = |name: &str| {
        cpuinfo.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == name).then(|| value.trim().to_owned())
        })
    };
    field("model name").or_else(|| field("Model")).or_else(|| {
        let part = field("CPU part")?;
        let maker = field("CPU implementer").unwrap_or_default();
        Some(format!("ARM implementer {maker} part {part}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn models_of_two_architectures() {
        assert_eq!(
            model("processor\t: 0\nmodel name\t: AMD EPYC 7B13\nflags\t: fpu\n"),
            Some("AMD EPYC 7B13".into())
        );
        let arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        assert_eq!(model(arm), Some("ARM implementer 0x41 part 0xd0c".into()));
        assert_eq!(model(""), None);
    }

    #[test]
    fn cpu_sets_keep_sibling_threads_together() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        // Two cores of two threads, numbered as most firmware does: 0 and 2 are siblings.
        for (cpu, core) in [(0, 0), (1, 1), (2, 0), (3, 1)] {
            let topology = folder
                .path()
                .join(format!("sys/devices/system/cpu/cpu{cpu}/topology"));
            fs::create_dir_all(&topology).expect("made");
            fs::write(topology.join("physical_package_id"), "0\n").expect("written");
            fs::write(topology.join("core_id"), format!("{core}\n")).expect("written");
        }
        let places = places(&Root::at(folder.path()), &[0, 1, 2, 3]);
        let cpu = Cpu {
            places,
            ..Cpu::default()
        };
        assert_eq!(cpu.numbers(), [0, 2, 1, 3]);
        assert_eq!(cpu.one_per_core(), [0, 1]);
    }
}
