//! Programs and libraries that Niagara uses when they are there.

use std::env;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is installed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Tools {
    /// Programs found, by name.
    pub programs: Vec<String>,
    /// Memory allocators found among the system's libraries.
    pub mallocs: Vec<String>,
    /// Keyrings of archives, with which packages are verified.
    pub keyrings: Vec<PathBuf>,
}

/// Programs that are looked for, each with what it is needed for.
pub(crate) const PROGRAMS: [&str; 5] = ["apt-get", "dpkg", "patchelf", "perf", "systemd-run"];

const MALLOCS: [(&str, &str); 3] = [
    ("jemalloc", "libjemalloc.so."),
    ("tcmalloc", "libtcmalloc_minimal.so."),
    ("mimalloc", "libmimalloc.so."),
];

impl Tools {
    /// Looks on this machine.
    pub fn find() -> Self {
        let folders = library_folders();
        let has = |prefix: &str| folders.iter().any(|folder| holds(folder, prefix));
        Self {
            programs: PROGRAMS
                .iter()
                .filter(|name| on_path(name))
                .map(|name| (*name).to_owned())
                .collect(),
            mallocs: MALLOCS
                .iter()
                .filter(|(_, file)| has(file))
                .map(|(name, _)| (*name).to_owned())
                .collect(),
            keyrings: keyrings(Path::new("/usr/share/keyrings")),
        }
    }

    /// Whether a program was found.
    pub fn has(&self, program: &str) -> bool {
        self.programs.iter().any(|known| known == program)
    }
}

/// The first program of this name in the folders of `PATH`.
pub fn in_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}

fn on_path(program: &str) -> bool {
    // Where a user's PATH does not lead.
    let of_root = ["/usr/sbin", "/sbin"].map(|folder| Path::new(folder).join(program));
    in_path(program).is_some() || of_root.iter().any(|path| path.is_file())
}

fn library_folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = ["/usr/lib64", "/usr/lib", "/usr/local/lib"]
        .iter()
        .map(PathBuf::from)
        .collect();
    folders.push(PathBuf::from(format!(
        "/usr/lib/{}-linux-gnu",
        env::consts::ARCH
    )));
    folders
}

fn holds(folder: &Path, prefix: &str) -> bool {
    names(folder).iter().any(|name| name.starts_with(prefix))
}

fn names(folder: &Path) -> Vec<String> {
    std::fs::read_dir(folder)
        .map(|entries| {
            entries
                .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
                .collect()
        })
        .unwrap_or_default()
}

fn keyrings(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = names(folder)
        .iter()
        .filter(|name| name.contains("archive-keyring") && name.ends_with(".gpg"))
        .map(|name| folder.join(name))
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keyrings_and_libraries_are_told_by_their_names() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in [
            "debian-archive-keyring.gpg",
            "other.gpg",
            "libjemalloc.so.2",
        ] {
            std::fs::write(folder.path().join(name), "").expect("written");
        }
        assert_eq!(
            keyrings(folder.path()),
            [folder.path().join("debian-archive-keyring.gpg")]
        );
        assert!(holds(folder.path(), "libjemalloc.so."));
        assert!(!holds(folder.path(), "libmimalloc.so."));
    }
}
