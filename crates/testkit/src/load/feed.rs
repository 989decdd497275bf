//! A stream of messages over WebSocket or SSE.

use std::io;

use super::{api::TestApiClient, socket::BufferedSocket, sse::SseFeed, ws::WebSocketFeed};

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
