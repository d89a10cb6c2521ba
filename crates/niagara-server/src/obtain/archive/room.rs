//! A program that fills a folder, ended when it stands still on a disk that has run short of room.
//!
//! apt-get unpacks its package lists in a process of its own; when that one finds no room, apt-get may wait for it without
//! end, with the disk full or with what was given up of a file free again (both seen with apt 2.6.1).

use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::disk_use::{folder_bytes, free_bytes};
use crate::process::spawn::{Placement, spawn};

/// The system's words where a disk is full.
pub(super) const NO_ROOM: &str = "No space left on device";

/// A disk with less than this has run short, in bytes: package lists alone unpack to more. A file that did not fit may be gone
/// before anybody looks at the disk.
const SHORT: u64 = 16 << 20;

/// For so long a program may stand still on such a disk: it may find out by itself, or compute.
const PATIENCE: Duration = Duration::from_secs(15);

/// How often the child and the disk are looked at.
const EVERY: Duration = Duration::from_millis(50);

/// Runs `command` to its end, as [`Command::output`] does; it is killed, and [`NO_ROOM`] stands last in what it told, when
/// it stands still and the disk of `folder` had run short. It ends with this process.
///
/// # Errors
/// The program cannot be started or waited for.
pub(super) fn output(mut command: Command, folder: &Path) -> io::Result<Output> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = spawn(command, &Placement::default())?;
    let stdout = reader(child.stdout.take());
    let stderr = reader(child.stderr.take());
    let ended = wait(&mut child, folder);
    if ended.is_err() {
        // It is not waited for any longer, whatever became of it.
        child.kill().ok();
    }
    let mut told = stderr.join().unwrap_or_default();
    let (status, stuck) = ended?;
    if stuck {
        told.extend(format!("\nE: {NO_ROOM}\n").bytes());
    }
    Ok(Output {
        status,
        stdout: stdout.join().unwrap_or_default(),
        stderr: told,
    })
}

/// How it ended, and whether that was for want of room.
fn wait(child: &mut Child, folder: &Path) -> io::Result<(ExitStatus, bool)> {
    let mut watch = Watch::new(Instant::now());
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((status, false));
        }
        // A disk that cannot be asked is taken for one with room.
        let free = free_bytes(folder).unwrap_or(u64::MAX);
        if watch.is_stuck(free, folder_bytes(folder), Instant::now()) {
            child.kill()?;
            return Ok((child.wait()?, true));
        }
        thread::sleep(EVERY);
    }
}

/// What the looks at a disk and a folder on it came to.
struct Watch {
    /// The disk has been short of room.
    short: bool,
    /// Bytes in the folder, and since when.
    bytes: u64,
    since: Instant,
}

impl Watch {
    fn new(now: Instant) -> Self {
        Self {
            short: false,
            bytes: 0,
            since: now,
        }
    }

    /// Whether the folder has not changed for [`PATIENCE`] and the disk has been short: `free` bytes are left on the
    /// disk, `bytes` are in the folder.
    fn is_stuck(&mut self, free: u64, bytes: u64, now: Instant) -> bool {
        self.short |= free < SHORT;
        if bytes != self.bytes {
            (self.bytes, self.since) = (bytes, now);
        }
        self.short && now.duration_since(self.since) > PATIENCE
    }
}

/// Reads a pipe to its end beside all else.
fn reader(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What was read before an error counts.
            pipe.read_to_end(&mut bytes).ok();
        }
        bytes
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_prints_and_how_it_ends_is_kept() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo out; echo err >&2; exit 3"]);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let output = output(command, folder.path()).expect("runs");
        assert_eq!(output.status.code(), Some(3));
        assert_eq!(output.stdout, b"out\n");
        assert_eq!(output.stderr, b"err\n");
    }

    /// Whether a watch finds a program stuck that left so many bytes free at first and in the end, and then stood still.
    fn is_stuck_after(free: [u64; 2], still: Duration) -> bool {
        let began = Instant::now();
        let mut watch = Watch::new(began);
        let filled = began + Duration::from_secs(20);
        assert!(!watch.is_stuck(free[0], 1 << 20, began));
        assert!(!watch.is_stuck(free[1], 9 << 20, filled), "it has grown");
        watch.is_stuck(free[1], 9 << 20, filled + still)
    }

    #[test]
    fn a_program_is_stuck_that_stands_still_where_the_disk_ran_short() {
        let long = PATIENCE + Duration::from_secs(1);
        // As seen: 10 MB, of which the lists left 1.3 when the file that did not fit was gone.
        assert!(is_stuck_after([9 << 20, 1_351_680], long));
        assert!(is_stuck_after([9 << 20, 0], long));
        // The disk was full for a moment only.
        assert!(is_stuck_after([0, 1 << 30], long));
        assert!(!is_stuck_after([9 << 20, 0], PATIENCE), "it may find out");
        assert!(!is_stuck_after([1 << 30, 1 << 30], long), "a slow network");
    }
}
