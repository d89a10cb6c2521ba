//! Where a server listens and who connects.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The way to a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// A Unix socket, by its path.
    Unix(PathBuf),
    /// TCP, with Nagle's algorithm off (TCP_NODELAY).
    Tcp(SocketAddr),
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Transport::Unix(path) => write!(f, "socket {}", path.display()),
            Transport::Tcp(address) => write!(f, "{address}"),
        }
    }
}

/// A server, an account and a database. Neither `Display` nor `Debug` shows the password.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Endpoint {
    /// The way to the server.
    pub transport: Transport,
    /// The account's name.
    pub user: String,
    /// The account's password; empty for none.
    pub password: String,
    /// The database that holds the tables.
    pub database: String,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "user '{}', database '{}' at {}",
            self.user, self.database, self.transport
        )
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({self})")
    }
}
