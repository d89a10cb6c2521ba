//! The load's own client as the connection of a capture.

use std::time::Duration;

use niagara_capture::server::{Connection, Refusal, Row};
use niagara_error::Explanation;
use niagara_load::{Admin, Endpoint};

/// Bound on every answer: undoing has to be quick, and is tried again.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A server's refusal with what to do about it.
pub fn refused(error: impl Into<Explanation>) -> anyhow::Error {
    let error = error.into();
    match error.remedies.is_empty() {
        false => error.into(),
        true => error.remedy(
            "check that it is a server of the MySQL family and what the account may do (SHOW GRANTS), and look at the server's \
             error log",
        )
        .into(),
    }
}

/// A connection of the load's client.
pub struct AdminConnection(pub Admin);

impl Connection for AdminConnection {
    fn rows(&mut self, sql: &str) -> Result<Vec<Row>, Refusal> {
        self.0.rows(sql).map_err(|error| Refusal {
            code: error.server_code(),
            message: error.to_string(),
        })
    }
}

impl AdminConnection {
    /// Connects.
    ///
    /// # Errors
    /// No server there, or it refuses the account.
    pub fn to(endpoint: &Endpoint) -> Result<AdminConnection, String> {
        match Admin::connect(endpoint, TIMEOUT) {
            Ok(admin) => Ok(AdminConnection(admin)),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Connects.
///
/// # Errors
/// No server there, or it refuses the account.
pub fn connect(endpoint: &Endpoint) -> Result<Box<dyn Connection>, String> {
    let connection = AdminConnection::to(endpoint)?;
    Ok(Box::new(connection))
}
