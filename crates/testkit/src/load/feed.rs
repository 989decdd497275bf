//! A stream of messages over WebSocket or SSE.

use std::io;

use super::client::{BufferedSocket, TestApiClient, read_chunk_size, read_head, read_response};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedTransport {
    WebSocket,
    Sse,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FeedOrigin {
    /// At the first message.
    #[default]
    Start,
    /// After an event, by its `seq`.
    Event(u64),
    /// After a number of messages.
    Message(u64),
}

pub struct FeedMessage<'a> {
    pub text: &'a [u8],
    /// The SSE id.
    pub id: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeedEnd {
    /// Closed by the server, with the WebSocket close code.
    Closed(Option<u16>),
    /// The connection ended without a close.
    Broken,
}

pub enum LoadFeed {
    WebSocket(WebSocketFeed),
    Sse(SseFeed),
}

impl LoadFeed {
    pub fn open(
        api: &TestApiClient,
        wire: FeedTransport,
        session: &str,
        dialect: &str,
        from: FeedOrigin,
    ) -> io::Result<Self> {
        Self::open_on(BufferedSocket::connect(api.port)?, api, wire, &stream_path(wire, session, dialect, from), from)
    }

    /// Follows a session on an existing connection.
    pub fn open_on(
        socket: BufferedSocket,
        api: &TestApiClient,
        wire: FeedTransport,
        path: &str,
        from: FeedOrigin,
    ) -> io::Result<Self> {
        match wire {
            FeedTransport::WebSocket => Ok(Self::WebSocket(WebSocketFeed::open(socket, api, path)?)),
            FeedTransport::Sse => {
                let last = if let FeedOrigin::Event(seq) = from { Some(seq) } else { None };
                Ok(Self::Sse(SseFeed::open(socket, api, path, last)?))
            }
        }
    }

    /// Waits for the next message and passes it to `see`. Returns the end of the stream instead, if it has ended.
    pub fn next(&mut self, see: &mut dyn FnMut(FeedMessage<'_>)) -> io::Result<Option<FeedEnd>> {
        match self {
            Self::WebSocket(feed) => feed.next(see),
            Self::Sse(feed) => feed.next(see),
        }
    }
}

/// Returns the path of a session's stream. `Last-Event-ID` is a header and not part of it.
pub fn stream_path(wire: FeedTransport, session: &str, dialect: &str, from: FeedOrigin) -> String {
    let path = match wire {
        FeedTransport::WebSocket => format!("/ws/sessions/{session}?dialect={dialect}"),
        FeedTransport::Sse => format!("/api/sessions/{session}/stream?dialect={dialect}"),
    };
    match (wire, from) {
        (FeedTransport::WebSocket, FeedOrigin::Event(seq)) => format!("{path}&after={seq}"),
        (_, FeedOrigin::Message(number)) => format!("{path}&offset={number}"),
        _ => path,
    }
}

pub struct SseFeed {
    socket: BufferedSocket,
    /// Unread bytes of the chunk.
    left: usize,
    /// A line that continues in the next chunk.
    part: Vec<u8>,
    data: Vec<u8>,
    id: Option<u64>,
    state: SseBodyState,
}

enum SseBodyState {
    /// Before the first chunk.
    Begin,
    /// In or after a chunk.
    Chunk,
}

impl SseFeed {
    pub fn open(mut socket: BufferedSocket, api: &TestApiClient, path: &str, last: Option<u64>) -> io::Result<Self> {
        let last = last.map(|seq| format!("Last-Event-ID: {seq}\r\n")).unwrap_or_default();
        socket.write(api.request_head("GET", path, &format!("Accept: text/event-stream\r\n{last}")).as_bytes())?;
        Self::from_response(socket)
    }

    /// Reads the response to a request that was sent.
    pub fn from_response(mut socket: BufferedSocket) -> io::Result<Self> {
        let (status, head) = read_head(&mut socket)?;
        if status != 200 {
            let body = read_response(&mut socket).map(|response| response.body).unwrap_or_default();
            return Err(io::Error::other(format!("no stream: {head}{}", String::from_utf8_lossy(&body))));
        }
        Ok(Self { socket, left: 0, part: Vec::new(), data: Vec::new(), id: None, state: SseBodyState::Begin })
    }

    pub fn next(&mut self, see: &mut dyn FnMut(FeedMessage<'_>)) -> io::Result<Option<FeedEnd>> {
        loop {
            if self.left == 0 {
                match self.next_chunk() {
                    Ok(0) => return Ok(Some(FeedEnd::Closed(None))),
                    Ok(size) => self.left = size,
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(Some(FeedEnd::Broken)),
                    Err(error) => return Err(error),
                }
            }
            if self.socket.buffered().is_empty() && !self.socket.read_more()? {
                return Ok(Some(FeedEnd::Broken));
            }
            if self.read_line(see) {
                return Ok(None);
            }
        }
    }

    fn next_chunk(&mut self) -> io::Result<usize> {
        if matches!(self.state, SseBodyState::Chunk) {
            if !self.socket.read_at_least(2)? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.socket.consume(2);
        }
        self.state = SseBodyState::Chunk;
        read_chunk_size(&mut self.socket)
    }

    /// Reads the next buffered line. Returns whether it ended a message.
    fn read_line(&mut self, see: &mut dyn FnMut(FeedMessage<'_>)) -> bool {
        let here = self.socket.buffered();
        let here = here.get(..self.left).unwrap_or(here);
        let Some(end) = memchr::memchr(b'\n', here) else {
            self.part.extend_from_slice(here);
            let size = here.len();
            self.left -= size;
            self.socket.consume(size);
            return false;
        };
        let rest = here.get(..end).unwrap_or_default();
        let ended = if self.part.is_empty() {
            parse_field(rest, &mut self.data, &mut self.id)
        } else {
            self.part.extend_from_slice(rest);
            let line = std::mem::take(&mut self.part);
            parse_field(&line, &mut self.data, &mut self.id)
        };
        self.left -= end + 1;
        self.socket.consume(end + 1);
        ended && self.emit_message(see)
    }

    /// A comment alone is not a message.
    fn emit_message(&mut self, see: &mut dyn FnMut(FeedMessage<'_>)) -> bool {
        let is_message = !self.data.is_empty();
        if is_message {
            see(FeedMessage { text: &self.data, id: self.id.take() });
            self.data.clear();
        }
        is_message
    }
}

/// Stores a field. Returns whether the line ends the message.
fn parse_field(line: &[u8], data: &mut Vec<u8>, id: &mut Option<u64>) -> bool {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if let Some(text) = line.strip_prefix(b"data:") {
        if !data.is_empty() {
            data.push(b'\n');
        }
        data.extend_from_slice(text.strip_prefix(b" ").unwrap_or(text));
    } else if let Some(text) = line.strip_prefix(b"id:") {
        *id = std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok());
    }
    line.is_empty()
}

const WEBSOCKET_KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";

/// A real client's mask is random; no proxy is involved here.
const FRAME_MASK: [u8; 4] = [1, 2, 3, 4];

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebSocketFrame {
    /// The last frame of its message.
    pub last: bool,
    /// The opcode.
    pub kind: u8,
    /// Length of the header.
    pub head: usize,
    /// Length of the payload.
    pub size: usize,
}

pub struct WebSocketFeed {
    socket: BufferedSocket,
    parts: Vec<u8>,
}

impl WebSocketFeed {
    pub fn open(mut socket: BufferedSocket, api: &TestApiClient, path: &str) -> io::Result<Self> {
        socket.write(upgrade_request(api, path).as_bytes())?;
        let (status, head) = read_head(&mut socket)?;
        if status != 101 {
            return Err(io::Error::other(format!("no WebSocket: {head}")));
        }
        Ok(Self { socket, parts: Vec::new() })
    }

    pub fn inner_socket(&mut self) -> &mut BufferedSocket {
        &mut self.socket
    }

    pub fn send_text(&mut self, text: &str) -> io::Result<()> {
        self.socket.write(&masked_frame(0x81, text.as_bytes()))
    }

    pub fn next(&mut self, see: &mut dyn FnMut(FeedMessage<'_>)) -> io::Result<Option<FeedEnd>> {
        loop {
            let Some(frame) = self.next_frame()? else { return Ok(Some(FeedEnd::Broken)) };
            let whole = self.socket.buffered();
            let body = whole.get(frame.head..frame.head + frame.size).unwrap_or_default();
            let event = match frame.kind {
                1 | 2 if frame.last => {
                    see(FeedMessage { text: body, id: None });
                    Some(None)
                }
                0..=2 => {
                    self.parts.extend_from_slice(body);
                    frame.last.then(|| {
                        see(FeedMessage { text: &self.parts, id: None });
                        self.parts.clear();
                        None
                    })
                }
                8 => Some(Some(FeedEnd::Closed(body.get(..2).map(|code| u16::from_be_bytes([code[0], code[1]]))))),
                9 => {
                    let pong = masked_frame(0x8a, body);
                    self.socket.write(&pong)?;
                    None
                }
                _ => None,
            };
            self.socket.consume(frame.head + frame.size);
            if let Some(event) = event {
                return Ok(event);
            }
        }
    }

    /// Waits until a whole frame is buffered.
    pub fn next_frame(&mut self) -> io::Result<Option<WebSocketFrame>> {
        loop {
            let frame = WebSocketFrame::parse(self.socket.buffered());
            let needed = frame.map_or(2, |frame| frame.head + frame.size);
            if frame.is_some() && self.socket.buffered().len() >= needed {
                return Ok(frame);
            }
            let more = self.socket.buffered().len().max(needed.saturating_sub(1)) + 1;
            if !self.socket.read_at_least(if frame.is_some() { needed } else { more })? {
                return Ok(None);
            }
        }
    }
}

#[must_use]
fn upgrade_request(api: &TestApiClient, path: &str) -> String {
    let headers = format!(
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {WEBSOCKET_KEY}\r\nSec-WebSocket-Version: 13\r\n"
    );
    api.request_head("GET", path, &headers)
}

impl WebSocketFrame {
    /// Parses a frame header, if it is complete. Servers do not mask.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (&first, &second) = (bytes.first()?, bytes.get(1)?);
        let (last, kind) = (first & 0x80 != 0, first & 0x0f);
        let number = |from: usize, to: usize| {
            let digits = bytes.get(from..to)?;
            Some(digits.iter().fold(0_usize, |number, byte| (number << 8) | usize::from(*byte)))
        };
        let (head, size) = match second & 0x7f {
            126 => (4, number(2, 4)?),
            127 => (10, number(2, 10)?),
            size => (2, usize::from(size)),
        };
        Some(Self { last, kind, head, size })
    }
}

/// Returns a client frame with the given first byte.
#[must_use]
pub fn masked_frame(first: u8, body: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    match (u16::try_from(body.len()), u8::try_from(body.len())) {
        (_, Ok(size)) if size < 126 => frame.push(0x80 | size),
        (Ok(size), _) => {
            frame.push(0x80 | 126);
            frame.extend(size.to_be_bytes());
        }
        _ => {
            frame.push(0x80 | 127);
            frame.extend((body.len() as u64).to_be_bytes());
        }
    }
    frame.extend(FRAME_MASK);
    frame.extend(body.iter().zip(FRAME_MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}
