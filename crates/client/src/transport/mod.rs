//! How a client reaches sessions: one contract, and what keeps it. The engine has another, for sessions of the same
//! process.

mod mock;
mod network;

use futures_util::future::BoxFuture;
use switchboard_event::Event;

pub use self::{mock::MockTransport, network::NetworkTransport};
use crate::{AgentError, Approval, Messages, Order, SessionPage, SessionQuery, SessionRequest, SessionView};

/// What comes of a request.
pub type Reply<'a, T> = BoxFuture<'a, Result<T, AgentError>>;

/// How a client reaches sessions.
pub trait Transport: Send + Sync + 'static {
    /// Starts a session, or continues one.
    fn create(&self, request: SessionRequest) -> Reply<'_, SessionView>;

    /// Some sessions, newest first.
    fn list(&self, query: SessionQuery) -> Reply<'_, SessionPage>;

    /// One session.
    fn get<'a>(&'a self, id: &'a str) -> Reply<'a, SessionView>;

    /// Deletes a session. One that goes on is cancelled first.
    fn delete<'a>(&'a self, id: &'a str) -> Reply<'a, ()>;

    /// What the agent waits for.
    fn approvals<'a>(&'a self, id: &'a str) -> Reply<'a, Vec<Approval>>;

    /// Does what is wanted of a session.
    fn order<'a>(&'a self, id: &'a str, order: Order) -> Reply<'a, ()>;

    /// The events of a session behind a `seq`: each once and in order, until the session has ended and all were seen.
    /// Nothing follows an error.
    fn follow(&self, id: &str, after: u64) -> Messages<Event>;
}
