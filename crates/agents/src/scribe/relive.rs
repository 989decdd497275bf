//! Reading a session's own events again: the books as they were when the process that kept them died.

use switchboard_event::{Body, Decider, Delta, EndReason, Event, Fault};

use super::{Ending, Open, OpenRequest, Place, Scribe, items::grow};

impl Scribe {
    /// Takes an event that was written before.
    pub(crate) fn relive(&mut self, event: &Event) {
        self.next_seq = event.seq + 1;
        (self.run, self.at, self.tick) = (event.run, event.at, event.at);
        self.agent.clone_from(&event.agent);
        let place = Place { parent: event.parent.clone(), thread: event.thread.clone() };
        match &event.body {
            Body::SessionStarted(_) => (self.started, self.began) = (true, event.at),
            Body::SessionEnded(_) => self.started = false,
            Body::TurnStarted(_) => self.turn = event.turn,
            Body::TurnCompleted(turn) => (self.turn, self.last_turn) = (None, Some(turn.status)),
            Body::RequestOpened(request) => {
                self.requests.push(OpenRequest { id: request.request.clone(), item: event.item.clone(), place });
            }
            Body::RequestResolved(resolved) => self.requests.retain(|open| open.id != resolved.request),
            Body::ItemStarted(item) => {
                let Some(id) = event.item.clone() else { return };
                self.opened += 1;
                let (order, at) = (self.opened, event.at);
                self.open.insert(id.clone(), Open { id, order, item: (**item).clone(), place, at });
            }
            Body::ItemDelta(delta) => self.relive_delta(event, delta),
            Body::ItemCompleted(_) => {
                if let Some(id) = &event.item {
                    self.open.remove(id);
                }
            }
            Body::SessionUpdated(_) | Body::Usage(_) | Body::Notice(_) => {}
        }
        self.turns = self.turns.max(event.turn.unwrap_or(0));
    }

    fn relive_delta(&mut self, event: &Event, delta: &Delta) {
        let Some(open) = event.item.as_ref().and_then(|id| self.open.get_mut(id)) else { return };
        match delta {
            Delta::Append { field, text, .. } => grow(&mut open.item.details, *field, text),
            Delta::Set { patch } => open.item = (**patch).clone(),
            Delta::Progress { .. } => {}
        }
    }

    /// The run did not end by itself: closes what is open, and ends it.
    pub(crate) fn abandon(&mut self, fault: Fault) {
        self.ensure_started();
        let ending = Ending { reason: EndReason::Failed, error: Some(fault) };
        self.close_all(&ending);
        self.end_session(ending, Decider::Switchboard);
    }
}
