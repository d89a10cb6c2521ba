//! A program that fills a folder, ended when the folder's disk has been full for some seconds.
//!
//! apt-get unpacks its package lists in a process of its own; when that one finds no room, apt-get may wait for it without
//! end (seen with apt 2.6.1).

use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::disk_use::free_bytes;

/// The system's words where a disk is full.
pub(super) const NO_ROOM: &str = "No space left on device";

/// Less than this is no room: what is left of a full disk is smaller than the blocks that programs write.
const FULL: u64 = 64 * 1024;

/// For so long a program may find out by itself.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often the child and the disk are looked at.
const EVERY: Duration = Duration::from_millis(50);

/// Runs `command` to its end, as [`Command::output`] does; it is killed, and [`NO_ROOM`] stands last in what it told, when
/// the disk of `folder` stays full.
///
/// # Errors
/// The program cannot be started or waited for.
pub(super) fn output(command: &mut Command, folder: &Path) -> io::Result<Output> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let stdout = reader(child.stdout.take());
    let stderr = reader(child.stderr.take());
    let ended = wait(&mut child, folder);
    if ended.is_err() {
        // It is not waited for any longer, whatever became of it.
        child.kill().ok();
    }
    let mut told = stderr.join().unwrap_or_default();
    let (status, full) = ended?;
    if full {
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
    let mut full_since = None;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((status, false));
        }
        let full = free_bytes(folder).is_ok_and(|free| free < FULL);
        match full {
            true => {
                let since = *full_since.get_or_insert_with(Instant::now);
                if since.elapsed() > PATIENCE {
                    child.kill()?;
                    return Ok((child.wait()?, true));
                }
            }
            false => full_since = None,
        }
        thread::sleep(EVERY);
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
        let output = output(&mut command, Path::new("/")).expect("runs");
        assert_eq!(output.status.code(), Some(3));
        assert_eq!(output.stdout, b"out\n");
        assert_eq!(output.stderr, b"err\n");
    }
}
