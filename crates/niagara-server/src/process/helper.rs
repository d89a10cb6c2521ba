//! A program that works for Niagara (a test runner, a compiler): it and what it started end with whoever waits for it.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::process::spawn::{Placement, spawn};

/// How often a program that was told to end is polled.
const LOOK: Duration = Duration::from_millis(50);
/// Given to its own children to end when nobody waits for the result any more.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// A running program in a process group of its own. Dropped before its end was waited for (an error on the way, a
/// stop), the group is told to end, and killed when it does not.
#[derive(Debug)]
pub struct Helper {
    child: Child,
    ended: bool,
}

impl Helper {
    /// Starts `command`; the death of this process is told to it by SIGTERM, so that it can end its own children.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn spawn(command: Command) -> io::Result<Helper> {
        let placement = Placement {
            gentle: true,
            ..Placement::default()
        };
        Ok(Helper {
            child: spawn(command, &placement)?,
            ended: false,
        })
    }

    /// The child itself, for its streams.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Whether it has ended.
    ///
    /// # Errors
    /// The kernel does not say.
    pub fn has_ended(&mut self) -> io::Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// The kernel does not say.
    pub fn wait(mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait()?;
        self.ended = true;
        Ok(status)
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let group = Pid::from_raw(self.child.id() as i32);
        let _ = killpg(group, Signal::SIGTERM);
        let deadline = Instant::now() + STOP_TIMEOUT;
        while Instant::now() < deadline && !matches!(self.child.try_wait(), Ok(Some(_))) {
            thread::sleep(LOOK);
        }
        // What ignored it, and what outlived its parent.
        let _ = killpg(group, Signal::SIGKILL);
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_of_a_helper_that_is_dropped() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 3600 & wait"]);
        let helper = Helper::spawn(command).expect("sh");
        let group = Pid::from_raw(helper.child.id() as i32);
        assert!(killpg(group, None).is_ok(), "it runs");
        let began = Instant::now();
        drop(helper);
        assert!(began.elapsed() < STOP_TIMEOUT, "SIGTERM was enough");
        // Killed grandchildren are reaped by init.
        let deadline = Instant::now() + Duration::from_secs(10);
        while killpg(group, None).is_ok() && Instant::now() < deadline {
            thread::sleep(LOOK);
        }
        assert!(killpg(group, None).is_err(), "nothing of it is left");

        let helper = Helper::spawn(Command::new("true")).expect("true");
        assert!(helper.wait().expect("its end").success());
    }
}
