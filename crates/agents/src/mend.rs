//! Ending a session that its process could not end: its events are read again, and what is missing is written.

use switchboard_event::{Event, Fault, Id, Timestamp};

use crate::{Scribe, Start};

/// Reads the events of a session whose process died, and writes the end of it.
pub struct Mender {
    session: Id,
    scribe: Scribe,
}

impl Mender {
    /// For a session of an agent.
    #[must_use]
    pub fn new(session: Id, agent: &str) -> Self {
        Self { session, scribe: Scribe::new(agent, 1, 1, 0, Start::default()) }
    }

    /// Takes the next event of the session, from its first.
    pub fn event(&mut self, event: &Event) {
        self.scribe.relive(event);
    }

    /// Everything that was open, closed, and the end.
    #[must_use]
    pub fn finish(mut self, fault: Fault, at: Timestamp) -> Vec<Event> {
        self.scribe.begin(None, at, None);
        self.scribe.abandon(fault);
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
    use switchboard_event::{Body, ErrorCode, Event, Fault, Id, Timestamp};

    use super::Mender;
    use crate::{Options, Record, Translator, source};

    fn told(lines: &[&str]) -> Vec<Event> {
        let options = Options { session: Some(Id::from("s")), ..Options::default() };
        let mut translator = Translator::new(source("script").unwrap(), options);
        let mut events = Vec::new();
        for line in lines {
            translator.record(&Record::from_line(line.as_bytes()).unwrap(), &mut events);
        }
        events
    }

    #[test]
    fn what_was_open_is_closed_in_order() {
        let events = told(&[r#"{"type":"prompt","text":"x"}"#, "text some words", "approve rm x"]);
        let mut mender = Mender::new(Id::from("s"), "script");
        events.iter().for_each(|event| mender.event(event));
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
        let events = told(&[r#"{"type":"prompt","text":"x"}"#, "burst 1-3 of 9"]);
        let mut mender = Mender::new(Id::from("s"), "script");
        events.iter().for_each(|event| mender.event(event));
        let end = mender.finish(Fault::default(), Timestamp::default());
        let said = end.iter().find_map(|event| match &event.body {
            Body::ItemCompleted(item) => Some(serde_json::to_string(item).unwrap()),
            _ => None,
        });
        assert!(said.is_some_and(|item| item.contains('3')));
    }

    #[test]
    fn a_session_without_events_gets_a_beginning() {
        let end = Mender::new(Id::from("s"), "script").finish(Fault::default(), Timestamp::default());
        let kinds: Vec<_> = end.iter().map(|event| serde_json::to_value(event.body.kind()).unwrap()).collect();
        assert_eq!(kinds, ["session.started", "session.ended"]);
    }
}
