//! Which server it is, whatever address it is reached at: two captures of one server would undo each other's settings.

use niagara_error::{Explanation, problem};

use super::connection::Connection;

/// What the server says of itself: its machine, its data directory, and the number that it has given itself, where it has one.
///
/// # Errors
/// What the server says.
pub fn identity(connection: &mut dyn Connection) -> Result<String, Explanation> {
    let rows = connection.rows(
        "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('hostname', 'datadir', 'server_uuid', 'server_uid')",
    )?;
    let mut said: Vec<String> = rows
        .into_iter()
        .filter_map(|row| {
            let mut values = row.into_iter();
            Some(format!("{}={}", values.next()??, values.next()??))
        })
        .collect();
    if said.is_empty() {
        return Err(problem!(
            "the server does not say its data directory";
            remedy: "check that it is a server of the MySQL family"
        )
        .into());
    }
    said.sort();
    Ok(said.join("\n"))
}
