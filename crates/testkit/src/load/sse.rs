//! Server-sent events in a chunked body.

use std::io;

use super::{
    api::{TestApiClient, read_chunk_size, read_head, read_response},
    feed::{FeedEnd, FeedMessage},
    socket::BufferedSocket,
};

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
