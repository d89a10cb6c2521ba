//! Folders that workers need (servers, builds, dataset images): packed once into the shared folder, named by what they
//! contain, and unpacked once on each node's own disk, at the same path: a server's files know where they lie.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A folder that stands packed in the shared folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Content {
    /// Where it belongs, below the cache.
    pub path: String,
    /// SHA-256 of the archive, in hexadecimal: its name.
    pub sha256: String,
}

impl Content {
    fn archive(&self, folder: &Path) -> PathBuf {
        folder.join("content").join(format!("{}.tar", self.sha256))
    }

    /// Says on a node's disk that this very content is in place.
    fn mark(&self, cache: &Path) -> PathBuf {
        cache.join("staged").join(&self.sha256)
    }
}

/// Packs `path` (below `cache`) into the shared folder.
///
/// # Errors
/// `tar` fails; a folder that is full.
pub fn publish(folder: &Path, cache: &Path, path: &str) -> Result<Content> {
    let place = folder.join("content");
    fs::create_dir_all(&place)
        .with_context(|| format!("cannot make the folder {}", place.display()))?;
    // Several hosts publish here, and processes of two of them may have the same number.
    let part = place.join(format!(".part-{}-{}", crate::host(), std::process::id()));
    // Equal content is to give equal archives: names in order, no owners, no times.
    let packed = run(Command::new("tar")
        .args(["--create", "--sparse", "--sort=name"])
        .args([
            "--owner=0",
            "--group=0",
            "--numeric-owner",
            "--mtime=@0",
            "--file",
        ])
        .arg(&part)
        .arg("--directory")
        .arg(cache)
        .arg(path));
    let named = packed.and_then(|()| {
        let content = Content {
            path: path.to_owned(),
            sha256: sha256(&part)?,
        };
        File::open(&part)?.sync_all()?;
        fs::rename(&part, content.archive(folder))?;
        Ok(content)
    });
    if named.is_err() {
        let _ = fs::remove_file(&part);
    }
    let content = named.with_context(|| {
        format!(
            "cannot pack {} into {}",
            cache.join(path).display(),
            place.display()
        )
    })?;
    // It is in place here, where it comes from.
    let mark = content.mark(cache);
    fs::create_dir_all(cache.join("staged")).and_then(|()| fs::write(&mark, path))?;
    Ok(content)
}

/// Has `content` in place below this node's `cache`; whether it was copied just now.
///
/// # Errors
/// An archive that is not what its name says; a disk that is full or cannot be written.
pub fn stage(folder: &Path, cache: &Path, content: &Content) -> Result<bool> {
    let (target, mark) = (cache.join(&content.path), content.mark(cache));
    if mark.exists() && target.exists() {
        return Ok(false);
    }
    let stage = || -> Result<()> {
        let staged = cache.join("staged");
        fs::create_dir_all(&staged)?;
        let part = staged.join(format!(".part-{}-{}", std::process::id(), content.sha256));
        fs::create_dir_all(&part)?;
        let unpacked = unpack(folder, content, &part).and_then(|()| {
            let from = part.join(&content.path);
            if let Some(parent) = target.parent() {
                fs::create_dir_all(parent)?;
            }
            if target.exists() {
                fs::remove_dir_all(&target)?;
            }
            fs::rename(&from, &target)?;
            fs::write(&mark, &content.path)?;
            Ok(())
        });
        let _ = fs::remove_dir_all(&part);
        unpacked
    };
    stage().with_context(|| {
        format!(
            "cannot copy {} to this node's disk, {}",
            content.archive(folder).display(),
            target.display()
        )
    })?;
    Ok(true)
}

fn unpack(folder: &Path, content: &Content, part: &Path) -> Result<()> {
    let archive = content.archive(folder);
    let found = sha256(&archive)?;
    if found != content.sha256 {
        bail!("{} is damaged: its SHA-256 is {found}", archive.display());
    }
    run(Command::new("tar")
        .args(["--extract", "--file"])
        .arg(&archive)
        .arg("--directory")
        .arg(part))
}

fn run(command: &mut Command) -> Result<()> {
    let output = command.output().context("cannot run `tar`")?;
    if !output.status.success() {
        bail!("`tar`: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

/// SHA-256 of a file, in hexadecimal.
///
/// # Errors
/// It cannot be read.
pub fn sha256(path: &Path) -> Result<String> {
    let read = || -> std::io::Result<String> {
        let mut file = File::open(path)?;
        let mut digest = Sha256::new();
        let mut block = vec![0; 1 << 20];
        loop {
            let length = file.read(&mut block)?;
            if length == 0 {
                break;
            }
            digest.update(&block[..length]);
        }
        let bytes = digest.finalize();
        Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    };
    read().with_context(|| format!("cannot read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_copied_once_and_by_what_it_contains() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let (shared, here, there) = (
            place.path().join("shared"),
            place.path().join("here"),
            place.path().join("there"),
        );
        let image = here.join("images/a");
        fs::create_dir_all(image.join("data")).expect("made");
        fs::create_dir_all(&there).expect("made");
        fs::write(image.join("data/table"), "rows").expect("written");
        fs::create_dir_all(&shared).expect("made");
        let content = publish(&shared, &here, "images/a").expect("packed");
        assert_eq!(content, publish(&shared, &here, "images/a").expect("again"));
        assert!(!stage(&shared, &here, &content).expect("in place"));
        assert!(stage(&shared, &there, &content).expect("copied"));
        assert!(!stage(&shared, &there, &content).expect("in place"));
        let copied = fs::read_to_string(there.join("images/a/data/table"));
        assert_eq!(copied.expect("there"), "rows");
        // Another content of the same path takes its place.
        fs::write(image.join("data/table"), "more rows").expect("written");
        let other = publish(&shared, &here, "images/a").expect("packed");
        assert_ne!(other, content);
        assert!(stage(&shared, &there, &other).expect("copied"));
        let copied = fs::read_to_string(there.join("images/a/data/table"));
        assert_eq!(copied.expect("there"), "more rows");
        // A damaged archive is not taken.
        fs::write(content.archive(&shared), "?").expect("written");
        fs::remove_dir_all(there.join("staged")).expect("there");
        let error = stage(&shared, &there, &content).expect_err("damaged");
        assert!(format!("{error:#}").contains("damaged"), "{error:#}");
    }
}
