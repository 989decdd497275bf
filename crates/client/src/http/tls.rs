//! TLS to a server. Its certificate is checked against the certificate authorities of this machine, or only against
//! those of a file.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{CertificateError, ClientConfig, Error as RustlsError, OtherError, RootCertStore};

use super::ServerConnection;

/// The certificate authorities that a client trusts.
#[derive(Clone)]
pub struct TrustedAuthorities(Arc<ClientConfig>);

/// The reason why no certificate can be checked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TlsSetupError {
    /// The file with certificates cannot be read.
    #[error("cannot read the CA file {}: {cause}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        cause: String,
    },
    /// The file contains no usable certificate.
    #[error("no certificate in the CA file {}\nhint: it must have certificates in PEM format", .0.display())]
    NoCertificate(PathBuf),
    /// This machine has no certificate authorities.
    #[error(
        "no certificate authorities found on this machine{0}\nhint: install the package `ca-certificates`, set \
         SSL_CERT_FILE, or use `--ca-file FILE`"
    )]
    NoAuthorities(String),
    /// The library for TLS refuses its settings.
    #[error("TLS is not available: {0}")]
    Unavailable(String),
}

impl TrustedAuthorities {
    /// Loads the certificate authorities of this machine, or those that `SSL_CERT_FILE` names.
    ///
    /// # Errors
    /// Fails if there are none.
    pub fn load_platform() -> Result<Self, TlsSetupError> {
        let found = rustls_native_certs::load_native_certs();
        let mut roots = RootCertStore::empty();
        let (added, _) = roots.add_parsable_certificates(found.certs);
        if added == 0 {
            let cause = found.errors.first().map(|error| format!(": {error}"));
            return Err(TlsSetupError::NoAuthorities(cause.unwrap_or_default()));
        }
        Self::new(roots)
    }

    /// Loads the certificates of a PEM file; no others are trusted then.
    ///
    /// # Errors
    /// Fails if the file cannot be read or has no usable certificate.
    pub fn load_file(path: &Path) -> Result<Self, TlsSetupError> {
        let pem = std::fs::read(path)
            .map_err(|cause| TlsSetupError::Unreadable { path: path.to_owned(), cause: cause.to_string() })?;
        let certificates = CertificateDer::pem_slice_iter(&pem).filter_map(Result::ok);
        let mut roots = RootCertStore::empty();
        let (added, _) = roots.add_parsable_certificates(certificates);
        if added == 0 {
            return Err(TlsSetupError::NoCertificate(path.to_owned()));
        }
        Self::new(roots)
    }

    fn new(roots: RootCertStore) -> Result<Self, TlsSetupError> {
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsSetupError::Unavailable(error.to_string()))?;
        let mut config = config.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(Arc::new(config)))
    }

    /// Encrypts a connection and checks the certificate of the server.
    pub(crate) async fn encrypt(
        &self,
        host: &str,
        stream: Box<dyn ServerConnection>,
    ) -> io::Result<Box<dyn ServerConnection>> {
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(host).map_err(io::Error::other)?;
        Ok(Box::new(TlsConnector::from(self.0.clone()).connect(name, stream).await?))
    }
}

impl fmt::Debug for TrustedAuthorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TrustedAuthorities")
    }
}

/// Why a TLS connection failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TlsFailure {
    /// The certificate was not accepted.
    Certificate {
        /// The reason.
        reason: String,
        /// A suggestion.
        hint: &'static str,
    },
    /// The server does not speak TLS.
    NotTls,
    /// Another reason.
    Other(String),
}

impl TlsFailure {
    /// Returns the failure that an error of a connection contains; `None` if it is not one of TLS.
    pub(crate) fn from_io(error: &io::Error) -> Option<Self> {
        Some(match error.get_ref()?.downcast_ref::<RustlsError>()? {
            RustlsError::InvalidCertificate(cause) => {
                let (reason, hint) = describe_certificate_error(cause);
                Self::Certificate { reason, hint }
            }
            // What a server sends that speaks plain HTTP.
            RustlsError::InvalidMessage(_) => Self::NotTls,
            other => Self::Other(other.to_string()),
        })
    }
}

/// The error of webpki, which rustls passes on without a variant, for what `openssl req -x509` creates by default.
const AUTHORITY_AS_SERVER: &str = "CaUsedAsEndEntity";

fn describe_certificate_error(error: &CertificateError) -> (String, &'static str) {
    const AUTHORITY: &str = "if the server has its own certificate authority, trust it with `--ca-file FILE`";
    const RENEW: &str = "renew the certificate of the server, and check the clock of this machine";
    const NAME: &str = "use a host name or address that the certificate contains";
    const LEAF: &str =
        "create it with `-addext basicConstraints=critical,CA:FALSE`, or let the authority issue another";
    let (reason, hint) = match error {
        CertificateError::UnknownIssuer => ("its issuer is not trusted", AUTHORITY),
        CertificateError::BadSignature => ("its signature is wrong", AUTHORITY),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => ("it has expired", RENEW),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => ("it is not valid yet", RENEW),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            ("it is for another host", NAME)
        }
        CertificateError::Other(OtherError(cause)) if cause.to_string() == AUTHORITY_AS_SERVER => {
            ("it is the certificate of an authority, not of a server", LEAF)
        }
        other => return (other.to_string(), AUTHORITY),
    };
    (reason.to_owned(), hint)
}
