//! Which server a binary is: what it prints when asked for its version.

use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use std::{io, thread};

use anyhow::Result;
use niagara_error::bail;

use crate::disk_use::is_noexec;
use crate::family::{Family, Version};

/// The remedy where a path is none of a server.
const GIVE_THE_PATH: &str =
    "give the path of mariadbd or mysqld, or of the folder it was installed in";
/// Lines of what a program wrote instead of its version that an error shows.
const SHOWN_LINES: usize = 5;
/// Longest wait for other processes to close a program that was just written: they do within the milliseconds that it
/// takes to begin a program, even on a machine with all its CPUs taken.
const STILL_OPEN: Duration = Duration::from_secs(5);

/// The environment of every program that may have been built to write a profile: it writes it only where its training
/// says, never into the folder that it happens to run in (clang's) or beside the objects that it was made of (gcc's, which
/// would have to make folders below this file, and says so in the other). To be set behind `env_clear`, which takes it away.
pub const NO_PROFILE: [(&str, &str); 3] = [
    ("LLVM_PROFILE_FILE", "/dev/null"),
    ("GCOV_PREFIX", "/dev/null"),
    ("GCOV_ERROR_FILE", "/dev/null"),
];

/// What a server prints of itself.
#[derive(Debug)]
pub(crate) struct Printed {
    pub family: Family,
    pub version: Version,
    pub text: String,
}

/// The environment by which a server finds libraries that the host lacks.
pub(crate) fn library_environment(libraries: Option<&Path>) -> Option<(&'static str, &Path)> {
    libraries.map(|folder| ("LD_LIBRARY_PATH", folder))
}

/// Runs `SERVER --version`.
pub(crate) fn ask_version(server: &Path) -> Result<Printed> {
    read_version(server, &ask(server, None)?)
}

/// What it prints when asked for its version, with these libraries at hand.
pub(super) fn ask(server: &Path, libraries: Option<&Path>) -> Result<Output> {
    let mut asked = Command::new(server);
    asked
        .args(["--no-defaults", "--version"])
        .envs(NO_PROFILE)
        .envs(library_environment(libraries))
        .env("LC_ALL", "C");
    match output_once_closed(&mut asked) {
        Ok(output) => Ok(output),
        Err(error) => bail!(
            "cannot run {}: {error}{}", server.display(), cause(&error, server);
            remedy: "{}", remedy(&error, server)
        ),
    }
}

/// What else is known of why the kernel does not run a program.
fn cause(error: &io::Error, server: &Path) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied if is_noexec(server) => {
            "; its file system is mounted noexec"
        }
        _ => "",
    }
}

/// What to do about it.
fn remedy(error: &io::Error, server: &Path) -> &'static str {
    match error.kind() {
        // A server of the user's on such a file system is copied into the cache before.
        io::ErrorKind::PermissionDenied if is_noexec(server) => {
            "set NIAGARA_CACHE to a folder of a file system that programs may be run from"
        }
        io::ErrorKind::PermissionDenied => {
            "look at the permissions of the folders above it; where they allow it, a policy denies it \
             (SELinux: `ausearch -m avc -ts recent`; AppArmor: `dmesg`)"
        }
        _ => GIVE_THE_PATH,
    }
}

/// Which server it is that printed this; clients print their version, too.
pub(super) fn read_version(server: &Path, output: &Output) -> Result<Printed> {
    let line = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let text = line
        .split_once("Ver ")
        .and_then(|(_, rest)| rest.split_whitespace().next())
        .map(str::to_owned);
    let Some((text, version)) =
        text.and_then(|text| text.parse().ok().map(|version| (text, version)))
    else {
        bail!(
            "{} is not a server of the MySQL family that runs here: asked for its version, it {}",
            server.display(),
            instead_of_a_version(output);
            remedy: "{GIVE_THE_PATH}"
        );
    };
    // `mysql  Ver 15.1 Distrib 10.11.5-MariaDB`, `mariadb from 11.4.5-MariaDB, client 15.2`.
    if line.contains(" Distrib ") || line.contains(", client ") {
        bail!(
            "{} is a client, not a server: asked for its version, it wrote: {line}", server.display();
            remedy: "{GIVE_THE_PATH}"
        );
    }
    Ok(Printed {
        family: Family::from_version_line(&line),
        version,
        text,
    })
}

/// What a program did that printed no version of a server.
fn instead_of_a_version(output: &Output) -> String {
    let wrote = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    let lines = wrote.iter().flat_map(|text| text.lines().map(str::trim));
    let lines: Vec<&str> = lines
        .filter(|line| !line.is_empty())
        .take(SHOWN_LINES)
        .collect();
    match &lines[..] {
        [] => format!("wrote nothing ({})", output.status),
        [line] => format!("wrote: {line}"),
        lines => format!("wrote:\n{}", lines.join("\n")),
    }
}

/// Runs a program that may have been written a moment ago. A process that another thread starts meanwhile has the file open
/// for writing, as its parent had, until it becomes its own program; until then the kernel runs the file for nobody.
pub(super) fn output_once_closed(command: &mut Command) -> io::Result<Output> {
    let deadline = Instant::now() + STILL_OPEN;
    loop {
        match command.output() {
            Err(error)
                if error.kind() == io::ErrorKind::ExecutableFileBusy
                    && Instant::now() < deadline =>
            {
                thread::sleep(Duration::from_millis(10));
            }
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_server_that_is_still_open_for_writing_is_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let server = folder.path().join("mariadbd");
        fs::write(
            &server,
            "#!/bin/sh\necho 'mariadbd  Ver 10.11.99-MariaDB for Linux on x86_64'\n",
        )
        .expect("written");
        fs::set_permissions(&server, fs::Permissions::from_mode(0o755)).expect("executable");
        let writing = fs::OpenOptions::new()
            .append(true)
            .open(&server)
            .expect("opens");
        let closing = thread::spawn(move || {
            thread::sleep(Duration::from_millis(200));
            drop(writing);
        });
        let printed = ask_version(&server).expect("runs once it is closed");
        closing.join().expect("closed");
        assert_eq!(printed.text, "10.11.99-MariaDB");
    }
}
