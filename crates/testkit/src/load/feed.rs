//! A stream of messages, over either wire.

use std::io;

use super::{api::Api, socket::Socket, sse::Sse, ws::WebSocket};

/// How messages come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// In a WebSocket.
    WebSocket,
    /// As server-sent events.
    Sse,
}

/// Where a stream begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum From {
    /// At the first message.
    #[default]
    Start,
    /// Behind an event, by its `seq`.
    Event(u64),
    /// Behind so many messages.
    Message(u64),
}

/// One message.
pub struct Message<'a> {
    /// Its JSON.
    pub text: &'a [u8],
    /// The id that came with it.
    pub id: Option<u64>,
}

/// How a stream ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The server said so; the code of a WebSocket.
    Closed(Option<u16>),
    /// The connection just ended.
    Broken,
}

/// A stream.
pub enum Feed {
    /// In a WebSocket.
    WebSocket(WebSocket),
    /// As server-sent events.
    Sse(Sse),
}

impl Feed {
    /// Follows a session.
    pub fn open(api: &Api, wire: Wire, session: &str, dialect: &str, from: From) -> io::Result<Self> {
        Self::on(Socket::connect(api.port)?, api, wire, &path(wire, session, dialect, from), from)
    }

    /// Follows a session over a connection that is there already.
    pub fn on(socket: Socket, api: &Api, wire: Wire, path: &str, from: From) -> io::Result<Self> {
        match wire {
            Wire::WebSocket => Ok(Self::WebSocket(WebSocket::open(socket, api, path)?)),
            Wire::Sse => {
                let last = if let From::Event(seq) = from { Some(seq) } else { None };
                Ok(Self::Sse(Sse::open(socket, api, path, last)?))
            }
        }
    }

    /// Waits for the next message and gives it to `see`; the end, when there is none.
    pub fn next(&mut self, see: &mut dyn FnMut(Message<'_>)) -> io::Result<Option<End>> {
        match self {
            Self::WebSocket(feed) => feed.next(see),
            Self::Sse(feed) => feed.next(see),
        }
    }
}

/// Where a session's stream is. `Last-Event-ID` is a header, not a part of it.
pub fn path(wire: Wire, session: &str, dialect: &str, from: From) -> String {
    let path = match wire {
        Wire::WebSocket => format!("/ws/sessions/{session}?dialect={dialect}"),
        Wire::Sse => format!("/api/sessions/{session}/stream?dialect={dialect}"),
    };
    match (wire, from) {
        (Wire::WebSocket, From::Event(seq)) => format!("{path}&after={seq}"),
        (_, From::Message(number)) => format!("{path}&offset={number}"),
        _ => path,
    }
}
