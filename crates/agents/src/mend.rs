//! Ends a session whose process could not end it: replays its events and writes the missing ones.

use switchboard_event::{Event, Fault, Id, Timestamp};

use crate::{RunRecorder, SessionContext};

/// Replays the events of a session whose process died, and writes its end.
pub struct SessionRepair {
    session: Id,
    scribe: RunRecorder,
}

impl SessionRepair {
    #[must_use]
    pub fn new(session: Id, agent: &str) -> Self {
        Self { session, scribe: RunRecorder::new(agent, 1, 1, 0, SessionContext::default()) }
    }

    /// Replays the next event of the session, from the first one on.
    pub fn replay_event(&mut self, event: &Event) {
        self.scribe.replay_event(event);
    }

    /// Closes everything that is open and ends the session.
    #[must_use]
    pub fn finish(mut self, fault: Fault, at: Timestamp) -> Vec<Event> {
        self.scribe.begin_record(None, at, None);
        self.scribe.abandon_run(fault);
        let session = self.session;
        self.scribe
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
