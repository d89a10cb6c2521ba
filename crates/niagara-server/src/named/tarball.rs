//! Tarballs of servers, unpacked once into the cache.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use niagara_error::{Explain as _, Remedy as _, bail};
use sha2::{Digest, Sha256};

use crate::cache::{Cache, WorkFolder};
use crate::file_name::file_name;
use crate::install::binary_in;

/// What no server needs at run time and takes most of the room: tests, debug builds, libraries to link with.
const LEFT_OUT: [&str; 5] = [
    "*/mysql-test",
    "*/mariadb-test",
    "*/mysqld-debug",
    "*/lib/plugin/debug",
    "*/lib/*.a",
];

/// Where in the cache's folder the tarball's own files are.
const FILES: &str = "server";

/// The server in `tarball`, unpacked where that was not done before.
///
/// # Errors
/// It cannot be unpacked, or has no server.
pub(super) fn unpacked(cache: &Cache, tarball: &Path) -> Result<PathBuf> {
    let parent = cache.root().join("unpacked");
    let key = key(tarball)?;
    let folder = parent.join(&key);
    if !folder.is_dir() {
        let _lock = cache.lock(&format!("unpacked-{key}"), &mut || {})?;
        if !folder.is_dir() {
            unpack(tarball, &parent, &folder)?;
        }
    }
    binary_in(&folder.join(FILES))
}

/// The tarball's name, and what tells it from another of that name.
fn key(tarball: &Path) -> Result<String> {
    let found =
        fs::metadata(tarball).with_context(|| format!("cannot read {}", tarball.display()))?;
    let text = format!(
        "{}\n{}\n{}.{}",
        tarball.display(),
        found.len(),
        found.mtime(),
        found.mtime_nsec()
    );
    let hash = hex::encode(&Sha256::digest(text)[..4]);
    let name = tarball.file_name().unwrap_or_default().to_string_lossy();
    let name = name.split(".tar").next().unwrap_or_default();
    Ok(file_name(&format!("{name}-{hash}")))
}

fn unpack(tarball: &Path, parent: &Path, folder: &Path) -> Result<()> {
    let work = WorkFolder::beside(parent, "tarball")?;
    let inside = work.path().join(FILES);
    fs::create_dir(&inside)?;
    let output = Command::new("tar")
        .arg("--extract")
        .arg("--no-same-owner")
        .arg("--file")
        .arg(tarball)
        .arg("--directory")
        .arg(&inside)
        .args(LEFT_OUT.map(|pattern| format!("--exclude={pattern}")))
        .env("LC_ALL", "C")
        .output()
        .context("cannot run tar")
        .remedy("install the package tar, or unpack it and give the folder")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!(
            "cannot unpack {}: {}", tarball.display(), said.lines().next().unwrap_or_default();
            remedy: "tar takes xz-utils for .tar.xz and zstd for .tar.zst; or unpack it yourself, and give the folder"
        );
    }
    // What has no server is not kept.
    binary_in(&inside).map_err(|error| {
        error.explain().with_cause(|cause| {
            let told = cause.replace(&inside.display().to_string(), "it");
            format!("{} has no server: {told}", tarball.display())
        })
    })?;
    work.rename(folder)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A tarball of these files, each in the folder that releases have on top.
    fn tarball(folder: &Path, files: &[&str]) -> PathBuf {
        let top = folder.join("mysql-8.4.6-linux-glibc2.28-x86_64");
        for file in files {
            let path = top.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(&path, "#!/bin/sh\n").expect("written");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
        }
        let tarball = folder.join("mysql-8.4.6-linux-glibc2.28-x86_64.tar.gz");
        let status = Command::new("tar")
            .arg("-czf")
            .arg(&tarball)
            .arg("-C")
            .arg(folder)
            .arg(top.file_name().expect("a name"))
            .status();
        assert!(status.expect("tar runs").success());
        tarball
    }

    #[test]
    fn a_tarball_is_unpacked_once_into_the_cache() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::at(&folder.path().join("cache")).expect("a cache");
        let files = [
            "bin/mysqld",
            "bin/mysql",
            "mysql-test/a.test",
            "bin/mysqld-debug",
        ];
        let tarball = tarball(folder.path(), &files);
        let server = unpacked(&cache, &tarball).expect("unpacked");
        assert!(server.starts_with(cache.root()), "{}", server.display());
        let top = "mysql-8.4.6-linux-glibc2.28-x86_64/bin/mysqld";
        assert!(server.ends_with(top), "{}", server.display());
        let bin = server.parent().expect("a folder");
        assert!(bin.join("mysql").exists() && !bin.join("mysqld-debug").exists());
        fs::write(bin.join("mark"), "").expect("written");
        assert_eq!(unpacked(&cache, &tarball).expect("there"), server);
        assert!(bin.join("mark").exists(), "unpacked again");
    }

    #[test]
    fn a_tarball_of_sources_is_told_as_such() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::at(&folder.path().join("cache")).expect("a cache");
        let tarball = tarball(folder.path(), &["CMakeLists.txt", "sql/mysqld.cc"]);
        let error = unpacked(&cache, &tarball)
            .expect_err("no server")
            .explain()
            .to_string();
        assert!(error.contains("sources"), "{error}");
        assert!(!error.contains("cache"), "{error}");
        let left = fs::read_dir(cache.root().join("unpacked")).expect("a folder");
        assert_eq!(left.count(), 0);
    }
}
