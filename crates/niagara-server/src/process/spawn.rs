//! A child process that dies with this one and is placed before its first instruction.
//!
//! All unsafe code of the crate that concerns processes is here. Between `fork` and `exec` only system calls are
//! made, on data prepared before the fork.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::{fs, io};

use niagara_settings::{ProcessSettings, Scheduling};

use super::confinement::{Confinement, enter};

/// Where and how the child runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Placement {
    /// CPUs, scheduling and limits are set here; the rest is in the command's environment and arguments.
    pub settings: ProcessSettings,
    /// Folders that alone it may write to, where the kernel can see to it; none: all that this process may.
    pub writable: Option<Vec<PathBuf>>,
    /// The death of this process is told by SIGTERM rather than by SIGKILL, for a child that ends its own children
    /// when it is asked to (ninja does).
    pub gentle: bool,
}

impl Placement {
    /// What to do about the placement when the process could not be started for this reason.
    pub fn remedy(&self, error: &io::Error) -> Option<String> {
        let ProcessSettings {
            server_cpus,
            scheduling,
            ..
        } = &self.settings;
        match (error.raw_os_error()?, server_cpus, scheduling) {
            (libc::EINVAL, Some(cpus), _) => Some(format!(
                "name CPUs this process may use; asked for {cpus:?}"
            )),
            (libc::EACCES | libc::EPERM, _, Some(Scheduling::Nice(value))) => Some(format!(
                "nice {value} takes a right (ulimit -e, or root); use 0 or above"
            )),
            _ => None,
        }
    }
}

struct Job {
    command: Command,
    reply: Sender<io::Result<Child>>,
}

/// Starts `command` in its own process group, ended by the kernel when this process ends, however it ends. A new switch of the process
/// goes the way of `scheduling`; `lock_memory` is a variable of the server.
pub(crate) fn spawn(mut command: Command, placement: &Placement) -> io::Result<Child> {
    command.process_group(0);
    let ProcessSettings {
        server_cpus,
        scheduling,
        lock_memory,
        // In the environment and the arguments of the command.
        malloc: _,
        huge_pages_heap: _,
        huge_pages_text: _,
        environment: _,
        // The load generator's.
        client_cpus: _,
        transport: _,
    } = &placement.settings;
    let cpus = server_cpus.as_deref().map(cpu_set).transpose()?;
    let scheduling = *scheduling;
    let lock_memory = *lock_memory == Some(true);
    let gentle = placement.gentle;
    // Open until the child has been started: it is used there by its number.
    let confinement = confinement(placement)?;
    let rules = confinement.as_ref().map(Confinement::descriptor);
    let death_signal = if gentle { libc::SIGTERM } else { libc::SIGKILL };
    // SAFETY: `getpid` cannot fail and touches no memory.
    let parent = unsafe { libc::getpid() };
    // SAFETY: the closure makes only system calls that are async-signal-safe, on values captured by copy;
    // it neither allocates nor takes locks.
    unsafe {
        command.pre_exec(move || {
            check(libc::prctl(
                libc::PR_SET_PDEATHSIG,
                death_signal as libc::c_ulong,
            ))?;
            // The parent may have died before the line above.
            if libc::getppid() != parent {
                libc::_exit(127);
            }
            if let Some(set) = &cpus {
                check(libc::sched_setaffinity(
                    0,
                    size_of::<libc::cpu_set_t>(),
                    set,
                ))?;
            }
            match scheduling {
                Some(Scheduling::Batch) => {
                    let parameters: libc::sched_param = std::mem::zeroed();
                    check(libc::sched_setscheduler(0, libc::SCHED_BATCH, &parameters))?;
                }
                Some(Scheduling::Nice(value)) => {
                    check(libc::setpriority(libc::PRIO_PROCESS, 0, value))?
                }
                None => {}
            }
            raise_limit(libc::RLIMIT_NOFILE, MOST_OPEN_FILES)?;
            if lock_memory {
                raise_limit(libc::RLIMIT_MEMLOCK, libc::RLIM_INFINITY)?;
            }
            let none = libc::rlimit {
                rlim_cur: 0,
                rlim_max: 0,
            };
            check(libc::setrlimit(libc::RLIMIT_CORE, &none))?;
            rules.map_or(Ok(()), enter)
        });
    }
    let (reply, answer) = channel();
    let gone = || io::Error::other("the thread that starts servers is gone");
    spawner().send(Job { command, reply }).map_err(|_| gone())?;
    answer.recv().map_err(|_| gone())?
}

