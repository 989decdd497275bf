//! Projects events to unified messages: the state and the dispatch. The handlers are in the sibling files.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use switchboard_event::{Delta, Event, EventBody, Id, SessionStatus, Timestamp};

use super::{
    activity::SessionStatusTracker,
    items::LastPlan,
    parents::ParentMessages,
    sink::MessageSink,
    wire::{Kind, StatusChange},
};
use crate::{
    MessageBuffer, Projection,
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
