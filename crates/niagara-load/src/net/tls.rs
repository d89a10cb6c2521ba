//! TLS between the greeting and the login, by rustls.
//!
//! Sessions are not resumed and no server name is sent: the usual client libraries do neither, and the server should
//! do the work it does for them.

use crate::net::endpoint::{TlsMode, TlsOptions, Transport};
use crate::net::socket::Socket;
use niagara_error::{Problem, problem};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, verify_server_cert_signed_by_trust_anchor};
use rustls::crypto::{
    WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct,
    Error, RootCertStore, SignatureScheme,
};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// What every TLS connection to one endpoint has in common.
#[derive(Debug, Clone)]
pub(crate) struct TlsClient {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    ca: Option<PathBuf>,
}

/// Options that cannot be used as they are.
#[derive(Debug, thiserror::Error)]
#[error("TLS: {0}")]
pub(crate) struct TlsError(String);

impl TlsClient {
    /// Reads the files that `options` name. `transport` has the name that the server must prove.
    pub(crate) fn new(options: &TlsOptions, transport: &Transport) -> Result<Self, TlsError> {
        let verifies = matches!(options.mode, TlsMode::VerifyCa | TlsMode::VerifyIdentity);
        let provider = Arc::new(ring::default_provider());
        let algorithms = provider.signature_verification_algorithms;
        let roots = if verifies {
            Some(roots(options)?)
        } else {
            None
        };
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError(error.to_string()))?;
        let builder = match roots {
            Some(roots) if options.mode == TlsMode::VerifyIdentity => {
                builder.with_root_certificates(roots)
            }
            roots => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(AnyName { roots, algorithms })),
        };
        let mut config = match (&options.certificate, &options.key) {
            (None, None) => builder.with_no_client_auth(),
            (Some(certificate), Some(key)) => builder
                .with_client_auth_cert(certificates(certificate)?, private_key(key)?)
                .map_err(|error| {
                    TlsError(format!(
                        "the certificate {} with the key {}: {error}",
                        certificate.display(),
                        key.display()
                    ))
                })?,
            _ => {
                return Err(TlsError(
                    "a client's certificate and its key go together: give both files or none"
                        .into(),
                ));
            }
        };
        config.resumption = Resumption::disabled();
        config.enable_sni = false;
        let name = match transport {
            Transport::Unix(_) => "localhost".to_owned(),
            Transport::Tcp(address) => address.ip().to_string(),
            Transport::Host { name, .. } => name.clone(),
        };
        let name = match ServerName::try_from(name.clone()) {
            Ok(name) => name,
            Err(_) if options.mode == TlsMode::VerifyIdentity => {
                return Err(TlsError(format!("no certificate can name '{name}'")));
            }
            // Never read.
            Err(_) => ServerName::IpAddress(std::net::Ipv4Addr::UNSPECIFIED.into()),
        };
        Ok(TlsClient {
            config: Arc::new(config),
            name,
            ca: options.ca.clone(),
        })
    }

    /// Why a handshake failed.
    fn describe(&self, error: &Error) -> Problem {
        match error {
            Error::InvalidCertificate(CertificateError::UnknownIssuer) => problem!(
                "the server's certificate is not signed by a CA in {}",
                self.ca.as_deref().unwrap_or(Path::new("")).display()
            ),
            Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            ) => problem!(
                "the server's certificate does not name '{}' (it must stand in its subject alternative names)",
                self.name.to_str()
            ),
            Error::AlertReceived(
                AlertDescription::HandshakeFailure
                | AlertDescription::ProtocolVersion
                | AlertDescription::InsufficientSecurity,
            )
            | Error::PeerIncompatible(_) => problem!(
                "TLS: {error}: the server has none of what is spoken here ({SPOKEN})";
                remedy: "--tls disabled where the way to it is safe, or its --socket, or a release of the server that has them"
            ),
            error => problem!("TLS: {error}"),
        }
    }
}

/// What rustls has, in words for somebody whose server has none of it.
const SPOKEN: &str = "TLS 1.3, and TLS 1.2 with ECDHE";

