//! Replays a session's own events: to restore the state of a recorder whose process died, and to end such a session.

use switchboard_event::{Decider, Delta, EndReason, Event, EventBody, Fault, Id, Timestamp};

use super::{ConversationScope, OpenItem, RunRecorder, SessionEnding, UnresolvedRequest, items::append_text};
use crate::SessionContext;

impl RunRecorder {
    /// Applies an event that was written before.
    fn replay_event(&mut self, event: &Event) {
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
    fn abandon_run(&mut self, fault: Fault) {
        self.ensure_started();
        let ending = SessionEnding { reason: EndReason::Failed, error: Some(fault) };
        self.close_all(&ending);
        self.end_session(ending, Decider::Switchboard);
    }
}

/// Replays the events of a session whose process died, and writes its end.
pub struct SessionRepair {
    session: Id,
    recorder: RunRecorder,
}

impl SessionRepair {
    #[must_use]
    pub fn new(session: Id, agent: &str) -> Self {
        Self { session, recorder: RunRecorder::new(agent, 1, 1, 0, SessionContext::default()) }
    }

    /// Replays the next event of the session, from the first one on.
    pub fn replay_event(&mut self, event: &Event) {
        self.recorder.replay_event(event);
    }

    /// Closes everything that is open and ends the session.
    #[must_use]
    pub fn finish(mut self, fault: Fault, at: Timestamp) -> Vec<Event> {
        self.recorder.begin_record(None, at, None);
        self.recorder.abandon_run(fault);
        let session = self.session;
        self.recorder
            .drain()
            .map(|mut event| {
                event.session = session.clone();
                event
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {

    use switchboard_event::{ErrorCode, Event, EventBody, Fault, Id, Timestamp};

    use super::SessionRepair;
    use crate::{Record, RecordTranslator, TranslatorOptions, find_source};

    fn scripted_events(lines: &[&str]) -> Vec<Event> {
        let options = TranslatorOptions { session: Some(Id::from("s")), ..TranslatorOptions::default() };
        let mut translator = RecordTranslator::new(find_source("script").unwrap(), options);
        let mut events = Vec::new();
        for line in lines {
            translator.translate_record(&Record::from_line(line.as_bytes()).unwrap(), &mut events);
        }
        events
    }

    #[test]
    fn what_was_open_is_closed_in_order() {
        let events = scripted_events(&[r#"{"type":"prompt","text":"x"}"#, "text some words", "approve rm x"]);
        let mut mender = SessionRepair::new(Id::from("s"), "script");
        events.iter().for_each(|event| mender.replay_event(event));
        let fault = Fault::new(ErrorCode::ExecutionError, "interrupted");
        let end = mender.finish(fault, Timestamp::from_micros(1_700_000_000_000_000).unwrap());
        let seqs: Vec<_> = end.iter().map(|event| event.seq).collect();
        let next = events.len() as u64 + 1;
        assert_eq!(seqs, (next..next + seqs.len() as u64).collect::<Vec<_>>());
        let kinds: Vec<_> = end.iter().map(|event| serde_json::to_value(event.body.kind()).unwrap()).collect();
        assert_eq!(kinds, ["request.resolved", "item.completed", "turn.completed", "session.ended"]);
        assert!(end.iter().all(|event| *event.session == *"s"));
    }

    #[test]
    fn the_text_so_far_is_kept() {
        let events = scripted_events(&[r#"{"type":"prompt","text":"x"}"#, "burst 1-3 of 9"]);
        let mut mender = SessionRepair::new(Id::from("s"), "script");
        events.iter().for_each(|event| mender.replay_event(event));
        let end = mender.finish(Fault::default(), Timestamp::default());
        let said = end.iter().find_map(|event| match &event.body {
            EventBody::ItemCompleted(item) => Some(serde_json::to_string(item).unwrap()),
            _ => None,
        });
        assert!(said.is_some_and(|item| item.contains('3')));
    }

    #[test]
    fn a_session_without_events_gets_a_beginning() {
        let end = SessionRepair::new(Id::from("s"), "script").finish(Fault::default(), Timestamp::default());
        let kinds: Vec<_> = end.iter().map(|event| serde_json::to_value(event.body.kind()).unwrap()).collect();
        assert_eq!(kinds, ["session.started", "session.ended"]);
    }
}
