//! What a process may write to: some folders and nothing else, and no connection to anybody, by the kernel's Landlock.
//!
//! A dump is statements of somebody else's: a server that reads one could be told to write its logs anywhere (`SET GLOBAL
//! general_log_file`, in a routine or a prepared text, too), or to connect to another server.
//!
//! All unsafe code is system calls whose arguments are values and pointers to locals.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// `LANDLOCK_ACCESS_FS_*` that change something: writing, removing, making, moving between folders, cutting.
const WRITE_FILE: u64 = 1 << 1;
const REMOVE_AND_MAKE: u64 = 0b1_1111_1111 << 4;
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;
/// `LANDLOCK_ACCESS_NET_CONNECT_TCP`.
const CONNECT_TCP: u64 = 1 << 1;
/// `LANDLOCK_CREATE_RULESET_VERSION`.
const VERSION: u32 = 1;
/// `LANDLOCK_RULE_PATH_BENEATH`.
const PATH_BENEATH: u32 = 1;
/// Servers open it; it takes what it gets.
const NULL: &str = "/dev/null";

#[repr(C)]
struct Ruleset {
    files: u64,
    network: u64,
}

#[repr(C, packed)]
struct Beneath {
    allowed: u64,
    parent: RawFd,
}

/// Rules that a process can be put under, before it becomes another program.
#[derive(Debug)]
pub(crate) struct Confinement(OwnedFd);

impl Confinement {
    /// Writing below `folders` alone; none where the kernel has no Landlock.
    ///
    /// # Errors
    /// A folder that cannot be opened; the kernel refuses the rules.
    pub(crate) fn to(folders: &[&Path]) -> io::Result<Option<Self>> {
        // SAFETY: with this flag and no attributes the call only says the version.
        let version = unsafe {
            libc::syscall(
                libc::SYS_landlock_create_ruleset,
                std::ptr::null::<Ruleset>(),
                0_usize,
                VERSION,
            )
        };
        if version < 1 {
            return Ok(None);
        }
        let mut files = WRITE_FILE | REMOVE_AND_MAKE;
        if version >= 2 {
            files |= REFER;
        }
        if version >= 3 {
            files |= TRUNCATE;
        }
        let rules = Ruleset {
            files,
            network: if version >= 4 { CONNECT_TCP } else { 0 },
        };
        // Kernels before the fourth version know the first field alone.
        let length = if version >= 4 {
            size_of::<Ruleset>()
        } else {
            size_of::<u64>()
        };
        // SAFETY: the pointer is to a local of at least `length` bytes.
        let fd = unsafe {
            libc::syscall(
                libc::SYS_landlock_create_ruleset,
                &raw const rules,
                length,
                0_u32,
            )
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given this descriptor, which nobody else has.
        let confinement = Self(unsafe { OwnedFd::from_raw_fd(fd as RawFd) });
        for folder in folders {
            confinement.allow(folder, files)?;
        }
        confinement.allow(Path::new(NULL), WRITE_FILE)?;
        Ok(Some(confinement))
    }

    fn allow(&self, path: &Path, allowed: u64) -> io::Result<()> {
        let path = CString::new(path.as_os_str().as_bytes())?;
        // SAFETY: the path ends with a NUL; the descriptor is checked.
        let parent = unsafe { libc::open(path.as_ptr(), libc::O_PATH | libc::O_CLOEXEC) };
        if parent < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: as above, nobody else has it.
        let parent = unsafe { OwnedFd::from_raw_fd(parent) };
        let rule = Beneath {
            allowed,
            parent: parent.as_raw_fd(),
        };
        // SAFETY: the pointer is to a local of the kind that the call reads.
        let done = unsafe {
            libc::syscall(
                libc::SYS_landlock_add_rule,
                self.0.as_raw_fd(),
                PATH_BENEATH,
                &raw const rule,
                0_u32,
            )
        };
        match done {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// What [`enter`] takes, which lives as long as this.
    pub(crate) fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Puts the calling process under the rules: two system calls and nothing else, so that it can stand between `fork` and `exec`.
pub(crate) fn enter(rules: RawFd) -> io::Result<()> {
    // SAFETY: the calls take values alone.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::syscall(libc::SYS_landlock_restrict_self, rules, 0_u32) == 0
    };
    match done {
        true => Ok(()),
        false => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::spawn::{Placement, spawn};
    use std::process::Command;

    #[test]
    fn nothing_is_written_outside() {
        let place = tempfile::tempdir().expect("a place of the test");
        let (inside, outside) = (place.path().join("in"), place.path().join("out"));
        std::fs::create_dir(&inside).expect("a place of the test");
        std::fs::create_dir(&outside).expect("a place of the test");
        let Some(confinement) = Confinement::to(&[&inside]).expect("a place of the test") else {
            eprintln!("the kernel has no Landlock: not tried");
            return;
        };
        drop(confinement);
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(
            "echo a >in/a; echo b >/dev/null; mv in/a in/b; echo c >out/c; mv in/b out/b; ln -s in out/d; echo e >>e; true",
        );
        shell.current_dir(place.path());
        let placement = Placement {
            writable: Some(vec![inside.clone()]),
            ..Placement::default()
        };
        assert!(
            spawn(shell, &placement)
                .expect("a place of the test")
                .wait()
                .expect("a place of the test")
                .success()
        );
        assert!(inside.join("b").exists());
        assert_eq!(
            std::fs::read_dir(&outside)
                .expect("a place of the test")
                .count(),
            0
        );
        assert!(!place.path().join("e").exists());
    }
}
