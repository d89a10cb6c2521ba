//! Memory, transparent huge pages, the pool of huge pages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::root::{Root, bytes, chosen};

/// Memory and its pages.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Memory {
    /// Installed, as the kernel counts it.
    pub bytes: u64,
    /// Swap space.
    pub swap_bytes: u64,
    /// Transparent huge pages: `always`, `madvise`, `never`; absent in kernels without them.
    pub thp: Option<String>,
    /// When the kernel compacts memory to make one.
    pub thp_defrag: Option<String>,
    /// Reserved huge pages, of every size the kernel knows.
    pub huge_pools: Vec<HugePool>,
}

/// Huge pages of one size.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HugePool {
    /// Size of a page.
    pub page_bytes: u64,
    /// Reserved pages.
    pub pages: u64,
    /// Of these, free.
    pub free: u64,
}

impl Memory {
    /// Reads this machine.
    pub(crate) fn read(root: &Root) -> Self {
        let info = root.text("proc/meminfo").unwrap_or_default();
        let thp = |file: &str| {
            let text = root.text(&format!("sys/kernel/mm/transparent_hugepage/{file}"))?;
            chosen(&text).map(str::to_owned)
        };
        Self {
            bytes: meminfo(&info, "MemTotal").unwrap_or(0),
            swap_bytes: meminfo(&info, "SwapTotal").unwrap_or(0),
            thp: thp("enabled"),
            thp_defrag: thp("defrag"),
            huge_pools: huge_pools(root),
        }
    }

    /// Bytes of free reserved huge pages.
    pub fn huge_pool_free_bytes(&self) -> u64 {
        self.huge_pools
            .iter()
            .map(|pool| pool.page_bytes * pool.free)
            .sum()
    }
}

fn huge_pools(root: &Root) -> Vec<HugePool> {
    let folder = "sys/kernel/mm/hugepages";
    root.names(folder)
        .iter()
        .filter_map(|name| {
            let size = bytes(name.strip_prefix("hugepages-")?)?;
            Some(HugePool {
                page_bytes: size,
                pages: root.value(&format!("{folder}/{name}/nr_hugepages"))?,
                free: root.value(&format!("{folder}/{name}/free_hugepages"))?,
            })
        })
        .collect()
}

/// A line of `/proc/meminfo`, in bytes.
pub(crate) fn meminfo(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key == name).then(|| bytes(value))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn meminfo_is_in_bytes() {
        let text =
            "MemTotal:       24576000 kB\nMemFree:          100 kB\nHugePages_Total:       0\n";
        assert_eq!(meminfo(text, "MemTotal"), Some(24_576_000 << 10));
        assert_eq!(meminfo(text, "HugePages_Total"), Some(0));
        assert_eq!(meminfo(text, "SwapTotal"), None);
    }

    #[test]
    fn pools_of_every_size_are_found() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let pool = folder
            .path()
            .join("sys/kernel/mm/hugepages/hugepages-2048kB");
        fs::create_dir_all(&pool).expect("made");
        fs::write(pool.join("nr_hugepages"), "100\n").expect("written");
        fs::write(pool.join("free_hugepages"), "40\n").expect("written");
        let memory = Memory::read(&Root::at(folder.path()));
        assert_eq!(
            memory.huge_pools,
            [HugePool {
                page_bytes: 2 << 20,
                pages: 100,
                free: 40
            }]
        );
        assert_eq!(memory.huge_pool_free_bytes(), 80 << 20);
        assert_eq!(memory.thp, None);
    }
}
