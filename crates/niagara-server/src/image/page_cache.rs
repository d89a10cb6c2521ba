//! Files out of the kernel's page cache, without any right that others lack.

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::Path;

use anyhow::{Context, Result};
use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};

/// Bytes of one read.
const READ: usize = 128 << 10;

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
            drop_pages(&file)
                .with_context(|| format!("cannot drop {} from the page cache", path.display()))?;
        }
    }
    Ok(())
}

/// Has the kernel read a program's file anew, from its beginning to its end. How a file came into the page cache decides how its pages
/// lie in memory, for as long as they are cached: what a package manager wrote lay in blocks of up to 20 MB, what `cp` wrote in
/// blocks of 64 KB, what was read page by page as the program ran in single pages (Linux 6.18, ext4), and a processor
/// that finds its code in fewer pieces is faster. Read in order, two files lie alike. A program that runs keeps its pages, and so
/// does a file that may be run but not read: neither is an error.
pub fn read_anew(program: &Path) {
    if let Ok(file) = File::open(program) {
        // Pages that are not on the disk yet would stay.
        let _ = file.sync_data();
        let _ = drop_pages(&file);
        let _ = io::copy(&mut BufReader::with_capacity(READ, file), &mut io::sink());
    }
}

fn drop_pages(file: &File) -> nix::Result<()> {
    posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)
}
