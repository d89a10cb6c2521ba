//! One study, one Niagara: two that wrote to the same results would ruin both their measurements.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use crate::error::{Result, StoreError};

/// File in the study's folder that is locked while the study runs. It is never removed, for a lock on a removed file
/// keeps nobody out; what it says is worth something only while it is locked.
pub(crate) const LOCK_FILE: &str = ".lock";

/// A study's folder, held until dropped. The kernel lets go of it when the process ends, however it ends.
#[derive(Debug)]
pub struct StudyLock {
    _file: Flock<File>,
}

impl StudyLock {
    /// Takes `folder`, which must be there, for this process.
    ///
    /// # Errors
    /// Another process has it, or the file system knows no locks.
    pub fn take(folder: &Path) -> Result<StudyLock> {
        let path = folder.join(LOCK_FILE);
        let failed = |doing: &'static str, source: std::io::Error| StoreError::Lock {
            path: path.clone(),
            doing,
            source,
        };
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .map_err(|error| failed("cannot open", error))?;
        let mut file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(file) => file,
            Err((mut file, Errno::EWOULDBLOCK)) => {
                let mut pid = String::new();
                let _ = file.read_to_string(&mut pid);
                return Err(StoreError::InUse {
                    folder: folder.to_owned(),
                    pid: pid.trim().parse().ok(),
                });
            }
            Err((_, error)) => return Err(failed("cannot lock", error.into())),
        };
        let write = |file: &mut File| -> std::io::Result<()> {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "{}", std::process::id())
        };
        write(&mut file).map_err(|error| failed("cannot write", error))?;
        Ok(StudyLock { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_has_it_and_what_to_do() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let held = StudyLock::take(folder.path()).expect("free");
        let error = StudyLock::take(folder.path()).expect_err("taken");
        let text = error.explanation().to_string();
        for word in [
            &format!("process {}", std::process::id()),
            &folder.path().display().to_string(),
            "--out",
        ] {
            assert!(text.contains(word), "no {word:?} in {text}");
        }
        drop(held);
        StudyLock::take(folder.path()).expect("free again");
    }

    #[test]
    fn what_a_killed_process_left_keeps_nobody_out() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join(LOCK_FILE), "4194304 and some more\n").expect("room");
        let _held = StudyLock::take(folder.path()).expect("nobody holds it");
        let said = std::fs::read_to_string(folder.path().join(LOCK_FILE)).expect("there");
        assert_eq!(said.trim(), std::process::id().to_string());
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let error = StudyLock::take(&folder.path().join("none")).expect_err("not there");
        assert!(error.to_string().contains("none"), "{error}");
    }
}
