//! Projects events to `agtrace.event.v1`, one for each occurrence. Streamed text is written when complete.

use std::{borrow::Cow, collections::BTreeSet, fmt::Write as _};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_event::{
    Details, EndReason, Event, EventBody, Id, Origin, SessionEnded, Status, TurnCompleted, TurnStarted, TurnStatus,
    Usage, UserMessage,
};

use super::session::{PendingTokens, ReplyModels, TraceSessionContext, without_body};
use super::wire::{
    AgentEventV1, SerializedFields, TraceAttribution, TraceChannel, TraceEventType, TraceOccurrence, TraceTool,
};
use super::{EarlyMeta, PendingPrompt, PromptTracker, session};
use crate::{MessageBuffer, Projection, projection};

/// Maximum number of records about a session that wait for its first user message.
const MAX_EARLY_METAS: usize = 64;

/// Maximum size of the waiting records: the state of a projection is saved often.
const MAX_EARLY_BYTES: usize = 8 << 10;

/// Projects events to `agtrace.event.v1`.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct TraceProjection {
    pub(super) about: TraceSessionContext,
    pub(super) record: LastRecord,
    /// Tools that were called and have not returned.
    pub(super) calls: BTreeSet<Id>,
    pub(super) held: Option<Box<PendingTokens>>,
    /// The turn has produced an answer.
    pub(super) said: bool,
    prompts: PromptTracker,
    awaited: Option<Box<PendingPrompt>>,
    /// Session records before the first user message, to which they will belong.
    early: Vec<EarlyMeta>,
    pub(super) models: ReplyModels,
}

impl Projection for TraceProjection {
    fn project_event(&mut self, event: &Event, out: &mut MessageBuffer) {
        self.record.record_event(event);
        if let Some(held) = self.held.take_if(|held| !held.keeps_waiting(event)) {
            self.write_tokens(&held, out);
        }
        if let Some(awaited) = self.awaited.take_if(|awaited| !awaited.keeps_waiting(event)) {
            self.write_prompt(&awaited, out);
        }
        if !self.early.is_empty() && self.ends_wait_for_prompt(event) {
            self.write_early(event, out);
        }
        match &event.body {
            EventBody::ItemDelta(_) => {}
            EventBody::ItemStarted(item) => self.item_started(item, event, out),
            EventBody::ItemCompleted(item) => self.item_completed(item, event, out),
            EventBody::Usage(usage) => self.hold_usage(usage, event, out),
            EventBody::Notice(notice) => session::write_notice(notice, &mut self.event_sink(event, out)),
            EventBody::TurnStarted(turn) => self.turn_started(turn, event, out),
            EventBody::TurnCompleted(turn) => self.turn_completed(turn, event, out),
            EventBody::SessionStarted(started) => {
                self.about.start_run(started);
                self.write_own_meta("session started", event, out);
            }
            EventBody::SessionUpdated(updated) => {
                self.about.apply_info(&updated.info);
                self.write_own_meta("session updated", event, out);
            }
            EventBody::SessionEnded(ended) => write_session_end(ended, &mut self.event_sink(event, out)),
            EventBody::RequestOpened(request) => self.event_sink(event, out).send_request("asked", &request.title),
            EventBody::RequestResolved(request) => {
                self.event_sink(event, out).send_request("answered", outcome_word(request.outcome))
            }
        }
    }

    fn snapshot(&self) -> Box<dyn Projection> {
        Box::new(self.clone())
    }

    fn save(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }
}

/// Collects the messages of one event.
pub struct TraceSink<'a> {
    pub event: &'a Event,
    origin: &'a SerializedFields,
    model: Option<&'a str>,
    user_message: Option<&'a str>,
    raw: Option<Cow<'a, RawValue>>,
    out: &'a mut MessageBuffer,
    id: String,
}

impl TraceSink<'_> {
    /// Writes one event; `fill` sets the fields specific to it.
    pub fn send<'m>(
        &'m mut self,
        kind: TraceEventType,
        channel: TraceChannel,
        fill: impl FnOnce(&mut AgentEventV1<'m>),
    ) {
        let event = self.event;
        let is_user = kind == TraceEventType::UserMessage;
        let mut line = AgentEventV1 {
            origin: self.origin,
            what: TraceOccurrence {
                event_id: &self.id,
                parent_event_id: self.user_message.filter(|_| !is_user),
                ts: event.at,
                event_type: kind,
                role: kind.role(),
                channel,
                text: None,
            },
            tool: None,
            model: self.model.filter(|_| !is_user),
            tokens: None,
            rest: TraceAttribution {
                agent_id: event.thread.as_deref(),
                raw: self.raw.as_deref(),
                sequence: event.seq,
                thread: event.thread.as_deref(),
                parent_item: event.parent.as_deref(),
            },
        };
        fill(&mut line);
        line.write_to(self.out);
    }

    /// Changes the id, so that a further event can be written for the same source event.
    fn advance_id(&mut self) {
        self.id.push_str(".1");
    }

    /// Sets the id of the next event.
    pub fn set_id(&mut self, id: &str, part: &str) {
        self.id.clear();
        self.id.push_str(id);
        self.id.push_str(part);
    }

    /// Writes a record about the session itself.
    pub fn send_meta(&mut self, text: &str) {
        self.send(TraceEventType::Meta, TraceChannel::System, |line| line.what.text = Some(text));
    }

    fn send_request(&mut self, what: &str, words: &str) {
        let (item, text) = (self.event.item.as_deref(), format!("{what}: {words}"));
        let text = Some(text.as_str());
        self.send(TraceEventType::Meta, TraceChannel::System, |line| {
            line.what.text = text;
            line.tool = item.map(|item| TraceTool { call_id: Some(item), ..TraceTool::default() });
        });
    }
}

