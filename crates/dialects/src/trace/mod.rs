//! `agtrace.event.v1`: a log of flat events, one for each occurrence, with the native record.

mod items;
mod project;
mod session;
#[cfg(test)]
mod tests;
mod wire;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use session::without_body;
use switchboard_event::{Details, Event, EventBody, Id, Item, UserMessage};
use wire::TraceChannel;

use crate::projection::restore_projection;
use crate::{Dialect, projection};

/// The trace dialect.
pub const DIALECT: Dialect = Dialect {
    name: "trace",
    title: "agtrace.event.v1: flat log events with their native records",
    projection: || Box::new(project::TraceProjection::default()),
    restore: restore_projection::<project::TraceProjection>,
    revision: 4,
    verbatim: false,
    schema: message_schema,
};

/// Returns the schema of one event.
fn message_schema(_: &[&str]) -> Value {
    serde_json::from_str(include_str!("schema.json")).unwrap_or_default()
}

/// The prompt of a started turn. The agent's own id of it is that of the next item, if that repeats the prompt.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PendingPrompt {
    pub text: String,
    pub channel: TraceChannel,
    /// The event that reported the prompt, without its body.
    #[serde(deserialize_with = "projection::read_event")]
    pub event: Event,
    #[serde(default, deserialize_with = "projection::read_present", skip_serializing_if = "Option::is_none")]
    pub raw: Option<Box<RawValue>>,
}

impl PendingPrompt {
    /// Creates a pending prompt for a turn.
    pub fn new(text: &str, channel: TraceChannel, event: &Event, raw: Option<Box<RawValue>>) -> Self {
        Self { text: text.to_owned(), channel, event: without_body(event), raw }
    }

    /// Returns whether the event is the expected item or precedes it.
    fn keeps_waiting(&self, event: &Event) -> bool {
        match &event.body {
            EventBody::ItemStarted(item) => matches!(item.details, Details::UserMessage(_)),
            EventBody::ItemCompleted(item) => self.matches_item(item),
            _ => false,
        }
    }

    fn matches_item(&self, item: &Item) -> bool {
        matches!(&item.details, Details::UserMessage(message) if !message.synthetic && message.joined_text() == self.text)
    }
}

/// A record about the session before its first user message.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct EarlyMeta {
    pub text: String,
    /// The event that reported it, without its body.
    #[serde(deserialize_with = "projection::read_event")]
    pub event: Event,
    #[serde(default, deserialize_with = "projection::read_present", skip_serializing_if = "Option::is_none")]
    pub raw: Option<Box<RawValue>>,
}

/// The last prompt, as long as its second report may follow.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PromptTracker {
    last: Option<LastPrompt>,
    /// The subagents that received their prompt, oldest first.
    subagents: Vec<Id>,
}

/// Maximum number of remembered subagents: those that can run at once.
const MAX_SUBAGENTS: usize = 64;

#[derive(Clone, Debug, Serialize, Deserialize)]
struct LastPrompt {
    text: String,
    by: PromptSource,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum PromptSource {
    /// Reported by the turn.
    Turn,
    /// Reported by an item of the running turn.
    Item,
    /// Reported by an item before its turn starts.
    Early,
}

impl PromptTracker {
    /// Records the prompt of a turn; returns whether it is new.
    fn turn_began(&mut self, text: &str) -> bool {
        self.record_prompt(text, PromptSource::Turn)
    }

    /// Records a user message; returns whether it is new. `early` means that a later turn may repeat it.
    fn record_user_message(&mut self, text: &str, early: bool) -> bool {
        self.record_prompt(text, if early { PromptSource::Early } else { PromptSource::Item })
    }

    /// Returns whether a message to a subagent is its prompt: its first message, or one typed by the user.
    fn is_subagent_prompt(&mut self, message: &UserMessage, event: &Event) -> bool {
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

    /// Forgets the prompt of the ended turn, which does not belong to the next one.
    fn turn_ended(&mut self) {
        self.last = self.last.take().filter(|prompt| prompt.by == PromptSource::Early);
    }

    fn record_prompt(&mut self, text: &str, by: PromptSource) -> bool {
        let is_other_half =
            |last: &LastPrompt| last.text == text && (last.by == PromptSource::Turn) != (by == PromptSource::Turn);
        if self.last.as_ref().is_some_and(is_other_half) {
            self.last = None;
            return false;
        }
        self.last = Some(LastPrompt { text: text.to_owned(), by });
        true
    }
}

#[cfg(test)]
mod prompt_tests {
    use super::PromptTracker;

    #[test]
    fn a_prompt_is_new_once() {
        let mut prompts = PromptTracker::default();
        assert!(prompts.turn_began("go"));
        assert!(!prompts.record_user_message("go", false));
        assert!(prompts.record_user_message("go", false), "said again in the same turn");
        prompts.turn_ended();
        assert!(prompts.turn_began("go"), "the next turn with the same words");
        assert!(prompts.record_user_message("other", false));
        prompts.turn_ended();
        assert!(prompts.record_user_message("next", true), "said before its turn begins");
        assert!(!prompts.turn_began("next"));
    }
}
