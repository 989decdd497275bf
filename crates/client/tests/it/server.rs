//! A server with one session that may cut connections anywhere, lack features, or refuse WebSockets.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::SinkExt as _;
use parking_lot::Mutex;
use switchboard_client::{ReconnectPolicy, http::ServerConnection};
use switchboard_testkit::random::SeededRng;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
    time::Duration,
};
use tokio_tungstenite::{
    accept_async,
    tungstenite::protocol::{CloseFrame, Message, frame::coding::CloseCode},
};

/// The behavior of a server.
#[derive(Clone)]
pub struct ServerBehavior {
    /// Connections are cut after at most this many bytes.
    pub cut: Option<usize>,
    /// Whether `offset` and `after` of a WebSocket are supported; otherwise everything is replayed.
    pub places: bool,
    /// The response to a WebSocket request.
    pub sockets: SocketBehavior,
    /// The way a WebSocket is closed when the session has ended.
    pub close: CloseBehavior,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SocketBehavior {
    Taken,
    /// Refused with this status.
    Refused(u16),
    /// Opened and closed at once, as some proxies do.
    Shut,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CloseBehavior {
    SessionEnded,
    Normally,
    /// The connection ends without a close frame.
    Not,
}

impl Default for ServerBehavior {
    fn default() -> Self {
        Self { cut: None, places: true, sockets: SocketBehavior::Taken, close: CloseBehavior::SessionEnded }
    }
}

/// The server.
pub struct FlakyServer {
    pub url: String,
    stage: Arc<FlakyServerState>,
    _task: JoinSet<()>,
}

struct FlakyServerState {
    lines: Vec<String>,
    /// The number of published lines, and whether the session has ended.
    there: watch::Sender<(usize, bool)>,
    habits: ServerBehavior,
    dice: Mutex<SeededRng>,
    asked: Mutex<Vec<String>>,
}

impl FlakyServer {
    /// Starts a server with a session that will have the given lines.
    pub async fn new(lines: Vec<String>, habits: ServerBehavior, seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (there, _) = watch::channel((0, false));
        let (dice, asked) = (Mutex::new(SeededRng::new(seed)), Mutex::default());
        let stage = Arc::new(FlakyServerState { lines, there, habits, dice, asked });
        let mut task = JoinSet::new();
        let on_stage = stage.clone();
        task.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let stage = on_stage.clone();
                // Errors of cut connections are expected.
                connections.spawn(async move { drop(stage.serve_connection(stream).await) });
            }
        });
        Self { url, stage, _task: task }
    }

    /// Publishes lines up to a count.
    pub fn publish_lines(&self, count: usize) {
        self.stage.there.send_replace((count, false));
    }

    /// Publishes all lines and ends the session.
    pub fn finish_session(&self) {
        self.stage.there.send_replace((self.stage.lines.len(), true));
    }

    /// Publishes the lines one by one, yielding in between.
    pub async fn publish_gradually(&self) {
        for count in 0..self.stage.lines.len() {
            self.publish_lines(count);
            tokio::task::yield_now().await;
        }
        self.finish_session();
    }

    /// Returns the paths of all requests so far.
    pub fn requested_paths(&self) -> Vec<String> {
        self.stage.asked.lock().clone()
    }
}

impl FlakyServerState {
    async fn serve_connection(&self, stream: TcpStream) -> io::Result<()> {
        let path = peek_path(&stream).await?;
        let left = self.habits.cut.map_or(usize::MAX, |most| self.dice.lock().next_below(most));
        let stream = CutStream { inner: stream, left };
        self.asked.lock().push(path.clone());
        match (path.strip_prefix("/ws/sessions/s"), self.habits.sockets) {
            (Some(_), SocketBehavior::Refused(status)) => write_response(stream, status, "no").await,
            (Some(query), sockets) => self.serve_socket(stream, query, sockets).await.map_err(io::Error::other),
            (None, _) => self.serve_page(stream, &path).await,
        }
    }

