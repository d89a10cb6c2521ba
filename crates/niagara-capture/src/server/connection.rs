//! A connection to the server, made by whoever knows how.

/// A row, its values as text.
pub type Row = Vec<Option<String>>;

/// A connection for a few statements.
pub trait Connection {
    /// Runs a statement; its rows.
    ///
    /// # Errors
    /// What the server, or the way to it, says.
    fn rows(&mut self, sql: &str) -> Result<Vec<Row>, String>;

    /// Runs a statement; the first value of its first row.
    ///
    /// # Errors
    /// As [`rows`](Connection::rows).
    fn value(&mut self, sql: &str) -> Result<Option<String>, String> {
        Ok(self
            .rows(sql)?
            .into_iter()
            .next()
            .and_then(|row| row.into_iter().next())
            .flatten())
    }
}
