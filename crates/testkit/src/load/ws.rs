//! A WebSocket that only reads, and says what it must.

use std::io;

use super::{
    api::{Api, head},
    feed::{End, Message},
    socket::Socket,
};

/// A key that any server must take.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";

/// A mask. A real client's is random; nothing here is in between.
const MASK: [u8; 4] = [1, 2, 3, 4];

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// It is the last of its message.
    pub last: bool,
    /// Its kind.
    pub kind: u8,
    /// How long its head is.
    pub head: usize,
    /// How long the rest is.
    pub size: usize,
}

/// A WebSocket.
pub struct WebSocket {
    socket: Socket,
    parts: Vec<u8>,
}

impl WebSocket {
    /// Opens one.
    pub fn open(mut socket: Socket, api: &Api, path: &str) -> io::Result<Self> {
        socket.write(request(api, path).as_bytes())?;
        let (status, head) = head(&mut socket)?;
        if status != 101 {
            return Err(io::Error::other(format!("no WebSocket: {head}")));
        }
        Ok(Self { socket, parts: Vec::new() })
    }

    /// The connection below.
    pub fn socket(&mut self) -> &mut Socket {
        &mut self.socket
    }

    /// Sends a text.
    pub fn send(&mut self, text: &str) -> io::Result<()> {
        self.socket.write(&mask(0x81, text.as_bytes()))
    }

    /// Waits for the next message.
    pub fn next(&mut self, see: &mut dyn FnMut(Message<'_>)) -> io::Result<Option<End>> {
        loop {
            let Some(frame) = self.frame()? else { return Ok(Some(End::Broken)) };
            let whole = self.socket.here();
            let body = whole.get(frame.head..frame.head + frame.size).unwrap_or_default();
            let told = match frame.kind {
                1 | 2 if frame.last => {
                    see(Message { text: body, id: None });
                    Some(None)
                }
                0..=2 => {
                    self.parts.extend_from_slice(body);
                    frame.last.then(|| {
                        see(Message { text: &self.parts, id: None });
                        self.parts.clear();
                        None
                    })
                }
                8 => Some(Some(End::Closed(body.get(..2).map(|code| u16::from_be_bytes([code[0], code[1]]))))),
                9 => {
                    let pong = mask(0x8a, body);
                    self.socket.write(&pong)?;
                    None
                }
                _ => None,
            };
            self.socket.take(frame.head + frame.size);
            if let Some(told) = told {
                return Ok(told);
            }
        }
    }

    /// Waits until a frame is here, all of it.
    pub fn frame(&mut self) -> io::Result<Option<Frame>> {
        loop {
            let frame = Frame::of(self.socket.here());
            let needed = frame.map_or(2, |frame| frame.head + frame.size);
            if frame.is_some() && self.socket.here().len() >= needed {
                return Ok(frame);
            }
            let more = self.socket.here().len().max(needed.saturating_sub(1)) + 1;
            if !self.socket.need(if frame.is_some() { needed } else { more })? {
                return Ok(None);
            }
        }
    }
}

/// The request that opens a WebSocket.
#[must_use]
pub fn request(api: &Api, path: &str) -> String {
    let headers = format!(
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {KEY}\r\nSec-WebSocket-Version: 13\r\n"
    );
    api.head("GET", path, &headers)
}

impl Frame {
    /// The frame that begins here, if its head is whole. A server does not mask.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
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

/// A frame of a client.
#[must_use]
pub fn mask(first: u8, body: &[u8]) -> Vec<u8> {
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
    frame.extend(MASK);
    frame.extend(body.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}
