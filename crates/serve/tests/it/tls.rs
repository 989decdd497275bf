//! Connections with TLS: certificates, handshakes, and limits.

use std::{fs, sync::Arc};

use switchboard_client::http::{HttpClient, HttpError, ServerAddress, TrustedAuthorities};
use switchboard_serve::{
    guard::GuardConfig,
    listen::{CertificateFiles, ConnectionLimits, ServerTls},
};
use switchboard_testkit::certificates::TestAuthority;
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, ServerName, pem::PemObject as _},
    },
};

use crate::guarded_server::{GuardedServer, SHORT_TIMEOUT, TEST_TIMEOUT, TOKEN, answer, parse, rules};

/// A server with a certificate, and the authority that issued it.
struct TlsServer {
    server: GuardedServer,
    tls: ServerTls,
    authority: TestAuthority,
    folder: TempDir,
}

impl TlsServer {
    fn open() -> Self {
        Self::with(ConnectionLimits::default())
    }

    fn with(limits: ConnectionLimits) -> Self {
        let (folder, authority) = (tempfile::tempdir().unwrap(), TestAuthority::new().unwrap());
        let issued = authority.issue(&["127.0.0.1", "localhost"], folder.path()).unwrap();
        let tls = ServerTls::load(CertificateFiles { certificate: issued.certificate, key: issued.key }).unwrap();
        let rules = GuardConfig { has_tls: true, ..rules() };
        Self { server: GuardedServer::with_tls(rules, limits, Some(tls.clone())), tls, authority, folder }
    }

    /// A client that trusts an authority.
    fn client(&self, trusted: &TestAuthority, host: &str) -> HttpClient {
        let path = self.folder.path().join("ca.pem");
        trusted.write(&path).unwrap();
        let address = ServerAddress::parse(&format!("https://{host}:{}", self.server.address.port())).unwrap();
        let authorities = TrustedAuthorities::load_file(&path).unwrap();
        HttpClient::with_authorities(address, Some(&format!("Bearer {TOKEN}")), authorities).unwrap()
    }

    /// Performs a handshake, for a client that sends bytes.
    async fn connect(&self) -> TlsStream<TcpStream> {
        let path = self.folder.path().join("ca.pem");
        self.authority.write(&path).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(&path).unwrap()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, self.server.connect().await).await.unwrap()
    }

    async fn ask(&self, path: &str) -> Result<(u16, String), HttpError> {
        let (status, body) = self.client(&self.authority, "127.0.0.1").request("GET", path, None).await?;
        Ok((status, String::from_utf8(body.to_vec()).unwrap()))
    }
}

/// Waits until the server closes a connection.
async fn wait_for_close(stream: &mut TcpStream) {
    let mut rest = Vec::new();
    timeout(TEST_TIMEOUT, stream.read_to_end(&mut rest)).await.expect("never closed").ok();
}

#[tokio::test]
async fn responses_of_any_size_are_encrypted() {
    let served = TlsServer::open();
    assert_eq!(served.ask("/api/sessions").await.unwrap(), (200, "sessions".to_owned()));
    let (status, body) = served.client(&served.authority, "localhost").request("GET", "/api/much", None).await.unwrap();
    assert_eq!((status, body.len()), (200, 64 << 20));
}

#[tokio::test]
async fn only_the_right_certificate_is_accepted() {
    let served = TlsServer::open();
    let stranger = TestAuthority::new().unwrap();
    let refusal = |client: HttpClient| async move {
        match client.request("GET", "/api/health", None).await {
            Err(HttpError::Certificate { reason, .. }) => reason,
            other => panic!("{other:?}"),
        }
    };
    let reason = refusal(served.client(&stranger, "127.0.0.1")).await;
    // Authorities in tests have the same name, so the signature shows the difference.
    assert!(reason == "its issuer is not trusted" || reason == "its signature is wrong", "{reason}");
    let elsewhere = served.authority.issue(&["board.example"], served.folder.path()).unwrap();
    assert!(elsewhere.certificate.exists());
    served.tls.reload().unwrap();
    assert_eq!(refusal(served.client(&served.authority, "127.0.0.1")).await, "it is for another host");
    served.authority.write_as_server(served.folder.path()).unwrap();
    served.tls.reload().unwrap();
    let reason = refusal(served.client(&served.authority, "127.0.0.1")).await;
    assert_eq!(reason, "it is the certificate of an authority, not of a server");
    served.authority.issue(&["127.0.0.1"], served.folder.path()).unwrap();
    served.tls.reload().unwrap();
    // The authorities of this machine did not issue it.
    let address = ServerAddress::parse(&format!("https://127.0.0.1:{}", served.server.address.port())).unwrap();
    if let Ok(client) = HttpClient::new(address, None) {
        assert_eq!(refusal(client).await, "its issuer is not trusted");
    }
}

#[tokio::test]
async fn a_slow_handshake_delays_no_other_and_is_cut_off() {
    let limits = ConnectionLimits { handshake_timeout: SHORT_TIMEOUT, ..ConnectionLimits::default() };
    for begin in [&b""[..], b"\x16", b"\x16\x03\x01\x02\x00\x01"] {
        let (patient, hasty) = (TlsServer::open(), TlsServer::with(limits));
        let mut silent = patient.server.connect().await;
        silent.write_all(begin).await.unwrap();
        assert_eq!(patient.ask("/api/health").await.unwrap().0, 200);
        let mut cut_off = hasty.server.connect().await;
        cut_off.write_all(begin).await.unwrap();
        wait_for_close(&mut cut_off).await;
        assert_eq!(hasty.ask("/api/health").await.unwrap().0, 200);
    }
}

