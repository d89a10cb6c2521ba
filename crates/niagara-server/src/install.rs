//! A server that can be launched: fetched from an archive, or found on the host.

pub(crate) mod elf;
pub(crate) mod fit;
pub(crate) mod mallocs;
pub(crate) mod share;
pub(crate) mod version;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::fit::Fit;
use self::mallocs::{can_preload, compiled_in, host_mallocs, own_malloc};
use self::version::{ask_version, library_environment};
use crate::disk_use::folder_bytes;
use crate::family::{Family, Version};
use crate::file_name::file_name;
use crate::named::kind::{Other, folder_instead};

/// A server that can be launched. All fields are public so that a built server can stand beside a packaged one's files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Install {
    /// The catalogue's name, or the path it was found by.
    pub name: String,
    /// Which branch.
    pub family: Family,
    /// Its version.
    pub version: Version,
    /// The version as the server prints it: `10.11.19-MariaDB-0+deb12u1`.
    pub version_string: String,
    /// The folder with `share` and `lib` (`…/usr`).
    pub basedir: PathBuf,
    /// The server's binary.
    pub server: PathBuf,
    /// Memory allocators that can be preloaded, by name; `glibc` is among them when the binary is linked with another.
    pub mallocs: BTreeMap<String, PathBuf>,
    /// Name of the malloc the binary is linked with: `glibc` for nearly all.
    pub own_malloc: String,
    /// Packages and versions it came from; empty for a server of the host.
    pub packages: BTreeMap<String, String>,
    /// Plugins that it is started with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plugins: Vec<String>,
    /// A folder with libraries that the host lacks, which it is run with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub libraries: Option<PathBuf>,
}

impl Install {
    /// The server of this path: a binary, or a folder with one in `sbin`, `bin`, `libexec` or a build tree.
    pub fn from_path(path: &Path) -> Result<Install> {
        let path = std::path::absolute(path)?;
        let found = if path.is_dir() {
            binary_in(&path)?
        } else {
            path.clone()
        };
        // Behind all links: its other files lie around the binary itself.
        let server = found.canonicalize().unwrap_or(found);
        if let Some(other) = Other::of(&server) {
            bail!(other.instead(&server));
        }
        let folder = server.parent().unwrap_or(Path::new("/"));
        let basedir = match folder.file_name().and_then(|name| name.to_str()) {
            Some("bin" | "sbin" | "libexec" | "sql" | "runtime_output_directory") => {
                folder.parent().unwrap_or(folder)
            }
            _ => folder,
        };
        let Fit {
            server: run,
            libraries,
            printed,
        } = Fit::of(&server)?;
        let mut install = Install {
            name: path.display().to_string(),
            family: printed.family,
            version: printed.version,
            version_string: printed.text,
            basedir: basedir.to_path_buf(),
            own_malloc: own_malloc(&run),
            mallocs: BTreeMap::new(),
            packages: BTreeMap::new(),
            plugins: Vec::new(),
            libraries,
            server: run,
        };
        install.add_mallocs(host_mallocs());
        Ok(install)
    }

    /// A server that was built: its binary under `usr`, which is the base folder; named after the server of the catalogue
    /// that it stands beside (`packaged`, where it was fetched), and known by what it was made from.
    ///
    /// # Errors
    /// The binary does not run.
    pub fn built(
        name: &str,
        packaged: Option<Install>,
        server: &Path,
        usr: &Path,
        made_from: BTreeMap<String, String>,
    ) -> Result<Install> {
        let printed = ask_version(server)?;
        let own_malloc = own_malloc(server);
        let mut install = Install {
            name: name.to_owned(),
            family: printed.family,
            version: printed.version,
            version_string: printed.text,
            basedir: usr.to_path_buf(),
            server: server.to_path_buf(),
            mallocs: BTreeMap::new(),
            own_malloc,
            packages: made_from,
            plugins: Vec::new(),
            libraries: None,
        };
        // The packaged server's mallocs, so that both sides of a duel have the same; but a build runs with this machine's
        // libc, which may be older than what they ask for.
        install.add_mallocs(packaged.map_or_else(BTreeMap::new, |install| install.mallocs));
        install.add_mallocs(host_mallocs());
        Ok(install)
    }

