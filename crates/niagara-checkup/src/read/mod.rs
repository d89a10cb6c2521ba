//! From a running server to facts. Only SELECT and SHOW are sent, and SET for the limits of the own session.
//!
//! Counters are read first, tables next, then the server is watched until the time is over: what the checkup does itself is not in
//! the counters since the start, and is taken off those of the window.

mod catalog;
mod host;
mod privileges;
mod reader;
mod replication;
mod server;
mod statements;
mod window;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use jiff::civil::Date;
use niagara_load::{Admin, Transport};
use niagara_server::Cancelled;

use crate::facts::{Facts, Window};
use crate::gap::{Gap, GapCause, MissingPart};
use privileges::Privileges;
use reader::{Reader, Refusal};

/// Time for each part that is not the window, at most: a server that answers at once takes a tenth of a second for all.
const PART: Duration = Duration::from_secs(5);
/// The window is at least this part of the time.
const WATCHED: f64 = 0.5;

/// Where and for how long.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// The address as the user may write it.
    pub address: &'a str,
    /// The options of the command line by which another command logs in likewise, each a word.
    pub login: &'a [String],
    /// The way to the server.
    pub transport: &'a Transport,
    /// The day, which decides whether a release is past its end.
    pub today: Date,
    /// How long it may take.
    pub length: Duration,
    /// Set by whoever wants it to end.
    pub stop: &'a AtomicBool,
}

/// Reads a server.
///
/// # Errors
/// The connection is lost; the server does not say what it is; it was stopped.
pub fn read(admin: &mut Admin, request: &Request<'_>) -> Result<Facts> {
    let began = Instant::now();
    let mut reader = Reader::new(admin, began + PART * 2);
    let server = server::identify(&mut reader)?;
    let ends_statements = reader.limit(server.family.is_mariadb())?;
    let (variables, since_start) = server::settings(&mut reader)?;
    let choices = server::choices(&mut reader, server.family)?;
    let mut options = server::options(&mut reader, &server)?;
    let privileges = Privileges::read(&mut reader)?;
    let mut gaps = Vec::new();
    let host = match host::Process::behind(request.transport) {
        Ok(process) => Some(process),
        Err(error) => {
            gaps.push(Gap {
                part: MissingPart::Host,
                cause: GapCause::NotSeen {
                    message: format!("{error:#}"),
                },
            });
            None
        }
    };
    if let Some(process) = &host {
        options.usual = process.option_file(server.family.is_mariadb());
        if !process.is_memory_seen {
            gaps.push(Gap {
                part: MissingPart::Memory,
                cause: GapCause::GroupNotSeen,
            });
        }
    }
    let source = Source {
        server: &server,
        variables: &variables,
        privileges: &privileges,
        ends_statements,
    };
    reader.extend(Instant::now() + PART);
    let catalog = catalog::read(&mut reader, &source, &mut gaps)?;
    let channels = replication::read(&mut reader, &source, &mut gaps)?;
    let least = Instant::now() + request.length.mul_f64(WATCHED);
    let end = least.max(began + request.length);
    let window = window::watch(&mut reader, &source, host.as_ref(), (end, request.stop))?;
    if request.stop.load(Ordering::Relaxed) {
        return Err(Cancelled.into());
    }
    reader.extend(Instant::now() + PART);
    let statements = statements::read(&mut reader, &source, &mut gaps)?;
    let channels = match channels.is_empty() {
        true => channels,
        // A replica that catches up, or connects again, is none that stands still.
        false => replication::steady(
            channels,
            &replication::read(&mut reader, &source, &mut Vec::new())?,
        ),
    };
    if !privileges.may("PROCESS") {
        gaps.push(privileges.gap(MissingPart::Connections, "PROCESS ON *.*"));
    }
    Ok(Facts {
        address: request.address.to_owned(),
        login: request.login.to_vec(),
        needs_root: host.as_ref().is_some_and(host::Process::needs_root),
        host: host.map(|process| process.facts()),
        window: Window {
            // The own statements are a part of the sum.
            statement_seconds: window
                .statement_seconds
                .map(|seconds| (seconds - window.own_seconds).max(0.0)),
            ..window.window
        },
        server,
        variables,
        choices,
        options,
        since_start,
        catalog,
        statements,
        channels,
        today: request.today,
        gaps,
    })
}

/// What decides how a part is read.
struct Source<'f> {
    server: &'f crate::facts::Server,
    variables: &'f crate::facts::Variables,
    privileges: &'f Privileges,
    /// The server ends a statement that takes too long.
    ends_statements: bool,
}

impl Source<'_> {
    fn is_mariadb(&self) -> bool {
        self.server.family.is_mariadb()
    }

    /// Whether it keeps definitions of tables in files, not in a dictionary: it opens them for what is asked of tables.
    fn has_table_files(&self) -> bool {
        self.is_mariadb() || self.server.version.is_before(8, 0)
    }
}

/// A part that was read, or a gap in its place.
fn part<T>(
    read: Result<T, Refusal>,
    part: MissingPart,
    privileges: &Privileges,
    privilege: &str,
    gaps: &mut Vec<Gap>,
) -> Result<Option<T>> {
    let cause = match read {
        Ok(read) => return Ok(Some(read)),
        Err(Refusal::Lost(error)) => return Err(error.into()),
        Err(Refusal::Privilege) => {
            gaps.push(privileges.gap(part, privilege));
            return Ok(None);
        }
        Err(Refusal::NoTime) => GapCause::NoTime,
        Err(Refusal::Other { error, message }) => GapCause::Refused { error, message },
    };
    gaps.push(Gap { part, cause });
    Ok(None)
}
