//! What is mapped into a process, as `/proc/PID/maps` tells.

use std::fs;
use std::ops::Range;
use std::path::PathBuf;

use anyhow::{Context, Result};

/// Code of a file, mapped into a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// Addresses in the process.
    pub addresses: Range<u64>,
    /// Where in the file they begin.
    pub offset: u64,
    /// The file; `[vdso]` and the like for what is none.
    pub path: PathBuf,
}

/// The executable mappings of a process that come from files, by address.
///
/// # Errors
/// The process has ended, or is another user's.
pub fn mappings(pid: i32) -> Result<Vec<Mapping>> {
    let file = format!("/proc/{pid}/maps");
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {file}"))?;
    Ok(text.lines().filter_map(executable).collect())
}

/// `55d0…-55d1… r-xp 001d2000 fe:01 131 /usr/sbin/mariadbd`
fn executable(line: &str) -> Option<Mapping> {
    let mut words = line.splitn(6, ' ');
    let (start, end) = words.next()?.split_once('-')?;
    let permissions = words.next()?;
    let offset = words.next()?;
    let path = words.nth(2)?.trim_start();
    if !permissions.contains('x') || path.is_empty() {
        return None;
    }
    let hex = |text| u64::from_str_radix(text, 16).ok();
    Some(Mapping {
        addresses: hex(start)?..hex(end)?,
        offset: hex(offset)?,
        // A file that was replaced since keeps its name with a mark.
        path: path.trim_end_matches(" (deleted)").into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executable_mappings_of_files_are_kept() {
        let found = executable(
            "55d0a000-55d0b000 r-xp 001d2000 fe:01 131072                   /opt/my server/mariadbd",
        );
        assert_eq!(
            found,
            Some(Mapping {
                addresses: 0x55d0_a000..0x55d0_b000,
                offset: 0x1d2000,
                path: "/opt/my server/mariadbd".into()
            })
        );
        assert_eq!(
            executable("55d0a000-55d0b000 r--p 0 fe:01 1 /usr/sbin/x"),
            None
        );
        assert_eq!(executable("7f00-7f10 rwxp 00000000 00:00 0"), None);
        assert_eq!(executable("nonsense"), None);
    }

    #[test]
    fn executable_mappings_of_this_process_are_found() {
        let found = mappings(std::process::id() as i32).unwrap();
        let here = executable_mappings_of_this_process_are_found as *const () as u64;
        assert!(
            found
                .iter()
                .any(|mapping| mapping.addresses.contains(&here))
        );
    }
}
