//! Packages unpacked under one prefix.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// What no server needs at run time.
const UNNEEDED: &[&str] = &[
    "usr/share/doc",
    "usr/share/man",
    "usr/share/locale",
    "usr/share/lintian",
    "usr/share/bug",
];

/// Package and version from a downloaded file's name: `mariadb-server-core_1%3a10.11.19-0_amd64.deb`.
pub(crate) fn package_and_version(deb: &Path) -> Option<(String, String)> {
    let mut fields = deb.file_stem()?.to_str()?.split('_');
    let (package, version) = (fields.next()?, fields.next()?);
    Some((
        package.to_owned(),
        version
            .replace("%3a", ":")
            .replace("%7e", "~")
            .replace("%2b", "+"),
    ))
}

/// Unpacks packages under `prefix` and makes it stand on its own: one `usr`, links that stay inside.
pub(crate) fn unpack(debs: &[PathBuf], prefix: &Path) -> Result<()> {
    for deb in debs {
        extract(deb, prefix)?;
    }
    for folder in UNNEEDED {
        let _ = fs::remove_dir_all(prefix.join(folder));
    }
    // Releases differ in whether packages ship /lib or /usr/lib; everything is put where newer ones have it.
    for folder in ["lib", "lib64", "bin", "sbin"] {
        let (old, new) = (prefix.join(folder), prefix.join("usr").join(folder));
        if old.is_dir() && !old.is_symlink() {
            merge(&old, &new)?;
            fs::remove_dir(&old)?;
        }
        if new.is_dir() && !old.exists() {
            symlink(Path::new("usr").join(folder), &old)?;
        }
    }
    keep_links_inside(prefix, prefix)
}

fn extract(deb: &Path, folder: &Path) -> Result<()> {
    let output = Command::new("dpkg-deb")
        .arg("-x")
        .args([deb, folder])
        .output()
        .context("cannot run dpkg-deb; remedy: install the package dpkg")?;
    if !output.status.success() {
        bail!(
            "cannot unpack {}: {}",
            deb.display(),
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(())
}

/// Unpacks a package under `folder` and leaves it as it is: files that are read, not run.
pub(crate) fn unpack_as_it_is(deb: &Path, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    extract(deb, folder)
}

/// Moves everything in `from` into `to`, folder by folder.
pub(crate) fn merge(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            merge(&entry.path(), &target)?;
            fs::remove_dir(entry.path())?;
        } else {
            fs::rename(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Absolute links (`/lib/…`) would leave the prefix for the host's own files: made relative.
fn keep_links_inside(folder: &Path, prefix: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let kind = entry.file_type()?;
        if kind.is_dir() {
            keep_links_inside(&path, prefix)?;
        } else if kind.is_symlink() {
            let target = fs::read_link(&path)?;
            if let Ok(inside) = target.strip_prefix("/") {
                // `folder` has no `..` and lies under `prefix`, by construction of the walk.
                let depth = folder
                    .strip_prefix(prefix)?
                    .components()
                    .filter(|c| matches!(c, Component::Normal(_)))
                    .count();
                let mut relative: PathBuf = std::iter::repeat_n("..", depth).collect();
                relative.push(inside);
                fs::remove_file(&path)?;
                symlink(relative, &path)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_in_the_file_name() {
        let (package, version) = package_and_version(Path::new(
            "a/mariadb-server-core_1%3a10.11.19-0+deb12u1_amd64.deb",
        ))
        .expect("a package");
        assert_eq!(
            (package.as_str(), version.as_str()),
            ("mariadb-server-core", "1:10.11.19-0+deb12u1")
        );
    }
}
