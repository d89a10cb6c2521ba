//! The server's greeting (version 10) and the client's answer to it.

use super::packet::Fields;
use super::text::shown;
use super::{ProtocolError, capability};

/// utf8mb4_general_ci: known to every server of the family since 5.5.
pub(crate) const COLLATION: u8 = 45;
/// What the client says it can receive at most: the protocol's own bound.
const MAX_PACKET: u32 = 1 << 30;

/// What the server says first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Greeting {
    /// As sent; MariaDB may put "5.5.5-" in front.
    pub version: String,
    pub capabilities: u32,
    pub nonce: Vec<u8>,
    /// The plugin the server proposes; empty when it names none.
    pub plugin: String,
    /// MariaDB, and it takes [many rows at once](capability::MARIADB_BULK).
    pub takes_bulk: bool,
}

/// Reads a greeting.
pub(crate) fn parse_greeting(payload: &[u8]) -> Result<Greeting, ProtocolError> {
    let mut fields = Fields::new(payload);
    let protocol = fields.u8()?;
    if protocol != 10 {
        return Err(ProtocolError::new(format!(
            "the server speaks protocol version {protocol}, known is 10"
        )));
    }
    let version = shown(fields.until_nul());
    let _connection_id = fields.u32()?;
    let mut nonce = fields.bytes(8)?.to_vec();
    let _filler = fields.u8()?;
    let mut capabilities = u32::from(fields.u16()?);
    let mut plugin = String::new();
    let mut takes_bulk = false;
    if !fields.is_empty() {
        let _collation = fields.u8()?;
        let _status = fields.u16()?;
        capabilities |= u32::from(fields.u16()?) << 16;
        let nonce_length = usize::from(fields.u8()?);
        let _reserved = fields.bytes(6)?;
        let mariadb = fields.u32()?;
        takes_bulk = capabilities & capability::LONG_PASSWORD == 0
            && mariadb & capability::MARIADB_BULK != 0;
        if capabilities & capability::SECURE_CONNECTION != 0 {
            let second = fields.bytes(nonce_length.saturating_sub(8).max(13))?;
            nonce.extend_from_slice(second.strip_suffix(&[0]).unwrap_or(second));
        }
        if capabilities & capability::PLUGIN_AUTH != 0 {
            plugin = shown(fields.until_nul());
        }
    }
    for (flag, name) in [
        (capability::PROTOCOL_41, "protocol 4.1"),
        (capability::SECURE_CONNECTION, "secure authentication"),
    ] {
        if capabilities & flag == 0 {
            return Err(ProtocolError::new(format!(
                "server {version} does not know {name}"
            )));
        }
    }
    if nonce.len() < 20 {
        return Err(ProtocolError::new(format!(
            "the greeting has a nonce of {} bytes, it must have 20",
            nonce.len()
        )));
    }
    Ok(Greeting {
        version,
        capabilities,
        nonce,
        plugin,
        takes_bulk,
    })
}

/// The capabilities both ends use from now on.
pub(crate) fn agree(server: u32, with_database: bool, encrypted: bool) -> u32 {
    let mut wanted = capability::LONG_PASSWORD
        | capability::LONG_FLAG
        | capability::PROTOCOL_41
        | capability::TRANSACTIONS
        | capability::SECURE_CONNECTION
        | capability::PLUGIN_AUTH
        | capability::PLUGIN_AUTH_LENENC_CLIENT_DATA
        | capability::DEPRECATE_EOF;
    if with_database {
        wanted |= capability::CONNECT_WITH_DB;
    }
    if encrypted {
        wanted |= capability::SSL;
    }
    // MariaDB leaves LONG_PASSWORD out of its greeting to show that it has capabilities of its own.
    wanted & (server | capability::LONG_PASSWORD)
}

/// The payload that asks for TLS; it is also how the client's answer to the greeting begins. `collation` says the character set.
pub(crate) fn tls_request(capabilities: u32, collation: u8) -> Vec<u8> {
    let mut payload = Vec::with_capacity(128);
    payload.extend_from_slice(&capabilities.to_le_bytes());
    payload.extend_from_slice(&MAX_PACKET.to_le_bytes());
    payload.push(collation);
    payload.extend_from_slice(&[0; 19]);
    // Who leaves LONG_PASSWORD out does so for this capability: no other of MariaDB's is ever asked for.
    let mariadb = match capabilities & capability::LONG_PASSWORD {
        0 => capability::MARIADB_BULK,
        _ => 0,
    };
    payload.extend_from_slice(&mariadb.to_le_bytes());
    payload
}

