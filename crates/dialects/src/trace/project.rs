//! Events to `agtrace.event.v1`: one for each thing that happened. What grows is given when it is whole.

use std::{borrow::Cow, collections::BTreeSet, fmt::Write as _};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_event::{
    Body, Details, EndReason, Event, Id, Origin, SessionEnded, Status, TurnCompleted, TurnStarted, TurnStatus, Usage,
    UserMessage,
};

use super::{
    about::About,
    models::Models,
    notices,
    prompts::{Awaited, EarlyMeta, Prompts},
    records::LastRecord,
    tokens::{Held, without_body},
    wire::{AgentEventV1, Channel, EventType, Group, Rest, Tool, What},
};
use crate::{Messages, Projection};

/// Maximum number of records about a session that wait for its first user message.
const MAX_EARLY_METAS: usize = 64;

/// So much of their records waits with them: the state of a projection is saved often.
const MAX_EARLY_BYTES: usize = 8 << 10;

/// The projection.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Trace {
    pub(super) about: About,
    pub(super) record: LastRecord,
    /// The tools that were called and gave no result yet.
    pub(super) calls: BTreeSet<Id>,
    pub(super) held: Option<Box<Held>>,
    /// The turn has given an answer.
    pub(super) said: bool,
    prompts: Prompts,
    awaited: Option<Box<Awaited>>,
    /// What is told about the session before its first user message, which it then belongs to.
    early: Vec<EarlyMeta>,
    pub(super) models: Models,
}

impl Projection for Trace {
    fn event(&mut self, event: &Event, out: &mut Messages) {
        self.record.see(event);
        if let Some(held) = self.held.take_if(|held| !held.waits(event)) {
            self.count(&held, out);
        }
        if let Some(awaited) = self.awaited.take_if(|awaited| !awaited.waits(event)) {
            self.prompted(&awaited, out);
        }
        if !self.early.is_empty() && self.ends_wait_for_prompt(event) {
            self.write_early(event, out);
        }
        match &event.body {
            Body::ItemDelta(_) => {}
            Body::ItemStarted(item) => self.item_started(item, event, out),
            Body::ItemCompleted(item) => self.item_completed(item, event, out),
            Body::Usage(usage) => self.used(usage, event, out),
            Body::Notice(notice) => notices::write(notice, &mut self.sink(event, out)),
            Body::TurnStarted(turn) => self.turn_started(turn, event, out),
            Body::TurnCompleted(turn) => self.turn_completed(turn, event, out),
            Body::SessionStarted(started) => {
                self.about.started(started);
                self.write_own_meta("session started", event, out);
            }
            Body::SessionUpdated(updated) => {
                self.about.learn(&updated.info);
                self.write_own_meta("session updated", event, out);
            }
            Body::SessionEnded(ended) => session_ended(ended, &mut self.sink(event, out)),
            Body::RequestOpened(request) => self.sink(event, out).asked("asked", &request.title),
            Body::RequestResolved(request) => self.sink(event, out).asked("answered", outcome(request.outcome)),
        }
    }

    fn snapshot(&self) -> Box<dyn Projection> {
        Box::new(self.clone())
    }

    fn save(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }
}

/// Where the messages of one event go.
pub struct Sink<'a> {
    pub event: &'a Event,
    origin: &'a Group,
    model: Option<&'a str>,
    user_message: Option<&'a str>,
    raw: Option<Cow<'a, RawValue>>,
    out: &'a mut Messages,
    id: String,
}

impl Sink<'_> {
    /// Writes one event, with what `fill` knows beside what all have.
    pub fn send<'m>(&'m mut self, kind: EventType, channel: Channel, fill: impl FnOnce(&mut AgentEventV1<'m>)) {
        let event = self.event;
        let is_user = kind == EventType::UserMessage;
        let mut line = AgentEventV1 {
            origin: self.origin,
            what: What {
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
            rest: Rest {
                agent_id: event.thread.as_deref(),
                raw: self.raw.as_deref(),
                sequence: event.seq,
                thread: event.thread.as_deref(),
                parent_item: event.parent.as_deref(),
            },
        };
        fill(&mut line);
        line.push(self.out);
    }

    /// The next event that is written is another one of the same event of ours.
    pub fn next(&mut self) {
        self.id.push_str(".1");
    }

    /// The next event that is written is called so.
    pub fn name(&mut self, id: &str, part: &str) {
        self.id.clear();
        self.id.push_str(id);
        self.id.push_str(part);
    }

    /// Writes something about the session itself.
    pub fn meta(&mut self, text: &str) {
        self.send(EventType::Meta, Channel::System, |line| line.what.text = Some(text));
    }

    fn asked(&mut self, what: &str, words: &str) {
        let (item, text) = (self.event.item.as_deref(), format!("{what}: {words}"));
        let text = Some(text.as_str());
        self.send(EventType::Meta, Channel::System, |line| {
            line.what.text = text;
            line.tool = item.map(|item| Tool { call_id: Some(item), ..Tool::default() });
        });
    }
}

