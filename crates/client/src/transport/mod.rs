//! The transport of a client and its implementations. The engine has another one, for sessions of the same process.

mod mock;
mod network;

use futures_util::future::BoxFuture;
use switchboard_event::Event;

pub use self::{mock::MockTransport, network::NetworkTransport};
use crate::{
    AgentError, Approval, MessageStream, SessionAction, SessionPage, SessionQuery, SessionView, StartSessionRequest,
};

/// The future of a response.
pub type TransportFuture<'a, T> = BoxFuture<'a, Result<T, AgentError>>;

/// Connects a client to sessions.
pub trait Transport: Send + Sync + 'static {
    /// Starts or continues a session.
    fn create_session(&self, request: StartSessionRequest) -> TransportFuture<'_, SessionView>;

    /// Lists sessions, newest first.
    fn list_sessions(&self, query: SessionQuery) -> TransportFuture<'_, SessionPage>;

    /// Returns one session.
    fn get_session<'a>(&'a self, id: &'a str) -> TransportFuture<'a, SessionView>;

    /// Deletes a session. A running session is cancelled first.
    fn delete_session<'a>(&'a self, id: &'a str) -> TransportFuture<'a, ()>;

    /// Lists the open requests of a session.
    fn list_approvals<'a>(&'a self, id: &'a str) -> TransportFuture<'a, Vec<Approval>>;

    /// Performs an action on a session.
    fn send_action<'a>(&'a self, id: &'a str, order: SessionAction) -> TransportFuture<'a, ()>;

    /// Returns the events of a session after a `seq`, each once and in order, until the session has ended. Nothing
    /// follows an error.
    fn follow_events(&self, id: &str, after: u64) -> MessageStream<Event>;
}
