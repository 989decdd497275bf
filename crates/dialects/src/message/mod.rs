//! The unified message protocol: one envelope, nineteen message types, seven content types, and metadata with the same
//! keys for every agent.

mod items;
mod session;
#[cfg(test)]
mod tests;
mod tools;
mod wire;

use std::borrow::Cow;
use std::collections::BTreeSet;

use items::{LastPlan, ParentMessages};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use switchboard_event::{
    About, Delta, Event, EventBody, Id, Item, Outcome, RequestOpened, RequestResolved, SessionStatus, Timestamp,
    to_raw_json,
};
use wire::{
    Behavior, Content, Kind, Message, MessageScope, PermissionRequest, PermissionResponse, RequestSubtype, StatusChange,
};

use crate::projection::{MessageId, restore_projection};
use crate::table::schema_generator;
use crate::track::{ItemTracker, TurnUsage};
use crate::{Dialect, MessageBuffer, Projection};

/// The message dialect.
pub const DIALECT: Dialect = Dialect {
    name: "message",
    title: "unified messages: session_init, stream_event, assistant, tool_progress, result, …",
    projection: || Box::new(MessageProjection::default()),
    restore: restore_projection::<MessageProjection>,
    revision: 3,
    verbatim: false,
    schema: |_| message_schema(),
};

/// Returns the schema of one message.
fn message_schema() -> Value {
    let schema = schema_generator().into_root_schema_for::<Message<'_>>();
    let mut schema = schema.to_value();
    schema["title"] = json!("Unified message");
    schema["oneOf"].as_array_mut().into_iter().flatten().for_each(set_role);
    schema["allOf"] = json!([tool_request_rule()]);
    schema
}

/// Restricts the role to the one that the message type implies.
fn set_role(kind: &mut Value) {
    let role = match kind["properties"]["type"]["const"].as_str().unwrap_or_default() {
        "user_message" | "permission_response" | "interrupt" => "user",
        "assistant" | "stream_event" => "assistant",
        "tool_progress" | "tool_use_summary" => "tool",
        _ => "system",
    };
    kind["properties"]["role"] = json!({ "const": role });
}

/// A tool request must have a tool name and an input.
fn tool_request_rule() -> Value {
    json!({
        "if": {"properties": {"type": {"const": "permission_request"}, "metadata": {"properties": {"subtype": {"const": "can_use_tool"}}}}},
        "then": {"properties": {"metadata": {"required": ["tool_name", "input"]}}},
    })
}

/// Projects events to unified messages.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct MessageProjection {
    track: ItemTracker,
    usage: TurnUsage,
    activity: SessionStatusTracker,
    parents: ParentMessages,
    /// Open items shown as tools. An item may become a tool, or stop being one, while it is open.
    called: BTreeSet<Id>,
    plan: LastPlan,
    model: Option<String>,
    turn_began: Timestamp,
    /// The errors of the current turn.
    errors: Vec<String>,
    /// Missing credentials were already reported in this turn.
    told_auth: bool,
}

impl Projection for MessageProjection {
    fn project_event(&mut self, event: &Event, out: &mut MessageBuffer) {
        let mut out = MessageSink::new(event, &self.parents, out);
        self.usage.add_event(event);
        if let EventBody::ItemDelta(Delta::Set { patch }) = &event.body {
            // Must run before the previous state is replaced.
            self.item_set(patch, &mut out);
        }
        self.track.observe_event(event);
        self.end_retry(&mut out);
        match &event.body {
            EventBody::SessionStarted(started) => self.session_started(started, &mut out),
            EventBody::SessionUpdated(updated) => self.session_updated(&updated.info, &mut out),
            EventBody::SessionEnded(ended) => self.session_ended(ended, &mut out),
            EventBody::TurnStarted(turn) => self.turn_started(turn, &mut out),
            EventBody::TurnCompleted(turn) => self.turn_completed(turn, &mut out),
            EventBody::ItemStarted(item) => self.item_started(item, &mut out),
            EventBody::ItemDelta(delta) => self.item_grew(delta, &mut out),
            EventBody::ItemCompleted(item) => self.item_completed(item, &mut out),
            EventBody::RequestOpened(request) => self.request_opened(request, &mut out),
            EventBody::RequestResolved(resolved) => self.request_resolved(resolved, &mut out),
            EventBody::Usage(_) => {}
            EventBody::Notice(notice) => self.push_notice(notice, &mut out),
        }
    }

    fn snapshot(&self) -> Box<dyn Projection> {
        Box::new(self.clone())
    }

    fn save(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }
}

