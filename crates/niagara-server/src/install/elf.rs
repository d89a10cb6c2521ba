//! What a binary is linked against, and where it looks for that: just enough ELF.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use object::{Object, ObjectSymbol, ReadCache};

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;
const DT_STRSZ: u64 = 10;
const DT_RPATH: u64 = 15;
const DT_RUNPATH: u64 = 29;

/// The shared libraries a 64-bit little-endian binary names; empty when it is something else.
///
/// # Errors
/// It cannot be read.
pub fn linked_libraries(path: &Path) -> io::Result<Vec<String>> {
    let Some(dynamic) = Dynamic::read(path)? else {
        return Ok(Vec::new());
    };
    let needed = dynamic.entries.iter().filter(|(tag, _)| *tag == DT_NEEDED);
    Ok(needed.filter_map(|(_, at)| dynamic.string(*at)).collect())
}

/// Architectures by their numbers in a header (elf.h), as Rust calls them.
const MACHINES: [(u64, &str); 7] = [
    (3, "x86"),
    (21, "powerpc64"),
    (22, "s390x"),
    (40, "arm"),
    (62, "x86_64"),
    (183, "aarch64"),
    (243, "riscv64"),
];

/// The architecture that a binary is for; none of what is no ELF file, and of architectures that no server is built for.
pub(crate) fn machine(path: &Path) -> io::Result<Option<&'static str>> {
    let mut header = [0; 20];
    File::open(path)?.read_exact_at(&mut header, 0)?;
    if !header.starts_with(b"\x7fELF") {
        return Ok(None);
    }
    // The byte order's mark: 2 is the one with the most significant byte first.
    let machine = match header[5] {
        2 => u64::from(header[18]) << 8 | u64::from(header[19]),
        _ => number(&header, 18, 2),
    };
    let known = MACHINES.iter().find(|(number, _)| *number == machine);
    Ok(known.map(|(_, name)| *name))
}

/// Which of `names` a binary has itself and offers to the libraries that it loads, before any that is preloaded; none of
/// what is no ELF file.
pub(crate) fn offered<'n>(path: &Path, names: &[&'n str]) -> io::Result<Vec<&'n str>> {
    let cache = ReadCache::new(File::open(path)?);
    let Ok(binary) = object::File::parse(&cache) else {
        return Ok(Vec::new());
    };
    let defined = binary
        .dynamic_symbols()
        .filter(|symbol| symbol.is_definition())
        .filter_map(|symbol| names.iter().find(|name| symbol.name() == Ok(**name)));
    let mut found: Vec<&str> = defined.copied().collect();
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Folders in which a binary has its libraries looked for before the system's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchPath {
    /// As it stands in the binary, a colon between two; an empty one is the working directory (ld.so(8)).
    pub folders: String,
    /// Where in the file it begins.
    pub offset: u64,
}

/// What a 64-bit little-endian binary says about where its libraries are (`DT_RUNPATH`, else `DT_RPATH`); `None` when it says
/// nothing, or is something else.
///
/// # Errors
/// It cannot be read.
pub fn search_path(path: &Path) -> io::Result<Option<SearchPath>> {
    let Some(dynamic) = Dynamic::read(path)? else {
        return Ok(None);
    };
    let at = dynamic.value(DT_RUNPATH).or(dynamic.value(DT_RPATH));
    Ok(at.and_then(|at| {
        Some(SearchPath {
            folders: dynamic.string(at)?,
            offset: dynamic.strings_begin + at,
        })
    }))
}

/// What is there for the dynamic linker.
struct Dynamic {
    /// Tags with their values.
    entries: Vec<(u64, u64)>,
    strings: Vec<u8>,
    /// Where in the file the strings begin.
    strings_begin: u64,
}

impl Dynamic {
    /// `None` of what is no 64-bit little-endian binary, and of one that is linked statically.
    fn read(path: &Path) -> io::Result<Option<Dynamic>> {
        let file = File::open(path)?;
        let read = |offset: u64, length: u64| -> io::Result<Vec<u8>> {
            if length > 64 << 20 {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "not a plausible ELF file",
                ));
            }
            let mut bytes = vec![0; length as usize];
            file.read_exact_at(&mut bytes, offset)?;
            Ok(bytes)
        };
        let header = read(0, 64)?;
        if header[..6] != *b"\x7fELF\x02\x01" {
            return Ok(None);
        }
        let segments = read(
            number(&header, 32, 8),
            number(&header, 54, 2) * number(&header, 56, 2),
        )?;
        let segments: Vec<&[u8]> = segments
            .chunks_exact(number(&header, 54, 2).max(56) as usize)
            .collect();
        let kind = |segment: &[u8]| number(segment, 0, 4) as u32;
        let Some(dynamic) = segments.iter().find(|segment| kind(segment) == PT_DYNAMIC) else {
            return Ok(None);
        };
        let entries = read(number(dynamic, 8, 8), number(dynamic, 32, 8))?;
        let mut found = Dynamic {
            entries: entries
                .chunks_exact(16)
                .map(|e| (number(e, 0, 8), number(e, 8, 8)))
                .collect(),
            strings: Vec::new(),
            strings_begin: 0,
        };
        let (Some(address), Some(size)) = (found.value(DT_STRTAB), found.value(DT_STRSZ)) else {
            return Ok(None);
        };
        // The table is given by address; the segment that is loaded there says where in the file.
        found.strings_begin = segments
            .iter()
            .filter(|segment| kind(segment) == PT_LOAD)
            .map(|segment| {
                (
                    number(segment, 8, 8),
                    number(segment, 16, 8),
                    number(segment, 32, 8),
                )
            })
            .find(|(_, start, length)| (*start..start + length).contains(&address))
            .map_or(address, |(offset, start, _)| address - start + offset);
        found.strings = read(found.strings_begin, size)?;
        Ok(Some(found))
    }

    fn value(&self, tag: u64) -> Option<u64> {
        let entry = self.entries.iter().find(|(other, _)| *other == tag);
        entry.map(|(_, value)| *value)
    }

    fn string(&self, at: u64) -> Option<String> {
        let tail = self.strings.get(at as usize..)?;
        let end = tail.iter().position(|byte| *byte == 0)?;
        Some(String::from_utf8_lossy(&tail[..end]).into_owned())
    }
}

/// A little-endian number of `length` bytes.
fn number(bytes: &[u8], at: usize, length: usize) -> u64 {
    bytes[at..at + length]
        .iter()
        .rev()
        .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_libraries_of_this_program_are_listed() {
        let names = linked_libraries(Path::new("/proc/self/exe")).expect("readable");
        assert!(
            names.iter().any(|name| name.starts_with("libc.so")),
            "{names:?}"
        );
    }

    #[test]
    fn what_a_binary_offers_is_its_own() {
        let this = Path::new("/proc/self/exe");
        assert!(offered(this, &["mallctl"]).expect("readable").is_empty());
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/install/elf.rs");
        assert!(offered(&path, &["malloc"]).expect("readable").is_empty());
    }

    #[test]
    fn a_file_that_is_not_elf_has_no_libraries() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/install/elf.rs");
        assert!(linked_libraries(&path).expect("readable").is_empty());
        assert_eq!(search_path(&path).expect("readable"), None);
    }
}