/// The payload of the client's answer to the greeting.
pub(crate) fn response(
    (capabilities, collation): (u32, u8),
    user: &str,
    auth: &[u8],
    database: Option<&str>,
    plugin: &str,
) -> Result<Vec<u8>, ProtocolError> {
    let mut payload = tls_request(capabilities, collation);
    payload.extend_from_slice(user.as_bytes());
    payload.push(0);
    // One byte of length is the same in both encodings as long as it is at most 250.
    match u16::try_from(auth.len()) {
        Ok(length @ ..=250) => payload.push(length as u8),
        Ok(length) if capabilities & capability::PLUGIN_AUTH_LENENC_CLIENT_DATA != 0 => {
            payload.push(0xfc);
            payload.extend_from_slice(&length.to_le_bytes());
        }
        _ => return Err(ProtocolError::new("the authentication data is too long")),
    }
    payload.extend_from_slice(auth);
    if capabilities & capability::CONNECT_WITH_DB != 0 {
        payload.extend_from_slice(database.unwrap_or_default().as_bytes());
        payload.push(0);
    }
    if capabilities & capability::PLUGIN_AUTH != 0 {
        payload.extend_from_slice(plugin.as_bytes());
        payload.push(0);
    }
    Ok(payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A greeting as the servers of the family send it.
    fn greeting(version: &str, capabilities: u32, plugin: &str) -> Vec<u8> {
        let mut bytes = vec![10];
        bytes.extend_from_slice(version.as_bytes());
        bytes.push(0);
        bytes.extend_from_slice(&7u32.to_le_bytes());
        bytes.extend_from_slice(b"abcdefgh\0");
        bytes.extend_from_slice(&(capabilities as u16).to_le_bytes());
        bytes.push(45);
        bytes.extend_from_slice(&2u16.to_le_bytes());
        bytes.extend_from_slice(&((capabilities >> 16) as u16).to_le_bytes());
        bytes.push(21);
        bytes.extend_from_slice(&[0; 10]);
        bytes.extend_from_slice(b"ijklmnopqrst\0");
        if capabilities & capability::PLUGIN_AUTH != 0 {
            bytes.extend_from_slice(plugin.as_bytes());
            bytes.push(0);
        }
        bytes
    }

    const MODERN: u32 = 0xffff_ffff;

    #[test]
    fn greetings_of_the_family() {
        for (version, capabilities, plugin) in [
            ("9.4.0", MODERN, "caching_sha2_password"),
            (
                "5.5.5-10.11.6-MariaDB",
                MODERN & !capability::LONG_PASSWORD,
                "mysql_native_password",
            ),
            (
                "5.6.51",
                MODERN & !capability::DEPRECATE_EOF,
                "mysql_native_password",
            ),
        ] {
            let greeting = parse_greeting(&greeting(version, capabilities, plugin)).unwrap();
            assert_eq!(greeting.version, version);
            assert_eq!(greeting.plugin, plugin);
            assert_eq!(greeting.nonce, b"abcdefghijklmnopqrst");
            assert!(!greeting.takes_bulk);
            let agreed = agree(greeting.capabilities, true, false);
            assert_ne!(agreed & capability::LONG_PASSWORD, 0);
            assert_eq!(
                agreed & capability::DEPRECATE_EOF,
                capabilities & capability::DEPRECATE_EOF
            );
        }
    }

    #[test]
    fn capabilities_of_mariadb_are_not_read_from_a_mysql() {
        let plugin = "mysql_native_password";
        for (version, capabilities, takes_bulk) in [
            (
                "5.5.5-10.11.6-MariaDB",
                MODERN & !capability::LONG_PASSWORD,
                true,
            ),
            ("9.4.0", MODERN, false),
        ] {
            let mut bytes = greeting(version, capabilities, plugin);
            let end = bytes.len() - b"ijklmnopqrst\0".len() - plugin.len() - 1;
            bytes[end - 4..end].copy_from_slice(&capability::MARIADB_BULK.to_le_bytes());
            assert_eq!(parse_greeting(&bytes).unwrap().takes_bulk, takes_bulk);
        }
        let own = agree(MODERN, true, false);
        assert_eq!(tls_request(own, COLLATION)[28..], [0; 4]);
        assert_eq!(
            tls_request(own & !capability::LONG_PASSWORD, COLLATION)[28..],
            [4, 0, 0, 0]
        );
    }

    #[test]
    fn truncated_greetings_are_errors_not_panics() {
        let whole = greeting("9.4.0", MODERN, "caching_sha2_password");
        for length in 0..whole.len() - "caching_sha2_password".len() - 1 {
            assert!(parse_greeting(&whole[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn other_greetings() {
        assert!(parse_greeting(&[9, 0, 0]).is_err());
        assert!(parse_greeting(&greeting("5.5", capability::PROTOCOL_41, "")).is_err());
    }

    #[test]
    fn tls_is_asked_for_where_both_want_it() {
        assert_eq!(agree(MODERN, true, false) & capability::SSL, 0);
        assert_ne!(agree(MODERN, true, true) & capability::SSL, 0);
        assert_eq!(
            agree(MODERN & !capability::SSL, true, true) & capability::SSL,
            0
        );
        assert_eq!(tls_request(MODERN, COLLATION).len(), 32);
    }

    #[test]
    fn response_has_the_agreed_parts() {
        let capabilities = agree(MODERN, true, false);
        let payload = response((capabilities, COLLATION), "u", b"xyz", Some("d"), "p").unwrap();
        assert_eq!(payload[..4], capabilities.to_le_bytes());
        assert_eq!(payload[32..], *b"u\0\x03xyzd\0p\0");
        let long = response((capabilities, COLLATION), "u", &[7; 251], None, "p").unwrap();
        assert_eq!(long[32..38], *b"u\0\xfc\xfb\x00\x07");
        assert!(response((capabilities, COLLATION), "u", &[0; 70_000], None, "p").is_err());
        let old = capabilities & !capability::PLUGIN_AUTH_LENENC_CLIENT_DATA;
        assert!(response((old, COLLATION), "u", &[0; 251], None, "p").is_err());
    }
}
