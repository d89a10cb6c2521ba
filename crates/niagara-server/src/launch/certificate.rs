//! The certificate of a server whose load is encrypted: one of its own, signed by itself.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rcgen::{CertificateParams, KeyPair};

use super::spec::LaunchSpec;
use crate::cache::write_private;

/// A certificate and its private key, files in a server's run folder.
pub(super) struct Certificate {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl Certificate {
    /// Where they are, if they were made.
    pub fn within(run: &Path) -> Self {
        Self {
            certificate: run.join("certificate.pem"),
            key: run.join("certificate-key.pem"),
        }
    }

    /// Makes them. Every family and release gets the same kind of key (ECDSA, P-256), for it decides what a handshake costs:
    /// those that servers make by themselves differ.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn make(run: &Path) -> Result<()> {
        let made = Self::within(run);
        let key = KeyPair::generate().context("no key for TLS was made")?;
        let certificate = CertificateParams::new(["localhost".to_owned()])
            .and_then(|parameters| parameters.self_signed(&key))
            .context("no certificate was made")?;
        write_private(&made.key, key.serialize_pem().as_bytes())?;
        write_private(&made.certificate, certificate.pem().as_bytes())
    }
}

/// Whether a variant has a certificate of its own.
pub(super) fn has_own(spec: &LaunchSpec) -> bool {
    ["ssl_cert", "ssl_key"]
        .iter()
        .any(|name| spec.config.contains_key(*name))
}
