//! HTTP requests to a server, one connection each.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;
use std::{io, thread};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

/// Number of retries and the delay between them, for 429 and 503.
const RETRY_COUNT_AND_DELAY: (u32, Duration) = (600, Duration::from_millis(100));

#[derive(Clone, Debug)]
pub struct TestApiClient {
    pub port: u16,
    pub token: String,
}

#[derive(Clone, Debug)]
pub struct ApiResponse {
    pub status: u16,
    /// The content type.
    pub kind: String,
    pub body: Vec<u8>,
}

impl ApiResponse {
    /// Returns the body as JSON, or null.
    #[must_use]
    fn body_json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

impl TestApiClient {
    /// Starts a session and returns its id. Retries when rate-limited.
    pub fn start_session(&self, agent: &str, prompt: &str) -> anyhow::Result<String> {
        self.start_session_with(&json!({ "agentType": agent, "prompt": prompt }))
    }

    /// Starts a session with settings.
    pub fn start_session_with(&self, request: &Value) -> anyhow::Result<String> {
        let response = self.call("POST", "/api/sessions", Some(request))?;
        let id = response["id"].as_str().with_context(|| format!("a session was not started: {response}"))?;
        Ok(id.to_owned())
    }

    pub fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.call("GET", path, None)
    }

    /// Sends a request that must succeed. Retries when rate-limited.
    pub fn call(&self, method: &str, path: &str, body: Option<&Value>) -> anyhow::Result<Value> {
        for _ in 0..RETRY_COUNT_AND_DELAY.0 {
            let response = self.send_request(method, path, body).with_context(|| format!("{method} {path}"))?;
            match response.status {
                429 | 503 => thread::sleep(RETRY_COUNT_AND_DELAY.1),
                200..300 => return Ok(response.body_json()),
                status => bail!("{method} {path}: {status} {}", String::from_utf8_lossy(&response.body)),
            }
        }
        bail!("{method} {path}: the server never had time")
    }

    /// Sends a request and returns any response.
    pub fn send_request(&self, method: &str, path: &str, body: Option<&Value>) -> io::Result<ApiResponse> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut socket = BufferedSocket::connect(self.port)?;
        let length = if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
        let head = self.request_head(
            method,
            path,
            &format!("Content-Type: application/json\r\n{length}Connection: close\r\n"),
        );
        socket.write(format!("{head}{body}").as_bytes())?;
        read_response(&mut socket)
    }

    #[must_use]
    pub fn request_head(&self, method: &str, path: &str, headers: &str) -> String {
        let Self { port, token } = self;
        let auth = if token.is_empty() { String::new() } else { format!("Authorization: Bearer {token}\r\n") };
        format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{auth}{headers}\r\n")
    }

    /// Waits until a session has ended and returns its view.
    pub fn wait_for_end(&self, session: &str, patience: Duration) -> anyhow::Result<Value> {
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

    pub fn list_sessions(&self) -> anyhow::Result<Vec<Value>> {
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

/// Reads a response: head and body, up to its length or to the end of the connection.
pub fn read_response(socket: &mut BufferedSocket) -> io::Result<ApiResponse> {
    let (status, head) = read_head(socket)?;
    let field = |name: &str| {
        let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with(name));
        line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned())
    };
    let kind = field("content-type:").unwrap_or_default();
    let body = if field("transfer-encoding:").is_some() {
        read_chunked_body(socket)?
    } else {
        read_sized_body(socket, field("content-length:"))?
    };
    Ok(ApiResponse { status, kind, body })
}

pub fn read_head(socket: &mut BufferedSocket) -> io::Result<(u16, String)> {
    let mut head = String::new();
    loop {
        let Some(length) = socket.read_line_length()? else { return Err(io::ErrorKind::UnexpectedEof.into()) };
        let line = String::from_utf8_lossy(socket.buffered().get(..length).unwrap_or_default()).into_owned();
        socket.consume(length);
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&line);
    }
    let status = head.split_whitespace().nth(1).and_then(|status| status.parse().ok());
    Ok((status.ok_or(io::ErrorKind::InvalidData)?, head))
}