impl MessageProjection {
    /// Returns the current status, to which details can be added.
    fn current_status<'a>(&self, out: &MessageSink<'a>) -> StatusChange<'a> {
        StatusChange::new(self.activity.current_status(), out.message_place())
    }

    /// Sends a status change if the status is new.
    fn push_status_change(&mut self, status: SessionStatus, out: &mut MessageSink<'_>) {
        if let Some(change) = self.status_change(status, out) {
            out.send(Kind::StatusChange(Box::new(change)));
        }
    }

    /// Returns a status change if the status is new.
    fn status_change<'a>(&mut self, status: SessionStatus, out: &MessageSink<'a>) -> Option<StatusChange<'a>> {
        let before = self.activity.shown_status();
        let news = self.activity.set_status(status);
        news.then(|| {
            let is = |status| status == Some(SessionStatus::Compacting);
            let is_compacting = (is(before) != is(Some(status))).then(|| is(Some(status)));
            StatusChange { is_compacting, ..self.current_status(out) }
        })
    }

    /// Ends the retry status as soon as the agent produces output.
    fn end_retry(&mut self, out: &mut MessageSink<'_>) {
        let says =
            matches!(out.event.body, EventBody::ItemStarted(_) | EventBody::ItemDelta(_) | EventBody::ItemCompleted(_));
        if says && out.event.thread.is_none() && self.activity.shown_status() == Some(SessionStatus::Retrying) {
            self.push_status_change(self.activity.derived_status(), out);
        }
    }
}

/// Collects the messages of one event.
struct MessageSink<'a> {
    pub event: &'a Event,
    out: &'a mut MessageBuffer,
    part: u32,
    /// The message with the tool call that runs the subagent.
    parent: Option<String>,
}

impl<'a> MessageSink<'a> {
    /// Creates a sink for the messages of an event.
    pub fn new(event: &'a Event, parents: &ParentMessages, out: &'a mut MessageBuffer) -> Self {
        let parent = event.parent.as_deref().and_then(|parent| parents.message_of(parent)).map(str::to_owned);
        Self { event, out, part: 0, parent }
    }

    /// Returns the session, turn and thread of the messages.
    fn message_place(&self) -> MessageScope<'a> {
        MessageScope::from(self.event)
    }

    pub fn item_id(&self) -> &'a str {
        self.event.item.as_deref().unwrap_or_default()
    }

    /// Returns the id of the next message.
    pub fn next_id(&self) -> MessageId<'a> {
        MessageId { event: self.event, part: self.part }
    }

    /// Writes a message without content.
    pub fn send(&mut self, kind: Kind<'_>) {
        self.send_with(kind, Vec::new(), None);
    }

    /// Writes a message with content, optionally below a parent message.
    fn send_with(&mut self, kind: Kind<'_>, content: Vec<Content<'_>>, parent: Option<&str>) {
        let parent_id = parent.or(self.parent.as_deref());
        let timestamp = self.event.at.as_micros().div_euclid(1_000);
        let role = kind.role();
        self.out.push(&Message { id: self.next_id(), timestamp, kind, role, content, parent_id });
        self.part += 1;
    }
}

/// The session status and the data it is derived from.
#[derive(Clone, Default, Serialize, Deserialize)]
struct SessionStatusTracker {
    shown: Option<SessionStatus>,
    in_turn: bool,
    /// The open requests and the items they refer to.
    requests: Vec<(Id, Option<Id>)>,
}

impl SessionStatusTracker {
    /// Records whether a turn is running.
    fn set_in_turn(&mut self, began: bool) {
        self.in_turn = began;
    }

    /// Records an open request.
    pub fn open_request(&mut self, request: &Id, item: Option<&Id>) {
        self.requests.push((request.clone(), item.cloned()));
    }

    /// Removes a resolved request. Returns false if it was not open.
    fn close_request(&mut self, request: &Id) -> bool {
        let before = self.requests.len();
        self.requests.retain(|(open, _)| open != request);
        self.requests.len() < before
    }

    /// Clears turn and requests at the start or end of a run.
    pub fn reset(&mut self) {
        (self.in_turn, self.requests) = (false, Vec::new());
    }

    /// Returns whether an item waits for an answer.
    fn awaits_answer(&self, item: &str) -> bool {
        self.requests.iter().any(|(_, about)| about.as_deref() == Some(item))
    }

    /// Returns the last shown status, or else the derived one.
    fn current_status(&self) -> SessionStatus {
        self.shown.unwrap_or_else(|| self.derived_status())
    }

    /// Returns the status derived from turns and requests.
    fn derived_status(&self) -> SessionStatus {
        match (self.requests.is_empty(), self.in_turn) {
            (false, _) => SessionStatus::RequiresAction,
            (true, true) => SessionStatus::Running,
            (true, false) => SessionStatus::Idle,
        }
    }

    /// Sets the status; returns whether it changed.
    fn set_status(&mut self, status: SessionStatus) -> bool {
        self.shown.replace(status) != Some(status)
    }

    fn shown_status(&self) -> Option<SessionStatus> {
        self.shown
    }
}

