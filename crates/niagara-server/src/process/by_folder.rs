//! Servers that a program started for Niagara (a suite's runner): which there are, and their end when it is over. Not all of
//! them are of the program's process group, and not all are watched by it: while MySQL's runner makes its first data
//! directory, the server that does so continues when the runner is killed.

use std::path::{Path, PathBuf};
use std::{fs, io};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A process whose command line names a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Naming {
    /// The process.
    pub pid: u32,
    /// Its binary.
    pub program: PathBuf,
}

impl Naming {
    /// Whether it is a server by its name.
    pub fn is_server(&self) -> bool {
        let name = self.program.file_name().unwrap_or_default();
        is_server_name(&name.to_string_lossy())
    }
}

/// Whether a program of this name is a server: `mysqld`, `mysqld-debug`, `mariadbd`; not `mysqldump`, `mysqld_safe`,
/// `mariadbd-safe`.
pub(crate) fn is_server_name(name: &str) -> bool {
    let rest = |server| name.strip_prefix(server);
    let of_mysql = rest("mysqld").or_else(|| rest("ps-mysqld"));
    of_mysql.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']))
        || rest("mariadbd").is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The program of a process by the kernel's link to it, which has a mark where the file is gone.
///
/// # Errors
/// The process has ended, or this user may not look at it.
pub(crate) fn program_of(pid: i32) -> io::Result<PathBuf> {
    let program = fs::read_link(format!("/proc/{pid}/exe"))?;
    let text = program.to_string_lossy();
    Ok(match text.strip_suffix(" (deleted)") {
        Some(path) => PathBuf::from(path),
        None => program,
    })
}

/// The processes whose command line names `folder`, those left out that `known` says so of; those of other users cannot be
/// seen.
pub fn processes_naming(folder: &Path, known: &dyn Fn(u32) -> bool) -> Vec<Naming> {
    let needle = folder.display().to_string();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        let Some(pid) = pid.filter(|pid| !known(*pid)) else {
            continue;
        };
        let names_it = fs::read(entry.path().join("cmdline"))
            .is_ok_and(|words| String::from_utf8_lossy(&words).contains(&needle));
        if let (true, Ok(program)) = (names_it, program_of(pid as i32)) {
            found.push(Naming { pid, program });
        }
    }
    found
}

/// Kills, when it is dropped, the servers whose command line names the folder: one of Niagara's own, whose name no one else's
/// command line has.
#[derive(Debug)]
pub struct EndServersNaming<'a>(pub &'a Path);

impl Drop for EndServersNaming<'_> {
    fn drop(&mut self) {
        for process in processes_naming(self.0, &|_| false) {
            if process.is_server() {
                // It may have ended by itself meanwhile.
                let _ = kill(Pid::from_raw(process.pid as i32), Signal::SIGKILL);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;
    use crate::process::waiting_shell::waiting_shell;

    #[test]
    fn servers_are_known_by_their_names() {
        let is_server = |name: &str| {
            let program = Path::new("/usr/sbin").join(name);
            Naming { pid: 1, program }.is_server()
        };
        for name in [
            "mysqld",
            "mysqld-debug",
            "mysqld.bolt",
            "ps-mysqld",
            "mariadbd",
        ] {
            assert!(is_server(name), "{name}");
        }
        // MySQL's tests run mysqldump beside their servers.
        for name in [
            "mysqldump",
            "mysqld_safe",
            "mysqld_multi",
            "mariadbd-safe",
            "mysql",
        ] {
            assert!(!is_server(name), "{name}");
        }
    }

    #[test]
    fn only_the_servers_that_name_the_folder_end() {
        let [folder, other, programs] =
            [(); 3].map(|()| tempfile::tempdir().expect("a temporary folder"));
        let start = |name: &str, named: &Path| waiting_shell(&programs.path().join(name), named);
        let mut server = start("mysqld", folder.path());
        let mut stays = [
            start("mysqld", other.path()),
            start("mysqldump", folder.path()),
        ];
        // The binary may be gone before the process is.
        fs::remove_file(programs.path().join("mysqld")).expect("removed");
        let known = server.id();
        assert_eq!(processes_naming(folder.path(), &|_| false).len(), 2);
        assert_eq!(
            processes_naming(folder.path(), &|pid| pid == known).len(),
            1
        );
        drop(EndServersNaming(folder.path()));
        assert_eq!(server.wait().expect("its end").signal(), Some(9));
        for process in &mut stays {
            assert!(process.try_wait().expect("its state").is_none());
            drop(process.stdin.take());
            process.wait().expect("its end");
        }
    }
}
