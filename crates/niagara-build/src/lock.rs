//! Waiting for what another command makes.

use std::fs::File;

use anyhow::Result;
use niagara_server::Cache;
use nix::fcntl::Flock;

use crate::step::BuildStopped;

/// The lock of this name, held until dropped; `waiting` is called when somebody else holds it, perhaps for an hour.
///
/// # Errors
/// [`BuildStopped`] when `cancelled` says so; a lock that cannot be made.
pub(crate) fn lock(
    cache: &Cache,
    name: &str,
    cancelled: &dyn Fn() -> bool,
    waiting: &mut dyn FnMut(),
) -> Result<Flock<File>> {
    let held = cache.lock_unless(name, cancelled, waiting)?;
    held.ok_or_else(|| BuildStopped.into())
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::*;
    use std::cell::Cell;

    #[test]
    fn one_that_waits_for_another_can_be_stopped() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let cache = Cache::at(folder.path()).expect("a folder");
        let never = || false;
        let first = lock(&cache, "a", &never, &mut || {}).expect("nobody has it");
        let told = Cell::new(0);
        // Stopped once it has said that it waits.
        let stopped = lock(&cache, "a", &|| told.get() > 0, &mut || {
            told.set(told.get() + 1);
        });
        assert!(stopped.expect_err("held").has::<BuildStopped>());
        drop(first);
        lock(&cache, "a", &never, &mut || {}).expect("free again");
    }
}
