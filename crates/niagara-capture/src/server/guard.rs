//! The guardian: a process of its own session that makes the changes, watches over them and undoes them, whatever
//! becomes of the command that started it.

use std::fs;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::advise::free_bytes;
use super::apply::{Outcome, apply, restore};
use super::connection::Connection;
use super::end::End;
use super::state::{Process, State, Status};
use crate::file::{ASK_COUNTS, ServerCounts};

/// How often the log's length and the disk are checked.
const STEP: Duration = Duration::from_millis(100);

/// How long undoing is tried again while the server cannot be reached.
const RESTORE_FOR: Duration = Duration::from_secs(600);

/// What a capture may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Longest log, in bytes.
    pub log_bytes: u64,
    /// Least free space on its disk, in bytes.
    pub free_bytes: u64,
    /// Longest time, in seconds.
    pub seconds: u64,
}

/// What the command says to the guardian, a line each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// End it.
    Stop,
    /// Continue without the command.
    Detach,
}

impl Order {
    /// The line that says it.
    pub fn line(self) -> &'static str {
        match self {
            Order::Stop => "stop",
            Order::Detach => "detach",
        }
    }
}

/// What a guardian watches over.
#[derive(Debug, Clone)]
pub struct Guard {
    /// What is changed, and the rest of what is on disk.
    pub state: State,
    /// Where that is.
    pub state_file: PathBuf,
    /// What it may take.
    pub limits: Limits,
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watched {
    /// Why it ended.
    pub end: End,
    /// What became of every variable.
    pub outcomes: Vec<(String, Outcome)>,
}

/// Makes the changes, says `on` on `out`, watches, undoes them. `connect` makes a connection; `stop` is set by signals. Orders
/// come as lines on `orders`, whose end is that of the command.
///
/// # Errors
/// The changes could not be made; then none is.
pub fn watch(
    mut guard: Guard,
    mut connect: impl FnMut() -> Result<Box<dyn Connection>, String>,
    orders: impl BufRead + Send + 'static,
    mut out: impl Write,
    stop: &AtomicBool,
) -> Result<Watched, String> {
    let mut connection = connect()?;
    guard.state.guardian = Some(Process::this());
    guard.state.status = Status::Running;
    let path = guard.state_file.clone();
    // Before anything is changed: whoever finds the file can undo it.
    let unwritten = |error: io::Error| format!("cannot write {}: {error}", path.display());
    guard.state.write(&path).map_err(unwritten)?;
    if let Err(error) = apply(connection.as_mut(), &guard.state.changes) {
        let _ = fs::remove_file(&path);
        return Err(error);
    }
    guard.state.counted_before = counts(connection.as_mut());
    let heard = listen(orders);
    let began = Instant::now();
    // A command that has gone already is noticed below.
    let _ = writeln!(out, "on").and_then(|()| out.flush());
    let end = wait(&guard, &heard, began, stop);
    let outcomes = restore_surely(connection, &mut connect, &guard.state);
    // The settings come first, and nothing depends on this.
    let counted = connect().ok().and_then(|mut fresh| counts(fresh.as_mut()));
    guard.state.counted = counted
        .zip(guard.state.counted_before)
        .and_then(|(now, before)| now.since(&before));
    guard.state.status = Status::Ended {
        end,
        outcomes: outcomes.clone(),
    };
    guard
        .state
        .write(&path)
        .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    Ok(Watched { end, outcomes })
}

/// What the server has counted; none where it does not say.
fn counts(connection: &mut dyn Connection) -> Option<ServerCounts> {
    let rows = connection.rows(ASK_COUNTS).ok()?;
    ServerCounts::of(|wanted| {
        let mut rows = rows.iter();
        rows.find_map(|row| match &row[..] {
            [Some(name), Some(value)] if name == wanted => value.parse().ok(),
            _ => None,
        })
    })
}

/// What is heard from the command.
enum Heard {
    Order(Order),
    Gone,
}

fn listen(orders: impl BufRead + Send + 'static) -> Receiver<Heard> {
    let (tell, heard) = channel();
    std::thread::spawn(move || {
        for line in orders.lines() {
            let order = match line.as_deref() {
                Ok("stop") => Order::Stop,
                Ok("detach") => Order::Detach,
                Ok(_) => continue,
                Err(_) => break,
            };
            if tell.send(Heard::Order(order)).is_err() {
                return;
            }
        }
        let _ = tell.send(Heard::Gone);
    });
    heard
}

/// Waits for a reason to end.
fn wait(guard: &Guard, heard: &Receiver<Heard>, began: Instant, stop: &AtomicBool) -> End {
    let mut alone = false;
    let mut seen = false;
    loop {
        match heard.recv_timeout(STEP) {
            Ok(Heard::Order(Order::Stop)) => return End::Asked,
            Ok(Heard::Order(Order::Detach)) => alone = true,
            Ok(Heard::Gone) | Err(RecvTimeoutError::Disconnected) if !alone => {
                return End::ParentGone;
            }
            // Nothing more is heard once the command has gone: this is the pause then.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(STEP),
            Ok(Heard::Gone) | Err(RecvTimeoutError::Timeout) => {}
        }
        if stop.load(Ordering::Relaxed) {
            return End::Asked;
        }
        if began.elapsed() >= Duration::from_secs(guard.limits.seconds) {
            return End::Time;
        }
        match fs::metadata(&guard.state.log) {
            Ok(metadata) if metadata.len() >= guard.limits.log_bytes => return End::Size,
            Ok(_) => seen = true,
            Err(_) if seen => return End::LogGone,
            Err(_) => {}
        }
        let folder = guard.state.log.parent().unwrap_or(Path::new("/"));
        if free_bytes(folder).is_some_and(|free| free < guard.limits.free_bytes) {
            return End::Disk;
        }
    }
}

/// Undoes the changes, on a new connection where the old one is lost, for as long as is sensible.
fn restore_surely(
    mut connection: Box<dyn Connection>,
    connect: &mut impl FnMut() -> Result<Box<dyn Connection>, String>,
    state: &State,
) -> Vec<(String, Outcome)> {
    let began = Instant::now();
    loop {
        let outcomes = restore(connection.as_mut(), &state.changes);
        if outcomes.iter().all(|(_, outcome)| outcome.is_settled())
            || began.elapsed() >= RESTORE_FOR
        {
            return outcomes;
        }
        // A server that was restarted has the settings of its files.
        loop {
            std::thread::sleep(STEP);
            if let Ok(fresh) = connect() {
                connection = fresh;
                break;
            }
            if began.elapsed() >= RESTORE_FOR {
                return outcomes;
            }
        }
    }
}
