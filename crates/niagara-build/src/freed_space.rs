//! What folders take on disk, a file with several names counted once.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The files of folders that were counted. A patched source tree shares most of its files with the tree that it comes
/// from, as hard links.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    folders: u64,
    files: HashMap<(u64, u64), File>,
}

#[derive(Debug)]
struct File {
    bytes: u64,
    /// Names that it has, and those of them that were counted.
    names: u64,
    counted: u64,
}

impl Disk {
    /// What this folder takes.
    pub fn of(folder: &Path) -> Disk {
        let mut disk = Disk::default();
        disk.add(folder);
        disk
    }

    /// Counts all below `folder`; what cannot be read takes nothing.
    pub fn add(&mut self, folder: &Path) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            let bytes = metadata.blocks() * 512;
            if metadata.is_dir() {
                self.folders += bytes;
                self.add(&entry.path());
                continue;
            }
            let file = self
                .files
                .entry((metadata.dev(), metadata.ino()))
                .or_insert(File {
                    bytes,
                    names: metadata.nlink(),
                    counted: 0,
                });
            file.counted += 1;
        }
    }

    /// Adds what was counted elsewhere.
    pub fn merge(&mut self, other: Disk) {
        self.folders += other.folders;
        for (key, file) in other.files {
            match self.files.get_mut(&key) {
                Some(known) => known.counted += file.counted,
                None => drop(self.files.insert(key, file)),
            }
        }
    }

    /// Bytes that are taken.
    pub fn taken(&self) -> u64 {
        self.folders + self.files.values().map(|file| file.bytes).sum::<u64>()
    }

    /// Bytes that are free once all of it is removed: not those of a file that has a name elsewhere.
    pub fn freed(&self) -> u64 {
        let gone = |file: &&File| file.counted >= file.names;
        let files = self.files.values().filter(gone);
        self.folders + files.map(|file| file.bytes).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_two_names_is_counted_once_and_freed_with_its_last() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        for part in [&a, &b] {
            fs::create_dir(part).expect("made");
        }
        fs::write(a.join("file"), vec![1; 100_000]).expect("written");
        fs::hard_link(a.join("file"), b.join("file")).expect("linked");
        let one = Disk::of(&a);
        assert!(one.taken() >= 100_000 && one.freed() < 100_000);
        let both = Disk::of(folder.path());
        assert!(both.taken() >= 100_000 && both.taken() < 200_000);
        assert_eq!(both.freed(), both.taken());
        let mut merged = one;
        merged.merge(Disk::of(&b));
        assert!(merged.freed() >= 100_000 && merged.taken() < 200_000);
    }
}
