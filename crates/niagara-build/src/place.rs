//! The path by which gcc knows the objects of an instrumented server, and of the servers that are built by what it counts.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use niagara_server::create_private;

use crate::builder::{Builder, fresh};
use crate::lock::lock;
use crate::store::BuildStore;

impl Builder<'_> {
    /// Does `work` while the folder of objects `ninja` is found at the place of the instrumented server `counting`, which it is
    /// told: gcc knows a function by the path of its source too, and some of the sources are made among the objects, so that
    /// what counts and what is built by the counts have to be at the same path. What was configured at another one is
    /// begun anew.
    ///
    /// # Errors
    /// Those of `work`; the place cannot be had; [`BuildStopped`](crate::BuildStopped) when told to stop while another build
    /// is there.
    pub(crate) fn in_place(
        &mut self,
        counting: &str,
        ninja: &Path,
        work: &mut dyn FnMut(&mut Self, &Path) -> Result<()>,
    ) -> Result<()> {
        let place = BuildStore::new(self.cache).place(counting);
        let name = format!("place-{counting}");
        let _lock = lock(self.cache, &name, self.cancelled, &mut || {
            (self.progress)("waiting: somebody else builds what shares these objects' place");
        })?;
        let _link = Link::new(&place, ninja)?;
        if !configured_as(ninja, &place) {
            fresh(ninja)?;
        }
        work(self, &place)
    }
}

/// A link in a folder of its own; both go with it.
struct Link<'a>(&'a Path);

impl<'a> Link<'a> {
    fn new(place: &'a Path, target: &Path) -> Result<Link<'a>> {
        if let Some(folder) = place.parent() {
            create_private(folder)?;
        }
        // Of a build that was killed.
        if fs::symlink_metadata(place).is_ok() {
            fs::remove_file(place).with_context(|| format!("cannot remove {}", place.display()))?;
        }
        symlink(target, place).with_context(|| format!("cannot make {}", place.display()))?;
        Ok(Link(place))
    }
}

impl Drop for Link<'_> {
    fn drop(&mut self) {
        // One that stays is replaced by the next build.
        let _ = fs::remove_file(self.0);
        if let Some(folder) = self.0.parent() {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Whether what lies in `folder` was configured under the path `place`; true of a folder in which nothing was.
fn configured_as(folder: &Path, place: &Path) -> bool {
    configured_at(folder).is_none_or(|found| found == place)
}

/// The path by which cmake and ninja know the `folder` of objects, which may be a link that is gone; none of one in which nothing
/// was configured.
pub(crate) fn configured_at(folder: &Path) -> Option<PathBuf> {
    let cache = fs::read_to_string(folder.join("CMakeCache.txt")).ok()?;
    let mut places = cache
        .lines()
        .filter_map(|line| line.strip_prefix("CMAKE_CACHEFILE_DIR:INTERNAL="));
    places.next().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_was_left_is_replaced_and_nothing_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("places/key/ninja");
        for target in ["a", "b"] {
            let target = folder.path().join(target);
            let link = Link::new(&place, &target).expect("made");
            assert_eq!(fs::read_link(&place).expect("a link"), target);
            // As after a kill.
            std::mem::forget(link);
        }
        drop(Link::new(&place, folder.path()).expect("made"));
        assert!(!folder.path().join("places/key").exists());
    }
}
