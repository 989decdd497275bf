//! Messages and their authors. Codex writes most messages twice, as an item of the model's API and as an event, and
//! injects texts of its own as user messages.

use std::{borrow::Cow, collections::VecDeque};

use serde::{Deserialize, Serialize};
use switchboard_event::Timestamp;
use xxhash_rust::xxh3::xxh3_64;

use super::record::RolloutRecord;
use crate::{JsonObject, JsonView, bounded::push_bounded, codex::first_str};

/// Maximum number of remembered messages that may be repeated.
const MAX_RECENT_MESSAGES: usize = 16;

/// Maximum time between the two forms of a message.
const MAX_REPEAT_DELAY_MS: u64 = 1000;

/// Prefixes of texts that Codex injects as user messages.
const INJECTED_PREFIXES: &[&str] = &[
    "<environment_context",
    "<environments",
    "<user_instructions",
    "<user_shell_command",
    "<turn_aborted",
    "<subagent_notification",
    "<codex_internal_context",
    "<goal_context",
    "<recommended_plugins",
    "<external_",
    "<skill",
    "<hook_prompt",
    "<permissions instructions",
    "<collaboration_mode",
    "<multi_agent_",
    "<INSTRUCTIONS",
    "# AGENTS.md instructions",
    "Warning: The maximum number of unified exec processes",
    "Warning: apply_patch was requested via exec_command",
    "Warning: Your account was flagged",
];

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MessageSpeaker {
    User,
    Agent,
    Thought,
}

/// One of the two forms in which a message is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MessageForm {
    /// The item of the model's API.
    Item,
    /// The event for user interfaces.
    Event,
}

/// Recognizes messages that are written in both forms.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct MessageDeduplicator {
    /// Kept separately, because a scan for tokens may read no other messages.
    people: VecDeque<RecentMessage>,
    others: VecDeque<RecentMessage>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct RecentMessage {
    voice: MessageSpeaker,
    way: MessageForm,
    text: u64,
    at: Option<Timestamp>,
}

impl MessageDeduplicator {
    /// Returns whether the message was written in the other form just before. Each message can be repeated once: people
    /// do say "continue" twice.
    pub fn is_repeat(&mut self, voice: MessageSpeaker, way: MessageForm, text: &str, at: Option<Timestamp>) -> bool {
        let recent = if voice == MessageSpeaker::User { &mut self.people } else { &mut self.others };
        let now = RecentMessage { voice, way, text: xxh3_64(text.as_bytes()), at };
        if let Some(same) = recent.iter().position(|told| told.is_other_form_of(&now)) {
            recent.remove(same);
            return true;
        }
        push_bounded(recent, now, MAX_RECENT_MESSAGES);
        false
    }
}

impl RecentMessage {
    /// Returns whether both are forms of the same message.
    fn is_other_form_of(&self, other: &Self) -> bool {
        let soon = match (self.at, other.at) {
            (Some(a), Some(b)) => a.max(b).millis_since(a.min(b)) <= MAX_REPEAT_DELAY_MS,
            _ => true,
        };
        (self.voice, self.text) == (other.voice, other.text) && self.way != other.way && soon
    }
}

/// Returns the texts of a message's parts.
pub fn part_texts<'a>(parts: &[JsonView<'a>]) -> Vec<Cow<'a, str>> {
    parts.iter().filter_map(|part| part.as_str().or_else(|| part.as_object().get_str("text"))).collect()
}

/// Returns the text of a message: of its content, which is a string in older files, or its own if it has no content.
pub fn message_text<'a>(fields: &JsonObject<'a>) -> Cow<'a, str> {
    let Some(content) = message_content(fields) else { return fields.get_str("text").unwrap_or_default() };
    if let Some(text) = content.as_str() {
        return text;
    }
    let mut texts = part_texts(&content.as_array());
    match (texts.len(), texts.pop()) {
        (1, Some(only)) => only,
        (_, Some(last)) => {
            texts.push(last);
            texts.join("\n").into()
        }
        _ => Cow::default(),
    }
}

/// Returns the content of a message; `None` if it is empty.
pub fn message_content<'a>(fields: &JsonObject<'a>) -> Option<JsonView<'a>> {
    fields.get("content").filter(|content| content.as_str().is_some() || !content.as_array().is_empty())
}

