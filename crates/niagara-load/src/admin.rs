//! A connection for statements whose rows are wanted: counters, variables, which tables there are.
//! Not for load: it blocks, and keeps what it reads.

use crate::endpoint::Endpoint;
use crate::error::LoadError;
use crate::protocol::ProtocolError;
use crate::protocol::packet::Fields;
use crate::session::{Session, SessionError};
use std::time::Duration;

/// The bytes that begin packets other than rows.
const OK: u8 = 0x00;
const LOCAL_FILE: u8 = 0xfb;
const EOF: u8 = 0xfe;
/// A NULL where a length would stand.
const NULL: u8 = 0xfb;

/// A row; `None` is NULL.
pub type Row = Vec<Option<String>>;

/// A connection for statements outside of the load, made as the load's own connections are.
#[derive(Debug)]
pub struct Admin {
    session: Session,
    endpoint: String,
    statements: u64,
}

impl Admin {
    /// Connects without choosing a database, which need not exist. `timeout` bounds every single wait.
    ///
    /// # Errors
    /// No server there, or it refuses the account.
    pub fn connect(endpoint: &Endpoint, timeout: Duration) -> Result<Admin, LoadError> {
        let session =
            Session::connect(endpoint, None, timeout).map_err(|error| LoadError::Connect {
                endpoint: endpoint.to_string(),
                cause: error.to_string(),
            })?;
        Ok(Admin {
            session,
            endpoint: endpoint.to_string(),
            statements: 0,
        })
    }

    /// Changes the bound on every single wait.
    ///
    /// # Errors
    /// The system refuses it.
    pub fn set_timeout(&self, timeout: Duration) -> Result<(), LoadError> {
        self.session
            .set_timeout(timeout)
            .map_err(|error| self.failed("", error))
    }

    /// Statements sent so far: the server counts them too.
    pub fn statements(&self) -> u64 {
        self.statements
    }

    /// Runs a statement; its rows, values as text.
    ///
    /// # Errors
    /// [`LoadError::Query`] when the server refuses it, [`LoadError::Connect`] when the connection is lost.
    pub fn rows(&mut self, sql: &str) -> Result<Vec<Row>, LoadError> {
        self.statements += 1;
        let rows = self.session.rows(sql);
        rows.map_err(|error| self.failed(sql, error))
    }

    /// Runs a statement; the first value of its first row.
    ///
    /// # Errors
    /// As [`rows`](Admin::rows).
    pub fn value(&mut self, sql: &str) -> Result<Option<String>, LoadError> {
        Ok(self
            .rows(sql)?
            .into_iter()
            .next()
            .and_then(|row| row.into_iter().next())
            .flatten())
    }

    fn failed(&self, sql: &str, error: SessionError) -> LoadError {
        match error {
            SessionError::Server(error) => LoadError::Query {
                code: error.code,
                message: error.message,
                statement: sql.chars().take(200).collect(),
            },
            error => LoadError::Connect {
                endpoint: self.endpoint.clone(),
                cause: error.to_string(),
            },
        }
    }
}

impl Session {
    /// Runs a statement in text form and keeps its rows.
    fn rows(&mut self, sql: &str) -> Result<Vec<Row>, SessionError> {
        let first = self.ask(sql)?;
        match first.first() {
            Some(&OK) => return Ok(Vec::new()),
            Some(&LOCAL_FILE) => {
                return Err(ProtocolError::new("the server asks for a local file").into());
            }
            _ => {}
        }
        let columns = usize::try_from(Fields::new(&first).lenenc()?)
            .map_err(|_| ProtocolError::new("more columns than memory"))?;
        for _ in 0..columns {
            self.read_packet()?;
        }
        if self.sends_eof() {
            self.read_packet()?;
        }
        let mut rows = Vec::new();
        loop {
            let packet = self.read_answer()?;
            // A row cannot start so: a value of 16 MB or more does not come in one packet of set-up.
            if packet.first() == Some(&EOF) {
                return Ok(rows);
            }
            rows.push(row(&packet, columns)?);
        }
    }
}

fn row(packet: &[u8], columns: usize) -> Result<Row, ProtocolError> {
    let mut fields = Fields::new(packet);
    // Not with_capacity: the number of columns is the server's word.
    let mut row = Row::new();
    for _ in 0..columns {
        if fields.rest().first() == Some(&NULL) {
            fields.u8()?;
            row.push(None);
            continue;
        }
        let length = usize::try_from(fields.lenenc()?)
            .map_err(|_| ProtocolError::new("a value longer than memory"))?;
        row.push(Some(
            String::from_utf8_lossy(fields.bytes(length)?).into_owned(),
        ));
    }
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_with_nulls_and_too_short_ones() {
        assert_eq!(
            row(b"\x02ab\xfb\x00", 3),
            Ok(vec![Some("ab".into()), None, Some(String::new())])
        );
        assert!(row(b"\x05ab", 1).is_err());
        assert!(row(b"\x02ab", 2).is_err());
        assert!(row(b"\xfe\xff\xff\xff\xff\xff\xff\xff\xffab", 1).is_err());
    }
}
