//! The disk and file system that the work folder is on.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::root::Root;

/// Where data directories live.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Disk {
    /// `ext4`, `xfs`, `btrfs`, `tmpfs`.
    pub filesystem: String,
    /// Mount options.
    pub options: String,
    /// Spinning disk; absent where there is no block device to ask.
    pub rotational: Option<bool>,
    /// Kernel's name of the device.
    pub device: Option<String>,
    /// The device's I/O scheduler.
    pub scheduler: Option<String>,
}

impl Disk {
    /// Reads the mount that `folder` (or its nearest existing parent) is on.
    pub(crate) fn read(root: &Root, folder: &Path) -> Self {
        let existing = folder
            .ancestors()
            .find_map(|parent| parent.canonicalize().ok());
        let mounts = root.text("proc/self/mountinfo").unwrap_or_default();
        let Some(mount) = existing.as_deref().and_then(|path| mount_of(&mounts, path)) else {
            return Self::default();
        };
        let device = format!("sys/dev/block/{}", mount.device);
        // A partition has no queue of its own; its disk is the folder above.
        let queue = |file: &str| {
            root.text(&format!("{device}/queue/{file}"))
                .or_else(|| root.text(&format!("{device}/../queue/{file}")))
        };
        Self {
            filesystem: mount.filesystem,
            options: mount.options,
            rotational: queue("rotational").map(|text| text == "1"),
            device: root
                .path(&device)
                .canonicalize()
                .ok()
                .and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned())),
            scheduler: queue("scheduler")
                .and_then(|text| super::root::chosen(&text).map(str::to_owned)),
        }
    }
}

#[derive(Debug, PartialEq)]
struct Mount {
    device: String,
    filesystem: String,
    options: String,
}

/// The line of `/proc/self/mountinfo` with the longest mount point above `path`; of equals the last.
fn mount_of(mountinfo: &str, path: &Path) -> Option<Mount> {
    let mut best: Option<(usize, Mount)> = None;
    for line in mountinfo.lines() {
        let Some((left, right)) = line.split_once(" - ") else {
            continue;
        };
        let left: Vec<&str> = left.split(' ').collect();
        let (Some(device), Some(point), Some(options)) = (left.get(2), left.get(4), left.get(5))
        else {
            continue;
        };
        let point = point.replace("\\040", " ");
        let depth = Path::new(&point).components().count();
        if path.starts_with(&point) && best.as_ref().is_none_or(|(known, _)| depth >= *known) {
            let mount = Mount {
                device: (*device).to_owned(),
                filesystem: right.split(' ').next().unwrap_or_default().to_owned(),
                options: (*options).to_owned(),
            };
            best = Some((depth, mount));
        }
    }
    best.map(|(_, mount)| mount)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 22 0:25 / /tmp rw,nosuid - tmpfs tmpfs rw
31 22 8:17 / /srv/my\\040data rw,noatime shared:9 - xfs /dev/sdb1 rw,attr2";

    #[test]
    fn the_longest_mount_point_wins() {
        let filesystem =
            |path: &str| mount_of(MOUNTS, Path::new(path)).map(|mount| mount.filesystem);
        assert_eq!(filesystem("/tmp/niagara"), Some("tmpfs".into()));
        assert_eq!(filesystem("/tmpfile"), Some("ext4".into()));
        let data = mount_of(MOUNTS, Path::new("/srv/my data/clone")).expect("mounted");
        assert_eq!(
            (data.device.as_str(), data.options.as_str()),
            ("8:17", "rw,noatime")
        );
        assert_eq!(mount_of("", Path::new("/")), None);
    }
}
