//! A guarded router on a real socket, and a client that sends raw bytes.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Bytes,
    extract::ws::WebSocketUpgrade,
    response::Response,
    routing::{get, post},
};
use switchboard_serve::{
    Drain,
    guard::{AccessToken, Guard, GuardConfig},
    listen::{ConnectionLimits, HttpServer, ListenAddress, Listener, ServerTls},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::Semaphore,
    time::timeout,
};

pub const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// Only reached by a test that hangs.
pub const TEST_TIMEOUT: Duration = Duration::from_secs(20);

/// How long a test waits to see that something is cut off.
pub const SHORT_TIMEOUT: Duration = Duration::from_millis(100);

pub struct GuardedServer {
    pub address: SocketAddr,
    pub drain: Drain,
    pub server: HttpServer,
    /// Lets requests for `/api/wait` continue.
    pub go: Arc<Semaphore>,
    /// Counts requests for `/api/wait`.
    pub came: Arc<Semaphore>,
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// In lower case.
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn code(&self) -> String {
        let document: serde_json::Value = serde_json::from_str(&self.body).unwrap_or_default();
        assert_eq!(document["status"], self.status, "{}", self.body);
        document["code"].as_str().unwrap_or_default().to_owned()
    }
}

/// The configuration of most tests.
pub fn rules() -> GuardConfig {
    GuardConfig { token: Some(AccessToken::new(TOKEN, "test").unwrap()), ..GuardConfig::default() }
}

impl GuardedServer {
    pub fn open() -> Self {
        Self::with(rules(), ConnectionLimits::default())
    }

    pub fn with(rules: GuardConfig, limits: ConnectionLimits) -> Self {
        Self::with_tls(rules, limits, None)
    }

    pub fn with_tls(rules: GuardConfig, limits: ConnectionLimits, tls: Option<ServerTls>) -> Self {
        let (go, came) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let router = Guard::new(rules).around(router(go.clone(), came.clone()));
        let drain = Drain::new();
        let mut server = HttpServer::new(limits, drain.clone()).with_tls(tls);
        let address: ListenAddress = "127.0.0.1:0".parse().unwrap();
        let listener = Listener::bind(&address).unwrap().pop().unwrap();
        let ListenAddress::Tcp(bound) = listener.address() else { panic!("not TCP") };
        server.listen(listener, router);
        Self { address: bound[0], drain, server, go, came }
    }

    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends a request, and reads the response to the end of the connection. `HOST` stands for the server's address.
    pub async fn ask(&self, request: &str) -> Answer {
        let request = request.replace("HOST", &self.address.to_string()).replace("TOKEN", TOKEN);
        let mut stream = self.connect().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        answer(&mut stream).await
    }

    /// Sends a request with these header lines and without a body.
    pub async fn head(&self, line: &str, headers: &[&str]) -> Answer {
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        self.ask(&format!("{line} HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n{headers}\r\n")).await
    }
}

fn router(go: Arc<Semaphore>, came: Arc<Semaphore>) -> Router {
    let wait = async move || {
        came.add_permits(1);
        go.acquire().await.unwrap().forget();
        "waited"
    };
    Router::new()
        .route("/", get(async || "the page"))
        .route("/s/{id}", get(async || "the page"))
        .route("/api/health", get(async || "healthy"))
        .route("/api/sessions", get(async || "sessions").post(async |body: Bytes| body.len().to_string()))
        .route("/api/sessions/{id}/prompt", post(async |body: Bytes| body.len().to_string()))
        .route("/api/sessions/{id}/cancel", post(async |body: Bytes| body.len().to_string()))
        .route("/api/address", get(async |uri: axum::http::Uri| uri.to_string()))
        .route("/api/wait", get(wait))
        .route("/api/much", get(async || "x".repeat(64 << 20)))
        .route("/ws/x", get(upgrade))
}

async fn upgrade(uri: axum::http::Uri, upgrade: WebSocketUpgrade) -> Response {
    assert!(!uri.to_string().contains(TOKEN));
    upgrade.on_upgrade(async |mut socket| {
        // Until the client disconnects.
        while let Some(Ok(_)) = socket.recv().await {}
    })
}

/// Reads a response and everything after it.
pub async fn answer(stream: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    // A client that is cut off may lose the end.
    timeout(TEST_TIMEOUT, stream.read_to_end(&mut bytes)).await.expect("no end").ok();
    parse(&String::from_utf8_lossy(&bytes))
}

pub fn parse(text: &str) -> Answer {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Answer { status, head: head.to_lowercase(), body: body.to_owned() }
}
