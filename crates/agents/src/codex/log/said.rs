//! Who says what. Codex writes most of what is said twice, as the item of the model's API and as an event; and it puts
//! texts of its own into the user's mouth.

use std::{borrow::Cow, collections::VecDeque};

use serde::{Deserialize, Serialize};
use switchboard_event::Timestamp;
use xxhash_rust::xxh3::xxh3_64;

use super::{super::names, line::Line};
use crate::{Json, Object};

/// How many texts are remembered that may come again.
const LIMIT: usize = 16;

/// The two ways of saying something follow each other within this time.
const SOON_MS: u64 = 1000;

/// What begins a text that is Codex's own, in the user's place.
const INJECTED: &[&str] = &[
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

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Voice {
    User,
    Agent,
    Thought,
}

/// Which of the two ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Way {
    /// The item of the model's API.
    Item,
    /// The event for whoever watches.
    Event,
}

/// What was said a moment ago.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Said {
    /// By people: apart, since the quick way may hear nobody else.
    people: VecDeque<Told>,
    others: VecDeque<Told>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Told {
    voice: Voice,
    way: Way,
    text: u64,
    at: Option<Timestamp>,
}

impl Said {
    /// The same was said the other way a moment ago. Each can be repeated once: people do say "continue" twice.
    pub fn again(&mut self, voice: Voice, way: Way, text: &str, at: Option<Timestamp>) -> bool {
        let recent = if voice == Voice::User { &mut self.people } else { &mut self.others };
        let now = Told { voice, way, text: xxh3_64(text.as_bytes()), at };
        if let Some(same) = recent.iter().position(|told| told.is_of(&now)) {
            recent.remove(same);
            return true;
        }
        if recent.len() >= LIMIT {
            recent.pop_front();
        }
        recent.push_back(now);
        false
    }
}

impl Told {
    /// The other of two ways of saying the same.
    fn is_of(&self, other: &Self) -> bool {
        let soon = match (self.at, other.at) {
            (Some(a), Some(b)) => a.max(b).millis_since(a.min(b)) <= SOON_MS,
            _ => true,
        };
        (self.voice, self.text) == (other.voice, other.text) && self.way != other.way && soon
    }
}

/// The texts of a message's parts.
pub fn texts<'a>(parts: &[Json<'a>]) -> Vec<Cow<'a, str>> {
    parts.iter().filter_map(|part| part.str().or_else(|| part.object().str("text"))).collect()
}

/// The text of a message: of its content, which in older files is a text; or its own, where it has no content.
pub fn text<'a>(fields: &Object<'a>) -> Cow<'a, str> {
    let Some(content) = content(fields) else { return fields.str("text").unwrap_or_default() };
    if let Some(text) = content.str() {
        return text;
    }
    let mut texts = texts(&content.array());
    match (texts.len(), texts.pop()) {
        (1, Some(only)) => only,
        (_, Some(last)) => {
            texts.push(last);
            texts.join("\n").into()
        }
        _ => Cow::default(),
    }
}

/// The content of a message; none if it is empty.
pub fn content<'a>(fields: &Object<'a>) -> Option<Json<'a>> {
    fields.get("content").filter(|content| content.str().is_some() || !content.array().is_empty())
}

/// What a person says in a record: which way it is told, and the words.
pub fn prompt<'a>(line: &Line<'a>) -> Option<(Way, Cow<'a, str>)> {
    let fields = &line.fields;
    match (line.kind.as_ref(), line.what().as_ref()) {
        ("response_item", "message") if fields.is("role", "user") => {
            let text = text(fields);
            by_person(fields, &text).then_some((Way::Item, text))
        }
        ("event_msg", "user_message") => {
            let text = names::text(fields, &["message", "text"])?;
            let plain = fields.str("kind").is_none_or(|kind| kind == "plain");
            (plain && by_person(fields, &text)).then_some((Way::Event, text))
        }
        ("event_msg", "item_completed") => {
            let item = fields.object("item");
            item.is("type", "UserMessage").then(|| (Way::Event, text(&item)))
        }
        _ => None,
    }
}

/// The folder that Codex tells the model it works in. The files of 2025 say it nowhere else.
pub fn folder(line: &Line<'_>) -> Option<String> {
    if !line.fields.is("role", "user") || line.what() != "message" {
        return None;
    }
    let text = text(&line.fields);
    let about = text.trim_start().strip_prefix("<environment_context>")?;
    let tagged = about.split_once("<cwd>").and_then(|(_, rest)| rest.split_once("</cwd>")).map(|(cwd, _)| cwd);
    let told = || about.split_once("Current working directory: ").and_then(|(_, rest)| rest.lines().next());
    tagged.or_else(told).map(str::trim).filter(|cwd| !cwd.is_empty()).map(str::to_owned)
}

/// A person said it. Newer files say so for each part; of others, the beginning tells.
pub fn by_person(message: &Object<'_>, text: &str) -> bool {
    let about = message.object("internal_chat_message_metadata_passthrough");
    let kinds = about.array("content_item_kinds");
    let kinds: Vec<_> = kinds.iter().filter_map(|kind| kind.str()).filter(|kind| *kind != "unknown").collect();
    if !kinds.is_empty() {
        return kinds.iter().any(|kind| kind.starts_with("user."));
    }
    let text = text.trim_start();
    !INJECTED.iter().any(|beginning| text.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use switchboard_event::Timestamp;

    use super::{Said, Voice, Way, by_person};
    use crate::Json;

    #[test]
    fn what_is_said_both_ways_is_said_once() {
        let at = |ms: i64| Timestamp::from_millis(1_700_000_000_000 + ms);
        let mut said = Said::default();
        assert!(!said.again(Voice::User, Way::Item, "continue", at(0)));
        assert!(said.again(Voice::User, Way::Event, "continue", at(1)));
        assert!(!said.again(Voice::User, Way::Item, "continue", at(500)), "said again, the same way");
        assert!(!said.again(Voice::User, Way::Event, "continue", at(5000)), "too late to be the same");
        assert!(!said.again(Voice::Agent, Way::Item, "continue", at(5000)), "said by somebody else");
    }

    #[test]
    fn what_codex_puts_in_is_not_the_users() {
        let check = |message: &str, text: &str, person: bool| {
            assert_eq!(by_person(&Json::parse(message).unwrap().object(), text), person, "{text}");
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