#[tokio::test]
async fn handshakes_count_as_connections() {
    let served = TlsServer::with(ConnectionLimits { max_connections: 1, ..ConnectionLimits::default() });
    let mut silent = served.server.connect().await;
    // The newer connection takes the slot of the older one.
    assert_eq!(served.ask("/api/health").await.unwrap().0, 200);
    wait_for_close(&mut silent).await;
    let wait = tokio::spawn({
        let client = served.client(&served.authority, "127.0.0.1");
        async move { client.request("GET", "/api/wait", None).await.unwrap().0 }
    });
    served.server.came.acquire().await.unwrap().forget();
    // The only slot belongs to an authenticated client.
    let (status, body) = served.ask("/api/health").await.unwrap();
    assert_eq!(status, 503);
    assert!(body.contains("too_many_connections"), "{body}");
    served.server.go.add_permits(1);
    assert_eq!(wait.await.unwrap(), 200);
}

#[tokio::test]
async fn plain_http_is_told_to_use_tls() {
    let served = TlsServer::open();
    let told = served.server.head("GET /api/health", &[]).await;
    assert_eq!((told.status, told.code().as_str()), (400, "tls_required"));
    let mut stream = served.server.connect().await;
    stream.write_all(b"SSH-2.0-x\r\n").await.unwrap();
    stream.shutdown().await.unwrap();
    assert_eq!(answer(&mut stream).await.status, 400);
}

#[tokio::test]
async fn a_server_without_tls_is_recognized() {
    let plain = GuardedServer::open();
    let served = TlsServer::open();
    let address = ServerAddress::parse(&format!("https://{}", plain.address)).unwrap();
    let path = served.folder.path().join("ca.pem");
    served.authority.write(&path).unwrap();
    let client = HttpClient::with_authorities(address, None, TrustedAuthorities::load_file(&path).unwrap()).unwrap();
    let error = client.request("GET", "/", None).await.unwrap_err();
    assert!(matches!(error, HttpError::NotTls(_)), "{error}");
}

#[tokio::test]
async fn the_cookie_of_the_page_is_only_sent_with_tls() {
    let served = TlsServer::open();
    let mut stream = served.connect().await;
    let host = served.server.address;
    let request = format!("GET /?token={TOKEN} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    timeout(TEST_TIMEOUT, stream.read_to_end(&mut bytes)).await.expect("no end").unwrap();
    let told = parse(&String::from_utf8(bytes).unwrap());
    assert_eq!(told.status, 303);
    assert!(
        told.head.lines().any(|line| line.starts_with("set-cookie:") && line.ends_with("; secure")),
        "{}",
        told.head
    );
}

#[tokio::test]
async fn a_new_certificate_is_for_new_connections_and_a_bad_one_changes_nothing() {
    let served = TlsServer::open();
    let open = tokio::spawn({
        let client = served.client(&served.authority, "127.0.0.1");
        async move { client.request("GET", "/api/wait", None).await.unwrap().0 }
    });
    served.server.came.acquire().await.unwrap().forget();
    let other = TestAuthority::new().unwrap();
    let issued = other.issue(&["127.0.0.1"], served.folder.path()).unwrap();
    served.tls.reload().unwrap();
    assert!(served.ask("/api/health").await.is_err());
    let with_new = || served.client(&other, "127.0.0.1");
    assert_eq!(with_new().request("GET", "/api/health", None).await.unwrap().0, 200);
    for (file, content, expected) in [
        (&issued.certificate, "", "no certificate in"),
        (&issued.certificate, "no PEM", "no certificate in"),
        (&issued.key, "", "no private key in"),
    ] {
        let before = fs::read(file).unwrap();
        fs::write(file, content).unwrap();
        let error = served.tls.reload().unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains(file.to_str().unwrap()), "{error}");
        fs::write(file, before).unwrap();
    }
    let key = fs::read(&issued.key).unwrap();
    other.issue(&["127.0.0.1"], served.folder.path()).unwrap();
    fs::write(&issued.key, key).unwrap();
    let error = served.tls.reload().unwrap_err().to_string();
    assert!(error.contains("does not belong to the certificate"), "{error}");
    fs::remove_file(&issued.certificate).unwrap();
    let error = served.tls.reload().unwrap_err().to_string();
    assert!(error.contains("cannot read") && error.contains("No such file"), "{error}");
    assert_eq!(with_new().request("GET", "/api/health", None).await.unwrap().0, 200);
    served.server.go.add_permits(1);
    assert_eq!(open.await.unwrap(), 200);
}

#[tokio::test]
async fn a_client_that_does_not_read_is_cut_off_with_tls_too() {
    let served = TlsServer::with(ConnectionLimits { write_timeout: SHORT_TIMEOUT, ..ConnectionLimits::default() });
    let mut stream = served.connect().await;
    let request =
        format!("GET /api/much HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n", served.server.address);
    stream.write_all(request.as_bytes()).await.unwrap();
    // The response has begun.
    assert_eq!(stream.read_u8().await.unwrap(), b'H');
    assert!(served.server.server.wait_until_idle(TEST_TIMEOUT).await);
}
