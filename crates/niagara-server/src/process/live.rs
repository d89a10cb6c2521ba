//! A server that runs on this machine already, as a process to look at.

use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::Result;
use niagara_error::bail;

use crate::process::by_folder::program_of;
use crate::process::listener::{is_server, name_of, server_behind_socket, socket_of};

/// How to find the number of a server's process.
const FIND: &str = "`pgrep -l 'mariadbd|mysqld'` lists the servers of this machine";

/// A server's process that Niagara did not start, and that this user may look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveProcess {
    /// Its number.
    pub pid: i32,
    /// Its program.
    pub program: PathBuf,
    /// The Unix socket that it listens on.
    pub socket: Option<PathBuf>,
}

impl LiveProcess {
    /// The server with this number.
    ///
    /// # Errors
    /// There is no such process, it is no server of the MySQL family, or this user may not look at it.
    pub fn of(pid: i32) -> Result<LiveProcess> {
        let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) else {
            bail!("there is no process {pid}"; remedy: "{FIND}");
        };
        match leader(&status) {
            Some(leader) if leader != pid => bail!(
                "{pid} is a thread of process {leader}";
                remedy: "name the process: --pid {leader}"
            ),
            _ => {}
        }
        if !is_server(pid) {
            bail!("process {pid} ({}) is no server of the MySQL family", name_of(pid); remedy: "{FIND}");
        }
        let program = looked_at(pid)?;
        let socket = socket_of(pid).map(|path| outside(pid, path));
        Ok(LiveProcess {
            pid,
            program,
            socket,
        })
    }

    /// The server that listens on a Unix socket.
    ///
    /// # Errors
    /// Nobody listens there; else as [`of`](Self::of).
    pub fn behind(socket: &Path) -> Result<LiveProcess> {
        let pid = server_behind_socket(socket)?;
        Ok(LiveProcess {
            pid,
            program: looked_at(pid)?,
            socket: Some(socket.to_owned()),
        })
    }

    /// The name of its program: `mariadbd`.
    pub fn name(&self) -> String {
        let name = self.program.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }
}

/// The program of a process whose memory map this user may read: without that no function has a name.
fn looked_at(pid: i32) -> Result<PathBuf> {
    let seen = program_of(pid).and_then(|program| {
        fs::File::open(format!("/proc/{pid}/maps"))?;
        Ok(program)
    });
    match seen {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => bail!(
            "this user may not look at process {pid} ({})", name_of(pid);
            remedy: "run as root, or with the capabilities CAP_SYS_PTRACE and CAP_PERFMON; a server's own user may only where root \
             did not start it"
        ),
        seen => Ok(seen?),
    }
}

/// The process that a thread is of, by its status (proc_pid_status(5)).
fn leader(status: &str) -> Option<i32> {
    let mut lines = status.lines();
    let number = lines.find_map(|line| line.strip_prefix("Tgid:"))?;
    number.trim().parse().ok()
}

/// A path of a process as it is reached from here: a container has a root of its own.
fn outside(pid: i32, path: PathBuf) -> PathBuf {
    let namespace = |process: &str| fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
    if namespace("self") == namespace(&pid.to_string()) {
        return path;
    }
    let root = Path::new("/proc").join(pid.to_string()).join("root");
    root.join(path.strip_prefix("/").unwrap_or(&path))
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::*;

    #[test]
    fn what_is_no_server_is_refused_with_a_remedy() {
        let own = std::process::id() as i32;
        let told = |pid| {
            let error = LiveProcess::of(pid).expect_err("no server");
            error.explain().to_string()
        };
        assert!(told(own).contains("is no server of the MySQL family"));
        assert!(told(own).contains("\nremedy: `pgrep"));
        assert!(told(i32::MAX).contains("there is no process"));
        assert_eq!(leader("Name:\tx\nTgid:\t12\nPid:\t13\n"), Some(12));
    }

    #[test]
    fn nobody_behind_a_socket_is_told_with_its_path() {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("mysqld.sock");
        let error = LiveProcess::behind(&socket).expect_err("nobody listens");
        let told = error.explain().to_string();
        assert!(
            told.contains("mysqld.sock") && told.contains("remedy: "),
            "{told}"
        );
    }
}
