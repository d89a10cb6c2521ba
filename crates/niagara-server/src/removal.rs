//! Fetched servers removed, together with the dataset images that they made.

use std::fs::{self, File};

use anyhow::{Context, Result};
use niagara_error::bail;
use nix::fcntl::Flock;

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

/// A server and its images that somebody uses: as long as this lives, they are not removed.
#[derive(Debug)]
pub struct ServerInUse {
    _lock: Flock<File>,
}

/// Says that the server of this name and its images are used.
///
/// # Errors
/// The lock that says so cannot be had.
pub fn hold_server(cache: &Cache, name: &str) -> Result<ServerInUse> {
    let lock = cache.share_lock(&use_name(name))?;
    Ok(ServerInUse { _lock: lock })
}

fn use_name(name: &str) -> String {
    format!("use-server-{}", file_name(name))
}

/// Removes all fetched versions of this server and all dataset images that it made. A server of the host, named by its
/// path, has only images here: itself it stays.
///
/// # Errors
/// Another Niagara uses it; a folder that cannot be removed.
pub fn remove(cache: &Cache, name: &str) -> Result<Removed> {
    let _lock = cache.lock(&format!("server-{}", file_name(name)), &mut || {})?;
    let Some(_alone) = cache.try_lock(&use_name(name))? else {
        bail!(
            "{name} is in use by another Niagara, which starts it from here and clones its images";
            remedy: "wait for the end of that study, or stop it"
        );
    };
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
