//! Converts the log of a session to a stream of typed events.

use std::collections::{BTreeMap, VecDeque};

use futures_util::stream::{StreamExt as _, unfold};
use switchboard_dialects::{DIALECTS, MessageBuffer, Projection};
use switchboard_event::{Event, EventBody};

use super::{AgentEvent, AgentEventKind as Kind};
use crate::{AgentError, Approval, feed};

/// Returns the typed events of a log after a `seq`.
pub fn typed_events(log: feed::MessageStream<Event>, after: u64) -> feed::MessageStream<AgentEvent> {
    let reading = TypedEventStream { log, after, decoder: AgentEventDecoder::default(), ready: VecDeque::new() };
    unfold(reading, |mut reading| async move { Some((reading.next().await?, reading)) }).boxed()
}

struct TypedEventStream {
    log: feed::MessageStream<Event>,
    after: u64,
    decoder: AgentEventDecoder,
    ready: VecDeque<AgentEvent>,
}

impl TypedEventStream {
    async fn next(&mut self) -> Option<Result<AgentEvent, AgentError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            match self.log.next().await? {
                Err(error) => return Some(Err(error)),
                // Earlier events are decoded too, since later ones can refer to them.
                Ok(event) => {
                    let typed = self.decoder.decode_event(&event);
                    if event.seq > self.after {
                        self.ready.extend(typed);
                    }
                }
            }
        }
    }
}

/// Decodes events to typed events.
pub struct AgentEventDecoder {
    projection: Option<Box<dyn Projection>>,
    messages: MessageBuffer,
}

impl Default for AgentEventDecoder {
    fn default() -> Self {
        let projection = DIALECTS.first().map(|dialect| (dialect.projection)());
        Self { projection, messages: MessageBuffer::default() }
    }
}

impl AgentEventDecoder {
    /// Returns the typed events of an event.
    pub fn decode_event(&mut self, event: &Event) -> Vec<AgentEvent> {
        self.messages.clear();
        if let Some(projection) = &mut self.projection {
            projection.project_event(event, &mut self.messages);
        }
        let messages = self.messages.iter().filter_map(|message| std::str::from_utf8(message).ok());
        let mut typed: Vec<_> = messages.filter_map(|message| AgentEvent::from_json(event.seq, message)).collect();
        typed.iter_mut().for_each(|typed| add_error_details(typed, event));
        typed.extend(request_event(event));
        typed
    }
}

/// Adds details to an error, which the message lacks.
fn add_error_details(typed: &mut AgentEvent, event: &Event) {
    let fault = match &event.body {
        EventBody::SessionEnded(ended) => ended.error.as_ref(),
        EventBody::TurnCompleted(turn) => turn.error.as_ref(),
        EventBody::Notice(notice) => notice.error.as_ref(),
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

/// Converts requests of the agent, which the dialect lacks.
fn request_event(event: &Event) -> Option<AgentEvent> {
    let kind = match &event.body {
        EventBody::RequestOpened(request) => Kind::ApprovalRequested(Box::new(Approval::new(&event.session, request))),
        EventBody::RequestResolved(resolved) => Kind::ApprovalResolved(resolved.clone()),
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
