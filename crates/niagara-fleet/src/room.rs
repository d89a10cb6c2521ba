//! Whether the shared folder can be written: what is told while it has no room, how long that is waited for, and what helps where
//! it cannot be written.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use niagara_error::{Explain as _, Explanation, Problem};
use nix::sys::statvfs::{Statvfs, statvfs};
use nix::unistd::geteuid;

/// How often it is looked whether the folder has room.
const LOOK: Duration = Duration::from_secs(2);
/// Bytes that must be free for the folder to have room: some results.
const ROOM: u64 = 1 << 20;
/// How often it is looked whether the study is to stop meanwhile.
const TICK: Duration = Duration::from_millis(100);

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

/// Whether `bytes` more fit into the folder beside some results, as far as its file system tells: what others write there in the
/// meantime is not to fail for something large that does not fit anyway.
///
/// # Errors
/// They do not, of the kind that writing them would fail with.
pub(crate) fn fits(folder: &Path, bytes: u64) -> io::Result<()> {
    let needed = bytes.saturating_add(ROOM);
    // What is not told is tried.
    let left = statvfs(folder).ok().map(|disk| Left::of(&disk));
    match left {
        Some(left) if !left.has(needed) => Err(no_room(needed, left)),
        _ => Ok(()),
    }
}

fn no_room(needed: u64, left: Left) -> io::Error {
    let told = match left.bytes {
        Some(free) if left.files != Some(0) => {
            let megabytes = |bytes: u64| bytes as f64 / 1e6;
            let (needed, free) = (megabytes(needed), megabytes(free));
            format!("no room: {needed:.1} MB are needed, {free:.1} MB are free")
        }
        _ => "no room for another file".to_owned(),
    };
    io::Error::new(ErrorKind::StorageFull, told)
}

/// Whether nothing but room is missing.
pub(crate) fn is_full(error: &anyhow::Error) -> bool {
    let kind = kind_of(error);
    matches!(
        kind,
        Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
    )
}

/// How somebody waits for room in the shared folder.
pub struct Waiting<'a> {
    /// For how long.
    pub patience: Duration,
    /// Says when to stop.
    pub stop: &'a dyn Fn() -> bool,
    /// Gets what is worth telling.
    pub tell: &'a mut dyn FnMut(&str),
}

impl Waiting<'_> {
    /// Writes something into the folder, again and again as long as that has no room for it; `None` once it was stopped.
    ///
    /// # Errors
    /// There was no room for too long; it cannot be written for another reason.
    pub(crate) fn for_room<T>(
        &mut self,
        folder: &Path,
        mut write: impl FnMut() -> Result<T>,
    ) -> Result<Option<T>> {
        let mut since = None;
        loop {
            let began = Instant::now();
            let error = match write() {
                Ok(written) => {
                    if since.is_some() {
                        let folder = folder.display();
                        (self.tell)(&format!("the shared folder {folder} has room again"));
                    }
                    return Ok(Some(written));
                }
                Err(error) if is_full(&error) => error,
                Err(error) => return Err(explained(error, folder)),
            };
            let waited = since.get_or_insert_with(|| {
                (self.tell)(&format!("{error:#}: trying again"));
                began
            });
            if waited.elapsed() > self.patience {
                return Err(NoRoom(given_up(&error, folder, waited.elapsed())).into());
            }
            // What takes long is tried more rarely.
            let next = Instant::now() + LOOK.max(10 * began.elapsed()).min(self.patience);
            while Instant::now() < next {
                if (self.stop)() {
                    return Ok(None);
                }
                std::thread::sleep(TICK);
            }
        }
    }
}

/// The shared folder had no room for too long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoRoom(Explanation);

impl std::fmt::Display for NoRoom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.cause)
    }
}

impl std::error::Error for NoRoom {}

niagara_error::remedied!(NoRoom, |no_room| no_room.0.clone());

/// What is told of a folder that could not be written for this long.
pub(crate) fn given_up(error: &anyhow::Error, folder: &Path, waited: Duration) -> Explanation {
    let Remedy { text, .. } = Remedy::of(error, folder);
    let seconds = waited.as_secs_f64();
    error
        .explain()
        .with_cause(|cause| format!("{cause}, for {seconds:.0} s now"))
        .remedy(text)
}

