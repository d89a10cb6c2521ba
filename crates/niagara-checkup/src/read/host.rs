//! The server's process and its machine, where they are this one.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::Result;
use niagara_load::Transport;
use niagara_server::machine::{Fingerprint, Limits};
use niagara_server::{UsageMeter, listening_servers, server_behind};

use crate::facts::Host;

/// A server's process on this machine.
pub(super) struct Process {
    pid: i32,
    /// Its CPU time and more; only where the kernel shows it to this user.
    pub(super) meter: Option<UsageMeter>,
    machine: Fingerprint,
    /// Its control groups can be seen, and with them the memory that it is held to.
    pub(super) is_memory_seen: bool,
}

impl Process {
    /// The one behind a transport.
    pub(super) fn behind(transport: &Transport) -> Result<Process> {
        let pid = server_behind(transport)?;
        let mut machine = Fingerprint::read(Path::new("/"));
        // What holds this process, a shell or a container, does not hold the server.
        let granted = Limits::granted_to(pid);
        let is_memory_seen = granted.is_some();
        let granted = granted.unwrap_or_default();
        machine.limits.cpu_quota = granted.cpu_quota;
        machine.limits.memory_bytes = granted.memory_bytes;
        machine.limits.pids = granted.pids;
        Ok(Process {
            pid,
            meter: UsageMeter::new(pid).ok(),
            machine,
            is_memory_seen,
        })
    }

    /// The option file for settings that no file has yet; none where this user may not see what it reads.
    pub(super) fn option_file(&self, is_mariadb: bool) -> Option<String> {
        let process = Path::new("/proc").join(self.pid.to_string());
        let command = fs::read(process.join("cmdline")).ok()?;
        // A container's server has files of its own.
        let root = process.join("root");
        root.join("etc").exists().then_some(())?;
        usual_option_file(&String::from_utf8_lossy(&command), &root, is_mariadb)
    }

    /// Whether it is another user's, and this user is not root.
    pub(super) fn needs_root(&self) -> bool {
        let user_of = |process: &str| {
            let folder = fs::metadata(format!("/proc/{process}"));
            folder.ok().map(|folder| folder.uid())
        };
        let own = user_of("self");
        own != Some(0) && own != user_of(&self.pid.to_string())
    }

    /// What it is and has at this moment.
    pub(super) fn facts(self) -> Host {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid)).unwrap_or_default();
        let program = fs::read_link(format!("/proc/{}/exe", self.pid));
        let servers = listening_servers().into_iter();
        Host {
            pid: self.pid,
            program: program.ok().map(|path| path.display().to_string()),
            resident_bytes: kilobytes(&status, "VmRSS"),
            swapped_bytes: kilobytes(&status, "VmSwap"),
            memory_bytes: self
                .is_memory_seen
                .then(|| self.machine.usable_memory())
                .filter(|bytes| *bytes > 0),
            cpus: self.machine.usable_cpus(),
            other_servers: servers.filter(|(pid, _)| *pid != self.pid).count(),
            machine: self.machine,
        }
    }
}

/// Option files that servers begin at; all builds read the first, those for Debian and those of MySQL the second, too.
const TOP_FILES: [&str; 2] = ["/etc/my.cnf", "/etc/mysql/my.cnf"];
/// Links to a top file that are followed.
const MOST_LINKS: usize = 8;
/// Folders of option files that packages make, of MariaDB and of the others, the more specific ones first.
const FOLDERS: [(&str, Option<bool>); 4] = [
    ("/etc/mysql/mariadb.conf.d", Some(true)),
    ("/etc/mysql/mysql.conf.d", Some(false)),
    ("/etc/my.cnf.d", None),
    ("/etc/mysql/conf.d", None),
];
/// A file there that packages leave alone; files are read by their names, the last one wins.
const OWN_FILE: &str = "zz-local.cnf";

/// The option file for new settings of a server with this command line, whose root is `root`; none where it reads none that is
/// known.
fn usual_option_file(command: &str, root: &Path, is_mariadb: bool) -> Option<String> {
    let mut words = command.split('\0');
    if let Some(file) = words.find_map(|word| word.strip_prefix("--defaults-file=")) {
        return Some(file.to_owned());
    }
    if command.split('\0').any(|word| word == "--no-defaults") {
        return None;
    }
    let tops = TOP_FILES.iter().filter_map(|path| {
        let text = text_below(root, Path::new(path))?;
        Some((*path, text))
    });
    let tops: Vec<(&str, String)> = tops.collect();
    // Packages of Oracle make /etc/my.cnf.d, and no file names it.
    let included: Vec<&str> = tops.iter().flat_map(|(_, text)| included(text)).collect();
    let mut folders = FOLDERS.iter();
    let folder = folders
        .find(|(folder, of)| of.is_none_or(|of| of == is_mariadb) && included.contains(folder));
    match folder {
        Some((folder, _)) => Some(format!("{folder}/{OWN_FILE}")),
        None => tops.first().map(|(path, _)| (*path).to_owned()),
    }
}

