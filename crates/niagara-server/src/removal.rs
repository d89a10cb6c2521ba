//! Fetched servers removed, together with the dataset images that they made.

use std::fs;

use anyhow::{Context, Result};

use crate::cache::Cache;
use crate::disk_use::folder_bytes;
use crate::file_name::file_name;
use crate::image::store::ImageStore;
use crate::obtain::fetch::{MANIFEST, installed};

/// What [`remove`] removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Removed {
    /// Fetched versions of the server.
    pub servers: usize,
    /// Dataset images that it made.
    pub images: usize,
    /// Bytes of disk that are free again.
    pub bytes: u64,
}

/// Removes all fetched versions of this server and all dataset images that it made. A server of the host, named by its
/// path, has only images here: itself it stays.
///
/// # Errors
/// A folder that cannot be removed.
pub fn remove(cache: &Cache, name: &str) -> Result<Removed> {
    let _lock = cache.lock(&format!("server-{}", file_name(name)), &mut || {})?;
    let mut removed = Removed::default();
    for install in installed(cache)?
        .iter()
        .filter(|install| install.name == name)
    {
        if let Some(folder) = install.folder() {
            removed.servers += 1;
            removed.bytes += folder_bytes(folder);
            let _ = fs::remove_file(folder.join(MANIFEST));
            fs::remove_dir_all(folder)
                .with_context(|| format!("cannot remove {}", folder.display()))?;
        }
    }
    let (images, bytes) = ImageStore::new(cache).remove_of(name)?;
    removed.images = images;
    removed.bytes += bytes;
    Ok(removed)
}
