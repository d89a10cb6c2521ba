//! Connections that were opened during a capture and outlast it.

use super::apply::Outcome;
use super::connection::Connection;
use super::state::{State, Status};

/// Users of connections that no application has opened.
const SERVERS_OWN: [&str; 3] = ["system user", "event_scheduler", "mysql.session"];

/// Connections that were opened during a capture and are there still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Left {
    /// How many.
    pub connections: u64,
    /// The account sees those of others too.
    pub sees_all: bool,
    /// Their numbers are above this one.
    pub above: u64,
    /// And below this one, where the end of the capture is known.
    pub below: Option<u64>,
}

/// The number of a connection; none where the server does not say.
pub(super) fn number_of(connection: &mut dyn Connection) -> Option<u64> {
    connection
        .value("SELECT CONNECTION_ID()")
        .ok()
        .flatten()
        .and_then(|number| number.parse().ok())
}

/// Connections that keep what the capture had set; none where none can, or where it is not known.
///
/// # Errors
/// What the server says.
pub fn left(connection: &mut dyn Connection, state: &State) -> Result<Option<Left>, String> {
    let (Some(_), Some(above)) = (&state.outlasting, state.first_connection) else {
        return Ok(None);
    };
    // A server that was restarted has other connections, and the settings of its files.
    let undone = match &state.status {
        Status::Running => false,
        Status::Ended { outcomes, .. } => outcomes
            .iter()
            .any(|(_, outcome)| *outcome == Outcome::Restored),
    };
    if !undone {
        return Ok(None);
    }
    let below = state.last_connection;
    let own = number_of(connection);
    let rows = connection.rows("SHOW PROCESSLIST")?;
    let numbers = rows.iter().filter_map(|row| application(row));
    let connections = numbers
        .filter(|&number| number > above && below.is_none_or(|below| number < below))
        .filter(|&number| Some(number) != own)
        .count() as u64;
    let grants = connection.rows("SHOW GRANTS")?;
    let sees_all = grants.iter().flatten().flatten().any(|grant| {
        grant.contains("ALL PRIVILEGES ON *.*")
            || (grant.contains("PROCESS") && grant.contains(" ON *.*"))
    });
    Ok(Some(Left {
        connections,
        sees_all,
        above,
        below,
    }))
}

/// The number of an application's connection, of a row of the process list.
fn application(row: &[Option<String>]) -> Option<u64> {
    let user = row.get(1)?.as_deref().unwrap_or_default();
    if SERVERS_OWN.contains(&user) {
        return None;
    }
    row.first()?.as_deref()?.parse().ok()
}
