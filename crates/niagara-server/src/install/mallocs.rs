//! Memory allocators: which one a server is linked with, and which can be preloaded.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::elf;
use super::version::NO_PROFILE;

/// The malloc a binary is linked with.
pub(crate) fn own_malloc(server: &Path) -> String {
    let needed = elf::linked_libraries(server).unwrap_or_default();
    let known = ["jemalloc", "tcmalloc", "mimalloc"];
    let linked = known
        .iter()
        .find(|malloc| needed.iter().any(|library| library.contains(**malloc)));
    linked.map_or("glibc", |malloc| malloc).to_owned()
}

/// The mallocs in the host's library folders.
pub(crate) fn host_mallocs() -> BTreeMap<String, PathBuf> {
    let triple = format!("{}-linux-gnu", std::env::consts::ARCH);
    let folders = [
        "/usr/local/lib",
        "/usr/lib64",
        &format!("/usr/lib/{triple}"),
        "/usr/lib",
    ]
    .map(PathBuf::from);
    let known = [
        ("jemalloc", &["libjemalloc.so.2"][..]),
        (
            "tcmalloc",
            &["libtcmalloc_minimal.so.4", "libtcmalloc.so.4"],
        ),
        ("mimalloc", &["libmimalloc.so.3", "libmimalloc.so.2"]),
        ("glibc", &["libc.so.6"]),
    ];
    let find = |names: &[&str]| {
        let mut paths = names
            .iter()
            .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
        paths.find(|path| path.is_file())
    };
    known
        .iter()
        .filter_map(|(malloc, names)| find(names).map(|path| ((*malloc).to_owned(), path)))
        .collect()
}

/// Whether the loader takes this library before all others.
pub(crate) fn can_preload(server: &Path, library: &Path) -> bool {
    Command::new(server)
        .args(["--no-defaults", "--version"])
        .envs(NO_PROFILE)
        .env("LD_PRELOAD", library)
        .output()
        .is_ok_and(|output| output.status.success() && output.stderr.is_empty())
}
