//! Servers fetched from an archive, and those that were fetched before.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::archive::{Apt, package_and_version, unpack};
use super::catalog::ServerDescription;
use super::patchelf::{Patchelf, library_folders, library_in};
use crate::cache::{Cache, WorkFolder, write_private};
use crate::file_name::file_name;
use crate::install::Install;
use crate::install::mallocs::own_malloc;
use crate::install::version::ask_version;

/// The record of a finished install; a folder without it is never used.
pub(crate) const MANIFEST: &str = "install.json";

/// Fetches a server, or returns the one fetched before. To fetch a newer version, [`remove`](crate::remove) the old one first.
pub fn get(
    cache: &Cache,
    description: &ServerDescription,
    progress: &mut dyn FnMut(&str),
) -> Result<Install> {
    if let Some(install) = find(cache, &description.name)? {
        return Ok(install);
    }
    let _lock = cache.lock(&format!("server-{}", description.name), &mut || {
        progress(&format!(
            "waiting: somebody else fetches {}",
            description.name
        ));
    })?;
    if let Some(install) = find(cache, &description.name)? {
        return Ok(install);
    }
    fetch(cache, description, progress)
        .with_context(|| format!("cannot fetch {} ({})", description.name, description.title))
}

fn fetch(
    cache: &Cache,
    description: &ServerDescription,
    progress: &mut dyn FnMut(&str),
) -> Result<Install> {
    let work = WorkFolder::beside(&cache.servers(), &description.name)?;
    progress(&format!(
        "reading the package lists of {}",
        description.archive.suites.join(", ")
    ));
    let apt = Apt::open(&work.path().join("apt"), &description.archive)?;

    let debs = download(&apt, description, progress)?;
    let packages: BTreeMap<String, String> = debs
        .iter()
        .filter_map(|deb| package_and_version(deb))
        .collect();
    let prefix = work.path().join("prefix");
    unpack_kept(&debs, description, &prefix)?;

    progress("making it use its own libraries");
    let version = packages
        .get(&description.packages[0])
        .map_or("unknown", String::as_str);
    let destination = cache
        .servers()
        .join(file_name(&format!("{}-{version}", description.name)));
    let final_prefix = destination.join("prefix");
    let patchelf = Patchelf::find(&apt, &work.path().join("patchelf"))?;
    for binary in std::iter::once(&description.server).chain(&description.tools) {
        let binary = prefix.join(binary);
        if !binary.is_file() {
            bail!(
                "the packages {} hold no {}",
                description.packages.join(", "),
                binary.display()
            );
        }
        patchelf.patch(&binary, &prefix, &final_prefix)?;
    }
    for folder in ["apt", "patchelf"] {
        let _ = fs::remove_dir_all(work.path().join(folder));
    }

    // The binaries know their final place only, so the folder is moved before the server is asked for its version;
    // the manifest, written last, is what makes it an install.
    if destination.exists() {
        fs::remove_dir_all(&destination)?;
    }
    let own_malloc = own_malloc(&prefix.join(&description.server));
    work.rename(&destination)?;
    let install = finish(description, &destination, own_malloc, packages).inspect_err(|_| {
        let _ = fs::remove_dir_all(&destination);
    })?;
    progress(&format!(
        "{} {} is ready",
        install.family, install.version_string
    ));
    Ok(install)
}

/// The server's packages, its mallocs', and what they need.
fn download(
    apt: &Apt,
    description: &ServerDescription,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<PathBuf>> {
    progress(&format!(
        "downloading {} and what it needs",
        description.packages.join(", ")
    ));
    let mut wanted: Vec<&str> = description.packages.iter().map(String::as_str).collect();
    wanted.extend(
        description
            .mallocs
            .values()
            .map(|malloc| malloc.package.as_str()),
    );
    let debs = apt.download(&wanted)?;
    let bytes: u64 = debs
        .iter()
        .filter_map(|deb| deb.metadata().ok())
        .map(|m| m.len())
        .sum();
    progress(&format!(
        "unpacking {} packages, {:.0} MB",
        debs.len(),
        bytes as f64 / 1e6
    ));
    Ok(debs)
}

/// Unpacks the packages under `prefix`, those left out that the description skips.
fn unpack_kept(debs: &[PathBuf], description: &ServerDescription, prefix: &Path) -> Result<()> {
    let kept: Vec<PathBuf> = debs
        .iter()
        .filter(|deb| {
            package_and_version(deb).is_none_or(|(package, _)| !description.skip.contains(&package))
        })
        .cloned()
        .collect();
    fs::create_dir(prefix)?;
    unpack(&kept, prefix)
}

/// Makes what is in `destination` an install: a server of the version that was asked for.
fn finish(
    description: &ServerDescription,
    destination: &Path,
    own_malloc: String,
    packages: BTreeMap<String, String>,
) -> Result<Install> {
    let prefix = destination.join("prefix");
    let server = prefix.join(&description.server);
    let printed = ask_version(&server)?;
    if printed.version.series() != description.series {
        bail!(
            "the archive holds version {}, not {}",
            printed.text,
            description.series
        );
    }
    let install = Install {
        name: description.name.clone(),
        family: description.family,
        version: printed.version,
        version_string: printed.text,
        basedir: prefix.join("usr"),
        mallocs: prefix_mallocs(description, &prefix)?,
        own_malloc,
        server,
        packages,
        plugins: Vec::new(),
        libraries: None,
    };
    let manifest = serde_json::to_vec_pretty(&install)?;
    write_private(&destination.join(MANIFEST), &manifest)?;
    Ok(install)
}

/// The mallocs' libraries inside the prefix, glibc's own among them.
fn prefix_mallocs(
    description: &ServerDescription,
    prefix: &Path,
) -> Result<BTreeMap<String, PathBuf>> {
    let folders = library_folders(prefix)?;
    let find = |library: &str| library_in(&folders, library);
    let mut found = BTreeMap::new();
    for (name, malloc) in &description.mallocs {
        let path = find(&malloc.library).with_context(|| {
            format!("the package {} holds no {}", malloc.package, malloc.library)
        })?;
        found.insert(name.clone(), path);
    }
    if let Some(libc) = find("libc.so.6") {
        found.insert("glibc".to_owned(), libc);
    }
    Ok(found)
}

/// The servers that were fetched, by name and version.
pub fn installed(cache: &Cache) -> Result<Vec<Install>> {
    let Ok(entries) = fs::read_dir(cache.servers()) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for entry in entries {
        let folder = entry?.path();
        let Ok(text) = fs::read_to_string(folder.join(MANIFEST)) else {
            continue;
        };
        // A manifest of an older format, or of a cache that was moved (the binaries know their place), is no install.
        match serde_json::from_str::<Install>(&text) {
            Ok(install) if install.basedir.starts_with(&folder) && install.server.is_file() => {
                found.push(install)
            }
            _ => {}
        }
    }
    found.sort_by(|a, b| (&a.name, a.version).cmp(&(&b.name, b.version)));
    Ok(found)
}

fn find(cache: &Cache, name: &str) -> Result<Option<Install>> {
    Ok(installed(cache)?
        .into_iter()
        .rfind(|install| install.name == name))
}
