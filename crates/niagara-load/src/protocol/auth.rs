//! What the authentication plugins want to hear.

use super::ProtocolError;
use mysql_common::scramble::{scramble_native, scramble_sha256};

/// Sent by caching_sha2_password when the server has the password's hash at hand.
pub const FAST_AUTH_SUCCESS: u8 = 3;
/// Sent by caching_sha2_password when it must see the password itself.
pub const FULL_AUTH_NEEDED: u8 = 4;
/// Asks caching_sha2_password for its public key.
pub const REQUEST_PUBLIC_KEY: u8 = 2;

/// The plugin used when the server proposes none that is known; the server then asks to switch.
pub const FALLBACK_PLUGIN: &str = "mysql_native_password";

/// Whether `plugin` can be answered.
pub fn is_known(plugin: &str) -> bool {
    matches!(
        plugin,
        "mysql_native_password" | "caching_sha2_password" | "unix_socket" | "auth_socket"
    )
}

/// The first answer to `plugin`.
pub fn first_answer(plugin: &str, password: &str, nonce: &[u8]) -> Result<Vec<u8>, ProtocolError> {
    let nonce = nonce.get(..20).unwrap_or(nonce);
    let password = password.as_bytes();
    match plugin {
        "mysql_native_password" => Ok(scramble_native(nonce, password)
            .map(|hash| hash.to_vec())
            .unwrap_or_default()),
        // An empty password is said with a single NUL.
        "caching_sha2_password" => Ok(scramble_sha256(nonce, password)
            .map(|hash| hash.to_vec())
            .unwrap_or_else(|| vec![0])),
        "unix_socket" | "auth_socket" => Ok(Vec::new()),
        other => Err(ProtocolError::new(format!(
            "the account uses the authentication plugin '{other}'; known are mysql_native_password, \
             caching_sha2_password and unix_socket: create an account with one of them"
        ))),
    }
}

/// The password as it goes over a transport on which nobody listens.
pub fn clear_password(password: &str) -> Vec<u8> {
    let mut answer = password.as_bytes().to_vec();
    answer.push(0);
    answer
}

/// The password under the server's RSA key (PEM), for transports without encryption.
pub fn encrypted_password(
    password: &str,
    nonce: &[u8],
    key: &[u8],
) -> Result<Vec<u8>, ProtocolError> {
    if nonce.is_empty() {
        return Err(ProtocolError::new("the server sent an empty nonce"));
    }
    let mut masked = clear_password(password);
    for (byte, mask) in masked.iter_mut().zip(nonce.iter().take(20).cycle()) {
        *byte ^= mask;
    }
    // The helper panics at a key that is none; a server's bytes must not end this process.
    std::panic::catch_unwind(|| mysql_common::crypto::encrypt(&masked, key))
        .map_err(|_| ProtocolError::new("the server's RSA public key cannot be used"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_passwords() {
        assert_eq!(
            first_answer("mysql_native_password", "", b"01234567890123456789").unwrap(),
            Vec::<u8>::new()
        );
        assert_eq!(
            first_answer("caching_sha2_password", "", b"01234567890123456789").unwrap(),
            [0]
        );
    }

    #[test]
    fn unknown_plugins_are_named() {
        let error = first_answer("client_ed25519", "x", b"0").unwrap_err();
        assert!(error.to_string().contains("client_ed25519"), "{error}");
    }

    #[test]
    fn an_absurd_key_is_an_error() {
        assert!(encrypted_password("x", b"01234567890123456789", b"no key").is_err());
        assert!(encrypted_password("x", b"", b"no key").is_err());
    }
}
