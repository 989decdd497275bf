//! A guarded router on a real socket, and a client that sends bytes as they are.

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
    guard::{Guard, Rules, Token},
    listen::{Address, Limits, Listener, Server},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::Semaphore,
    time::timeout,
};

/// What lets in.
pub const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// How long anything may take. Nothing does; but a test that hangs should say so.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A time that a test has to wait for, to see that something is cut off.
pub const SHORT: Duration = Duration::from_millis(100);

/// A server that listens.
pub struct Door {
    pub address: SocketAddr,
    pub drain: Drain,
    pub server: Server,
    /// Lets requests for `/api/wait` go on.
    pub go: Arc<Semaphore>,
    /// Counts requests for `/api/wait` that have come.
    pub came: Arc<Semaphore>,
}

/// What was answered.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// In lower case.
    pub head: String,
    pub body: String,
}

impl Answer {
    /// The code of a problem.
    pub fn code(&self) -> String {
        let document: serde_json::Value = serde_json::from_str(&self.body).unwrap_or_default();
        assert_eq!(document["status"], self.status, "{}", self.body);
        document["code"].as_str().unwrap_or_default().to_owned()
    }
}

/// The rules of most tests.
pub fn rules() -> Rules {
    Rules { token: Some(Token::new(TOKEN, "test").unwrap()), ..Rules::default() }
}

impl Door {
    pub fn open() -> Self {
        Self::with(rules(), Limits::default())
    }

    pub fn with(rules: Rules, limits: Limits) -> Self {
        let (go, came) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let router = Guard::new(rules).around(router(go.clone(), came.clone()));
        let drain = Drain::new();
        let mut server = Server::new(limits, drain.clone());
        let address: Address = "127.0.0.1:0".parse().unwrap();
        let listener = Listener::bind(&address).unwrap().pop().unwrap();
        let Address::Tcp(bound) = listener.address() else { panic!("not TCP") };
        server.listen(listener, router);
        Self { address: bound[0], drain, server, go, came }
    }

    /// A connection on which nothing was said.
    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends a request, and reads the answer to the end of the connection. `HOST` stands for our address.
    pub async fn ask(&self, request: &str) -> Answer {
        let request = request.replace("HOST", &self.address.to_string()).replace("TOKEN", TOKEN);
        let mut stream = self.connect().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        answer(&mut stream).await
    }

    /// A request with these lines in its head, and no body.
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
        // Until the client goes.
        while let Some(Ok(_)) = socket.recv().await {}
    })
}

/// Reads one answer, and all that comes behind it.
pub async fn answer(stream: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    // Who is cut off may lose the end.
    timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.expect("no end").ok();
    parse(&String::from_utf8_lossy(&bytes))
}

/// The parts of an answer.
pub fn parse(text: &str) -> Answer {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Answer { status, head: head.to_lowercase(), body: body.to_owned() }
}
