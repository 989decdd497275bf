//! Server-sent events, in a body of chunks.

use std::io;

use super::{
    api::{Api, chunk_size, head, response},
    feed::{End, Message},
    socket::Socket,
};

/// A stream of server-sent events.
pub struct Sse {
    socket: Socket,
    /// What of a chunk was not read yet.
    left: usize,
    /// A line of which the rest comes in the next chunk.
    part: Vec<u8>,
    data: Vec<u8>,
    id: Option<u64>,
    state: State,
}

/// Where in the body the stream is.
enum State {
    /// Before the first chunk.
    Begin,
    /// In or behind a chunk.
    Chunk,
}

impl Sse {
    /// Opens one.
    pub fn open(mut socket: Socket, api: &Api, path: &str, last: Option<u64>) -> io::Result<Self> {
        let last = last.map(|seq| format!("Last-Event-ID: {seq}\r\n")).unwrap_or_default();
        socket.write(api.head("GET", path, &format!("Accept: text/event-stream\r\n{last}")).as_bytes())?;
        Self::answered(socket)
    }

    /// Reads the answer to a request that was sent.
    pub fn answered(mut socket: Socket) -> io::Result<Self> {
        let (status, head) = head(&mut socket)?;
        if status != 200 {
            let body = response(&mut socket).map(|response| response.body).unwrap_or_default();
            return Err(io::Error::other(format!("no stream: {head}{}", String::from_utf8_lossy(&body))));
        }
        Ok(Self { socket, left: 0, part: Vec::new(), data: Vec::new(), id: None, state: State::Begin })
    }

    /// Waits for the next message.
    pub fn next(&mut self, see: &mut dyn FnMut(Message<'_>)) -> io::Result<Option<End>> {
        loop {
            if self.left == 0 {
                match self.chunk() {
                    Ok(0) => return Ok(Some(End::Closed(None))),
                    Ok(size) => self.left = size,
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(Some(End::Broken)),
                    Err(error) => return Err(error),
                }
            }
            if self.socket.here().is_empty() && !self.socket.more()? {
                return Ok(Some(End::Broken));
            }
            if self.line(see) {
                return Ok(None);
            }
        }
    }

    fn chunk(&mut self) -> io::Result<usize> {
        if matches!(self.state, State::Chunk) {
            if !self.socket.need(2)? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.socket.take(2);
        }
        self.state = State::Chunk;
        chunk_size(&mut self.socket)
    }

    /// Looks at the next line of what is here; true if it ended a message.
    fn line(&mut self, see: &mut dyn FnMut(Message<'_>)) -> bool {
        let here = self.socket.here();
        let here = here.get(..self.left).unwrap_or(here);
        let Some(end) = memchr::memchr(b'\n', here) else {
            self.part.extend_from_slice(here);
            let size = here.len();
            self.left -= size;
            self.socket.take(size);
            return false;
        };
        let rest = here.get(..end).unwrap_or_default();
        let ended = if self.part.is_empty() {
            field(rest, &mut self.data, &mut self.id)
        } else {
            self.part.extend_from_slice(rest);
            let line = std::mem::take(&mut self.part);
            field(&line, &mut self.data, &mut self.id)
        };
        self.left -= end + 1;
        self.socket.take(end + 1);
        ended && self.tell(see)
    }

    /// A comment alone is no message.
    fn tell(&mut self, see: &mut dyn FnMut(Message<'_>)) -> bool {
        let is_message = !self.data.is_empty();
        if is_message {
            see(Message { text: &self.data, id: self.id.take() });
            self.data.clear();
        }
        is_message
    }
}

/// Notes a line; true if it ends what came before it.
fn field(line: &[u8], data: &mut Vec<u8>, id: &mut Option<u64>) -> bool {
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
