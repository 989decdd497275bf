//! The transport of a client and its implementations. The engine has another one, for sessions of the same process.

use std::sync::Arc;
use std::time::Duration;

use crate as client;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use futures_util::stream::{StreamExt as _, iter};
use parking_lot::Mutex;
use switchboard_event::{EndReason, Event, SessionState};

use crate::{
    AgentError, AgentErrorKind, Approval, FeedRoute, MessageStream, ReconnectPolicy, RemoteServer, SessionAction,
    SessionPage, SessionQuery, SessionView, StartSessionRequest, feed,
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

    fn send_action<'a>(&'a self, id: &'a str, action: SessionAction) -> TransportFuture<'a, ()> {
        async move { self.remote.send_action(id, &action).await }.boxed()
    }

    fn follow_events(&self, id: &str, after: u64) -> MessageStream<Event> {
        feed::follow_events(self.remote.http.clone(), FeedRoute::for_session(id), after, self.reconnect)
    }
}

/// One session whose events are given as lines of JSON, the output of `switchboard translate --to events`. Every
/// session that is started or followed is this one; actions are recorded.
#[derive(Clone, Debug, Default)]
pub struct MockTransport {
    lines: Arc<[String]>,
    delay: Duration,
    orders: Arc<Mutex<Vec<SessionAction>>>,
}

impl MockTransport {
    /// Creates a session with the given events.
    pub fn new(lines: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { lines: lines.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Sets a delay before each event.
    #[must_use]
    pub fn with_delay(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// Returns the actions that were performed on the session so far.
    #[must_use]
    pub fn recorded_actions(&self) -> Vec<SessionAction> {
        self.orders.lock().clone()
    }

    fn parse_events(&self) -> impl Iterator<Item = Event> {
        self.lines.iter().filter_map(|line| Event::from_json(line).ok())
    }

    fn fold_state(&self) -> SessionState {
        let mut state = SessionState::default();
        self.parse_events().for_each(|event| state.apply(&event));
        state
    }

    fn session_view(&self) -> SessionView {
        let mut view = SessionView::default();
        for event in self.parse_events() {
            (view.id, view.agent_type, view.events) = (event.session.clone(), event.agent.to_string(), event.seq);
        }
        view.state = match self.fold_state().end.map(|end| end.reason) {
            None => client::SessionLifecycle::Running,
            Some(EndReason::Completed) => client::SessionLifecycle::Done,
            Some(EndReason::Cancelled) => client::SessionLifecycle::Cancelled,
            Some(EndReason::Failed | EndReason::Timeout) => client::SessionLifecycle::Failed,
        };
        view
    }
}

impl Transport for MockTransport {
    fn create_session(&self, _: StartSessionRequest) -> TransportFuture<'_, SessionView> {
        ready(Ok(self.session_view())).boxed()
    }

    fn list_sessions(&self, _: SessionQuery) -> TransportFuture<'_, SessionPage> {
        ready(Ok(SessionPage { sessions: vec![self.session_view()], next: None })).boxed()
    }

    fn get_session<'a>(&'a self, _: &'a str) -> TransportFuture<'a, SessionView> {
        ready(Ok(self.session_view())).boxed()
    }

    fn delete_session<'a>(&'a self, _: &'a str) -> TransportFuture<'a, ()> {
        ready(Ok(())).boxed()
    }

    fn list_approvals<'a>(&'a self, _: &'a str) -> TransportFuture<'a, Vec<Approval>> {
        let (session, state) = (self.session_view().id, self.fold_state());
        ready(Ok(state.requests.iter().map(|request| Approval::new(&session, request)).collect())).boxed()
    }

    fn send_action<'a>(&'a self, _: &'a str, action: SessionAction) -> TransportFuture<'a, ()> {
        self.orders.lock().push(action);
        ready(Ok(())).boxed()
    }

    fn follow_events(&self, _: &str, after: u64) -> MessageStream<Event> {
        let (lines, delay) = (self.lines.clone(), self.delay);
        let events = (0..lines.len()).filter_map(move |index| parse_line(lines.get(index)?, after).transpose());
        iter(events)
            .then(move |event| async move {
                if !delay.is_zero() {
                    tokio::time::sleep(delay).await;
                }
                event
            })
            .boxed()
    }
}

fn parse_line(line: &str, after: u64) -> Result<Option<Event>, AgentError> {
    let event = Event::from_json(line);
    let event =
        event.map_err(|error| AgentError::new(AgentErrorKind::ProtocolError, error.to_string()).with_native(line))?;
    Ok(Some(event).filter(|event| event.seq > after))
}
