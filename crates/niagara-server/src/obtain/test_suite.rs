//! A server's own regression tests, fetched from the server's archive in the server's version.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::cache::{Cache, WorkFolder, write_private};
use crate::family::Version;
use crate::file_name::file_name;
use crate::obtain::archive::{Apt, package_and_version, unpack};
use crate::obtain::catalog::{ServerDescription, SuitePackages};
use crate::obtain::patchelf::Patchelf;

const MANIFEST: &str = "suite.json";

/// A server's regression tests with the programs that they call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suite {
    /// The folder with `bin` and `share`.
    pub basedir: PathBuf,
    /// The runner's script.
    pub runner: PathBuf,
    /// The version the tests were written for.
    pub version: Version,
}

/// Fetches the tests of this version of a server, or returns those fetched before; none of that version, the newest. None
/// when the catalogue names no tests for the server.
///
/// # Errors
/// The archive cannot be read, or holds no such packages.
pub fn get_suite(
    cache: &Cache,
    description: &ServerDescription,
    version: Version,
    progress: &mut dyn FnMut(&str),
) -> Result<Option<Suite>> {
    let Some(packages) = &description.suite else {
        return Ok(None);
    };
    let folder = cache.root().join("suites");
    let destination = folder.join(file_name(&format!("{}-{version}", description.name)));
    if let Some(suite) = finished(&destination) {
        return Ok(Some(suite));
    }
    let _lock = cache.lock(&format!("suite-{}", description.name), &mut || {
        progress("waiting: somebody else fetches these tests");
    })?;
    if let Some(suite) = finished(&destination) {
        return Ok(Some(suite));
    }
    let work = WorkFolder::beside(&folder, "suite")?;
    let suite = fetch(
        description,
        packages,
        version,
        &work,
        &destination,
        progress,
    )?;
    write_private(
        &work.path().join(MANIFEST),
        &serde_json::to_vec_pretty(&suite)?,
    )?;
    if destination.exists() {
        fs::remove_dir_all(&destination)?;
    }
    work.rename(&destination)?;
    Ok(Some(suite))
}

/// Fetches the tests into `work`, as they will be once that has become `destination`.
fn fetch(
    description: &ServerDescription,
    packages: &SuitePackages,
    version: Version,
    work: &WorkFolder,
    destination: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<Suite> {
    progress(&format!(
        "reading the package lists for the tests of {}",
        description.name
    ));
    let apt = Apt::open(&work.path().join("apt"), &description.archive)?;
    let chosen = choose_version(&apt, description, packages, version)?;
    progress(&format!(
        "downloading the tests of {} {chosen}",
        description.name
    ));
    let wanted: Vec<String> = packages
        .packages
        .iter()
        .map(|package| format!("{package}={chosen}"))
        .collect();
    let debs = apt.download(&wanted.iter().map(String::as_str).collect::<Vec<_>>())?;
    // What the programs link against comes along; a system that dependencies would make of it does not.
    let kept: Vec<PathBuf> = debs
        .into_iter()
        .filter(|deb| {
            package_and_version(deb).is_some_and(|(name, _)| {
                packages.packages.contains(&name)
                    || (name.starts_with("lib") && !name.ends_with("-perl"))
                    || name.starts_with("gcc-")
            })
        })
        .collect();
    progress(&format!("unpacking {} packages", kept.len()));
    let prefix = work.path().join("prefix");
    fs::create_dir(&prefix)?;
    unpack(&kept, &prefix)?;
    // Plugins belong to the packaged server: another build must not load them.
    let _ = fs::remove_dir_all(prefix.join("usr/lib/mysql/plugin"));
    let final_prefix = destination.join("prefix");
    let patchelf = Patchelf::find(&apt, &work.path().join("patchelf"))?;
    patch_programs(&patchelf, packages, &prefix, &final_prefix)?;
    for folder in ["apt", "patchelf"] {
        let _ = fs::remove_dir_all(work.path().join(folder));
    }
    Ok(Suite {
        basedir: final_prefix.join("usr"),
        runner: final_prefix.join(&packages.runner),
        version: upstream(&chosen).unwrap_or(version),
    })
}

/// The packages' version for this version of the server, else the newest.
fn choose_version(
    apt: &Apt,
    description: &ServerDescription,
    packages: &SuitePackages,
    version: Version,
) -> Result<String> {
    let first = packages.packages.first().with_context(|| {
        format!(
            "data/servers/{}.toml: [suite] names no packages",
            description.name
        )
    })?;
    let versions = apt.versions(first)?;
    let is_ours = |text: &&String| upstream(text).is_some_and(|found| found == version);
    let chosen = versions.iter().find(is_ours).or(versions.first());
    chosen.cloned().with_context(|| {
        format!(
            "the archive of {} holds no package {first}",
            description.name
        )
    })
}

/// Makes the suite's own programs use the libraries of their prefix.
fn patch_programs(
    patchelf: &Patchelf,
    packages: &SuitePackages,
    prefix: &Path,
    final_prefix: &Path,
) -> Result<()> {
    let runner = prefix.join(&packages.runner);
    if !runner.is_file() {
        bail!(
            "the packages {} hold no {}",
            packages.packages.join(", "),
            packages.runner.display()
        );
    }
    let tests = runner.parent().unwrap_or(prefix);
    for folder in [
        prefix.join("usr/bin"),
        // What watches the servers lies beside the tests: here in MariaDB's packages, there in MySQL's.
        tests.join("lib/My/SafeProcess"),
        tests.join("bin"),
    ] {
        for program in programs(&folder)? {
            patchelf.patch(&program, prefix, final_prefix)?;
        }
    }
    Ok(())
}

fn finished(folder: &Path) -> Option<Suite> {
    let text = fs::read(folder.join(MANIFEST)).ok()?;
    let suite: Suite = serde_json::from_slice(&text).ok()?;
    // The programs know their place: a cache that was moved holds none that run.
    (suite.runner.starts_with(folder) && suite.runner.is_file()).then_some(suite)
}

/// 10.11.18 of `1:10.11.18-0+deb12u1`.
fn upstream(text: &str) -> Option<Version> {
    let version = text.split_once(':').map_or(text, |(_, rest)| rest);
    version.split(['-', '+', '~']).next()?.parse().ok()
}

/// The dynamically linked programs in a folder.
fn programs(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            let mut magic = [0; 4];
            let read = File::open(entry.path())?.read_exact(&mut magic);
            if read.is_ok() && magic == *b"\x7fELF" {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_upstream_version_is_in_the_package_version() {
        let upstream = |text: &str| upstream(text).map(|version| version.to_string());
        assert_eq!(
            upstream("1:10.11.18-0+deb12u1").as_deref(),
            Some("10.11.18")
        );
        assert_eq!(upstream("9.7.4-2").as_deref(), Some("9.7.4"));
        assert_eq!(upstream("unknown"), None);
    }
}
