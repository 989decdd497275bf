//! The searchable text of a session log: prompts, answers, reasoning, tool inputs and outputs.

use std::borrow::Cow;

use switchboard_event::Timestamp;

use super::{
    scanner::{ClaudeLogScanner, LogRecordFields},
    user_records::{self, UserTextKind},
};
use crate::{JsonView, PassageKind, ScanDepth, ScanOutput, split};

/// Kinds of records without searchable text.
const SILENT_KINDS: &[&str] = &[
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

/// The rank of titles: a title chosen by the user beats a generated one, and both beat a summary.
const TITLE_RANKS: &[(&str, u8)] = &[("summary", 1), ("ai-title", 2), ("custom-title", 3)];

impl ClaudeLogScanner {
    /// Scans a record that is not a reply.
    pub(super) fn scan_other(
        &mut self,
        kind: &str,
        fields: &LogRecordFields<'_>,
        depth: ScanDepth,
        found: &mut ScanOutput,
    ) {
        match kind {
            "user" => self.scan_user(fields, depth, found),
            "attachment" => self.scan_attachment(fields, depth, found),
            "system" if depth == ScanDepth::All => self.scan_system(fields, found),
            "system" => {}
            "summary" | "ai-title" | "custom-title" => self.scan_title(kind, fields, found),
            "pr-link" => {
                found.write_passage(PassageKind::Meta, self.last, None, |text| append_json_text(fields.link, text))
            }
            _ if SILENT_KINDS.contains(&kind) || kind.starts_with("marble-origami") => {}
            _ => found.unknown = Some(kind.to_owned()),
        }
    }

    fn scan_title(&mut self, kind: &str, fields: &LogRecordFields<'_>, found: &mut ScanOutput) {
        let title = fields.title.or(fields.summary);
        let rank = TITLE_RANKS.iter().find(|(name, _)| *name == kind).map_or(0, |(_, rank)| *rank);
        if rank >= self.title {
            self.title = rank;
            found.facts.title = title.and_then(JsonView::as_str).map(Cow::into_owned).filter(|title| !title.is_empty());
        }
        let kind = if rank == 1 { PassageKind::SessionSummary } else { PassageKind::Meta };
        found.write_passage(kind, self.last, None, |text| append_json_text(title, text));
    }

    /// Scans the blocks of a reply.
    pub(super) fn scan_reply_text(
        &self,
        fields: &LogRecordFields<'_>,
        content: Option<JsonView<'_>>,
        is_synthetic: bool,
        found: &mut ScanOutput,
    ) {
        let message =
            if fields.is_error || is_synthetic { PassageKind::SystemMessage } else { PassageKind::AssistantMessage };
        let Some(content) = content else { return };
        if content.raw_text().starts_with('"') {
            return found.write_passage(message, self.last, None, |text| content.append_to(text));
        }
        for block in split::split_elements(content.raw_text()) {
            let block = SearchableBlock::from_json(JsonView::from_valid_text(block));
            match block.kind {
                "text" => found.write_passage(message, self.last, None, |text| append_json_text(block.text, text)),
                "thinking" => found.write_passage(PassageKind::Reasoning, self.last, None, |text| {
                    append_json_text(block.thinking, text)
                }),
                "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                    let name = block.name.and_then(JsonView::as_str);
                    found.write_passage(PassageKind::ToolCall, self.last, name.as_deref(), |text| {
                        append_readable(block.input, text)
                    });
                }
                kind if kind.ends_with("_tool_result") => {
                    found.write_passage(PassageKind::ToolResult, self.last, None, |text| {
                        append_readable(block.content, text)
                    });
                }
                _ => {}
            }
        }
    }

    fn scan_user(&self, fields: &LogRecordFields<'_>, depth: ScanDepth, found: &mut ScanOutput) {
        if !fields.message.is_some_and(JsonView::is_object) {
            found.trouble = Some("what was said has no message".to_owned());
            return;
        }
        let Some(content) = fields.inside.content.filter(|_| depth == ScanDepth::All) else { return };
        if content.raw_text().starts_with('"') {
            let text = content.as_str().unwrap_or_default();
            return self.scan_user_text(fields, &text, found);
        }
        let mut typed = String::new();
        for block in split::split_elements(content.raw_text()) {
            let block = SearchableBlock::from_json(JsonView::from_valid_text(block));
            match block.kind {
                "tool_result" => write_tool_result(&block, self.last, found),
                "text" => {
                    if !typed.is_empty() {
                        typed.push('\n');
                    }
                    append_json_text(block.text, &mut typed);
                }
                _ => {}
            }
        }
        if !typed.is_empty() {
            self.scan_user_text(fields, &typed, found);
        }
    }

    /// Scans text addressed to Claude, typed by a person or injected.
    fn scan_user_text(&self, fields: &LogRecordFields<'_>, text: &str, found: &mut ScanOutput) {
        if fields.is_summary {
            return found.add_passage(PassageKind::SessionSummary, self.last, None, text);
        }
        let origin = fields.origin.map(JsonView::as_object).filter(|origin| !origin.is_empty());
        let injected = fields.is_injected
            || fields.is_sidechain
            || fields.has_result
            || origin.is_some_and(|origin| !origin.str_equals("kind", "human"));
        match user_records::classify_user_text(text) {
            UserTextKind::Printed(printed) => found.add_passage(PassageKind::Log, self.last, None, &printed),
            UserTextKind::Interrupted => found.add_passage(PassageKind::SystemMessage, self.last, None, text),
            _ if injected => found.add_passage(PassageKind::Meta, self.last, None, text),
            UserTextKind::Injected => found.add_passage(PassageKind::Meta, self.last, None, text),
            UserTextKind::Command(command) => add_prompt(&command, self.last, found),
            UserTextKind::Prompt => add_prompt(text, self.last, found),
        }
    }

    /// Scans an attachment. Only text that a person typed during the turn is worth finding.
    fn scan_attachment(&self, fields: &LogRecordFields<'_>, depth: ScanDepth, found: &mut ScanOutput) {
        let Some(attachment) = fields.attachment.filter(|_| depth == ScanDepth::All) else { return };
        let is_queued =
            split::split_fields(attachment.raw_text()).any(|field| field == ("\"type\"", "\"queued_command\""));
        if !is_queued || fields.is_sidechain {
            return;
        }
        let attachment = attachment.as_object();
        let mut text = String::new();
        append_readable(attachment.get("prompt"), &mut text);
        match super::other_records::is_typed_by_user(&attachment) {
            true => add_prompt(&text, self.last, found),
            false => found.add_passage(PassageKind::Meta, self.last, None, &text),
        }
    }

    fn scan_system(&self, fields: &LogRecordFields<'_>, found: &mut ScanOutput) {
        let content = fields.content.and_then(JsonView::as_str).unwrap_or_default();
        match fields.subtype.and_then(JsonView::as_str).as_deref() {
            Some("local_command") => match user_records::classify_user_text(&content) {
                UserTextKind::Command(command) => add_prompt(&command, self.last, found),
                UserTextKind::Printed(printed) => found.add_passage(PassageKind::Log, self.last, None, &printed),
                _ => found.add_passage(PassageKind::Log, self.last, None, &content),
            },
            Some("away_summary") => found.add_passage(PassageKind::SessionSummary, self.last, None, &content),
            Some("compact_boundary" | "microcompact_boundary" | "turn_duration") => {}
            _ => found.add_passage(PassageKind::SystemMessage, self.last, None, &content),
        }
    }
}

