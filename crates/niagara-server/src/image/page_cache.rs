//! A folder's files out of the kernel's page cache, without any right that others lack.

use std::fs::{self, File};
use std::path::Path;

use anyhow::{Context, Result};
use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};

/// Writes the files below `folder` to the disk and tells the kernel that their pages will not be needed
/// (`POSIX_FADV_DONTNEED`): it drops those that nobody else has open. Other files stay cached: for those the whole page
/// cache would have to be dropped, which is the system's.
///
/// # Errors
/// A file that cannot be opened or written.
pub fn drop_cached(folder: &Path) -> Result<()> {
    let entries = fs::read_dir(folder)
        .with_context(|| format!("cannot read the folder {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        let kind = fs::symlink_metadata(&path)?.file_type();
        if kind.is_dir() {
            drop_cached(&path)?;
        } else if kind.is_file() {
            let file =
                File::open(&path).with_context(|| format!("cannot open {}", path.display()))?;
            // Pages that are not on the disk yet would stay.
            file.sync_all()
                .with_context(|| format!("cannot write {} to the disk", path.display()))?;
            posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)
                .with_context(|| format!("cannot drop {} from the page cache", path.display()))?;
        }
    }
    Ok(())
}
