//! A connection for statements whose rows are wanted: counters, variables, which tables there are.
//! Not for load: it blocks, and keeps what it reads.

use crate::error::LoadError;
use crate::net::endpoint::Endpoint;
use crate::net::session::{Session, SessionError};
use crate::protocol::rows::Row;
use std::time::Duration;

/// A connection for statements outside of the load, made as the load's own connections are.
#[derive(Debug)]
pub struct Admin {
    session: Session,
    endpoint: String,
    statements: u64,
}

impl Admin {
    /// Connects without choosing a database, which need not exist. `timeout` bounds the login
    /// and then every statement.
    ///
    /// # Errors
    /// No server there, or it refuses the account.
    pub fn connect(endpoint: &Endpoint, timeout: Duration) -> Result<Admin, LoadError> {
        let session =
            Session::connect(endpoint, None, timeout).map_err(|error| error.at(endpoint))?;
        Ok(Admin {
            session,
            endpoint: endpoint.to_string(),
            statements: 0,
        })
    }

    /// Why the connection is not encrypted, where that was preferred and the server offers it. Others to the same endpoint will not be
    /// either.
    pub fn unencrypted(&self) -> Option<&str> {
        self.session.unencrypted()
    }

    /// Ends the connection as a client should: the server counts one that just goes in `Aborted_clients`.
    pub fn quit(self) {
        self.session.quit();
    }

    /// Changes the bound on every statement.
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.session.set_timeout(timeout);
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

    /// Runs a statement; the names of its columns, and its rows: for a statement whose columns depend on the release.
    ///
    /// # Errors
    /// As [`rows`](Admin::rows).
    pub fn table(&mut self, sql: &str) -> Result<(Vec<String>, Vec<Row>), LoadError> {
        self.statements += 1;
        let table = self.session.table(sql);
        table.map_err(|error| self.failed(sql, error))
    }

    /// Runs a statement as bytes, of any length that the server takes, and discards what it returns.
    ///
    /// # Errors
    /// As [`rows`](Admin::rows).
    pub fn run(&mut self, sql: &[u8]) -> Result<(), LoadError> {
        self.count(sql).map(|_| ())
    }

    /// The same; how many rows came or were changed.
    ///
    /// # Errors
    /// As [`rows`](Admin::rows).
    pub fn count(&mut self, sql: &[u8]) -> Result<u64, LoadError> {
        self.statements += 1;
        let done = self.session.count(sql);
        done.map_err(|error| {
            let beginning = &sql[..sql.len().min(200)];
            self.failed(&String::from_utf8_lossy(beginning), error)
        })
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

    /// Warnings that the server counted for the last statement; 0 where it was refused. `SHOW WARNINGS` alone does not tell:
    /// a statement that neither warns nor reads a table leaves there what the one before it had.
    pub fn warnings(&self) -> u16 {
        self.session.warnings()
    }

    fn failed(&self, sql: &str, error: SessionError) -> LoadError {
        match error {
            SessionError::Server(error) => LoadError::Query {
                code: error.code,
                message: error.message,
                statement: sql.chars().take(200).collect(),
            },
            error => error.at(&self.endpoint),
        }
    }
}
