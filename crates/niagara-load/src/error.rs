//! What can go wrong while a server is loaded.

use niagara_error::Explanation;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Server errors that any transaction may meet, since others work on the same rows: a deadlock (1213), a lock not had in
/// time (1205). The first undoes the transaction, the second its last statement (unless innodb_rollback_on_timeout is on).
pub const CONFLICTS: [u16; 2] = [1213, 1205];

/// Server errors of accounts that lack a right: ER_DBACCESS_DENIED_ERROR, ER_ACCESS_DENIED_ERROR, ER_TABLEACCESS_DENIED_ERROR,
/// ER_COLUMNACCESS_DENIED_ERROR, ER_SPECIFIC_ACCESS_DENIED_ERROR, ER_PROCACCESS_DENIED_ERROR.
const NO_RIGHT: [u16; 6] = [1044, 1045, 1142, 1143, 1227, 1370];
/// Of a database or a table that is not there: ER_BAD_DB_ERROR, ER_NO_SUCH_TABLE, ER_NO_DB_ERROR.
const NOT_THERE: [u16; 3] = [1049, 1146, 1046];

/// What stands in the way of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Obstacle {
    /// The host's name has no address.
    UnknownHost,
    /// The system refused, with its error number.
    System(i32),
    /// Nothing answered in time.
    NoAnswer,
    /// The server refused the login.
    Login {
        /// The server's error number.
        code: u16,
        /// The server's message.
        message: String,
    },
    /// Something else.
    Other,
}

impl Obstacle {
    /// The server's own error number, where it answered.
    fn server_code(&self) -> Option<u16> {
        match self {
            Obstacle::Login { code, .. } => Some(*code),
            Obstacle::UnknownHost | Obstacle::System(_) | Obstacle::NoAnswer | Obstacle::Other => {
                None
            }
        }
    }
}

/// Why loading stopped. Messages name the side and the cause.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadError {
    /// The workload or the options cannot be used as they are.
    #[error("{}", .0.cause)]
    Invalid(Box<Explanation>),
    /// No usable connection could be made.
    #[error("cannot connect as {endpoint}: {}", cause.cause)]
    Connect {
        /// The endpoint, without its password.
        endpoint: String,
        /// The system's or the server's own message.
        cause: Box<Explanation>,
        /// What stood in the way.
        obstacle: Obstacle,
    },
    /// The server went away, hung, or sent something that is not the protocol.
    /// The side cannot be used again; connect a new [`Driver`](crate::Driver).
    #[error("server of side {side} was lost: {cause}")]
    ServerLost {
        /// 0 or 1, the endpoint's position in [`Driver::connect`](crate::Driver::connect).
        side: usize,
        /// What was seen.
        cause: String,
    },
    /// The server refused a statement with an error that does not belong to the workload's life.
    #[error("side {side}: server error {code} ({message}) in: {statement}")]
    Statement {
        /// 0 or 1, the endpoint's position in [`Driver::connect`](crate::Driver::connect).
        side: usize,
        /// The server's error number.
        code: u16,
        /// The server's message.
        message: String,
        /// The statement that was refused.
        statement: String,
    },
    /// An answer that cannot be if the tables hold what the workload has loaded.
    #[error(
        "side {side}: {cause}, says the answer to: {statement} (the tables do not hold this workload's data: load them \
         again, with the options of the run)"
    )]
    Data {
        /// 0 or 1, the endpoint's position in [`Driver::connect`](crate::Driver::connect).
        side: usize,
        /// What is missing, in words.
        cause: String,
        /// The statement that was answered so.
        statement: String,
    },
    /// The server refused a statement that is not part of the load, or to prepare one that is.
    #[error("server error {code} ({message}) in: {statement}")]
    Query {
        /// The server's error number.
        code: u16,
        /// The server's message.
        message: String,
        /// The statement, or its beginning.
        statement: String,
    },
    /// The script failed: the line that its log has.
    #[error("{0}")]
    Script(String),
    /// The tables could not be made.
    #[error("cannot prepare the tables: {}", .0.cause)]
    Prepare(Box<Explanation>),
    /// The cancel flag was set. Transactions in flight were finished first.
    #[error("cancelled")]
    Cancelled,
    /// The client's own system failed (threads, polling, affinity).
    #[error("the load generator failed: {0}")]
    Client(String),
    /// The load generator runs on another host, and nothing is heard of it any more.
    #[error("the load agent on {host} was lost: {cause}")]
    AgentLost {
        /// The host.
        host: String,
        /// What was seen.
        cause: String,
    },
}

niagara_error::remedied!(LoadError, LoadError::explanation);

impl LoadError {
    /// The workload or the options cannot be used, for this reason.
    pub fn invalid(why: impl Into<Explanation>) -> Self {
        Self::Invalid(Box::new(why.into()))
    }

    /// The tables could not be made, for this reason.
    pub fn prepare(why: impl Into<Explanation>) -> Self {
        Self::Prepare(Box::new(why.into()))
    }

    /// It with what to do about it: what whoever made it knew, else what its kind alone tells.
    pub fn explanation(&self) -> Explanation {
        let own = match self {
            LoadError::Invalid(why) | LoadError::Prepare(why) => (**why).clone(),
            LoadError::Connect { cause, .. } => (**cause).clone(),
            _ => Explanation::default(),
        };
        let told = own.with_cause(|_| self.to_string());
        match self.usual_remedy() {
            Some(remedy) if told.remedies.is_empty() => told.remedy(remedy),
            _ => told,
        }
    }

    /// The server's own error number, where it refused a login or a statement.
    pub fn server_code(&self) -> Option<u16> {
        match self {
            LoadError::Connect { obstacle, .. } => obstacle.server_code(),
            LoadError::Statement { code, .. } | LoadError::Query { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// What to do about it, where nothing more is known than its kind.
    fn usual_remedy(&self) -> Option<&'static str> {
        match self {
            LoadError::Connect { .. } => Some(
                "check that a server of the MySQL family listens there and nothing answers in its place (a proxy, another \
                 service), and look at the server's error log",
            ),
            LoadError::ServerLost { .. } => Some(
                "look at the server's error log: whether it ended, and why; at SHOW PROCESSLIST where it runs; then the same command again",
            ),
            LoadError::Statement { code, .. } | LoadError::Query { code, .. } => Some(match code {
                code if NO_RIGHT.contains(code) => "check what the account may do (SHOW GRANTS)",
                code if NOT_THERE.contains(code) => {
                    "check the names of the database and its tables, and who makes them (`prepare` makes a workload's own)"
                }
                _ => "look at the server's error log, and whether its release takes the statement",
            }),
            LoadError::Prepare(_) => Some(
                "check what the account may do (SHOW GRANTS), and look at the server's error log",
            ),
            LoadError::Invalid(_)
            | LoadError::Data { .. }
            | LoadError::Script(_)
            | LoadError::Cancelled
            | LoadError::Client(_)
            | LoadError::AgentLost { .. } => None,
        }
    }

    /// Whether the server refused the account: ER_ACCESS_DENIED_ERROR, ER_ACCESS_DENIED_NO_PASSWORD_ERROR.
    pub fn is_access_denied(&self) -> bool {
        matches!(self.server_code(), Some(1045 | 1698))
    }
}
