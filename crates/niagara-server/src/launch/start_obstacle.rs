//! What surrounds a server and may keep it from starting, told from the failures that are its own.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use niagara_error::{Explain as _, Explanation};
use nix::sys::signal::Signal;

use super::error_log;
use crate::cancel::Cancelled;
use crate::disk_full::DiskFull;

/// What an error in a server's log says where another program listens on its port.
const PORT_TAKEN: &str = "Address already in use";
/// What errors in its log say of the machine: a server is another program, and its log is all that there is to go by.
const SAID: [(&str, Around); 7] = [
    ("No space left on device", Around::Disk),
    ("Disk is full", Around::Disk),
    // InnoDB's words for ENOSPC, of which some have the number alone.
    ("failed with error 28", Around::Disk),
    ("error number is 28", Around::Disk),
    ("error number 28", Around::Disk),
    ("Cannot allocate memory", Around::Memory),
    ("Out of memory", Around::Memory),
];

/// What around a server kept it from starting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Around {
    /// There was no TCP port for it.
    Port,
    /// A disk is full.
    Disk,
    /// The machine had no memory for it.
    Memory,
    /// Somebody killed it, most likely the kernel for want of memory: Niagara did not, and no server does that to itself.
    Killed,
    /// It does not run where or as it was asked to: other CPUs, no huge pages.
    Setting,
    /// Niagara could not do its own part: a file of its own is missing, a folder cannot be made.
    Niagara,
    /// It was not waited for: a stop was asked for.
    Stopped,
}

/// A start that something around the server kept from being one: it says nothing of the server itself.
#[derive(Debug, thiserror::Error)]
#[error("{}", told.cause)]
pub(crate) struct AroundServer {
    /// What it was.
    pub what: Around,
    told: Explanation,
    #[source]
    cause: Option<anyhow::Error>,
}

niagara_error::remedied!(AroundServer, |error| error.told.clone());

impl AroundServer {
    pub(super) fn new(what: Around, told: impl Into<Explanation>) -> AroundServer {
        AroundServer {
            what,
            told: told.into(),
            cause: None,
        }
    }

    /// The same, for this reason.
    pub(super) fn because(self, cause: anyhow::Error) -> AroundServer {
        AroundServer {
            cause: Some(cause),
            ..self
        }
    }
}

impl Around {
    /// What around a server this error of its start is about; none where the server itself failed.
    pub fn of(error: &anyhow::Error) -> Option<Around> {
        if let Some(around) = error.find::<AroundServer>() {
            return Some(around.what);
        }
        if error.has::<DiskFull>() {
            return Some(Around::Disk);
        }
        if error.has::<Cancelled>() {
            return Some(Around::Stopped);
        }
        // A server fails by its end, its log or its answers, never by an error of the system here: Niagara itself met that one.
        error.find::<io::Error>().map(Around::met)
    }

    /// What Niagara met when it did its own part of a start.
    pub(super) fn met(error: &io::Error) -> Around {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Around::Disk,
            io::ErrorKind::OutOfMemory => Around::Memory,
            _ => Around::Niagara,
        }
    }

    /// What ended a server that was starting, by how it ended, what its log says, and whether the kernel has killed somebody for want
    /// of memory since it was started; none where it was the server itself.
    pub(super) fn behind(status: ExitStatus, log: &str, memory_ran_out: bool) -> Option<Around> {
        // In errors alone: of what it can do without (memory, a port for another kind of address) a server warns, and goes on.
        let mut errors = error_log::errors(log);
        if errors.any(|line| line.contains(PORT_TAKEN)) {
            return Some(Around::Port);
        }
        let said = error_log::errors(log).find_map(|line| {
            let mut known = SAID.iter();
            known.find(|(words, _)| line.contains(words))
        });
        said.map(|(_, around)| *around)
            .or_else(|| Around::killing(status, memory_ran_out))
    }

    /// What helps against it, where the same command may do better afterwards.
    fn remedy(self) -> Option<&'static str> {
        match self {
            Around::Memory => Some(
                "free memory or raise the control group's limit (memory.max, memory.limit_in_bytes), or give the server a smaller buffer pool",
            ),
            Around::Disk => Some("make room on that disk, then run the same command again"),
            Around::Killed => Some(
                "find what killed it (dmesg, an out-of-memory daemon), then run the same command again",
            ),
            Around::Port | Around::Setting | Around::Niagara | Around::Stopped => None,
        }
    }

    /// What happened, with what helps.
    pub(super) fn helped(self, told: Explanation) -> Explanation {
        match self.remedy() {
            Some(remedy) => told.remedy(remedy),
            None => told,
        }
    }

    /// What ended a server that somebody killed, as [`behind`](Self::behind) has it; none where nobody did.
    pub(super) fn killing(status: ExitStatus, memory_ran_out: bool) -> Option<Around> {
        is_killed(status).then_some(match memory_ran_out {
            true => Around::Memory,
            false => Around::Killed,
        })
    }
}

