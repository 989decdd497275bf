//! A [`Skim`] of Switchboard's own log: its records are events.

use switchboard_event::{Body, Details, Event, Timestamp, Usage};

use super::events::Events;
use crate::{
    Json,
    logs::{Depth, Found, Kind, Skim},
};

/// Looks through a session that Switchboard ran: for agents that leave no log of their own.
#[must_use]
pub fn own_skim() -> Box<dyn Skim> {
    Box::new(Own { events: Events::new(own_key), prompt: None })
}

/// What makes a reply of such a session the same everywhere.
#[must_use]
pub fn own_key(session: &str, reply: &str, _: &Usage, _: Option<Timestamp>) -> String {
    format!("own:{session}:{reply}")
}

struct Own {
    events: Events,
    /// The prompt of the turn, which some agents say again as a message.
    prompt: Option<String>,
}

impl Own {
    fn event(&mut self, event: &Event, depth: Depth, found: &mut Found) {
        self.events.session.get_or_insert_with(|| event.session.to_string());
        self.events.at = Some(event.at);
        self.events.began = self.events.began.or(self.events.at);
        if let Body::TurnStarted(turn) = &event.body {
            self.prompt = turn.prompt.clone().filter(|prompt| !prompt.is_empty());
            self.prompted(depth, found);
        }
        if !self.is_repeated(event) {
            self.events.event(event, depth, found);
        }
        self.events.cwd.clone_from(&self.events.info.cwd);
        self.events.tell(found);
    }

    fn prompted(&self, depth: Depth, found: &mut Found) {
        let Some(prompt) = &self.prompt else { return };
        found.facts.prompts += 1;
        found.facts.prompt = Some(prompt.clone());
        if depth == Depth::All {
            found.say(Kind::UserMessage, self.events.at, None, prompt);
        }
    }

    fn is_repeated(&self, event: &Event) -> bool {
        match &event.body {
            Body::ItemStarted(item) | Body::ItemCompleted(item) => {
                matches!(&item.details, Details::UserMessage(message) if Some(message.joined()) == self.prompt)
            }
            _ => false,
        }
    }
}

impl Skim for Own {
    fn counts(&self, _: &[u8]) -> bool {
        true
    }

    fn record(&mut self, record: &str, depth: Depth, found: &mut Found) {
        let Some(record) = Json::parse(record) else { return found.is_no_json() };
        match Event::from_json(record.text()) {
            Ok(event) => self.event(&event, depth, found),
            Err(error) => found.trouble = Some(format!("an event of Switchboard's own log: {error}")),
        }
    }
}