impl TraceProjection {
    pub(super) fn event_sink<'a>(&'a mut self, event: &'a Event, out: &'a mut MessageBuffer) -> TraceSink<'a> {
        let mut id = String::with_capacity(40);
        // Writing to a string cannot fail.
        let _ok = match own_id(event) {
            Some(item) => write!(id, "{item}"),
            None => write!(id, "{}", event.id()),
        };
        let raw = self.record.record_of(event);
        let (origin, model, user_message) = self.about.event_context(event);
        TraceSink { event, origin, model, user_message, raw, out, id }
    }

    fn turn_started(&mut self, turn: &TurnStarted, event: &Event, out: &mut MessageBuffer) {
        self.said = false;
        match turn.prompt.as_deref().filter(|prompt| !prompt.is_empty()) {
            Some(prompt) if self.prompts.turn_began(prompt) => {
                let raw = self.record.record_of(event).map(Cow::into_owned);
                self.awaited = Some(Box::new(PendingPrompt::new(prompt, channel_of(turn.origin), event, raw)));
            }
            _ => self.write_own_meta("turn started", event, out),
        }
    }

    /// Writes a record that is not the agent's own. Before the first user message it waits for it, because it belongs
    /// to that message.
    fn write_own_meta(&mut self, text: &str, event: &Event, out: &mut MessageBuffer) {
        if self.about.user_message.is_some() {
            return self.event_sink(event, out).send_meta(text);
        }
        let raw = self.record.record_of(event).map(Cow::into_owned);
        self.early.push(EarlyMeta { text: text.to_owned(), event: without_body(event), raw });
        let raw_bytes: usize =
            self.early.iter().filter_map(|early| early.raw.as_deref()).map(|raw| raw.get().len()).sum();
        if self.early.len() > MAX_EARLY_METAS || raw_bytes > MAX_EARLY_BYTES {
            self.write_early(event, out);
        }
    }

    /// Returns whether the session continues without a user message: the model is working, the session ends, or another
    /// one starts.
    fn ends_wait_for_prompt(&self, event: &Event) -> bool {
        match &event.body {
            EventBody::ItemStarted(item) | EventBody::ItemCompleted(item) => {
                !matches!(item.details, Details::UserMessage(_))
            }
            EventBody::SessionStarted(started) => self.about.is_other_session(started),
            EventBody::SessionEnded(_) | EventBody::TurnCompleted(_) | EventBody::RequestOpened(_) => true,
            EventBody::Usage(usage) => !usage.cumulative,
            _ => false,
        }
    }

    /// Writes the waiting records with the time and sequence of the event that ends the wait, so that the output stays
    /// ordered.
    fn write_early(&mut self, after: &Event, out: &mut MessageBuffer) {
        for early in std::mem::take(&mut self.early) {
            let id = early.event.id();
            let event = Event { seq: after.seq, at: early.event.at.max(after.at), ..early.event };
            let raw = early.raw.as_deref().map(Cow::Borrowed);
            let mut sink = TraceSink { raw, ..self.event_sink(&event, out) };
            sink.set_id(&id.to_string(), "");
            sink.send_meta(&early.text);
        }
    }

    /// Writes the prompt of a turn that no item repeats.
    fn write_prompt(&mut self, awaited: &PendingPrompt, out: &mut MessageBuffer) {
        let raw = awaited.raw.as_deref().map(Cow::Borrowed);
        let mut sink = TraceSink { raw, ..self.event_sink(&awaited.event, out) };
        sink.send(TraceEventType::UserMessage, awaited.channel, |line| line.what.text = Some(&awaited.text));
        self.about.user_message = Some(sink.id);
        self.write_early(&awaited.event, out);
    }

    /// Writes a user message, to which the following events belong; the prompt of a subagent counts as one. Messages
    /// inserted by the agent's host are not user messages.
    pub(super) fn user_message(&mut self, message: &UserMessage, event: &Event, out: &mut MessageBuffer) {
        let text = message.joined_text();
        if is_from_subagent(event) && self.prompts.is_subagent_prompt(message, event) {
            return self.write_user_message(&text, TraceChannel::Chat, event, out);
        }
        if message.synthetic {
            return self.event_sink(event, out).send_meta(&text);
        }
        let awaited = self.awaited.take();
        if self.prompts.record_user_message(&text, message.queued || event.turn.is_none()) || awaited.is_some() {
            let channel = awaited.map_or(TraceChannel::Chat, |awaited| awaited.channel);
            self.write_user_message(&text, channel, event, out);
        }
    }

    fn write_user_message(&mut self, text: &str, channel: TraceChannel, event: &Event, out: &mut MessageBuffer) {
        let mut sink = self.event_sink(event, out);
        sink.send(TraceEventType::UserMessage, channel, |line| line.what.text = Some(text));
        self.about.user_message = Some(sink.id);
        self.write_early(event, out);
    }

    fn turn_completed(&mut self, turn: &TurnCompleted, event: &Event, out: &mut MessageBuffer) {
        self.prompts.turn_ended();
        let said = std::mem::take(&mut self.said);
        let mut sink = self.event_sink(event, out);
        if let (false, Some(answer)) = (said, turn.result.as_deref()) {
            sink.send(TraceEventType::AssistantMessage, TraceChannel::Chat, |line| line.what.text = Some(answer));
            sink.advance_id();
        }
        match (turn.status, &turn.error) {
            (TurnStatus::Completed, _) => sink.send_meta("turn completed"),
            (TurnStatus::Interrupted, _) => sink.send_meta("turn interrupted"),
            (TurnStatus::Failed, None) => sink.send_meta("turn failed"),
            (TurnStatus::Failed, Some(error)) => {
                sink.send(TraceEventType::SystemMessage, TraceChannel::System, |line| {
                    line.what.text = Some(&error.message)
                });
            }
        }
    }

    /// Handles reported usage. A running total of unknown base is shown but not counted.
    fn hold_usage(&mut self, usage: &Usage, event: &Event, out: &mut MessageBuffer) {
        if usage.cumulative {
            let text = format!("running total: {} tokens in, {} out", usage.native_input(), usage.native_output());
            return self.event_sink(event, out).send_meta(&text);
        }
        let raw = self.record.record_of(event).map(Cow::into_owned);
        self.models.record_usage(usage);
        let held = Box::new(PendingTokens::new(usage, event, raw));
        if usage.key.is_some() {
            self.held = Some(held);
        } else {
            self.write_tokens(&held, out);
        }
    }

    /// Writes tokens as a separate event.
    fn write_tokens(&mut self, held: &PendingTokens, out: &mut MessageBuffer) {
        let raw = held.raw.as_deref().map(Cow::Borrowed);
        let mut sink = TraceSink { raw, ..self.event_sink(&held.event, out) };
        sink.send(TraceEventType::Meta, TraceChannel::System, |line| {
            line.what.text = Some("tokens used");
            line.set_usage(&held.usage);
        });
    }
}

