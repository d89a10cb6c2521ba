//! One command of a build: its output into the log and to whoever shows progress, ended when asked to.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};

use crate::first_error::first_error;
use niagara_server::Helper;

/// How often the flag that stops a build is checked, and progress is told without news.
const TICK: Duration = Duration::from_millis(250);
/// Lines of a failed command that are searched for its first error.
const MAX_LINES: usize = 200_000;

/// A build was told to stop; what was built before is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuildStopped;

impl std::fmt::Display for BuildStopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("stopped on request; the same command continues with the build from here")
    }
}

impl std::error::Error for BuildStopped {}

/// Runs `command` with its output appended to `log`; `heard` gets every line, and nothing every so often.
///
/// # Errors
/// [`BuildStopped`] when `cancelled` says so; a command that cannot be run or fails, with its first real error.
pub(crate) fn run(
    mut command: Command,
    what: &str,
    log: &Path,
    cancelled: &dyn Fn() -> bool,
    heard: &mut dyn FnMut(Option<&str>),
) -> Result<Vec<String>> {
    let mut file = open_log(log)?;
    let program = PathBuf::from(command.get_program());
    let words: Vec<String> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let unwritable = || format!("cannot write the log {}", log.display());
    writeln!(file, "\n$ {}", words.join(" ")).with_context(unwritable)?;
    let (reader, writer) = std::io::pipe()?;
    command
        .stdin(std::process::Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer);
    let child =
        Helper::spawn(command).with_context(|| format!("cannot run {}", program.display()))?;
    // `spawn` has taken the command and with it our ends of the pipe: it closes when the last child ends.
    let (sender, lines) = channel::<String>();
    std::thread::spawn(move || {
        for line in BufReader::new(reader).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).into_owned();
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    let mut output = Vec::new();
    loop {
        match lines.recv_timeout(TICK) {
            Ok(line) => {
                writeln!(file, "{line}").with_context(unwritable)?;
                heard(Some(&line));
                if output.len() < MAX_LINES {
                    output.push(line);
                }
            }
            Err(RecvTimeoutError::Timeout) => heard(None),
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if cancelled() {
            // ninja passes it on to the compilers; cmake's are in its own group.
            drop(child);
            return Err(BuildStopped.into());
        }
    }
    let status = child.wait()?;
    if status.success() {
        return Ok(output);
    }
    let error = first_error(&output.join("\n"))
        .or_else(|| {
            output
                .iter()
                .rev()
                .find(|line| !line.trim().is_empty())
                .cloned()
        })
        .unwrap_or_else(|| format!("{} ended with {status}", program.display()));
    Err(anyhow!("{what} failed: {error}\nlog: {}", log.display()))
}

/// What the newest configuration wrote into the log, and all builds by it since: of objects that are there.
pub(crate) fn since_configured(log: &Path) -> Result<String> {
    let bytes = fs::read(log).with_context(|| format!("cannot read {}", log.display()))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let from = text.rfind("\n$ cmake ").unwrap_or(0);
    Ok(text[from..].to_owned())
}

fn open_log(path: &Path) -> Result<File> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
        .with_context(|| format!("cannot write the log {}", path.display()))
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::*;

    #[test]
    fn a_command_is_logged_fails_with_its_error_and_stops_when_asked() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let log = folder.path().join("log");
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
        let never = || false;
        let output = run(
            shell("echo one; echo two >&2"),
            "it",
            &log,
            &never,
            &mut |_| {},
        );
        assert_eq!(output.expect("works").len(), 2);
        let error = run(
            shell("echo 'a.c:1:1: error: x'; echo more; exit 3"),
            "it",
            &log,
            &never,
            &mut |_| {},
        )
        .expect_err("fails")
        .to_string();
        assert!(
            error.contains("it failed: a.c:1:1: error: x") && error.contains("log: "),
            "{error}"
        );
        let began = std::time::Instant::now();
        let error = run(shell("sleep 60"), "it", &log, &|| true, &mut |_| {}).expect_err("stops");
        assert!(error.has::<BuildStopped>() && began.elapsed() < Duration::from_secs(30));
        let text = std::fs::read_to_string(&log).expect("a log");
        assert!(
            text.contains("$ sh -c echo one") && text.contains("two"),
            "{text}"
        );
        assert_eq!(since_configured(&log).expect("readable"), text);
        fs::write(&log, format!("{text}\n$ cmake -G Ninja\nthree\n")).expect("written");
        let newest = since_configured(&log).expect("readable");
        assert!(
            newest.contains("three") && !newest.contains("two"),
            "{newest}"
        );
    }
}
