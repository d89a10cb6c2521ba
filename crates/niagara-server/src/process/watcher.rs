//! The end of processes whose death signal the kernel forgets: a shell that waits for the end of this process in their place.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::process::spawn::forgets_death_signal;

/// Reads until whoever holds the other end of the pipe is gone, and then ends the process group that it was given.
const SCRIPT: &str = r#"trap "" HUP INT TERM; read gone; kill -s KILL -- "-$1""#;

/// Ends a process group once this process is gone, however it ends; until this is dropped.
#[derive(Debug)]
pub(crate) struct Watcher(Child);

impl Watcher {
    /// Of the group that process `group` leads, which became `program`; none where the kernel does it.
    ///
    /// # Errors
    /// There is no shell.
    pub fn of(program: &Path, group: u32) -> io::Result<Option<Watcher>> {
        match forgets_death_signal(program) {
            true => Watcher::start(group).map(Some),
            false => Ok(None),
        }
    }

    fn start(group: u32) -> io::Result<Watcher> {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", SCRIPT, "sh", &group.to_string()])
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // A terminal's signals are not for it.
            .process_group(0);
        command.spawn().map(Watcher)
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        // Before the pipe is closed: by now the number may be another group's.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    fn sleeper() -> Child {
        let mut command = Command::new("sleep");
        command.arg("3600").process_group(0);
        command.spawn().expect("it starts")
    }

    #[test]
    fn a_group_ends_with_its_owner_and_not_with_the_watch() {
        let (mut one, mut other) = (sleeper(), sleeper());
        let mut watcher = Watcher::start(one.id()).expect("a shell");
        drop(Watcher::start(other.id()).expect("a shell"));
        // As the kernel closes it when this process is gone.
        drop(watcher.0.stdin.take());
        assert_eq!(one.wait().expect("its end").signal(), Some(9));
        watcher.0.wait().expect("its end");
        assert!(other.try_wait().expect("its state").is_none());
        other.kill().expect("ours");
        other.wait().expect("its end");
    }

    #[test]
    fn programs_without_rights_of_their_own_need_none() {
        let none = Watcher::of(Path::new("/bin/sh"), std::process::id());
        assert!(none.expect("no error").is_none());
    }
}
