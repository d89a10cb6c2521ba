//! Whether the shared folder can be written: what is told while it has no room, and what helps where it cannot be written.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::statvfs::{Statvfs, statvfs};
use nix::unistd::geteuid;

/// How often it is looked whether the folder has room.
const LOOK: Duration = Duration::from_secs(2);
/// Bytes that must be free for the folder to have room: some results.
const ROOM: u64 = 1 << 20;

/// What a file system says of itself; what it does not count is `None`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Left {
    bytes: Option<u64>,
    files: Option<u64>,
}

impl Left {
    fn of(disk: &Statvfs) -> Self {
        // What is reserved for root, root may use.
        let (blocks, files) = if geteuid().is_root() {
            (disk.blocks_free(), disk.files_free())
        } else {
            (disk.blocks_available(), disk.files_available())
        };
        Self {
            bytes: (disk.blocks() > 0).then(|| blocks.saturating_mul(disk.fragment_size())),
            files: (disk.files() > 0).then_some(files),
        }
    }

    fn has(self, bytes: u64) -> bool {
        self.bytes.is_none_or(|left| left >= bytes) && self.files.is_none_or(|left| left > 0)
    }
}

/// Whether the folder has room, as far as was told.
#[derive(Debug)]
pub(crate) struct Room {
    looked: Instant,
    none: bool,
}

impl Room {
    pub(crate) fn new() -> Self {
        Self {
            looked: Instant::now(),
            none: false,
        }
    }

    /// What there is to tell: workers who cannot write their logs have no way to.
    pub(crate) fn look(&mut self, folder: &Path) -> Option<String> {
        if self.looked.elapsed() < LOOK {
            return None;
        }
        self.looked = Instant::now();
        let disk = statvfs(folder).ok()?;
        let told = self.told(Left::of(&disk))?;
        Some(format!("the shared folder {} {told}", folder.display()))
    }

    /// At each change, once: twice the room is asked for where there was none, so that one result more or less is no change.
    fn told(&mut self, left: Left) -> Option<&'static str> {
        let none = !left.has(if self.none { 2 * ROOM } else { ROOM });
        if none == self.none {
            return None;
        }
        self.none = none;
        Some(if none {
            "has no room: workers keep what they have, trying again"
        } else {
            "has room again"
        })
    }
}

/// What to do about a folder that could not be written, and whether nothing else helps, so that waiting is for nothing.
pub(crate) struct Remedy {
    pub(crate) text: String,
    pub(crate) at_once: bool,
}

impl Remedy {
    pub(crate) fn of(error: &anyhow::Error, folder: &Path) -> Self {
        let mut causes = error.chain();
        let kind = causes.find_map(|cause| cause.downcast_ref().map(io::Error::kind));
        let folder = folder.display();
        let (what, at_once) = match kind {
            Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => {
                (format!("make room in {folder}"), false)
            }
            Some(ErrorKind::PermissionDenied) => {
                let user = geteuid();
                let what = format!("make {folder} and all below it writable for user {user}");
                (what, true)
            }
            Some(ErrorKind::ReadOnlyFilesystem) => (
                format!("mount the file system of {folder} so that it can be written"),
                true,
            ),
            _ => (
                format!("see that {folder} is there and can be written"),
                false,
            ),
        };
        Self {
            text: format!("{what}; the same command continues from here"),
            at_once,
        }
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context;
    use nix::errno::Errno;

    use super::*;

    fn left(bytes: u64, files: u64) -> Left {
        Left {
            bytes: Some(bytes),
            files: Some(files),
        }
    }

    #[test]
    fn no_room_and_room_again_are_told_at_each_change() {
        let mut room = Room::new();
        for time in 1..=2 {
            assert_eq!(room.told(left(ROOM, 1)), None, "{time}");
            let none = room.told(left(ROOM - 1, 1)).expect("a change");
            assert!(none.contains("no room"), "{none}");
            assert_eq!(room.told(left(0, 1)), None, "told");
            assert_eq!(room.told(left(ROOM + 1, 1)), None, "hardly more");
            assert_eq!(room.told(left(2 * ROOM, 1)), Some("has room again"));
        }
        assert!(room.told(left(u64::MAX, 0)).is_some(), "no more files");
    }

    #[test]
    fn what_a_file_system_does_not_count_does_not_run_out() {
        let nothing = Left {
            bytes: None,
            files: None,
        };
        assert_eq!(Room::new().told(nothing), None);
        // Counts neither.
        let disk = statvfs("/proc").expect("mounted");
        assert_eq!(Left::of(&disk), nothing);
    }

    #[test]
    fn the_remedy_is_that_of_the_cause() {
        let remedy = |number: Errno| {
            let error = Err::<(), _>(io::Error::from(number));
            let error = error.context("cannot write it").expect_err("made so");
            Remedy::of(&error, Path::new("/shared"))
        };
        for (number, text, at_once) in [
            (Errno::ENOSPC, "make room in /shared", false),
            (Errno::EDQUOT, "make room in /shared", false),
            (Errno::EACCES, "writable for user", true),
            (Errno::EROFS, "mount", true),
            (Errno::ENOTDIR, "is there", false),
        ] {
            let remedy = remedy(number);
            assert!(remedy.text.contains(text), "{}", remedy.text);
            assert_eq!(remedy.at_once, at_once, "{text}");
        }
        let other = Remedy::of(&anyhow::anyhow!("something else"), Path::new("/shared"));
        assert!(!other.text.contains("room"), "{}", other.text);
    }
}
