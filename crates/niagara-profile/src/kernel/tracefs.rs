//! The numbers of tracepoints, read from a tracefs that nobody else sees.

use std::fs;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use anyhow::{Context, Result};
use niagara_error::Remedy as _;
use rustix::fs::{Mode, OFlags};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

/// The kernel's table of tracepoints.
#[derive(Debug)]
pub(crate) enum TraceFs {
    /// Where the machine has it mounted.
    Mounted(PathBuf),
    /// A mount of our own in no folder: it is seen through this handle alone, and gone with it.
    Detached(OwnedFd),
}

impl TraceFs {
    /// The machine's own, or a detached one.
    ///
    /// # Errors
    /// Neither is to be had: that takes root.
    pub fn open() -> Result<TraceFs> {
        for folder in ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"] {
            if fs::read_dir(format!("{folder}/events")).is_ok() {
                return Ok(TraceFs::Mounted(folder.into()));
            }
        }
        let mount = || -> rustix::io::Result<OwnedFd> {
            let system = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
            fsconfig_create(&system)?;
            fsmount(
                &system,
                FsMountFlags::FSMOUNT_CLOEXEC,
                MountAttrFlags::MOUNT_ATTR_RDONLY,
            )
        };
        let mounted = mount().map_err(std::io::Error::from).context("tracepoints cannot be reached: tracefs is not mounted, and a private mount of it needs root").remedy("run as root, or have an administrator `mount -t tracefs -o mode=755 tracefs /sys/kernel/tracing`")?;
        Ok(TraceFs::Detached(mounted))
    }

    /// The number of a tracepoint, such as `raw_syscalls/sys_enter`.
    ///
    /// # Errors
    /// The kernel has no such tracepoint, or does not let this user read it.
    pub fn id(&self, tracepoint: &str) -> Result<u64> {
        let file = format!("events/{tracepoint}/id");
        let text = match self {
            TraceFs::Mounted(folder) => fs::read_to_string(folder.join(&file)),
            TraceFs::Detached(mount) => rustix::fs::openat(
                mount,
                &file,
                OFlags::RDONLY | OFlags::CLOEXEC,
                Mode::empty(),
            )
            .map_err(std::io::Error::from)
            .and_then(|file| {
                let mut text = String::new();
                fs::File::from(file).read_to_string(&mut text)?;
                Ok(text)
            }),
        };
        text.with_context(|| {
            format!("no tracepoint {tracepoint} here (kernel option FTRACE_SYSCALLS)")
        })?
        .trim()
        .parse()
        .with_context(|| format!("the tracepoint {tracepoint} has no number"))
    }
}

/// A system call begins: the record of `raw_syscalls:sys_enter`, whose layout is part of the kernel's interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SysEnter {
    /// The call's number.
    pub number: i64,
    /// Its arguments.
    pub arguments: [u64; 6],
}

/// A system call ends: the record of `raw_syscalls:sys_exit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SysExit {
    /// The call's number.
    pub number: i64,
    /// What it returned; negative is an error's number.
    pub result: i64,
}

/// Bytes before a tracepoint's own fields.
const COMMON: usize = 8;

fn word(raw: &[u8], index: usize) -> Option<u64> {
    let at = COMMON + 8 * index;
    Some(u64::from_ne_bytes(raw.get(at..at + 8)?.try_into().ok()?))
}

impl SysEnter {
    /// Reads the record; `None` when it is too short.
    pub fn read(raw: &[u8]) -> Option<SysEnter> {
        let mut arguments = [0; 6];
        for (index, argument) in arguments.iter_mut().enumerate() {
            *argument = word(raw, 1 + index)?;
        }
        Some(SysEnter {
            number: word(raw, 0)? as i64,
            arguments,
        })
    }
}

impl SysExit {
    /// Reads the record; `None` when it is too short.
    pub fn read(raw: &[u8]) -> Option<SysExit> {
        Some(SysExit {
            number: word(raw, 0)? as i64,
            result: word(raw, 1)? as i64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_system_calls_are_read_or_refused() {
        let mut raw = vec![0_u8; 8];
        for value in [202_u64, 1, 2, 3, 4, 5, 6] {
            raw.extend_from_slice(&value.to_ne_bytes());
        }
        assert_eq!(
            SysEnter::read(&raw),
            Some(SysEnter {
                number: 202,
                arguments: [1, 2, 3, 4, 5, 6]
            })
        );
        assert_eq!(SysEnter::read(&raw[..40]), None);
        let exit = SysExit::read(&raw[..24]).unwrap();
        assert_eq!((exit.number, exit.result), (202, 1));
        assert_eq!(SysExit::read(&raw[..20]), None);
    }
}
