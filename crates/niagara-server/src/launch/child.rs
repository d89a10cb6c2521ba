//! The process of a server, which never outlives its owner here.

use std::process::Child;

/// The process of a server; killed and reaped when dropped.
#[derive(Debug)]
pub(crate) struct Guard(pub Child);

impl Drop for Guard {
    fn drop(&mut self) {
        // SIGKILL also ends a process that SIGSTOP froze.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Guard {
    /// The process itself, from now on the caller's to end.
    pub(super) fn release(self) -> Child {
        let guard = std::mem::ManuallyDrop::new(self);
        // SAFETY: the guard is never used or dropped again, so the child has one owner.
        unsafe { std::ptr::read(&guard.0) }
    }
}
