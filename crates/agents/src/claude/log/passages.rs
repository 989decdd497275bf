//! What a person would look for in a session log: prompts, answers, thoughts, what tools were given and gave back.

use std::borrow::Cow;

use switchboard_event::Timestamp;

use super::{
    skim::{Fields, Glance},
    words::{self, Words},
};
use crate::{Depth, Finds, Json, Kind, split};

/// Kinds of records that have nothing to look for.
const SILENT: &[&str] = &[
    "queue-operation",
    "last-prompt",
    "mode",
    "permission-mode",
    "agent-name",
    "agent-setting",
    "file-history-snapshot",
    "file-history-delta",
    "api-request",
    "api-request-blob",
    "api-request-shape",
    "atis-latch",
    "tools-used",
    "cost-state",
    "tag",
    "frame-link",
    "worktree-state",
    "content-replacement",
    "attribution-snapshot",
    "fork-context-ref",
    "bridge-session",
    "relocated",
    "ended-by-model",
    "speculation-accept",
    "isolation-latch",
    "result",
    "started",
];

/// How good titles are: what somebody chose beats what was made up, and both beat a summary.
const TITLES: &[(&str, u8)] = &[("summary", 1), ("ai-title", 2), ("custom-title", 3)];

impl Glance {
    /// What is no reply.
    pub(super) fn words(&mut self, kind: &str, fields: &Fields<'_>, depth: Depth, found: &mut Finds) {
        match kind {
            "user" => self.user(fields, depth, found),
            "attachment" => self.attachment(fields, depth, found),
            "system" if depth == Depth::All => self.system(fields, found),
            "system" => {}
            "summary" | "ai-title" | "custom-title" => self.titled(kind, fields, found),
            "pr-link" => found.compose(Kind::Meta, self.last, None, |text| append(fields.link, text)),
            _ if SILENT.contains(&kind) || kind.starts_with("marble-origami") => {}
            _ => found.unknown = Some(kind.to_owned()),
        }
    }

    fn titled(&mut self, kind: &str, fields: &Fields<'_>, found: &mut Finds) {
        let title = fields.title.or(fields.summary);
        let rank = TITLES.iter().find(|(name, _)| *name == kind).map_or(0, |(_, rank)| *rank);
        if rank >= self.title {
            self.title = rank;
            found.facts.title = title.and_then(Json::str).map(Cow::into_owned).filter(|title| !title.is_empty());
        }
        let kind = if rank == 1 { Kind::SessionSummary } else { Kind::Meta };
        found.compose(kind, self.last, None, |text| append(title, text));
    }

    /// The blocks of a reply.
    pub(super) fn said(&self, fields: &Fields<'_>, content: Option<Json<'_>>, is_synthetic: bool, found: &mut Finds) {
        let message = if fields.is_error || is_synthetic { Kind::SystemMessage } else { Kind::AssistantMessage };
        let Some(content) = content else { return };
        if content.text().starts_with('"') {
            return found.compose(message, self.last, None, |text| content.append_to(text));
        }
        for block in split::elements(content.text()) {
            let block = Block::of(Json::known(block));
            match block.kind {
                "text" => found.compose(message, self.last, None, |text| append(block.text, text)),
                "thinking" => found.compose(Kind::Reasoning, self.last, None, |text| append(block.thinking, text)),
                "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                    let name = block.name.and_then(Json::str);
                    found.compose(Kind::ToolCall, self.last, name.as_deref(), |text| readable(block.input, text));
                }
                kind if kind.ends_with("_tool_result") => {
                    found.compose(Kind::ToolResult, self.last, None, |text| readable(block.content, text));
                }
                _ => {}
            }
        }
    }

    fn user(&self, fields: &Fields<'_>, depth: Depth, found: &mut Finds) {
        if !fields.message.is_some_and(Json::is_object) {
            found.trouble = Some("what was said has no message".to_owned());
            return;
        }
        let Some(content) = fields.inside.content.filter(|_| depth == Depth::All) else { return };
        if content.text().starts_with('"') {
            let text = content.str().unwrap_or_default();
            return self.told(fields, &text, found);
        }
        let mut typed = String::new();
        for block in split::elements(content.text()) {
            let block = Block::of(Json::known(block));
            match block.kind {
                "tool_result" => result(&block, self.last, found),
                "text" => {
                    if !typed.is_empty() {
                        typed.push('\n');
                    }
                    append(block.text, &mut typed);
                }
                _ => {}
            }
        }
        if !typed.is_empty() {
            self.told(fields, &typed, found);
        }
    }

    /// What Claude was told, by a person or not.
    fn told(&self, fields: &Fields<'_>, text: &str, found: &mut Finds) {
        if fields.is_summary {
            return found.say(Kind::SessionSummary, self.last, None, text);
        }
        let origin = fields.origin.map(Json::object).filter(|origin| !origin.is_empty());
        let injected = fields.is_injected
            || fields.is_sidechain
            || fields.has_result
            || origin.is_some_and(|origin| !origin.is("kind", "human"));
        match words::of(text) {
            Words::Printed(printed) => found.say(Kind::Log, self.last, None, &printed),
            Words::Interrupted => found.say(Kind::SystemMessage, self.last, None, text),
            _ if injected => found.say(Kind::Meta, self.last, None, text),
            Words::Injected => found.say(Kind::Meta, self.last, None, text),
            Words::Command(command) => prompt(&command, self.last, found),
            Words::Prompt => prompt(text, self.last, found),
        }
    }

    /// What was put into the context is not worth finding, but for what somebody typed while Claude worked.
    fn attachment(&self, fields: &Fields<'_>, depth: Depth, found: &mut Finds) {
        let Some(attachment) = fields.attachment.filter(|_| depth == Depth::All) else { return };
        let is_queued = split::fields(attachment.text()).any(|field| field == ("\"type\"", "\"queued_command\""));
        if !is_queued || fields.is_sidechain {
            return;
        }
        let attachment = attachment.object();
        let mut text = String::new();
        readable(attachment.get("prompt"), &mut text);
        match super::asides::is_typed(&attachment) {
            true => prompt(&text, self.last, found),
            false => found.say(Kind::Meta, self.last, None, &text),
        }
    }

    fn system(&self, fields: &Fields<'_>, found: &mut Finds) {
        let content = fields.content.and_then(Json::str).unwrap_or_default();
        match fields.subtype.and_then(Json::str).as_deref() {
            Some("local_command") => match words::of(&content) {
                Words::Command(command) => prompt(&command, self.last, found),
                Words::Printed(printed) => found.say(Kind::Log, self.last, None, &printed),
                _ => found.say(Kind::Log, self.last, None, &content),
            },
            Some("away_summary") => found.say(Kind::SessionSummary, self.last, None, &content),
            Some("compact_boundary" | "microcompact_boundary" | "turn_duration") => {}
            _ => found.say(Kind::SystemMessage, self.last, None, &content),
        }
    }
}

