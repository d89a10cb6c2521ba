//! The last place in the kernel's queues for CPU and disk.
//!
//! The unsafe code is two system calls whose arguments are numbers.

use std::io;

use anyhow::{Context, Result};

/// The lowest weight.
const NICEST: libc::c_int = 19;
/// `IOPRIO_WHO_PROCESS`, of `linux/ioprio.h`.
const OF_PROCESS: libc::c_int = 1;
/// `IOPRIO_CLASS_IDLE`, in the bits of the class.
const IDLE: libc::c_int = 3 << 13;

/// Gives the calling thread, and all that it starts from here on, the lowest weight for CPU time. They get the disk only where nobody
/// else wants it. Not every scheduler of a disk heeds that (BFQ and mq-deadline do).
///
/// # Errors
/// The kernel refuses the weight.
pub fn lower_priority() -> Result<()> {
    // SAFETY: the call takes three numbers and touches no memory of this process.
    let set = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICEST) };
    if set == -1 {
        return Err(io::Error::last_os_error()).context("cannot lower the own priority");
    }
    // A kernel without classes serves the disk in turn.
    // SAFETY: the call takes three numbers and touches no memory of this process.
    let _ = unsafe { libc::syscall(libc::SYS_ioprio_set, OF_PROCESS, 0, IDLE) };
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn children_of_a_thread_have_its_priority() {
        let child = std::thread::spawn(|| {
            lower_priority().expect("may always be lowered");
            let stat = Command::new("cat").arg("/proc/self/stat").output();
            String::from_utf8(stat.expect("a child").stdout).expect("text")
        });
        let stat = child.join().expect("no panic");
        // The 19th field; the name before it is in parentheses (proc_pid_stat(5)).
        let after_name = stat.rsplit_once(')').expect("a name").1;
        assert_eq!(after_name.split_whitespace().nth(16), Some("19"), "{stat}");
    }
}