/// Returns the message of a person in a record, with its form.
pub fn find_prompt<'a>(line: &RolloutRecord<'a>) -> Option<(MessageForm, Cow<'a, str>)> {
    let fields = &line.fields;
    match (line.kind.as_ref(), line.payload_type().as_ref()) {
        ("response_item", "message") if fields.str_equals("role", "user") => {
            let text = message_text(fields);
            is_from_person(fields, &text).then_some((MessageForm::Item, text))
        }
        ("event_msg", "user_message") => {
            let text = first_str(fields, &["message", "text"])?;
            let plain = fields.get_str("kind").is_none_or(|kind| kind == "plain");
            (plain && is_from_person(fields, &text)).then_some((MessageForm::Event, text))
        }
        ("event_msg", "item_completed") => {
            let item = fields.get_object("item");
            item.str_equals("type", "UserMessage").then(|| (MessageForm::Event, message_text(&item)))
        }
        _ => None,
    }
}

/// Returns the working directory that Codex tells the model. The files of 2025 have it nowhere else.
pub fn environment_cwd(line: &RolloutRecord<'_>) -> Option<String> {
    if !line.fields.str_equals("role", "user") || line.payload_type() != "message" {
        return None;
    }
    let text = message_text(&line.fields);
    let about = text.trim_start().strip_prefix("<environment_context>")?;
    let tagged = about.split_once("<cwd>").and_then(|(_, rest)| rest.split_once("</cwd>")).map(|(cwd, _)| cwd);
    let told = || about.split_once("Current working directory: ").and_then(|(_, rest)| rest.lines().next());
    tagged.or_else(told).map(str::trim).filter(|cwd| !cwd.is_empty()).map(str::to_owned)
}

/// Returns whether a person wrote the message. Newer files mark each part; for others, the prefix decides.
fn is_from_person(message: &JsonObject<'_>, text: &str) -> bool {
    let about = message.get_object("internal_chat_message_metadata_passthrough");
    let kinds = about.get_array("content_item_kinds");
    let kinds: Vec<_> = kinds.iter().filter_map(|kind| kind.as_str()).filter(|kind| *kind != "unknown").collect();
    if !kinds.is_empty() {
        return kinds.iter().any(|kind| kind.starts_with("user."));
    }
    let text = text.trim_start();
    !INJECTED_PREFIXES.iter().any(|beginning| text.starts_with(beginning))
}

#[cfg(test)]
mod tests {

    use switchboard_event::Timestamp;

    use super::{MessageDeduplicator, MessageForm, MessageSpeaker, is_from_person};
    use crate::JsonView;

    #[test]
    fn what_is_said_both_ways_is_said_once() {
        let at = |ms: i64| Timestamp::from_millis(1_700_000_000_000 + ms);
        let mut said = MessageDeduplicator::default();
        assert!(!said.is_repeat(MessageSpeaker::User, MessageForm::Item, "continue", at(0)));
        assert!(said.is_repeat(MessageSpeaker::User, MessageForm::Event, "continue", at(1)));
        assert!(
            !said.is_repeat(MessageSpeaker::User, MessageForm::Item, "continue", at(500)),
            "said again, the same way"
        );
        assert!(
            !said.is_repeat(MessageSpeaker::User, MessageForm::Event, "continue", at(5000)),
            "too late to be the same"
        );
        assert!(
            !said.is_repeat(MessageSpeaker::Agent, MessageForm::Item, "continue", at(5000)),
            "said by somebody else"
        );
    }

    #[test]
    fn what_codex_puts_in_is_not_the_users() {
        let check = |message: &str, text: &str, person: bool| {
            assert_eq!(is_from_person(&JsonView::parse(message).unwrap().as_object(), text), person, "{text}");
        };
        check("{}", "<environment_context>\n", false);
        check("{}", "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>", false);
        check("{}", "<b>bold</b> claims", true);
        let kinds = |kind: &str| {
            format!(r#"{{"internal_chat_message_metadata_passthrough":{{"content_item_kinds":["{kind}"]}}}}"#)
        };
        check(&kinds("user.text"), "<environment_context> is what?", true);
        check(&kinds("generic.turn_aborted"), "anything", false);
        check(&kinds("unknown"), "anything", true);
    }
}