/// A block of a message, as far as it can be looked for.
#[derive(Default)]
struct Block<'a> {
    kind: &'a str,
    text: Option<Json<'a>>,
    thinking: Option<Json<'a>>,
    name: Option<Json<'a>>,
    input: Option<Json<'a>>,
    content: Option<Json<'a>>,
}

impl<'a> Block<'a> {
    fn of(block: Json<'a>) -> Self {
        let mut it = Self::default();
        for (key, value) in split::fields(block.text()) {
            let json = Some(Json::known(value));
            match key.trim_matches('"') {
                "type" => it.kind = value.trim_matches('"'),
                "text" => it.text = json,
                "thinking" => it.thinking = json,
                "name" => it.name = json,
                "input" => it.input = json,
                "content" => it.content = json,
                _ => {}
            }
        }
        it
    }
}

/// Somebody said it.
fn prompt(text: &str, at: Option<Timestamp>, found: &mut Finds) {
    found.facts.prompts += 1;
    found.facts.prompt.get_or_insert_with(|| text.to_owned());
    found.say(Kind::UserMessage, at, None, text);
}

fn result(block: &Block<'_>, at: Option<Timestamp>, found: &mut Finds) {
    found.compose(Kind::ToolResult, at, None, |text| readable(block.content, text));
}

fn append(json: Option<Json<'_>>, text: &mut String) {
    if let Some(json) = json {
        json.append_to(text);
    }
}

/// JSON as people read it: a text as it is, of blocks their texts, of an object a line for each field.
fn readable(json: Option<Json<'_>>, out: &mut String) {
    let Some(json) = json else { return };
    let start = out.len();
    match json.text().as_bytes().first() {
        Some(b'"') => json.append_to(out),
        Some(b'[') => lines(split::elements(json.text()).map(Json::known), out),
        Some(b'{') => {
            for (key, value) in split::fields(json.text()) {
                separate(out, start);
                out.push_str(key.trim_matches('"'));
                out.push_str(": ");
                match value.starts_with('"') {
                    true => Json::known(value).append_to(out),
                    false => out.push_str(value),
                }
            }
        }
        _ => {}
    }
}

/// Blocks of text, one below the other; images have none.
fn lines<'a>(blocks: impl Iterator<Item = Json<'a>>, out: &mut String) {
    let start = out.len();
    for block in blocks {
        if block.text().starts_with('"') {
            separate(out, start);
            block.append_to(out);
            continue;
        }
        let Some((_, text)) = split::fields(block.text()).find(|(key, _)| *key == "\"text\"") else { continue };
        separate(out, start);
        Json::known(text).append_to(out);
    }
}

/// What began at a place goes on in a new line.
fn separate(out: &mut String, start: usize) {
    if out.len() > start && !out.ends_with('\n') {
        out.push('\n');
    }
}
