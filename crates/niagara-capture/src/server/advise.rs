//! What a capture would set, cost and miss, said before anything is changed.

use std::path::Path;

use serde::Serialize;

use super::connection::Connection;
use super::product::Product;
use super::wanted::{Change, wanted};

/// What to do by hand, or what `start` would do.
#[derive(Debug, Clone, Serialize)]
pub struct Advice {
    /// The server's version.
    pub version: String,
    /// What to set, in this order.
    pub set: Vec<String>,
    /// What undoes it, in this order.
    pub undo: Vec<String>,
    /// The changes, with reasons.
    pub changes: Vec<Change>,
    /// What a capture misses all the same.
    pub misses: Vec<String>,
    /// What else should be known.
    pub notes: Vec<String>,
    /// The privileges of the account do not suffice.
    pub may_not_set: bool,
}

/// What to set on a server so that `file` has every statement. Changes nothing.
///
/// # Errors
/// What the server says.
pub fn advise(connection: &mut dyn Connection, file: &str) -> Result<Advice, String> {
    let product = Product::ask(connection)?;
    let wanted = wanted(&product, file);
    let mut notes = Vec::new();
    notes.push(sessions(connection)?);
    notes.push(rate(connection)?);
    notes.extend(disk(file));
    notes.extend(standing(&product));
    let may_not_set = !may_set(connection)?;
    Ok(Advice {
        version: product.version.clone(),
        set: wanted.changes.iter().map(Change::set).collect(),
        undo: wanted.changes.iter().rev().map(Change::unset).collect(),
        changes: wanted.changes,
        misses: wanted.misses,
        notes,
        may_not_set,
    })
}

fn status(connection: &mut dyn Connection, name: &str) -> Result<Option<f64>, String> {
    let rows = connection.rows(&format!("SHOW GLOBAL STATUS LIKE '{name}'"))?;
    Ok(rows
        .into_iter()
        .next()
        .and_then(|row| row.into_iter().nth(1).flatten())
        .and_then(|value| value.parse().ok()))
}

fn sessions(connection: &mut dyn Connection) -> Result<String, String> {
    let connected = status(connection, "Threads_connected")?.unwrap_or(0.0);
    Ok(format!(
        "{connected:.0} sessions are connected now, this one among them"
    ))
}

/// What a second of the log would be, by what the server has answered since its start.
fn rate(connection: &mut dyn Connection) -> Result<String, String> {
    let questions = status(connection, "Questions")?.unwrap_or(0.0);
    let uptime = status(connection, "Uptime")?.unwrap_or(1.0).max(1.0);
    Ok(format!(
        "the server answers {:.1} statements a second in the mean since its start; each is one write of the log, its text and \
         some 300 bytes, so some {:.0} kB a second without the texts",
        questions / uptime,
        questions / uptime * 0.3
    ))
}

/// The space that is free where the log goes, if the folder can be seen from here.
fn disk(file: &str) -> Option<String> {
    let folder = Path::new(file).parent()?;
    let free = free_bytes(folder)?;
    Some(format!(
        "{:.1} GB are free in {} as this machine sees it",
        free as f64 / 1e9,
        folder.display()
    ))
}

/// Bytes that are free in a folder, if it can be seen.
pub(super) fn free_bytes(folder: &Path) -> Option<u64> {
    let stat = nix::sys::statvfs::statvfs(folder).ok()?;
    Some(stat.blocks_available() * stat.fragment_size())
}

fn standing(product: &Product) -> Vec<String> {
    let mut notes = Vec::new();
    if product.variable("slow_query_log") == Some("ON") {
        notes.push(format!(
            "the slow log is on already and goes to {}: for the time of the capture its entries go to the capture's file",
            product.variable("slow_query_log_file").unwrap_or("?")
        ));
    }
    if product.variable("general_log") == Some("ON") {
        notes.push(
            "the general log is on: it costs more than the slow log, and could be imported instead"
                .to_owned(),
        );
    }
    if product
        .variable("sql_mode")
        .is_some_and(|mode| mode.contains("NO_BACKSLASH_ESCAPES"))
    {
        notes.push(
            "sql_mode has NO_BACKSLASH_ESCAPES: import with --sql-mode NO_BACKSLASH_ESCAPES"
                .to_owned(),
        );
    }
    notes
}

/// Whether the account may set global variables, for all that its grants say.
fn may_set(connection: &mut dyn Connection) -> Result<bool, String> {
    let grants = connection.rows("SHOW GRANTS")?;
    // Roles and future names of privileges may allow it too: only a list without any of these is a no.
    Ok(grants.into_iter().flatten().flatten().any(|grant| {
        [
            "ALL PRIVILEGES ON *.*",
            "SUPER",
            "SYSTEM_VARIABLES_ADMIN",
            "SLOW",
            "LOG ADMIN",
            "TO `role",
        ]
        .iter()
        .any(|word| grant.contains(word))
    }))
}
