//! Watches a live server while a run shares its host, and ends the run when it has to.
//!
//! The session is the watch's own and read only. It sends two SHOW statements a second, for which an account needs no privilege.

use std::fmt::{Display, Formatter};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use niagara_load::Admin;
use niagara_server::Cancel;
use nix::sys::statvfs::statvfs;

use super::rule::{LoadRule, Rise, Second, WINDOW};

/// How often it looks.
const PERIOD: Duration = Duration::from_secs(1);
/// A server that takes longer for an answer cannot be reached.
pub const TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes that stay free on the disks that the run writes to: the live server may write to them, too.
pub const MIN_FREE: u64 = 1 << 30;

/// Why a run ends for the live server's sake.
#[derive(Debug, Clone, PartialEq)]
pub enum StopReason {
    /// It is busier than before the run.
    Busier(Rise),
    /// It cannot be reached any more.
    Lost {
        /// What the connection says.
        cause: String,
    },
    /// A disk that the run writes to is nearly full.
    DiskNearlyFull {
        /// A folder on it.
        folder: PathBuf,
        /// Bytes.
        free: u64,
    },
}

impl Display for StopReason {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Busier(rise) => write!(
                f,
                "the live server is busier: {} is {:.1} on average over {WINDOW} s, was {:.1} before the run, and may be {:.1}",
                rise.gauge, rise.mean, rise.before, rise.limit
            ),
            Self::Lost { cause } => write!(f, "the live server does not answer: {cause}"),
            Self::DiskNearlyFull { folder, free } => write!(
                f,
                "the disk of {} has {} MB free, and {} MB stay for the live server",
                folder.display(),
                free >> 20,
                MIN_FREE >> 20
            ),
        }
    }
}

/// What the watch and the run tell each other.
#[derive(Debug, Default)]
struct State {
    reason: Option<StopReason>,
    /// What ends the parts of the run that have begun.
    parts: Vec<Cancel>,
}

/// A watch that has begun.
#[derive(Debug)]
pub struct Watch {
    state: Arc<Mutex<State>>,
    end: Sender<()>,
    thread: JoinHandle<()>,
}

impl Watch {
    /// Looks at the server for a while, and watches it from then on. The rule says what its load was.
    ///
    /// # Errors
    /// It cannot be reached; a disk is nearly full already.
    pub fn begin(mut admin: Admin, disks: Vec<PathBuf>) -> Result<(Self, LoadRule)> {
        admin.rows("SET SESSION TRANSACTION READ ONLY")?;
        // What it asks is none of the slow statements. A server that does not take this only counts two more a second, before and after.
        let _ = admin.rows("SET SESSION long_query_time = 3600");
        let state = Arc::<Mutex<State>>::default();
        let (end, ended) = channel();
        let (tell, told) = channel();
        let shared = Arc::clone(&state);
        let thread = std::thread::Builder::new()
            .name("live-server".to_owned())
            .spawn(move || {
                let mut server = LiveServer::new(admin);
                let reason = observe(&mut server, &disks, &ended, &tell);
                // A server counts a client that goes without a word.
                server.admin.quit();
                let Some(reason) = reason else { return };
                let mut state = lock(&shared);
                if state.parts.is_empty() {
                    tell!("\nstopped: {reason}. Nothing was measured yet");
                    // As after a second Ctrl-C: a pack that is being unpacked, say, goes at the next start.
                    std::process::exit(1);
                }
                tell!("\nstopping: {reason}; keeping what was measured");
                state.parts.iter().for_each(Cancel::cancel);
                state.reason = Some(reason);
            })
            .context("cannot start the thread that watches the live server")?;
        let before = told
            .recv()
            .context("the thread that watches the live server is lost")?;
        let rule = before.map_err(|reason| anyhow!("{reason}; nothing was started"))?;
        let watch = Self { state, end, thread };
        Ok((watch, rule))
    }

    /// Has `part` of the run end when the live server wants it.
    pub fn ends(&self, part: &Cancel) {
        let mut state = lock(&self.state);
        if state.reason.is_some() {
            part.cancel();
        }
        state.parts.push(part.clone());
    }

