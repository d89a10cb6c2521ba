//! One side of a duel: a server on a clone of its own, and what can go wrong with it.

use std::time::Duration;

use niagara_error::{Explain as _, Explanation, anyhow};
use niagara_load::LoadError;
use niagara_server::{Cancelled, RunningServer, WorkFolder};

use crate::duels::workbench::Workbench;

/// Why a duel could not be run to its end.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// One side did not start or did not survive: a result about that side.
    Side { side: usize, reason: Explanation },
    /// The duel cannot be run here, or was stopped: no result.
    Fatal(anyhow::Error),
}

impl From<anyhow::Error> for Trouble {
    fn from(error: anyhow::Error) -> Self {
        Self::Fatal(error)
    }
}

impl From<Cancelled> for Trouble {
    fn from(cancelled: Cancelled) -> Self {
        Self::Fatal(cancelled.into())
    }
}

/// A server of a duel.
pub(crate) struct Seat {
    /// 0 = A, 1 = B.
    pub side: usize,
    pub server: RunningServer,
    /// Dropped after the server: its folder goes when nothing uses it any more.
    pub _clone: WorkFolder,
}

impl Seat {
    /// CPU time and context switches of the server so far.
    pub(crate) fn usage(&self) -> Result<(Duration, u64), Trouble> {
        let usage = || Ok((self.server.cpu_time()?, self.server.context_switches()?));
        usage().map_err(|error| self.trouble(error))
    }

    /// Lets the server run on.
    pub(crate) fn thaw(&self) -> Result<(), Trouble> {
        self.server.thaw().map_err(|error| self.trouble(error))
    }

    /// Stops it until it is let run on.
    pub(crate) fn freeze(&self) -> Result<(), Trouble> {
        self.server.freeze().map_err(|error| self.trouble(error))
    }

    /// An error while handling a server that has ended is that side's; any other is ours.
    pub(crate) fn trouble(&self, error: anyhow::Error) -> Trouble {
        match self.end() {
            None => Trouble::Fatal(error),
            Some(reason) => Trouble::Side {
                side: self.side,
                reason,
            },
        }
    }

    /// What there is to say where the server has ended.
    fn end(&self) -> Option<Explanation> {
        self.server.end_in_words()
    }
}

/// A failure of one side; called while its clone is still there, for a full disk is nobody's failure, nor is a stop.
pub(crate) fn side_trouble(bench: &Workbench, side: usize, error: &anyhow::Error) -> Trouble {
    if error.has::<Cancelled>() {
        return Cancelled.into();
    }
    // What runs is noted in the cache, which may be on another disk.
    if let Err(full) = bench.check_disk().and_then(|()| bench.check_cache_disk()) {
        return Trouble::Fatal(full);
    }
    Trouble::Side {
        side,
        reason: error.explain(),
    }
}

/// A failure of the load generator: of the side that it speaks of, where it speaks of one.
pub(crate) fn load_trouble(bench: &Workbench, error: LoadError, seats: &[Seat]) -> Trouble {
    if let Err(full) = bench.check_disk() {
        return Trouble::Fatal(full);
    }
    match error {
        LoadError::Cancelled => Cancelled.into(),
        error => match seat_of(&error, seats) {
            Some(seat) if is_the_ways(bench, &error, &seat.server) => {
                Trouble::Fatal(way_failed(bench, &error))
            }
            Some(seat) => {
                let reason = match seat.end() {
                    Some(end) => Explanation::new(error.to_string()).with(end),
                    None => error.explanation(),
                };
                Trouble::Side {
                    side: seat.side,
                    reason,
                }
            }
            None => Trouble::Fatal(error.into()),
        },
    }
}

/// Whether a connection from the client host failed though the server answers on its own: a way that is closed, or that leads
/// elsewhere, says nothing of a server. The account is for the client's address (1045, 1130, 1698).
pub(crate) fn is_the_ways(bench: &Workbench, error: &LoadError, server: &RunningServer) -> bool {
    if !matches!(error, LoadError::Connect { .. }) {
        return false;
    }
    let is_the_ways = matches!(error.server_code(), None | Some(1045 | 1130 | 1698));
    bench.client().is_some() && is_the_ways && server.query("SELECT 1").is_ok()
}

/// What there is to say then.
pub(crate) fn way_failed(bench: &Workbench, error: &LoadError) -> anyhow::Error {
    let client = bench
        .client()
        .map_or("the client host", |client| client.name());
    anyhow!(
        "{error}\ncause: the server answers on this host, so that the way from {client} to it is at fault";
        remedy: "let {client} through to all ports that this host gives out (sysctl net.ipv4.ip_local_port_range), from an \
         address that stays the same"
    )
}

/// An error while handling several servers: that side's whose server has ended; ours if none has.
pub(crate) fn trouble_of(error: anyhow::Error, seats: &[Seat]) -> Trouble {
    match seats.iter().find(|seat| !seat.server.is_alive()) {
        Some(seat) => seat.trouble(error),
        None => Trouble::Fatal(error),
    }
}

/// The seat that an error of the load generator speaks of.
fn seat_of<'s>(error: &LoadError, seats: &'s [Seat]) -> Option<&'s Seat> {
    match error {
        LoadError::ServerLost { side, .. }
        | LoadError::Statement { side, .. }
        | LoadError::Data { side, .. } => seats.get(*side),
        // A server that does not take its connections is known by its address.
        LoadError::Connect { endpoint, .. } => seats.iter().find(|seat| {
            endpoint.contains(&seat.server.socket().display().to_string())
                || endpoint.contains(&seat.server.tcp().to_string())
        }),
        _ => None,
    }
}
