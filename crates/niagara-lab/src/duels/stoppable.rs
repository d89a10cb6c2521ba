//! Copies of data and starts of servers that a stop ends: where data are large, either takes minutes.

use std::io;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use niagara_server::{Cancel, Cancelled, Copying, EndServersNaming, copy_tree};

/// How often it is looked whether to stop while a server starts.
const LOOKED_AGAIN: Duration = Duration::from_millis(100);

/// Everything comes along until a stop is asked for, which is looked for after each file and within large ones.
struct UntilStopped<'c>(&'c Cancel);

impl Copying for UntilStopped<'_> {
    fn takes(&mut self, _: &Path) -> bool {
        true
    }

    fn copied(&mut self, _: u64) -> io::Result<()> {
        self.0.check().map_err(io::Error::other)
    }
}

/// Clones a folder and all in it; `to` must not exist, and does not exist after an error.
///
/// # Errors
/// [`Cancelled`]; disk full, a file that is gone.
pub(crate) fn clone_folder(from: &Path, to: &Path, cancel: &Cancel) -> Result<()> {
    let cloned = copy_tree(from, to, &mut UntilStopped(cancel));
    cloned.map(drop).map_err(|error| stopped_or(cancel, error))
}

/// What comes of `start`, which waits until the server on the data in `folder` answers. Once a stop is asked for the server is
/// ended, and the wait with it: it recovers its data, perhaps for many minutes, and nobody wants what comes of that.
///
/// # Errors
/// [`Cancelled`]; those of `start`.
pub(crate) fn start_on<T>(
    folder: &Path,
    cancel: &Cancel,
    start: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let (over, wait) = channel::<()>();
    let started = thread::scope(|scope| {
        scope.spawn(move || {
            // Nothing is ever sent: the wait is over when the other end is gone. A start may be tried again, on another port.
            while wait.recv_timeout(LOOKED_AGAIN) == Err(RecvTimeoutError::Timeout) {
                if cancel.is_cancelled() {
                    // By its folder, which no other process has on its command line: its number may be another's by now.
                    drop(EndServersNaming(folder));
                }
            }
        });
        // Here, as the server ends with the thread that started it. Dropped also should this panic.
        let _over = over;
        start()
    });
    started.map_err(|error| stopped_or(cancel, error))
}

/// A failure after a stop is nobody's but the stop's.
fn stopped_or(cancel: &Cancel, error: anyhow::Error) -> anyhow::Error {
    match cancel.check() {
        Ok(()) => error,
        Err(Cancelled) => Cancelled.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_copy_ends_when_a_stop_is_asked_for_and_leaves_nothing() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let (from, to) = (place.path().join("from"), place.path().join("to"));
        fs::create_dir_all(from.join("inner")).expect("made");
        for name in ["first", "inner/second", "third"] {
            fs::write(from.join(name), name).expect("written");
        }
        let cancel = Cancel::default();
        cancel.cancel();
        let error = clone_folder(&from, &to, &cancel).expect_err("stopped");
        assert!(error.is::<Cancelled>(), "{error:#}");
        assert!(!to.exists());
        clone_folder(&from, &to, &Cancel::default()).expect("copied");
        assert_eq!(
            fs::read(to.join("inner/second")).expect("there"),
            b"inner/second"
        );
    }

    #[test]
    fn what_fails_after_a_stop_is_a_stop_and_what_succeeds_stays() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let (on, cancel) = (place.path(), Cancel::default());
        let failing = || start_on::<()>(on, &cancel, || anyhow::bail!("no such plugin"));
        let error = failing().expect_err("it failed");
        assert_eq!(error.to_string(), "no such plugin");
        cancel.cancel();
        assert!(failing().expect_err("stopped").is::<Cancelled>());
        assert_eq!(start_on(on, &cancel, || Ok(7)).expect("it started"), 7);
    }
}
