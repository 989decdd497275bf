//! A scripted session for tests of programs that use this library.

use std::{sync::Arc, time::Duration};

use futures_util::{
    FutureExt as _,
    future::ready,
    stream::{StreamExt as _, iter},
};
use parking_lot::Mutex;
use switchboard_event::{EndReason, Event, SessionState};

use super::{Transport, TransportFuture};
use crate::{
    self as client, AgentError, AgentErrorKind, Approval, MessageStream, SessionAction, SessionPage, SessionQuery,
    SessionView, StartSessionRequest,
};

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

    fn send_action<'a>(&'a self, _: &'a str, send_action: SessionAction) -> TransportFuture<'a, ()> {
        self.orders.lock().push(send_action);
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
