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

/// The executable mappings of a process that come from files, by address. Code that has no file but lies against a file's is
/// that file's, moved onto huge pages at its own addresses, and is one with it.
///
/// # Errors
/// The process has ended, or is another user's.
pub fn mappings(pid: i32) -> Result<Vec<Mapping>> {
    let file = format!("/proc/{pid}/maps");
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {file}"))?;
    Ok(joined(text.lines().filter_map(executable)))
}

/// Mappings of one file that lie against each other as they do in the file, as one; those of no file are of the
/// file that they lie against, before or behind, and left out where there is none.
fn joined(all: impl Iterator<Item = Mapping>) -> Vec<Mapping> {
    let mut found: Vec<Mapping> = Vec::new();
    for mut mapping in all {
        let Some(last) = found.last_mut() else {
            found.push(mapping);
            continue;
        };
        if last.addresses.end != mapping.addresses.start {
            found.push(mapping);
            continue;
        }
        let length = last.addresses.end - last.addresses.start;
        let no_file = |mapping: &Mapping| mapping.path.as_os_str().is_empty();
        if no_file(&mapping) && !no_file(last)
            || last.path == mapping.path && last.offset + length == mapping.offset
        {
            last.addresses.end = mapping.addresses.end;
        } else if no_file(last) && mapping.offset >= length {
            mapping.offset -= length;
            mapping.addresses.start = last.addresses.start;
            *last = mapping;
        } else {
            found.push(mapping);
        }
    }
    found.retain(|mapping| !mapping.path.as_os_str().is_empty());
    found
}

/// `55d0…-55d1… r-xp 001d2000 fe:01 131 /usr/sbin/mariadbd`
fn executable(line: &str) -> Option<Mapping> {
    let mut words = line.splitn(6, ' ');
    let (start, end) = words.next()?.split_once('-')?;
    let permissions = words.next()?;
    let offset = words.next()?;
    let path = words.nth(2).unwrap_or_default().trim();
    if !permissions.contains('x') {
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
        assert_eq!(executable("nonsense"), None);
    }

    #[test]
    fn text_that_was_moved_onto_huge_pages_is_its_files() {
        let of = |maps: &str| joined(maps.lines().filter_map(executable));
        let whole = |from, to, offset| Mapping {
            addresses: from..to,
            offset,
            path: "/usr/sbin/mysqld".into(),
        };
        let between = "100000-200000 r-xp 00010000 fe:01 13   /usr/sbin/mysqld\n\
                       200000-600000 r-xp 00000000 00:00 0 \n\
                       600000-700000 r-xp 00510000 fe:01 13   /usr/sbin/mysqld\n\
                       900000-a00000 rwxp 00000000 00:00 0 \n";
        assert_eq!(of(between), [whole(0x10_0000, 0x70_0000, 0x1_0000)]);
        let before = "200000-600000 r-xp 00000000 00:00 0 \n\
                      600000-700000 r-xp 00510000 fe:01 13   /usr/sbin/mysqld\n";
        assert_eq!(of(before), [whole(0x20_0000, 0x70_0000, 0x11_0000)]);
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
