//! The program's text on huge pages: the library that is preloaded for it, and whether it took effect.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use niagara_error::{Problem, problem};
use nix::unistd::Pid;

use super::start_obstacle::{Around, AroundServer};
use crate::disk_use::is_noexec;

/// What the library is called.
pub const TEXT_LIBRARY_NAME: &str = "libniagara_text.so";
/// The library, built from `preload/huge_text.rs`.
pub const TEXT_LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libniagara_text.so"));

/// How its line in the log begins.
const SAYS: &str = "niagara_text: ";
/// Bytes, with base pages of 4 KB.
const HUGE: u64 = 2 << 20;

/// Puts the library into a folder that stays while the server runs.
///
/// # Errors
/// It cannot be written there, or nothing is loaded from there.
pub(super) fn put(folder: &Path) -> Result<PathBuf> {
    if is_noexec(folder) {
        let told = problem!(
            "{TEXT_LIBRARY_NAME} cannot be loaded from {}: its file system is mounted noexec", folder.display();
            remedy: "set NIAGARA_WORK to a folder of another file system, or leave huge_pages_text out"
        );
        return Err(AroundServer::new(Around::Setting, told).into());
    }
    let library = folder.join(TEXT_LIBRARY_NAME);
    fs::write(&library, TEXT_LIBRARY)
        .with_context(|| format!("cannot write {}", library.display()))?;
    Ok(library)
}

/// Checks that the text of a running server is on huge pages; `log` is what it wrote so far.
pub(super) fn check(pid: Pid, log: &str) -> Result<()> {
    let program = fs::read_link(format!("/proc/{pid}/exe"))
        .with_context(|| format!("cannot read /proc/{pid}/exe"))?;
    let path = format!("/proc/{pid}/smaps");
    let smaps = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let text = Text::of(&smaps, &program.to_string_lossy());
    if text.huge > 0 {
        return Ok(());
    }
    let cause = log
        .lines()
        .find_map(|line| line.split_once(SAYS))
        .map(|(_, words)| words.to_owned());
    let cause = cause.unwrap_or_else(|| match text.possible {
        0 => "its text is smaller than a huge page".to_owned(),
        _ => format!("{TEXT_LIBRARY_NAME} was not loaded, or the kernel had no huge pages left"),
    });
    let told = Problem::new("none of the program's text is on huge pages")
        .because(anyhow::Error::msg(cause))
        .remedy("leave huge_pages_text out, or do what the cause asks for");
    Err(told.into())
}

/// The text of a program in a process.
#[derive(Debug, Default, PartialEq, Eq)]
struct Text {
    /// Bytes that could be on huge pages: those that lie wholly within it.
    possible: u64,
    /// Bytes that are.
    huge: u64,
}

impl Text {
    /// As `/proc/PID/smaps` tells.
    fn of(smaps: &str, program: &str) -> Text {
        let mut runs: Vec<Run> = Vec::new();
        let mut inside = false;
        for line in smaps.lines() {
            if let Some(mapping) = mapping(line) {
                inside = mapping.executable;
                if !inside {
                    continue;
                }
                let own = mapping.file == program;
                // What was moved over the text has no file, and lies between or beside what is left of it.
                match runs.last_mut() {
                    Some(run)
                        if run.addresses.end == mapping.addresses.start
                            && (own || mapping.file.is_empty()) =>
                    {
                        run.addresses.end = mapping.addresses.end;
                        run.own |= own;
                    }
                    _ => runs.push(Run {
                        addresses: mapping.addresses,
                        own,
                        huge: 0,
                    }),
                }
            } else if let (true, Some(run), Some(bytes)) = (inside, runs.last_mut(), huge(line)) {
                run.huge += bytes;
            }
        }
        let mut text = Text::default();
        for run in runs.into_iter().filter(|run| run.own) {
            let first = run.addresses.start.next_multiple_of(HUGE);
            let last = run.addresses.end / HUGE * HUGE;
            text.possible += last.saturating_sub(first);
            text.huge += run.huge;
        }
        text
    }
}

/// Executable mappings without a gap between them.
struct Run {
    addresses: Range<u64>,
    own: bool,
    huge: u64,
}

struct Mapping<'a> {
    addresses: Range<u64>,
    executable: bool,
    file: &'a str,
}

/// `55d0…-55d1… r-xp 001d2000 fe:01 131 /usr/sbin/mariadbd`
fn mapping(line: &str) -> Option<Mapping<'_>> {
    let mut words = line.splitn(6, ' ');
    let (start, end) = words.next()?.split_once('-')?;
    let hex = |text| u64::from_str_radix(text, 16).ok();
    let addresses = hex(start)?..hex(end)?;
    let executable = words.next()?.contains('x');
    let file = words.nth(3).unwrap_or_default().trim();
    Some(Mapping {
        addresses,
        executable,
        file,
    })
}

/// Bytes on huge pages, of a line that counts some.
fn huge(line: &str) -> Option<u64> {
    let (name, value) = line.split_once(':')?;
    let counted = matches!(name, "AnonHugePages" | "FilePmdMapped" | "ShmemPmdMapped");
    let kilobytes: u64 = value.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    counted.then_some(kilobytes << 10)
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::*;
    use crate::disk_use::tests::NoExecMount;

    #[test]
    fn a_folder_on_noexec_is_told_with_its_variable() {
        let Some(mount) = NoExecMount::new() else {
            return;
        };
        let error = put(mount.path()).expect_err("nothing is loaded from there");
        assert_eq!(Around::of(&error), Some(Around::Setting));
        let told = error.explain().to_string();
        assert!(
            told.contains("mounted noexec") && told.contains("NIAGARA_WORK"),
            "{told}"
        );
        let folder = tempfile::tempdir().expect("a folder");
        assert!(put(folder.path()).expect("written").exists());
    }

    #[test]
    fn what_was_moved_over_the_text_counts_as_text() {
        let smaps = "\
            55d000000000-55d000100000 r--p 00000000 fe:01 131      /usr/sbin/mariadbd\n\
            AnonHugePages:      2048 kB\n\
            55d000100000-55d000200000 r-xp 00100000 fe:01 131      /usr/sbin/mariadbd\n\
            AnonHugePages:         0 kB\n\
            VmFlags: rd ex mr mw me\n\
            55d000200000-55d000600000 r-xp 00000000 00:00 0 \n\
            Size:               4096 kB\n\
            AnonHugePages:      4096 kB\n\
            55d000600000-55d000610000 r-xp 00600000 fe:01 131      /usr/sbin/mariadbd\n\
            FilePmdMapped:         0 kB\n\
            7f0000000000-7f0000400000 r-xp 00000000 00:00 0 \n\
            AnonHugePages:      2048 kB\n";
        assert_eq!(
            Text::of(smaps, "/usr/sbin/mariadbd"),
            Text {
                possible: 4 << 20,
                huge: 4 << 20
            }
        );
        assert_eq!(Text::of(smaps, "/usr/sbin/mysqld"), Text::default());
    }

    #[test]
    fn huge_pages_of_the_file_itself_count_too() {
        let smaps = "\
            55d000200000-55d000700000 r-xp 00200000 fe:01 131      /opt/my server/mysqld\n\
            FilePmdMapped:      4096 kB\n";
        let text = Text::of(smaps, "/opt/my server/mysqld");
        assert_eq!((text.possible, text.huge), (4 << 20, 4 << 20));
    }
}