/// The searchable fields of a message block.
#[derive(Default)]
struct SearchableBlock<'a> {
    kind: &'a str,
    text: Option<JsonView<'a>>,
    thinking: Option<JsonView<'a>>,
    name: Option<JsonView<'a>>,
    input: Option<JsonView<'a>>,
    content: Option<JsonView<'a>>,
}

impl<'a> SearchableBlock<'a> {
    fn from_json(block: JsonView<'a>) -> Self {
        let mut it = Self::default();
        for (key, value) in split::split_fields(block.raw_text()) {
            let json = Some(JsonView::from_valid_text(value));
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

/// Adds a prompt of a person.
fn add_prompt(text: &str, at: Option<Timestamp>, found: &mut ScanOutput) {
    found.facts.prompts += 1;
    found.facts.prompt.get_or_insert_with(|| text.to_owned());
    found.add_passage(PassageKind::UserMessage, at, None, text);
}

fn write_tool_result(block: &SearchableBlock<'_>, at: Option<Timestamp>, found: &mut ScanOutput) {
    found.write_passage(PassageKind::ToolResult, at, None, |text| append_readable(block.content, text));
}

fn append_json_text(json: Option<JsonView<'_>>, text: &mut String) {
    if let Some(json) = json {
        json.append_to(text);
    }
}

/// Appends JSON in readable form: a string as it is, the texts of blocks, and one line for each field of an object.
fn append_readable(json: Option<JsonView<'_>>, out: &mut String) {
    let Some(json) = json else { return };
    let start = out.len();
    match json.raw_text().as_bytes().first() {
        Some(b'"') => json.append_to(out),
        Some(b'[') => append_block_texts(split::split_elements(json.raw_text()).map(JsonView::from_valid_text), out),
        Some(b'{') => {
            for (key, value) in split::split_fields(json.raw_text()) {
                start_new_line(out, start);
                out.push_str(key.trim_matches('"'));
                out.push_str(": ");
                match value.starts_with('"') {
                    true => JsonView::from_valid_text(value).append_to(out),
                    false => out.push_str(value),
                }
            }
        }
        _ => {}
    }
}

/// Appends the texts of blocks, one per line; images have none.
fn append_block_texts<'a>(blocks: impl Iterator<Item = JsonView<'a>>, out: &mut String) {
    let start = out.len();
    for block in blocks {
        if block.raw_text().starts_with('"') {
            start_new_line(out, start);
            block.append_to(out);
            continue;
        }
        let Some((_, text)) = split::split_fields(block.raw_text()).find(|(key, _)| *key == "\"text\"") else {
            continue;
        };
        start_new_line(out, start);
        JsonView::from_valid_text(text).append_to(out);
    }
}

/// Starts a new line unless nothing was written since `start`.
fn start_new_line(out: &mut String, start: usize) {
    if out.len() > start && !out.ends_with('\n') {
        out.push('\n');
    }
}
