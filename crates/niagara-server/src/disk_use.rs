//! What a folder takes on disk, and what is free there.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::sys::statvfs::{FsFlags, statvfs};

/// Bytes that an ordinary user may still write to the disk of a folder.
///
/// # Errors
/// The folder cannot be looked at.
pub(crate) fn free_bytes(folder: &Path) -> nix::Result<u64> {
    let disk = statvfs(folder)?;
    Ok(disk.blocks_available() * disk.fragment_size())
}

/// Bytes a folder takes on disk.
pub(crate) fn folder_bytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => folder_bytes(&entry.path()),
            Ok(metadata) => metadata.blocks() * 512,
            Err(_) => 0,
        })
        .sum()
}

/// Bytes that a copy of a folder takes whose holes have room on the disk too, as clones have it.
pub(crate) fn room_for_copy(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => room_for_copy(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

/// Whether the file system of `path` is mounted so that nothing on it is run or loaded.
pub(crate) fn is_noexec(path: &Path) -> bool {
    statvfs(path).is_ok_and(|found| found.flags().contains(FsFlags::ST_NOEXEC))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::process::Command;

    use super::*;

    /// A folder on a file system of its own that nothing is run from, until it is dropped.
    pub(crate) struct NoExecMount(tempfile::TempDir);

    impl NoExecMount {
        /// None, and why, where it cannot be had.
        pub(crate) fn new() -> Option<Self> {
            let folder = tempfile::tempdir().expect("a folder");
            let mount = Command::new("mount")
                .args(["-t", "tmpfs", "-o", "size=128M,noexec", "none"])
                .arg(folder.path())
                .output();
            if !mount.is_ok_and(|output| output.status.success()) {
                eprintln!("skipped: no right to mount here");
                return None;
            }
            Some(Self(folder))
        }

        pub(crate) fn path(&self) -> &Path {
            self.0.path()
        }
    }

    impl Drop for NoExecMount {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg(self.path()).status();
        }
    }

    #[test]
    fn file_systems_that_nothing_is_run_from_are_known() {
        assert!(!is_noexec(Path::new("/usr/bin/true")));
        let Some(mount) = NoExecMount::new() else {
            return;
        };
        assert!(is_noexec(mount.path()));
    }
}