impl MessageProjection {
    /// Handles an opened request.
    fn request_opened(&mut self, request: &RequestOpened, out: &mut MessageSink<'_>) {
        if request.decided {
            // The decision is already made, so neither the request nor its answer is sent.
            return;
        }
        self.activity.open_request(&request.request, out.event.item.as_ref());
        let subtype = request_subtype(request.about);
        let item = self.track.get(out.item_id()).map(|tracked| &tracked.item);
        let is_tool = subtype == RequestSubtype::CanUseTool;
        let named = request.call.as_deref().map(|call| call.name.as_str()).filter(|name| !name.is_empty());
        let kind = Kind::PermissionRequest(Box::new(PermissionRequest {
            place: out.message_place(),
            subtype,
            about: request.about,
            request_id: &request.request,
            tool_name: named.or_else(|| is_tool.then(|| tool_name(request.about, item))),
            tool_use_id: out.event.item.as_deref(),
            input: request_input(request, item.filter(|_| is_tool))
                .or_else(|| is_tool.then(|| Cow::Owned(to_raw_json(&EmptyRequestInput {})))),
            title: &request.title,
            description: request.reason.as_deref(),
            command: request.command.as_deref(),
            cwd: request.cwd.as_deref(),
            changes: tools::file_changes(&request.changes),
            questions: &request.questions,
            options: &request.options,
            requires_person: request.requires_person,
            expires_at: request.expires_at.map(|at| at.as_micros().div_euclid(1_000)),
        }));
        out.send_with(kind, Vec::new(), self.parents.message_of(out.item_id()));
        self.push_status_change(self.activity.derived_status(), out);
    }

    /// Handles a resolved request.
    fn request_resolved(&mut self, resolved: &RequestResolved, out: &mut MessageSink<'_>) {
        if !self.activity.close_request(&resolved.request) {
            return;
        }
        let behavior = match resolved.outcome {
            Outcome::Allowed | Outcome::Answered => Behavior::Allow,
            Outcome::Declined | Outcome::Cancelled | Outcome::Withdrawn | Outcome::Expired => Behavior::Deny,
        };
        let kind = Kind::PermissionResponse(Box::new(PermissionResponse {
            place: out.message_place(),
            request_id: &resolved.request,
            behavior,
            outcome: resolved.outcome,
            by: resolved.by,
            tool_use_id: out.event.item.as_deref(),
            option: resolved.option.as_deref(),
            updated_input: resolved.input.as_deref(),
            answers: &resolved.answers,
            message: resolved.message.as_deref(),
        }));
        out.send_with(kind, Vec::new(), self.parents.message_of(out.item_id()));
        self.push_status_change(self.activity.derived_status(), out);
    }
}

fn request_subtype(about: About) -> RequestSubtype {
    match about {
        // Clients that follow the specification only show this subtype, and users must see these requests.
        About::Command | About::FileChange | About::Tool | About::Question | About::Plan => RequestSubtype::CanUseTool,
        About::Auth => RequestSubtype::Auth,
        About::Permissions => RequestSubtype::Permissions,
        About::Elicitation => RequestSubtype::Elicitation,
        About::Hook => RequestSubtype::Hook,
        About::Other => RequestSubtype::Other,
    }
}

/// Returns the tool name of the item if it has started, else a generic name.
fn tool_name(about: About, item: Option<&Item>) -> &str {
    match (item, about) {
        (Some(item), _) => tools::tool_metadata("", item).tool_name,
        (None, About::Command) => "command",
        (None, About::FileChange) => "file_change",
        (None, _) => "tool",
    }
}

#[derive(Serialize)]
struct EmptyRequestInput {}

#[derive(Serialize)]
struct CommandRequestInput<'a> {
    command: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<&'a str>,
}

#[derive(Serialize)]
struct WrappedRequestInput<'a> {
    input: &'a RawValue,
}

/// Returns the input of the requested tool from the best available source; always an object.
fn request_input<'a>(request: &'a RequestOpened, item: Option<&'a Item>) -> Option<Cow<'a, RawValue>> {
    let given = request.call.as_ref().and_then(|call| call.input.as_deref());
    match (given, &request.command, item) {
        (Some(input), ..) if input.get().starts_with('{') => Some(Cow::Borrowed(input)),
        (Some(input), ..) => Some(Cow::Owned(to_raw_json(&WrappedRequestInput { input }))),
        (None, Some(command), _) => {
            Some(Cow::Owned(to_raw_json(&CommandRequestInput { command, cwd: request.cwd.as_deref() })))
        }
        (None, None, _) if !request.changes.is_empty() => Some(Cow::Owned(tools::changes_input(&request.changes))),
        (None, None, Some(item)) => Some(tools::tool_input(item)),
        (None, None, None) => None,
    }
}
