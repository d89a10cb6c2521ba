//! Images that nobody used for long, or that take more disk than images may: removed when a new one was made.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

use anyhow::Result;

use super::store::{Image, ImageStore};

/// How long an image stays that nobody uses.
const UNUSED_DAYS: u64 = 30;
/// Bytes that images may take together; beyond it those go first that were unused for the longest time.
const MAX_BYTES: u64 = 20 << 30;

/// Bounds on the images of a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageBounds {
    /// How long one stays that nobody uses.
    pub unused_for: Duration,
    /// Bytes of all together.
    pub bytes: u64,
}

impl Default for ImageBounds {
    fn default() -> Self {
        Self {
            unused_for: Duration::from_secs(UNUSED_DAYS * 24 * 60 * 60),
            bytes: MAX_BYTES,
        }
    }
}

/// Images that were removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RemovedImages {
    /// How many.
    pub images: usize,
    /// Bytes of disk that are free again.
    pub bytes: u64,
}

impl fmt::Display for RemovedImages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let images = match self.images {
            1 => "1 dataset image".to_owned(),
            n => format!("{n} dataset images"),
        };
        write!(
            f,
            "removed {images} ({} MB), unused for {UNUSED_DAYS} days or beyond {} GB of images",
            self.bytes >> 20,
            MAX_BYTES >> 30
        )
    }
}

impl ImageStore {
    /// Removes the images that are beyond `bounds`; what somebody uses stays, and counts. `None` where all stay.
    ///
    /// # Errors
    /// A folder that cannot be removed; a lock that cannot be made.
    pub fn remove_unused(&self, bounds: ImageBounds) -> Result<Option<RemovedImages>> {
        let now = SystemTime::now();
        let mut images: Vec<(SystemTime, u64, Image)> = self
            .images()?
            .into_iter()
            .map(|image| (self.last_used(&image), image.folder_bytes(), image))
            .collect();
        images.sort_by_key(|(used, _, _)| *used);
        let mut left: u64 = images.iter().map(|(_, bytes, _)| bytes).sum();
        let mut removed = RemovedImages::default();
        for (used, bytes, image) in images {
            let idle = now.duration_since(used).unwrap_or_default();
            if idle < bounds.unused_for && left <= bounds.bytes {
                // Those behind it were used later.
                break;
            }
            if self.remove_free(image)? {
                removed.images += 1;
                removed.bytes += bytes;
                left -= bytes;
            }
        }
        Ok((removed.images > 0).then_some(removed))
    }

    /// Removes an image, unless somebody makes or uses it.
    fn remove_free(&self, image: Image) -> Result<bool> {
        let cache = self.cache();
        let Some(_making) = cache.try_lock(&image.lock_name())? else {
            return Ok(false);
        };
        let Some(_using) = cache.try_lock(&image.use_name())? else {
            return Ok(false);
        };
        image.remove()?;
        Ok(true)
    }

    /// When it was last asked for; of one that was brought here when that was.
    fn last_used(&self, image: &Image) -> SystemTime {
        let lock = self.cache().lock_path(&image.use_name());
        let asked = fs::metadata(lock).and_then(|it| it.modified()).ok();
        let brought = || {
            let changed = fs::metadata(image.path()).ok()?.ctime();
            Some(SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(changed).ok()?))
        };
        asked.or_else(brought).unwrap_or(SystemTime::UNIX_EPOCH)
    }
}
