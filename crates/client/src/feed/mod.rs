//! Follows a session on a server, each message once and in order across broken connections: over a WebSocket that is
//! reopened at the last position, or by polling where WebSockets do not work.

mod follow;
mod patience;
mod place;
mod socket;

use futures_util::stream::{BoxStream, StreamExt as _, unfold};
use switchboard_event::Event;

pub use self::patience::ReconnectPolicy;
use self::{
    follow::SessionFeed,
    place::{CountCursor, FeedCursor, SeqCursor},
};
use crate::{
    AgentError,
    http::HttpClient,
    remote::{percent_encode, session_path},
};

/// The paths of a followed session on a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedRoute {
    /// The path of the WebSocket.
    pub socket: String,
    /// The path that returns the same messages in pages.
    pub pages: String,
    /// The path that returns the session's state.
    pub state: String,
}

impl FeedRoute {
    /// Returns the paths of a session in Switchboard's API and compatible ones.
    #[must_use]
    pub fn for_session(id: &str) -> Self {
        Self {
            socket: format!("/ws/sessions/{}", percent_encode(id)),
            pages: session_path(id, "/events"),
            state: session_path(id, ""),
        }
    }
}

/// Returns the events of a session after a `seq`, until it has ended.
pub(crate) fn follow_events(
    server: HttpClient,
    route: FeedRoute,
    after: u64,
    reconnect: ReconnectPolicy,
) -> MessageStream<Event> {
    into_stream(SessionFeed::new(server, route, SeqCursor::new(after), reconnect))
}

/// Returns the messages of a session in the server's default dialect, as text, from an offset until the session has
/// ended. Also supports servers that know only the REST and WebSocket protocol and replay everything on each
/// connection.
#[must_use]
pub fn follow_lines(
    server: HttpClient,
    route: FeedRoute,
    offset: u64,
    reconnect: ReconnectPolicy,
) -> MessageStream<String> {
    into_stream(SessionFeed::new(server, route, CountCursor::new(offset), reconnect))
}

/// A stream of messages; an error is the last item.
pub type MessageStream<T> = BoxStream<'static, Result<T, AgentError>>;

fn into_stream<P: FeedCursor>(feed: SessionFeed<P>) -> MessageStream<P::Item> {
    unfold(feed, |mut feed| async move { Some((feed.next().await?, feed)) }).boxed()
}
