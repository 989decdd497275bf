//! A [`LogScanner`] of Switchboard's own log, whose records are events.

use switchboard_event::{Details, Event, EventBody, Timestamp, Usage};

use super::events::EventExtractor;
use crate::{
    JsonView,
    logs::{LogScanner, PassageKind, ScanDepth, ScanOutput},
};

/// Scans a session that Switchboard ran, for agents that leave no log of their own.
#[must_use]
pub fn own_log_scanner() -> Box<dyn LogScanner> {
    Box::new(OwnLogScanner { events: EventExtractor::new(own_reply_key), prompt: None })
}

/// The key that identifies a reply of such a session everywhere.
#[must_use]
pub fn own_reply_key(session: &str, reply: &str, _: &Usage, _: Option<Timestamp>) -> String {
    format!("own:{session}:{reply}")
}

struct OwnLogScanner {
    events: EventExtractor,
    /// The prompt of the turn, which some agents repeat as a message.
    prompt: Option<String>,
}

impl OwnLogScanner {
    fn scan_event(&mut self, event: &Event, depth: ScanDepth, found: &mut ScanOutput) {
        self.events.session.get_or_insert_with(|| event.session.to_string());
        self.events.at = Some(event.at);
        self.events.began = self.events.began.or(self.events.at);
        if let EventBody::TurnStarted(turn) = &event.body {
            self.prompt = turn.prompt.clone().filter(|prompt| !prompt.is_empty());
            self.write_prompt(depth, found);
        }
        if !self.repeats_prompt(event) {
            self.events.extract_event(event, depth, found);
        }
        self.events.cwd.clone_from(&self.events.info.cwd);
        self.events.write_facts(found);
    }

    fn write_prompt(&self, depth: ScanDepth, found: &mut ScanOutput) {
        let Some(prompt) = &self.prompt else { return };
        found.facts.prompts += 1;
        found.facts.prompt = Some(prompt.clone());
        if depth == ScanDepth::All {
            found.add_passage(PassageKind::UserMessage, self.events.at, None, prompt);
        }
    }

    fn repeats_prompt(&self, event: &Event) -> bool {
        match &event.body {
            EventBody::ItemStarted(item) | EventBody::ItemCompleted(item) => {
                matches!(&item.details, Details::UserMessage(message) if Some(message.joined_text()) == self.prompt)
            }
            _ => false,
        }
    }
}

impl LogScanner for OwnLogScanner {
    fn may_affect_usage(&self, _: &[u8]) -> bool {
        true
    }

    fn scan_record(&mut self, scan_record: &str, depth: ScanDepth, found: &mut ScanOutput) {
        let Some(scan_record) = JsonView::parse(scan_record) else { return found.mark_not_json() };
        match Event::from_json(scan_record.raw_text()) {
            Ok(event) => self.scan_event(&event, depth, found),
            Err(error) => found.trouble = Some(format!("an event of Switchboard's own log: {error}")),
        }
    }
}
