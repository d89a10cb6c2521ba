//! The process of a server, which never outlives its owner here.

use std::io;
use std::path::Path;
use std::process::{Child, ExitStatus};

use crate::machine::oom_kills::OomKills;
use crate::process::watcher::Watcher;

/// The process of a server; killed and reaped when dropped.
#[derive(Debug)]
pub(crate) struct Guard {
    process: Child,
    /// What the kernel had killed before it was started.
    killed_before: OomKills,
    // Goes last: by then the process has ended.
    watcher: Option<Watcher>,
}

impl Guard {
    /// Of a process that was just started and became `program`; `killed_before` is of before that.
    ///
    /// # Errors
    /// It cannot be seen to that it ends with this process: it is killed.
    pub fn new(process: Child, program: &Path, killed_before: OomKills) -> io::Result<Guard> {
        let mut guard = Guard {
            process,
            killed_before,
            watcher: None,
        };
        guard.watcher = Watcher::of(program, guard.id())?;
        Ok(guard)
    }

    /// The process's number.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// How it ended; none while it lives.
    ///
    /// # Errors
    /// The kernel does not say.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.process.try_wait()
    }

    /// Whether the kernel has killed somebody for want of memory since it was started.
    pub fn memory_ran_out(&self) -> bool {
        self.killed_before.has_risen()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // SIGKILL also ends a process that SIGSTOP froze.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
