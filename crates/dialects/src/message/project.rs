//! Events to unified messages: what is remembered, and who does what. The work is done in the files beside this one.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use switchboard_event::{Body, Delta, Event, Id, SessionStatus, Timestamp};

use super::{
    activity::Activity,
    items::ToldPlan,
    parents::Parents,
    sink::Sink,
    wire::{Kind, StatusChange},
};
use crate::{
    Messages, Projection,
    track::{Track, TurnUsage},
};

/// The projection.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Messenger {
    pub(super) track: Track,
    pub(super) usage: TurnUsage,
    pub(super) activity: Activity,
    pub(super) parents: Parents,
    /// The open items that were shown as tools. An item may turn out to be one, or not to be one, on its way.
    pub(super) called: BTreeSet<Id>,
    pub(super) plan: ToldPlan,
    /// The current model of the main agent.
    pub(super) model: Option<String>,
    pub(super) turn_began: Timestamp,
    /// What went wrong in the turn so far.
    pub(super) errors: Vec<String>,
    /// That credentials are missing was told in this turn.
    pub(super) told_auth: bool,
}

impl Projection for Messenger {
    fn event(&mut self, event: &Event, out: &mut Messages) {
        let mut out = Sink::new(event, &self.parents, out);
        self.usage.see(event);
        if let Body::ItemDelta(Delta::Set { patch }) = &event.body {
            // Before the old state is forgotten.
            self.item_set(patch, &mut out);
        }
        self.track.see(event);
        self.tried_again(&mut out);
        match &event.body {
            Body::SessionStarted(started) => self.session_started(started, &mut out),
            Body::SessionUpdated(updated) => self.session_updated(&updated.info, &mut out),
            Body::SessionEnded(ended) => self.session_ended(ended, &mut out),
            Body::TurnStarted(turn) => self.turn_started(turn, &mut out),
            Body::TurnCompleted(turn) => self.turn_completed(turn, &mut out),
            Body::ItemStarted(item) => self.item_started(item, &mut out),
            Body::ItemDelta(delta) => self.item_grew(delta, &mut out),
            Body::ItemCompleted(item) => self.item_completed(item, &mut out),
            Body::RequestOpened(request) => self.request_opened(request, &mut out),
            Body::RequestResolved(resolved) => self.request_resolved(resolved, &mut out),
            Body::Usage(_) => {}
            Body::Notice(notice) => self.noticed(notice, &mut out),
        }
    }

    fn snapshot(&self) -> Box<dyn Projection> {
        Box::new(self.clone())
    }

    fn save(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }
}

impl Messenger {
    /// The current status, to say something more about it.
    pub(super) fn status<'a>(&self, out: &Sink<'a>) -> StatusChange<'a> {
        StatusChange::new(self.activity.now(), out.place())
    }

    /// Tells another status, if it is another.
    pub(super) fn show(&mut self, status: SessionStatus, out: &mut Sink<'_>) {
        if let Some(change) = self.changed(status, out) {
            out.send(Kind::StatusChange(Box::new(change)));
        }
    }

    /// Another status, if it is another.
    pub(super) fn changed<'a>(&mut self, status: SessionStatus, out: &Sink<'a>) -> Option<StatusChange<'a>> {
        let before = self.activity.shown();
        let news = self.activity.change(status);
        news.then(|| {
            let is = |status| status == Some(SessionStatus::Compacting);
            let is_compacting = (is(before) != is(Some(status))).then(|| is(Some(status)));
            StatusChange { is_compacting, ..self.status(out) }
        })
    }

    /// An agent that says something no longer waits to try again.
    fn tried_again(&mut self, out: &mut Sink<'_>) {
        let says = matches!(out.event.body, Body::ItemStarted(_) | Body::ItemDelta(_) | Body::ItemCompleted(_));
        if says && out.event.thread.is_none() && self.activity.shown() == Some(SessionStatus::Retrying) {
            self.show(self.activity.settled(), out);
        }
    }
}
