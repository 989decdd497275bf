//! Requests to a server, one connection each.

use std::{io, thread, time::Duration};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

use super::socket::Socket;

/// How often a request that came too soon is tried again, and after how long.
const AGAIN: (u32, Duration) = (600, Duration::from_millis(100));

/// A server that can be asked.
#[derive(Clone, Debug)]
pub struct Api {
    /// Where it listens.
    pub port: u16,
    /// Its token.
    pub token: String,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Response {
    /// Its status.
    pub status: u16,
    /// The type of its body.
    pub kind: String,
    /// Its body.
    pub body: Vec<u8>,
}

impl Response {
    /// The body as JSON, or null.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

impl Api {
    /// Starts a session and gives its id. A server that is asked too often is asked again.
    pub fn start(&self, agent: &str, prompt: &str) -> anyhow::Result<String> {
        self.start_with(&json!({ "agentType": agent, "prompt": prompt }))
    }

    /// Starts a session with settings.
    pub fn start_with(&self, request: &Value) -> anyhow::Result<String> {
        let response = self.call("POST", "/api/sessions", Some(request))?;
        let id = response["id"].as_str().with_context(|| format!("a session was not started: {response}"))?;
        Ok(id.to_owned())
    }

    /// Reads something.
    pub fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.call("GET", path, None)
    }

    /// A request that must succeed. One that came too soon is sent again.
    pub fn call(&self, method: &str, path: &str, body: Option<&Value>) -> anyhow::Result<Value> {
        for _ in 0..AGAIN.0 {
            let response = self.ask(method, path, body).with_context(|| format!("{method} {path}"))?;
            match response.status {
                429 | 503 => thread::sleep(AGAIN.1),
                200..300 => return Ok(response.json()),
                status => bail!("{method} {path}: {status} {}", String::from_utf8_lossy(&response.body)),
            }
        }
        bail!("{method} {path}: the server never had time")
    }

    /// A request, whatever comes of it.
    pub fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> io::Result<Response> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut socket = Socket::connect(self.port)?;
        let length = if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
        let head = self.head(method, path, &format!("Content-Type: application/json\r\n{length}Connection: close\r\n"));
        socket.write(format!("{head}{body}").as_bytes())?;
        response(&mut socket)
    }

    /// The head of a request.
    #[must_use]
    pub fn head(&self, method: &str, path: &str, headers: &str) -> String {
        let Self { port, token } = self;
        let auth = if token.is_empty() { String::new() } else { format!("Authorization: Bearer {token}\r\n") };
        format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{auth}{headers}\r\n")
    }

    /// Waits until a session has ended and gives how.
    pub fn ended(&self, session: &str, patience: Duration) -> anyhow::Result<Value> {
        let pause = Duration::from_millis(20);
        let tries = patience.as_millis() / pause.as_millis();
        for _ in 0..tries.max(1) {
            let view = self.get(&format!("/api/sessions/{session}"))?;
            if view["state"] != "running" {
                return Ok(view);
            }
            thread::sleep(pause);
        }
        bail!("session {session} does not end")
    }

    /// All sessions that the server knows.
    pub fn sessions(&self) -> anyhow::Result<Vec<Value>> {
        let (mut all, mut path) = (Vec::new(), "/api/sessions?limit=200".to_owned());
        loop {
            let page = self.get(&path)?;
            let sessions = page["sessions"].as_array().context("no list of sessions")?;
            all.extend(sessions.iter().cloned());
            let Some(next) = page["next"].as_str() else { return Ok(all) };
            ensure!(!sessions.is_empty(), "an empty page has a next one");
            path = format!("/api/sessions?limit=200&before={next}");
        }
    }
}

/// Reads an answer: its head, and its body to the end that it says or to the end of the connection.
pub fn response(socket: &mut Socket) -> io::Result<Response> {
    let (status, head) = head(socket)?;
    let field = |name: &str| {
        let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with(name));
        line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned())
    };
    let kind = field("content-type:").unwrap_or_default();
    let body =
        if field("transfer-encoding:").is_some() { chunked(socket)? } else { sized(socket, field("content-length:"))? };
    Ok(Response { status, kind, body })
}

/// Reads the head of an answer.
pub fn head(socket: &mut Socket) -> io::Result<(u16, String)> {
    let mut head = String::new();
    loop {
        let Some(length) = socket.line()? else { return Err(io::ErrorKind::UnexpectedEof.into()) };
        let line = String::from_utf8_lossy(socket.here().get(..length).unwrap_or_default()).into_owned();
        socket.take(length);
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&line);
    }
    let status = head.split_whitespace().nth(1).and_then(|status| status.parse().ok());
    Ok((status.ok_or(io::ErrorKind::InvalidData)?, head))
}

fn sized(socket: &mut Socket, length: Option<String>) -> io::Result<Vec<u8>> {
    if let Some(length) = length {
        let length = length.parse().map_err(|_| io::ErrorKind::InvalidData)?;
        if !socket.need(length)? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        return Ok(socket.here().get(..length).unwrap_or_default().to_vec());
    }
    while socket.more()? {}
    Ok(socket.here().to_vec())
}

fn chunked(socket: &mut Socket) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = chunk_size(socket)?;
        if size == 0 {
            return Ok(body);
        }
        if !socket.need(size + 2)? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        body.extend_from_slice(socket.here().get(..size).unwrap_or_default());
        socket.take(size + 2);
    }
}

/// Reads the line before a chunk.
pub fn chunk_size(socket: &mut Socket) -> io::Result<usize> {
    let Some(length) = socket.line()? else { return Err(io::ErrorKind::UnexpectedEof.into()) };
    let line = String::from_utf8_lossy(socket.here().get(..length).unwrap_or_default()).into_owned();
    socket.take(length);
    usize::from_str_radix(line.trim(), 16).map_err(|_| io::ErrorKind::InvalidData.into())
}