    async fn serve_socket(
        &self,
        stream: CutStream,
        query: &str,
        sockets: SocketBehavior,
    ) -> Result<(), tokio_tungstenite::tungstenite::Error> {
        let mut socket = accept_async(stream).await?;
        if sockets == SocketBehavior::Shut {
            return Ok(());
        }
        let mut sent = if self.habits.places {
            query_number(query, "after").or(query_number(query, "offset")).unwrap_or(0)
        } else {
            0
        };
        let mut there = self.there.subscribe();
        loop {
            let (count, ended) = *there.borrow_and_update();
            while sent < count {
                socket.send(Message::text(self.lines[sent].clone())).await?;
                sent += 1;
            }
            if ended {
                break;
            }
            if there.changed().await.is_err() {
                return Ok(());
            }
        }
        let reason = match self.habits.close {
            CloseBehavior::SessionEnded => "session ended",
            CloseBehavior::Normally => "",
            CloseBehavior::Not => return Ok(()),
        };
        socket.close(Some(CloseFrame { code: CloseCode::Normal, reason: reason.into() })).await
    }

    async fn serve_page(&self, mut stream: CutStream, path: &str) -> io::Result<()> {
        let mut head = Vec::new();
        while !head.windows(4).any(|end| end == b"\r\n\r\n") {
            stream.read_buf(&mut head).await?;
        }
        let (count, ended) = *self.there.borrow();
        if path == "/api/sessions/s" {
            let state = if ended { "done" } else { "running" };
            return write_response(
                stream,
                200,
                &format!(r#"{{"id":"s","state":"{state}","agentType":"a","events":{count}}}"#),
            )
            .await;
        }
        let Some(query) = path.strip_prefix("/api/sessions/s/events") else {
            return write_response(stream, 404, "{}").await;
        };
        let from = query_number(query, "after").or(query_number(query, "offset")).unwrap_or(0).min(count);
        let to = (from + query_number(query, "limit").unwrap_or(10).min(7)).min(count);
        let events = self.lines[from..to].join(",");
        write_response(stream, 200, &format!(r#"{{"events":[{events}],"nextOffset":{to}}}"#)).await
    }
}

async fn write_response(mut stream: impl ServerConnection, status: u16, body: &str) -> io::Result<()> {
    let text = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
    stream.write_all(text.as_bytes()).await?;
    stream.shutdown().await
}

fn query_number(query: &str, name: &str) -> Option<usize> {
    let pairs = query.trim_start_matches('?').split('&');
    pairs
        .filter_map(|pair| pair.split_once('='))
        .find(|(key, _)| *key == name)
        .and_then(|(_, value)| value.parse().ok())
}

/// Returns the requested path without consuming the stream.
async fn peek_path(stream: &TcpStream) -> io::Result<String> {
    let mut head = [0; 4096];
    loop {
        let length = stream.peek(&mut head).await?;
        let text = String::from_utf8_lossy(&head[..length]).into_owned();
        if text.contains("\r\n\r\n") {
            return Ok(text.split(' ').nth(1).unwrap_or_default().to_owned());
        }
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// A connection that breaks after a number of written bytes.
struct CutStream {
    inner: TcpStream,
    left: usize,
}

impl AsyncRead for CutStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl AsyncWrite for CutStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if self.left == 0 {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let most = buf.len().min(self.left);
        let written = Pin::new(&mut self.inner).poll_write(cx, &buf[..most]);
        if let Poll::Ready(Ok(count)) = written {
            self.left -= count;
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

/// Returns a policy that reconnects almost immediately.
pub fn fast_reconnect() -> ReconnectPolicy {
    ReconnectPolicy {
        first: Duration::from_micros(100),
        longest: Duration::from_millis(1),
        attempts: 200,
        poll: Duration::from_millis(1),
        ..ReconnectPolicy::default()
    }
}

/// Returns the JSON of an event of varying length.
pub fn event_json(seq: usize) -> String {
    let text = "x".repeat(seq * 37 % 300);
    format!(
        r#"{{"v":1,"seq":{seq},"session":"s","at":"2026-01-01T00:00:00Z","agent":"a","run":1,"turn":null,"item":null,"parent":null,"thread":null,"kind":"notice","data":{{"topic":"status","level":"info","text":"{text}"}}}}"#
    )
}

/// Returns a message with an ID and without a number.
pub fn message_json(number: usize) -> String {
    let text = "y".repeat(number * 37 % 300);
    format!(
        r#"{{"id":"evt-{number}","sessionId":"s","type":"log","payload":{{"line":"{text}"}},"timestamp":"2026-01-01T00:00:00Z"}}"#
    )
}
