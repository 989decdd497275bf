//! Projects events to unified messages: the state and the dispatch. The handlers are in the sibling files.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use switchboard_event::{Delta, Event, EventBody, Id, SessionStatus, Timestamp};

use super::{
    items::{LastPlan, ParentMessages},
    wire::{Content, Kind, Message, MessageScope, StatusChange},
};
use crate::{
    MessageBuffer, Projection,
    messages::MessageId,
    track::{ItemTracker, TurnUsage},
};

/// Projects events to unified messages.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct MessageProjection {
    pub(super) track: ItemTracker,
    pub(super) usage: TurnUsage,
    pub(super) activity: SessionStatusTracker,
    pub(super) parents: ParentMessages,
    /// Open items shown as tools. An item may become a tool, or stop being one, while it is open.
    pub(super) called: BTreeSet<Id>,
    pub(super) plan: LastPlan,
    pub(super) model: Option<String>,
    pub(super) turn_began: Timestamp,
    /// The errors of the current turn.
    pub(super) errors: Vec<String>,
    /// Missing credentials were already reported in this turn.
    pub(super) told_auth: bool,
}

impl Projection for MessageProjection {
    fn project_event(&mut self, project_event: &Event, out: &mut MessageBuffer) {
        let mut out = MessageSink::new(project_event, &self.parents, out);
        self.usage.add_event(project_event);
        if let EventBody::ItemDelta(Delta::Set { patch }) = &project_event.body {
            // Must run before the previous state is replaced.
            self.item_set(patch, &mut out);
        }
        self.track.observe_event(project_event);
        self.end_retry(&mut out);
        match &project_event.body {
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
    pub(super) fn current_status<'a>(&self, out: &MessageSink<'a>) -> StatusChange<'a> {
        StatusChange::new(self.activity.current_status(), out.message_place())
    }

    /// Sends a status change if the status is new.
    pub(super) fn push_status_change(&mut self, status: SessionStatus, out: &mut MessageSink<'_>) {
        if let Some(change) = self.status_change(status, out) {
            out.send(Kind::StatusChange(Box::new(change)));
        }
    }

    /// Returns a status change if the status is new.
    pub(super) fn status_change<'a>(
        &mut self,
        status: SessionStatus,
        out: &MessageSink<'a>,
    ) -> Option<StatusChange<'a>> {
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
pub struct MessageSink<'a> {
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
    pub fn message_place(&self) -> MessageScope<'a> {
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
    pub fn send_with(&mut self, kind: Kind<'_>, content: Vec<Content<'_>>, parent: Option<&str>) {
        let parent_id = parent.or(self.parent.as_deref());
        let timestamp = self.event.at.as_micros().div_euclid(1_000);
        let role = kind.role();
        self.out.push(&Message { id: self.next_id(), timestamp, kind, role, content, parent_id });
        self.part += 1;
    }
}

/// The session status and the data it is derived from.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct SessionStatusTracker {
    shown: Option<SessionStatus>,
    in_turn: bool,
    /// The open requests and the items they refer to.
    requests: Vec<(Id, Option<Id>)>,
}

impl SessionStatusTracker {
    /// Records whether a turn is running.
    pub fn set_in_turn(&mut self, began: bool) {
        self.in_turn = began;
    }

    /// Records an open request.
    pub fn open_request(&mut self, request: &Id, item: Option<&Id>) {
        self.requests.push((request.clone(), item.cloned()));
    }

    /// Removes a resolved request. Returns false if it was not open.
    pub fn close_request(&mut self, request: &Id) -> bool {
        let before = self.requests.len();
        self.requests.retain(|(open, _)| open != request);
        self.requests.len() < before
    }

    /// Clears turn and requests at the start or end of a run.
    pub fn reset(&mut self) {
        (self.in_turn, self.requests) = (false, Vec::new());
    }

    /// Returns whether an item waits for an answer.
    pub fn awaits_answer(&self, item: &str) -> bool {
        self.requests.iter().any(|(_, about)| about.as_deref() == Some(item))
    }

    /// Returns the last shown status, or else the derived one.
    pub fn current_status(&self) -> SessionStatus {
        self.shown.unwrap_or_else(|| self.derived_status())
    }

    /// Returns the status derived from turns and requests.
    pub fn derived_status(&self) -> SessionStatus {
        match (self.requests.is_empty(), self.in_turn) {
            (false, _) => SessionStatus::RequiresAction,
            (true, true) => SessionStatus::Running,
            (true, false) => SessionStatus::Idle,
        }
    }

    /// Sets the status; returns whether it changed.
    pub fn set_status(&mut self, status: SessionStatus) -> bool {
        self.shown.replace(status) != Some(status)
    }

    pub fn shown_status(&self) -> Option<SessionStatus> {
        self.shown
    }
}
