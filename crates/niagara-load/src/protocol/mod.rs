//! The MySQL client/server protocol, as far as a load generator needs it.
//!
//! Rows are decoded only where a transaction needs them to continue: other answers are skimmed for where they end and
//! whether they are an error.
//! The client announces `CLIENT_DEPRECATE_EOF` where the server knows it: a result set then has one packet
//! less on the wire and one less to read. MySQL 5.5 and 5.6 do without. Neither the metadata cache of
//! MariaDB nor the optional metadata of MySQL is asked for: common clients send full metadata, and the
//! server should do the work it does for them.

pub(crate) mod answer;
pub(crate) mod answer_digest;
pub(crate) mod auth;
pub(crate) mod command;
#[cfg(any(test, fuzzing))]
pub mod decode;
pub(crate) mod handshake;
pub(crate) mod inbox;
pub(crate) mod login;
pub(crate) mod packet;
pub(crate) mod prepared;
pub(crate) mod preparing;
pub(crate) mod response;
pub(crate) mod rows;
mod rsa_key;
mod sequence;
pub(crate) mod text;

/// Capability flags, as the protocol numbers them.
pub(crate) mod capability {
    /// MySQL's own; without it both ends say that the last four reserved bytes are [MariaDB's capabilities](MARIADB_BULK).
    pub(crate) const LONG_PASSWORD: u32 = 1;
    pub(crate) const LONG_FLAG: u32 = 1 << 2;
    pub(crate) const CONNECT_WITH_DB: u32 = 1 << 3;
    pub(crate) const PROTOCOL_41: u32 = 1 << 9;
    /// TLS follows the client's first packet.
    pub(crate) const SSL: u32 = 1 << 11;
    pub(crate) const TRANSACTIONS: u32 = 1 << 13;
    pub(crate) const SECURE_CONNECTION: u32 = 1 << 15;
    /// A text may be several statements.
    pub(crate) const MULTI_STATEMENTS: u32 = 1 << 16;
    /// An answer may be several results: of a procedure, or of several statements.
    pub(crate) const MULTI_RESULTS: u32 = 1 << 17;
    /// The same of prepared statements.
    pub(crate) const PS_MULTI_RESULTS: u32 = 1 << 18;
    pub(crate) const PLUGIN_AUTH: u32 = 1 << 19;
    pub(crate) const PLUGIN_AUTH_LENENC_CLIENT_DATA: u32 = 1 << 21;
    pub(crate) const DEPRECATE_EOF: u32 = 1 << 24;

    /// Among MariaDB's: one execution of a prepared statement may carry the parameters of many rows.
    pub(crate) const MARIADB_BULK: u32 = 1 << 2;
}

/// Bytes that are not the protocol.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not the MySQL protocol: {0}")]
pub(crate) struct ProtocolError(pub String);

impl ProtocolError {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        ProtocolError(what.into())
    }
}

/// Why an exchange did not end as it should.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ExchangeError {
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    #[error(transparent)]
    Server(#[from] packet::ServerError),
}
