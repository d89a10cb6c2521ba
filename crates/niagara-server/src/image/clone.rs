//! Data directories cloned: shared extents where the file system can, else copied with their holes.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use anyhow::Result;
use niagara_error::anyhow;
use nix::errno::Errno;
use nix::fcntl::{FallocateFlags, fallocate};
use nix::unistd::{Whence, lseek};

use crate::cancel::Cancel;
use crate::disk_use::{free_bytes, room_for_copy};

/// How a clone was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloneWay {
    /// The file system shares the extents until one side writes (btrfs, XFS, bcachefs).
    Reflink,
    /// Every byte was copied.
    Copy,
}

/// How a folder is copied that somebody else made.
pub trait Copying {
    /// Whether a file or folder, by its path from the folder that is copied, comes along.
    fn takes(&mut self, path: &Path) -> bool;
    /// Called after each file and within large ones, with the bytes that were copied since.
    ///
    /// # Errors
    /// The copy is to end.
    fn copied(&mut self, bytes: u64) -> io::Result<()>;
}

/// Everything comes along, and nobody watches.
struct Whole;

impl Copying for Whole {
    fn takes(&mut self, _: &Path) -> bool {
        true
    }

    fn copied(&mut self, _: u64) -> io::Result<()> {
        Ok(())
    }
}

/// Everything comes along until a stop is asked for.
struct UntilStopped<'c>(&'c Cancel);

impl Copying for UntilStopped<'_> {
    fn takes(&mut self, _: &Path) -> bool {
        true
    }

    fn copied(&mut self, _: u64) -> io::Result<()> {
        self.0.check().map_err(io::Error::other)
    }
}

/// Clones a folder and all in it until `cancel` says that it is to end; `to` must not exist, and does not exist after an error.
pub(super) fn clone_until(from: &Path, to: &Path, cancel: &Cancel) -> Result<CloneWay> {
    let cloned = copy_tree(from, to, &mut UntilStopped(cancel));
    // A failure after a stop is nobody's but the stop's.
    cloned.map_err(|error| cancel.check().err().map_or(error, anyhow::Error::from))
}

/// Clones a folder and all in it; `to` must not exist, and does not exist after an error.
pub(crate) fn clone_tree(from: &Path, to: &Path) -> Result<CloneWay> {
    let mut way = CloneWay::Reflink;
    clone_folder(from, to, Path::new(""), &mut way, &mut Whole).map_err(|error| {
        let _ = fs::remove_dir_all(to);
        explained(error, from, to)
    })?;
    Ok(way)
}

/// The same of a folder that somebody else made, as `copying` says.
///
/// # Errors
/// A file that cannot be read, a disk that is full, an end that was asked for.
pub fn copy_tree(from: &Path, to: &Path, copying: &mut dyn Copying) -> Result<CloneWay> {
    let mut way = CloneWay::Reflink;
    clone_folder(from, to, Path::new(""), &mut way, copying).map_err(|error| {
        let _ = fs::remove_dir_all(to);
        match error.kind() {
            io::ErrorKind::PermissionDenied => anyhow!(
                "not all of {} can be read: {error}", from.display();
                remedy: "run this as a user who may, or copy the folder first: sudo cp -a FOLDER COPY, sudo chown -R $USER COPY"
            ),
            _ => explained(error, from, to),
        }
    })?;
    Ok(way)
}

fn explained(error: io::Error, from: &Path, to: &Path) -> anyhow::Error {
    let (from_name, to_name) = (from.display(), to.display());
    if matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    ) {
        let needed = room_for_copy(from) as f64 / 1e6;
        let parent = to.parent().unwrap_or(to);
        let free = free_bytes(parent).unwrap_or(0) as f64;
        return anyhow!(
            "no room to clone {from_name} to {to_name}: the clone takes {needed:.0} MB, {:.0} MB are free ({error})",
            free / 1e6;
            remedy: "make room, or name a folder on another disk in NIAGARA_WORK"
        );
    }
    anyhow!("cannot clone {from_name} to {to_name}: {error}")
}

fn clone_folder(
    from: &Path,
    to: &Path,
    below: &Path,
    way: &mut CloneWay,
    copying: &mut dyn Copying,
) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let path = below.join(entry.file_name());
        if !copying.takes(&path) {
            continue;
        }
        let target = to.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            clone_folder(&entry.path(), &target, &path, way, copying)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path())?, target)?;
        } else if kind.is_file() {
            clone_file(&entry.path(), &target, way, copying)?;
        }
    }
    Ok(())
}

fn clone_file(
    from: &Path,
    to: &Path,
    way: &mut CloneWay,
    copying: &mut dyn Copying,
) -> io::Result<()> {
    let source = File::open(from)?;
    let metadata = source.metadata()?;
    let target = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(metadata.mode() & 0o777)
        .open(to)?;
    if *way == CloneWay::Reflink {
        // SAFETY: FICLONE takes the source's descriptor as its argument; both files are open.
        let result = unsafe { libc::ioctl(target.as_raw_fd(), libc::FICLONE, source.as_raw_fd()) };
        if result == 0 {
            return copying.copied(metadata.len());
        }
        // Not this file system, or not across two of them: the rest is copied too.
        *way = CloneWay::Copy;
    }
    copy_data(&source, &target, metadata.len(), copying)
}

