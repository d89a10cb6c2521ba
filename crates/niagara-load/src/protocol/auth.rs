//! What the authentication plugins want to hear.

use super::ProtocolError;
use super::rsa_key;
use mysql_common::scramble::{create_response_for_ed25519, scramble_native, scramble_sha256};

/// Sent by caching_sha2_password when the server has the password's hash at hand.
const FAST_AUTH_SUCCESS: u8 = 3;
/// Sent by caching_sha2_password when it must see the password itself.
const FULL_AUTH_NEEDED: u8 = 4;
/// Asks caching_sha2_password for its public key.
const REQUEST_CACHING_KEY: u8 = 2;
/// Asks sha256_password for its public key.
const REQUEST_SHA256_KEY: u8 = 1;

/// Random bytes of the server in the older plugins; a NUL follows them.
const NONCE: usize = 20;
/// The same for client_ed25519, without a NUL.
const ED25519_NONCE: usize = 32;

/// Who can hear what is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Channel {
    /// TCP in clear.
    Open,
    /// A Unix socket.
    Local,
    /// TLS.
    Encrypted,
}

/// The plugins that can be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plugin {
    NativePassword,
    CachingSha2Password,
    Sha256Password,
    Ed25519,
    /// The server asks the system who is at the other end of the socket.
    Socket,
}

impl Plugin {
    const ALL: [(&'static str, Plugin); 6] = [
        ("mysql_native_password", Plugin::NativePassword),
        ("caching_sha2_password", Plugin::CachingSha2Password),
        ("sha256_password", Plugin::Sha256Password),
        ("client_ed25519", Plugin::Ed25519),
        ("unix_socket", Plugin::Socket),
        ("auth_socket", Plugin::Socket),
    ];

    pub(crate) fn named(name: &str) -> Result<Plugin, ProtocolError> {
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, plugin)| *plugin).ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.iter().map(|(name, _)| *name).collect();
            ProtocolError::new(format!(
                "the account uses the authentication plugin '{name}'; known are {}: create an account with one of them",
                known.join(", ")
            ))
        })
    }

    /// The answer to the plugin's own `nonce`.
    pub(crate) fn first_answer(
        self,
        password: &str,
        nonce: &[u8],
        channel: Channel,
    ) -> Result<Vec<u8>, ProtocolError> {
        let password_bytes = password.as_bytes();
        Ok(match self {
            Plugin::Socket => Vec::new(),
            Plugin::NativePassword => scramble_native(start(nonce, NONCE)?, password_bytes)
                .map(|hash| hash.to_vec())
                .unwrap_or_default(),
            Plugin::Ed25519 => {
                create_response_for_ed25519(password_bytes, start(nonce, ED25519_NONCE)?).to_vec()
            }
            // An empty password is said with a single NUL.
            Plugin::CachingSha2Password | Plugin::Sha256Password if password.is_empty() => vec![0],
            Plugin::CachingSha2Password => scramble_sha256(start(nonce, NONCE)?, password_bytes)
                .map(|hash| hash.to_vec())
                .unwrap_or_default(),
            // The server takes it in clear under TLS only, not from a Unix socket.
            Plugin::Sha256Password if channel == Channel::Encrypted => clear(password),
            Plugin::Sha256Password => vec![REQUEST_SHA256_KEY],
        })
    }

    /// The answer to what the plugin says after its nonce; `None` when it wants none.
    pub(crate) fn next_answer(
        self,
        password: &str,
        nonce: &[u8],
        channel: Channel,
        said: &[u8],
    ) -> Result<Option<Vec<u8>>, ProtocolError> {
        let is_key = said.starts_with(b"-----BEGIN");
        match (self, said) {
            (Plugin::CachingSha2Password, [FAST_AUTH_SUCCESS]) => Ok(None),
            (Plugin::CachingSha2Password, [FULL_AUTH_NEEDED]) => Ok(Some(match channel {
                Channel::Local | Channel::Encrypted => clear(password),
                Channel::Open => vec![REQUEST_CACHING_KEY],
            })),
            (Plugin::CachingSha2Password | Plugin::Sha256Password, key) if is_key => {
                under_key(password, nonce, key).map(Some)
            }
            _ => Err(ProtocolError::new("an unknown authentication step")),
        }
    }
}

