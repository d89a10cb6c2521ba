//! Who owns a folder of work in progress: the process that holds the lock of the file beside it.
//!
//! A process's number would tell it only where all who use the folder count processes together. Containers that share a cache
//! do not, nor do hosts that share a home folder; a lock is seen by all of them, and goes with its holder, however that ends.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use niagara_error::{Remedy as _, bail};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

/// What the name of a folder's lock ends with.
const SUFFIX: &str = ".lock";
/// A sweep may take a lock between its making and its locking; each time another one would have to.
const ATTEMPTS: usize = 100;

/// The lock of a folder, held by this process; the file goes when this is dropped.
#[derive(Debug)]
pub(crate) struct OwnerLock {
    path: PathBuf,
    _lock: Flock<File>,
    stays: bool,
}

impl OwnerLock {
    /// The lock of a folder that is about to be made.
    ///
    /// # Errors
    /// A place that cannot be written; a file system without locks.
    pub fn of_new(folder: &Path) -> Result<OwnerLock> {
        let path = beside(folder);
        for _ in 0..ATTEMPTS {
            let file = OpenOptions::new()
                .create(true)
                .append(true)
                .mode(0o600)
                .open(&path)
                .with_context(|| format!("cannot create {}", path.display()))
                .remedy(
                    "make room there, or name another place: NIAGARA_CACHE for what is kept, \
                         NIAGARA_WORK for running servers",
                )?;
            match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(lock) if is_at(&lock, &path) => return Ok(OwnerLock::holding(path, lock)),
                // A sweep took it for left behind, before it was locked.
                Ok(_) | Err((_, Errno::EWOULDBLOCK)) => {}
                Err((_, error)) => bail!(
                    "cannot lock {}: {error}", path.display();
                    remedy: "name a place on a file system that has locks: NIAGARA_CACHE for what \
                     is kept, NIAGARA_WORK for running servers"
                ),
            }
        }
        bail!(
            "cannot lock {}: somebody else takes it each time",
            path.display()
        )
    }

    /// The lock of a folder whose owner is gone; none where somebody holds it, and none where there is no such file: then
    /// nobody can tell.
    pub fn of_left(folder: &Path) -> Option<OwnerLock> {
        let path = beside(folder);
        let file = OpenOptions::new().append(true).open(&path).ok()?;
        let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock).ok()?;
        is_at(&lock, &path).then(|| OwnerLock::holding(path, lock))
    }

    /// Removes the folder, and the lock with it unless something of the folder stays: then a later sweep finds it.
    pub fn remove(mut self, folder: &Path) -> bool {
        let removed = fs::remove_dir_all(folder);
        self.stays = folder.exists();
        removed.is_ok()
    }

    fn holding(path: PathBuf, lock: Flock<File>) -> OwnerLock {
        OwnerLock {
            path,
            _lock: lock,
            stays: false,
        }
    }
}

impl Drop for OwnerLock {
    fn drop(&mut self) {
        if !self.stays {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The folder that a lock's name speaks of; none for other names.
pub(crate) fn folder_of(lock: &Path) -> Option<PathBuf> {
    let name = lock.file_name().and_then(OsStr::to_str)?;
    Some(lock.with_file_name(name.strip_suffix(SUFFIX)?))
}

fn beside(folder: &Path) -> PathBuf {
    let mut path = folder.as_os_str().to_owned();
    path.push(SUFFIX);
    path.into()
}

/// Whether the file that was locked is still the one of this name.
fn is_at(file: &File, path: &Path) -> bool {
    let [Ok(held), Ok(there)] = [file.metadata(), fs::metadata(path)] else {
        return false;
    };
    (held.dev(), held.ino()) == (there.dev(), there.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_held_is_not_taken_for_left() {
        let temporary = tempfile::tempdir().expect("a temporary folder");
        let folder = temporary.path().join("clone-1-00000000");
        assert!(OwnerLock::of_left(&folder).is_none(), "nothing is there");
        let held = OwnerLock::of_new(&folder).expect("free");
        fs::create_dir(&folder).expect("room");
        // Another open file of the same process is as good as another process: locks are of open files.
        assert!(OwnerLock::of_left(&folder).is_none());
        assert!(held.remove(&folder));
        assert!(!folder.exists() && !beside(&folder).exists());
        assert_eq!(folder_of(&beside(&folder)), Some(folder.clone()));
        assert_eq!(folder_of(&folder), None);
    }

    #[test]
    fn what_nobody_holds_any_more_is_left() {
        let temporary = tempfile::tempdir().expect("a temporary folder");
        let folder = temporary.path().join("clone-1-00000000");
        fs::create_dir(&folder).expect("room");
        assert!(
            OwnerLock::of_left(&folder).is_none(),
            "without a lock, nobody can tell"
        );
        fs::write(beside(&folder), "").expect("room");
        let left = OwnerLock::of_left(&folder).expect("nobody holds it");
        assert!(left.remove(&folder));
        assert_eq!(fs::read_dir(temporary.path()).expect("readable").count(), 0);
    }
}