/// Copies what is data. Holes get room on the disk but no bytes: a server finds its redo log
/// preallocated, as it made it, and the disk has nothing to write.
fn copy_data(
    source: &File,
    mut target: &File,
    length: u64,
    copying: &mut dyn Copying,
) -> io::Result<()> {
    allocate(target, length)?;
    let mut at: i64 = 0;
    while (at as u64) < length {
        let start = match lseek(source, at, Whence::SeekData) {
            Ok(start) => start,
            // No data behind this point.
            Err(Errno::ENXIO) => break,
            // A file system that knows no holes has data everywhere.
            Err(_) => at,
        };
        let end = lseek(source, start, Whence::SeekHole).unwrap_or(length as i64);
        lseek(source, start, Whence::SeekSet)?;
        lseek(target, start, Whence::SeekSet)?;
        let mut left = (end - start) as u64;
        while left > 0 {
            // Between files the standard library copies inside the kernel.
            let part = io::copy(&mut source.take(left.min(PART)), &mut target)?;
            copying.copied(part)?;
            // Shorter than it was when it was opened.
            if part == 0 {
                break;
            }
            left -= part;
        }
        at = end.max(start + 1);
    }
    target.set_len(length)
}

fn allocate(file: &File, length: u64) -> io::Result<()> {
    if length == 0 {
        return Ok(());
    }
    match fallocate(file, FallocateFlags::empty(), 0, length as i64) {
        // A file system that cannot: the blocks come as they are written.
        Err(Errno::EOPNOTSUPP | Errno::ENOSYS | Errno::EINVAL) => Ok(()),
        other => Ok(other?),
    }
}

/// Bytes copied between two words of progress.
const PART: u64 = 64 << 20;
/// Granularity in which zeros are looked for.
const BLOCK: usize = 64 << 10;

/// Turns the zeros of a folder's larger files into holes, so that its clones are quick and leave the disk alone: most
/// of a fresh data directory is an empty redo log. Does nothing on file systems that have no holes.
pub(crate) fn dig_holes(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            dig_holes(&entry.path())?;
        } else if kind.is_file() && entry.metadata()?.len() >= 4 * BLOCK as u64 {
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .open(entry.path())?;
            dig_holes_of(&file)?;
        }
    }
    Ok(())
}

fn dig_holes_of(file: &File) -> io::Result<()> {
    let mut block = vec![0; BLOCK];
    let length = file.metadata()?.len();
    let mut at = 0;
    while at + BLOCK as u64 <= length {
        file.read_exact_at(&mut block, at)?;
        if block.iter().all(|byte| *byte == 0) {
            let flags = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
            match fallocate(file, flags, at as i64, BLOCK as i64) {
                Err(Errno::EOPNOTSUPP | Errno::ENOSYS) => return Ok(()),
                other => other?,
            }
        }
        at += BLOCK as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::*;

    #[test]
    fn zeros_become_holes_and_read_the_same() {
        let temporary = tempfile::tempdir().expect("a temporary folder");
        let path = temporary.path().join("redo");
        let mut content = vec![0; 8 << 20];
        content[3 << 20..(3 << 20) + 5].copy_from_slice(b"hello");
        fs::write(&path, &content).expect("written");
        dig_holes(temporary.path()).expect("dug");
        assert!(fs::read(&path).expect("there") == content);
        let metadata = fs::metadata(&path).expect("there");
        assert_eq!(metadata.len(), 8 << 20);
        assert!(metadata.blocks() * 512 < 1 << 20, "{}", metadata.blocks());
    }

    #[test]
    fn a_clone_ends_when_a_stop_is_asked_for_and_leaves_nothing() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let (from, to) = (place.path().join("from"), place.path().join("to"));
        fs::create_dir_all(from.join("inner")).expect("made");
        for name in ["first", "inner/second", "third"] {
            fs::write(from.join(name), name).expect("written");
        }
        let cancel = Cancel::default();
        cancel.cancel();
        let error = clone_until(&from, &to, &cancel).expect_err("stopped");
        assert!(error.has::<crate::Cancelled>(), "{error:#}");
        assert!(!to.exists());
        clone_until(&from, &to, &Cancel::default()).expect("copied");
        assert_eq!(
            fs::read(to.join("inner/second")).expect("there"),
            b"inner/second"
        );
    }

    #[test]
    fn a_clone_equals_its_source_holes_and_all() {
        let temporary = tempfile::tempdir().expect("a temporary folder");
        let (from, to) = (temporary.path().join("from"), temporary.path().join("to"));
        fs::create_dir_all(from.join("inner/empty")).expect("made");
        fs::write(from.join("inner/small"), "text").expect("written");
        let sparse = File::create(from.join("sparse")).expect("created");
        sparse.set_len(64 << 20).expect("grown");
        sparse
            .write_all_at(b"in the middle", 32 << 20)
            .expect("written");
        sparse
            .write_all_at(b"end", (64 << 20) - 3)
            .expect("written");
        clone_tree(&from, &to).expect("cloned");
        assert_eq!(fs::read(to.join("inner/small")).expect("there"), b"text");
        assert!(to.join("inner/empty").is_dir());
        assert!(
            fs::read(to.join("sparse")).expect("there")
                == fs::read(from.join("sparse")).expect("there")
        );
        // Room is set aside for the holes: a server finds its files preallocated.
        assert!(fs::metadata(to.join("sparse")).expect("there").blocks() * 512 >= 64 << 20);
    }
}
