//! Sessions of a server: requests by HTTP, events by WebSocket or, where that cannot be had, by HTTP.

use futures_util::FutureExt as _;
use switchboard_event::Event;

use super::{Reply, Transport};
use crate::{
    Approval, Messages, Order, Reconnect, Remote, Route, SessionPage, SessionQuery, SessionRequest, SessionView, feed,
};

/// Sessions of a server.
#[derive(Clone, Debug)]
pub struct NetworkTransport {
    remote: Remote,
    reconnect: Reconnect,
}

impl NetworkTransport {
    /// Sessions of this server.
    #[must_use]
    pub fn new(remote: Remote) -> Self {
        Self { remote, reconnect: Reconnect::default() }
    }

    /// The same, with how a lost connection is found again.
    #[must_use]
    pub fn with_reconnect(self, reconnect: Reconnect) -> Self {
        Self { reconnect, ..self }
    }
}

impl Transport for NetworkTransport {
    fn create(&self, request: SessionRequest) -> Reply<'_, SessionView> {
        async move { self.remote.create(&request).await }.boxed()
    }

    fn list(&self, query: SessionQuery) -> Reply<'_, SessionPage> {
        async move { self.remote.sessions(&query).await }.boxed()
    }

    fn get<'a>(&'a self, id: &'a str) -> Reply<'a, SessionView> {
        self.remote.session(id).boxed()
    }

    fn delete<'a>(&'a self, id: &'a str) -> Reply<'a, ()> {
        self.remote.delete(id).boxed()
    }

    fn approvals<'a>(&'a self, id: &'a str) -> Reply<'a, Vec<Approval>> {
        self.remote.approvals(id).boxed()
    }

    fn order<'a>(&'a self, id: &'a str, order: Order) -> Reply<'a, ()> {
        async move { self.remote.order(id, &order).await }.boxed()
    }

    fn follow(&self, id: &str, after: u64) -> Messages<Event> {
        feed::events(self.remote.http.clone(), Route::session(id), after, self.reconnect)
    }
}