fn read_sized_body(socket: &mut BufferedSocket, length: Option<String>) -> io::Result<Vec<u8>> {
    if let Some(length) = length {
        let length = length.parse().map_err(|_| io::ErrorKind::InvalidData)?;
        if !socket.read_at_least(length)? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        return Ok(socket.buffered().get(..length).unwrap_or_default().to_vec());
    }
    while socket.read_more()? {}
    Ok(socket.buffered().to_vec())
}

fn read_chunked_body(socket: &mut BufferedSocket) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = read_chunk_size(socket)?;
        if size == 0 {
            return Ok(body);
        }
        if !socket.read_at_least(size + 2)? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        body.extend_from_slice(socket.buffered().get(..size).unwrap_or_default());
        socket.consume(size + 2);
    }
}

/// Reads the line before a chunk.
pub fn read_chunk_size(socket: &mut BufferedSocket) -> io::Result<usize> {
    let Some(length) = socket.read_line_length()? else { return Err(io::ErrorKind::UnexpectedEof.into()) };
    let line = String::from_utf8_lossy(socket.buffered().get(..length).unwrap_or_default()).into_owned();
    socket.consume(length);
    usize::from_str_radix(line.trim(), 16).map_err(|_| io::ErrorKind::InvalidData.into())
}

const READ_CHUNK_BYTES: usize = 256 << 10;

const IO_TIMEOUT: Duration = Duration::from_secs(60);

pub struct BufferedSocket {
    stream: TcpStream,
    buffer: Vec<u8>,
    begin: usize,
    end: usize,
}

impl BufferedSocket {
    pub fn connect(port: u16) -> io::Result<Self> {
        Self::with_buffer(port, READ_CHUNK_BYTES)
    }

    /// Connects with a small read buffer.
    pub fn with_buffer(port: u16, size: usize) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(IO_TIMEOUT))?;
        stream.set_write_timeout(Some(IO_TIMEOUT))?;
        Ok(Self { stream, buffer: vec![0; size], begin: 0, end: 0 })
    }

    #[must_use]
    pub fn tcp_stream(&self) -> &TcpStream {
        &self.stream
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Returns the buffered bytes that were not consumed yet.
    #[must_use]
    pub fn buffered(&self) -> &[u8] {
        self.buffer.get(self.begin..self.end).unwrap_or_default()
    }

    /// Reads more; false at the end.
    pub fn read_more(&mut self) -> io::Result<bool> {
        if self.begin == self.end {
            (self.begin, self.end) = (0, 0);
        } else if self.end == self.buffer.len() {
            self.grow_buffer();
        }
        let room = self.buffer.get_mut(self.end..).unwrap_or_default();
        let size = self.stream.read(room)?;
        self.end += size;
        Ok(size > 0)
    }

    fn grow_buffer(&mut self) {
        self.buffer.copy_within(self.begin..self.end, 0);
        (self.begin, self.end) = (0, self.end - self.begin);
        if self.end == self.buffer.len() {
            self.buffer.resize(2 * self.buffer.len(), 0);
        }
    }

    /// Reads until `size` bytes are buffered; false if the end comes before.
    pub fn read_at_least(&mut self, size: usize) -> io::Result<bool> {
        while self.end - self.begin < size {
            if !self.read_more()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub fn consume(&mut self, size: usize) {
        self.begin = (self.begin + size).min(self.end);
    }

    /// Waits for a line and returns its length including its end; `None` if the end comes before.
    fn read_line_length(&mut self) -> io::Result<Option<usize>> {
        let mut seen = 0;
        loop {
            let here = self.buffered();
            let rest = here.get(seen..).unwrap_or_default();
            if let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
                return Ok(Some(seen + at + 1));
            }
            seen = here.len();
            if !self.read_more()? {
                return Ok(None);
            }
        }
    }
}