impl Trace {
    pub(super) fn sink<'a>(&'a mut self, event: &'a Event, out: &'a mut Messages) -> Sink<'a> {
        let mut id = String::with_capacity(40);
        // Writing into a string cannot fail.
        let _ok = match own_id(event) {
            Some(item) => write!(id, "{item}"),
            None => write!(id, "{}", event.id()),
        };
        let raw = self.record.of(event);
        let (origin, model, user_message) = self.about.of(event);
        Sink { event, origin, model, user_message, raw, out, id }
    }

    fn turn_started(&mut self, turn: &TurnStarted, event: &Event, out: &mut Messages) {
        self.said = false;
        match turn.prompt.as_deref().filter(|prompt| !prompt.is_empty()) {
            Some(prompt) if self.prompts.turn_began(prompt) => {
                let raw = self.record.of(event).map(Cow::into_owned);
                self.awaited = Some(Box::new(Awaited::new(prompt, channel_of(turn.origin), event, raw)));
            }
            _ => self.write_own_meta("turn started", event, out),
        }
    }

    /// Writes something that is no record of the agent's own. It belongs to the first user message if there is none yet,
    /// and waits for it.
    fn write_own_meta(&mut self, text: &str, event: &Event, out: &mut Messages) {
        if self.about.user_message.is_some() {
            return self.sink(event, out).meta(text);
        }
        let raw = self.record.of(event).map(Cow::into_owned);
        self.early.push(EarlyMeta { text: text.to_owned(), event: without_body(event), raw });
        let raw_bytes: usize =
            self.early.iter().filter_map(|early| early.raw.as_deref()).map(|raw| raw.get().len()).sum();
        if self.early.len() > MAX_EARLY_METAS || raw_bytes > MAX_EARLY_BYTES {
            self.write_early(event, out);
        }
    }

    /// Whether the session goes on without a user message: the model is at work, or it is over, or another one begins.
    fn ends_wait_for_prompt(&self, event: &Event) -> bool {
        match &event.body {
            Body::ItemStarted(item) | Body::ItemCompleted(item) => !matches!(item.details, Details::UserMessage(_)),
            Body::SessionStarted(started) => self.about.is_other_session(started),
            Body::SessionEnded(_) | Body::TurnCompleted(_) | Body::RequestOpened(_) => true,
            Body::Usage(usage) => !usage.cumulative,
            _ => false,
        }
    }

    /// Writes what waited for a user message, with the time and the place of the event that ends the wait: what is
    /// written never goes back.
    fn write_early(&mut self, after: &Event, out: &mut Messages) {
        for early in std::mem::take(&mut self.early) {
            let id = early.event.id();
            let event = Event { seq: after.seq, at: early.event.at.max(after.at), ..early.event };
            let raw = early.raw.as_deref().map(Cow::Borrowed);
            let mut sink = Sink { raw, ..self.sink(&event, out) };
            sink.name(&id.to_string(), "");
            sink.meta(&early.text);
        }
    }

    /// Writes the prompt of a turn that no item repeats.
    fn prompted(&mut self, awaited: &Awaited, out: &mut Messages) {
        let raw = awaited.raw.as_deref().map(Cow::Borrowed);
        let mut sink = Sink { raw, ..self.sink(&awaited.event, out) };
        sink.send(EventType::UserMessage, awaited.channel, |line| line.what.text = Some(&awaited.text));
        self.about.user_message = Some(sink.id);
        self.write_early(&awaited.event, out);
    }

    /// What the user says begins what belongs to it, and so does what a subagent is told to do. What the agent's host puts
    /// in is no user's message.
    pub(super) fn user_said(&mut self, message: &UserMessage, event: &Event, out: &mut Messages) {
        let text = message.joined();
        if is_subagents(event) && self.prompts.is_of_subagent(message, event) {
            return self.write_user_message(&text, Channel::Chat, event, out);
        }
        if message.synthetic {
            return self.sink(event, out).meta(&text);
        }
        let awaited = self.awaited.take();
        if self.prompts.said(&text, message.queued || event.turn.is_none()) || awaited.is_some() {
            let channel = awaited.map_or(Channel::Chat, |awaited| awaited.channel);
            self.write_user_message(&text, channel, event, out);
        }
    }

    fn write_user_message(&mut self, text: &str, channel: Channel, event: &Event, out: &mut Messages) {
        let mut sink = self.sink(event, out);
        sink.send(EventType::UserMessage, channel, |line| line.what.text = Some(text));
        self.about.user_message = Some(sink.id);
        self.write_early(event, out);
    }

    fn turn_completed(&mut self, turn: &TurnCompleted, event: &Event, out: &mut Messages) {
        self.prompts.turn_ended();
        let said = std::mem::take(&mut self.said);
        let mut sink = self.sink(event, out);
        if let (false, Some(answer)) = (said, turn.result.as_deref()) {
            sink.send(EventType::AssistantMessage, Channel::Chat, |line| line.what.text = Some(answer));
            sink.next();
        }
        match (turn.status, &turn.error) {
            (TurnStatus::Completed, _) => sink.meta("turn completed"),
            (TurnStatus::Interrupted, _) => sink.meta("turn interrupted"),
            (TurnStatus::Failed, None) => sink.meta("turn failed"),
            (TurnStatus::Failed, Some(error)) => {
                sink.send(EventType::SystemMessage, Channel::System, |line| line.what.text = Some(&error.message));
            }
        }
    }

    /// A running total whose base is not known is shown and not counted.
    fn used(&mut self, usage: &Usage, event: &Event, out: &mut Messages) {
        if usage.cumulative {
            let text = format!("running total: {} tokens in, {} out", usage.native_input(), usage.native_output());
            return self.sink(event, out).meta(&text);
        }
        let raw = self.record.of(event).map(Cow::into_owned);
        self.models.learn(usage);
        let held = Box::new(Held::new(usage, event, raw));
        if usage.key.is_some() {
            self.held = Some(held);
        } else {
            self.count(&held, out);
        }
    }

    /// Writes tokens by themselves.
    fn count(&mut self, held: &Held, out: &mut Messages) {
        let raw = held.raw.as_deref().map(Cow::Borrowed);
        let mut sink = Sink { raw, ..self.sink(&held.event, out) };
        sink.send(EventType::Meta, Channel::System, |line| {
            line.what.text = Some("tokens used");
            line.count(&held.usage);
        });
    }
}

