//! Follows a session on a server, each message once and in order across broken connections: over a WebSocket that is
//! reopened at the last position, or by polling where WebSockets do not work.

mod cursor;
mod follow;
mod socket;

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use cursor::{CountCursor, FeedCursor, SeqCursor};
use follow::SessionFeed;
use futures_util::stream::{BoxStream, StreamExt as _, unfold};
use switchboard_event::Event;

use crate::AgentError;
use crate::http::{HttpClient, percent_encode};
use crate::remote::session_path;

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

/// The policy for reconnecting. Delays double, with jitter so that the clients of one server do not all return at once.
#[derive(Clone, Copy, Debug)]
pub struct ReconnectPolicy {
    /// The first delay.
    pub first: Duration,
    /// The longest delay.
    pub longest: Duration,
    /// The maximum number of failures in a row.
    pub attempts: u32,
    /// The time of silence after which a ping is sent. After the same time again the connection counts as broken.
    pub heartbeat: Duration,
    /// The polling interval for servers without long polling.
    pub poll: Duration,
    /// Poll only, without WebSockets.
    pub polling_only: bool,
}

impl Default for ReconnectPolicy {
    fn default() -> Self {
        Self {
            first: Duration::from_millis(100),
            longest: Duration::from_secs(5),
            attempts: 12,
            heartbeat: Duration::from_secs(20),
            poll: Duration::from_millis(500),
            polling_only: false,
        }
    }
}

impl ReconnectPolicy {
    /// Returns the delay after a number of failures, from 1.
    fn retry_delay(&self, failures: u32) -> Duration {
        let whole = self.first.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(self.longest);
        // Jitter between half and all of it. Every hasher has its own random seed.
        let half = whole / 2;
        let dice = u32::try_from(RandomState::new().hash_one(failures) % 1024).unwrap_or_default();
        half + half * dice / 1024
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::ReconnectPolicy;

    #[test]
    fn pauses_grow_and_are_bounded() {
        let reconnect = ReconnectPolicy::default();
        for (failures, longest) in [(1, 100), (2, 200), (3, 400), (7, 5000), (40, 5000)] {
            let pause = reconnect.retry_delay(failures);
            let longest = Duration::from_millis(longest);
            assert!(pause >= longest / 2 && pause <= longest, "{failures}: {pause:?}");
        }
    }
}
