//! Memory allocators: which one a server is linked with, and which can be preloaded.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::elf;
use super::version::library_environment;
use super::version::{NO_PROFILE, output_once_closed};

/// What shows that a malloc is compiled into a binary: functions of its own that no other has.
const COMPILED_IN: [(&str, &str); 3] = [
    ("mallctl", "jemalloc"),
    ("tc_malloc", "tcmalloc"),
    ("mi_malloc", "mimalloc"),
];

/// The malloc that is compiled into a binary: its functions come before those of any library that is preloaded, so that no
/// other can take its place.
pub(crate) fn compiled_in(server: &Path) -> Option<&'static str> {
    let mut names = COMPILED_IN.map(|(function, _)| function).to_vec();
    names.push("malloc");
    let offered = elf::offered(server, &names).unwrap_or_default();
    if !offered.contains(&"malloc") {
        return None;
    }
    let known = COMPILED_IN.iter();
    let mut named = known.filter(|(function, _)| offered.contains(function));
    Some(named.next().map_or("its own malloc", |(_, name)| *name))
}

/// The malloc a binary is linked with.
pub(crate) fn own_malloc(server: &Path) -> String {
    if let Some(name) = compiled_in(server) {
        return name.to_owned();
    }
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

/// Whether the loader takes this library before all others. As servers are started, without what this process was started with: an
/// allocator that does not like its settings in the environment says so, too.
pub(crate) fn can_preload(server: &Path, libraries: Option<&Path>, library: &Path) -> bool {
    let mut asked = Command::new(server);
    asked
        .args(["--no-defaults", "--version"])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("LC_ALL", "C")
        .envs(NO_PROFILE)
        .envs(library_environment(libraries))
        .env("LD_PRELOAD", library);
    output_once_closed(&mut asked)
        .is_ok_and(|output| output.status.success() && output.stderr.is_empty())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_this_process_was_started_with_decides_nothing_of_what_is_preloaded() {
        let folder = tempfile::tempdir().expect("a folder");
        // As an allocator complains of settings that it does not know: cargo and the shell give a test these variables.
        let server = folder.path().join("mariadbd");
        let says = "[ -z \"$CARGO_MANIFEST_DIR$HOME\" ] || echo \"what is this?\" >&2";
        fs::write(&server, format!("#!/bin/sh\n{says}\n")).expect("written");
        fs::set_permissions(&server, fs::Permissions::from_mode(0o755)).expect("executable");
        // None at all, of which the loader would complain.
        let none = Path::new("");
        assert!(can_preload(&server, None, none));
        let silent = folder.path().join("silent");
        fs::write(&silent, "#!/bin/sh\nexit 3\n").expect("written");
        fs::set_permissions(&silent, fs::Permissions::from_mode(0o755)).expect("executable");
        assert!(!can_preload(&silent, None, none));
    }
}
