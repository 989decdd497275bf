//! A session that is made up: for tests of programs that use this library.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::{
    FutureExt as _,
    future::ready,
    stream::{StreamExt as _, iter},
};
use switchboard_event::{Body, EndReason, Event, Id};

use super::{Reply, Transport};
use crate::{
    AgentError, AgentErrorKind, Approval, Messages, Order, SessionPage, SessionQuery, SessionRequest, SessionState,
    SessionView,
};

/// One session whose events are given as lines, each an event's JSON, as `switchboard translate --to events` prints
/// them. Every session that is started or followed is this one; what is wanted of it is written down.
#[derive(Clone, Debug, Default)]
pub struct MockTransport {
    lines: Arc<[String]>,
    delay: Duration,
    orders: Arc<Mutex<Vec<Order>>>,
}

impl MockTransport {
    /// A session with these events.
    pub fn new(lines: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { lines: lines.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// The same, with a pause before each event.
    #[must_use]
    pub fn with_delay(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// What was wanted of the session so far.
    #[must_use]
    pub fn orders(&self) -> Vec<Order> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn events(&self) -> impl Iterator<Item = Event> {
        self.lines.iter().filter_map(|line| Event::from_json(line).ok())
    }

    fn view(&self) -> SessionView {
        let mut view = SessionView::default();
        for event in self.events() {
            (view.id, view.agent_type, view.events) = (event.session.clone(), event.agent.to_string(), event.seq);
            if let Body::SessionEnded(ended) = &event.body {
                view.state = match ended.reason {
                    EndReason::Completed => SessionState::Done,
                    EndReason::Cancelled => SessionState::Cancelled,
                    EndReason::Failed | EndReason::Timeout => SessionState::Failed,
                };
            }
        }
        view
    }
}

impl Transport for MockTransport {
    fn create(&self, _: SessionRequest) -> Reply<'_, SessionView> {
        ready(Ok(self.view())).boxed()
    }

    fn list(&self, _: SessionQuery) -> Reply<'_, SessionPage> {
        ready(Ok(SessionPage { sessions: vec![self.view()], next: None })).boxed()
    }

    fn get<'a>(&'a self, _: &'a str) -> Reply<'a, SessionView> {
        ready(Ok(self.view())).boxed()
    }

    fn delete<'a>(&'a self, _: &'a str) -> Reply<'a, ()> {
        ready(Ok(())).boxed()
    }

    fn approvals<'a>(&'a self, _: &'a str) -> Reply<'a, Vec<Approval>> {
        let session = self.view().id;
        let mut open: Vec<(Id, Approval)> = Vec::new();
        for event in self.events() {
            match &event.body {
                Body::RequestOpened(request) => {
                    open.push((request.request.clone(), Approval::new(&session, request)));
                }
                Body::RequestResolved(resolved) => open.retain(|(id, _)| *id != resolved.request),
                _ => {}
            }
        }
        ready(Ok(open.into_iter().map(|(_, approval)| approval).collect())).boxed()
    }

    fn order<'a>(&'a self, _: &'a str, order: Order) -> Reply<'a, ()> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner).push(order);
        ready(Ok(())).boxed()
    }

    fn follow(&self, _: &str, after: u64) -> Messages<Event> {
        let (lines, delay) = (self.lines.clone(), self.delay);
        let events = (0..lines.len()).filter_map(move |index| read(lines.get(index)?, after).transpose());
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

fn read(line: &str, after: u64) -> Result<Option<Event>, AgentError> {
    let event = Event::from_json(line);
    let event =
        event.map_err(|error| AgentError::new(AgentErrorKind::ProtocolError, error.to_string()).with_native(line))?;
    Ok(Some(event).filter(|event| event.seq > after))
}
