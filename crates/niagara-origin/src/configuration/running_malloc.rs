//! The malloc of a running server, which no setting tells: most are preloaded by what starts the server.

use niagara_load::{Admin, Transport};
use niagara_server::server_behind;

/// Parts of the names of libraries, which are the names of mallocs too.
const KNOWN: [&str; 3] = ["jemalloc", "tcmalloc", "mimalloc"];
/// The system's.
const SYSTEM: &str = "glibc";

/// The malloc of the server behind `transport`: as its process shows, where it runs on this machine and may be looked at, else as it
/// says itself, which MariaDB does. None where neither tells.
pub(super) fn malloc_of(admin: &mut Admin, transport: Option<&Transport>) -> Option<String> {
    transport
        .and_then(of_process)
        .or_else(|| of_variable(admin))
}

fn of_process(transport: &Transport) -> Option<String> {
    let pid = server_behind(transport).ok()?;
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    of_maps(&maps)
}

/// The malloc among what a process has in its memory; none of a process that shows nothing.
fn of_maps(maps: &str) -> Option<String> {
    let mut files = maps.lines().filter_map(|line| line.rsplit('/').next());
    let found = files.find_map(|file| {
        let mut known = KNOWN.iter();
        known.find(|malloc| file.starts_with(&format!("lib{malloc}")))
    });
    let name = found.map_or(SYSTEM, |malloc| malloc);
    maps.contains('/').then(|| name.to_owned())
}

fn of_variable(admin: &mut Admin) -> Option<String> {
    // MySQL has no such variable.
    let said = admin.value("SELECT @@GLOBAL.version_malloc_library");
    of_words(&said.ok()??)
}

/// `jemalloc 5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c` or `system`.
fn of_words(said: &str) -> Option<String> {
    let said = said.to_ascii_lowercase();
    if said.starts_with("system") {
        return Some(SYSTEM.to_owned());
    }
    let mut known = KNOWN.iter();
    known
        .find(|malloc| said.contains(**malloc))
        .map(|malloc| (*malloc).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_malloc_is_told_by_a_process_and_by_words() {
        let maps = "7f00-7f01 r-xp 00000000 fd:00 1 /usr/lib/x86_64-linux-gnu/libjemalloc.so.2\n";
        let plain = "7f00-7f01 r-xp 00000000 fd:00 1 /usr/sbin/mysqld\n7f02-7f03 rw-p 0 00:00 0\n";
        let minimal = "7f00-7f01 r-xp 0 fd:00 1 /opt/lib/libtcmalloc_minimal.so.4.5.9\n";
        for (maps, malloc) in [
            (maps, Some("jemalloc")),
            (minimal, Some("tcmalloc")),
            (plain, Some("glibc")),
            ("", None),
        ] {
            assert_eq!(of_maps(maps).as_deref(), malloc);
        }
        for (said, malloc) in [
            ("system", Some("glibc")),
            ("jemalloc 5.3.0-0-g54eaed", Some("jemalloc")),
            ("tcmalloc gperftools 2.10", Some("tcmalloc")),
            ("another", None),
        ] {
            assert_eq!(of_words(said).as_deref(), malloc);
        }
    }
}