fn start(nonce: &[u8], length: usize) -> Result<&[u8], ProtocolError> {
    nonce.get(..length).ok_or_else(|| {
        ProtocolError::new(format!(
            "the server sent {} random bytes for the login, it must send {length}",
            nonce.len()
        ))
    })
}

fn clear(password: &str) -> Vec<u8> {
    let mut answer = password.as_bytes().to_vec();
    answer.push(0);
    answer
}

/// The password, masked with the nonce, under the server's RSA key (PEM).
fn under_key(password: &str, nonce: &[u8], key: &[u8]) -> Result<Vec<u8>, ProtocolError> {
    let mut masked = clear(password);
    for (byte, mask) in masked.iter_mut().zip(start(nonce, NONCE)?.iter().cycle()) {
        *byte ^= mask;
    }
    rsa_key::encrypt(&masked, key)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANDOM: &[u8] = b"01234567890123456789\0";

    #[test]
    fn empty_passwords() {
        for (plugin, answer) in [
            (Plugin::NativePassword, &[][..]),
            (Plugin::CachingSha2Password, &[0]),
            (Plugin::Sha256Password, &[0]),
        ] {
            let said = plugin.first_answer("", RANDOM, Channel::Open).unwrap();
            assert_eq!(said, answer, "{plugin:?}");
        }
    }

    #[test]
    fn passwords_go_in_clear_only_where_nobody_listens() {
        use Channel::{Encrypted, Local, Open};
        let full = |channel| {
            Plugin::CachingSha2Password
                .next_answer("secret", RANDOM, channel, &[FULL_AUTH_NEEDED])
                .unwrap()
                .unwrap()
        };
        assert_eq!(full(Local), b"secret\0");
        assert_eq!(full(Encrypted), b"secret\0");
        assert_eq!(full(Open), [REQUEST_CACHING_KEY]);
        let first = |channel| {
            Plugin::Sha256Password
                .first_answer("secret", RANDOM, channel)
                .unwrap()
        };
        assert_eq!(first(Encrypted), b"secret\0");
        assert_eq!(first(Local), [REQUEST_SHA256_KEY]);
        assert_eq!(first(Open), [REQUEST_SHA256_KEY]);
    }

    #[test]
    fn ed25519_signs_the_servers_bytes_only() {
        let sign = |nonce: &[u8]| {
            Plugin::Ed25519
                .first_answer("secret", nonce, Channel::Open)
                .unwrap()
        };
        let signature = sign(&[0; 32]);
        assert_eq!(signature.len(), 64);
        // what follows the random bytes is not signed, and random bytes that end with 0 are
        assert_eq!(signature, sign(&[0; 33]));
        assert_ne!(signature, sign(&[1; 32]));
    }

    #[test]
    fn short_nonces_and_unknown_steps_are_errors() {
        for plugin in [
            Plugin::NativePassword,
            Plugin::CachingSha2Password,
            Plugin::Ed25519,
        ] {
            for nonce in [&[][..], &RANDOM[..19]] {
                assert!(plugin.first_answer("x", nonce, Channel::Open).is_err());
            }
        }
        for said in [&[][..], &[9], &[3, 3], b"-----BEGIN NOTHING-----"] {
            let plugin = Plugin::CachingSha2Password;
            assert!(
                plugin
                    .next_answer("x", RANDOM, Channel::Open, said)
                    .is_err()
            );
            let plugin = Plugin::NativePassword;
            assert!(
                plugin
                    .next_answer("x", RANDOM, Channel::Open, said)
                    .is_err()
            );
        }
    }

    #[test]
    fn unknown_plugins_are_named() {
        let error = Plugin::named("dialog").unwrap_err().to_string();
        assert!(
            error.contains("'dialog'") && error.contains("client_ed25519"),
            "{error}"
        );
    }
}
