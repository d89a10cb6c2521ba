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

/// Databases that are the server's own.
const OWN_DATABASES: [&str; 3] = ["mysql", "performance_schema", "sys"];
/// Where MyRocks has its tables, in MariaDB and in Percona Server.
const ROCKSDB: [&str; 2] = ["#rocksdb", ".rocksdb"];

/// Bytes that the users' tables and indexes take in a data directory: the folders of their databases, general tablespaces, and the
/// shared tablespace where InnoDB has no file for a table. Logs, undo and the server's own tables are left out.
pub(crate) fn table_bytes(data: &Path) -> u64 {
    let entries = fs::read_dir(data).into_iter().flatten().flatten();
    let (mut tables, mut shared, mut has_own_files) = (0, 0, false);
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        let bytes = entry.metadata().map_or(0, |file| file.blocks() * 512);
        if path.is_dir() {
            let is_users = !name.starts_with(['#', '.']) && !OWN_DATABASES.contains(&&*name);
            if is_users || ROCKSDB.contains(&&*name) {
                tables += folder_bytes(&path);
                has_own_files |= has_table_files(&path);
            }
        } else if name.starts_with("ibdata") {
            shared += bytes;
        } else if name.ends_with(".ibd") && name != "mysql.ibd" {
            tables += bytes;
        }
    }
    match has_own_files {
        true => tables,
        false => tables + shared,
    }
}

/// Whether InnoDB has a file for a table in a database's folder, or another engine a table's rows.
fn has_table_files(database: &Path) -> bool {
    let files = fs::read_dir(database).into_iter().flatten().flatten();
    let ends = [".ibd", ".MYD", ".MAD"];
    files
        .map(|file| file.file_name())
        .any(|name| ends.iter().any(|end| name.to_string_lossy().ends_with(end)))
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
    fn tables_are_counted_without_logs_and_own_tables() {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path();
        let file = |name: &str, kilobytes: usize| {
            let path = data.join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, vec![1; kilobytes << 10]).expect("written");
        };
        for own in [
            "ibdata1",
            "ib_logfile0",
            "undo001",
            "mysql.ibd",
            "mysql/user.MAD",
            "#innodb_redo/#ib_redo0",
        ] {
            file(own, 64);
        }
        // Without a file of a table they are in the shared tablespace.
        file("shop/orders.frm", 4);
        assert_eq!(table_bytes(data), 68 << 10);
        file("shop/orders.ibd", 128);
        file("general.ibd", 32);
        assert_eq!(table_bytes(data), 164 << 10);
        file("#rocksdb/1.sst", 8);
        assert_eq!(table_bytes(data), 172 << 10);
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
