//! A server with one session, and with habits: it may cut connections anywhere, know little, or refuse WebSockets.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};

use futures_util::SinkExt as _;
use switchboard_client::{Reconnect, http::Connection};
use switchboard_testkit::dice::Dice;
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

/// How a server is.
#[derive(Clone)]
pub struct Habits {
    /// Connections are cut after so many bytes at most.
    pub cut: Option<usize>,
    /// It knows `offset` and `after` of a WebSocket; else it tells everything from the beginning.
    pub places: bool,
    /// What a WebSocket is answered.
    pub sockets: Sockets,
    /// How a WebSocket is closed when the session has ended.
    pub close: Close,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sockets {
    Taken,
    /// With this status.
    Refused(u16),
    /// They are opened and closed at once, as by a proxy that does not let them be.
    Shut,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Close {
    SessionEnded,
    Normally,
    /// The connection just ends.
    Not,
}

impl Default for Habits {
    fn default() -> Self {
        Self { cut: None, places: true, sockets: Sockets::Taken, close: Close::SessionEnded }
    }
}

/// The server.
pub struct Server {
    pub url: String,
    stage: Arc<Stage>,
    _task: JoinSet<()>,
}

struct Stage {
    lines: Vec<String>,
    /// How many lines are there, and whether that is all.
    there: watch::Sender<(usize, bool)>,
    habits: Habits,
    dice: Mutex<Dice>,
    asked: Mutex<Vec<String>>,
}

impl Server {
    /// A server of a session that will have these lines.
    pub async fn new(lines: Vec<String>, habits: Habits, seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (there, _) = watch::channel((0, false));
        let (dice, asked) = (Mutex::new(Dice::new(seed)), Mutex::default());
        let stage = Arc::new(Stage { lines, there, habits, dice, asked });
        let mut task = JoinSet::new();
        let on_stage = stage.clone();
        task.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let stage = on_stage.clone();
                // Who is cut off does not matter.
                connections.spawn(async move { drop(stage.serve(stream).await) });
            }
        });
        Self { url, stage, _task: task }
    }

    /// So many lines are there now.
    pub fn publish(&self, count: usize) {
        self.stage.there.send_replace((count, false));
    }

    /// All lines are there, and the session has ended.
    pub fn finish(&self) {
        self.stage.there.send_replace((self.stage.lines.len(), true));
    }

    /// Publishes everything bit by bit, while others get their turn.
    pub async fn perform(&self) {
        for count in 0..self.stage.lines.len() {
            self.publish(count);
            tokio::task::yield_now().await;
        }
        self.finish();
    }

    /// The first lines of all requests so far.
    pub fn asked(&self) -> Vec<String> {
        self.stage.asked.lock().unwrap().clone()
    }
}

impl Stage {
    async fn serve(&self, stream: TcpStream) -> io::Result<()> {
        let path = peek(&stream).await?;
        let left = self.habits.cut.map_or(usize::MAX, |most| self.dice.lock().unwrap().below(most));
        let stream = Cut { inner: stream, left };
        self.asked.lock().unwrap().push(path.clone());
        match (path.strip_prefix("/ws/sessions/s"), self.habits.sockets) {
            (Some(_), Sockets::Refused(status)) => answer(stream, status, "no").await,
            (Some(query), sockets) => self.socket(stream, query, sockets).await.map_err(io::Error::other),
            (None, _) => self.page(stream, &path).await,
        }
    }

    async fn socket(
        &self,
        stream: Cut,
        query: &str,
        sockets: Sockets,
    ) -> Result<(), tokio_tungstenite::tungstenite::Error> {
        let mut socket = accept_async(stream).await?;
        if sockets == Sockets::Shut {
            return Ok(());
        }
        let mut sent =
            if self.habits.places { number(query, "after").or(number(query, "offset")).unwrap_or(0) } else { 0 };
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
            Close::SessionEnded => "session ended",
            Close::Normally => "",
            Close::Not => return Ok(()),
        };
        socket.close(Some(CloseFrame { code: CloseCode::Normal, reason: reason.into() })).await
    }

    async fn page(&self, mut stream: Cut, path: &str) -> io::Result<()> {
        let mut head = Vec::new();
        while !head.windows(4).any(|end| end == b"\r\n\r\n") {
            stream.read_buf(&mut head).await?;
        }
        let (count, ended) = *self.there.borrow();
        if path == "/api/sessions/s" {
            let state = if ended { "done" } else { "running" };
            return answer(stream, 200, &format!(r#"{{"id":"s","state":"{state}","agentType":"a","events":{count}}}"#))
                .await;
        }
        let Some(query) = path.strip_prefix("/api/sessions/s/events") else { return answer(stream, 404, "{}").await };
        let from = number(query, "after").or(number(query, "offset")).unwrap_or(0).min(count);
        let to = (from + number(query, "limit").unwrap_or(10).min(7)).min(count);
        let events = self.lines[from..to].join(",");
        answer(stream, 200, &format!(r#"{{"events":[{events}],"nextOffset":{to}}}"#)).await
    }
}

async fn answer(mut stream: impl Connection, status: u16, body: &str) -> io::Result<()> {
    let text = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
    stream.write_all(text.as_bytes()).await?;
    stream.shutdown().await
}

fn number(query: &str, name: &str) -> Option<usize> {
    let pairs = query.trim_start_matches('?').split('&');
    pairs
        .filter_map(|pair| pair.split_once('='))
        .find(|(key, _)| *key == name)
        .and_then(|(_, value)| value.parse().ok())
}

/// The path that is asked for, without taking anything from the stream.
async fn peek(stream: &TcpStream) -> io::Result<String> {
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

/// A connection that breaks after some bytes were written.
struct Cut {
    inner: TcpStream,
    left: usize,
}

impl AsyncRead for Cut {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl AsyncWrite for Cut {
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

/// Finds connections again without much ado.
pub fn at_once() -> Reconnect {
    Reconnect {
        first: Duration::from_micros(100),
        longest: Duration::from_millis(1),
        attempts: 200,
        poll: Duration::from_millis(1),
        ..Reconnect::default()
    }
}

/// An event of the session, of some length.
pub fn event(seq: usize) -> String {
    let text = "x".repeat(seq * 37 % 300);
    format!(
        r#"{{"v":1,"seq":{seq},"session":"s","at":"2026-01-01T00:00:00Z","agent":"a","run":1,"turn":null,"item":null,"parent":null,"thread":null,"kind":"notice","data":{{"topic":"status","level":"info","text":"{text}"}}}}"#
    )
}

/// A message that has an id and no number.
pub fn line(number: usize) -> String {
    let text = "y".repeat(number * 37 % 300);
    format!(
        r#"{{"id":"evt-{number}","sessionId":"s","type":"log","payload":{{"line":"{text}"}},"timestamp":"2026-01-01T00:00:00Z"}}"#
    )
}
