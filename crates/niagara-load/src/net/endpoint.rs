//! Where a server listens and who connects.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

/// The way to a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// A Unix socket, by its path.
    Unix(PathBuf),
    /// TCP, with Nagle's algorithm off (TCP_NODELAY).
    Tcp(SocketAddr),
    /// TCP as above, to a host whose name is resolved whenever a connection is made.
    Host {
        /// A host's name, or an IP address in text.
        name: String,
        /// Its TCP port.
        port: u16,
    },
}

impl Transport {
    /// Whether it stays on this machine for certain.
    pub(crate) fn is_local(&self) -> bool {
        match self {
            Transport::Unix(_) => true,
            Transport::Tcp(address) => address.ip().is_loopback(),
            Transport::Host { name, .. } => name
                .parse::<IpAddr>()
                .map_or(name == "localhost", |address| address.is_loopback()),
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Transport::Unix(path) => write!(f, "socket {}", path.display()),
            Transport::Tcp(address) => write!(f, "{address}"),
            Transport::Host { name, port } => write!(f, "{name}:{port}"),
        }
    }
}

/// Whether a connection is encrypted, and who the server must prove to be: MySQL's `ssl-mode`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TlsMode {
    /// Never encrypted.
    #[default]
    Disabled,
    /// Encrypted if the server offers it and both have a cipher in common; a Unix socket is not encrypted. Nothing is verified.
    Preferred,
    /// Encrypted, else no connection. Nothing is verified, so somebody in between is not noticed.
    Required,
    /// Encrypted, and the server's certificate is signed by the CA.
    VerifyCa,
    /// Encrypted, and the server's certificate is signed by the CA and names the host connected to (in its
    /// subject alternative names; `localhost` for a Unix socket).
    VerifyIdentity,
}

impl TlsMode {
    /// All modes, from none to strictest.
    pub const ALL: [TlsMode; 5] = [
        TlsMode::Disabled,
        TlsMode::Preferred,
        TlsMode::Required,
        TlsMode::VerifyCa,
        TlsMode::VerifyIdentity,
    ];

    /// The mode's name, as serde and MySQL (there in capitals) spell it.
    pub fn name(self) -> &'static str {
        match self {
            TlsMode::Disabled => "disabled",
            TlsMode::Preferred => "preferred",
            TlsMode::Required => "required",
            TlsMode::VerifyCa => "verify_ca",
            TlsMode::VerifyIdentity => "verify_identity",
        }
    }
}

impl fmt::Display for TlsMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text that is no [`TlsMode`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a TLS mode: take disabled, preferred, required, verify_ca or verify_identity"
)]
pub struct UnknownTlsMode(String);

impl FromStr for TlsMode {
    type Err = UnknownTlsMode;

    /// Takes capitals and dashes too: `VERIFY_CA`, `verify-ca`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = text.to_ascii_lowercase().replace('-', "_");
        TlsMode::ALL
            .into_iter()
            .find(|mode| mode.name() == name)
            .ok_or_else(|| UnknownTlsMode(text.to_owned()))
    }
}

/// Encryption of a connection. The default is none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TlsOptions {
    /// Whether and how.
    pub mode: TlsMode,
    /// PEM file with the certificates of the authorities that are trusted. [`TlsMode::VerifyCa`] and
    /// [`TlsMode::VerifyIdentity`] need it, the other modes do not read it.
    pub ca: Option<PathBuf>,
    /// PEM file with the client's certificate and those between it and its authority, for accounts that
    /// `REQUIRE X509`. Goes with `key`.
    pub certificate: Option<PathBuf>,
    /// PEM file with the private key of `certificate`.
    pub key: Option<PathBuf>,
}

impl TlsOptions {
    /// Whether nothing is asked for.
    fn is_default(&self) -> bool {
        *self == TlsOptions::default()
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
    /// Encryption; left out where it is the default, none.
    #[serde(default, skip_serializing_if = "TlsOptions::is_default")]
    pub tls: TlsOptions,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "user '{}'", self.user)?;
        if !self.database.is_empty() {
            write!(f, ", database '{}'", self.database)?;
        }
        write!(f, " at {}", self.transport)?;
        match self.tls.mode {
            TlsMode::Disabled => Ok(()),
            mode => write!(f, ", TLS {mode}"),
        }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tls_modes_are_read_as_mysql_spells_them() {
        for mode in TlsMode::ALL {
            assert_eq!(mode.name().parse(), Ok(mode));
            assert_eq!(mode.name().to_uppercase().parse(), Ok(mode));
        }
        assert_eq!("VERIFY-CA".parse(), Ok(TlsMode::VerifyCa));
        let error = "on".parse::<TlsMode>().unwrap_err().to_string();
        assert!(
            error.contains("'on'") && error.contains("required"),
            "{error}"
        );
    }

    #[test]
    fn an_endpoint_shows_no_password() {
        let endpoint = Endpoint {
            transport: Transport::Host {
                name: "db".into(),
                port: 3306,
            },
            user: "u".into(),
            password: "secret".into(),
            database: "d".into(),
            tls: TlsOptions {
                mode: TlsMode::VerifyCa,
                ..TlsOptions::default()
            },
        };
        assert_eq!(
            endpoint.to_string(),
            "user 'u', database 'd' at db:3306, TLS verify_ca"
        );
        assert!(!format!("{endpoint:?}").contains("secret"));
    }
}
