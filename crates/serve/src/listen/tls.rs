//! TLS of a listener: a certificate that can be replaced while connections are open, and handshakes.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::RwLock;
use thiserror::Error;
use tokio::{io::AsyncWriteExt as _, net::TcpStream};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        Error as RustlsError, ServerConfig,
        crypto::ring,
        pki_types::{
            CertificateDer, PrivateKeyDer,
            pem::{Error as PemError, PemObject as _},
        },
        server::{ClientHello, ResolvesServerCert},
        sign::CertifiedKey,
    },
    server::TlsStream,
};

const PLAIN_HTTP_RESPONSE: &[u8] = b"HTTP/1.1 400 Bad Request\r\n\
content-type: application/problem+json\r\nconnection: close\r\ncontent-length: 175\r\n\r\n\
{\"type\":\"about:blank\",\"title\":\"Bad Request\",\"status\":400,\"code\":\"tls_required\",\
\"detail\":\"this server requires TLS\",\
\"hint\":\"use an address that begins with https:// or wss://\"}";

/// The type of a TLS record that begins a handshake.
const HANDSHAKE_RECORD: u8 = 22;

/// The files of a certificate, with its chain, and of its private key, both in PEM format.
#[derive(Clone, Debug)]
pub struct CertificateFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// Why a certificate cannot be used.
#[derive(Debug, Error)]
pub enum CertificateError {
    #[error("cannot read {}: {cause}", .path.display())]
    Unreadable { path: PathBuf, cause: io::Error },
    #[error("no certificate in {}\nhint: it must have a certificate in PEM format, followed by its chain", .0.display())]
    NoCertificate(PathBuf),
    #[error("no private key in {}\nhint: it must have an unencrypted private key in PEM format", .0.display())]
    NoKey(PathBuf),
    #[error("the private key in {} does not belong to the certificate in {}", .0.key.display(), .0.certificate.display())]
    KeyMismatch(CertificateFiles),
    #[error("the certificate in {} or its private key cannot be used: {cause}", .files.certificate.display())]
    Unusable { files: CertificateFiles, cause: RustlsError },
}

impl CertificateFiles {
    fn read(&self) -> Result<CertifiedKey, CertificateError> {
        let unusable = |cause| CertificateError::Unusable { files: self.clone(), cause };
        let (chain, key) = (read_chain(&self.certificate)?, read_key(&self.key)?);
        CertifiedKey::from_der(chain, key, &ring::default_provider()).map_err(|error| match error {
            RustlsError::InconsistentKeys(_) => CertificateError::KeyMismatch(self.clone()),
            other => unusable(other),
        })
    }
}

fn read_file(path: &Path) -> Result<Vec<u8>, CertificateError> {
    std::fs::read(path).map_err(|cause| CertificateError::Unreadable { path: path.to_owned(), cause })
}

fn read_chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let none = || CertificateError::NoCertificate(path.to_owned());
    let chain: Result<Vec<_>, PemError> = CertificateDer::pem_slice_iter(&read_file(path)?).collect();
    chain.ok().filter(|chain| !chain.is_empty()).ok_or_else(none)
}

fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>, CertificateError> {
    PrivateKeyDer::from_pem_slice(&read_file(path)?).map_err(|_| CertificateError::NoKey(path.to_owned()))
}

/// The TLS of a server. Clones share the certificate.
#[derive(Clone)]
pub struct ServerTls {
    acceptor: TlsAcceptor,
    certificate: Arc<CurrentCertificate>,
}

/// The certificate of new connections.
#[derive(Debug)]
struct CurrentCertificate {
    files: CertificateFiles,
    key: RwLock<Arc<CertifiedKey>>,
}

impl ResolvesServerCert for CurrentCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.key.read().clone())
    }
}

impl ServerTls {
    /// Reads the certificate.
    pub fn load(files: CertificateFiles) -> Result<Self, CertificateError> {
        let key = RwLock::new(Arc::new(files.read()?));
        let unusable = |cause| CertificateError::Unusable { files: files.clone(), cause };
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(unusable)?;
        let certificate = Arc::new(CurrentCertificate { files, key });
        let mut config = config.with_no_client_auth().with_cert_resolver(certificate.clone());
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)), certificate })
    }

    /// Reads the certificate again, for new connections. On failure, the previous one stays in use.
    pub fn reload(&self) -> Result<(), CertificateError> {
        let key = Arc::new(self.certificate.files.read()?);
        *self.certificate.key.write() = key;
        Ok(())
    }

    /// Performs the handshake with a client. A client that sends plain HTTP gets a response that says so.
    pub(super) async fn accept(&self, mut stream: TcpStream) -> io::Result<Box<TlsStream<TcpStream>>> {
        let mut first = [0];
        if stream.peek(&mut first).await? == 1 && first != [HANDSHAKE_RECORD] {
            stream.write_all(PLAIN_HTTP_RESPONSE).await?;
            stream.shutdown().await?;
            discard_input(&mut stream).await?;
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(Box::new(self.acceptor.accept(stream).await?))
    }
}

/// Reads until the client closes: closing while it still sends would discard the response.
async fn discard_input(stream: &mut TcpStream) -> io::Result<()> {
    let mut discarded = [0; 1024];
    while tokio::io::AsyncReadExt::read(stream, &mut discarded).await? > 0 {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::PLAIN_HTTP_RESPONSE;

    #[test]
    fn the_response_to_plain_http_has_the_declared_length() {
        let text = std::str::from_utf8(PLAIN_HTTP_RESPONSE).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())), "{}", body.len());
        assert_eq!(serde_json::from_str::<serde_json::Value>(body).unwrap()["code"], "tls_required");
    }
}