/// Returns the agent's own id of a message, which is that of its item.
fn own_id(event: &Event) -> Option<&Id> {
    let EventBody::ItemCompleted(item) = &event.body else { return None };
    let is_said = match &item.details {
        Details::AgentMessage(_) | Details::Reasoning(_) => item.status != Status::Superseded,
        Details::UserMessage(_) => true,
        _ => false,
    };
    event.item.as_ref().filter(|_| is_said)
}

/// Returns the channel of a prompt. A command that the agent handles itself is typed at its prompt and not sent to the
/// model.
fn channel_of(origin: Origin) -> TraceChannel {
    if origin == Origin::Command { TraceChannel::Cli } else { TraceChannel::Chat }
}

/// Returns whether a subagent caused the event, so that it is not part of the conversation with the user.
pub fn is_from_subagent(event: &Event) -> bool {
    event.thread.is_some() || event.parent.is_some()
}

fn write_session_end(ended: &SessionEnded, sink: &mut TraceSink<'_>) {
    let how = match ended.reason {
        EndReason::Completed => "session completed",
        EndReason::Failed => "session failed",
        EndReason::Cancelled => "session cancelled",
        EndReason::Timeout => "session timed out",
    };
    match &ended.error {
        Some(error) => sink.send_meta(&format!("{how}: {}", error.message)),
        None => sink.send_meta(how),
    }
}

fn outcome_word(outcome: switchboard_event::Outcome) -> &'static str {
    use switchboard_event::Outcome;
    match outcome {
        Outcome::Allowed => "allowed",
        Outcome::Declined => "declined",
        Outcome::Cancelled => "cancelled",
        Outcome::Answered => "answered",
        Outcome::Withdrawn => "withdrawn",
        Outcome::Expired => "expired",
    }
}

/// The last record seen. The events of a record are consecutive, so one record is enough.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LastRecord {
    seq: u64,
    /// The record in wire format.
    #[serde(default, deserialize_with = "projection::read_present", skip_serializing_if = "Option::is_none")]
    body: Option<Box<RawValue>>,
}

impl LastRecord {
    /// Remembers the event's record.
    fn record_event(&mut self, event: &Event) {
        if let Some(native) = &event.native {
            (self.seq, self.body) = (event.seq, Some(native.body.to_wire().0.into_owned()));
        }
    }

    /// Returns the record that caused the event, if any.
    fn record_of(&self, event: &Event) -> Option<Cow<'_, RawValue>> {
        let is_its = event.native.is_some() || event.cause == Some(self.seq);
        self.body.as_ref().filter(|_| is_its).map(|body| Cow::Borrowed(&**body))
    }
}
