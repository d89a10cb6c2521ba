//! A capture as JSON lines.

use std::io::Write;
use std::path::Path;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::CaptureError;
use crate::file::{CaptureReader, Dictionary, Event, EventKind, Transaction};
use crate::sql::{Class, restore};

/// An event of a capture.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExportedEvent<'a> {
    /// The session's number.
    session: u64,
    /// What happened.
    kind: EventKind,
    /// When it began, UTC.
    start: String,
    /// The same, in microseconds since 1970.
    start_us: i64,
    /// Whether that is to the microsecond: some logs have seconds.
    exact: bool,
    /// How long it took, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_us: Option<u64>,
    /// How long it waited for locks, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    lock_us: Option<u64>,
    /// Rows that were sent to the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows_sent: Option<u64>,
    /// Rows that the server looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows_examined: Option<u64>,
    /// Rows that it changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows_affected: Option<u64>,
    /// The server's number of the error that it ended with.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<u32>,
    /// Whose session it was.
    user: std::borrow::Cow<'a, str>,
    /// The database in use.
    database: std::borrow::Cow<'a, str>,
    /// What the client has said at its login.
    #[serde(skip_serializing_if = "str::is_empty")]
    client: std::borrow::Cow<'a, str>,
    /// Where in a transaction it was; not there outside of one.
    #[serde(skip_serializing_if = "is_alone")]
    transaction: Transaction,
    /// What kind of statement.
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<Class>,
    /// The number of its digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    /// Its text; without `--literals` that of its digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    statement: Option<std::borrow::Cow<'a, str>>,
    /// The bytes of a statement that is no UTF-8, in hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    statement_hex: Option<String>,
}

fn is_alone(transaction: &Transaction) -> bool {
    !transaction.inside
}

/// Writes a line of JSON for every event. Without `literals` a statement is the text of its digest.
///
/// # Errors
/// The capture cannot be read or is damaged; `out` cannot be written, with the name `to`.
pub fn export(
    path: &Path,
    out: &mut impl Write,
    literals: bool,
    to: &Path,
) -> Result<u64, CaptureError> {
    let mut events = 0;
    let mut statement = Vec::new();
    CaptureReader::open(path)?.for_each(|event, dictionary| {
        statement.clear();
        if literals && let Some(id) = event.template {
            // As many parts as places: the reader has looked.
            let _ = restore(
                &dictionary.template(id).skeleton,
                event.parts(),
                &mut statement,
            );
        }
        let line = line(event, dictionary, literals.then_some(&statement[..]));
        serde_json::to_writer(&mut *out, &line)
            .map_err(std::io::Error::from)
            .and_then(|()| out.write_all(b"\n"))
            .map_err(CaptureError::file("write", to))?;
        events += 1;
        Ok::<(), CaptureError>(())
    })?;
    out.flush().map_err(CaptureError::file("write", to))?;
    Ok(events)
}

fn line<'a>(
    event: &Event<'_>,
    dictionary: &'a Dictionary,
    statement: Option<&'a [u8]>,
) -> ExportedEvent<'a> {
    let digest = event
        .template
        .map(|id| dictionary.digest(dictionary.template(id).digest));
    let shown = digest.map(|digest| statement.unwrap_or(&digest.text));
    let measured = event.measured;
    ExportedEvent {
        session: event.place.session,
        kind: event.kind,
        start: Timestamp::from_microsecond(event.place.start_us)
            .map(|time| time.to_string())
            .unwrap_or_default(),
        start_us: event.place.start_us,
        exact: event.place.exact,
        duration_us: measured.duration_us,
        lock_us: measured.lock_us,
        rows_sent: measured.rows_sent,
        rows_examined: measured.rows_examined,
        rows_affected: measured.rows_affected,
        error: measured.error,
        user: String::from_utf8_lossy(dictionary.name(event.user)),
        database: String::from_utf8_lossy(dictionary.name(event.database)),
        client: String::from_utf8_lossy(dictionary.name(event.client)),
        transaction: event.transaction,
        class: digest.map(|_| event.class),
        digest: digest.map(|digest| digest.digest.to_string()),
        statement: shown.map(String::from_utf8_lossy),
        statement_hex: shown
            .filter(|bytes| std::str::from_utf8(bytes).is_err())
            .map(hex::encode),
    }
}