/// The death signal follows the *thread* that forked, so one thread that never ends does all forks.
fn spawner() -> &'static Sender<Job> {
    static SPAWNER: OnceLock<Sender<Job>> = OnceLock::new();
    SPAWNER.get_or_init(|| {
        let (sender, jobs) = channel::<Job>();
        let run = move || {
            for mut job in jobs {
                let _ = job.reply.send(job.command.spawn());
            }
        };
        // Should the thread not start, `send` fails and says so.
        let _ = std::thread::Builder::new()
            .name("niagara-spawn".into())
            .spawn(run);
        sender
    })
}

fn confinement(placement: &Placement) -> io::Result<Option<Confinement>> {
    let Some(folders) = &placement.writable else {
        return Ok(None);
    };
    let folders: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
    Confinement::to(&folders)
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == -1 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Open files of a server at the most: there are servers that make a table of as many as they may have, which takes gigabytes where a
/// container allows a thousand million.
pub const MOST_OPEN_FILES: libc::rlim_t = 1 << 20;

/// Raises a soft limit to its hard one, or to `most` where that is less.
fn raise_limit(resource: libc::__rlimit_resource_t, most: libc::rlim_t) -> io::Result<()> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: both calls get a valid pointer to a local.
    unsafe {
        check(libc::getrlimit(resource, &mut limit))?;
        limit.rlim_cur = limit.rlim_max.min(most);
        check(libc::setrlimit(resource, &limit))
    }
}

fn cpu_set(cpus: &[usize]) -> io::Result<libc::cpu_set_t> {
    // SAFETY: a CPU set is plain bits; all zero is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for cpu in cpus {
        if *cpu >= libc::CPU_SETSIZE as usize {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("CPU {cpu} is out of range"),
            ));
        }
        // SAFETY: the index was checked against the set's size.
        unsafe { libc::CPU_SET(*cpu, &mut set) };
    }
    Ok(set)
}

/// Whether the kernel forgets the death signal of a process that becomes this program (prctl(2), PR_SET_PDEATHSIG): one whose file
/// gives it rights, by `setcap` or as another user's.
pub(crate) fn forgets_death_signal(program: &Path) -> bool {
    const SET_ID: u32 = 0o6000;
    let is_set_id = fs::metadata(program).is_ok_and(|file| file.mode() & SET_ID != 0);
    // Root has all of them already.
    is_set_id || (!nix::unistd::getuid().is_root() && has_capabilities(program))
}

fn has_capabilities(program: &Path) -> bool {
    let Ok(path) = CString::new(program.as_os_str().as_bytes()) else {
        return false;
    };
    // SAFETY: both texts end with a zero byte; nothing is written where there is no room.
    let length = unsafe {
        libc::getxattr(
            path.as_ptr(),
            c"security.capability".as_ptr(),
            std::ptr::null_mut(),
            0,
        )
    };
    length > 0
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn programs_with_rights_of_their_own_are_known() {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("mysqld");
        fs::write(&program, "").expect("written");
        let mode = |mode| {
            let mode = fs::Permissions::from_mode(mode);
            fs::set_permissions(&program, mode).expect("ours");
        };
        mode(0o755);
        assert!(!forgets_death_signal(&program) && !has_capabilities(&program));
        mode(0o4755);
        assert!(forgets_death_signal(&program));
        mode(0o755);
        // Where the tool is there and this user may.
        let set = Command::new("setcap")
            .arg("cap_sys_nice+ep")
            .arg(&program)
            .output();
        if set.is_ok_and(|output| output.status.success()) {
            assert!(has_capabilities(&program));
            let is_root = nix::unistd::getuid().is_root();
            assert_eq!(forgets_death_signal(&program), !is_root);
        }
        assert!(!forgets_death_signal(&folder.path().join("none")));
    }
}
