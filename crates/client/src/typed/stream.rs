//! A session's log as a stream of typed events.

use std::collections::{BTreeMap, VecDeque};

use futures_util::stream::{StreamExt as _, unfold};
use switchboard_dialects::{DIALECTS, Messages, Projection};
use switchboard_event::{Body, Event};

use super::{AgentEvent, AgentEventKind as Kind};
use crate::{AgentError, Approval, feed};

/// The typed events of a log, without those up to a `seq`.
pub fn typed(log: feed::Messages<Event>, after: u64) -> feed::Messages<AgentEvent> {
    let reading = Reading { log, after, typist: Typist::default(), ready: VecDeque::new() };
    unfold(reading, |mut reading| async move { Some((reading.next().await?, reading)) }).boxed()
}

struct Reading {
    log: feed::Messages<Event>,
    after: u64,
    typist: Typist,
    ready: VecDeque<AgentEvent>,
}

impl Reading {
    async fn next(&mut self) -> Option<Result<AgentEvent, AgentError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            match self.log.next().await? {
                Err(error) => return Some(Err(error)),
                // What was before is read all the same: what comes can refer to it.
                Ok(event) => {
                    let typed = self.typist.read(&event);
                    if event.seq > self.after {
                        self.ready.extend(typed);
                    }
                }
            }
        }
    }
}

/// Turns events into typed ones.
pub struct Typist {
    projection: Option<Box<dyn Projection>>,
    messages: Messages,
}

impl Default for Typist {
    fn default() -> Self {
        let projection = DIALECTS.first().map(|dialect| (dialect.projection)());
        Self { projection, messages: Messages::default() }
    }
}

impl Typist {
    /// What an event means.
    pub fn read(&mut self, event: &Event) -> Vec<AgentEvent> {
        self.messages.clear();
        if let Some(projection) = &mut self.projection {
            projection.event(event, &mut self.messages);
        }
        let messages = self.messages.iter().filter_map(|message| std::str::from_utf8(message).ok());
        let mut typed: Vec<_> = messages.filter_map(|message| AgentEvent::from_json(event.seq, message)).collect();
        typed.iter_mut().for_each(|typed| explain(typed, event));
        typed.extend(asked(event));
        typed
    }
}

/// An error says more in the event than in the message.
fn explain(typed: &mut AgentEvent, event: &Event) {
    let fault = match &event.body {
        Body::SessionEnded(ended) => ended.error.as_ref(),
        Body::TurnCompleted(turn) => turn.error.as_ref(),
        Body::Notice(notice) => notice.error.as_ref(),
        _ => None,
    };
    let (Kind::SessionEnded { error: Some(error), .. } | Kind::TurnFailed { error, .. } | Kind::Error(error)) =
        &mut typed.kind
    else {
        return;
    };
    error.agent_type = Some((&*event.agent).into());
    error.native_error = fault.and_then(|fault| fault.info.as_deref()).map(Into::into);
}

/// Requests of the agent, for which the dialect has no words.
fn asked(event: &Event) -> Option<AgentEvent> {
    let kind = match &event.body {
        Body::RequestOpened(request) => Kind::ApprovalRequested(Box::new(Approval::new(&event.session, request))),
        Body::RequestResolved(resolved) => Kind::ApprovalResolved(resolved.clone()),
        _ => return None,
    };
    Some(AgentEvent {
        seq: event.seq,
        id: event.id().to_string(),
        session_id: event.session.clone(),
        timestamp: event.at,
        parent_tool_id: event.parent.as_ref().map(ToString::to_string),
        kind,
        extra: BTreeMap::new(),
    })
}