    /// Ends it; why it ended the run, if it did.
    pub fn end(self) -> Option<StopReason> {
        drop(self.end);
        // One that panicked has said so.
        let _ = self.thread.join();
        lock(&self.state).reason.take()
    }
}

/// What somebody left who panicked is whole: nothing is done in between.
fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Watches until it is told to end, or finds a reason to end the run. `tell` gets the rule, or why there is none.
fn observe(
    server: &mut LiveServer,
    disks: &[PathBuf],
    ended: &Receiver<()>,
    tell: &Sender<Result<LoadRule, StopReason>>,
) -> Option<StopReason> {
    let mut before = Vec::new();
    let mut look = || match nearly_full(disks, MIN_FREE) {
        Some(reason) => Err(reason),
        None => server.second(),
    };
    // The first one only says where the counters stand.
    let mut seen = look();
    while before.len() < WINDOW && seen.is_ok() {
        if !pause(ended) {
            return None;
        }
        seen = look();
        before.extend(seen.iter().copied());
    }
    if let Err(reason) = seen {
        // Whoever asked has gone where it cannot be told.
        let _ = tell.send(Err(reason));
        return None;
    }
    let mut rule = LoadRule::of(&before);
    tell.send(Ok(rule.clone())).ok()?;
    while pause(ended) {
        let reason = match look() {
            Ok(second) => rule.see(second).map(StopReason::Busier),
            Err(reason) => Some(reason),
        };
        if reason.is_some() {
            return reason;
        }
    }
    None
}

/// Waits for the next look; not when the watch is to end.
fn pause(ended: &Receiver<()>) -> bool {
    ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout)
}

/// That one of the disks has fewer than `least` bytes free.
fn nearly_full(disks: &[PathBuf], least: u64) -> Option<StopReason> {
    disks.iter().find_map(|folder| {
        let disk = statvfs(folder).ok()?;
        let free = disk.blocks_available() * disk.fragment_size();
        (free < least).then(|| StopReason::DiskNearlyFull {
            folder: folder.clone(),
            free,
        })
    })
}

/// The server, and what its counter of slow statements was when.
struct LiveServer {
    admin: Admin,
    slow: (u64, Instant),
}

impl LiveServer {
    fn new(admin: Admin) -> Self {
        Self {
            admin,
            slow: (0, Instant::now()),
        }
    }

    /// The time since it was asked last.
    fn second(&mut self) -> Result<Second, StopReason> {
        // One of the threads is that of this session.
        let running = self.counter("Threads_running")?.saturating_sub(1);
        let slow = (self.counter("Slow_queries")?, Instant::now());
        let (before, at) = std::mem::replace(&mut self.slow, slow);
        let seconds = (slow.1 - at).as_secs_f64().max(PERIOD.as_secs_f64());
        Ok(Second {
            running: running as f64,
            slow: slow.0.saturating_sub(before) as f64 / seconds,
        })
    }

    fn counter(&mut self, name: &str) -> Result<u64, StopReason> {
        let lost = |cause: String| StopReason::Lost {
            cause: cause.lines().next().unwrap_or_default().to_owned(),
        };
        let rows = self
            .admin
            .rows(&format!("SHOW GLOBAL STATUS LIKE '{name}'"))
            .map_err(|error| lost(error.to_string()))?;
        rows.first()
            .and_then(|row| row.get(1)?.as_deref()?.parse().ok())
            .ok_or_else(|| lost(format!("it has no status variable {name}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_with_too_little_room_is_named() {
        let disks = [PathBuf::from("/nonexistent"), PathBuf::from("/")];
        assert_eq!(nearly_full(&disks, 0), None);
        let reason = nearly_full(&disks, u64::MAX).expect("less than all");
        let StopReason::DiskNearlyFull { folder, .. } = &reason else {
            panic!("{reason}");
        };
        assert_eq!(*folder, PathBuf::from("/"));
        assert!(reason.to_string().contains("the disk of / has"), "{reason}");
    }
}
