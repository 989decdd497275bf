//! Following a session on a server, each message once and in order, whatever becomes of connections: over a WebSocket
//! that is opened again from the last place, and by asking again and again where a WebSocket cannot be had.

mod follow;
mod patience;
mod place;
mod socket;

use futures_util::stream::{BoxStream, StreamExt as _, unfold};
use switchboard_event::Event;

pub use self::patience::Reconnect;
use self::{
    follow::Feed,
    place::{ByCount, BySeq, Place},
};
use crate::{
    AgentError,
    http::Client,
    remote::{encoded, of},
};

/// Where a server has what is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The path of the WebSocket.
    pub socket: String,
    /// The path where the same can be had in pages.
    pub pages: String,
    /// The path that tells the session's state.
    pub state: String,
}

impl Route {
    /// A session, as Switchboard and its like have it.
    #[must_use]
    pub fn session(id: &str) -> Self {
        Self { socket: format!("/ws/sessions/{}", encoded(id)), pages: of(id, "/events"), state: of(id, "") }
    }
}

/// The events of a session behind a `seq`, until it has ended and all were seen.
pub(crate) fn events(server: Client, route: Route, after: u64, reconnect: Reconnect) -> Messages<Event> {
    stream(Feed::new(server, route, BySeq::new(after), reconnect))
}

/// The messages of a session in the server's own default, as text, behind so many, until it has ended and all were
/// seen. Also from a server that knows no more than the REST and WebSocket protocol: one that tells all from the
/// beginning at each connection.
#[must_use]
pub fn lines(server: Client, route: Route, offset: u64, reconnect: Reconnect) -> Messages<String> {
    stream(Feed::new(server, route, ByCount::new(offset), reconnect))
}

/// What comes, or why nothing more does.
pub type Messages<T> = BoxStream<'static, Result<T, AgentError>>;

fn stream<P: Place>(feed: Feed<P>) -> Messages<P::Item> {
    unfold(feed, |mut feed| async move { Some((feed.next().await?, feed)) }).boxed()
}
