//! Tokens on their way to the event they belong to. Each figure is given once: with the next thing that the model
//! said in the same reply, or else by itself.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_event::{Body, Delta, Details, Event, Item, Usage};

use crate::{saved, tools};

/// Tokens that wait for the next event of their reply.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Held {
    pub usage: Usage,
    /// The event that reported them, without its body.
    #[serde(deserialize_with = "saved::event")]
    pub event: Event,
    #[serde(default, deserialize_with = "saved::present", skip_serializing_if = "Option::is_none")]
    pub raw: Option<Box<RawValue>>,
}

impl Held {
    /// Holds the figures of an event.
    pub fn new(usage: &Usage, event: &Event, raw: Option<Box<RawValue>>) -> Self {
        Self { usage: usage.clone(), event: without_body(event), raw }
    }

    /// They can wait longer: the event writes nothing, or is what they wait for.
    pub fn waits(&self, event: &Event) -> bool {
        match &event.body {
            Body::ItemDelta(_) => true,
            Body::ItemStarted(item) => !tools::is_work(item) || self.is_of(item, event),
            Body::ItemCompleted(item) => is_said(item) && self.is_of(item, event),
            _ => false,
        }
    }

    /// They belong to the reply that the item came with.
    pub fn is_of(&self, item: &Item, event: &Event) -> bool {
        self.usage.key.is_some() && item.reply == self.usage.key && event.thread == self.event.thread
    }
}

/// Where and when an event happened, without what it says.
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
        body: Body::ItemDelta(Delta::Progress { elapsed_ms: None, ratio: None, text: None }),
        native: None,
        cause: None,
    }
}

fn is_said(item: &Item) -> bool {
    matches!(item.details, Details::AgentMessage(_) | Details::Reasoning(_))
}