fn roots(options: &TlsOptions) -> Result<RootCertStore, TlsError> {
    let ca = options.ca.as_deref().ok_or_else(|| {
        TlsError(format!(
            "the mode {} needs a file with the CA's certificate",
            options.mode
        ))
    })?;
    let mut roots = RootCertStore::empty();
    for certificate in certificates(ca)? {
        roots
            .add(certificate)
            .map_err(|error| TlsError(format!("a certificate in {}: {error}", ca.display())))?;
    }
    Ok(roots)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let failed = |error: &dyn std::fmt::Display| {
        TlsError(format!(
            "cannot read certificates (PEM) from {}: {error}",
            path.display()
        ))
    };
    let certificates: Vec<_> = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(|error| failed(&error))?;
    if certificates.is_empty() {
        return Err(failed(&"it holds none"));
    }
    Ok(certificates)
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| {
        TlsError(format!(
            "cannot read a private key (PEM, without a passphrase) from {}: {error}",
            path.display()
        ))
    })
}

/// Accepts a certificate for any name: signed by one of `roots`, or by anybody where there are none.
#[derive(Debug)]
struct AnyName {
    roots: Option<RootCertStore>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if let Some(roots) = &self.roots {
            let certificate = ParsedCertificate::try_from(end_entity)?;
            verify_server_cert_signed_by_trust_anchor(
                &certificate,
                roots,
                intermediates,
                now,
                self.algorithms.all,
            )?;
        }
        Ok(ServerCertVerified::assertion())
    }

    // Without roots the signature shows nothing: whoever stands in between signs with a certificate of his own. Not
    // checking it lets in certificates of X.509 version 1, as old instructions for servers make them.
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match self.roots {
            Some(_) => verify_tls12_signature(message, cert, dss, &self.algorithms),
            None => Ok(HandshakeSignatureValid::assertion()),
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match self.roots {
            Some(_) => verify_tls13_signature(message, cert, dss, &self.algorithms),
            None => Ok(HandshakeSignatureValid::assertion()),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// An encrypted stream over a socket, which may block or not.
#[derive(Debug)]
pub(crate) struct TlsStream {
    socket: Socket,
    tls: ClientConnection,
    /// Bytes that a write has encrypted without all of them going out; that write is repeated.
    encrypted: usize,
}

impl TlsStream {
    /// Shakes hands on a blocking socket.
    pub(crate) fn shake_hands(
        socket: Socket,
        client: &TlsClient,
        deadline: Instant,
    ) -> io::Result<TlsStream> {
        let tls = ClientConnection::new(Arc::clone(&client.config), client.name.clone())
            .map_err(invalid)?;
        let mut stream = TlsStream {
            socket,
            tls,
            encrypted: 0,
        };
        while stream.tls.is_handshaking() || stream.tls.wants_write() {
            stream.socket.set_deadline(deadline)?;
            let step = if stream.tls.wants_write() {
                stream.send()
            } else {
                stream.receive().and_then(|count| match count {
                    0 => Err(io::ErrorKind::UnexpectedEof.into()),
                    _ => Ok(()),
                })
            };
            step.map_err(
                |error| match error.get_ref().and_then(|inner| inner.downcast_ref()) {
                    Some(inner) => {
                        io::Error::new(io::ErrorKind::InvalidData, client.describe(inner))
                    }
                    None => error,
                },
            )?;
        }
        Ok(stream)
    }

    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Reads from the socket once and decrypts; how many encrypted bytes there were.
    fn receive(&mut self) -> io::Result<usize> {
        let count = self.tls.read_tls(&mut self.socket)?;
        if let Err(error) = self.tls.process_new_packets() {
            // The server may learn why; nothing depends on it.
            let _ = self.send();
            return Err(invalid(error));
        }
        if count > 0 && self.tls.wants_write() {
            // TLS has something to say of its own, such as a new key. If the socket is full it goes with the next write.
            match self.send() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => result?,
            }
        }
        Ok(count)
    }

    /// Hands all that is encrypted to the socket.
    fn send(&mut self) -> io::Result<()> {
        while self.tls.wants_write() {
            if self.tls.write_tls(&mut self.socket)? == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
        }
        Ok(())
    }
}

fn invalid(error: Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

impl Read for TlsStream {
    /// Would block only where the socket would and nothing is left that was decrypted before: a poll by edges may
    /// then wait for the socket.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.tls.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return result,
            }
            self.receive()?;
        }
    }
}

impl Write for TlsStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.encrypted == 0 {
            self.send()?;
            self.encrypted = self.tls.writer().write(bytes)?;
        }
        self.send()?;
        Ok(std::mem::take(&mut self.encrypted))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send()
    }
}
