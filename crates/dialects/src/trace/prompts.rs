//! Prompts: each is one user message, whether it is known from the turn that it began, from an item, or from both.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_event::{Body, Details, Event, Id, Item, UserMessage};

use super::{tokens::without_body, wire::Channel};
use crate::saved;

/// A prompt that a turn began with. The agent's own id of it is that of an item, which comes next if there is one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Awaited {
    pub text: String,
    pub channel: Channel,
    /// The event that said it, without its body.
    #[serde(deserialize_with = "saved::event")]
    pub event: Event,
    #[serde(default, deserialize_with = "saved::present", skip_serializing_if = "Option::is_none")]
    pub raw: Option<Box<RawValue>>,
}

impl Awaited {
    /// Waits with the prompt of a turn.
    pub fn new(text: &str, channel: Channel, event: &Event, raw: Option<Box<RawValue>>) -> Self {
        Self { text: text.to_owned(), channel, event: without_body(event), raw }
    }

    /// The event is the item, or on the way to it.
    pub fn waits(&self, event: &Event) -> bool {
        match &event.body {
            Body::ItemStarted(item) => matches!(item.details, Details::UserMessage(_)),
            Body::ItemCompleted(item) => self.is(item),
            _ => false,
        }
    }

    fn is(&self, item: &Item) -> bool {
        matches!(&item.details, Details::UserMessage(message) if !message.synthetic && message.joined() == self.text)
    }
}

/// Something about a session that was told before its first user message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EarlyMeta {
    pub text: String,
    /// The event that said it, without its body.
    #[serde(deserialize_with = "saved::event")]
    pub event: Event,
    #[serde(default, deserialize_with = "saved::present", skip_serializing_if = "Option::is_none")]
    pub raw: Option<Box<RawValue>>,
}

/// The last prompt, as long as its other half may still come.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Prompts {
    last: Option<Prompt>,
    /// The subagents that were told what to do, the latest last.
    subagents: Vec<Id>,
}

/// Maximum number of remembered subagents: those that can be at work at once.
const MAX_SUBAGENTS: usize = 64;

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Prompt {
    text: String,
    by: By,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum By {
    /// The turn said it.
    Turn,
    /// An item of the running turn said it.
    Item,
    /// An item said it for a turn to come.
    Early,
}

impl Prompts {
    /// A turn began with this prompt; true if it is new.
    pub fn turn_began(&mut self, text: &str) -> bool {
        self.is_new(text, By::Turn)
    }

    /// The user said this; true if it is new. `early` says that a turn that is yet to begin may repeat it.
    pub fn said(&mut self, text: &str, early: bool) -> bool {
        self.is_new(text, if early { By::Early } else { By::Item })
    }

    /// Whether a message to a subagent says what it is to do. It comes first and was not typed by the user.
    pub fn is_of_subagent(&mut self, message: &UserMessage, event: &Event) -> bool {
        let Some(subagent) = event.thread.as_ref().or(event.parent.as_ref()) else { return false };
        if self.subagents.contains(subagent) {
            return !message.synthetic;
        }
        if self.subagents.len() == MAX_SUBAGENTS {
            self.subagents.remove(0);
        }
        self.subagents.push(subagent.clone());
        true
    }

    /// What was said in a turn does not begin the next.
    pub fn turn_ended(&mut self) {
        self.last = self.last.take().filter(|prompt| prompt.by == By::Early);
    }

    fn is_new(&mut self, text: &str, by: By) -> bool {
        let is_other_half = |last: &Prompt| last.text == text && (last.by == By::Turn) != (by == By::Turn);
        if self.last.as_ref().is_some_and(is_other_half) {
            self.last = None;
            return false;
        }
        self.last = Some(Prompt { text: text.to_owned(), by });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::Prompts;

    #[test]
    fn a_prompt_is_new_once() {
        let mut prompts = Prompts::default();
        assert!(prompts.turn_began("go"));
        assert!(!prompts.said("go", false));
        assert!(prompts.said("go", false), "said again in the same turn");
        prompts.turn_ended();
        assert!(prompts.turn_began("go"), "the next turn with the same words");
        assert!(prompts.said("other", false));
        prompts.turn_ended();
        assert!(prompts.said("next", true), "said before its turn begins");
        assert!(!prompts.turn_began("next"));
    }
}
