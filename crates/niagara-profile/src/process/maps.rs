//! What is mapped into a process, as `/proc/PID/maps` tells.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

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
    /// Where its bytes can be read: at its path, unless another file may be there by now, or the path is a container's.
    pub file: PathBuf,
}

/// What the kernel adds to the path of a file that was replaced since.
const DELETED: &str = " (deleted)";

/// The executable mappings of a process that come from files, by address. Code that has no file but lies against a file's is
/// that file's, moved onto huge pages at its own addresses, and is one with it.
///
/// # Errors
/// The process has ended, or is another user's.
pub fn mappings(pid: i32) -> Result<Vec<Mapping>> {
    let file = format!("/proc/{pid}/maps");
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {file}"))?;
    let process = Path::new("/proc").join(pid.to_string());
    let sees = |process: &Path| fs::read_link(process.join("ns/mnt")).ok();
    let same_files = sees(&process) == sees(Path::new("/proc/self"));
    let all = text.lines().filter_map(|line| {
        let mapping = executable(line)?;
        let file = readable_file(&process, &mapping, line.ends_with(DELETED), same_files);
        Some(Mapping { file, ..mapping })
    });
    Ok(joined(all))
}

/// Where the bytes of a mapping of a process can be read. Only root may follow the kernel's links to what is mapped; who may
/// look at the process may follow that to its program.
fn readable_file(process: &Path, mapping: &Mapping, is_deleted: bool, same_files: bool) -> PathBuf {
    if is_deleted {
        let program = process.join("exe");
        let target = fs::read_link(&program).unwrap_or_default();
        let target = target.to_string_lossy();
        if Path::new(target.trim_end_matches(DELETED)) == mapping.path {
            return program;
        }
        let range = &mapping.addresses;
        return process.join(format!("map_files/{:x}-{:x}", range.start, range.end));
    }
    match same_files {
        true => mapping.path.clone(),
        false => {
            let path = mapping.path.strip_prefix("/").unwrap_or(&mapping.path);
            process.join("root").join(path)
        }
    }
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
    let path = PathBuf::from(path.trim_end_matches(DELETED));
    Some(Mapping {
        addresses: hex(start)?..hex(end)?,
        offset: hex(offset)?,
        file: path.clone(),
        path,
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
                path: "/opt/my server/mariadbd".into(),
                file: "/opt/my server/mariadbd".into(),
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
            file: "/usr/sbin/mysqld".into(),
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
    fn replaced_files_and_those_of_containers_are_read_through_the_process() {
        let process = Path::new("/proc/0");
        let mapping = executable("1000-2000 r-xp 0 fe:01 1 /usr/lib/libc.so (deleted)").unwrap();
        let of = |is_deleted, same_files| readable_file(process, &mapping, is_deleted, same_files);
        assert_eq!(of(false, true), mapping.path);
        assert_eq!(of(false, false), Path::new("/proc/0/root/usr/lib/libc.so"));
        assert_eq!(of(true, true), Path::new("/proc/0/map_files/1000-2000"));
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
