//! Data known by their content without reading all of it.
//!
//! 100 GB are read once, to be copied, and not a second time to be recognised. What stands for the content is the list of
//! files with size, time of the last change and inode, and samples of the bytes: the first and last block of every file
//! of a data directory, blocks spread over a dump. A data directory that a server wrote to in between differs in its
//! redo log's first block, which holds the last checkpoint, even where a tool has put the times back; a dump that was
//! made again has other times and another inode. Copying a folder makes it another one: its image is made again, which
//! costs time and is never wrong.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use niagara_error::Remedy as _;
use sha2::{Digest, Sha256};

/// Bytes of a sample.
const BLOCK: u64 = 4096;
/// Samples of a file that stands alone.
const SPREAD: u64 = 64;

/// What stands for the content of a file or folder, in hexadecimal digits.
///
/// # Errors
/// Something that cannot be read.
pub(crate) fn content_digest(path: &Path) -> Result<String> {
    let mut digest = Sha256::new();
    let metadata = fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
    if metadata.is_dir() {
        for (file, metadata) in files_below(path)? {
            let name = file.strip_prefix(path).unwrap_or(&file);
            add(&mut digest, name, &metadata);
            let last = metadata.len().saturating_sub(BLOCK);
            sample(&mut digest, &file, [0, last].into_iter())?;
        }
    } else {
        add(&mut digest, Path::new(""), &metadata);
        let step = (metadata.len() / SPREAD).max(BLOCK);
        let samples = (0..metadata.len()).step_by(step as usize);
        sample(&mut digest, path, samples)?;
    }
    Ok(hex::encode(&digest.finalize()[..16]))
}

/// The files below a folder with what is known of them, in the order of their paths.
pub(crate) fn files_below(folder: &Path) -> Result<Vec<(PathBuf, Metadata)>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder)
            .with_context(|| format!("cannot read the folder {}", folder.display()))
            .remedy("run this as a user who may, or on a copy that belongs to you")?;
        for entry in entries {
            let entry = entry?;
            let metadata = entry.metadata()?;
            if metadata.is_dir() {
                folders.push(entry.path());
            } else {
                files.push((entry.path(), metadata));
            }
        }
    }
    files.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(files)
}

fn add(digest: &mut Sha256, name: &Path, metadata: &Metadata) {
    digest.update(format!(
        "{}\0{} {} {} {}\n",
        name.display(),
        metadata.len(),
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.ino()
    ));
}

fn sample(digest: &mut Sha256, path: &Path, at: impl Iterator<Item = u64>) -> Result<()> {
    let read = || -> io::Result<()> {
        // A socket or a link to nowhere is known by its name.
        if !fs::symlink_metadata(path)?.is_file() {
            return Ok(());
        }
        let file = File::open(path)?;
        let mut block = [0; BLOCK as usize];
        for at in at {
            let count = file.read_at(&mut block, at)?;
            digest.update(&block[..count]);
        }
        Ok(())
    };
    read()
        .with_context(|| format!("cannot read {}", path.display()))
        .remedy("run this as a user who may, or on a copy that belongs to you")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_told_apart_without_reading_all() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("ib_logfile0");
        fs::write(&path, vec![1; 1 << 20])?;
        let times = fs::metadata(&path)?.modified()?;
        let before = (content_digest(folder.path())?, content_digest(&path)?);
        assert_eq!(before.0, content_digest(folder.path())?);
        // The same times, another checkpoint.
        let file = fs::OpenOptions::new().write(true).open(&path)?;
        file.write_all_at(b"checkpoint", 600)?;
        file.set_modified(times)?;
        drop(file);
        assert_ne!(before.0, content_digest(folder.path())?);
        assert_ne!(before.1, content_digest(&path)?);
        Ok(())
    }
}
