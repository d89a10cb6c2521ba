//! The connection: bounded, read-only, and nothing but reading statements.

use std::time::{Duration, Instant};

use niagara_error::anyhow;
use niagara_load::{Admin, LoadError, Row};

/// Longest time of a statement.
const STATEMENT: Duration = Duration::from_secs(2);

/// Error numbers of the servers.
mod code {
    pub const ACCESS_DENIED_DB: u16 = 1044;
    pub const TABLE_ACCESS_DENIED: u16 = 1142;
    pub const COLUMN_ACCESS_DENIED: u16 = 1143;
    pub const SPECIFIC_ACCESS_DENIED: u16 = 1227;
    pub const LOCK_WAIT_TIMEOUT: u16 = 1205;
    pub const QUERY_INTERRUPTED: u16 = 1317;
    pub const MARIADB_STATEMENT_TIMEOUT: u16 = 1969;
    pub const MYSQL_QUERY_TIMEOUT: u16 = 3024;
}

/// Why there are no rows.
#[derive(Debug)]
pub(super) enum Refusal {
    /// A privilege is missing.
    Privilege,
    /// It took too long, or no time is left.
    NoTime,
    /// Something else.
    Other {
        /// The server's error number.
        error: u16,
        /// Its message.
        message: String,
    },
    /// The connection is lost.
    Lost(LoadError),
}

impl From<Refusal> for anyhow::Error {
    fn from(refusal: Refusal) -> anyhow::Error {
        match refusal {
            Refusal::Privilege => anyhow::anyhow!("the account lacks a privilege"),
            Refusal::NoTime => anyhow!(
                "the server takes longer than 2 s for a question that reads no table";
                remedy: "try again when it is less busy"
            ),
            Refusal::Other { error, message } => anyhow::anyhow!("server error {error}: {message}"),
            Refusal::Lost(error) => error.into(),
        }
    }
}

/// A connection for reading.
pub(super) struct Reader<'a> {
    admin: &'a mut Admin,
    deadline: Instant,
    spent: Duration,
}

impl<'a> Reader<'a> {
    /// Nothing is asked after `deadline`.
    pub(super) fn new(admin: &'a mut Admin, deadline: Instant) -> Reader<'a> {
        // The server ends a statement itself; this is for one that does not.
        admin.set_timeout(STATEMENT * 3);
        Reader {
            admin,
            deadline,
            spent: Duration::ZERO,
        }
    }

    /// Asks until another moment.
    pub(super) fn extend(&mut self, deadline: Instant) {
        self.deadline = deadline;
    }

    /// Time that statements took so far.
    pub(super) fn spent(&self) -> Duration {
        self.spent
    }

    /// Limits the session: read only, no long statement, no wait for a lock. What a server does not have is left out. Whether it ends
    /// long statements: MySQL does so from 5.7.8 on, MariaDB from 10.1 on.
    pub(super) fn limit(&mut self, is_mariadb: bool) -> Result<bool, Refusal> {
        let seconds = STATEMENT.as_secs();
        let statement = match is_mariadb {
            true => format!("SET SESSION max_statement_time = {seconds}"),
            false => format!("SET SESSION max_execution_time = {}", seconds * 1000),
        };
        let limits = [
            "SET SESSION TRANSACTION READ ONLY",
            "SET SESSION lock_wait_timeout = 1",
            "SET SESSION innodb_lock_wait_timeout = 1",
            // The checkup's own statements have no place in the slow log.
            "SET SESSION long_query_time = 3600",
            // MySQL keeps what it finds out about tables in a table of its own.
            "SET SESSION information_schema_stats_expiry = 0",
        ];
        for limit in limits {
            holds(self.send(limit))?;
        }
        holds(self.send(&statement))
    }

    /// The rows of a SELECT or SHOW.
    pub(super) fn rows(&mut self, sql: &str) -> Result<Vec<Row>, Refusal> {
        debug_assert!(
            sql.starts_with("SELECT ") || sql.starts_with("SHOW "),
            "{sql}"
        );
        self.send(sql)
    }

    /// The names and rows of a SELECT or SHOW.
    pub(super) fn table(&mut self, sql: &str) -> Result<(Vec<String>, Vec<Row>), Refusal> {
        debug_assert!(
            sql.starts_with("SELECT ") || sql.starts_with("SHOW "),
            "{sql}"
        );
        self.timed(|admin| admin.table(sql))
    }

    /// The first value of the first row.
    pub(super) fn value(&mut self, sql: &str) -> Result<Option<String>, Refusal> {
        let row = self.rows(sql)?.into_iter().next();
        Ok(row.and_then(|row| row.into_iter().next()).flatten())
    }

    fn send(&mut self, sql: &str) -> Result<Vec<Row>, Refusal> {
        self.timed(|admin| admin.rows(sql))
    }

    fn timed<T>(
        &mut self,
        ask: impl FnOnce(&mut Admin) -> Result<T, LoadError>,
    ) -> Result<T, Refusal> {
        let began = Instant::now();
        if began >= self.deadline {
            return Err(Refusal::NoTime);
        }
        let answer = ask(self.admin);
        self.spent += began.elapsed();
        answer.map_err(|error| match error {
            LoadError::Query { code, message, .. } => refusal(code, message),
            error => Refusal::Lost(error),
        })
    }
}

/// Whether a limit holds from now on; a server that does not have it refuses.
fn holds<T>(answer: Result<T, Refusal>) -> Result<bool, Refusal> {
    match answer {
        Ok(_) => Ok(true),
        Err(Refusal::Other { .. } | Refusal::Privilege) => Ok(false),
        Err(refusal) => Err(refusal),
    }
}

fn refusal(error: u16, message: String) -> Refusal {
    match error {
        code::ACCESS_DENIED_DB
        | code::TABLE_ACCESS_DENIED
        | code::COLUMN_ACCESS_DENIED
        | code::SPECIFIC_ACCESS_DENIED => Refusal::Privilege,
        code::LOCK_WAIT_TIMEOUT
        | code::QUERY_INTERRUPTED
        | code::MARIADB_STATEMENT_TIMEOUT
        | code::MYSQL_QUERY_TIMEOUT => Refusal::NoTime,
        error => Refusal::Other { error, message },
    }
}

/// A cell as text.
pub(super) fn text(row: &Row, column: usize) -> &str {
    row.get(column)
        .and_then(Option::as_deref)
        .unwrap_or_default()
}

/// A cell as a number; 0 where it is none.
pub(super) fn number(row: &Row, column: usize) -> f64 {
    text(row, column).parse().unwrap_or(0.0)
}

/// A text as a literal.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_a_server_refuses_does_not_hold() {
        assert!(matches!(holds(Ok(())), Ok(true)));
        let unknown = refusal(1193, "Unknown system variable".to_owned());
        assert!(matches!(holds::<()>(Err(unknown)), Ok(false)));
        assert!(matches!(
            holds::<()>(Err(Refusal::NoTime)),
            Err(Refusal::NoTime)
        ));
    }
}