/// The agent's own id of what is said: that of the item, since nothing else has one.
fn own_id(event: &Event) -> Option<&Id> {
    let Body::ItemCompleted(item) = &event.body else { return None };
    let is_said = match &item.details {
        Details::AgentMessage(_) | Details::Reasoning(_) => item.status != Status::Superseded,
        Details::UserMessage(_) => true,
        _ => false,
    };
    event.item.as_ref().filter(|_| is_said)
}

/// A command that the agent answers itself is typed at its prompt and not said to the model.
fn channel_of(origin: Origin) -> Channel {
    if origin == Origin::Command { Channel::Cli } else { Channel::Chat }
}

/// A subagent's event is not part of the conversation with the user.
pub fn is_subagents(event: &Event) -> bool {
    event.thread.is_some() || event.parent.is_some()
}

fn session_ended(ended: &SessionEnded, sink: &mut Sink<'_>) {
    let how = match ended.reason {
        EndReason::Completed => "session completed",
        EndReason::Failed => "session failed",
        EndReason::Cancelled => "session cancelled",
        EndReason::Timeout => "session timed out",
    };
    match &ended.error {
        Some(error) => sink.meta(&format!("{how}: {}", error.message)),
        None => sink.meta(how),
    }
}

fn outcome(outcome: switchboard_event::Outcome) -> &'static str {
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