fn is_killed(status: ExitStatus) -> bool {
    status.signal() == Some(Signal::SIGKILL as i32)
}

/// How a server ended that Niagara did not end, in words; `memory_ran_out` as in [`Around::behind`].
pub(crate) fn how_it_ended(status: ExitStatus, memory_ran_out: bool) -> String {
    match (is_killed(status), memory_ran_out) {
        (true, true) => format!(
            "{status}: the kernel killed it, for no memory was left to its control group or to the machine"
        ),
        (true, false) => format!("{status}: somebody else killed it"),
        (false, _) => status.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn what_surrounds_a_server_is_known_behind_any_words() {
        let port = AroundServer::new(Around::Port, "it ended while starting".to_owned());
        let setting = AroundServer::new(Around::Setting, "not as asked\ncommand: x".to_owned())
            .because(anyhow!("it was to run on the CPUs [0] but may run on [1]"));
        let full = io::Error::from_raw_os_error(libc::ENOSPC);
        let missing = io::Error::from_raw_os_error(libc::ENOENT);
        for (error, around) in [
            (anyhow::Error::new(port), Some(Around::Port)),
            (setting.into(), Some(Around::Setting)),
            (Cancelled.into(), Some(Around::Stopped)),
            (full.into(), Some(Around::Disk)),
            (missing.into(), Some(Around::Niagara)),
            // Words alone are nothing to go by: a server may write them into its log.
            (anyhow!("{PORT_TAKEN}: not as asked"), None),
        ] {
            let error = error.context("server A").context("cannot be checked");
            assert_eq!(Around::of(&error), around, "{error:#}");
        }
    }

    #[test]
    fn why_it_was_not_as_asked_is_its_cause() {
        let error = AroundServer::new(Around::Setting, "not as asked".to_owned())
            .because(anyhow!("its memory is not locked"));
        let error = anyhow::Error::new(error);
        assert_eq!(
            error.explain().to_string(),
            "not as asked: its memory is not locked"
        );
        assert_eq!(error.root_cause().to_string(), "its memory is not locked");
    }

    #[test]
    fn a_server_that_ended_by_itself_is_told_from_one_that_the_machine_ended() {
        let ended =
            |signal: i32, log: &str| Around::behind(ExitStatus::from_raw(signal), log, false);
        let exit = 1 << 8;
        for (signal, log, around) in [
            (
                exit,
                "[ERROR] Can't start server: Bind on TCP/IP port: Address already in use",
                Some(Around::Port),
            ),
            (
                exit,
                "[ERROR] InnoDB: Error number 28 means 'No space left on device'",
                Some(Around::Disk),
            ),
            (
                exit,
                "[ERROR] InnoDB: preallocating 1073741824 bytes for file ./ib_logfile101 failed with error 28",
                Some(Around::Disk),
            ),
            (
                exit,
                "[ERROR] InnoDB: Failure of system call pwrite(). Operating system error number is 28.",
                Some(Around::Disk),
            ),
            (
                6,
                "[ERROR] InnoDB: Cannot allocate memory for the buffer pool",
                Some(Around::Memory),
            ),
            (
                9,
                "[Note] InnoDB: Starting crash recovery",
                Some(Around::Killed),
            ),
            // What it does without is no reason to end.
            (
                6,
                "[Warning] io_uring_queue_init() failed: Cannot allocate memory\n[ERROR] mariadbd got signal 6 ;",
                None,
            ),
            // Its port for the other kind of address was taken: it went on, and ended for something else.
            (
                exit,
                "[Warning] Failed to create a socket for IPv6 '::': Address already in use\n[ERROR] InnoDB: corruption",
                None,
            ),
            (exit, "[ERROR] InnoDB: Database page corruption", None),
            (11, "", None),
        ] {
            assert_eq!(ended(signal, log), around, "{signal} {log}");
        }
    }

    #[test]
    fn whom_the_kernel_killed_is_told_from_whom_somebody_killed() {
        let status = |signal: i32| ExitStatus::from_raw(signal);
        let note = "[Note] InnoDB: Starting crash recovery";
        for (signal, memory_ran_out, around) in [
            (9, true, Some(Around::Memory)),
            (9, false, Some(Around::Killed)),
            // That somebody else was killed meanwhile explains nothing.
            (11, true, None),
            (0, true, None),
        ] {
            assert_eq!(Around::behind(status(signal), note, memory_ran_out), around);
            assert_eq!(Around::killing(status(signal), memory_ran_out), around);
        }
        assert!(how_it_ended(status(9), true).contains("the kernel killed it"));
        assert!(how_it_ended(status(9), false).contains("somebody else killed it"));
        assert_eq!(how_it_ended(status(11), true), status(11).to_string());
    }
}
