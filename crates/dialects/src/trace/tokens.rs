//! Token counts waiting for the event they belong to. Each count is written once: with the next output of the same
//! reply, or else separately.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_event::{Delta, Details, Event, EventBody, Item, Usage};

use crate::{saved, tools};

/// Tokens waiting for the next event of their reply.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PendingTokens {
    pub usage: Usage,
    /// The event that reported the tokens, without its body.
    #[serde(deserialize_with = "saved::read_event")]
    pub event: Event,
    #[serde(default, deserialize_with = "saved::read_present", skip_serializing_if = "Option::is_none")]
    pub raw: Option<Box<RawValue>>,
}

impl PendingTokens {
    pub fn new(usage: &Usage, event: &Event, raw: Option<Box<RawValue>>) -> Self {
        Self { usage: usage.clone(), event: without_body(event), raw }
    }

    /// Returns whether the tokens can keep waiting: the event writes nothing, or is the expected one.
    pub fn keeps_waiting(&self, event: &Event) -> bool {
        match &event.body {
            EventBody::ItemDelta(_) => true,
            EventBody::ItemStarted(item) => !tools::is_work(item) || self.belongs_to(item, event),
            EventBody::ItemCompleted(item) => is_speech(item) && self.belongs_to(item, event),
            _ => false,
        }
    }

    /// Returns whether the tokens belong to the reply of the item.
    pub fn belongs_to(&self, item: &Item, event: &Event) -> bool {
        self.usage.key.is_some() && item.reply == self.usage.key && event.thread == self.event.thread
    }
}

/// Returns an event without its body.
pub fn without_body(event: &Event) -> Event {
    Event {
        seq: event.seq,
        session: event.session.clone(),
        at: event.at,
        agent: event.agent.clone(),
        run: event.run,
        turn: event.turn,
        item: event.item.clone(),
        parent: event.parent.clone(),
        thread: event.thread.clone(),
        body: EventBody::ItemDelta(Delta::Progress { elapsed_ms: None, ratio: None, text: None }),
        native: None,
        cause: None,
    }
}

fn is_speech(item: &Item) -> bool {
    matches!(item.details, Details::AgentMessage(_) | Details::Reasoning(_))
}
