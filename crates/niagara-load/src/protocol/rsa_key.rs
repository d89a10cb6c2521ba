//! Encryption under the RSA key that a server sends for passwords.

use super::ProtocolError;
use mysql_common::crypto::rsa::{GetRandom, Pkcs1OaepPadding, PublicKey};
use num_bigint::BigUint;
use pkcs1::RsaPublicKeyRef;
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::PemObject;
use spki::SubjectPublicKeyInfoRef;
use spki::der::Decode;

/// Moduli that are taken, in bytes: 1024 to 16384 bits. Servers make keys of 2048 bits.
const MODULUS: std::ops::RangeInclusive<usize> = 128..=2048;
/// The longest public exponent that is taken, in bytes; nearly all keys have 65537.
const EXPONENT: usize = 4;
/// Bytes that OAEP with SHA-1 adds: two hashes and two more (RFC 8017, 7.1.1).
const PADDING: usize = 2 * 20 + 2;

/// Encrypts `message` (RSAES-OAEP with SHA-1, as MySQL wants it) under the key in `pem`.
pub(super) fn encrypt(message: &[u8], pem: &[u8]) -> Result<Vec<u8>, ProtocolError> {
    let unusable = |why: String| {
        ProtocolError::new(format!("the server's RSA public key cannot be used: {why}"))
    };
    let der = SubjectPublicKeyInfoDer::from_pem_slice(pem)
        .map_err(|error| unusable(error.to_string()))?;
    let info =
        SubjectPublicKeyInfoRef::from_der(&der).map_err(|error| unusable(error.to_string()))?;
    let key = RsaPublicKeyRef::from_der(info.subject_public_key.raw_bytes())
        .map_err(|error| unusable(error.to_string()))?;
    let modulus = key.modulus.as_bytes();
    let exponent = key.public_exponent.as_bytes();
    // A modulus that is even, or whose first byte is 1 (which the helper below miscounts), is no key in use.
    let is_sound = MODULUS.contains(&modulus.len())
        && modulus.first().is_some_and(|&first| first > 1)
        && modulus.last().is_some_and(|&last| last % 2 == 1)
        && exponent.len() <= EXPONENT
        && exponent.last().is_some_and(|&last| last % 2 == 1);
    if !is_sound {
        return Err(unusable(format!(
            "a modulus of {} bytes and an exponent of {}",
            modulus.len(),
            exponent.len()
        )));
    }
    if message.len() + PADDING > modulus.len() {
        return Err(unusable("the password is longer than the key".into()));
    }
    let key = PublicKey::new(
        BigUint::from_bytes_be(modulus),
        BigUint::from_bytes_be(exponent),
    );
    Ok(key.encrypt_block(message, Pkcs1OaepPadding::new(GetRandom)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From `openssl genrsa 2048 | openssl rsa -pubout`.
    const KEY: &str = "-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAtHKBOvMxuqokb1I24AcG
uQVQIbJ72TlD8kf1NEEsYZESXHTsFG2NYGq4RrW+KXHn6nbggUfnEAYvPt7t/4ha
nZbLFbToOscUXuuCgTTOCX9M8UiY0rRmvnUb4M0zCmS46qmhaDmd4pINpGrcyTnh
D1tGG0oI4tH2Q9jwpC4lNjz/xScFPVUY0Uhd1yk6DPw0m1+Cdj4pFupMxfJy6bqE
wgWIibg690JELr5IETenaO+eB38CKSJ5ZgjPanq5r4A9yZ/27DSXlE/KRCdx3iZ7
bMLHwyKXQG2qBy2l1cA4mJWWOjDLunScr5Qn45LpMTqvjvdTbtaABdRBnf/O0HK1
yQIDAQAB
-----END PUBLIC KEY-----
";

    #[test]
    fn a_key_encrypts() {
        let one = encrypt(b"secret\0", KEY.as_bytes()).unwrap();
        let two = encrypt(b"secret\0", KEY.as_bytes()).unwrap();
        assert_eq!((one.len(), two.len()), (256, 256));
        // the padding is random
        assert_ne!(one, two);
        assert!(encrypt(&[1; 214], KEY.as_bytes()).is_ok());
        let error = encrypt(&[1; 215], KEY.as_bytes()).unwrap_err();
        assert!(error.to_string().contains("longer than the key"), "{error}");
    }

    #[test]
    fn damaged_keys_are_errors() {
        for absurd in [
            "",
            "no key",
            "-----BEGIN PUBLIC KEY-----",
            "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
        ] {
            assert!(encrypt(b"x", absurd.as_bytes()).is_err(), "{absurd}");
        }
        for length in 0..KEY.len() - 30 {
            assert!(encrypt(b"x", &KEY.as_bytes()[..length]).is_err());
        }
        // a letter of the key's body replaced by another: an error or another key, never a panic
        for at in (28..KEY.len() - 26).step_by(9) {
            let mut damaged = KEY.as_bytes().to_vec();
            damaged[at] = if damaged[at] == b'A' { b'B' } else { b'A' };
            let _ = encrypt(b"x", &damaged);
        }
    }
}
