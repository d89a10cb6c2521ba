//! A connection to the server, made by whoever knows how.

use std::fmt::{self, Display, Formatter};

use niagara_error::Explanation;

/// What is said instead of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The server's error number; none where no answer of the server came.
    pub code: Option<u16>,
    /// For people.
    pub message: String,
}

impl Display for Refusal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<Refusal> for String {
    fn from(refusal: Refusal) -> Self {
        refusal.message
    }
}

impl From<Refusal> for Explanation {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal.message)
    }
}

/// A row, its values as text.
pub type Row = Vec<Option<String>>;

/// A connection for a few statements.
pub trait Connection {
    /// Runs a statement; its rows.
    ///
    /// # Errors
    /// What the server, or the way to it, says.
    fn rows(&mut self, sql: &str) -> Result<Vec<Row>, Refusal>;

    /// Runs a statement; the first value of its first row.
    ///
    /// # Errors
    /// As [`rows`](Connection::rows).
    fn value(&mut self, sql: &str) -> Result<Option<String>, Refusal> {
        Ok(self
            .rows(sql)?
            .into_iter()
            .next()
            .and_then(|row| row.into_iter().next())
            .flatten())
    }
}