    /// Adds those of `candidates` that it has not got and that the loader takes before all others.
    pub fn add_mallocs(&mut self, candidates: BTreeMap<String, PathBuf>) {
        if compiled_in(&self.server).is_some() {
            return;
        }
        for (malloc, library) in candidates {
            let is_wanted = malloc != self.own_malloc && !self.mallocs.contains_key(&malloc);
            if is_wanted && can_preload(&self.server, self.libraries.as_deref(), &library) {
                self.mallocs.insert(malloc, library);
            }
        }
    }

    /// Whether no malloc can be loaded in place of the one that is compiled into it.
    pub fn has_fixed_malloc(&self) -> bool {
        self.own_malloc != "glibc" && self.mallocs.is_empty()
    }

    /// What every run of its binary has in its environment.
    pub(crate) fn library_environment(&self) -> Option<(&'static str, &Path)> {
        library_environment(self.libraries.as_deref())
    }

    /// Bytes on disk of a fetched server; 0 of a server of the host.
    pub fn bytes(&self) -> u64 {
        match self.packages.is_empty() {
            true => 0,
            false => self.folder().map_or(0, folder_bytes),
        }
    }

    /// The folder of a fetched server: `basedir` is FOLDER/prefix/usr.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.basedir.ancestors().nth(2)
    }

    /// A short name that stands for exactly this server, fit for a file name.
    pub(crate) fn identity(&self) -> String {
        let packages = self.packages.values().next().is_some();
        let name = if packages {
            self.name.clone()
        } else {
            "path".to_owned()
        };
        file_name(&format!("{name}-{}", self.version_string))
    }
}

/// Where a server is in the folder it was installed in, or in an image's root.
const PLACES: [&str; 13] = [
    "sbin",
    "bin",
    "libexec",
    "sql",
    "runtime_output_directory",
    "",
    "usr/sbin",
    "usr/bin",
    "usr/libexec",
    "usr/local/sbin",
    "usr/local/bin",
    "usr/local/mysql/bin",
    "opt/mysql/bin",
];

/// The server in a folder: in one that it was installed or built in, the root of an image, or the only folder of an unpacked tarball.
pub(crate) fn binary_in(folder: &Path) -> Result<PathBuf> {
    let names = ["mariadbd", "mysqld"];
    let mut candidates = PLACES
        .iter()
        .flat_map(|place| names.iter().map(move |name| folder.join(place).join(name)));
    if let Some(found) = candidates.find(|candidate| candidate.is_file()) {
        return Ok(found);
    }
    match only_folder(folder) {
        Some(inside) => binary_in(&inside),
        None => bail!(folder_instead(folder)),
    }
}

/// The folder that is all that `folder` has.
fn only_folder(folder: &Path) -> Option<PathBuf> {
    let mut entries = std::fs::read_dir(folder).ok()?.flatten();
    let (only, none) = (entries.next()?, entries.next());
    let is_folder = none.is_none() && only.file_type().is_ok_and(|kind| kind.is_dir());
    is_folder.then(|| only.path())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use niagara_error::Explain as _;

    use super::*;

    #[test]
    fn what_is_no_server_is_told_with_its_cause_and_then_the_remedy() {
        let folder = tempfile::tempdir().expect("a folder");
        let program = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("written");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
            path
        };
        let silent = program("silent", "exit 3");
        let other = program("other", "echo tool 1.0; echo no such option >&2; exit 1");
        for (path, cause) in [
            (silent, "wrote nothing (exit status: 3)"),
            (other, "wrote:\ntool 1.0\nno such option"),
            (folder.path().join("none"), "No such file or directory"),
        ] {
            let error = Install::from_path(&path)
                .expect_err("no server")
                .explain()
                .to_string();
            let (before, remedy) = error.split_once("\nremedy: ").expect("a remedy");
            assert!(before.contains(&path.display().to_string()), "{error}");
            assert!(before.contains(cause), "{error}");
            assert!(
                remedy.ends_with("the folder it was installed in"),
                "{error}"
            );
        }
    }
}
