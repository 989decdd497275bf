//! Replays a session's own events to restore the state of a recorder whose process died.

use switchboard_event::{Decider, Delta, EndReason, Event, EventBody, Fault};

use super::{ConversationScope, OpenItem, RunRecorder, SessionEnding, UnresolvedRequest, items::append_text};

impl RunRecorder {
    /// Applies an event that was written before.
    pub(crate) fn replay_event(&mut self, event: &Event) {
        self.next_seq = event.seq + 1;
        (self.run, self.at, self.tick) = (event.run, event.at, event.at);
        self.agent.clone_from(&event.agent);
        let place = ConversationScope { parent: event.parent.clone(), thread: event.thread.clone() };
        match &event.body {
            EventBody::SessionStarted(_) => (self.started, self.began) = (true, event.at),
            EventBody::SessionEnded(_) => self.started = false,
            EventBody::TurnStarted(_) => self.turn = event.turn,
            EventBody::TurnCompleted(turn) => (self.turn, self.last_turn) = (None, Some(turn.status)),
            EventBody::RequestOpened(request) => {
                self.requests.push(UnresolvedRequest { id: request.request.clone(), item: event.item.clone(), place });
            }
            EventBody::RequestResolved(resolved) => self.requests.retain(|open| open.id != resolved.request),
            EventBody::ItemStarted(item) => {
                let Some(id) = event.item.clone() else { return };
                self.opened += 1;
                let (order, at) = (self.opened, event.at);
                self.open.insert(id.clone(), OpenItem { id, order, item: (**item).clone(), place, at });
            }
            EventBody::ItemDelta(delta) => self.replay_delta(event, delta),
            EventBody::ItemCompleted(_) => {
                if let Some(id) = &event.item {
                    self.open.remove(id);
                }
            }
            EventBody::SessionUpdated(_) | EventBody::Usage(_) | EventBody::Notice(_) => {}
        }
        self.turns = self.turns.max(event.turn.unwrap_or(0));
    }

    fn replay_delta(&mut self, event: &Event, delta: &Delta) {
        let Some(open) = event.item.as_ref().and_then(|id| self.open.get_mut(id)) else { return };
        match delta {
            Delta::Append { field, text, .. } => append_text(&mut open.item.details, *field, text),
            Delta::Set { patch } => open.item = (**patch).clone(),
            Delta::Progress { .. } => {}
        }
    }

    /// Ends a run that did not end by itself, and closes everything that is open.
    pub(crate) fn abandon_run(&mut self, fault: Fault) {
        self.ensure_started();
        let ending = SessionEnding { reason: EndReason::Failed, error: Some(fault) };
        self.close_all(&ending);
        self.end_session(ending, Decider::Switchboard);
    }
}