/// The error with its remedy, where the cause is one of the shared folder's that is known.
pub fn explained(error: anyhow::Error, folder: &Path) -> anyhow::Error {
    let remedy = Remedy::of(&error, folder);
    let has_one = !error.explain().remedies.is_empty();
    if has_one || !(remedy.at_once || is_full(&error)) {
        return error;
    }
    Problem::of(error).remedy(remedy.text).into()
}

fn kind_of(error: &anyhow::Error) -> Option<ErrorKind> {
    let mut causes = error.chain();
    let met = error.find::<io::Error>().map(io::Error::kind);
    met.or_else(|| causes.find_map(|cause| cause.downcast_ref().map(io::Error::kind)))
}

/// What to do about a folder that could not be written, and whether nothing else helps, so that waiting is for nothing.
pub(crate) struct Remedy {
    pub(crate) text: String,
    pub(crate) at_once: bool,
}

impl Remedy {
    pub(crate) fn of(error: &anyhow::Error, folder: &Path) -> Self {
        let folder = folder.display();
        let (what, at_once) = match kind_of(error) {
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
    use niagara_error::Explain as _;
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

    /// A write into `/shared` that fails so often for this reason, waited for; what was told, and what came of it.
    fn waited(
        failures: u32,
        number: Errno,
        patience: Duration,
        stop: &dyn Fn() -> bool,
    ) -> (Vec<String>, Result<Option<u32>>) {
        let mut told = Vec::new();
        let mut tries = 0;
        let mut waiting = Waiting {
            patience,
            stop,
            tell: &mut |text| told.push(text.to_owned()),
        };
        let done = waiting.for_room(Path::new("/shared"), || {
            tries += 1;
            if tries > failures {
                return Ok(tries);
            }
            Err(io::Error::from(number)).context("cannot pack it")
        });
        (told, done)
    }

    #[test]
    fn room_is_waited_for_and_both_ends_of_it_are_told() {
        let long = Duration::from_secs(600);
        let (told, done) = waited(0, Errno::ENOSPC, long, &|| false);
        assert_eq!(done.expect("room"), Some(1));
        assert_eq!(told, Vec::<String>::new());
        for number in [Errno::ENOSPC, Errno::EDQUOT] {
            let (told, done) = waited(1, number, long, &|| false);
            assert_eq!(done.expect("room"), Some(2));
            let [began, ended] = &told[..] else {
                panic!("{told:?}");
            };
            assert!(began.starts_with("cannot pack it: "), "{began}");
            assert!(began.ends_with("trying again"), "{began}");
            assert_eq!(ended, "the shared folder /shared has room again");
        }
    }

    #[test]
    fn waiting_for_room_ends_when_it_is_stopped_or_was_too_long_and_nothing_else_is_waited_for() {
        let long = Duration::from_secs(600);
        let (_, done) = waited(1, Errno::ENOSPC, long, &|| true);
        assert_eq!(done.expect("no trouble"), None);
        let (_, done) = waited(u32::MAX, Errno::ENOSPC, Duration::ZERO, &|| false);
        let error = done.expect_err("no room");
        assert!(error.has::<NoRoom>());
        let error = error.explain().to_string();
        assert!(
            error.contains(" s now\nremedy: make room in /shared"),
            "{error}"
        );
        for (number, remedy) in [(Errno::EROFS, "remedy: mount"), (Errno::EIO, "cannot pack")] {
            let (told, done) = waited(1, number, long, &|| false);
            let error = done.expect_err("not waited for").explain().to_string();
            assert!(error.contains(remedy), "{error}");
            assert_eq!(told, Vec::<String>::new());
        }
    }

    #[test]
    fn what_does_not_fit_is_not_begun() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fits(folder.path(), 0).expect("room for nothing");
        let error = fits(folder.path(), u64::MAX).expect_err("no disk is that large");
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        assert!(error.to_string().contains("MB are free"), "{error}");
        let files = no_room(1, left(1 << 40, 0));
        assert!(files.to_string().contains("another file"), "{files}");
        // Counts neither.
        fits(Path::new("/proc"), u64::MAX).expect("tried");
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
