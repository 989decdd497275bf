//! Sessions of a server: requests over HTTP, events over WebSocket or, where that does not work, HTTP.

use futures_util::FutureExt as _;
use switchboard_event::Event;

use super::{Transport, TransportFuture};
use crate::{
    Approval, FeedRoute, MessageStream, ReconnectPolicy, RemoteServer, SessionAction, SessionPage, SessionQuery,
    SessionView, StartSessionRequest, feed,
};

/// The transport to a Switchboard server.
#[derive(Clone, Debug)]
pub struct NetworkTransport {
    remote: RemoteServer,
    reconnect: ReconnectPolicy,
}

impl NetworkTransport {
    /// Creates a transport to a server.
    #[must_use]
    pub fn new(remote: RemoteServer) -> Self {
        Self { remote, reconnect: ReconnectPolicy::default() }
    }

    /// Sets the policy for reconnecting.
    #[must_use]
    pub fn with_reconnect(self, reconnect: ReconnectPolicy) -> Self {
        Self { reconnect, ..self }
    }
}

impl Transport for NetworkTransport {
    fn create_session(&self, request: StartSessionRequest) -> TransportFuture<'_, SessionView> {
        async move { self.remote.create_session(&request).await }.boxed()
    }

    fn list_sessions(&self, query: SessionQuery) -> TransportFuture<'_, SessionPage> {
        async move { self.remote.list_sessions(&query).await }.boxed()
    }

    fn get_session<'a>(&'a self, id: &'a str) -> TransportFuture<'a, SessionView> {
        self.remote.get_session(id).boxed()
    }

    fn delete_session<'a>(&'a self, id: &'a str) -> TransportFuture<'a, ()> {
        self.remote.delete_session(id).boxed()
    }

    fn list_approvals<'a>(&'a self, id: &'a str) -> TransportFuture<'a, Vec<Approval>> {
        self.remote.list_approvals(id).boxed()
    }

    fn send_action<'a>(&'a self, id: &'a str, send_action: SessionAction) -> TransportFuture<'a, ()> {
        async move { self.remote.send_action(id, &send_action).await }.boxed()
    }

    fn follow_events(&self, id: &str, after: u64) -> MessageStream<Event> {
        feed::follow_events(self.remote.http.clone(), FeedRoute::for_session(id), after, self.reconnect)
    }
}
