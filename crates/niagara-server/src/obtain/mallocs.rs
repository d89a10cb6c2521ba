//! Memory allocators of this machine's own release: for servers that run by its C library, as builds do. Those that come with
//! a newer release's server want a newer one.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::archive::{Apt, host_release, unpack};
use super::catalog::{Catalog, MallocPackage, ServerDescription};
use super::patchelf::{library_folders, library_in};
use crate::cache::{Cache, WorkFolder};

/// The memory allocators of the release that this machine runs, by name, fetched where they are not here: the packages that
/// the catalogue names for a server of the same release. None where no server of the catalogue is of it.
///
/// # Errors
/// The archive cannot be read, or has no such package.
pub fn mallocs_of_this_release(
    cache: &Cache,
    catalog: &Catalog,
    progress: &mut dyn FnMut(&str),
) -> Result<BTreeMap<String, PathBuf>> {
    let release = host_release();
    let Some(described) = of_release(catalog, &release) else {
        return Ok(BTreeMap::new());
    };
    let folder = cache.root().join("mallocs").join(&release);
    if let Some(found) = found_in(&folder, &described.mallocs)? {
        return Ok(found);
    }
    let _lock = cache.lock("mallocs", &mut || {
        progress("waiting: somebody else fetches memory allocators");
    })?;
    if let Some(found) = found_in(&folder, &described.mallocs)? {
        return Ok(found);
    }
    progress(&format!(
        "fetching memory allocators of this machine's release, {release}"
    ));
    fetch(cache, described, &folder)?;
    Ok(found_in(&folder, &described.mallocs)?.unwrap_or_default())
}

/// The first server of the catalogue that is of this release and has memory allocators.
fn of_release<'a>(catalog: &'a Catalog, release: &str) -> Option<&'a ServerDescription> {
    catalog.iter().find(|server| {
        !server.mallocs.is_empty() && server.archive.suites.iter().any(|suite| suite == release)
    })
}

/// All of these libraries, where all are under `folder`.
fn found_in(
    folder: &Path,
    mallocs: &BTreeMap<String, MallocPackage>,
) -> Result<Option<BTreeMap<String, PathBuf>>> {
    if !folder.is_dir() {
        return Ok(None);
    }
    let folders = library_folders(folder)?;
    let found = mallocs.iter().map(|(name, malloc)| {
        let path = library_in(&folders, &malloc.library)?;
        Some((name.clone(), path))
    });
    Ok(found.collect())
}

/// Unpacks the packages, without what they depend on, in `folder`: that is the C library and C++'s, which the machine has.
fn fetch(cache: &Cache, described: &ServerDescription, folder: &Path) -> Result<()> {
    let parent = cache.root().join("mallocs");
    let work = WorkFolder::beside(&parent, "mallocs")?;
    let apt_folder = work.path().join("apt");
    let apt = Apt::open(&apt_folder, &described.archive)?;
    for malloc in described.mallocs.values() {
        let deb = apt.download_alone(&malloc.package)?;
        unpack(&[deb], work.path())?;
    }
    fs::remove_dir_all(&apt_folder)?;
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    work.rename(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_has_the_mallocs_of_its_own_server() {
        let catalog = Catalog::load(&[]).expect("valid files");
        let server = |release: &str| of_release(&catalog, release).map(|it| it.name.as_str());
        assert_eq!(server("bookworm"), Some("mariadb-10.11"));
        assert_eq!(server("trixie"), Some("mariadb-11.8"));
        assert_eq!(server("noble"), None);
    }

    #[test]
    fn all_of_them_are_found_or_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let catalog = Catalog::load(&[]).expect("valid files");
        let mallocs = &catalog.get("mariadb-10.11").expect("known").mallocs;
        let none = found_in(&folder.path().join("none"), mallocs);
        assert_eq!(none.expect("no error"), None);
        let library = folder.path().join("usr/lib/x86_64-linux-gnu");
        fs::create_dir_all(&library).expect("made");
        for malloc in mallocs.values() {
            let found = found_in(folder.path(), mallocs).expect("no error");
            assert_eq!(found, None);
            fs::write(library.join(&malloc.library), "").expect("written");
        }
        let found = found_in(folder.path(), mallocs).expect("no error");
        let names = found.expect("all there").into_keys();
        assert!(names.eq(mallocs.keys().cloned()));
    }
}
