//! Binaries made to use the loader and libraries of their own prefix, so that a newer release's server runs on an older host.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::obtain::archive::{Apt, unpack};

/// A way to run patchelf: the host's, or one fetched and run by its own loader.
#[derive(Debug)]
pub(crate) struct Patchelf {
    command: Vec<PathBuf>,
}

impl Patchelf {
    /// The host's own; none where it has none.
    pub fn of_host() -> Option<Patchelf> {
        let output = Command::new("patchelf").arg("--version").output();
        let is_there = output.is_ok_and(|output| output.status.success());
        is_there.then(|| Patchelf {
            command: vec!["patchelf".into()],
        })
    }

    /// The host's patchelf, else the one of the archive, unpacked in `folder`.
    pub fn find(apt: &Apt, folder: &Path) -> Result<Patchelf> {
        if let Some(host) = Patchelf::of_host() {
            return Ok(host);
        }
        unpack(&apt.download(&["patchelf"])?, folder)?;
        let loader = loader(folder)?;
        let libraries = library_path(&library_folders(folder)?);
        Ok(Patchelf {
            command: vec![
                loader,
                "--library-path".into(),
                libraries.into(),
                folder.join("usr/bin/patchelf"),
            ],
        })
    }

    /// Makes `binary` (in `prefix` now, in `destination` later) use the prefix's loader and libraries.
    pub fn patch(&self, binary: &Path, prefix: &Path, destination: &Path) -> Result<()> {
        let moved =
            |path: &Path| -> Result<PathBuf> { Ok(destination.join(path.strip_prefix(prefix)?)) };
        let folders: Vec<PathBuf> = library_folders(prefix)?
            .iter()
            .map(|folder| moved(folder))
            .collect::<Result<_>>()?;
        let loader = moved(&loader(prefix)?)?;
        let output = Command::new(&self.command[0])
            .args(&self.command[1..])
            .arg("--set-interpreter")
            .arg(loader)
            // DT_RPATH rather than DT_RUNPATH: it also serves the libraries' own dependencies and preloaded mallocs.
            .args(["--force-rpath", "--set-rpath", &library_path(&folders)])
            .arg(binary)
            .output()
            .context("cannot run patchelf")?;
        if !output.status.success() {
            bail!(
                "patchelf on {} failed: {}",
                binary.display(),
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        Ok(())
    }
}

/// The dynamic loader that the prefix's libc brought.
fn loader(prefix: &Path) -> Result<PathBuf> {
    for folder in ["usr/lib64", "usr/lib"] {
        let Ok(entries) = fs::read_dir(prefix.join(folder)) else {
            continue;
        };
        for entry in entries.flatten() {
            if entry.file_name().to_string_lossy().starts_with("ld-linux-") {
                return Ok(entry.path());
            }
        }
    }
    bail!(
        "the packages under {} hold no dynamic loader (ld-linux); is libc6 among them?",
        prefix.display()
    )
}

/// Every folder of the prefix's `usr/lib` that holds shared libraries other than plugins.
pub(crate) fn library_folders(prefix: &Path) -> Result<Vec<PathBuf>> {
    let mut found = BTreeSet::new();
    let mut left = vec![prefix.join("usr/lib"), prefix.join("usr/lib64")];
    while let Some(folder) = left.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type()?.is_dir() {
                let plugins = [
                    "plugin",
                    "gconv",
                    "perl",
                    "perl-base",
                    "engines-3",
                    "ossl-modules",
                ];
                if !plugins.contains(&name.as_str()) {
                    left.push(entry.path());
                }
            } else if name.starts_with("lib") && name.contains(".so") {
                found.insert(folder.clone());
            }
        }
    }
    Ok(found.into_iter().collect())
}

/// The library of this name in the first of the folders that has it.
pub(crate) fn library_in(folders: &[PathBuf], name: &str) -> Option<PathBuf> {
    let mut paths = folders.iter().map(|folder| folder.join(name));
    paths.find(|path| path.is_file())
}

fn library_path(folders: &[PathBuf]) -> String {
    let folders: Vec<String> = folders
        .iter()
        .map(|folder| folder.display().to_string())
        .collect();
    folders.join(":")
}
