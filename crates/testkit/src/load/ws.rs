//! A minimal WebSocket client.

use std::io;

use super::{
    api::{TestApiClient, read_head},
    feed::{FeedEnd, FeedMessage},
    socket::BufferedSocket,
};

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
            let told = match frame.kind {
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
            if let Some(told) = told {
                return Ok(told);
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
pub fn upgrade_request(api: &TestApiClient, path: &str) -> String {
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