/// The folders that an option file includes.
fn included(text: &str) -> impl Iterator<Item = &str> {
    let folders = text.lines().filter_map(|line| {
        let folder = line.trim().strip_prefix("!includedir")?;
        folder.starts_with([' ', '\t']).then(|| folder.trim())
    });
    folders.map(|folder| folder.trim_end_matches('/'))
}

/// The text of a file as a process sees it whose root is `root`: a link in a container leads to a file of that container.
fn text_below(root: &Path, path: &Path) -> Option<String> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let here = root.join(path.strip_prefix("/").unwrap_or(&path));
        match fs::read_link(&here) {
            // An absolute one takes the place of the path.
            Ok(target) => path = path.parent()?.join(target),
            Err(_) => {
                let bytes = fs::read(&here).ok()?;
                return Some(String::from_utf8_lossy(&bytes).into_owned());
            }
        }
    }
    None
}

/// Pages that this machine has read from swap space since it was started.
pub(super) fn pages_from_swap() -> Option<u64> {
    let text = fs::read_to_string("/proc/vmstat").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("pswpin "));
    line?.trim().parse().ok()
}

/// A line of `/proc/PID/status` in bytes; 0 where it is not there.
fn kilobytes(status: &str, name: &str) -> u64 {
    let lines = status.lines().filter_map(|line| line.split_once(':'));
    let mut values = lines.filter(|(key, _)| *key == name);
    let value = values.next().and_then(|(_, value)| {
        let number = value.trim().strip_suffix("kB")?.trim();
        number.parse::<u64>().ok()
    });
    value.unwrap_or(0) << 10
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn option_files_are_those_that_the_server_reads() {
        let root = tempfile::tempdir().unwrap();
        let of =
            |command: &str, is_mariadb: bool| usual_option_file(command, root.path(), is_mariadb);
        assert_eq!(of("mariadbd", true), None);
        let write = |file: &str, text: &str| {
            let file = root.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        // As Oracle's packages make them: no file includes the folder.
        fs::create_dir_all(root.path().join("etc/my.cnf.d")).unwrap();
        write("etc/my.cnf", "# !includedir /etc/my.cnf.d\n[mysqld]\n");
        assert_eq!(of("mysqld", false).as_deref(), Some("/etc/my.cnf"));
        write("etc/my.cnf", "[mysqld]\n\n!includedir /etc/my.cnf.d\n");
        let red_hat = Some("/etc/my.cnf.d/zz-local.cnf");
        assert_eq!(of("mariadbd", true).as_deref(), red_hat);
        // As Debian links them.
        write(
            "etc/mysql/mariadb.cnf",
            "!includedir /etc/mysql/conf.d/\n!includedir /etc/mysql/mariadb.conf.d/\n",
        );
        fs::create_dir_all(root.path().join("etc/alternatives")).unwrap();
        let link = |target: &str, name: &str| symlink(target, root.path().join(name)).unwrap();
        link("/etc/alternatives/my.cnf", "etc/mysql/my.cnf");
        link("../mysql/mariadb.cnf", "etc/alternatives/my.cnf");
        assert_eq!(
            of("mariadbd", true).as_deref(),
            Some("/etc/mysql/mariadb.conf.d/zz-local.cnf")
        );
        assert_eq!(of("mysqld", false).as_deref(), red_hat);
        fs::remove_file(root.path().join("etc/my.cnf")).unwrap();
        let debian = Some("/etc/mysql/conf.d/zz-local.cnf");
        assert_eq!(of("mysqld", false).as_deref(), debian);
        let named = "mariadbd\0--defaults-file=/srv/a.cnf\0";
        assert_eq!(of(named, true).as_deref(), Some("/srv/a.cnf"));
        assert_eq!(of("mariadbd\0--no-defaults\0", true), None);
    }

    #[test]
    fn status_is_in_bytes() {
        let status = "Name:\tmysqld\nVmRSS:\t  2048 kB\nVmSwap:\t 4 kB\n";
        assert_eq!(kilobytes(status, "VmRSS"), 2 << 20);
        assert_eq!(kilobytes(status, "VmSwap"), 4 << 10);
        assert_eq!(kilobytes(status, "VmX"), 0);
    }
}
